//! What a caller and a session exchange: specs in, pulls out, and where the money is.

use goodarm_files::Scores;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::money::Decimal;

/// A verifier as a session knows it: its threshold, its price and what is known of its scores.
#[pyclass(frozen, module = "goodarm")]
pub(crate) struct Spec {
    #[pyo3(get)]
    pub(crate) name: String,
    #[pyo3(get)]
    pub(crate) threshold: f64,
    #[pyo3(get)]
    pub(crate) price: Decimal,
    pub(crate) scores: Scores,
}

#[pymethods]
impl Spec {
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

/// What is known of scores, as job files spell it.
fn scores_of(value: &Bound<'_, PyAny>) -> PyResult<Scores> {
    let json = value.py().import("json")?.call_method1("dumps", (value,))?.extract::<String>()?;
    serde_json::from_str(&json).map_err(|error| PyValueError::new_err(format!("scores: {error}")))
}

/// One call to make.
#[pyclass(frozen, module = "goodarm")]
pub(crate) struct Pull {
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
impl Pull {
    fn __repr__(&self, py: Python<'_>) -> String {
        let Self { call, arm, .. } = self;
        format!("Pull(call={call}, arm={arm}, verifier={:?})", self.verifier.bind(py).to_string())
    }
}

/// Where the money is: exact decimals.
#[pyclass(frozen, get_all, module = "goodarm")]
pub(crate) struct Ledger {
    budget: Decimal,
    settled: Decimal,
    reserved: Decimal,
    left: Decimal,
    overrun: Decimal,
    overrun_count: u64,
}

impl From<&goodarm_core::ledger::Ledger> for Ledger {
    fn from(ledger: &goodarm_core::ledger::Ledger) -> Self {
        Self {
            budget: Decimal(ledger.budget()),
            settled: Decimal(ledger.settled()),
            reserved: Decimal(ledger.reserved()),
            left: Decimal(ledger.left()),
            overrun: Decimal(ledger.overrun()),
            overrun_count: ledger.overrun_count(),
        }
    }
}

#[pymethods]
impl Ledger {
    fn __repr__(&self) -> String {
        let [budget, settled, reserved, left] =
            [self.budget, self.settled, self.reserved, self.left].map(|amount| amount.0);
        format!("Ledger(budget={budget}, settled={settled}, reserved={reserved}, left={left})")
    }
}
