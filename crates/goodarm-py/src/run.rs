//! A run in a thread of its own, so that Python does not block it. Python polls.

use std::sync::{Arc, Mutex, PoisonError};

use goodarm_files::visible;
use goodarm_live::run::Run;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::folder::Folder;
use goodarm_record::notice::{Notice, Observer, Progress};
use goodarm_record::run_error::RunError;
use goodarm_report::{PageOutcome, finish_run, report_recovery, why_stopped};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::awaited::Awaited;
use crate::errors::{exception, raised, unknown, variant_of};
use crate::job::PyJob;

/// A run in its thread.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct LiveRun {
    shared: Arc<Shared>,
    control: Arc<Control>,
    run: Mutex<Option<Run>>,
    earlier_run_notes: Vec<String>,
}

type Shared = Awaited<State>;

#[derive(Default)]
struct State {
    progress: Option<Progress>,
    notices: Vec<(&'static str, String)>,
    ended: Option<Result<(Ending, String), PyErr>>,
}

#[pymethods]
impl LiveRun {
    /// Begins or resumes a run: `mode` is `new`, `resume`, `again`, or `auto`, which resumes the run in the
    /// folder, or begins one.
    #[new]
    fn new(py: Python<'_>, job: &PyJob, mode: &str) -> PyResult<Self> {
        let job = Arc::clone(&job.0);
        let mut earlier_run_notes = Vec::new();
        let run = py.detach(|| match mode {
            "new" => Run::begin(job).map_err(failed),
            "resume" => Run::resume(job).map_err(failed),
            "auto" if Folder::new(&job.settings.output).journal().exists() => {
                Run::resume(job).map_err(failed)
            }
            "auto" => Run::begin(job).map_err(failed),
            "again" => {
                let (run, aside) = Run::begin_again(job).map_err(failed)?;
                earlier_run_notes.extend(
                    aside.map(|aside| format!("the earlier run is in {} now", aside.display())),
                );
                Ok(run)
            }
            other => {
                let known = ["auto", "resume", "new", "again"];
                Err(PyValueError::new_err(unknown("resume", other, &known)))
            }
        })?;
        earlier_run_notes.extend(report_recovery(&run.recovery()));
        Ok(Self {
            shared: Arc::default(),
            control: Arc::default(),
            run: Mutex::new(Some(run)),
            earlier_run_notes,
        })
    }

    /// Remarks about an earlier run in the folder.
    #[getter]
    fn earlier_run_notes(&self) -> Vec<String> {
        self.earlier_run_notes.clone()
    }

    /// Begins to make calls, in a thread of its own.
    fn start(&self) -> PyResult<()> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
        let run = run.ok_or_else(|| PyValueError::new_err("the run has been started"))?;
        let (shared, control) = (Arc::clone(&self.shared), Arc::clone(&self.control));
        let work = move || {
            let guard = EndGuard(Arc::clone(&shared));
            let ended = driven(run, &control, &shared);
            shared.state().ended.get_or_insert(ended);
            drop(guard);
        };
        std::thread::Builder::new().name("goodarm".into()).spawn(work)?;
        Ok(())
    }

    /// Waits at most `seconds` for the end of the run; returns true if it has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        self.shared.wait(py, seconds, |state| state.ended.is_some())
    }

    /// Makes no new calls, and waits for those in flight; the second time it abandons them.
    fn stop(&self) {
        self.control.stop();
    }

    /// The notices since the last call of this method: `certified`, `warning` or `verifier`, and a text.
    fn notices(&self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.shared.state().notices)
    }

    /// The latest progress; None before the run has reported any.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(progress) = self.shared.state().progress.clone() else { return Ok(None) };
        let Progress { overview, .. } = &progress;
        let dict = PyDict::new(py);
        dict.set_item("certified", overview.certified)?;
        dict.set_item("candidates", overview.candidates)?;
        dict.set_item("questions", overview.questions.as_ref().map(|asked| asked.count))?;
        dict.set_item("calls", overview.calls)?;
        dict.set_item("in_flight", overview.in_flight)?;
        dict.set_item("failures", progress.failure_count)?;
        dict.set_item("spent", overview.money.spent.units())?;
        dict.set_item("budget", overview.money.budget.units())?;
        dict.set_item("unit", overview.money.unit.to_string())?;
        dict.set_item("calls_per_second", overview.calls_per_second)?;
        dict.set_item("seconds_left", progress.seconds_left)?;
        dict.set_item("forecast", progress.forecast)?;
        dict.set_item("seconds", overview.seconds)?;
        Ok(Some(dict))
    }

    /// How the run ended: the name in `summary.json`, whether calls in flight were abandoned, and a text.
    fn ending(&self, py: Python<'_>) -> PyResult<Option<(&'static str, bool, String)>> {
        match &self.shared.state().ended {
            None => Ok(None),
            Some(Ok((facts, text))) => {
                let is_abandoned = matches!(facts, Ending::Stopped { at_once: true });
                Ok(Some((facts.name(), is_abandoned, text.clone())))
            }
            Some(Err(error)) => Err(error.clone_ref(py)),
        }
    }
}

