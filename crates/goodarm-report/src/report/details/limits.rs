//! The limits of a page: bytes of each text, and calls of each row.

use goodarm_core::ArmId;
use goodarm_data::candidates::fields;
use serde_json::Value;

use super::questions::{QuestionFields, kept};
use crate::report::Report;
use crate::report::calls::{CALLS_OF_ROW_MAX, CALLS_TOTAL, PageLimits, REPLIES_BYTES_TOTAL};
use crate::report::cut::LengthCounts;
use crate::report::rows::text_of;

impl PageLimits {
    /// The largest limits at which these rows fit into a page.
    pub(super) fn new(report: &Report, shown: &[u32]) -> Self {
        let mut calls = LengthCounts::new(CALLS_OF_ROW_MAX);
        let mut fields = LengthCounts::new(FIELD_BYTES_MAX);
        for &row in shown {
            let (data, place) = (&report.data, row as usize);
            let count = match data.by_question.get(place) {
                Some(question) => question.calls,
                None => data.answers[place].calls,
            };
            calls.take(usize::try_from(count).unwrap_or(usize::MAX));
            texts(report, row, &mut |value| fields.take(text_of(value).len()));
        }
        Self {
            field_bytes: fields.limit(FIELDS_BYTES_TOTAL),
            reply_bytes: report.reply_lengths.limit(REPLIES_BYTES_TOTAL),
            calls: calls.limit(CALLS_TOTAL),
        }
    }
}

/// Passes every field of a row to `take`; a row that is a question includes the fields of its answers.
fn texts(report: &Report, row: u32, take: &mut impl FnMut(Value)) {
    let Some(subjects) = &report.subjects else { return };
    let Some(questions) = &subjects.questions else {
        let all = fields::in_order(subjects.candidates.json(ArmId(row)));
        return all.into_iter().for_each(|(_, value)| take(value));
    };
    let own = QuestionFields::new(questions, row);
    for arm in kept(&report.data.by_question[row as usize]) {
        let of_answer = fields::in_order(subjects.candidates.json(ArmId(arm)));
        let of_answer = of_answer.into_iter().filter(|(name, value)| own.is_of_answer(name, value));
        of_answer.for_each(|(_, value)| take(value));
    }
    own.into_values().for_each(take);
}

const FIELD_BYTES_MAX: usize = 20_000;
const FIELDS_BYTES_TOTAL: u64 = 32 << 20;
