//! Policies in Python: objects with a method `choose`. They read the books through a view. Like any policy
//! they can waste money, but neither overspend nor make a certificate wrong.

use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex, PoisonError};

use goodarm_core::policy::Choice;
use goodarm_core::{ArmId, AttributeId, Books, Change, Policy, Share, Target};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{exception, unknown};
use crate::money::Decimal;

/// The exception that a policy has raised, if any. It is raised again when the session returns to Python.
#[derive(Clone, Default)]
pub(crate) struct PolicyException(Arc<Mutex<Option<PyErr>>>);

impl PolicyException {
    pub(crate) fn put(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn is_there(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn check(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// The books that a view shows; null while no method of the policy is called. It is locked for each look, so that
/// the books cannot be taken back during it, whichever thread looks. A plain pointer could not be sent to a thread.
type ShownBooks = Arc<Mutex<AtomicPtr<Books>>>;

/// Several threads may look at the books at a time.
const _: fn() = || {
    fn is_sync<T: Sync>() {}
    is_sync::<Books>();
};

fn show(shown: &ShownBooks, books: *const Books) {
    *shown.lock().unwrap_or_else(PoisonError::into_inner).get_mut() = books.cast_mut();
}

/// A Python object that chooses calls.
pub(crate) struct PythonPolicy {
    object: Py<PyAny>,
    view: Py<PyView>,
    books: ShownBooks,
    raised: PolicyException,
    has_lend: bool,
    has_begin: bool,
    has_on_change: bool,
}

impl PythonPolicy {
    pub(crate) fn new(
        object: &Bound<'_, PyAny>,
        names: &[Py<PyString>],
        raised: PolicyException,
    ) -> PyResult<Self> {
        let py = object.py();
        let has = |name: &str| object.getattr_opt(name).map(|found| found.is_some());
        if !has("choose")? {
            let message = "a policy is a name, or an object with a method choose(view)";
            return Err(PyTypeError::new_err(message));
        }
        let books = ShownBooks::default();
        let names = names.iter().map(|name| name.clone_ref(py)).collect();
        Ok(Self {
            object: object.clone().unbind(),
            view: Py::new(py, PyView { books: Arc::clone(&books), names })?,
            books,
            raised,
            has_lend: has("lend")?,
            has_begin: has("begin")?,
            has_on_change: has("on_change")?,
        })
    }

    /// Shows the books to Python during a call; `None` if the call raises an exception.
    fn shown<T>(&self, books: &Books, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        // `None` while the interpreter ends: then no policy is asked.
        Python::try_attach(|py| {
            show(&self.books, books);
            let result = call(py);
            show(&self.books, ptr::null());
            result.map_err(|error| self.raised.put(error)).ok()
        })
        .flatten()
    }

    fn chosen(&self, py: Python<'_>) -> PyResult<Option<Choice>> {
        let choice = self.object.call_method1(py, "choose", (&self.view,))?;
        let choice = choice.bind(py);
        if choice.is_none() {
            return Ok(None);
        }
        let wrong = |_| PyTypeError::new_err("choose() returns (arm, verifier), or None to wait");
        let (arm, verifier) = choice.extract::<(u32, Bound<'_, PyAny>)>().map_err(wrong)?;
        let attribute = self.view.bind(py).get().attribute(&verifier)?;
        Ok(Some(Choice::pair(ArmId(arm), attribute, "python")))
    }
}

impl Policy for PythonPolicy {
    fn name(&self) -> &'static str {
        "python"
    }

    fn begin(&mut self, books: &Books) {
        if self.has_begin {
            self.shown(books, |py| self.object.call_method1(py, "begin", (&self.view,)));
        }
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        self.shown(books, |py| self.chosen(py)).flatten()
    }

    fn lend(&mut self, books: &Books, choice: Choice) -> Option<Share> {
        if !self.has_lend {
            return books.lending()?.equal_share();
        }
        let Target::Arm(arm, attribute) = choice.target else { return None };
        let fraction = self.shown(books, |py| {
            let arguments = (&self.view, arm.0, attribute.0);
            self.object.call_method1(py, "lend", arguments)?.extract::<Option<f64>>(py)
        });
        fraction.flatten().map(Share::of)
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        if !self.has_on_change {
            return;
        }
        let (what, arm, attribute) = match change {
            Change::Dispatched(arm, attribute) => ("dispatched", Some(arm.0), Some(attribute.0)),
            Change::Observed(arm, attribute) => ("observed", Some(arm.0), Some(attribute.0)),
            Change::Retired(arm) => ("left", Some(arm.0), None),
            Change::Lent(arm) => ("lent", Some(arm.0), None),
            Change::Released(arm) => ("released", Some(arm.0), None),
            Change::PriorsRefreshed => ("priors-refreshed", None, None),
            Change::AffordableChanged => ("affordable-changed", None, None),
            _ => return,
        };
        let arguments = (&self.view, what, arm, attribute);
        self.shown(books, |py| self.object.call_method1(py, "on_change", arguments));
    }
}

/// The books as a policy sees them while it chooses.
#[pyclass(frozen, name = "View", module = "goodarm")]
pub(crate) struct PyView {
    books: ShownBooks,
    names: Vec<Py<PyString>>,
}

impl PyView {
    #[expect(unsafe_code, reason = "the books are lent to Python for the time of one call")]
    fn look<T>(&self, look: impl FnOnce(&Books) -> PyResult<T>) -> PyResult<T> {
        let mut shown = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `shown` stores a pointer to books that outlive the call it makes, and takes it back before it
        // returns. It waits for the lock that is held here, and `look` neither calls Python nor waits for anything.
        if let Some(books) = unsafe { shown.get_mut().as_ref() } {
            return look(books);
        }
        drop(shown);
        let message = "a view can be used only while the policy is asked";
        Err(exception("AskError", "", message.into()))
    }

    /// A verifier by its name or its number.
    fn attribute(&self, verifier: &Bound<'_, PyAny>) -> PyResult<AttributeId> {
        let index = if let Ok(name) = verifier.extract::<String>() {
            let names: Vec<String> =
                self.verifiers(verifier.py()).iter().map(|it| it.to_string()).collect();
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let index = known.iter().position(|known| *known == name);
            index.ok_or_else(|| PyKeyError::new_err(unknown("verifier", &name, &known)))?
        } else {
            let wrong = |_| PyTypeError::new_err("a verifier is its name or its number");
            verifier.extract().map_err(wrong)?
        };
        if index >= self.names.len() {
            return Err(PyIndexError::new_err(format!("there is no verifier {index}")));
        }
        Ok(AttributeId(u32::try_from(index).expect("few verifiers")))
    }

    fn pair<T>(
        &self,
        arm: u32,
        verifier: &Bound<'_, PyAny>,
        look: impl FnOnce(&Books, ArmId, AttributeId) -> T,
    ) -> PyResult<T> {
        let attribute = self.attribute(verifier)?;
        self.arm(arm, |books, arm| look(books, arm, attribute))
    }

    fn arm<T>(&self, arm: u32, look: impl FnOnce(&Books, ArmId) -> T) -> PyResult<T> {
        self.look(|books| {
            if ArmId(arm).index() >= books.problem().arm_count() {
                return Err(PyIndexError::new_err(format!("there is no arm {arm}")));
            }
            Ok(look(books, ArmId(arm)))
        })
    }
}

#[pymethods]
impl PyView {
    #[getter]
    fn arms(&self) -> PyResult<usize> {
        self.look(|books| Ok(books.problem().arm_count()))
    }

    #[getter]
    fn verifiers<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyString>> {
        self.names.iter().map(|name| name.bind(py).clone()).collect()
    }

    /// The arms that still take calls.
    fn active(&self) -> PyResult<Vec<u32>> {
        self.look(|books| {
            let active = books.problem().arms().filter(|&arm| books.is_active(arm));
            Ok(active.map(|arm| arm.0).collect())
        })
    }

    fn status(&self, arm: u32) -> PyResult<&'static str> {
        self.arm(arm, |books, arm| books.status(arm).name())
    }

    /// Whether a call of the pair may be asked for now: the pair is open, and the money suffices.
    fn may_call(&self, arm: u32, verifier: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.pair(arm, verifier, |books, arm, attribute| {
            books.is_open(arm, attribute) && books.is_affordable(attribute)
        })
    }

    /// The number of scores, including counted failures.
    fn returned(&self, arm: u32, verifier: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.pair(arm, verifier, |books, arm, attribute| books.tally(arm, attribute).returned_count)
    }

    /// The number of calls that were dispatched.
    fn dispatched(&self, arm: u32, verifier: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.pair(arm, verifier, |books, arm, attribute| {
            books.tally(arm, attribute).dispatched_count
        })
    }

    /// The mean score; 0 without scores.
    fn mean(&self, arm: u32, verifier: &Bound<'_, PyAny>) -> PyResult<f64> {
        self.pair(arm, verifier, |books, arm, attribute| books.tally(arm, attribute).mean())
    }

    fn evidence(&self, arm: u32, verifier: &Bound<'_, PyAny>) -> PyResult<f64> {
        self.pair(arm, verifier, Books::evidence)
    }

    /// The level that the evidence must reach.
    fn level(&self, arm: u32, verifier: &Bound<'_, PyAny>) -> PyResult<f64> {
        self.pair(arm, verifier, Books::level)
    }

    /// Whether the evidence reaches its level.
    fn met(&self, arm: u32, verifier: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.pair(arm, verifier, Books::is_resolved)
    }

    /// The share of delta that the arm was lent, or None.
    fn share(&self, arm: u32) -> PyResult<Option<f64>> {
        self.arm(arm, |books, arm| books.share(arm).map(Share::fraction))
    }

    /// The share of delta that is not lent; None unless the guarantee is `lent`.
    #[getter]
    fn pool(&self) -> PyResult<Option<f64>> {
        self.look(|books| Ok(books.pool().map(Share::fraction)))
    }

    fn threshold(&self, verifier: &Bound<'_, PyAny>) -> PyResult<f64> {
        let attribute = self.attribute(verifier)?;
        self.look(|books| Ok(books.problem().attribute(attribute).threshold))
    }

    fn price(&self, verifier: &Bound<'_, PyAny>) -> PyResult<Decimal> {
        let attribute = self.attribute(verifier)?;
        self.look(|books| Ok(Decimal(books.problem().attribute(attribute).price)))
    }

    /// The budget that is neither spent nor reserved.
    #[getter]
    fn left(&self) -> PyResult<Decimal> {
        self.look(|books| Ok(Decimal(books.ledger().left())))
    }
}
