//! What a caller and a session exchange: specs in, pulls out, and where the money is.

use goodarm_core::{AttributeId, Cost, Loan};
use goodarm_files::Scores;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::money::to_decimal;

/// A verifier as a session knows it: its threshold, its price and what is known of its scores.
#[pyclass(frozen, module = "goodarm")]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) threshold: f64,
    pub(crate) price: Cost,
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
        Ok(Self { name, threshold, price: crate::money::price(price)?, scores })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    const fn threshold(&self) -> f64 {
        self.threshold
    }

    #[getter]
    fn price<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_decimal(py, self.price)
    }

    #[getter]
    fn scores(&self) -> String {
        self.scores.to_string()
    }

    fn __repr__(&self) -> String {
        let Self { name, threshold, price, scores } = self;
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
    pub(crate) attribute: AttributeId,
    pub(crate) ceiling: Cost,
    pub(crate) loan: Option<Loan>,
    pub(crate) branch: &'static str,
}

#[pymethods]
impl Pull {
    #[getter]
    const fn verifier_index(&self) -> u32 {
        self.attribute.0
    }

    #[getter]
    fn ceiling<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_decimal(py, self.ceiling)
    }

    #[getter]
    fn lent(&self) -> Option<f64> {
        self.loan.map(|loan| loan.share.fraction())
    }

    #[getter]
    const fn branch(&self) -> &'static str {
        self.branch
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let Self { call, arm, .. } = self;
        format!("Pull(call={call}, arm={arm}, verifier={:?})", self.verifier.bind(py).to_string())
    }
}

/// Where the money is: exact decimals.
#[pyclass(frozen, module = "goodarm")]
pub(crate) struct Ledger(pub(crate) goodarm_core::ledger::Ledger);

#[pymethods]
impl Ledger {
    #[getter]
    fn budget<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_decimal(py, self.0.budget())
    }

    #[getter]
    fn settled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_decimal(py, self.0.settled())
    }

    #[getter]
    fn reserved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_decimal(py, self.0.reserved())
    }

    #[getter]
    fn left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_decimal(py, self.0.left())
    }

    #[getter]
    fn overrun<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_decimal(py, self.0.overrun())
    }

    #[getter]
    const fn overrun_count(&self) -> u64 {
        self.0.overrun_count()
    }

    fn __repr__(&self) -> String {
        let (budget, settled) = (self.0.budget(), self.0.settled());
        let (reserved, left) = (self.0.reserved(), self.0.left());
        format!("Ledger(budget={budget}, settled={settled}, reserved={reserved}, left={left})")
    }
}
