//! A run on the terminal: a bar, plain lines, JSON for programs, or nothing.

use std::time::{Duration, Instant};

use goodarm_core::{AttributeId, Failure, Outcome, Target};
use goodarm_files::visible;
use goodarm_live::job::Job;
use goodarm_record::history::SettledCall;
use goodarm_record::notice::Condition;
use goodarm_record::notice::{HeldBy, Notice, Observer, Progress};
use goodarm_record::view::Overview;
use goodarm_report::words::{
    about_time, amount, condition_name, condition_text, counted, money, printable, printable_note,
    rate,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::shell::label_command;
use crate::terminal;

/// Shows a run.
pub(crate) struct Display<'a> {
    job: &'a Job,
    style: Style,
    last_line: Option<Instant>,
    /// Whether the line about waiting for people was printed.
    is_left_to_people: bool,
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
        } else if terminal::is_seen() {
            let bar = ProgressBar::new(BAR_STEPS);
            let template = "{bar:30} {msg}";
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            Style::Bar(bar)
        } else {
            Style::Lines
        };
        Self { job, style, last_line: None, is_left_to_people: false }
    }

    /// Prints a line that the bar does not overwrite.
    pub(crate) fn say(&self, text: &str) {
        let text = &printable_note(text);
        match &self.style {
            Style::Bar(bar) => bar.suspend(|| terminal::say(text)),
            Style::Lines => terminal::say(text),
            Style::Json | Style::Nothing => {}
        }
    }

    /// Prints once that the run waits for people, and how to answer.
    fn tell_of_people(&mut self, overview: &Overview) {
        let is_left = overview.for_people > 0 && overview.for_people == overview.in_flight;
        if is_left && !self.is_left_to_people {
            let wait = if overview.for_people == 1 { "call waits" } else { "calls wait" };
            let label = label_command(&self.job.settings.output);
            self.say(&format!("{} {wait} for a person: {label}", overview.for_people));
        }
        self.is_left_to_people = is_left;
    }

    fn progress(&mut self, progress: &Progress) {
        self.tell_of_people(&progress.overview);
        match &self.style {
            Style::Bar(bar) => {
                let money = &progress.overview.money;
                let share = money.spent.units() / money.budget.units();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "0 to 1"
                )]
                #[expect(clippy::cast_precision_loss, reason = "a thousand steps")]
                bar.set_position((share.clamp(0.0, 1.0) * BAR_STEPS as f64) as u64);
                bar.set_message(visible(&self.sentence(progress)).into_owned());
            }
            Style::Lines => {
                let is_due = self.last_line.is_none_or(|last| last.elapsed() >= LINE_INTERVAL);
                if is_due {
                    self.last_line = Some(Instant::now());
                    terminal::say(&self.sentence(progress));
                }
            }
            Style::Json => print_json(&self.progress_json(progress)),
            Style::Nothing => {}
        }
    }

    fn sentence(&self, progress: &Progress) -> String {
        let unit = self.job.unit();
        let overview = &progress.overview;
        let mut text = if progress.is_paused { "paused (from the page): " } else { "" }.to_owned();
        text += &format!(
            "{} of {} spent ({} reserved), {}, about {:.0} in the end, {} calls/s, {} in flight",
            amount(overview.money.spent, unit),
            money(overview.money.budget, unit),
            amount(overview.money.reserved, unit),
            so_far(overview),
            progress.forecast,
            rate(overview.calls_per_second.unwrap_or_default()),
            overview.in_flight,
        );
        if overview.for_people > 0 {
            text += &format!(" ({} for a person)", overview.for_people);
        }
        if progress.held_by == Some(HeldBy::Money) {
            text += " (2 % of the money left)";
        }
        if let Some(seconds) = progress.seconds_left {
            text += &format!(", about {} left", about_time(seconds));
        }
        if progress.retry_count > 0 {
            text += &format!(", {}", counted(progress.retry_count, "retry"));
        }
        if progress.failure_count > 0 {
            text += &format!(", {}", counted(progress.failure_count, "failure"));
        }
        for (verifier, condition) in self.job.services().zip(&progress.conditions) {
            if *condition != Condition::Open {
                text += &format!(", {}: {}", verifier.name, condition_name(condition));
            }
        }
        if let Some([service, id]) = &progress.working_on {
            text += &format!(" ({service} on {})", printable(id));
        }
        text
    }

    /// Scores by the names of the verifier's criteria.
    fn named(&self, lead: AttributeId, scores: &[Option<f64>]) -> serde_json::Value {
        let criteria = &self.job.service(self.job.problem.service_of(lead)).criteria;
        criteria.iter().cloned().zip(scores.iter().map(|score| json!(score))).collect()
    }

    fn progress_json(&self, progress: &Progress) -> serde_json::Value {
        let conditions: Vec<_> = self
            .job
            .services()
            .zip(&progress.conditions)
            .map(|(service, condition)| {
                json!({"verifier": service.name, "condition": condition_name(condition)})
            })
            .collect();
        let overview = &progress.overview;
        json!({
            "event": "progress",
            "certified": overview.certified,
            "rejected": overview.rejected,
            "candidates": overview.candidates,
            "questions": overview.questions.as_ref().map(|questions| questions.count),
            "spent": overview.money.spent.to_string(),
            "reserved": overview.money.reserved.to_string(),
            "left": overview.money.left.to_string(),
            "budget": overview.money.budget.to_string(),
            "calls": overview.calls,
            "failures": progress.failure_count,
            "calls_per_second": overview.calls_per_second,
            "in_flight": overview.in_flight,
            "for_people": overview.for_people,
            "held_by": progress.held_by,
            "retries": progress.retry_count,
            "forecast": progress.forecast,
            "seconds_left": progress.seconds_left,
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
            Notice::Called { id, verifier, call } => {
                let (score, scores) = match (&call.outcome, call.target) {
                    (Outcome::Score(score), _) => (Some(score), None),
                    (Outcome::Scores(scores), Target::Arm(_, lead)) => {
                        (None, Some(self.named(lead, scores)))
                    }
                    _ => (None, None),
                };
                let mut line = json!({
                    "event": "call", "id": id, "verifier": verifier, "score": score,
                    "failure": call.failure().map(Failure::name), "reason": reason(call),
                    "cost": call.bill.settled().to_string(), "latency": call.note.latency.as_secs_f64(),
                });
                if let Some(scores) = scores {
                    line["scores"] = scores;
                }
                if let Target::Question(..) = call.target {
                    line["about"] = "question".into();
                    line["answer"] = call.note.answer.as_ref().into();
                }
                print_json(&line);
            }
            Notice::Certified { id, answer, .. } if is_json => {
                print_json(&json!({"event": "certified", "id": id, "count": answer.rank}));
            }
            Notice::Certified { .. } => {}
            Notice::Verifier { verifier, condition } if is_json => print_json(&json!({
                "event": "verifier", "verifier": verifier,
                "condition": condition_name(condition), "text": condition_text(condition),
            })),
            Notice::Verifier { verifier, condition } => {
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

/// The progress of a run.
fn so_far(overview: &Overview) -> String {
    match &overview.questions {
        Some(questions) => format!("{} of {} questions", questions.answered, questions.count),
        None => format!("{} of {} certified", overview.certified, overview.candidates),
    }
}

/// Why a call has no score, or lacks some; `None` if it has all.
fn reason<'a>(call: &'a SettledCall<'_>) -> Option<&'a str> {
    let reason = call.note.reason.as_ref();
    (call.outcome.is_failed() || !reason.is_empty()).then_some(reason)
}

fn print_json(value: &serde_json::Value) {
    terminal::print_line(&value.to_string());
}

const BAR_STEPS: u64 = 1000;
const LINE_INTERVAL: Duration = Duration::from_secs(5);
