//! What the job's budget buys at other precisions, by simulation.

use goodarm_core::calibration::PilotScores;
use goodarm_live::job::Job;
use goodarm_sim::plan::{AnswerSpec, Purchase, Spread, plan};

use super::pilot::Pilot;
use super::real;
use super::report::{CalibrationData, PrecisionOption};
use crate::forecast;

/// What some precisions would give, and the wanted one.
pub(super) fn offers(
    job: &Job,
    data: &CalibrationData<'_>,
    columns: &[PilotScores],
) -> Vec<PrecisionOption> {
    let wanted = data.goal.precision();
    let mut precisions: Vec<f64> = PRECISIONS.to_vec();
    if precisions.iter().all(|other| (other - wanted).abs() > PRECISION_TOLERANCE) {
        precisions.push(wanted);
        precisions.sort_by(f64::total_cmp);
    }
    let mut offers: Vec<PrecisionOption> = Vec::new();
    for precision in precisions {
        let Some((thresholds, kept)) = data.kept(columns, precision) else {
            let nothing = PrecisionOption {
                precision,
                thresholds: None,
                kept: 0,
                certified: None,
                spent: None,
            };
            offers.push(nothing);
            continue;
        };
        let thresholds = Some(thresholds);
        // Neighbouring precisions often lead to the same step.
        let same = offers.iter().find(|offer| offer.thresholds == thresholds).cloned();
        offers.push(match same {
            Some(same) => PrecisionOption { precision, ..same },
            None => {
                let bought = thresholds.as_deref().and_then(|it| bought(job, data.pilot, it));
                let (certified, spent) = bought.unzip();
                PrecisionOption { precision, thresholds, kept, certified, spent }
            }
        });
    }
    offers
}

/// What the budget buys with these thresholds; `None` if such verifiers cannot be simulated.
fn bought(job: &Job, pilot: &Pilot, thresholds: &[f64]) -> Option<(Spread, f64)> {
    let mut spec = forecast::of_job(job, REPETITIONS).spec;
    for ((verifier, threshold), recorded) in
        spec.verifiers.iter_mut().zip(thresholds).zip(&pilot.verifiers)
    {
        verifier.threshold = *threshold;
        verifier.price = recorded.report.price.max(forecast::PRICE_MIN);
    }
    // An even sample of the pilot stands for all answers, with its share of the budget.
    let stride = pilot.arms.len().div_ceil(ANSWERS_MAX);
    let answers = (0..pilot.arms.len()).step_by(stride).map(|place| {
        let mean = |it: &super::pilot::PilotVerifier| {
            it.column.means[place].unwrap_or(0.0).clamp(0.0, 1.0)
        };
        let means = pilot.verifiers.iter().map(mean).collect();
        AnswerSpec { count: 1, means, spread: 0.0 }
    });
    spec.answers = answers.collect();
    let scale = real(job.candidates.len() as u64) / real(spec.answers.len() as u64);
    spec.budget = Some(job.settings.budget.units() / scale);
    spec.calls_max = Some(CALLS_MAX);
    forecast::keep_apart(&mut spec);
    let Purchase { realistic: Spread { low, median, high }, spent, .. } =
        plan(&spec).ok()?.purchase?;
    let whole = |count: f64| (count * scale).round();
    let spread = Spread { low: whole(low), median: whole(median), high: whole(high) };
    Some((spread, spent * scale))
}

/// Wishes that a curve is drawn through.
const PRECISIONS: [f64; 6] = [0.8, 0.85, 0.9, 0.95, 0.97, 0.99];
const PRECISION_TOLERANCE: f64 = 1e-9;
const REPETITIONS: u64 = 20;
const ANSWERS_MAX: usize = 100;
/// Over all sessions: what would take longer is cut off, which shows fewer certificates.
const CALLS_MAX: u64 = 300_000;
