//! The part of the page that grows with the run: every answer with its fields, its evidence and its
//! calls, in blocks that the page parses only when they are needed.

use goodarm_core::{ArmId, ArmStatus};
use goodarm_live::history::{Entry, History};
use serde::Serialize;

use super::cut::Lengths;
use super::data::Answer;
use super::lines::{
    CallLine, Detail, FieldLine, Fields, call_line, field_lines, pair_line, text_of,
};
use super::{Report, ReportError};

/// What the page keeps of the answers and calls.
pub(super) struct Details<'a> {
    report: &'a Report,
    /// The answers that are shown, in the order of the candidates file.
    pub(super) shown: Vec<u32>,
    pub(super) limits: Limits,
    /// Of each answer that is shown.
    calls: Vec<Vec<CallLine>>,
}

/// What was cut, so that the page can say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Limits {
    /// Of each field.
    pub(super) field_bytes: usize,
    /// Of each reply.
    pub(super) reply_bytes: usize,
    /// Of each answer.
    pub(super) calls: usize,
}

impl<'a> Details<'a> {
    /// Decides what fits, and goes through the journal for it.
    pub(super) fn new(report: &'a Report) -> Result<Self, ReportError> {
        let answers = &report.data.answers;
        let shown = shown(answers);
        let limits = limits(report, &shown);
        let mut places = vec![None; answers.len()];
        for (place, &arm) in shown.iter().enumerate() {
            places[arm as usize] = Some(place);
        }
        let mut details =
            Self { report, limits, calls: shown.iter().map(|_| Vec::new()).collect(), shown };
        let path = report.folder.journal();
        let told = |error| ReportError::History { path: path.clone(), error };
        let mut history = History::open(&path).map_err(told)?;
        // The run may go on while this is written: stop at the calls that were counted.
        let mut left = report.data.overview.calls;
        while left > 0 {
            let Some(entry) = history.next_entry().map_err(told)? else { break };
            let Some(call) = &entry.call else { continue };
            left -= 1;
            if let Some(place) = call.arm().and_then(|arm| places[arm.index()]) {
                details.keep(place, &entry);
            }
        }
        Ok(details)
    }

    fn keep(&mut self, place: usize, entry: &Entry<'_>) {
        let calls = &mut self.calls[place];
        if calls.len() >= self.limits.calls {
            return;
        }
        let started = self.report.data.overview.span_millis[0];
        let attribute_count = self.report.data.overview.verifiers.len();
        calls.extend(call_line(entry, attribute_count, started, self.limits.reply_bytes));
    }

    /// One shown answer as JSON: its fields and its evidence.
    pub(super) fn answer_json(&self, place: usize) -> String {
        let arm = self.shown[place];
        let answer = &self.report.data.answers[arm as usize];
        let (fields, field_count) = self.fields(arm);
        let detail = Detail {
            f: fields,
            n: field_count,
            p: answer.evidence.iter().map(pair_line).collect(),
            s: answer.loan,
        };
        serde_json::to_string(&detail).expect("plain data with text keys")
    }

    /// Its calls, which are read only when it is opened.
    pub(super) fn calls_json(&self, place: usize) -> String {
        serde_json::to_string(&self.calls[place]).expect("plain data")
    }

    fn fields(&self, arm: u32) -> (Vec<FieldLine>, usize) {
        let Some(candidates) = self.report.candidates() else { return (Vec::new(), 0) };
        let json = candidates.json(ArmId(arm));
        field_lines(json, &self.report.id_field, self.limits.field_bytes)
    }
}

/// All answers if they fit, otherwise the certified ones first.
fn shown(answers: &[Answer]) -> Vec<u32> {
    let mut shown: Vec<u32> = Vec::with_capacity(answers.len().min(ANSWERS_MAX));
    for status in ArmStatus::ALL {
        let of_status = (0..).zip(answers).filter(|(_, answer)| answer.status == status);
        let left = ANSWERS_MAX - shown.len();
        shown.extend(of_status.take(left).map(|(arm, _)| arm));
    }
    shown.sort_unstable();
    shown
}

fn limits(report: &Report, shown: &[u32]) -> Limits {
    let mut calls = Lengths::new(CALLS_OF_ANSWER_MAX);
    let mut fields = Lengths::new(FIELD_BYTES_MAX);
    for &arm in shown {
        let count = report.data.answers[arm as usize].calls;
        calls.take(usize::try_from(count).unwrap_or(usize::MAX));
        if let Some(candidates) = report.candidates() {
            let all = Fields::read(candidates.json(ArmId(arm))).0;
            all.into_iter().for_each(|(_, value)| fields.take(text_of(value).len()));
        }
    }
    Limits {
        field_bytes: fields.limit(FIELDS_BYTES_TOTAL),
        reply_bytes: report.reply_lengths.limit(REPLIES_BYTES_TOTAL),
        calls: calls.limit(CALLS_TOTAL),
    }
}

/// More answers than this make a page too large for browsers.
const ANSWERS_MAX: usize = 200_000;
const FIELD_BYTES_MAX: usize = 20_000;
const FIELDS_BYTES_TOTAL: u64 = 32 << 20;
/// No reply keeps more than this.
pub(super) const REPLY_BYTES_MAX: usize = 8_000;
const REPLIES_BYTES_TOTAL: u64 = 16 << 20;
const CALLS_OF_ANSWER_MAX: usize = 5_000;
const CALLS_TOTAL: u64 = 500_000;
