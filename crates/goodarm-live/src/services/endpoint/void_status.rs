//! HTTP statuses of requests that were not processed, for reasons that do not depend on the answer.

use std::time::Duration;

use goodarm_core::VoidFailure;
use goodarm_data::problem::KeyProblem;
use serde_json::Value;

/// The statuses that a job lists as void with any body. If the job has no list, this is `None`: then 503 and 529 with
/// a `Retry-After` are void, and 503 while a model is being loaded. 401 and 429 are always void.
pub(super) struct VoidStatus(Option<Vec<u16>>);

impl VoidStatus {
    pub(super) fn new(listed: Option<&[u16]>) -> Result<Self, KeyProblem> {
        match listed.into_iter().flatten().find(|code| !VOID_AT_MOST.contains(code)) {
            None => Ok(Self(listed.map(<[u16]>::to_vec))),
            Some(code) => Err(KeyProblem::new(
                "void_status",
                format!(
                    "{code} may depend on the answer, so it counts; only 429, 500, 502, 503, 504 and 529 can be void"
                ),
            )),
        }
    }

    /// The statuses that the job lists.
    pub(super) fn listed(&self) -> &[u16] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The void failure of a status other than 401; `None` if the status is not void.
    pub(super) fn failure(
        &self,
        status: u16,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Option<VoidFailure> {
        let is_busy = matches!(status, 503 | 529) && retry_after.is_some();
        let is_void = match &self.0 {
            None => is_busy || status == 503 && is_loading(body),
            Some(listed) => listed.contains(&status),
        };
        let is_limited = is_busy || status == 529;
        match status {
            429 => Some(VoidFailure::RateLimited),
            // A server that sends a listed status is there.
            _ if is_void && (is_limited || self.0.is_some()) => Some(VoidFailure::RateLimited),
            _ => is_void.then_some(VoidFailure::NotConnected),
        }
    }
}

/// Whether an error reports that a model is being loaded, in the forms of servers that do so before they read a
/// request. Searching any error for these words would be wrong: it may quote the answer.
fn is_loading(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    let is_llama = error["type"] == "unavailable_error"
        && error["code"] == 503
        && error["message"] == "Loading model";
    // Hugging Face: {"error": "Model … is currently loading", "estimated_time": 20.0}
    let is_hugging_face = body["estimated_time"].is_number()
        && error.as_str().is_some_and(|text| text.ends_with("is currently loading"));
    is_llama || is_hugging_face
}

/// The statuses that a job may list. 500 and 504 mostly come after work has begun: listing them is the user's word that
/// they do not depend on the answer. Other 4xx are about the request.
const VOID_AT_MOST: [u16; 6] = [429, 500, 502, 503, 504, 529];
