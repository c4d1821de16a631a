//! What the run's thread and the server share, and the JSON of the page.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use goodarm_record::control::Control;
use goodarm_record::folder::Folder;
use goodarm_record::notice::{Condition, HeldBy, Progress};
use goodarm_record::view::Overview;
use serde::Serialize;

use super::WatchedJob;
use super::snapshot::{Phase, Snapshot, WatchedCertificate};
use crate::report::beginning;
use crate::report::rows::{AnswerDetail, json};
use crate::words::{condition_name, condition_text};

/// The state that the server reads. Its locks are held for a moment only: no work is done under them.
pub(super) struct SharedState {
    pub(super) job: WatchedJob,
    pub(super) control: Arc<Control>,
    folder: String,
    started: SystemTime,
    snapshot: Mutex<Arc<Snapshot>>,
    polled: Mutex<Option<Instant>>,
}

impl SharedState {
    pub(super) fn new(job: WatchedJob, control: &Arc<Control>, snapshot: Snapshot) -> Self {
        // A reader of the page does not see the working directory of goodarm.
        let folder = std::path::absolute(&job.output).unwrap_or_else(|_| job.output.clone());
        Self {
            job,
            folder: folder.display().to_string(),
            control: Arc::clone(control),
            started: SystemTime::now(),
            snapshot: Mutex::new(Arc::new(snapshot)),
            polled: Mutex::new(None),
        }
    }

    /// Replaces the snapshot.
    pub(super) fn publish(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        let mut shown = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *shown, snapshot);
        // The old one is dropped after the lock is released.
        drop(shown);
        drop(old);
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The time of the last poll.
    pub(super) fn polled(&self) -> Option<Instant> {
        *self.polled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, for a page that has the certificates up to this rank.
    pub(super) fn json(&self, rank_known: usize) -> String {
        *self.polled.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let snapshot = self.snapshot();
        json(&self.live(&snapshot, rank_known))
    }

    fn live<'a>(&'a self, snapshot: &'a Snapshot, rank_known: usize) -> LiveState<'a> {
        let Progress { forecast, seconds_left, held_by, failure_count, retry_count, .. } =
            *snapshot.progress;
        let new = snapshot.certificates.iter().filter(|it| it.answer.rank > Some(rank_known));
        let working_on = snapshot.progress.working_on.as_ref();
        let working_on = working_on.map(|[who, id]| [who.as_str(), beginning(id, ID_BYTES_MAX)]);
        LiveState {
            overview: self.overview(snapshot),
            phase: self.phase_name(&snapshot.phase),
            told: match &snapshot.phase {
                Phase::Ended { told, .. } => told,
                _ => "",
            },
            forecast,
            seconds_left,
            held_by,
            failures: failure_count,
            retries: retry_count,
            working_on,
            health: self.health(&snapshot.progress),
            certificates: new.map(|certificate| self.line(certificate)).collect(),
            resume: self.job.resume.clone(),
        }
    }

    /// The condition of each criterion, which is that of its verifier, and then of each generator.
    fn health(&self, progress: &Progress) -> Vec<ServiceHealth> {
        let Progress { conditions, overview, .. } = progress;
        let verifiers = self.job.conditions.iter().map(|&index| &conditions[index]);
        let verifiers = verifiers.zip(overview.verifiers.iter().map(|it| it.mean_latency));
        let generators = overview.questions.iter().flat_map(|questions| &questions.generators);
        let generators = conditions[self.job.verifier_count..].iter().zip(generators);
        let generators = generators.map(|(condition, it)| (condition, it.mean_latency));
        let health = |(condition, latency): (&Condition, Option<f64>)| ServiceHealth {
            condition: condition_name(condition),
            words: match condition {
                Condition::Open => String::new(),
                condition => condition_text(condition),
            },
            latency,
        };
        verifiers.chain(generators).map(health).collect()
    }

    fn phase_name(&self, phase: &Phase) -> &'static str {
        match phase {
            Phase::Ended { .. } => "ended",
            Phase::Writing { .. } => "writing",
            Phase::Running if self.control.is_stopping() => "stopping",
            Phase::Running if self.control.is_paused() => "paused",
            Phase::Running => "running",
        }
    }

    /// The figures of the report, as far as they are known during the run.
    fn overview(&self, snapshot: &Snapshot) -> Overview {
        let progress = &*snapshot.progress;
        let span_millis = [self.started, self.started + progress.elapsed].map(|time| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        });
        let notes = &progress.overview.notes;
        let warnings = snapshot.warnings.iter().map(ToString::to_string);
        let warnings = warnings.filter(|warning| !notes.contains(warning));
        Overview {
            folder: self.folder.clone(),
            ending: match &snapshot.phase {
                Phase::Running => None,
                Phase::Writing { ending } => Some(ending.clone()),
                Phase::Ended { ending, .. } => ending.clone(),
            },
            span_millis,
            coverage: Some(snapshot.coverage.steps.clone()),
            notes: notes.iter().cloned().chain(warnings).collect(),
            ..progress.overview.clone()
        }
    }

    fn line(&self, certificate: &WatchedCertificate) -> CertificateRow {
        let pairs = &certificate.answer.evidence;
        let of_pairs = || {
            let calls = pairs.iter().map(|pair| pair.calls).sum();
            (calls, pairs.iter().map(|pair| pair.spent.units()).sum())
        };
        // All calls of a question, because votes are about all its answers.
        let of_question = certificate.question.map(|it| (it.calls, it.spent.units()));
        let (calls, spent) = of_question.unwrap_or_else(of_pairs);
        let fields = certificate.fields(&self.job, PREVIEW_BYTES_MAX);
        CertificateRow {
            arm: certificate.answer.arm.0,
            id: beginning(&certificate.id(&self.job), ID_BYTES_MAX).to_owned(),
            rank: certificate.answer.rank.unwrap_or_default(),
            by_then: certificate.spent_by_then,
            calls,
            spent,
            detail: AnswerDetail::new(fields, &certificate.answer, &[]),
        }
    }

    /// The journal of the run.
    pub(super) fn journal(&self) -> PathBuf {
        Folder::new(&self.job.output).journal()
    }
}

/// What the page receives.
#[derive(Serialize)]
struct LiveState<'a> {
    #[serde(flatten)]
    overview: Overview,
    phase: &'static str,
    /// The last message of the run, and the path of the report.
    told: &'a str,
    forecast: f64,
    seconds_left: Option<f64>,
    held_by: Option<HeldBy>,
    failures: u64,
    retries: u64,
    /// A verifier's name and an answer's id.
    working_on: Option<[&'a str; 2]>,
    /// The health of each criterion, then of each generator.
    health: Vec<ServiceHealth>,
    certificates: Vec<CertificateRow>,
    /// The command that resumes the run.
    resume: String,
}

#[derive(Serialize)]
struct ServiceHealth {
    condition: &'static str,
    words: String,
    /// Seconds, the mean of all calls.
    latency: Option<f64>,
}

/// A certified answer in the list, its fields cut short.
#[derive(Serialize)]
struct CertificateRow {
    arm: u32,
    id: String,
    rank: usize,
    by_then: f64,
    calls: u64,
    spent: f64,
    detail: AnswerDetail,
}

const ID_BYTES_MAX: usize = 300;
const PREVIEW_BYTES_MAX: usize = 400;
