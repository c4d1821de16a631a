//! Questions and their outcomes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use goodarm_core::{ArmId, ArmStatus, Books, Cost, GeneratorId, Label, QuestionId, Source};
use goodarm_data::candidates::Candidates;
use goodarm_data::candidates::text_of;
use serde::Serialize;

use crate::account::Account;
use crate::questions::FINAL_ANSWER;
use crate::terms::{GeneratorTerms, RunTerms};
use crate::view::{AddressView, exact_pair};

/// The questions of a run as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct QuestionsView {
    /// How many there are.
    pub count: usize,
    /// How many have an answer that is certified.
    pub answered: usize,
    /// Answers that the run began with.
    pub given: usize,
    /// Answers that were made or proposed during the run, each once.
    pub made: usize,
    /// Paid for making answers.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent_on_answers: Cost,
    /// The generators.
    pub generators: Vec<GeneratorView>,
}

/// A generator.
#[derive(Clone, Debug, Serialize)]
pub struct GeneratorView {
    /// What reports call it.
    pub name: String,
    /// The kind of the generator, such as `llm`.
    pub kind: String,
    /// The most that an answer may cost.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub ceiling: Cost,
    /// Calls that came back.
    pub calls: u64,
    /// How many of its answers were different from all earlier ones.
    pub new: usize,
    /// How many of these new answers are certified.
    pub certified: usize,
    /// Failures by cause: an HTTP status, or the name of a failure.
    pub failures: BTreeMap<Cow<'static, str>, u64>,
    /// Requests that began no work, because they were throttled or the generator was not reached.
    pub throttled: u64,
    /// What each address gave, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressView>,
    /// Paid.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent: Cost,
    /// Paid for answered questions, and for open ones; only in reports.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact_pair")]
    pub spent_by_question: Option<[Cost; 2]>,
    /// What an answer cost on average.
    pub mean_price: Option<f64>,
    /// Seconds an answer took on average.
    pub mean_latency: Option<f64>,
}

impl QuestionsView {
    /// All questions; `None` for a job without questions.
    pub fn new(terms: &RunTerms, books: &Books, account: &Account) -> Option<Self> {
        let problem = books.problem();
        let questions = problem.questions()?;
        let made = account.began_with..problem.arm_count();
        let spent = questions.ids().map(|question| books.question(question).spent_on_answers);
        let by = |generator| {
            let is_own =
                move |arm: &ArmId| books.origin(*arm) == Some(Source::Generator(generator));
            problem.arms().filter(is_own)
        };
        let generators = terms.generators().iter().zip(questions.generator_ids());
        let generator = |(terms, generator): (&GeneratorTerms, GeneratorId)| {
            let totals = account.service(problem.generator_service(generator));
            let is_certified = |arm: &ArmId| books.status(*arm) == ArmStatus::Certified;
            GeneratorView {
                name: terms.name.clone(),
                kind: terms.kind.clone(),
                ceiling: terms.ceiling,
                calls: totals.outcomes.call_count,
                new: by(generator).count(),
                certified: by(generator).filter(is_certified).count(),
                failures: totals.outcomes.failures.clone(),
                throttled: totals.throttled_count,
                addresses: AddressView::all(&terms.calls, totals),
                spent: totals.spent,
                spent_by_question: None,
                mean_price: totals.mean_price(),
                mean_latency: totals.mean_latency(),
            }
        };
        Some(Self {
            count: questions.count(),
            answered: books.certified().len(),
            given: account.began_with,
            made: made.len(),
            spent_on_answers: spent.fold(Cost::ZERO, Cost::saturating_add),
            generators: generators.map(generator).collect(),
        })
    }
}

/// A question at the moment when one of its answers was certified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnsweredQuestion {
    /// The question.
    pub question: QuestionId,
    /// The number of the certified final answer, which votes for it have as well.
    pub label: Label,
    /// Calls that came back, about the question or about its answers.
    pub calls: u64,
    /// What these calls cost.
    pub spent: Cost,
}

impl AnsweredQuestion {
    /// The question of an answer; `None` for a job without questions.
    pub fn new(books: &Books, arm: ArmId) -> Option<Self> {
        let problem = books.problem();
        let questions = problem.questions()?;
        let (question, label) = (questions.of(arm), questions.label(arm));
        let state = books.question(question);
        let mut calls = state.back_count() as u64;
        let mut spent = state.spent_on_answers.saturating_add(state.spent_on_votes);
        for attribute in problem.attributes() {
            if problem.are_votes(attribute) {
                calls += books.question(question).votes_returned_count(attribute);
            } else if problem.lead(attribute) == attribute {
                for &answer in questions.answers(question) {
                    let tally = books.tally(answer, attribute);
                    calls += tally.returned_count;
                    spent = spent.saturating_add(tally.spent);
                }
            }
        }
        Some(Self { question, label, calls, spent })
    }
}

