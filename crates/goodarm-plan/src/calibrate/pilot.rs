//! The recorded outcomes of a job's answers.

use std::path::Path;

use goodarm_core::ArmId;
use goodarm_core::calibration::{PilotScores, Threshold};
use goodarm_files::Scores;
use goodarm_live::job::Job;
use goodarm_record::job_file::Unit;
use goodarm_record::recording::{self, RecordedOutcome, Recording};
use goodarm_record::terms::VerifierTerms;
use goodarm_record::view::noise::{self, Noise};
use goodarm_sim::num::size;
use serde::Serialize;

use super::{CalibrateError, quoted};
use crate::forecast::{self, DesignCost};
use goodarm_report::words::{counted, money};

/// The answers that every verifier was recorded on, with the recorded outcomes.
pub(super) struct Pilot {
    /// These answers, in the job's order.
    pub(super) arms: Vec<ArmId>,
    /// Candidates that some verifier was not recorded on.
    pub(super) left_out: usize,
    /// The report of each verifier, without the parts that depend on labels.
    pub(super) verifiers: Vec<VerifierReport>,
    /// The mean scores by each verifier.
    pub(super) columns: Vec<PilotScores>,
    /// Fewest and most calls of a noisy verifier on an answer.
    pub(super) calls: (usize, usize),
    pub(super) unit: Unit,
}

/// The results for one verifier.
#[derive(Clone, Debug, Serialize)]
pub struct VerifierReport {
    /// Its name in reports.
    pub name: String,
    /// The job's threshold.
    pub old_threshold: f64,
    /// The chosen threshold.
    pub new_threshold: Option<f64>,
    /// Why its threshold stays, if it does.
    pub stays: Option<&'static str>,
    /// The probability that a right answer has a higher mean than a wrong one; ties count half.
    pub auc: Option<f64>,
    /// How often it contradicts itself.
    pub noise: Option<Noise>,
    /// The mean cost of a call.
    pub price: f64,
    /// Recorded calls.
    pub calls: usize,
    /// Recorded calls that failed.
    pub failed: usize,
    /// Whether it is exact.
    pub is_exact: bool,
}

impl Pilot {
    pub(super) fn read(job: &Job, path: &Path) -> Result<Self, CalibrateError> {
        if job.questions.is_some() {
            return Err(CalibrateError::Questions(job.path.clone()));
        }
        if !path.exists() {
            return Err(no_recording(job, path));
        }
        let terms = &job.terms.verifiers;
        if terms.iter().all(|terms| stays(terms).is_some()) {
            let reason = "every verifier is exact";
            return Err(CalibrateError::NothingFree { path: job.path.clone(), reason });
        }
        let recordings = recordings(job, path)?;
        let has_all = |arm: &ArmId| {
            recordings.iter().all(|recording| recording.of(job.candidates.id(*arm)).is_some())
        };
        let arms: Vec<ArmId> = job.candidates.arms().filter(has_all).collect();
        if arms.is_empty() {
            let why = "no candidate of the job has outcomes of every verifier: was it recorded with other candidates?";
            return Err(CalibrateError::Recording(format!("{}: {why}", path.display())));
        }
        let left_out = job.candidates.len() - arms.len();
        let outcomes = |recording: &'_ Recording| -> Vec<Vec<RecordedOutcome>> {
            let of = |arm: &ArmId| recording.of(job.candidates.id(*arm)).unwrap_or(&[]).to_vec();
            arms.iter().map(of).collect()
        };
        let all: Vec<Vec<Vec<RecordedOutcome>>> = recordings.iter().map(outcomes).collect();
        let noisy = terms.iter().zip(&all).filter(|(terms, _)| terms.scores != Scores::Exact);
        let counts: Vec<usize> = noisy.flat_map(|(_, all)| all.iter().map(Vec::len)).collect();
        let calls =
            (counts.iter().copied().min().unwrap_or(1), counts.iter().copied().max().unwrap_or(1));
        let (verifiers, columns) =
            terms.iter().zip(&all).map(|(terms, all)| verifier(terms, all)).unzip();
        Ok(Self { arms, left_out, verifiers, columns, calls, unit: job.unit() })
    }
}

