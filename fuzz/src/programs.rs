//! Output of programs: all of it, or a worker's line.

use goodarm_data::candidates::Candidate;
use goodarm_live::fuzzing::{answers_call, score_in};

/// Reads output: a score is a finite number, and a line that answers one call does not answer another.
pub(crate) fn output(bytes: &[u8]) {
    if let Some(score) = score_in(bytes) {
        assert!(score.is_finite());
    }
    for json in CANDIDATES {
        let candidate = Candidate::new("q1".into(), json.into());
        assert!(!(answers_call(&candidate, 1, bytes) && answers_call(&candidate, 2, bytes)));
    }
}

/// A plain candidate, one with a field named like one of ours, and an empty one.
const CANDIDATES: [&str; 3] =
    [r#"{"id": "q1", "answer": "4"}"#, r#"{"id": 1, "call": 2, "answer": "4"}"#, "{}"];
