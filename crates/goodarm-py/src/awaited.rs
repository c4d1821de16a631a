//! The state of a thread whose end Python waits for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A state that a thread changes and that Python reads.
#[derive(Default)]
pub(crate) struct Awaited<T> {
    state: Mutex<T>,
    pub(crate) changed: Condvar,
}

impl<T: Send> Awaited<T> {
    pub(crate) fn state(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits at most `seconds` until `is_ended`; returns whether it is.
    pub(crate) fn wait(
        &self,
        py: Python<'_>,
        seconds: f64,
        is_ended: fn(&T) -> bool,
    ) -> PyResult<bool> {
        let wait = duration(seconds)?;
        Ok(py.detach(|| {
            let waited =
                self.changed.wait_timeout_while(self.state(), wait, |state| !is_ended(state));
            is_ended(&waited.unwrap_or_else(PoisonError::into_inner).0)
        }))
    }
}

/// A number of seconds from Python; an exception if it is negative or too large.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))
}
