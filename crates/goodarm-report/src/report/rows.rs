//! Answers and calls in the JSON of the pages: short keys and rows, because there may be many.

use goodarm_core::Outcome;
use goodarm_data::candidates::fields;
use goodarm_record::history::JournalEntry;
use goodarm_record::journal::Note;
use goodarm_record::terms::row_of;
use goodarm_record::view::{AnswerView, LoanView, PairView};
use serde::Serialize;
use serde_json::Value;

use super::cut::beginning;
use super::trail::Trail;

/// The wanted fields of an object, at most `FIELDS_MAX`, each cut to this many bytes; and the number of all wanted
/// fields plus one for the id.
pub(crate) fn field_rows(
    json: &str,
    is_wanted: impl Fn(&str, &Value) -> bool,
    field_bytes_max: usize,
) -> (Vec<FieldRow>, usize) {
    let mut wanted = fields::in_order(json);
    wanted.retain(|(name, value)| is_wanted(name, value));
    let count = wanted.len() + 1;
    let row = |(name, value): (String, Value)| {
        let text = text_of(value);
        let kept = beginning(&text, field_bytes_max);
        let total = (kept.len() < text.len()).then_some(text.len());
        FieldRow(beginning(&name, NAME_BYTES_MAX).to_owned(), kept.to_owned(), total)
    };
    (wanted.into_iter().take(FIELDS_MAX).map(row).collect(), count)
}

/// Text as it is; anything else as JSON.
pub(super) fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// An answer in the page. Short keys, because there may be a hundred thousand.
#[derive(Serialize)]
pub(crate) struct AnswerDetail {
    /// Fields.
    pub(crate) f: Vec<FieldRow>,
    /// The number of fields, including the id.
    pub(crate) n: usize,
    /// Evidence, one for each verifier.
    pub(crate) p: Vec<PairRow>,
    /// The answer's share of δ, if shares are lent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) s: Option<LoanView>,
}

impl AnswerDetail {
    /// `trails` has an entry for each verifier, or is empty.
    pub(crate) fn new(
        (f, n): (Vec<FieldRow>, usize),
        answer: &AnswerView,
        trails: &[Trail],
    ) -> Self {
        let trails =
            trails.iter().map(Trail::letters).chain(std::iter::repeat_with(Default::default));
        let p = answer.evidence.iter().zip(trails).map(pair_row).collect();
        Self { f, n, p, s: answer.loan }
    }

    /// Removes the trails of the evidence, because they are not known.
    pub(crate) fn without_shares(mut self) -> Self {
        self.p.iter_mut().for_each(|pair| pair.7.clear());
        self
    }
}

/// Name, text, and the length of the whole text if it was cut.
#[derive(Serialize)]
pub(crate) struct FieldRow(
    String,
    String,
    #[serde(skip_serializing_if = "Option::is_none")] Option<usize>,
);

impl FieldRow {
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

/// A pair: calls, mean, evidence, needed evidence, whether it is reached, money, and the trails of mean and evidence.
#[derive(Serialize)]
pub(crate) struct PairRow(u64, Option<f64>, Option<f64>, Option<f64>, u8, f64, String, String);

fn pair_row((pair, [means, shares]): (&PairView, [String; 2])) -> PairRow {
    PairRow(
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

/// A call: verifier, score, cost, latency in milliseconds, seconds since the start. A long row also has failure,
/// reply, reason, and the length of the whole reply if it was cut, otherwise 0.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum CallRow {
    Short(usize, ScoreCell, f64, u128, f64),
    Long(usize, ScoreCell, f64, u128, f64, &'static str, Box<str>, Box<str>, usize),
}

impl CallRow {
    /// The length of the reply, as far as it is kept.
    pub(super) const fn reply_bytes(&self) -> u64 {
        match self {
            Self::Short(..) => 0,
            Self::Long(.., reply, _, _) => reply.len() as u64,
        }
    }

    /// Cuts the reply to this many bytes.
    pub(super) fn shorten(&mut self, reply_bytes_max: usize) {
        if let Self::Long(.., reply, _, total) = self
            && reply.len() > reply_bytes_max
        {
            // 0 means that the reply was not cut before.
            *total = if *total == 0 { reply.len() } else { *total };
            *reply = beginning(reply, reply_bytes_max).into();
        }
    }
}

/// A score, or one for each criterion; null if it is missing.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum ScoreCell {
    One(Option<f64>),
    Each(Box<[Option<f64>]>),
    /// The final answer to a question.
    Answer(Box<str>),
}

/// The call of an entry, if it has one, its reply cut to `reply_bytes_max`. `started_millis` is the start of the
/// run. Verifiers and generators are numbered as in the tables: all criteria, then the generators.
pub(crate) fn call_row(
    entry: &JournalEntry<'_>,
    criterion_count: usize,
    started_millis: u64,
    reply_bytes_max: usize,
) -> Option<CallRow> {
    let call = entry.call.as_ref()?;
    let Note { latency, reply, reason, .. } = &call.note;
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let seconds = entry.unix_millis.saturating_sub(started_millis) as f64 / 1000.0;
    let (verifier, cost) = (row_of(call.target, criterion_count), call.bill.settled().units());
    let (latency, seconds) = (latency.as_millis(), rounded(seconds, 10.0));
    let (score, failure) = match &call.outcome {
        Outcome::Score(score) => (ScoreCell::One(Some(*score)), ""),
        Outcome::Scores(scores) => (ScoreCell::Each(scores.clone()), ""),
        Outcome::Answer(_) => (ScoreCell::Answer(final_answer(&call.note.answer)), ""),
        Outcome::Failed(failure) => (ScoreCell::One(None), failure.name()),
    };
    if failure.is_empty() && reply.is_empty() && reason.is_empty() {
        return Some(CallRow::Short(verifier, score, cost, latency, seconds));
    }
    let kept: Box<str> = beginning(reply, reply_bytes_max).into();
    let total = if kept.len() < reply.len() { reply.len() } else { 0 };
    let reason = beginning(reason, REASON_BYTES_MAX).into();
    Some(CallRow::Long(verifier, score, cost, latency, seconds, failure, kept, reason, total))
}

/// A final answer, cut, because every call may have one. The journal has only a hash of a long final answer; the
/// beginning of the hash is enough to recognize it.
fn final_answer(answer: &str) -> Box<str> {
    let is_hash = answer.starts_with("blake3 ") && answer.len() == HASH_BYTES;
    let kept = beginning(answer, if is_hash { HASH_BYTES_KEPT } else { FINAL_BYTES_MAX });
    if kept.len() < answer.len() { format!("{kept}…").into() } else { kept.into() }
}

/// Our own data as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data with text keys")
}

pub(crate) fn rounded(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

/// The most fields that are shown of an object; the output files have all fields.
const FIELDS_MAX: usize = 50;
const NAME_BYTES_MAX: usize = 120;
const REASON_BYTES_MAX: usize = 400;
const FINAL_BYTES_MAX: usize = 80;
/// `blake3 ` and 64 digits.
const HASH_BYTES: usize = 71;
const HASH_BYTES_KEPT: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_final_answer_is_short() {
        assert_eq!(&*final_answer("Canberra"), "Canberra");
        assert_eq!(&*final_answer(&"é".repeat(100)), format!("{}…", "é".repeat(40)));
        let hash = format!("blake3 {}", "0123456789abcdef".repeat(4));
        assert_eq!(&*final_answer(&hash), "blake3 01234567…");
    }
}
