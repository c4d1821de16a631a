//! `goodarm run --dry-run`: what would be asked, what it may cost at most, and what to expect.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use goodarm_core::{ArmId, Cost, Guarantee, ScoreModel};
use goodarm_files::Scores;
use goodarm_live::candidates::Candidate;
use goodarm_live::job::Job;
use goodarm_live::job_file::{Kind, ScoresFile, VerifierFile};
use goodarm_live::template::Template;
use goodarm_report::words::{amount, printable, unit_name};
use goodarm_sim::plan::{AnswerSpec, PlanSpec, Spread, VerifierSpec, plan};

use crate::commands::Failure;

pub(crate) fn show(job: &Job) -> Result<(), Failure> {
    let unit = unit_name(job.unit());
    let mut text = format!(
        "{}: {} candidates, {} verifiers, δ = {}; nothing is called and nothing is written.\n\n",
        job.path.display(),
        job.candidates.len(),
        job.verifiers.len(),
        job.file.delta
    );
    let first = job.candidates.get(ArmId(0));
    let verifiers = job.verifiers.iter().zip(&job.charter.verifiers).zip(&job.file.verifiers);
    for ((verifier, clause), file) in verifiers {
        let price = if clause.metered { "at most " } else { "" };
        let _ = writeln!(
            text,
            "{} ({:?}): threshold {}, {price}{} {unit} a call",
            verifier.name,
            clause.kind,
            clause.threshold,
            amount(verifier.tariff.ceiling)
        );
        let preview = preview(file, &first);
        for line in preview.lines().take(PREVIEW_LINES_MAX) {
            let _ = writeln!(text, "    {}", printable(line));
        }
    }
    let _ = writeln!(
        text,
        "\nIt will spend at most {} {unit}: a call starts only if its ceiling still fits.",
        Cost::of_budget(job.file.budget).map_or_else(|_| job.file.budget.to_string(), amount)
    );
    text += &forecast(job, unit)?;
    let _ = io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}

/// What the verifier would get for a candidate.
fn preview(file: &VerifierFile, candidate: &Candidate) -> String {
    let rendered = |source: &str| {
        Template::new(source)
            .and_then(|template| template.render(candidate))
            .unwrap_or_else(|error| error.to_string())
    };
    let url = file.url.as_deref().unwrap_or_default();
    match file.kind {
        Kind::Check => "checked here, once for each candidate".into(),
        Kind::Replay => "recorded outcomes".into(),
        Kind::Command => {
            let arguments = file.command.as_ref().map(|command| command.join(" "));
            let line = arguments.or_else(|| file.shell.clone()).unwrap_or_default();
            format!("$ {line}\n{}", candidate.json)
        }
        Kind::Http => {
            let body = file.body.as_deref().map_or_else(|| candidate.json.clone(), rendered);
            format!("POST {url}\n{body}")
        }
        Kind::Llm => {
            let model = file.model.as_deref().unwrap_or_default();
            let prompt = rendered(file.prompt.as_deref().unwrap_or("{{ question }}"));
            format!("{url} {model}\n{prompt}")
        }
    }
}

fn forecast(job: &Job, unit: &str) -> Result<String, Failure> {
    let count = job.candidates.len();
    let simulated = count.min(SIMULATED_ANSWERS_MAX);
    #[expect(clippy::cast_precision_loss, reason = "a forecast")]
    let scale = count as f64 / simulated as f64;
    let good_share = job.file.expect.map_or(GOOD_SHARE, |expect| expect.good);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    #[expect(clippy::allow_attributes_without_reason, reason = "a share of a count")]
    let good = (good_share * simulated as f64).round() as usize;
    let spec = PlanSpec {
        delta: job.file.delta,
        budget: Some(job.file.budget / scale),
        slack: 0.1,
        guarantee: Guarantee::from(job.file.guarantee).into(),
        policy: job.file.policy.clone(),
        concurrency: job.file.concurrency,
        repetitions: REPETITIONS,
        seed: job.file.seed,
        verifiers: verifiers(job),
        answers: vec![
            AnswerSpec { count: good, means: means(job, true), spread: SPREAD },
            AnswerSpec { count: simulated - good, means: means(job, false), spread: SPREAD },
        ]
        .into_iter()
        .filter(|answers| answers.count > 0)
        .collect(),
    };
    let plan = plan(&spec).map_err(Failure::wrong_input)?;
    let Some(purchase) = plan.purchase else { return Ok(String::new()) };
    let Spread { low, median, high } = purchase.realistic;
    Ok(format!(
        "If {:.0} % of the answers are good, with mean scores like {:?}, and the others like {:?}, \
         about {:.0} will be certified ({:.0} to {:.0} in eight of ten simulated runs), for {} {unit} \
         at full price. Say what you expect in [expect], or ask `goodarm plan` for more.\n",
        100.0 * good_share,
        means(job, true),
        means(job, false),
        median * scale,
        low * scale,
        high * scale,
        Cost::of_budget(purchase.spent * scale).map_or_else(|_| "?".into(), amount),
    ))
}

fn means(job: &Job, good: bool) -> Vec<f64> {
    let expect = job.file.expect;
    let mean = |threshold: f64, exact: bool| match (exact, good) {
        // An answer that fails a check costs next to nothing, so a forecast need not count it.
        (true, _) => 1.0,
        (false, true) => {
            expect.and_then(|expect| expect.good_mean).unwrap_or(f64::midpoint(threshold, 1.0))
        }
        (false, false) => expect.and_then(|expect| expect.bad_mean).unwrap_or(0.5 * threshold),
    };
    let clauses = &job.charter.verifiers;
    clauses
        .iter()
        .map(|clause| mean(clause.threshold, clause.scores == ScoresFile::Exact))
        .collect()
}

fn verifiers(job: &Job) -> Vec<VerifierSpec> {
    job.charter
        .verifiers
        .iter()
        .map(|clause| VerifierSpec {
            name: clause.name.clone(),
            price: clause.ceiling,
            threshold: clause.threshold,
            scores: Scores::from(ScoreModel::from(clause.scores)).into(),
            deviation: None,
        })
        .collect()
}

const PREVIEW_LINES_MAX: usize = 12;
/// Larger jobs are forecast from a part of them.
const SIMULATED_ANSWERS_MAX: usize = 1000;
const REPETITIONS: u64 = 20;
/// Without anything to go by.
const GOOD_SHARE: f64 = 0.6;
const SPREAD: f64 = 0.05;