/// The recorded outcomes of all verifiers; the error names every verifier without any.
fn recordings(job: &Job, path: &Path) -> Result<Vec<Recording>, CalibrateError> {
    let known = recording::verifiers(path).map_err(CalibrateError::Recording)?;
    let mut problems = Vec::new();
    for terms in &job.terms.verifiers {
        if known.contains(&terms.name) {
            continue;
        }
        let mut problem = format!("{}: no outcomes of {}", path.display(), quoted(&terms.name));
        if let Some(name) = goodarm_files::nearest(&terms.name, known.iter().map(String::as_str)) {
            problem += &format!("; did you mean {}?", quoted(name));
        } else {
            problem += &format!(
                "; it has {}",
                known.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
            );
        }
        problems.push(problem);
    }
    if !problems.is_empty() {
        return Err(CalibrateError::Recording(problems.join("\n")));
    }
    let read = |terms: &VerifierTerms| Recording::read(path, &terms.name);
    let read: Result<Vec<Recording>, _> = job.terms.verifiers.iter().map(read).collect();
    let recordings = read.map_err(CalibrateError::Recording)?;
    let unit = job.unit().name();
    match recordings.iter().find(|recording| recording.unit != unit) {
        Some(other) => Err(CalibrateError::Recording(format!(
            "{}: the recording counts {}, and the job {unit}",
            path.display(),
            other.unit
        ))),
        None => Ok(recordings),
    }
}

fn verifier(terms: &VerifierTerms, all: &[Vec<RecordedOutcome>]) -> (VerifierReport, PilotScores) {
    let (lowest, highest) = range(terms.scores);
    let stays = stays(terms);
    let threshold = match stays {
        Some(_) => Threshold::Fixed(terms.threshold),
        None => Threshold::Free { lowest },
    };
    let means = all.iter().map(|outcomes| mean(terms.scores, outcomes, lowest, highest)).collect();
    let scores: Vec<noise::ScoreSpread> = all
        .iter()
        .map(|outcomes| {
            let mut scores = noise::ScoreSpread::default();
            let given = outcomes.iter().filter_map(|outcome| outcome.score);
            given.for_each(|score| scores.take(score, terms.threshold));
            scores
        })
        .collect();
    let calls = all.iter().map(Vec::len).sum::<usize>();
    let spent: f64 = all.iter().flatten().map(|outcome| outcome.cost.units()).sum();
    let report = VerifierReport {
        name: terms.name.clone(),
        old_threshold: terms.threshold,
        new_threshold: None,
        stays,
        auc: None,
        noise: noise::noise(scores.iter()),
        price: spent / size(calls.max(1)),
        calls,
        failed: all.iter().flatten().filter(|outcome| outcome.score.is_none()).count(),
        is_exact: terms.scores == Scores::Exact,
    };
    (report, PilotScores { means, threshold })
}

/// The mean score of an answer. A failed call counts as the lowest score, as in a run; without a lowest score, the
/// answer has no mean.
fn mean(scores: Scores, outcomes: &[RecordedOutcome], lowest: f64, highest: f64) -> Option<f64> {
    let failed = match scores {
        Scores::SubGaussian { lowest, .. } => lowest,
        _ => Some(lowest),
    };
    let given: Option<Vec<f64>> = outcomes.iter().map(|outcome| outcome.score.or(failed)).collect();
    let given = given.filter(|given| !given.is_empty())?;
    let mean = given.iter().sum::<f64>() / size(given.len());
    Some(mean.clamp(lowest, highest))
}

/// Why a verifier keeps its threshold; `None` if a new one is chosen.
fn stays(terms: &VerifierTerms) -> Option<&'static str> {
    (terms.scores == Scores::Exact).then_some("exact: an answer has to pass it")
}

/// The range of valid thresholds.
const fn range(scores: Scores) -> (f64, f64) {
    match scores {
        Scores::Bounded { range: [lowest, highest] } => (lowest, highest),
        _ => (0.0, 1.0),
    }
}

/// The error that states the calls for a pilot, and their cost.
fn no_recording(job: &Job, path: &Path) -> CalibrateError {
    let DesignCost { call_max, cost_max } = forecast::design(job, PILOT_CALLS);
    CalibrateError::NoRecording {
        job: job.path.clone(),
        path: path.to_owned(),
        calls: PILOT_CALLS,
        cost: format!("{} ({})", money(cost_max, job.unit()), counted(call_max, "call")),
    }
}

/// A few calls separate good from bad answers; more calls separate them better.
const PILOT_CALLS: u64 = 5;
