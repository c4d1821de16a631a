//! Amounts, failures, conditions of verifiers, estimates and texts of others, for people.

use std::borrow::Cow;
use std::collections::BTreeMap;

use goodarm_core::{Cost, Failure};
pub use goodarm_files::words::{
    amount, confidence, counted, is_free, money, number, plural, price, thousands, were,
};
use goodarm_files::{Unit, visible_line};
use goodarm_record::notice::Condition;
use goodarm_record::view::questions::{GeneratorView, QuestionsView};
use goodarm_record::view::{AddressView, ClaimView, Overview, VerifierView};

/// A verifier's condition, for programs.
pub const fn condition_name(condition: &Condition) -> &'static str {
    match condition {
        Condition::Open => "open",
        Condition::Partly { .. } => "partly-open",
        Condition::BackingOff { .. } => "backing-off",
        Condition::Down { .. } => "down",
        Condition::GivenUp { .. } => "given-up",
        Condition::NeverScored { .. } => "never-scored",
        Condition::Mistrusted { .. } => "mistrusted",
    }
}

/// A verifier's condition, for people.
pub fn condition_text(condition: &Condition) -> String {
    match condition {
        Condition::Open => "answers again".into(),
        Condition::Partly { troubled, of, reason } => {
            format!(
                "{troubled} of its {of} addresses paused ({}), the others continue",
                printable_note(reason)
            )
        }
        Condition::BackingOff { wait } => {
            format!("asks for a pause: backing off {:.1} s", wait.as_secs_f64())
        }
        Condition::Down { reason, .. } => {
            format!(
                "is down ({}): paused, and tried again from time to time",
                printable_note(reason)
            )
        }
        Condition::GivenUp { reason } => {
            format!("is down for too long ({}): stopping", printable_note(reason))
        }
        Condition::NeverScored { reason } => {
            format!("has never given a score ({}): stopping", printable_note(reason))
        }
        Condition::Mistrusted { reason } => {
            format!("cannot be relied on ({}): stopping", printable_note(reason))
        }
    }
}

/// The number of answers to certify: one per question, if there are questions.
pub fn whole(overview: &Overview) -> usize {
    overview.questions.as_ref().map_or(overview.candidates, |questions| questions.count)
}

/// The claim from people's labels, as a sentence.
pub fn claimed(claim: &ClaimView) -> String {
    let (first, rest) = claim.statement.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}

/// The progress of a run, in words.
pub fn achieved(overview: &Overview) -> String {
    match &overview.questions {
        None => format!("{} of {} answers certified", overview.certified, overview.candidates),
        Some(QuestionsView { count, answered, .. }) => {
            let questions = counted(*count, "question");
            let answered = number(*answered as u64);
            format!("{answered} of {questions} answered with a certified answer")
        }
    }
}

/// How the run ended, if it has.
pub fn ending(overview: &Overview) -> Option<&str> {
    overview.ending.as_ref().map(|ending| ending.sentence.as_str())
}

/// The origins and the statuses of the answers to questions.
pub fn tried(overview: &Overview, questions: &QuestionsView) -> String {
    let came = match (questions.given, questions.made) {
        (given, 0) => format!("{} given", counted(given, "answer")),
        (0, made) => format!("{} made", counted(made, "answer")),
        (given, made) => {
            format!("{} given, {} made", counted(given, "answer"), number(made as u64))
        }
    };
    let [certified, rejected, undecided] =
        [overview.certified, overview.rejected, overview.undecided].map(|it| number(it as u64));
    format!("{came} ({certified} certified, {rejected} rejected, {undecided} undecided)")
}

/// The answers of a generator.
pub fn made_by(generator: &GeneratorView) -> String {
    let new = counted(generator.new, "new answer");
    format!("{new}, {} certified", number(generator.certified as u64))
}

/// An approximate amount, for people.
pub fn about(units: f64, unit: Unit) -> String {
    approximate(units).map_or_else(|| units.to_string(), |cost| amount(cost, unit))
}

/// An approximate amount with its unit, for people.
pub fn about_money(units: f64, unit: Unit) -> String {
    approximate(units).map_or_else(|| format!("{units} {unit}"), |cost| money(cost, unit))
}

/// The amount as a cost, without decimals if it is large; `None` if it is not a valid price.
fn approximate(units: f64) -> Option<Cost> {
    Cost::of_price(if units >= 100.0 { units.round() } else { units }).ok()
}

/// A verifier's failed calls: a sentence about those that count as the lowest score, and one about those that do not
/// count. If the verifier never gave a score, its failures do not count, and the sentences do not say what they count
/// as.
pub fn failures(verifier: &VerifierView) -> Vec<String> {
    if verifier.exact {
        let sum: u64 = verifier.failures.values().sum();
        let kinds =
            verifier.failures.iter().map(|(cause, &count)| format!("{} {cause}", number(count)));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let text = format!(
            "{} failed ({kinds}): a call without a verdict is repeated, at most three times",
            number(sum)
        );
        return if sum > 0 { vec![text] } else { Vec::new() };
    }
    let as_what = if verifier.votes { "a vote for no answer" } else { "the lowest score" };
    let mut sentences = failures_by_name(&verifier.failures, as_what);
    if verifier.mean_score.is_none() {
        sentences.iter_mut().for_each(|text| text.truncate(text.find(':').unwrap_or(text.len())));
    }
    sentences
}

/// The same as [`failures`], for a generator's calls without an answer.
pub fn failures_of_generator(generator: &GeneratorView) -> Vec<String> {
    failures_by_name(&generator.failures, "no answer")
}

