//! A run in numbers: the data of the text, the JSON and the page.

use goodarm_core::{ArmId, Books, Cost};
use goodarm_record::view::questions::{origin, why};
use goodarm_record::view::{AnswerView, Overview};
use serde::Serialize;

use super::trail::Trail;

/// A run, without the texts of its answers and calls.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReportData {
    #[serde(flatten)]
    pub(crate) overview: Overview,
    /// The questions in the order of their file; empty without questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_question: Vec<ReportQuestion>,
    /// The answers in the order of the candidates file.
    pub(crate) answers: Vec<ReportAnswer>,
}

/// One question.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ReportQuestion {
    pub(crate) id: String,
    /// "answered" or "open".
    pub(crate) status: &'static str,
    /// The index of the certified answer.
    pub(crate) certified: Option<u32>,
    /// The indices of all its answers, in the order in which they were added.
    pub(crate) tried: Vec<u32>,
    /// Calls of generators, including duplicate answers and failures.
    pub(crate) asked: usize,
    /// Settled calls about the question or one of its answers.
    pub(crate) calls: u64,
    /// The cost of these calls.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent: Cost,
    /// The part of the cost for making answers.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent_on_answers: Cost,
    /// The part of the cost for the votes of solvers.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent_on_votes: Cost,
}

/// One answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReportAnswer {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) view: AnswerView,
    /// Settled calls, void ones included.
    pub(crate) calls: u64,
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent: Cost,
    /// The question of the answer, if there are questions.
    #[serde(flatten)]
    pub(crate) link: Option<QuestionLink>,
    /// Mean and evidence of each verifier after each call, for charts.
    #[serde(skip)]
    pub(crate) trails: Vec<Trail>,
}

/// The question of an answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct QuestionLink {
    /// The index of the question.
    pub(crate) question: u32,
    /// "given", or the name of the generator.
    pub(crate) from: String,
    /// Why the answer is not certified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

impl QuestionLink {
    /// `None` without questions.
    pub(super) fn new(books: &Books, arm: ArmId) -> Option<Self> {
        let questions = books.problem().questions()?;
        let (from, why) = (origin(books, arm).to_owned(), why(books, arm));
        Some(Self { question: questions.of(arm).0, from, why })
    }
}
