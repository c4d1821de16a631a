//! From the verdict of a service to the outcome of a call.

use goodarm_core::{
    Attribute, BlockingFailure, CountedFailure, Failure, Outcome, ScoreModel, VoidFailure,
};
use goodarm_record::reply::{AnswerReply, Verdict};

/// The outcome of a verdict about an answer, and the reason if a score is missing. `declared` are the attributes
/// that a reply must score.
pub(crate) fn outcome(declared: &[&Attribute], verdict: Verdict) -> (Outcome, String) {
    let counted = |failure| Outcome::Failed(Failure::Counted(failure));
    let first = declared[0];
    match verdict {
        Verdict::Score(_) | Verdict::Known(_) if declared.len() > 1 => {
            let reason = format!("one score for {} criteria", declared.len());
            (counted(CountedFailure::Unreadable), reason)
        }
        Verdict::Score(score) | Verdict::Known(score) => {
            let (checked, reason) = of_score(first, score);
            (checked.map_or_else(Outcome::Failed, Outcome::Score), reason)
        }
        Verdict::Scores(scores) => of_scores(declared, scores),
        Verdict::Answer(_) => {
            let reason = "an answer to the question, and not a score".to_owned();
            (counted(CountedFailure::Unreadable), reason)
        }
        // Only an exact verifier can be asked again.
        Verdict::Void(VoidFailure::NoVerdict) if !first.is_exact() => {
            (counted(CountedFailure::Lost), "lost on its way back".to_owned())
        }
        Verdict::Void(failure) => (Outcome::Failed(Failure::Void(failure)), String::new()),
        Verdict::Failed(failure, reason) => (counted(failure), reason),
        Verdict::Exhausted(reason) => {
            (Outcome::Failed(Failure::Blocking(BlockingFailure::Exhausted)), reason)
        }
    }
}

/// The answer in a verdict about a question, or the failure and its reason.
pub(crate) fn of_answer(verdict: Verdict) -> Result<AnswerReply, (Failure, String)> {
    let unreadable = |reason: &str| (Failure::Counted(CountedFailure::Unreadable), reason.into());
    match verdict {
        Verdict::Answer(answer) if answer.final_answer.trim().is_empty() => {
            Err(unreadable("no final answer"))
        }
        Verdict::Answer(answer) => Ok(*answer),
        Verdict::Score(_) | Verdict::Scores(_) | Verdict::Known(_) => {
            Err(unreadable("a score, and not an answer to the question"))
        }
        Verdict::Void(VoidFailure::NoVerdict) => {
            Err((Failure::Counted(CountedFailure::Lost), "lost on its way back".to_owned()))
        }
        Verdict::Void(failure) => Err((Failure::Void(failure), String::new())),
        Verdict::Failed(failure, reason) => Err((Failure::Counted(failure), reason)),
        Verdict::Exhausted(reason) => Err((Failure::Blocking(BlockingFailure::Exhausted), reason)),
    }
}

/// The outcome of a score for each criterion. A score that its model does not allow counts as missing. The call
/// fails if all scores are missing, or if any score of an exact verifier is missing: then the answer is neither
/// good nor bad.
fn of_scores(declared: &[&Attribute], scores: Vec<Result<f64, String>>) -> (Outcome, String) {
    if declared.len() != scores.len() {
        let reason = format!("{} scores for {} criteria", scores.len(), declared.len());
        return (Outcome::Failed(Failure::Counted(CountedFailure::Unreadable)), reason);
    }
    let (mut each, mut reasons) = (Vec::with_capacity(scores.len()), Vec::new());
    let (mut is_any_good, mut is_any_below) = (false, false);
    for (declared, score) in declared.iter().zip(scores) {
        let (kept, reason) = match score.map(|score| (score, of_score(declared, score))) {
            Ok((score, (Ok(_), _))) => {
                is_any_good = true;
                (Some(score), None)
            }
            Ok((score, (Err(failure), reason))) => {
                // The books get this score and block the pair.
                let is_below = matches!(failure, Failure::Blocking(_));
                is_any_below |= is_below;
                (is_below.then_some(score), Some(format!("{}: {reason}", declared.name)))
            }
            Err(reason) => (None, Some(reason)),
        };
        each.push(kept);
        reasons.extend(reason);
    }
    let reason = reasons.join("; ");
    if is_any_good && (reasons.is_empty() || !declared[0].is_exact()) {
        return (Outcome::Scores(each.into()), reason);
    }
    let failure = if is_any_below {
        Failure::Blocking(BlockingFailure::BelowLowest)
    } else {
        Failure::Counted(CountedFailure::Unreadable)
    };
    (Outcome::Failed(failure), reason)
}

fn of_score(declared: &Attribute, score: f64) -> (Result<f64, Failure>, String) {
    // Counting a score below the lowest as the lowest would raise it.
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

/// Returns the declared range if the score is above it: a score on another scale, such as 1 to 10, would pass
/// every threshold.
pub(crate) fn off_scale(declared: &Attribute, score: f64) -> Option<[f64; 2]> {
    match declared.scores {
        ScoreModel::Bounded { lowest, highest }
            if score - highest > SCORE_SLACK * (highest - lowest) =>
        {
            Some([lowest, highest])
        }
        _ => None,
    }
}

/// How much a score may exceed the highest one, as a share of the range: an average of scores may be rounded.
const SCORE_SLACK: f64 = 1e-9;
