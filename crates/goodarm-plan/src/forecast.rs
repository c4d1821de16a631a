//! Makes the description that a plan simulates from a job or a recording.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use goodarm_core::{AttributeId, Cost, Role, ServiceId};
use goodarm_files::toml_text::TomlError;
use goodarm_files::{GuaranteeName, Scores};
use goodarm_live::job::{Job, JobError, JobService};
use goodarm_record::recording::Recording;
use goodarm_record::terms::{GeneratorTerms, QuestionTerms, VerifierTerms};
use goodarm_sim::num::{ratio, size};
use goodarm_sim::plan::{AnswerSpec, PlanGenerator, PlanSpec, PlanVerifier};
use thiserror::Error;

use goodarm_report::words::counted;

/// Why a file cannot be planned.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ForecastError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not a valid plan file.
    #[error("{}: {error}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, and what was expected.
        error: TomlError,
    },
    /// The file is an invalid job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The recording is invalid.
    #[error("{0}")]
    Recording(String),
    /// The recording has no answer that all verifiers scored.
    #[error("no answer has outcomes of every verifier")]
    NoAnswers,
    /// A job about questions makes new answers, which a recording does not have.
    #[error("the job is about questions, whose answers are not those of a recording")]
    RecordingOfQuestions,
}

/// A description of answers and verifiers, and how much larger the job is.
pub struct Forecast {
    /// What is simulated.
    pub spec: PlanSpec,
    /// The number of answers, or of questions, of the job for each simulated one.
    pub scale: f64,
}

impl Forecast {
    /// Replaces expected bills by measured ones.
    pub fn take_bills(&mut self, job: &Job, bills: &[(ServiceId, Cost)]) {
        for &(service, bill) in bills {
            let bill = bill.min(job.service(service).tariff.ceiling).units();
            let measured = (Some(bill), DOUBT_OF_JOB);
            for (index, verifier) in self.spec.verifiers.iter_mut().enumerate() {
                if job.problem.service_of(AttributeId::at(index)) == service {
                    (verifier.expected, verifier.doubt) = measured;
                }
            }
            if let Some(Role::Generator(generator)) = job.problem.role(service) {
                let generator = &mut self.spec.generators[generator.index()];
                (generator.expected, generator.doubt) = measured;
            }
        }
    }

    /// A note that only a part of the job is simulated; `None` if all of it is.
    pub fn share_note(&self, job: &Job) -> Option<String> {
        let (all, noun, count) = match (&job.questions, self.spec.questions) {
            (Some(questions), Some(count)) => (questions.list.len(), "question", count),
            _ => {
                let count = self.spec.answers.iter().map(|answers| answers.count).sum();
                (job.candidates.len(), "answer", count)
            }
        };
        (self.scale > 1.0).then(|| {
            let all = counted(all, noun);
            format!("{count} of {all} are simulated, with their share of the budget")
        })
    }
}

/// What the expected bills of a forecast rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BillBasis {
    /// All prices are fixed.
    Prices,
    /// Some bills are guessed from the lengths of prompts and replies.
    Guess,
    /// The job says what to expect of the metered services.
    Job,
    /// Bills of the metered services are recorded.
    Recording,
    /// Bills were measured by trying the job.
    Trial,
}

/// What the expected bills of a job rest on.
pub fn bill_basis(job: &Job) -> BillBasis {
    let metered = || job.services().filter(|service| service.tariff.is_metered());
    if metered().any(|service| service.tariff.is_guessed()) {
        BillBasis::Guess
    } else if metered().any(|service| !service.service.is_local()) {
        BillBasis::Job
    } else if metered().next().is_some() {
        BillBasis::Recording
    } else {
        BillBasis::Prices
    }
}

/// How far mean bills may be from the expected ones: the standard deviation of their logarithm.
fn doubt(service: &JobService) -> f64 {
    match service.tariff.is_guessed() {
        true => DOUBT_OF_GUESS,
        false if service.service.is_local() => 0.0,
        false => DOUBT_OF_JOB,
    }
}

