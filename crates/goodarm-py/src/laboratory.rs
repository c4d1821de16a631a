//! The laboratory: experiments, plans and figures, each worked on in a thread of its own, where Python
//! cannot hold it up. Python looks at it now and then, and may cancel it.

mod figure;
mod made;
mod start;
mod trouble;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use goodarm_report::figures::Run;
use goodarm_sim::experiment::Experiment;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pub(crate) use self::figure::Figure;
use self::made::Made;
pub(crate) use self::made::{LabPlan, LabRun, LabSection};
pub(crate) use self::start::{start_plan, start_reproduction, start_simulation};
use self::trouble::Trouble;

/// A piece of work while it goes on.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct LabWork(Arc<Watch>);

/// What the thread and Python both see.
#[derive(Default)]
struct Watch {
    cancelled: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    progress: Option<Progress>,
    ended: Option<Result<Made, Trouble>>,
}

/// How far an experiment is.
#[derive(Clone)]
struct Progress {
    title: Arc<str>,
    done: usize,
    total: usize,
}

impl LabWork {
    /// Begins to work. The threads are this work's own: a pool of the whole process could be set only
    /// once, and would not survive a fork.
    fn start(
        threads: Option<i64>,
        work: impl FnOnce(&Watch) -> Result<Made, Trouble> + Send + 'static,
    ) -> PyResult<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(thread_count(threads)?)
            .thread_name(|index| format!("goodarm-lab-{index}"))
            .build()
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        let watch = Arc::new(Watch::default());
        let own = Arc::clone(&watch);
        let body = move || {
            // A panic is a mistake of ours: it must not leave Python waiting.
            let ended = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&own))));
            let ended = ended.unwrap_or_else(|panic| Err(Trouble::of_panic(panic.as_ref())));
            own.state().ended = Some(ended);
            own.changed.notify_all();
        };
        std::thread::Builder::new().name("goodarm-lab".into()).spawn(body)?;
        Ok(Self(watch))
    }
}

#[pymethods]
impl LabWork {
    /// Waits for the end, for so many seconds at most; whether it is there.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let wait = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(py.detach(|| {
            let state = self.0.state();
            let (state, _) = self
                .0
                .changed
                .wait_timeout_while(state, wait, |state| state.ended.is_none())
                .unwrap_or_else(PoisonError::into_inner);
            state.ended.is_some()
        }))
    }

    /// Begins no new trial.
    fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// What is worked on, how many trials of it are done, and of how many; None before the first.
    fn progress(&self) -> Option<(String, usize, usize)> {
        let Progress { title, done, total } = self.0.state().progress.clone()?;
        Some((title.to_string(), done, total))
    }

    /// What came of it, once.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.0.state().ended.take() {
            None => Err(PyValueError::new_err("the work goes on, or its result was taken")),
            Some(Ok(made)) => made.into_python(py),
            Some(Err(trouble)) => Err(trouble.raised()),
        }
    }
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an experiment, and says how far it is.
    fn run(&self, experiment: Experiment) -> Run {
        let (title, total) = (Arc::from(experiment.spec.title.as_str()), experiment.trial_count());
        self.state().progress = Some(Progress { title, done: 0, total });
        Run::new(experiment, &self.cancelled, &|done| {
            if let Some(progress) = &mut self.state().progress {
                progress.done = progress.done.max(done);
            }
        })
    }
}

/// All cores if nothing is said.
fn thread_count(threads: Option<i64>) -> PyResult<usize> {
    let Some(threads) = threads else { return Ok(0) };
    let count = usize::try_from(threads).ok().filter(|count| (1..=THREADS_MAX).contains(count));
    count.ok_or_else(|| {
        PyValueError::new_err(format!("threads: {threads} is not between 1 and {THREADS_MAX}"))
    })
}

const THREADS_MAX: usize = 1024;
