//! Internal readers of services, for the fuzz targets only: not a stable interface.

use goodarm_data::candidates::Candidate;
use goodarm_record::reply::Verdict;

use crate::services::command::read;
use crate::services::command::worker::request::{LineOwner, WorkerRequest};
use crate::services::score::ExpectedReply;

/// The score in the output of a program, if there is one.
pub fn score_in(output: &[u8]) -> Option<f64> {
    match read(&String::from_utf8_lossy(output), &ExpectedReply::Score) {
        (Verdict::Score(score), _) => Some(score),
        _ => None,
    }
}

/// Whether a worker's line is the reply to the call with this number about this candidate.
pub fn answers_call(candidate: &Candidate, number: u64, line: &[u8]) -> bool {
    let request = WorkerRequest::new(candidate, number);
    assert_eq!(request.line.matches('\n').count(), 1, "a request is one line");
    matches!(request.owner(line, true), LineOwner::This)
}
