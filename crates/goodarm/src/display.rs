//! A run as people see it while it goes on: a bar on a terminal, plain lines elsewhere, JSON for
//! programs, or nothing.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use goodarm_live::job::Job;
use goodarm_live::job_file::Unit;
use goodarm_live::line::Condition;
use goodarm_live::run::{Notice, Observer, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

/// Shows a run.
pub(crate) struct Display<'a> {
    job: &'a Job,
    style: Style,
    last_line: Option<Instant>,
}

enum Style {
    Bar(ProgressBar),
    Lines,
    Json,
    Nothing,
}

impl<'a> Display<'a> {
    pub(crate) fn new(job: &'a Job, quiet: bool, json: bool) -> Self {
        let style = if json {
            Style::Json
        } else if quiet {
            Style::Nothing
        } else if io::stderr().is_terminal() {
            let bar = ProgressBar::new(BAR_STEPS);
            let template = "{bar:30} {msg}";
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            Style::Bar(bar)
        } else {
            Style::Lines
        };
        Self { job, style, last_line: None }
    }

    /// Says something that must not be overwritten.
    pub(crate) fn say(&self, text: &str) {
        match &self.style {
            Style::Bar(bar) => bar.suspend(|| line(text)),
            Style::Lines => line(text),
            Style::Json | Style::Nothing => {}
        }
    }

    fn progress(&mut self, progress: &Progress) {
        match &self.style {
            Style::Bar(bar) => {
                let share = progress.spent.units() / progress.budget.units();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "0 to 1"
                )]
                #[expect(clippy::cast_precision_loss, reason = "a thousand steps")]
                bar.set_position((share.clamp(0.0, 1.0) * BAR_STEPS as f64) as u64);
                bar.set_message(self.sentence(progress));
            }
            Style::Lines => {
                let is_due = self.last_line.is_none_or(|last| last.elapsed() >= LINE_INTERVAL);
                if is_due {
                    self.last_line = Some(Instant::now());
                    line(&self.sentence(progress));
                }
            }
            Style::Json => print_json(&self.progress_json(progress)),
            Style::Nothing => {}
        }
    }

    fn sentence(&self, progress: &Progress) -> String {
        let unit = unit_name(self.job.unit());
        let mut text = if progress.is_paused { "paused (from the page): " } else { "" }.to_owned();
        text += &format!(
            "{} of {} {unit} spent ({} reserved), {} of {} certified, about {:.0} in the end, {} calls/s, {} out",
            amount(progress.spent),
            amount(progress.budget),
            amount(progress.reserved),
            progress.certified_count,
            progress.candidate_count,
            progress.forecast,
            rate(progress.calls_per_second),
            progress.in_flight_count,
        );
        if progress.retry_count > 0 {
            text += &format!(", {} retries", progress.retry_count);
        }
        if progress.failure_count > 0 {
            text += &format!(", {} failures", progress.failure_count);
        }
        for (verifier, condition) in self.job.verifiers.iter().zip(&progress.conditions) {
            match condition {
                Condition::Open => {}
                Condition::BackingOff { wait } => {
                    text +=
                        &format!(", {}: backing off {:.1} s", verifier.name, wait.as_secs_f64());
                }
                Condition::Down { since, .. } => {
                    text += &format!(", {}: down for {:.0} s", verifier.name, since.as_secs_f64());
                }
                Condition::GivenUp { .. } => text += &format!(", {}: given up", verifier.name),
            }
        }
        if let Some((arm, attribute)) = progress.working_on {
            let verifier = &self.job.verifiers[attribute.index()].name;
            text += &format!(" ({verifier} on {})", printable(self.job.candidates.id(arm)));
        }
        text
    }

    fn progress_json(&self, progress: &Progress) -> serde_json::Value {
        let conditions: Vec<_> = self
            .job
            .verifiers
            .iter()
            .zip(&progress.conditions)
            .map(|(verifier, condition)| {
                json!({"verifier": verifier.name, "condition": condition_name(condition)})
            })
            .collect();
        json!({
            "event": "progress",
            "certified": progress.certified_count,
            "rejected": progress.rejected_count,
            "candidates": progress.candidate_count,
            "spent": progress.spent.to_string(),
            "reserved": progress.reserved.to_string(),
            "left": progress.left.to_string(),
            "budget": progress.budget.to_string(),
            "calls": progress.call_count,
            "failures": progress.failure_count,
            "calls_per_second": progress.calls_per_second,
            "in_flight": progress.in_flight_count,
            "retries": progress.retry_count,
            "forecast": progress.forecast,
            "paused": progress.is_paused,
            "verifiers": conditions,
        })
    }
}

