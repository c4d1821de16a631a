//! Amounts of money: any Python number in, exact decimals out.

use goodarm_core::Cost;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyType};

use crate::errors::raised;

/// A price or a bill: rounded up if it has too many digits.
pub(crate) fn price(value: &Bound<'_, PyAny>) -> PyResult<Cost> {
    amount(value, Cost::of_price)
}

/// A budget: rounded down.
pub(crate) fn budget(value: &Bound<'_, PyAny>) -> PyResult<Cost> {
    amount(value, Cost::of_budget)
}

fn amount<E: std::fmt::Debug + std::fmt::Display>(
    value: &Bound<'_, PyAny>,
    of_float: impl Fn(f64) -> Result<Cost, E>,
) -> PyResult<Cost> {
    let wrong = || {
        let shown = value.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string());
        PyTypeError::new_err(format!("{shown} is not an amount: give a number"))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    if value.is_instance_of::<PyFloat>() {
        return of_float(value.extract()?).map_err(|error| raised("CostError", &error));
    }
    let is_whole = value.is_instance_of::<PyInt>();
    if is_whole || value.is_instance(decimal(value.py())?)? {
        let text = value.call_method1("__format__", (if is_whole { "d" } else { "f" },))?;
        if let Ok(cost) = text.extract::<String>()?.parse() {
            return Ok(cost);
        }
    }
    let float: f64 = value.extract().map_err(|_| wrong())?;
    of_float(float).map_err(|error| raised("CostError", &error))
}

/// An amount that is a `decimal.Decimal` in Python.
#[derive(Clone, Copy)]
pub(crate) struct Decimal(pub(crate) Cost);

impl<'py> IntoPyObject<'py> for Decimal {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        decimal(py)?.call1((self.0.to_string(),))
    }
}

fn decimal(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}
