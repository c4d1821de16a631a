//! A run at one moment: what the run's thread hands over, and what the page is told of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use goodarm_core::ArmId;
use goodarm_data::candidates::Candidate;
use goodarm_record::control::Control;
use goodarm_record::ending::EndingView;
use goodarm_record::notice::Condition;
use goodarm_record::notice::{HeldBy, Progress};
use goodarm_record::view::questions::AnsweredQuestion;
use goodarm_record::view::{CoverageStep, LoanView, Overview};
use serde::Serialize;
use serde_json::Value;

use super::WatchedJob;
use crate::report::beginning;
use crate::report::data::Pair;
use crate::report::rows::{AnswerDetail, FieldRow, field_rows};
use crate::words::{condition_name, condition_text};

/// What the server may know. Its locks are held for a moment only: no work is done under them.
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
        // A page does not know in which folder goodarm was started.
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

    /// Replaces what is shown.
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

    /// When a page last asked for the state.
    pub(super) fn polled(&self) -> Option<Instant> {
        *self.polled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state for a page that has the certificates up to this one.
    pub(super) fn json(&self, rank_known: usize) -> String {
        *self.polled.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let snapshot = self.snapshot();
        serde_json::to_string(&self.live(&snapshot, rank_known)).expect("plain data with text keys")
    }

    fn live<'a>(&'a self, snapshot: &'a Snapshot, rank_known: usize) -> LiveState<'a> {
        let Progress { forecast, seconds_left, held_by, failure_count, retry_count, .. } =
            *snapshot.progress;
        let new = snapshot.certificates.iter().filter(|known| known.rank > rank_known);
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

    /// How every service is doing: each criterion as its verifier does, then the generators.
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

    /// The same figures as in the report, as far as they are known while the run goes on.
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
            coverage: Some(snapshot.steps.clone()),
            notes: notes.iter().cloned().chain(warnings).collect(),
            ..progress.overview.clone()
        }
    }

    fn line(&self, certificate: &WatchedCertificate) -> CertificateRow {
        let &WatchedCertificate { arm, rank, ref pairs, .. } = certificate;
        let fields = certificate.fields(&self.job, PREVIEW_BYTES_MAX);
        let of_pairs = || {
            let calls = pairs.iter().map(|pair| pair.view.calls).sum();
            (calls, pairs.iter().map(|pair| pair.view.spent.units()).sum())
        };
        // Of a question all calls, because votes are about all its answers.
        let (calls, spent) = certificate
            .answers
            .map_or_else(of_pairs, |answers| (answers.calls, answers.spent.units()));
        CertificateRow {
            arm: arm.0,
            id: beginning(&certificate.id(&self.job), ID_BYTES_MAX).to_owned(),
            rank,
            by_then: certificate.spent_by_then,
            calls,
            spent,
            detail: AnswerDetail::new(fields, pairs, certificate.loan),
        }
    }

    /// The journal of the run.
    pub(super) fn journal(&self) -> PathBuf {
        goodarm_record::folder::Folder::new(&self.job.output).journal()
    }
}

/// What the run's thread hands over.
pub(super) struct Snapshot {
    pub(super) phase: Phase,
    pub(super) progress: Arc<Progress>,
    pub(super) steps: Vec<CoverageStep>,
    /// The newest, in the order of their ranks.
    pub(super) certificates: Vec<Arc<WatchedCertificate>>,
    pub(super) warnings: Vec<Arc<str>>,
}

impl Snapshot {
    /// The certificate of an arm, if it is one of those that are shown.
    pub(super) fn certificate(&self, arm: ArmId) -> Option<Arc<WatchedCertificate>> {
        self.certificates.iter().find(|certificate| certificate.arm == arm).cloned()
    }
}

/// How far the process has come.
#[derive(Clone)]
pub(super) enum Phase {
    Running,
    Writing {
        ending: EndingView,
    },
    /// Without an ending if the run broke off.
    Ended {
        ending: Option<EndingView>,
        told: String,
    },
}

/// An answer that is certified.
pub(super) struct WatchedCertificate {
    pub(super) arm: ArmId,
    /// Its object, if it was made during the run: the job does not have it.
    pub(super) made: Option<Box<str>>,
    /// 1 for the first certificate, 2 for the second, and so on.
    pub(super) rank: usize,
    pub(super) spent_by_then: f64,
    pub(super) pairs: Vec<Pair>,
    pub(super) loan: Option<LoanView>,
    /// The question that it answers.
    pub(super) answers: Option<AnsweredQuestion>,
}

impl WatchedCertificate {
    /// The answer's object.
    fn json<'a>(&'a self, job: &'a WatchedJob) -> &'a str {
        self.made.as_deref().unwrap_or_else(|| job.candidates.json(self.arm))
    }

    /// Its fields except its id, each cut to so many bytes, and how many there are in total; behind them
    /// those of its question that it does not have itself.
    pub(super) fn fields(&self, job: &WatchedJob, bytes_max: usize) -> (Vec<FieldRow>, usize) {
        let id_field = &job.id_field;
        let (mut fields, mut count) = field_rows(self.json(job), id_field, bytes_max);
        if let (Some(questions), Some(AnsweredQuestion { question, .. })) =
            (&job.questions, self.answers)
        {
            let asked = questions.list.json(ArmId(question.0));
            let (asked, _) = field_rows(asked, id_field, bytes_max);
            let known: BTreeSet<String> = fields.iter().map(|it| it.name().to_owned()).collect();
            let asked = asked.into_iter().filter(|it| !known.contains(it.name()));
            let before = fields.len();
            fields.extend(asked);
            count += fields.len() - before;
        }
        (fields, count)
    }

    fn id(&self, job: &WatchedJob) -> String {
        match &self.made {
            None => job.candidates.id(self.arm).to_owned(),
            Some(made) => {
                let made = Candidate::new(String::new(), made.to_string());
                let id = made.field(&job.id_field);
                id.and_then(Value::as_str).unwrap_or_default().to_owned()
            }
        }
    }
}

/// What the page is told.
#[derive(Serialize)]
struct LiveState<'a> {
    #[serde(flatten)]
    overview: Overview,
    phase: &'static str,
    /// The last word about the run, and where the report is.
    told: &'a str,
    forecast: f64,
    seconds_left: Option<f64>,
    held_by: Option<HeldBy>,
    failures: u64,
    retries: u64,
    /// A verifier's name and an answer's id.
    working_on: Option<[&'a str; 2]>,
    /// Of each verifier, then of each generator.
    health: Vec<ServiceHealth>,
    certificates: Vec<CertificateRow>,
    /// How to go on when the run has stopped.
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
