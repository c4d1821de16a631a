//! What programs write: all of it, or a line of a worker's.

use goodarm_data::candidates::Candidate;
use goodarm_live::fuzzing::{answers_call, score_in};

/// A score that is found is a number, and an answer to one call is none to another.
pub(crate) fn output(bytes: &[u8]) {
    if let Some(score) = score_in(bytes) {
        assert!(score.is_finite());
    }
    for json in CANDIDATES {
        let candidate = Candidate::new("q1".into(), json.into());
        assert!(!(answers_call(&candidate, 1, bytes) && answers_call(&candidate, 2, bytes)));
    }
}

/// Plain, with a field that is called like one of ours, and empty.
const CANDIDATES: [&str; 3] =
    [r#"{"id": "q1", "answer": "4"}"#, r#"{"id": 1, "call": 2, "answer": "4"}"#, "{}"];
