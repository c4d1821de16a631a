//! People as verifiers and generators: a call that goes to a person waits in the run's folder, as an intent
//! in its journal without an outcome, until somebody answers, in this process or in a later one.
//!
//! The journal is the queue: which cards wait follows from it, the candidates and the run terms. What people
//! say is in `replies.jsonl` beside it. The run reads on there while such calls are in flight; the first
//! reply to a call is its outcome. However long it takes, a call is asked once and answered once, so
//! neither a stop nor a crash loses it, and none makes it again.

mod card;
mod queue;
mod replies;

pub use self::card::CardRenderer;
pub use self::queue::{PeopleQueue, are_asked, waiting};
pub use self::replies::{HumanReply, Replies, make_durable};
use crate::card_queue::{CardReply, ReplyForm};
use crate::job_file::Scores;
use crate::reply::Verdict;
use crate::terms::ServiceTerms;
use goodarm_core::CountedFailure;

/// What may be said to such a service.
pub(crate) fn wanted(terms: &ServiceTerms<'_>) -> ReplyForm {
    if terms.answers_questions { ReplyForm::Answer } else { wanted_of(terms.scores) }
}

/// The same of a verifier with such scores.
pub const fn wanted_of(scores: Scores) -> ReplyForm {
    match scores {
        Scores::Bounded { range: [lowest, highest] } => ReplyForm::Score { lowest, highest },
        Scores::Binary | Scores::Exact | Scores::SubGaussian { .. } => ReplyForm::Verdict,
    }
}

/// What a person's words mean for the call. What does not fit is refused where it is said, and counts as
/// the lowest score should it be here all the same.
pub fn verdict(wanted: ReplyForm, answer_bytes_max: Option<usize>, said: &CardReply) -> Verdict {
    let unfit = |reason: String| Verdict::Failed(CountedFailure::Unreadable, reason);
    match (wanted, said) {
        (_, CardReply::Skip) => {
            Verdict::Failed(CountedFailure::Refused, "the person could not tell".into())
        }
        (ReplyForm::Verdict, CardReply::Right) => Verdict::Score(1.0),
        (ReplyForm::Verdict, CardReply::Wrong) => Verdict::Score(0.0),
        (ReplyForm::Verdict, _) => unfit("right or wrong was asked for".into()),
        (ReplyForm::Score { lowest, highest }, CardReply::Score(score))
            if (lowest..=highest).contains(score) =>
        {
            Verdict::Score(*score)
        }
        (ReplyForm::Score { lowest, highest }, _) => {
            unfit(format!("a score from {lowest} to {highest} was asked for"))
        }
        (ReplyForm::Answer, CardReply::Answer(text)) => match answer_bytes_max {
            _ if text.trim().is_empty() => unfit("the answer is empty".into()),
            Some(most) if text.len() > most => {
                let length = text.len();
                unfit(format!("an answer of {length} bytes, and answer_bytes_max is {most}"))
            }
            _ => Verdict::answer(text.clone(), String::new()),
        },
        (ReplyForm::Answer, _) => unfit("an answer was asked for".into()),
    }
}
