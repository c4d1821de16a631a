//! Stop, pause and resume of running work.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Stops, pauses and resumes; shared between the running work and its controllers.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicU8,
    pause: AtomicBool,
}

impl Control {
    /// Asks to stop. After the first time, no new calls are made, and those in flight are awaited. After the second
    /// time, the work leaves at once.
    pub fn stop(&self) {
        let _ = self
            .stop
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |stop| Some(stop.saturating_add(1)));
    }

    /// Pauses new calls, or resumes them.
    pub fn set_paused(&self, paused: bool) {
        self.pause.store(paused, Ordering::SeqCst);
    }

    /// Whether new calls are held back.
    pub fn is_paused(&self) -> bool {
        self.pause.load(Ordering::SeqCst)
    }

    /// Whether someone asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst) >= 1
    }

    /// Whether someone asked to leave at once.
    pub fn is_leaving(&self) -> bool {
        self.stop.load(Ordering::SeqCst) >= 2
    }
}
