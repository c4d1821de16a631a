//! A question in the JSON of the page: its fields, its answers, and the calls about the question and its answers.

use goodarm_core::ArmId;
use goodarm_data::candidates::fields;
use goodarm_record::questions::RunQuestions;
use serde::Serialize;
use serde_json::Value;

use super::{ANSWERS_MAX, Details};
use crate::report::cut::beginning;
use crate::report::data::{ReportData, ReportQuestion};
use crate::report::rows::{AnswerDetail, CallRow, FieldRow, field_rows, json, rounded};

/// A question in the page.
#[derive(Serialize)]
struct QuestionDetail<'a> {
    /// Fields.
    f: Vec<FieldRow>,
    /// The number of fields, including the id.
    n: usize,
    /// Money for making answers, for votes and for checks of answers.
    m: [f64; 3],
    /// Calls of generators.
    g: usize,
    /// Answers, the certified one first.
    a: Vec<TriedRow<'a>>,
}

/// One of the answers to a question.
#[derive(Serialize)]
struct TriedRow<'a> {
    /// Its id.
    i: &'a str,
    /// The first letter of its status.
    c: &'a str,
    /// The origin of the answer: "given", or the name of its generator.
    o: &'a str,
    /// Why it is not certified.
    #[serde(skip_serializing_if = "Option::is_none")]
    w: Option<&'a str>,
    /// The answer's fields that the question lacks, and the answer's evidence.
    #[serde(flatten)]
    detail: AnswerDetail,
}

/// A call, and the index of its answer in [`QuestionDetail::a`]; null if the call is about the question. The index of
/// an answer that is not in this list is the length of the list.
#[derive(Serialize)]
struct QuestionCallRow<'a>(Option<usize>, &'a CallRow);

impl Details<'_> {
    pub(super) fn question_json(&self, row: u32) -> String {
        let data = &self.report.data;
        let question = &data.by_question[row as usize];
        let parts = [question.spent_on_answers, question.spent_on_votes].map(|it| it.units());
        let checks = question.spent.units() - parts[0] - parts[1];
        let (f, n) = self.question_fields(row);
        let own = self.report.subjects.as_ref().and_then(|subjects| subjects.questions.as_ref());
        let own = own.map(|questions| QuestionFields::new(questions, row));
        let tried = kept(question).map(|arm| self.tried(data, arm, own.as_ref()));
        json(&QuestionDetail {
            f,
            n,
            // In the books a free check has the smallest possible price; rounding removes it.
            m: [parts[0], parts[1], rounded(checks.max(0.0), 1e6)],
            g: question.asked,
            a: tried.collect(),
        })
    }

    pub(super) fn question_calls_json(&self, place: usize) -> String {
        let row = self.shown[place];
        let order: Vec<u32> = kept(&self.report.data.by_question[row as usize]).collect();
        let place_of = |arm: ArmId| order.iter().position(|it| *it == arm.0).unwrap_or(order.len());
        let calls = self.calls.of_row(row, &self.limits);
        json(
            &calls
                .iter()
                .map(|(arm, line)| QuestionCallRow(arm.map(place_of), line))
                .collect::<Vec<_>>(),
        )
    }

    fn question_fields(&self, row: u32) -> (Vec<FieldRow>, usize) {
        let subjects = self.report.subjects.as_ref();
        let Some(questions) = subjects.and_then(|subjects| subjects.questions.as_ref()) else {
            return (Vec::new(), 0);
        };
        let is_field = |name: &str, _: &Value| name != questions.id_field;
        field_rows(questions.list.json(ArmId(row)), is_field, self.limits.field_bytes)
    }

    fn tried<'a>(
        &self,
        data: &'a ReportData,
        arm: u32,
        own: Option<&QuestionFields<'_>>,
    ) -> TriedRow<'a> {
        let answer = &data.answers[arm as usize];
        let fields = match (self.report.candidates(), own) {
            (Some(candidates), Some(own)) => {
                let is_own = |name: &str, value: &Value| own.is_of_answer(name, value);
                field_rows(candidates.json(ArmId(arm)), is_own, self.limits.field_bytes)
            }
            _ => (Vec::new(), 0),
        };
        let link = answer.link.as_ref();
        TriedRow {
            i: beginning(&answer.id, ID_BYTES_MAX),
            c: &answer.view.status.name()[..1],
            o: link.map_or("", |link| &link.from),
            w: link.and_then(|link| link.why.as_deref()).map(|why| beginning(why, WHY_BYTES_MAX)),
            detail: AnswerDetail::new(fields, &answer.view, &answer.trails),
        }
    }
}

