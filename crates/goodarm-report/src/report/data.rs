//! A run in numbers: what the text, the JSON and the page say.

use goodarm_core::{ArmId, ArmStatus, Books, Cost};
use goodarm_record::view::questions::{origin, why};
use goodarm_record::view::{LoanView, Overview, PairView};
use serde::{Serialize, Serializer};

use super::trail::Trail;

/// Everything that is known about a run but the texts of its answers and calls.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReportData {
    #[serde(flatten)]
    pub(crate) overview: Overview,
    /// In the order of the file of questions; none if answers stand for themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_question: Vec<ReportQuestion>,
    /// In the order of the candidates file.
    pub(crate) answers: Vec<ReportAnswer>,
}

/// One question.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ReportQuestion {
    pub(crate) id: String,
    /// answered or open.
    pub(crate) status: &'static str,
    /// The place of the certified answer among all answers.
    pub(crate) certified: Option<u32>,
    /// The places of all answers that were tried, in the order in which they came.
    pub(crate) tried: Vec<u32>,
    /// Fresh answers that were asked for, duplicates and failures among them.
    pub(crate) asked: usize,
    /// Calls that came back, about the question or an answer to it.
    pub(crate) calls: u64,
    /// What they cost.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent: Cost,
    /// The part of it that making answers cost.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent_on_answers: Cost,
    /// The part of it that solving the question cost.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent_on_votes: Cost,
}

/// What an answer to a question has beside others.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct QuestionLink {
    /// The place of its question among all questions.
    pub(crate) question: u32,
    /// given, or the name of who made it.
    pub(crate) from: String,
    /// Why it is not certified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

impl QuestionLink {
    /// None if answers stand for themselves.
    pub(super) fn new(books: &Books, arm: ArmId) -> Option<Self> {
        let questions = books.problem().questions()?;
        let (from, why) = (origin(books, arm).to_owned(), why(books, arm));
        Some(Self { question: questions.of(arm).0, from, why })
    }
}

/// One answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReportAnswer {
    pub(crate) id: String,
    #[serde(serialize_with = "status_name")]
    pub(crate) status: ArmStatus,
    /// Which certificate it is, counted from 1.
    pub(crate) rank: Option<usize>,
    /// Calls that came back, void ones among them.
    pub(crate) calls: u64,
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent: Cost,
    /// How it stands with δ, where shares of it are lent.
    #[serde(flatten)]
    pub(crate) loan: Option<LoanView>,
    /// Its question, if there are questions.
    #[serde(flatten)]
    pub(crate) of: Option<QuestionLink>,
    /// What each verifier has said.
    pub(crate) evidence: Vec<Pair>,
}

/// One verifier on one answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pair {
    #[serde(flatten)]
    pub(crate) view: PairView,
    /// How mean and evidence went from call to call: for the pictures.
    #[serde(skip)]
    pub(crate) trail: Trail,
}

fn status_name<S: Serializer>(status: &ArmStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.name())
}
