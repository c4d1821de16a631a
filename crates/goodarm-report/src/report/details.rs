//! The part of the page that grows with the run: every answer with its fields, its evidence and its
//! calls, in blocks that the page parses only when they are needed. Where there are questions, a row is
//! a question with all its answers.

mod limits;
mod questions;

use goodarm_core::{ArmId, ArmStatus, Target};
use goodarm_record::history::{Entry, History, SettledCall};

use super::data::{Answer, Data};
use super::lines::{CallLine, Detail, FieldLine, call_line, field_lines, pair_line};
use super::{Report, ReportError};

pub(super) use limits::{Limits, REPLY_BYTES_MAX};

/// What the page keeps of the rows and their calls.
pub(super) struct Details<'a> {
    report: &'a Report,
    /// The answers, or the questions, that are shown, in the order of their file.
    pub(super) shown: Vec<u32>,
    pub(super) limits: Limits,
    /// Of each row that is shown; with the answer that it is about, if that is one of several.
    calls: Vec<Vec<(Option<u32>, CallLine)>>,
}

impl<'a> Details<'a> {
    /// Decides what fits, and goes through the journal for it.
    pub(super) fn new(report: &'a Report) -> Result<Self, ReportError> {
        let data = &report.data;
        let shown = if report.has_questions() {
            questions::shown(&data.by_question)
        } else {
            shown(&data.answers)
        };
        let limits = Limits::new(report, &shown);
        let mut places = vec![None; data.answers.len().max(data.by_question.len())];
        for (place, &row) in shown.iter().enumerate() {
            places[row as usize] = Some(place);
        }
        let mut details =
            Self { report, limits, calls: shown.iter().map(|_| Vec::new()).collect(), shown };
        let path = report.folder.journal();
        let told = |error| ReportError::History { path: path.clone(), error };
        let mut history = History::open(&path).map_err(told)?;
        // The run may go on while this is written: stop at the calls that were counted.
        let mut left = data.overview.calls;
        while left > 0 {
            let Some(entry) = history.next_entry().map_err(told)? else { break };
            let Some(call) = &entry.call else { continue };
            left -= 1;
            let place = row_of(data, call).and_then(|row| places.get(row).copied().flatten());
            if let Some(place) = place {
                details.keep(place, call.arm(), &entry);
            }
        }
        Ok(details)
    }

    fn keep(&mut self, place: usize, about: Option<ArmId>, entry: &Entry<'_>) {
        let calls = &mut self.calls[place];
        if calls.len() >= self.limits.calls {
            return;
        }
        let started = self.report.data.overview.span_millis[0];
        let criterion_count = self.report.data.overview.verifiers.len();
        let line = call_line(entry, criterion_count, started, self.limits.reply_bytes);
        calls.extend(line.map(|line| (about.map(|arm| arm.0), line)));
    }

    /// One shown row as JSON: its fields and its evidence, or its answers.
    pub(super) fn row_json(&self, place: usize) -> String {
        let row = self.shown[place];
        if self.report.has_questions() {
            return self.question_json(row);
        }
        let (fields, field_count) = self.fields(row);
        let answer = &self.report.data.answers[row as usize];
        json(&detail(answer, fields, field_count))
    }

    /// Its calls, which are read only when it is opened.
    pub(super) fn calls_json(&self, place: usize) -> String {
        if self.report.has_questions() {
            return self.question_calls_json(place);
        }
        json(&self.calls[place].iter().map(|(_, line)| line).collect::<Vec<_>>())
    }

    fn fields(&self, arm: u32) -> (Vec<FieldLine>, usize) {
        let Some(candidates) = self.report.candidates() else { return (Vec::new(), 0) };
        let json = candidates.json(ArmId(arm));
        field_lines(json, &self.report.id_field, self.limits.field_bytes)
    }
}

/// An answer with these fields of it.
fn detail(answer: &Answer, fields: Vec<FieldLine>, field_count: usize) -> Detail {
    Detail {
        f: fields,
        n: field_count,
        p: answer.evidence.iter().map(pair_line).collect(),
        s: answer.loan,
    }
}

/// The answer that a call is about, or the question that it or its answer belongs to.
fn row_of(data: &Data, call: &SettledCall<'_>) -> Option<usize> {
    match call.target {
        Target::Question(question, _) => Some(question.index()),
        Target::Arm(arm, _) => match &data.answers.get(arm.index())?.of {
            Some(of) => Some(of.question as usize),
            None => Some(arm.index()),
        },
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

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data with text keys")
}

/// More answers than this make a page too large for browsers.
const ANSWERS_MAX: usize = 200_000;
