//! Values that Python and a session exchange: verifiers, calls and money.

use goodarm_files::Scores;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::money::Decimal;

/// A verifier of a session: its threshold, its price and the model of its scores.
#[pyclass(frozen, name = "Spec", module = "goodarm")]
pub(crate) struct PySpec {
    #[pyo3(get)]
    pub(crate) name: String,
    #[pyo3(get)]
    pub(crate) threshold: f64,
    #[pyo3(get)]
    pub(crate) price: Decimal,
    pub(crate) scores: Scores,
}

#[pymethods]
impl PySpec {
    #[new]
    #[pyo3(signature = (name, *, threshold, price, scores = None))]
    fn new(
        name: String,
        threshold: f64,
        price: &Bound<'_, PyAny>,
        scores: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let scores = scores.map_or(Ok(Scores::UNIT), scores_of)?;
        Ok(Self { name, threshold, price: Decimal(crate::money::price(price)?), scores })
    }

    #[getter]
    fn scores(&self) -> String {
        self.scores.to_string()
    }

    fn __repr__(&self) -> String {
        let Self { name, threshold, price: Decimal(price), scores } = self;
        format!("Spec({name:?}, threshold={threshold}, price={price}, scores={scores})")
    }
}

/// The model of scores, from a value that is spelled as in job files.
fn scores_of(value: &Bound<'_, PyAny>) -> PyResult<Scores> {
    let json = value.py().import("json")?.call_method1("dumps", (value,))?.extract::<String>()?;
    serde_json::from_str(&json).map_err(|error| PyValueError::new_err(format!("scores: {error}")))
}

/// One call to make. It can be neither copied nor pickled, so its session is one of this process.
#[pyclass(frozen, name = "Pull", module = "goodarm")]
pub(crate) struct PyPull {
    /// The number of its session in this process.
    pub(crate) session: u64,
    #[pyo3(get)]
    pub(crate) call: u64,
    #[pyo3(get)]
    pub(crate) arm: u32,
    #[pyo3(get)]
    pub(crate) verifier: Py<PyString>,
    #[pyo3(get)]
    pub(crate) attempt: u32,
    #[pyo3(get)]
    pub(crate) verifier_index: u32,
    #[pyo3(get)]
    pub(crate) ceiling: Decimal,
    #[pyo3(get)]
    pub(crate) lent: Option<f64>,
    #[pyo3(get)]
    pub(crate) branch: &'static str,
}

#[pymethods]
impl PyPull {
    fn __repr__(&self, py: Python<'_>) -> String {
        let Self { call, arm, .. } = self;
        format!("Pull(call={call}, arm={arm}, verifier={:?})", self.verifier.bind(py).to_string())
    }
}

/// The money of a session, in exact decimals.
#[pyclass(frozen, get_all, name = "Ledger", module = "goodarm")]
pub(crate) struct PyLedger {
    budget: Decimal,
    settled: Decimal,
    possible: Decimal,
    reserved: Decimal,
    left: Decimal,
    overrun: Decimal,
    overrun_count: u64,
}

impl From<&goodarm_core::ledger::Ledger> for PyLedger {
    fn from(ledger: &goodarm_core::ledger::Ledger) -> Self {
        Self {
            budget: Decimal(ledger.budget()),
            settled: Decimal(ledger.settled()),
            possible: Decimal(ledger.possible()),
            reserved: Decimal(ledger.reserved()),
            left: Decimal(ledger.left()),
            overrun: Decimal(ledger.overrun()),
            overrun_count: ledger.overrun_count(),
        }
    }
}

#[pymethods]
impl PyLedger {
    fn __repr__(&self) -> String {
        let [budget, settled, reserved, left] =
            [self.budget, self.settled, self.reserved, self.left].map(|amount| amount.0);
        format!("Ledger(budget={budget}, settled={settled}, reserved={reserved}, left={left})")
    }
}
