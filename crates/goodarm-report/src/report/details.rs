//! The rows of the page: every answer with its fields, its evidence and its calls, in blocks that the page
//! parses when it needs them. If there are questions, a row is a question with all its answers.

mod limits;
mod questions;

use std::borrow::Cow;

use goodarm_core::{ArmId, ArmStatus, Target};
use goodarm_record::history::SettledCall;
use goodarm_record::replay::Replay;
use serde_json::Value;

use super::calls::{CallEntry, KeptCalls, PageLimits};
use super::data::{ReportAnswer, ReportData};
use super::rows::{AnswerDetail, FieldRow, field_rows, json};
use super::{Report, ReportError};

/// The rows that the page shows, and their calls.
pub(super) struct Details<'a> {
    report: &'a Report,
    /// The indices of the answers, or of the questions, in the order of their file.
    pub(super) shown: Vec<u32>,
    pub(super) limits: PageLimits,
    calls: Cow<'a, KeptCalls>,
}

impl<'a> Details<'a> {
    /// Decides what fits. If the report has kept fewer calls than fit, the journal is read again.
    pub(super) fn new(report: &'a Report) -> Result<Self, ReportError> {
        let data = &report.data;
        let shown = if report.has_questions() {
            questions::shown(&data.by_question)
        } else {
            shown(&data.answers)
        };
        let limits = PageLimits::new(report, &shown);
        let calls = if report.calls.are_enough(&limits) {
            Cow::Borrowed(&report.calls)
        } else {
            Cow::Owned(read(report, &shown, &limits)?)
        };
        Ok(Self { report, shown, limits, calls })
    }

    /// One shown row as JSON: its fields and its evidence, or its answers.
    pub(super) fn row_json(&self, place: usize) -> String {
        let row = self.shown[place];
        if self.report.has_questions() {
            return self.question_json(row);
        }
        let answer = &self.report.data.answers[row as usize];
        json(&AnswerDetail::new(self.fields(row), &answer.view, &answer.trails))
    }

    /// The calls of a row, which the page parses when the row is opened.
    pub(super) fn calls_json(&self, place: usize) -> String {
        if self.report.has_questions() {
            return self.question_calls_json(place);
        }
        let calls = self.calls.of_row(self.shown[place], &self.limits);
        json(&calls.iter().map(|(_, row)| row).collect::<Vec<_>>())
    }

    fn fields(&self, arm: u32) -> (Vec<FieldRow>, usize) {
        let Some(candidates) = self.report.candidates() else { return (Vec::new(), 0) };
        let is_field = |name: &str, _: &Value| name != self.report.id_field;
        field_rows(candidates.json(ArmId(arm)), is_field, self.limits.field_bytes)
    }
}

/// Reads the calls of these rows from the journal.
fn read(report: &Report, shown: &[u32], limits: &PageLimits) -> Result<KeptCalls, ReportError> {
    let data = &report.data;
    let mut is_shown = vec![false; data.answers.len().max(data.by_question.len())];
    shown.iter().for_each(|&row| is_shown[row as usize] = true);
    let mut calls = KeptCalls::within(limits.calls, limits.reply_bytes);
    let mut replay = Replay::open(&report.folder.journal())?;
    while let Some(entry) = replay.step()? {
        // The run may still write: stop at the last entry of the first reading.
        if entry.index >= report.entry_count {
            break;
        }
        let row = entry.call.as_ref().and_then(|call| row_of(data, call));
        let Some(row) = row.filter(|&row| is_shown.get(row) == Some(&true)) else { continue };
        let (started_millis, criterion_count) =
            (data.overview.span_millis[0], data.overview.verifiers.len());
        let call = CallEntry { entry: &entry, row, started_millis, criterion_count };
        calls.take(call, &report.reply_lengths);
    }
    Ok(calls)
}

/// The row of a call: the index of its answer. With questions, the index of its question or of its answer's question.
fn row_of(data: &ReportData, call: &SettledCall<'_>) -> Option<usize> {
    match call.target {
        Target::Question(question, _) => Some(question.index()),
        Target::Arm(arm, _) => match &data.answers.get(arm.index())?.link {
            Some(link) => Some(link.question as usize),
            None => Some(arm.index()),
        },
    }
}

/// All answers if they fit, otherwise the certified ones first.
fn shown(answers: &[ReportAnswer]) -> Vec<u32> {
    let mut shown: Vec<u32> = Vec::with_capacity(answers.len().min(ANSWERS_MAX));
    for status in ArmStatus::ALL {
        let of_status = (0..).zip(answers).filter(|(_, answer)| answer.view.status == status);
        let left = ANSWERS_MAX - shown.len();
        shown.extend(of_status.take(left).map(|(arm, _)| arm));
    }
    shown.sort_unstable();
    shown
}

/// A page with more answers is too large for browsers.
const ANSWERS_MAX: usize = 200_000;
