//! One line of `calls.jsonl`: everything about one call.

use std::borrow::Cow;

use goodarm_core::{ArmId, Bill, Cost, Failure, Label, Outcome, QuestionId, Target};
use goodarm_data::candidates::fields;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::history::JournalEntry;
use crate::terms::{RunTerms, is_zero};

/// One call, as a line.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CallLine<'a> {
    /// Its number, counted from 0 in the order of dispatch.
    pub call: u64,
    /// The candidate; empty for a call about a question.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The question, for a call that is about one.
    #[serde(default, skip_serializing_if = "str::is_empty", borrow)]
    pub question: Cow<'a, str>,
    /// The verifier, or the generator.
    #[serde(borrow)]
    pub verifier: Cow<'a, str>,
    /// The score; null if the call failed, gave a score for each criterion, or gave an answer.
    pub score: Option<f64>,
    /// The final answer to the question; a hash of it if it is long.
    #[serde(default, skip_serializing_if = "str::is_empty", borrow)]
    pub answer: Cow<'a, str>,
    /// The number of the final answer: equal final answers to a question have the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<u32>,
    /// The score of each criterion; null for one that the reply lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<CriterionScores>,
    /// The name of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Cow<'a, str>>,
    /// Why it failed, in words.
    #[serde(default, skip_serializing_if = "str::is_empty", borrow)]
    pub reason: Cow<'a, str>,
    /// The share of δ that the candidate, or a candidate of the question, was lent with this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lent: Option<f64>,
    /// What it cost, or is believed to cost: an exact decimal.
    #[serde(with = "goodarm_files::money::exact")]
    pub cost: Cost,
    /// The most that it may have cost, if that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possible: Option<ExactCost>,
    /// The HTTP status, if the reply is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The address that replied, if the service has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Cow<'a, str>>,
    /// Requests that began no work, because they were throttled or the service was not reached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled: u32,
    /// How long it took, in seconds.
    pub latency: f64,
    /// When its outcome was written to the journal, in milliseconds since 1970.
    pub unix_millis: u64,
    /// The index, among all events, of the event that asked for the call.
    pub asked: u64,
    /// The index, among all events, of the event that settled the call.
    pub answered: u64,
    /// The reply.
    #[serde(default, skip_serializing_if = "str::is_empty", borrow)]
    pub reply: Cow<'a, str>,
}

impl<'a> CallLine<'a> {
    /// The line of an entry's call; `None` if no call came back. `id` and `question` return the names of candidates
    /// and questions; the names of services are in the run terms.
    pub fn new(
        entry: &'a JournalEntry<'_>,
        id: impl FnOnce(ArmId) -> &'a str,
        question: impl FnOnce(QuestionId) -> &'a str,
        terms: &'a RunTerms,
    ) -> Option<Self> {
        let call = entry.call.as_ref()?;
        let (score, scores, label) = match &call.outcome {
            Outcome::Score(score) => (Some(*score), None, None),
            Outcome::Scores(each) => {
                let names = terms.criteria(call.target).into_iter();
                let named = names.map(str::to_owned).zip(each.iter().copied());
                (None, Some(CriterionScores(named.collect())), None)
            }
            Outcome::Answer(label) => (None, None, label.map(|label| label.0)),
            Outcome::Failed(_) => (None, None, None),
        };
        let (id, question) = match call.target {
            Target::Arm(arm, _) => (id(arm), ""),
            Target::Question(about, _) => ("", question(about)),
        };
        Some(Self {
            call: call.ticket.0,
            id: id.into(),
            question: question.into(),
            verifier: terms.service_name(call.target).into(),
            score,
            scores,
            answer: call.note.answer.as_ref().into(),
            label,
            failure: call.failure().map(|failure| failure.name().into()),
            reason: call.note.reason.as_ref().into(),
            lent: entry.loan.map(|(_, loan)| loan.share.fraction()),
            cost: call.bill.settled(),
            possible: (call.bill.uncertain() > Cost::ZERO).then(|| ExactCost(call.bill.possible())),
            status: call.note.delivery.status,
            address: call.note.delivery.address.map(|it| terms.address(call.target, it).into()),
            throttled: call.note.delivery.throttled_count,
            latency: call.note.latency.as_secs_f64(),
            unix_millis: entry.unix_millis,
            asked: entry.asked,
            answered: entry.index,
            reply: call.note.reply.as_ref().into(),
        })
    }

    /// The bill of the call.
    pub fn bill(&self) -> Bill {
        Bill::unknown(self.cost, self.possible.map_or(self.cost, |ExactCost(possible)| possible))
    }

    /// The outcome of the call; `None` unless the line has exactly one.
    pub fn outcome(&self) -> Option<Outcome> {
        match (self.score, &self.scores, self.label, &self.failure) {
            (Some(score), None, None, None) => Some(Outcome::Score(score)),
            (None, Some(scores), None, None) => {
                let each = scores.0.iter().map(|(_, score)| *score);
                Some(Outcome::Scores(each.collect()))
            }
            (None, None, Some(label), None) => Some(Outcome::Answer(Some(Label(label)))),
            (None, None, None, Some(name)) => Failure::from_name(name).map(Outcome::Failed),
            _ => None,
        }
    }
}

/// An amount that is written as an exact decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct ExactCost(#[serde(with = "goodarm_files::money::exact")] pub Cost);

/// Scores by the names of their criteria, in the order of the criteria: an object in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct CriterionScores(pub Vec<(String, Option<f64>)>);

impl Serialize for CriterionScores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, score)| (name, score)))
    }
}

impl<'de> Deserialize<'de> for CriterionScores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "an object with a score for each criterion";
        fields::deserialize(deserializer, expected).map(Self)
    }
}