/// The exception of a run that cannot begin or continue.
fn failed(error: RunError) -> PyErr {
    exception("RunError", &variant_of(&error), format!("{error}{}", advice_about(&error)))
}

/// Reports the end to waiting threads, also if this thread dies.
struct EndGuard(Arc<Shared>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.state().ended.get_or_insert_with(|| {
            Err(exception(
                "Error",
                "",
                "the run's thread died: its journal is safe, continue with resume=\"auto\"".into(),
            ))
        });
        self.0.changed.notify_all();
    }
}

fn driven(mut run: Run, control: &Control, shared: &Arc<Shared>) -> PyResult<(Ending, String)> {
    let mut listener = Listener(Arc::clone(shared));
    let ending = run.drive(control, &mut listener).map_err(failed)?;
    let folder = Folder::new(&run.job().settings.output);
    let finished = finish_run(&run.state(&folder), &ending);
    let finished = finished.map_err(|error| raised("OutputError", &error))?;
    if let PageOutcome::Failed(error) = finished.page {
        shared.state().notices.push(("warning", format!("no report: {error}")));
    }
    let text = match &ending {
        Ending::VerifierDown { .. } | Ending::Mistrusted { .. } | Ending::NeverScored(_) => {
            why_stopped(&ending).unwrap_or_default() + advice_after(&ending)
        }
        _ => ending.to_string(),
    };
    // The text of an exception goes to a terminal.
    Ok((ending, visible(&text).into_owned()))
}

/// Advice to Python users after a run that stopped.
const fn advice_after(ending: &Ending) -> &'static str {
    match ending {
        Ending::VerifierDown { .. } => "; resume=\"auto\" continues",
        Ending::Mistrusted { .. } => " Fix it, and begin again with resume=\"again\"",
        Ending::NeverScored(_) => "\nfix it, and run it again: it begins from scratch",
        _ => "",
    }
}

/// Advice to Python users about a run that cannot begin or continue.
const fn advice_about(error: &RunError) -> &'static str {
    match error {
        RunError::AlreadyBegun(_) => {
            ": continue it with resume=\"auto\", move it aside and begin again with resume=\"again\", or choose another output"
        }
        RunError::NothingToResume(_) => ": begin one with resume=\"auto\"",
        RunError::NotDurable(_) => ", and continue with resume=\"auto\"",
        RunError::OlderJournal(_) => " with resume=\"again\" or another output",
        RunError::Changed { .. } => {
            "\nto run the job as it is now, begin again with resume=\"again\", which moves this run aside"
        }
        _ => "",
    }
}

/// Keeps notices until Python reads them.
struct Listener(Arc<Shared>);

impl Observer for Listener {
    fn notice(&mut self, notice: Notice<'_>) {
        let mut state = self.0.state();
        let notice = match notice {
            Notice::Progress(progress) => {
                state.progress = Some(progress.clone());
                return;
            }
            Notice::Called { .. } => return,
            Notice::Certified { id, .. } => ("certified", id.to_owned()),
            Notice::Verifier { verifier, condition } => {
                ("verifier", visible(&format!("{verifier}: {condition:?}")).into_owned())
            }
            Notice::Warning(text) => ("warning", visible(text).into_owned()),
        };
        if state.notices.len() < NOTICES_MAX {
            state.notices.push(notice);
        }
    }
}

/// The most notices that are kept. Further ones are dropped until Python reads some.
const NOTICES_MAX: usize = 100_000;