impl Observer for Display<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        let is_json = matches!(self.style, Style::Json);
        match notice {
            Notice::Progress(progress) => self.progress(progress),
            Notice::Called { id, verifier, outcome, cost, latency } => print_json(&json!({
                "event": "call", "id": id, "verifier": verifier, "score": outcome.ok(),
                "failure": outcome.err(), "cost": cost.to_string(), "latency": latency.as_secs_f64(),
            })),
            Notice::Certified { id, count, .. } if is_json => {
                print_json(&json!({"event": "certified", "id": id, "count": count}));
            }
            Notice::Certified { .. } => {}
            Notice::Line { verifier, condition } if is_json => print_json(&json!({
                "event": "verifier", "verifier": verifier,
                "condition": condition_name(condition), "text": condition_text(condition),
            })),
            Notice::Line { verifier, condition } => {
                self.say(&format!("{verifier}: {}", condition_text(condition)));
            }
            Notice::Warning(text) if is_json => {
                print_json(&json!({"event": "warning", "text": text}))
            }
            Notice::Warning(text) => self.say(&format!("warning: {text}")),
        }
    }

    fn wants_calls(&self) -> bool {
        matches!(self.style, Style::Json)
    }
}

impl Drop for Display<'_> {
    fn drop(&mut self) {
        if let Style::Bar(bar) = &self.style {
            bar.finish_and_clear();
        }
    }
}

pub(crate) const fn condition_name(condition: &Condition) -> &'static str {
    match condition {
        Condition::Open => "open",
        Condition::BackingOff { .. } => "backing-off",
        Condition::Down { .. } => "down",
        Condition::GivenUp { .. } => "given-up",
    }
}

pub(crate) fn condition_text(condition: &Condition) -> String {
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
    }
}

/// What money counts, in a sentence.
pub(crate) const fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Tokens => "tokens",
        Unit::Dollars => "dollars",
        Unit::Seconds => "seconds",
        Unit::Calls => "calls",
    }
}

/// An amount as a person reads it: at most four decimals, thousands apart.
pub(crate) fn amount(cost: goodarm_core::Cost) -> String {
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
pub(crate) fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn rate(calls_per_second: f64) -> String {
    if calls_per_second >= 100.0 {
        thousands(&format!("{calls_per_second:.0}"))
    } else {
        format!("{calls_per_second:.1}")
    }
}

/// Text from elsewhere on a terminal: one line, no control characters, not too long.
pub(crate) fn printable(text: &str) -> String {
    let clean = |c: char| if is_harmless(c) { c } else { '\u{fffd}' };
    let mut shown: String = text.chars().take(PRINTABLE_CHARS_MAX).map(clean).collect();
    if text.chars().nth(PRINTABLE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Neither a control character nor one that turns the direction of writing.
fn is_harmless(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns
}

fn line(text: &str) {
    // Unlike `eprintln!` this does not panic when nobody listens.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn print_json(value: &serde_json::Value) {
    let _ = writeln!(io::stdout().lock(), "{value}");
}

const BAR_STEPS: u64 = 1000;
const LINE_INTERVAL: Duration = Duration::from_secs(5);
const PRINTABLE_CHARS_MAX: usize = 60;