/// The outcome of one question.
#[derive(Clone, Debug, Serialize)]
pub struct QuestionOutcome<'a> {
    /// answered or open.
    pub status: &'static str,
    /// The certified answer's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'a str>,
    /// The final answer of the certified answer, if answers have final answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_answer: Option<String>,
    /// All answers, in the order in which they came.
    pub tried: Vec<TriedAnswer<'a>>,
    /// Fresh answers that were asked for, including duplicates and failures.
    pub asked: usize,
    /// Paid for making answers.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent_on_answers: Cost,
    /// Paid for solving the question.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent_on_votes: Cost,
    /// Paid for checking answers one by one.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent_on_checks: Cost,
}

/// One answer to a question.
#[derive(Clone, Debug, Serialize)]
pub struct TriedAnswer<'a> {
    /// Its id.
    pub id: &'a str,
    /// certified, rejected or undecided.
    pub status: &'static str,
    /// given, or the name of the service that made it.
    pub from: &'a str,
    /// Why the answer is not certified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl<'a> QuestionOutcome<'a> {
    /// The outcome of a question.
    pub fn new(books: &'a Books, candidates: &'a Candidates, question: QuestionId) -> Self {
        let state = books.question(question);
        let questions = books.problem().questions();
        let answers = questions.map_or(&[][..], |questions| questions.answers(question));
        let attributes =
            || books.problem().attributes().filter(|it| !books.problem().are_votes(*it));
        let spent =
            answers.iter().flat_map(|&arm| attributes().map(move |it| books.tally(arm, it).spent));
        Self {
            status: if state.certified.is_some() { "answered" } else { "open" },
            answer: state.certified.map(|arm| candidates.id(arm)),
            final_answer: state.certified.and_then(|arm| {
                let candidate = candidates.get(arm);
                Some(text_of(candidate.field(FINAL_ANSWER)?).into_owned())
            }),
            tried: answers.iter().map(|&arm| TriedAnswer::new(books, candidates, arm)).collect(),
            asked: state.asked_count(),
            spent_on_answers: state.spent_on_answers,
            spent_on_votes: state.spent_on_votes,
            spent_on_checks: spent.fold(Cost::ZERO, Cost::saturating_add),
        }
    }
}

impl<'a> TriedAnswer<'a> {
    fn new(books: &'a Books, candidates: &'a Candidates, arm: ArmId) -> Self {
        let status = books.status(arm).name();
        Self { id: candidates.id(arm), status, from: origin(books, arm), why: why(books, arm) }
    }
}

/// The origin of an answer: given, or the name of the service that made it.
pub fn origin(books: &Books, arm: ArmId) -> &str {
    let problem = books.problem();
    match books.origin(arm) {
        None => "given",
        Some(Source::Votes(attribute)) => &problem.attribute(attribute).name,
        Some(Source::Generator(generator)) => {
            let generators = problem.questions().map_or(&[][..], |it| it.generators());
            &generators[generator.index()].name
        }
    }
}

/// Why an answer is not certified; `None` for a certified one.
pub fn why(books: &Books, arm: ArmId) -> Option<String> {
    if books.status(arm) == ArmStatus::Certified {
        return None;
    }
    if books.is_superseded(arm) {
        return Some("another answer to the question is certified".into());
    }
    let problem = books.problem();
    let lacking = problem.attributes().filter(|&it| !books.is_resolved(arm, it));
    let said = lacking.map(|attribute| {
        let (declared, tally) = (problem.attribute(attribute), books.tally(arm, attribute));
        let name = &declared.name;
        match tally.returned_count {
            0 if books.is_blocked(arm, attribute) => format!("{name} has no outcome"),
            0 => format!("{name} was not asked"),
            count if tally.mean() >= declared.threshold => format!(
                "{name}: mean {:.3} of {count} reaches {}, which is not certain yet",
                tally.mean(),
                declared.threshold
            ),
            count => format!(
                "{name}: mean {:.3} of {count}, and {} is needed",
                tally.mean(),
                declared.threshold
            ),
        }
    });
    Some(said.collect::<Vec<_>>().join("; "))
}
