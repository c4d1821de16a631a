//! Records requests and replies word for word, if asked to.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// One request and its reply, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// What was sent.
    pub sent: String,
    /// The reply, or why there was none.
    pub received: String,
}

/// The exchanges of some calls. The default records nothing.
#[derive(Debug, Default)]
pub struct Transcript(Option<Mutex<Vec<Exchange>>>);

impl Transcript {
    /// A transcript that records.
    pub fn kept() -> Self {
        Self(Some(Mutex::default()))
    }

    /// Adds an exchange, which is built only if it is recorded.
    pub fn note(&self, exchange: impl FnOnce() -> Exchange) {
        if let Some(kept) = &self.0 {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(exchange());
        }
    }

    /// The exchanges since the last call of this method.
    pub fn take(&self) -> Vec<Exchange> {
        let Some(kept) = &self.0 else { return Vec::new() };
        std::mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
