//! Plans, computed in a thread of their own, so that Python does not block them. Python polls, and may
//! cancel.

mod failure;
mod figure;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use goodarm_files::json_text;
use goodarm_plan::input::{PlanInput, PlanOverrides};
use goodarm_plan::plan as plan_report;
use goodarm_sim::plan::{Plan, plan_until};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use self::failure::PlanFailure;
pub(crate) use self::figure::PyFigure;
use crate::awaited::Awaited;
use crate::table::PyTable;

/// A plan that is being computed.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct PlanWork(Arc<Watch>);

/// The state that the thread and Python share.
#[derive(Default)]
struct Watch {
    cancelled: AtomicBool,
    ended: Awaited<Option<Result<NativePlan, PlanFailure>>>,
}

/// Begins to compute a plan: from the plan file or job at `path`, or from the keys of a plan file, as JSON.
#[pyfunction]
#[pyo3(signature = (path, keys, *, budget = None, delta = None, recording = None))]
pub(crate) fn start_plan(
    path: PathBuf,
    keys: Option<String>,
    budget: Option<f64>,
    delta: Option<f64>,
    recording: Option<PathBuf>,
) -> PyResult<PlanWork> {
    let overrides = PlanOverrides { budget, delta, recording };
    PlanWork::start(move |cancelled| {
        let input = match keys {
            None => PlanInput::read(&path, &overrides)?,
            Some(keys) => {
                let spec = json_text::parse(keys.as_bytes())
                    .map_err(|error| PlanFailure::of_keys(error.reason))?;
                PlanInput::new(spec, &overrides)?
            }
        };
        let plan = plan_until(&input.spec, cancelled)
            .map_err(|error| PlanFailure::of("PlanError", &error))?;
        let mut notes = input.candidate_notes;
        notes.extend(input.share_note);
        Ok(NativePlan { plan, notes })
    })
}

impl PlanWork {
    /// Starts the work in threads of its own: a pool of the whole process could be set only once, and would
    /// not survive a fork.
    fn start(
        work: impl FnOnce(&AtomicBool) -> Result<NativePlan, PlanFailure> + Send + 'static,
    ) -> PyResult<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .thread_name(|index| format!("goodarm-plan-{index}"))
            .build()
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        let watch = Arc::new(Watch::default());
        let own = Arc::clone(&watch);
        let body = move || {
            // A panic is a bug, but must not leave Python waiting.
            let ended = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&own.cancelled))));
            let ended = ended.unwrap_or_else(|panic| Err(PlanFailure::of_panic(panic.as_ref())));
            *own.ended.state() = Some(ended);
            own.ended.changed.notify_all();
        };
        std::thread::Builder::new().name("goodarm-plan".into()).spawn(body)?;
        Ok(Self(watch))
    }
}

#[pymethods]
impl PlanWork {
    /// Waits at most `seconds` for the end of the plan; returns true if it has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        self.0.ended.wait(py, seconds, Option::is_some)
    }

    /// Cancels the plan: no new session is simulated.
    fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns the plan; may be called once.
    fn result(&self) -> PyResult<NativePlan> {
        match self.0.ended.state().take() {
            None => Err(PyValueError::new_err("the plan is not ready, or its result was taken")),
            Some(ended) => ended.map_err(PlanFailure::raised),
        }
    }
}

/// A plan, and remarks about its input.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct NativePlan {
    plan: Plan,
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl NativePlan {
    /// The plan as JSON, as `goodarm plan --json` prints it.
    fn json(&self) -> String {
        serde_json::to_string(&self.plan).expect("plain data")
    }

    fn text(&self) -> String {
        plan_report::text(&self.plan)
    }

    /// A row for each number of certificates.
    fn steps(&self) -> PyTable {
        PyTable::new(plan_report::table(&self.plan).into_columns())
    }

    fn figure(&self) -> PyFigure {
        PyFigure(plan_report::figure(&self.plan))
    }
}