/// The share of good answers that a job expects.
pub fn good_share(job: &Job) -> f64 {
    job.settings.expect.map_or(GOOD_SHARE, |expect| expect.good)
}

/// The most calls of a run with the policy `fixed`, and their cost.
pub struct DesignCost {
    /// The most calls.
    pub call_max: u64,
    /// The most that they cost.
    pub cost_max: Cost,
}

/// The cost of `calls` calls of each noisy verifier on each answer, one call of each exact one, and `calls` calls
/// of each generator and each solver on each question.
pub fn design(job: &Job, calls: u64) -> DesignCost {
    let questions = job.questions.as_ref().map_or(0, |questions| questions.list.len()) as u64;
    let made = questions.saturating_mul(calls).saturating_mul(job.generators().len() as u64);
    let answers = (job.candidates.len() as u64).saturating_add(made);
    let mut design = DesignCost { call_max: 0, cost_max: Cost::ZERO };
    let mut add = |called: &JobService, count: u64| {
        design.call_max = design.call_max.saturating_add(count);
        let picos = called.tariff.ceiling.picos().saturating_mul(u128::from(count));
        design.cost_max = design.cost_max.saturating_add(Cost::from_picos(picos));
    };
    for verifier in job.verifiers() {
        let terms = &job.terms.verifiers[verifier.lead.index()];
        let count = match (&terms.solves, terms.scores) {
            (Some(_), _) => questions.saturating_mul(calls),
            (None, Scores::Exact) => answers,
            (None, _) => answers.saturating_mul(calls),
        };
        add(verifier, count);
    }
    job.generators().iter().for_each(|generator| add(generator, questions.saturating_mul(calls)));
    design
}

/// The forecast of a job: its verifiers, and answers as its `[expect]` describes them, or a guess.
pub fn of_job(job: &Job, repetitions: u64) -> Forecast {
    // A recording certifies nothing: the plan is for the run after it.
    let settings = Some(&job.settings).filter(|settings| !settings.is_recording());
    let spec = PlanSpec {
        delta: job.settings.delta,
        slack: SLACK,
        guarantee: settings.map(|settings| settings.guarantee),
        policy: settings.map_or_else(|| "rcb".into(), |settings| settings.policy.clone()),
        concurrency: job.settings.concurrency,
        repetitions,
        seed: job.settings.seed,
        verifiers: job.terms.verifiers.iter().enumerate().map(|it| verifier(job, it)).collect(),
        stop_when_hopeless: settings.is_some_and(|settings| settings.stop_when_hopeless),
        is_spread_guessed: true,
        ..PlanSpec::default()
    };
    match &job.terms.questions {
        Some(terms) => of_questions(job, terms, spec),
        None => of_answers(job, spec),
    }
}

/// A verifier of the job as a plan describes it; the price of a call is its ceiling.
fn verifier(job: &Job, (index, terms): (usize, &VerifierTerms)) -> PlanVerifier {
    let criterion = terms.criterion.as_ref();
    let lead = criterion.map(|criterion| &job.terms.verifiers[criterion.first]);
    let means = job.terms.questions.as_ref().map(|_| expected_means(job, terms));
    PlanVerifier {
        expected: terms.expected.map(Cost::units),
        doubt: doubt(job.service(job.problem.service_of(AttributeId::at(index)))),
        calls_of: lead.filter(|lead| lead.name != terms.name).map(|lead| lead.name.clone()),
        solver: terms.solves.is_some(),
        proposes: terms.solves.is_some_and(|solves| solves.proposes),
        good_mean: means.map(|[good, _]| good),
        bad_mean: means.map(|[_, bad]| bad),
        ..PlanVerifier::new(&terms.name, terms.ceiling.units(), terms.threshold, terms.scores)
    }
}

fn of_answers(job: &Job, spec: PlanSpec) -> Forecast {
    let count = job.candidates.len();
    let simulated = count.min(SIMULATED_ANSWERS_MAX);
    let scale = ratio(count, simulated.max(1));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count"
    )]
    let good = (good_share(job) * size(simulated)).round() as usize;
    let groups = [(good, true), (simulated - good, false)];
    let answers = groups.into_iter().filter(|(count, _)| *count > 0);
    let answers = answers.map(|(count, is_good)| AnswerSpec {
        count,
        means: means(job, is_good),
        spread: SPREAD,
    });
    let budget = Some(job.settings.budget.units() / scale);
    Forecast { spec: PlanSpec { budget, answers: answers.collect(), ..spec }, scale }
}