/// What each address of a service gave, and how many requests began no work: a sentence each.
pub fn deliveries(addresses: &[AddressView], throttled: u64) -> Vec<String> {
    let address = |view: &AddressView| {
        let mean = view.mean_score.map_or(String::new(), |mean| format!(", mean score {mean:.3}"));
        let (calls, failures) = (counted(view.calls, "call"), number(view.failures));
        format!("{}: {calls}, {failures} failed{mean}", printable(&view.address))
    };
    let throttled = (throttled > 0).then(|| {
        let were = if throttled == 1 { "was" } else { "were" };
        format!("{} began no work and {were} sent again", counted(throttled, "request"))
    });
    addresses.iter().map(address).chain(throttled).collect()
}

fn failures_by_name(by_name: &BTreeMap<Cow<'static, str>, u64>, as_what: &str) -> Vec<String> {
    // A cause that is not the name of a failure is an HTTP status, which counts.
    let is_counted =
        |name: &str| Failure::from_name(name).is_none_or(|it| matches!(it, Failure::Counted(_)));
    let sentence = |counted: bool, as_what: &str| {
        let of_kind = || by_name.iter().filter(|(name, _)| is_counted(name) == counted);
        let sum: u64 = of_kind().map(|(_, count)| count).sum();
        let kinds: Vec<String> = match of_kind().count() {
            1 => of_kind().map(|(name, _)| name.to_string()).collect(),
            _ => of_kind().map(|(name, &count)| format!("{} {name}", number(count))).collect(),
        };
        let kinds = kinds.join(", ");
        let they = if sum == 1 { "it counts" } else { "they count" };
        (sum > 0).then(|| format!("{} failed ({kinds}): {they} as {as_what}", number(sum)))
    };
    [sentence(true, as_what), sentence(false, "nothing")].into_iter().flatten().collect()
}

/// A share as a percentage: 85 %, 97.5 %.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A duration in seconds, minutes or hours.
pub fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("{seconds:.1} s");
    }
    let minutes = (seconds / 60.0).round();
    if minutes < 120.0 { format!("{minutes:.0} min") } else { format!("{:.1} h", minutes / 60.0) }
}

/// An estimated duration; if it is short, in whole seconds.
pub fn about_time(seconds: f64) -> String {
    if seconds < 120.0 { format!("{:.0} s", seconds.max(1.0)) } else { duration(seconds) }
}

/// An estimate with its range, in two digits. The range is rounded outwards, up to `most`.
pub fn estimate([low, median, high]: [f64; 3], most: f64, unit: Unit) -> String {
    let high = two_digits(high, f64::ceil).min(most);
    let (low, median) = (two_digits(low, f64::floor).min(high), two_digits(median, f64::round));
    let (low, high) = (about(low, unit), about(high, unit));
    format!("{} ({low} to {high})", about_money(median, unit))
}

/// Rounds an estimate to two digits. Nearly whole steps are not rounded up or down by a whole one.
fn two_digits(number: f64, rounded: fn(f64) -> f64) -> f64 {
    if number <= 0.0 {
        return 0.0;
    }
    let step = 10_f64.powf(number.log10().floor() - 1.0);
    let steps = number / step;
    let nearest = steps.round();
    let steps = if (steps - nearest).abs() < 1e-6 { nearest } else { rounded(steps) };
    steps * step
}

/// A number of calls per second, for people.
pub fn rate(calls_per_second: f64) -> String {
    if calls_per_second >= 100.0 {
        thousands(&format!("{calls_per_second:.0}"))
    } else {
        format!("{calls_per_second:.1}")
    }
}

/// Text of others, for a terminal: one line, without control characters, cut.
pub fn printable(text: &str) -> String {
    let mut shown = visible_line(text.chars().take(PRINTABLE_CHARS_MAX));
    if text.chars().nth(PRINTABLE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// A sentence of ours that contains text of others, for a terminal: one line, without control characters.
pub fn printable_note(text: &str) -> String {
    visible_line(text.chars())
}

const PRINTABLE_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_grouped_by_what_they_count_as() {
        let of = |list: &[(&'static str, u64)]| {
            let list = list.iter().map(|&(name, count)| (name.into(), count));
            failures_by_name(&list.collect(), "the lowest score")
        };
        assert!(of(&[]).is_empty());
        assert_eq!(of(&[("lost", 1)]), ["1 failed (lost): it counts as the lowest score"]);
        assert_eq!(of(&[("HTTP 500", 2)]), ["2 failed (HTTP 500): they count as the lowest score"]);
        assert_eq!(
            of(&[("timed-out", 1200), ("unreadable", 3), ("rate-limited", 2)]),
            [
                "1,203 failed (1,200 timed-out, 3 unreadable): they count as the lowest score",
                "2 failed (rate-limited): they count as nothing"
            ]
        );
    }

    #[test]
    fn a_guess_has_two_digits() {
        for (number, expected) in
            [(0.0, 0.0), (41_234.0, 41_000.0), (3.217, 3.2), (0.00456, 0.0046)]
        {
            assert!((two_digits(number, f64::round) - expected).abs() < 1e-12, "{number}");
        }
    }

    #[test]
    fn the_range_of_an_estimate_is_rounded_outwards_up_to_the_most() {
        let tokens = estimate([56_233.0, 59_371.0, 59_475.0], 60_000.0, Unit::Tokens);
        assert_eq!(tokens, "59,000 tokens (56,000 to 60,000)");
        let dollars = estimate([0.00801, 0.00921, 0.00979], 0.01, Unit::Dollars);
        assert_eq!(dollars, "0.0092 dollars (0.008 to 0.0098)");
        let calls = estimate([595.0, 595.0, 600.0], 600.0, Unit::Calls);
        assert_eq!(calls, "600 calls (590 to 600)");
    }
}
