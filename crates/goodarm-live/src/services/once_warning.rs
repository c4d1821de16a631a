//! A warning that is given once, with the next call.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use goodarm_record::reply::ServiceWarning;

/// The first warning of its kind, until it is taken.
#[derive(Debug, Default)]
pub(super) struct OnceWarning {
    first: OnceLock<ServiceWarning>,
    is_told: AtomicBool,
}

impl OnceWarning {
    /// Keeps a warning, unless there was one already.
    pub(super) fn note(&self, warning: impl FnOnce() -> ServiceWarning) {
        self.first.get_or_init(warning);
    }

    /// The warning, once.
    pub(super) fn take(&self) -> Option<ServiceWarning> {
        let warning = self.first.get()?;
        (!self.is_told.swap(true, Ordering::Relaxed)).then(|| warning.clone())
    }
}