/// The forecast of a job about questions: a sample of them stands for all, with their given answers.
fn of_questions(job: &Job, terms: &QuestionTerms, spec: PlanSpec) -> Forecast {
    let simulated = terms.count.min(SIMULATED_QUESTIONS_MAX);
    let scale = ratio(terms.count, simulated.max(1));
    let mut given_each = vec![0; terms.count];
    terms.answers.iter().for_each(|&(question, _)| given_each[question as usize] += 1);
    // The sample is spread evenly over the file, because questions with answers may come first.
    let places = (0..simulated).map(|place| place * terms.count / simulated.max(1));
    let given_each = places.map(|place| given_each[place]).collect();
    let generator = |(terms, service): (&GeneratorTerms, &JobService)| PlanGenerator {
        name: terms.name.clone(),
        price: terms.ceiling.units(),
        expected: terms.expected.map(Cost::units),
        doubt: doubt(service),
        good: None,
    };
    // The guarantee `union` divides δ equally: each simulated question gets the same share as in the job.
    let is_union = job.settings.guarantee == GuaranteeName::Union;
    let spec = PlanSpec {
        delta: if is_union { spec.delta / scale } else { spec.delta },
        budget: Some(job.settings.budget.units() / scale),
        questions: Some(simulated),
        given_each,
        generators: terms.generators.iter().zip(job.generators()).map(generator).collect(),
        candidates_max: Some(terms.candidates_max),
        good: Some(good_share(job)),
        ..spec
    };
    Forecast { spec, scale }
}

/// The mean scores of a good or of a bad answer of a job, one for each verifier.
pub fn means(job: &Job, is_good: bool) -> Vec<f64> {
    let expected = job.terms.verifiers.iter().map(|terms| expected_means(job, terms));
    expected.map(|[good, bad]| if is_good { good } else { bad }).collect()
}

/// The mean scores of a good and of a bad answer by a verifier: those of `[expect]`, or a guess.
fn expected_means(job: &Job, terms: &VerifierTerms) -> [f64; 2] {
    let expect = job.settings.expect.filter(|_| terms.scores != Scores::Exact);
    let [good, bad] = goodarm_sim::plan::guessed_means(terms.scores, terms.threshold);
    // Where every verifier is exact, bad answers are those that fail.
    let is_exact = |terms: &VerifierTerms| terms.scores == Scores::Exact;
    let bad = if job.terms.verifiers.iter().all(is_exact) { 0.0 } else { bad };
    [
        expect.and_then(|expect| expect.good_mean).unwrap_or(good),
        expect.and_then(|expect| expect.bad_mean).unwrap_or(bad),
    ]
}

/// Replaces the answers of a plan by those of a recording, with the means of the plan's verifiers, and expected bills
/// by the mean of the recorded ones. Returns whether there were bills.
pub fn take_recording(path: &Path, spec: &mut PlanSpec) -> Result<bool, ForecastError> {
    let names: Vec<String> = spec.verifiers.iter().map(|verifier| verifier.name.clone()).collect();
    let recordings = recordings(path, &names)?;
    let lowest = spec.verifiers.iter().map(|verifier| lowest_score(verifier.scores));
    let recorded: Vec<(Recording, f64)> = recordings.into_iter().zip(lowest).collect();
    spec.answers = answers(&recorded).ok_or(ForecastError::NoAnswers)?;
    let mut has_bills = false;
    for (verifier, (recording, _)) in spec.verifiers.iter_mut().zip(&recorded) {
        let bills: Vec<f64> = recording.outcomes().map(|outcome| outcome.cost.units()).collect();
        let mean = bills.iter().sum::<f64>() / size(bills.len().max(1));
        if mean > 0.0 && mean < verifier.price {
            (verifier.expected, verifier.doubt) = (Some(mean), 0.0);
            has_bills = true;
        }
    }
    Ok(has_bills)
}

