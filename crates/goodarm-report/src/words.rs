//! Amounts, units, verifiers' conditions and foreign texts, as people read them.

use goodarm_core::Cost;
use goodarm_live::job_file::Unit;
use goodarm_live::throttle::Condition;

/// A verifier's condition, for programs.
pub const fn condition_name(condition: &Condition) -> &'static str {
    match condition {
        Condition::Open => "open",
        Condition::BackingOff { .. } => "backing-off",
        Condition::Down { .. } => "down",
        Condition::GivenUp { .. } => "given-up",
        Condition::NeverScored { .. } => "never-scored",
    }
}

/// A verifier's condition, for people.
pub fn condition_text(condition: &Condition) -> String {
    match condition {
        Condition::Open => "answers again".into(),
        Condition::BackingOff { wait } => {
            format!("asks for a pause (429): backing off {:.1} s", wait.as_secs_f64())
        }
        Condition::Down { reason, .. } => {
            format!("is down ({}): paused, and tried again now and then", printable(reason))
        }
        Condition::GivenUp { reason } => {
            format!("is down for too long ({}): stopping", printable(reason))
        }
        Condition::NeverScored { reason } => {
            format!("has never given a score ({}): stopping", printable(reason))
        }
    }
}

/// What the budget counts, in a sentence.
pub const fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Tokens => "tokens",
        Unit::Dollars => "dollars",
        Unit::Seconds => "seconds",
        Unit::Calls => "calls",
    }
}

/// An amount as a person reads it: at most four decimals, thousands separated.
pub fn amount(cost: Cost) -> String {
    let units = cost.units();
    let text = if units >= 1000.0 || units.fract() == 0.0 {
        format!("{units:.0}")
    } else if units >= 0.01 {
        format!("{units:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{units:.1e}")
    };
    let (whole, rest) = text.split_at(text.find(['.', 'e']).unwrap_or(text.len()));
    format!("{}{rest}", thousands(whole))
}

/// 1234567 as 1,234,567.
pub fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Calls a second.
pub fn rate(calls_per_second: f64) -> String {
    if calls_per_second >= 100.0 {
        thousands(&format!("{calls_per_second:.0}"))
    } else {
        format!("{calls_per_second:.1}")
    }
}

/// Text that is not ours, on a terminal: one line, no control characters, not too long.
pub fn printable(text: &str) -> String {
    let mut shown = harmless(text.chars().take(PRINTABLE_CHARS_MAX));
    if text.chars().nth(PRINTABLE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// A sentence of ours with names in it that are not.
pub fn printable_note(text: &str) -> String {
    harmless(text.chars())
}

fn harmless(text: impl Iterator<Item = char>) -> String {
    text.map(|c| if is_harmless(c) { c } else { '\u{fffd}' }).collect()
}

/// Neither a control character nor one that changes the direction of writing.
fn is_harmless(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns
}

const PRINTABLE_CHARS_MAX: usize = 60;
