//! What a verdict counts as.

use goodarm_core::{Attribute, BlockingFailure, CountedFailure, Failure, ScoreModel, VoidFailure};

use crate::verifier::Verdict;

/// What a verdict of a verifier that is declared so counts as, and why if it is not a score.
pub(crate) fn outcome(declared: &Attribute, verdict: Verdict) -> (Result<f64, Failure>, String) {
    match verdict {
        Verdict::Score(score) | Verdict::Known(score) => of_score(declared, score),
        // Only from an exact verifier can it be made again.
        Verdict::Void(VoidFailure::LostRepeatable) if !declared.is_exact() => {
            (Err(Failure::Counted(CountedFailure::Lost)), "lost on its way back".to_owned())
        }
        Verdict::Void(failure) => (Err(Failure::Void(failure)), String::new()),
        Verdict::Failed(failure, reason) => (Err(Failure::Counted(failure)), reason),
        Verdict::Exhausted(reason) => (Err(Failure::Blocking(BlockingFailure::Exhausted)), reason),
    }
}

fn of_score(declared: &Attribute, score: f64) -> (Result<f64, Failure>, String) {
    // To count it as the lowest score would clip it up.
    if let Some(lowest) = declared.lowest_score()
        && declared.is_below_lowest(score)
    {
        let failure = Failure::Blocking(BlockingFailure::BelowLowest);
        return (Err(failure), format!("score {score} is below {lowest}, the lowest there can be"));
    }
    let problem = match (declared.checked_score(score), off_scale(declared, score)) {
        (Ok(_), None) => return (Ok(score), String::new()),
        (Ok(_), Some([lowest, highest])) => format!("scores are from {lowest} to {highest}"),
        (Err(error), _) => error.to_string(),
    };
    (Err(Failure::Counted(CountedFailure::Unreadable)), format!("score {score}: {problem}"))
}

/// The declared range, if the score is above it: a scale of its own, such as 1 to 10, would pass every
/// threshold.
pub(crate) fn off_scale(declared: &Attribute, score: f64) -> Option<[f64; 2]> {
    match declared.scores() {
        ScoreModel::Bounded { lowest, highest }
            if score - highest > SCORE_SLACK * (highest - lowest) =>
        {
            Some([lowest, highest])
        }
        _ => None,
    }
}

/// What an average of scores may exceed the highest by, in units of the range.
const SCORE_SLACK: f64 = 1e-9;