/// Moves recorded means away from thresholds: an answer on its threshold would need unlimited calls, and a
/// recording cannot tell how close it really is.
pub fn keep_apart(spec: &mut PlanSpec) {
    for answer in &mut spec.answers {
        for (mean, verifier) in answer.means.iter_mut().zip(&spec.verifiers) {
            let gap = *mean - verifier.threshold;
            if gap.abs() < GAP_MIN {
                let moved = verifier.threshold + if gap > 0.0 { GAP_MIN } else { -GAP_MIN };
                *mean = moved.clamp(0.0, 1.0);
            }
        }
    }
}

fn recordings(path: &Path, names: &[String]) -> Result<Vec<Recording>, ForecastError> {
    let read = |name: &String| Recording::read(path, name).map_err(ForecastError::Recording);
    names.iter().map(read).collect()
}

/// The score that a failed call counts as, as in a run. If no number is surely low enough, a run does not certify the
/// answer: no mean is reached.
const fn lowest_score(scores: Scores) -> f64 {
    match scores {
        Scores::Bounded { range: [lowest, _] }
        | Scores::SubGaussian { lowest: Some(lowest), .. } => lowest,
        Scores::SubGaussian { lowest: None, .. } => f64::NEG_INFINITY,
        Scores::Binary | Scores::Exact => 0.0,
    }
}

/// The answers that every verifier was recorded on; `None` if there are none. Each recording has the score of a call
/// that failed.
fn answers(recordings: &[(Recording, f64)]) -> Option<Vec<AnswerSpec>> {
    let ids: BTreeSet<&str> = recordings.first()?.0.ids().collect();
    let means = ids.into_iter().filter_map(|id| {
        let means = recordings.iter().map(|(recording, lowest)| {
            let outcomes = recording.of(id)?;
            let sum: f64 = outcomes.iter().map(|outcome| outcome.score.unwrap_or(*lowest)).sum();
            Some((sum / size(outcomes.len().max(1))).clamp(0.0, 1.0))
        });
        means.collect::<Option<Vec<f64>>>()
    });
    let answers: Vec<AnswerSpec> =
        means.map(|means| AnswerSpec { count: 1, means, spread: 0.0 }).collect();
    (!answers.is_empty()).then_some(answers)
}

/// Larger jobs are forecast from a sample.
const SIMULATED_ANSWERS_MAX: usize = 1000;
const SIMULATED_QUESTIONS_MAX: usize = 500;
/// Guesses for jobs without `[expect]`.
const GOOD_SHARE: f64 = 0.6;
const SPREAD: f64 = 0.05;
const SLACK: f64 = 0.1;
const GAP_MIN: f64 = 0.02;
/// A guess from prompts is right within 30 % in two of three cases, a number in the job within 10 %.
const DOUBT_OF_GUESS: f64 = 0.3;
const DOUBT_OF_JOB: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_of_a_recording_counts_as_the_lowest_score_of_its_verifier() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pilot.jsonl");
        let lines = [
            r#"{"goodarm_recording": 1, "unit": "calls"}"#,
            r#"{"id": "a", "verifier": "judge", "scores": [0.8, null], "costs": ["1", "1"]}"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let sub_gaussian = |lowest| Scores::SubGaussian { sigma: 0.5, lowest };
        for (scores, expected) in [
            (Scores::Bounded { range: [0.2, 1.0] }, 0.5),
            (sub_gaussian(Some(0.4)), 0.6),
            (Scores::Binary, 0.4),
            // No number is surely low enough: such a pair is never certified.
            (sub_gaussian(None), 0.0),
        ] {
            let verifiers = vec![PlanVerifier::new("judge", 1.0, 0.5, scores)];
            let mut spec = PlanSpec { verifiers, ..PlanSpec::default() };
            take_recording(&path, &mut spec).unwrap();
            let answers = &spec.answers;
            assert!((answers[0].means[0] - expected).abs() < 1e-12, "{scores}: {answers:?}");
        }
    }
}
