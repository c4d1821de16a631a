//! The part of the page that grows with the run: every answer with its fields, its evidence and its
//! calls, in blocks that the page reads when they are looked at.

use std::fmt;

use goodarm_core::ArmId;
use goodarm_live::history::{Call, Happening, History};
use goodarm_live::outputs::calls::failure_name;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cut::{Lengths, beginning};
use super::data::{Answer, Pair, Status};
use super::{Report, ReportError};

/// What the page keeps of the answers and calls.
pub(super) struct Details<'a> {
    report: &'a Report,
    /// The answers that are shown, in the order of the candidates file.
    pub(super) shown: Vec<u32>,
    pub(super) limits: Limits,
    /// Of each answer that is shown.
    calls: Vec<Vec<Kept>>,
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

/// One call, as far as it is kept.
struct Kept {
    verifier: u32,
    outcome: Result<f64, &'static str>,
    cost: f64,
    latency_millis: u128,
    /// Since the first event.
    seconds: f64,
    reply: Box<str>,
    reply_bytes: usize,
    reason: Box<str>,
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
        let told = |error| ReportError::History(path.clone(), error);
        let mut history = History::open(&path).map_err(told)?;
        // The run may go on while this is written: nothing after what was counted.
        let mut left = report.data.overview.calls;
        while left > 0 {
            match history.next_happening_after(|_| {}).map_err(told)? {
                None => break,
                Some(Happening::BudgetRaised { .. }) => {}
                Some(Happening::Called(call)) => {
                    left -= 1;
                    if let Some(place) = places[call.arm.index()] {
                        details.keep(place, &call);
                    }
                }
            }
        }
        Ok(details)
    }

    fn keep(&mut self, place: usize, call: &Call) {
        let calls = &mut self.calls[place];
        if calls.len() >= self.limits.calls {
            return;
        }
        let started = self.report.data.overview.span_millis[0];
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let seconds = call.unix_millis.saturating_sub(started) as f64 / 1000.0;
        calls.push(Kept {
            verifier: call.attribute.0,
            outcome: call.outcome.map_err(failure_name),
            cost: call.cost.units(),
            latency_millis: call.latency.as_millis(),
            seconds,
            reply: beginning(&call.reply, self.limits.reply_bytes).into(),
            reply_bytes: call.reply.len(),
            reason: beginning(&call.reason, REASON_BYTES_MAX).into(),
        });
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
        };
        serde_json::to_string(&detail).expect("plain data with text keys")
    }

    /// Its calls, which are read only when it is opened.
    pub(super) fn calls_json(&self, place: usize) -> String {
        let lines: Vec<CallLine> = self.calls[place].iter().map(call_line).collect();
        serde_json::to_string(&lines).expect("plain data")
    }

    fn fields(&self, arm: u32) -> (Vec<FieldLine>, usize) {
        let Some(candidates) = &self.report.candidates else { return (Vec::new(), 0) };
        let fields = Fields::read(candidates.json(ArmId(arm)));
        let count = fields.0.len();
        let line = |(name, value): (String, Value)| {
            let text = text_of(value);
            let kept = beginning(&text, self.limits.field_bytes);
            let total = (kept.len() < text.len()).then_some(text.len());
            FieldLine(beginning(&name, NAME_BYTES_MAX).to_owned(), kept.to_owned(), total)
        };
        let others = fields.0.into_iter().filter(|(name, _)| *name != self.report.id_field);
        (others.take(FIELDS_MAX).map(line).collect(), count)
    }
}

/// All answers if they fit, otherwise the certified ones first.
fn shown(answers: &[Answer]) -> Vec<u32> {
    let mut shown: Vec<u32> = Vec::with_capacity(answers.len().min(ANSWERS_MAX));
    for status in Status::ALL {
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
        if let Some(candidates) = &report.candidates {
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

/// An answer's object, its fields in their order.
struct Fields(Vec<(String, Value)>);

impl Fields {
    fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or(Self(Vec::new()))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Text as it is; anything else as JSON.
fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// An answer in the page: short keys, because there may be a hundred thousand.
#[derive(Serialize)]
struct Detail {
    /// Fields.
    f: Vec<FieldLine>,
    /// How many fields there are, the id among them.
    n: usize,
    /// Pairs, one for each verifier.
    p: Vec<PairLine>,
}

/// Name, text, and the length of the whole text if it was cut.
#[derive(Serialize)]
struct FieldLine(String, String, #[serde(skip_serializing_if = "Option::is_none")] Option<usize>);

/// Calls, mean, evidence, needed evidence, whether it is met, money, and the two trails.
#[derive(Serialize)]
struct PairLine(u64, Option<f64>, Option<f64>, Option<f64>, u8, f64, String, String);

fn pair_line(pair: &Pair) -> PairLine {
    let [means, shares] = pair.trail.letters();
    PairLine(
        pair.calls,
        pair.mean.map(|mean| rounded(mean, 1e4)),
        pair.evidence.map(|evidence| rounded(evidence, 1e3)),
        pair.needed.map(|needed| rounded(needed, 1e3)),
        u8::from(pair.met),
        pair.spent.units(),
        means,
        shares,
    )
}

/// Verifier, score, cost, latency in milliseconds, seconds since the start; and if there is any:
/// failure, reply, reason, and the length of the whole reply if it was cut.
#[derive(Serialize)]
#[serde(untagged)]
enum CallLine {
    Short(u32, Option<f64>, f64, u128, f64),
    Long(u32, Option<f64>, f64, u128, f64, &'static str, Box<str>, Box<str>, usize),
}

fn call_line(call: &Kept) -> CallLine {
    let (score, failure) = match call.outcome {
        Ok(score) => (Some(score), ""),
        Err(failure) => (None, failure),
    };
    let (verifier, cost, latency, seconds) =
        (call.verifier, call.cost, call.latency_millis, rounded(call.seconds, 10.0));
    if failure.is_empty() && call.reply_bytes == 0 && call.reason.is_empty() {
        return CallLine::Short(verifier, score, cost, latency, seconds);
    }
    let total = if call.reply.len() < call.reply_bytes { call.reply_bytes } else { 0 };
    let (reply, reason) = (call.reply.clone(), call.reason.clone());
    CallLine::Long(verifier, score, cost, latency, seconds, failure, reply, reason, total)
}

pub(super) fn rounded(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

/// More answers than this make a page that no browser likes.
const ANSWERS_MAX: usize = 200_000;
/// Of an answer; more are in the output files.
const FIELDS_MAX: usize = 50;
const NAME_BYTES_MAX: usize = 120;
const FIELD_BYTES_MAX: usize = 20_000;
const FIELDS_BYTES_TOTAL: u64 = 32 << 20;
/// No reply keeps more than this.
pub(super) const REPLY_BYTES_MAX: usize = 8_000;
const REPLIES_BYTES_TOTAL: u64 = 16 << 20;
const REASON_BYTES_MAX: usize = 400;
const CALLS_OF_ANSWER_MAX: usize = 5_000;
const CALLS_TOTAL: u64 = 500_000;
