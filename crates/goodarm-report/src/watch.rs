//! `goodarm run --watch`: a page that shows a run in progress, on this machine only.
//!
//! The run publishes small snapshots, a few times a second, and never waits for a reader: a server on its own thread
//! answers requests from the snapshots. If that thread fails, the run continues.

mod answer;
mod site;
mod snapshot;
mod state;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use goodarm_core::Problem;
use goodarm_data::candidates::Candidates;
use goodarm_record::control::Control;
use goodarm_record::ending::EndingView;
use goodarm_record::notice::{Notice, Observer, Progress};
use goodarm_record::outputs::RunState;
use goodarm_record::questions::RunQuestions;

use crate::site::{Port, Server, SiteError};
use site::WatchSite;
use snapshot::{Phase, Snapshot};
use state::SharedState;

/// The job of a run that is watched.
#[derive(Clone, Debug)]
pub struct WatchedJob {
    /// The command that resumes the run.
    pub resume: String,
    /// The run's folder.
    pub output: PathBuf,
    /// The field that names a candidate.
    pub id_field: String,
    /// The candidates of the job; others are made during the run.
    pub candidates: Arc<Candidates>,
    /// The questions of the candidates, if there are any.
    pub questions: Option<Arc<RunQuestions>>,
    /// The problem of the run.
    pub problem: Problem,
    /// For each attribute, the index of its verifier's [`Condition`](goodarm_record::notice::Condition).
    pub conditions: Vec<usize>,
    /// The number of verifiers. The conditions of generators come after theirs.
    pub verifier_count: usize,
}

/// The page of a run.
pub struct Watch {
    shared: Arc<SharedState>,
    snapshot: Snapshot,
    /// Serves until it is dropped.
    _server: Server,
}

impl Watch {
    /// Starts to serve the page of a run.
    pub fn open(
        port: Port,
        job: WatchedJob,
        run: &RunState<'_>,
        progress: &Progress,
        control: &Arc<Control>,
    ) -> Result<Self, SiteError> {
        let snapshot = Snapshot::new(&job, run, progress);
        let shared = Arc::new(SharedState::new(job, control, snapshot.clone()));
        let server = port.serve(site::page(), Arc::new(WatchSite::new(&shared)))?;
        Ok(Self { shared, snapshot, _server: server })
    }

    /// Tells the page that no more calls are made and that the outputs are being written.
    pub fn writing(&mut self, ending: &EndingView) {
        self.snapshot.phase = Phase::Writing { ending: ending.clone() };
        self.shared.publish(self.snapshot.clone());
    }

    /// Tells the page that everything is written; without an ending, the run was aborted by an error. `told` is the
    /// last message of the run. If a page is open, this waits a moment so that it can show the end.
    pub fn end(mut self, ending: Option<EndingView>, told: &str) {
        self.snapshot.phase = Phase::Ended { ending, told: told.to_owned() };
        self.shared.publish(self.snapshot.clone());
        let ended = Instant::now();
        let is_page_open = self.shared.polled().is_some_and(|polled| polled.elapsed() < OPEN_TIME);
        while is_page_open && ended.elapsed() < LINGER_MAX {
            // Every open page polls at least once within `LINGER`.
            let is_seen = self.shared.polled().is_some_and(|polled| polled > ended);
            if is_seen && ended.elapsed() > LINGER {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Observer for Watch {
    fn notice(&mut self, notice: Notice<'_>) {
        if self.snapshot.take(notice) {
            self.shared.publish(self.snapshot.clone());
        }
    }
}

/// If a browser has polled within this time, the page is open.
const OPEN_TIME: Duration = Duration::from_secs(3);
/// Longer than an open page waits between two polls.
const LINGER: Duration = Duration::from_millis(1200);
/// The longest wait, for slow browsers.
const LINGER_MAX: Duration = Duration::from_secs(3);
