//! `goodarm run --watch`: a page that shows a run while it goes on, on this machine only.
//!
//! The run hands over small snapshots, a few times a second, and never waits for a reader: a server
//! on a thread of its own answers requests from them. Whatever happens to that thread, the run goes
//! on.

mod answer;
mod site;
mod snapshot_builder;
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
use snapshot_builder::SnapshotBuilder;
use state::{Phase, SharedState};

/// The job of a run that is watched.
#[derive(Clone, Debug)]
pub struct WatchedJob {
    /// What resumes the run, as a person types it.
    pub resume: String,
    /// The run's folder.
    pub output: PathBuf,
    /// The field that names a candidate.
    pub id_field: String,
    /// The candidates that the job has; others are made during the run.
    pub candidates: Arc<Candidates>,
    /// The questions that they answer, if there are any.
    pub questions: Option<Arc<RunQuestions>>,
    /// What is to be certified.
    pub problem: Problem,
    /// For each attribute, the index of its verifier's [`Condition`](goodarm_record::notice::Condition).
    pub conditions: Vec<usize>,
    /// How many verifiers there are: the conditions of the generators come after theirs.
    pub verifier_count: usize,
}

/// Shows on a page what happens in a run.
pub struct Watch {
    shared: Arc<SharedState>,
    builder: SnapshotBuilder,
    /// Serves until it is dropped.
    _server: Server,
}

impl Watch {
    /// Begins to serve the page of a run.
    pub fn open(
        port: Port,
        job: WatchedJob,
        standing: &RunState<'_>,
        progress: &Progress,
        control: &Arc<Control>,
    ) -> Result<Self, SiteError> {
        let builder = SnapshotBuilder::new(&job, standing, progress);
        let shared = Arc::new(SharedState::new(job, control, builder.snapshot()));
        let server = port.serve(site::page(), Arc::new(WatchSite::new(&shared)))?;
        Ok(Self { shared, builder, _server: server })
    }

    /// No more calls are made; the outputs are being written.
    pub fn writing(&mut self, ending: &EndingView) {
        self.builder.phase = Phase::Writing { ending: ending.clone() };
        self.shared.publish(self.builder.snapshot());
    }

    /// Everything is written, or without an ending the run broke off. Waits for a moment if a page is open, so that it can show the end.
    pub fn end(mut self, ending: Option<EndingView>, told: &str) {
        self.builder.phase = Phase::Ended { ending, told: told.to_owned() };
        self.shared.publish(self.builder.snapshot());
        let ended = Instant::now();
        let is_page_open = self.shared.polled().is_some_and(|polled| polled.elapsed() < OPEN_TIME);
        while is_page_open && ended.elapsed() < LINGER_MAX {
            // Each open page asks once in this time, so all of them have seen the end.
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
        if self.builder.take(notice) {
            self.shared.publish(self.builder.snapshot());
        }
    }
}

/// A browser that has asked for the state within this time has the page open.
const OPEN_TIME: Duration = Duration::from_secs(3);
/// Longer than an open page waits between two questions.
const LINGER: Duration = Duration::from_millis(1200);
/// For slow browsers.
const LINGER_MAX: Duration = Duration::from_secs(3);
