//! People as verifiers and generators: a call to a person waits in the run's folder, as an intent in its journal
//! without an outcome, until a person replies, in this process or in a later one.
//!
//! The journal is the queue: the waiting cards follow from it, the candidates and the run terms. Replies are in
//! `replies.jsonl`. The run polls that file while such calls are in flight; the first reply to a call is its
//! outcome. The file begins with a mark of its journal, and has every reply that the run has used, or is refused. A call is asked once and answered once: neither a stop nor a crash loses or repeats it.

mod card;
mod queue;
mod replies;

pub use self::card::CardRenderer;
pub use self::queue::{PeopleQueue, are_asked, check_replies};
pub(crate) use self::replies::ReplyLine;
pub use self::replies::{HumanReply, Replies, make_durable};
use crate::card_queue::{CardReply, ReplyForm};
use crate::job_file::Scores;
use crate::reply::Verdict;
use crate::terms::ServiceTerms;
use goodarm_core::CountedFailure;

/// The form of reply that a service expects.
pub(crate) fn wanted(terms: &ServiceTerms<'_>) -> ReplyForm {
    if terms.answers_questions { ReplyForm::Answer } else { wanted_of(terms.scores) }
}

/// The form of reply that a verifier with such scores expects.
pub const fn wanted_of(scores: Scores) -> ReplyForm {
    match scores {
        Scores::Bounded { range: [lowest, highest] } => ReplyForm::Score { lowest, highest },
        Scores::Binary | Scores::Exact | Scores::SubGaussian { .. } => ReplyForm::Verdict,
    }
}

/// The verdict of a person's reply. Replies that do not fit are refused at submission. If the file has one anyway, it
/// counts as the lowest score.
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
