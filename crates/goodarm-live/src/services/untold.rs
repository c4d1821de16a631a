//! A remark that is made once, by whichever call comes next.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use goodarm_record::reply::Remark;

/// The first remark of its kind, until someone has taken it.
#[derive(Debug, Default)]
pub(super) struct Untold {
    first: OnceLock<Remark>,
    is_told: AtomicBool,
}

impl Untold {
    /// Keeps a remark, unless there was one already.
    pub(super) fn note(&self, remark: impl FnOnce() -> Remark) {
        self.first.get_or_init(remark);
    }

    /// The remark, once.
    pub(super) fn take(&self) -> Option<Remark> {
        let remark = self.first.get()?;
        (!self.is_told.swap(true, Ordering::Relaxed)).then(|| remark.clone())
    }
}
