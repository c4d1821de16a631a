//! What is sent to a verifier and what comes back, word for word, for those who want to read it.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// One request and its fate, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// What was sent.
    pub sent: String,
    /// What came back, or why nothing did.
    pub received: String,
}

/// The exchanges of some calls; kept only if someone asked for them.
#[derive(Debug, Default)]
pub struct Transcript(Option<Mutex<Vec<Exchange>>>);

impl Transcript {
    /// One that is kept.
    pub fn kept() -> Self {
        Self(Some(Mutex::default()))
    }

    /// Takes down an exchange, which is made only if it is kept.
    pub fn note(&self, exchange: impl FnOnce() -> Exchange) {
        if let Some(kept) = &self.0 {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(exchange());
        }
    }

    /// What was taken down since the last time.
    pub fn take(&self) -> Vec<Exchange> {
        let Some(kept) = &self.0 else { return Vec::new() };
        std::mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