/// The fields of a question, to find the fields that only an answer has.
pub(super) struct QuestionFields<'a> {
    questions: &'a RunQuestions,
    fields: Vec<(String, Value)>,
}

impl<'a> QuestionFields<'a> {
    pub(super) fn new(questions: &'a RunQuestions, row: u32) -> Self {
        Self { questions, fields: fields::in_order(questions.list.json(ArmId(row))) }
    }

    /// Whether a field is the answer's text, or neither an id nor a copy of a field of the question.
    pub(super) fn is_of_answer(&self, name: &str, value: &Value) -> bool {
        let RunQuestions { id_field, question_field, answer_field, .. } = self.questions;
        let is_repeated = || self.fields.iter().any(|(key, it)| key == name && it == value);
        name == answer_field || (name != id_field && name != question_field && !is_repeated())
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = Value> {
        self.fields.into_iter().map(|(_, value)| value)
    }
}

/// The answers to a question that the page shows: the certified one, then the others in their order.
pub(super) fn kept(question: &ReportQuestion) -> impl Iterator<Item = u32> + '_ {
    let certified = question.certified;
    let others = question.tried.iter().copied().filter(move |arm| Some(*arm) != certified);
    certified.into_iter().chain(others).take(ANSWERS_OF_QUESTION_MAX)
}

/// All questions if they and their answers fit, otherwise the answered ones first.
pub(super) fn shown(questions: &[ReportQuestion]) -> Vec<u32> {
    let mut shown = Vec::new();
    let mut left = ANSWERS_MAX;
    for is_answered in [true, false] {
        let of_status =
            (0..).zip(questions).filter(|(_, it)| it.certified.is_some() == is_answered);
        for (row, question) in of_status {
            // A question without answers needs a row as well.
            let size = question.tried.len().clamp(1, ANSWERS_OF_QUESTION_MAX);
            if size > left {
                break;
            }
            left -= size;
            shown.push(row);
        }
    }
    shown.sort_unstable();
    shown
}

/// The most answers that are shown of a question.
const ANSWERS_OF_QUESTION_MAX: usize = 1_000;
const ID_BYTES_MAX: usize = 300;
const WHY_BYTES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn question(tried: std::ops::Range<u32>, certified: Option<u32>) -> ReportQuestion {
        ReportQuestion { certified, tried: tried.collect(), ..ReportQuestion::default() }
    }

    #[test]
    fn the_certified_answer_is_kept_among_any_number() {
        let kept = |question: &ReportQuestion| kept(question).collect::<Vec<_>>();
        assert_eq!(kept(&question(3..6, Some(4))), [4, 3, 5]);
        assert_eq!(kept(&question(3..6, None)), [3, 4, 5]);
        let many = kept(&question(0..5_000, Some(4_999)));
        assert_eq!((many.len(), many[0], many[999]), (ANSWERS_OF_QUESTION_MAX, 4_999, 998));
    }

    #[test]
    fn answered_questions_are_shown_first_and_the_page_stays_within_its_answers() {
        // Open questions with 900 answers each, more than fit, then a few answered ones.
        let mut questions = vec![question(0..900, None); 300];
        questions.extend(vec![question(0..10_000, Some(7)); 3]);
        let shown = shown(&questions);
        assert_eq!(shown[shown.len() - 3..], [300, 301, 302]);
        assert_eq!(shown.len() - 3, (ANSWERS_MAX - 3 * ANSWERS_OF_QUESTION_MAX) / 900);
        assert!(shown.is_sorted());
        assert_eq!(super::shown(&vec![question(0..0, None); 300_000]).len(), ANSWERS_MAX);
    }
}
