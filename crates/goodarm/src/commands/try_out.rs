//! `goodarm try`: one real call of each verifier on a few answers, before anything is at stake.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use goodarm_core::{ArmId, Cost, ServiceId};
use goodarm_live::job::{Job, Overrides};
use goodarm_live::try_calls::{TryCall, mean_bills, suspicions, try_out};
use goodarm_record::outputs::calls::CriterionScores;
use goodarm_report::words::{money, printable_note};
use serde_json::json;

use crate::advice;
use crate::cli::TryArguments;
use crate::commands::run::listen_for_ctrl_c;
use crate::commands::{CommandError, dry_run};
use crate::terminal::{self, Exit};

pub(crate) fn run(arguments: &TryArguments) -> Result<(), CommandError> {
    let job = Arc::new(Job::read(&arguments.job, &Overrides::default()).map_err(advice::job)?);
    let arms = chosen(&job, arguments)?;
    let control = Arc::default();
    listen_for_ctrl_c(&control, true)?;
    let trials = try_out(&job, &arms, &control)?;
    let suspicions = suspicions(&job, &trials);
    let bills = mean_bills(&job, &trials);
    if arguments.json {
        let named =
            bills.iter().map(|(id, bill)| (job.service(*id).name.clone(), bill.to_string()));
        let expected: BTreeMap<String, String> = named.collect();
        let value = json!({"trials": trials, "suspicious": suspicions, "expected": expected});
        terminal::print_line(&value.to_string());
    } else {
        let mut text: String = trials.iter().map(|trial| shown(&job, trial)).collect();
        text += &total(&job, &trials);
        for suspicion in &suspicions {
            let _ = writeln!(text, "suspicious: {}", printable_note(suspicion));
        }
        if !control.is_stopping() {
            text += &expected(&job, &bills)?;
        }
        terminal::print(&text);
    }
    if control.is_stopping() {
        return Err(CommandError::interrupted("stopped; nothing was recorded"));
    }
    let has_scored = |id| trials.iter().any(|it| it.service == id && it.has_scored());
    let is_person = |id| job.service(id).service.people().is_some();
    let silent = job.problem.services().filter(|&id| !has_scored(id) && !is_person(id));
    let silent: Vec<&str> = silent.map(|id| job.service(id).name.as_str()).collect();
    if silent.is_empty() {
        return Ok(());
    }
    let names = printable_note(&silent.join(", "));
    let lacks = if job.questions.is_some() { "score or answer" } else { "score" };
    Err(CommandError::with_exit(Exit::VerifierDown, format!("no {lacks} from {names}")))
}

/// The candidates with the given ids, or some that are spread evenly over the file; questions if there are no
/// candidates yet.
fn chosen(job: &Job, arguments: &TryArguments) -> Result<Vec<ArmId>, CommandError> {
    let (subjects, kind) = match &job.questions {
        Some(questions) if job.candidates.is_empty() => (&questions.list, "question"),
        _ => (&*job.candidates, "candidate"),
    };
    if arguments.id.is_empty() {
        let count = subjects.len();
        let wanted = arguments.n.min(count);
        let at = |place: usize| if wanted > 1 { place * (count - 1) / (wanted - 1) } else { 0 };
        let arm = |place| ArmId(u32::try_from(at(place)).expect("there are fewer than 2^32"));
        return Ok((0..wanted).map(arm).collect());
    }
    let unknown = |id: &String| {
        let path = job.path.display();
        CommandError::wrong_input(format!("{path}: there is no {kind} with the id {id:?}"))
    };
    let ids = arguments.id.iter();
    ids.map(|id| subjects.arm_of(id).ok_or_else(|| unknown(id))).collect()
}

fn shown(job: &Job, trial: &TryCall) -> String {
    let unit = job.unit();
    let mut text =
        format!("{} on {}\n", printable_note(&trial.verifier), printable_note(&trial.id));
    if job.service(trial.service).service.people().is_some() {
        let card = trial.exchanges.first().map_or("", |exchange| &exchange.sent);
        let price = money(trial.ceiling, unit);
        return format!(
            "{text}  the card\n{}  no card is shown now; during a run it costs {price}\n\n",
            indented(card)
        );
    }
    let mut before = "";
    for exchange in &trial.exchanges {
        if exchange.sent == before {
            text += "  sent again\n";
        } else {
            text += "  sent\n";
            text += &indented(&exchange.sent);
        }
        before = &exchange.sent;
        text += "  received\n";
        text += &indented(&exchange.received);
    }
    // Avoids texts such as 0.9100000000000001.
    let rounded = |score: f64| (score * 1e9).round() / 1e9;
    if let Some(CriterionScores(scores)) = &trial.scores {
        for (name, score) in scores {
            let score = score.map_or_else(|| "–".to_owned(), |score| rounded(score).to_string());
            let _ = writeln!(text, "  {} {score}", printable_note(name));
        }
    }
    let answers = job.service(trial.service).service.manifest.answers_questions;
    let lacks = if answers { "answer" } else { "score" };
    let _ = match (&trial.score, &trial.reason) {
        (None, None) if let Some(answer) = &trial.answer => {
            write!(text, "  final answer {}", printable_note(answer))
        }
        (Some(score), _) => write!(text, "  score {}", rounded(*score)),
        (None, Some(reason)) if trial.scores.is_some() => {
            write!(text, "  no score for every criterion: {}", printable_note(reason))
        }
        (None, None) if trial.scores.is_some() => write!(text, "  a score for every criterion"),
        (None, Some(reason)) if !reason.is_empty() => {
            write!(text, "  no {lacks}: {}", printable_note(reason))
        }
        (None, _) => write!(text, "  no {lacks}"),
    };
    let _ = writeln!(
        text,
        "; {} (at most {}), {:.2} s\n",
        money(trial.cost, unit),
        money(trial.ceiling, unit),
        trial.seconds
    );
    text
}

fn total(job: &Job, trials: &[TryCall]) -> String {
    let sum = trials.iter().map(|trial| trial.cost).fold(Cost::ZERO, Cost::saturating_add);
    format!(
        "These calls cost {}. They are not recorded and do not count towards any run's budget.\n",
        money(sum, job.unit())
    )
}

/// The mean bills as keys of the job, and what the budget buys with them; empty if all prices are fixed.
fn expected(job: &Job, bills: &[(ServiceId, Cost)]) -> Result<String, CommandError> {
    if bills.is_empty() || job.settings.is_recording() {
        return Ok(String::new());
    }
    let mut text = String::new();
    for (id, bill) in bills {
        let service = job.service(*id);
        let _ = writeln!(
            text,
            "{}: a call costs {}, and {} was expected; in its table of the job: metered = {{ …, expected = {bill} }}",
            printable_note(&service.name),
            money(*bill, job.unit()),
            money(service.tariff.expected, job.unit()),
        );
    }
    Ok(text + &dry_run::forecast(job, bills)?)
}

fn indented(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    let mut shown: String =
        lines.iter().map(|line| format!("    {}\n", printable_note(line))).collect();
    if left_out > 0 {
        let _ = writeln!(shown, "    … ({left_out} more lines)");
    }
    shown
}

/// The most lines that are shown of a text; --json has all of them.
const LINES_MAX: usize = 60;
