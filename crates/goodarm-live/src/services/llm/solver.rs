//! Solves the question again and compares final answers.

use goodarm_core::CountedFailure;
use goodarm_data::answer::{Extractor, same};
use goodarm_data::candidates::{Candidate, text_of};
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_files::words::in_short;
use goodarm_record::reply::{
    Contact, Delivery, NOTHING, REPLY_BYTES_MAX, Reply, Usage, Verdict, shorten,
};

use super::chat::ChatReply;
use super::{CUT_OFF_MESSAGE, LlmKeys};
use crate::service::{FinalAnswerRule, on_blocking_thread};

/// The settings of a solver.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    pub(super) field: String,
    extractor: Extractor,
    pub(super) votes: u32,
    /// Whether the run compares its replies with all answers to the question. Otherwise a reply is compared here,
    /// with one answer.
    pub(super) answers_questions: bool,
}

/// One reply of a solver: its final answer, or why it has none.
pub(super) struct SolverVote {
    answer: Result<String, (CountedFailure, String)>,
    text: String,
    usage: Usage,
    delivery: Delivery,
    contact: Contact,
}

impl Solver {
    pub(super) fn new(
        keys: &LlmKeys,
        answers_questions: bool,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<Self> {
        let extractor = Extractor::new(
            keys.extract.unwrap_or_default(),
            keys.pattern.as_deref(),
            keys.pointer.as_deref(),
        );
        let extractor = collect(extractor, problems);
        let votes = keys.votes.unwrap_or(1);
        if !(1..=VOTES_MAX).contains(&votes) {
            problems.push(KeyProblem::new(
                "votes",
                format!("{votes} is not between 1 and {VOTES_MAX}"),
            ));
        }
        let field = keys.field.clone().unwrap_or_else(|| "answer".into());
        Some(Self { field, extractor: extractor?, votes, answers_questions })
    }

    /// How to find the final answers of candidates and replies.
    pub(super) fn final_answers(&self) -> FinalAnswerRule {
        let (field, extractor) = (self.field.clone(), self.extractor.clone());
        FinalAnswerRule { field, extractor, bytes_max: usize::MAX }
    }

    /// The final answer of the candidate. The error is the reply of a call if the candidate has none.
    pub(super) async fn own_answer(&self, candidate: &Candidate) -> Result<String, Reply> {
        let text = candidate.field(&self.field).map(text_of).unwrap_or_default();
        let answer = if self.extractor.is_quick_for(&text) {
            self.extractor.find(&text)
        } else {
            let (extractor, text) = (self.extractor.clone(), text.into_owned());
            on_blocking_thread(move || extractor.find(&text)).await?
        };
        // No reply can agree with a missing final answer, so the solver is not asked.
        answer.map_err(|reason| {
            let text = format!("{reason} in the field {}: not asked", self.field);
            Reply::new(Verdict::Known(0.0), NOTHING, text)
        })
    }

    /// Whether finding the final answer of a reply takes no more than a moment.
    pub(super) fn is_quick_for(&self, reply: &Result<ChatReply, Reply>) -> bool {
        reply.as_ref().map_or(true, |said| self.extractor.is_quick_for(&said.text))
    }

    /// The reply of a call, given its votes. With `answer`, the final answer of the candidate, this is a score:
    /// whether the most votes are for `answer`. Without it, this is the final answer with the most votes. A vote
    /// that failed, or has no final answer, is for no answer.
    pub(super) fn count(
        &self,
        answer: Option<&str>,
        cast: Vec<Result<SolverVote, Reply>>,
    ) -> Reply {
        let asked = cast.len();
        let mut votes = Vec::with_capacity(asked);
        let mut void = None;
        for vote in cast {
            match vote {
                Ok(vote) => votes.push(vote),
                Err(reply) => void = Some(reply),
            }
        }
        let usage = votes.iter().map(|vote| vote.usage).reduce(add).unwrap_or_default();
        let status = votes.iter().find_map(|vote| vote.delivery.status);
        let delivery = Delivery { status, ..Delivery::default() };
        let contact = Contact::of_all(votes.iter().map(|vote| vote.contact));
        let text = show(&votes);
        match void {
            // No vote was sent, so the call has not begun.
            Some(void) if votes.is_empty() => return void,
            // The run stops during the call. A score from fewer votes would be that of another verifier.
            Some(_) => {
                let reason = format!("the run stopped after {} of {asked} votes", votes.len());
                let failed = Reply::failed(CountedFailure::Lost, reason);
                return Reply { usage, text, delivery, contact, ..failed };
            }
            None => {}
        }
        match most_frequent(&votes) {
            Some((elected, count)) => {
                let verdict = match answer {
                    Some(answer) => Verdict::Score(f64::from(u8::from(same(elected, answer)))),
                    None => {
                        let last = elected.to_owned();
                        Verdict::answer(text.clone(), last)
                    }
                };
                let text = match votes.as_slice() {
                    [_] => text,
                    _ => format!("{count} of {asked}: {}\n{text}", in_short(elected)),
                };
                Reply { verdict, usage, text: shorten(text), delivery, contact }
            }
            None => {
                let why = votes.into_iter().find_map(|vote| vote.answer.err());
                let (failure, reason) =
                    why.unwrap_or((CountedFailure::Unreadable, "no votes".into()));
                Reply { usage, text, delivery, contact, ..Reply::failed(failure, reason) }
            }
        }
    }

    /// The vote of a reply, with its text cut to the length that is kept. The error is the reply of a request that
    /// never began.
    pub(super) fn vote(&self, reply: Result<ChatReply, Reply>) -> Result<SolverVote, Reply> {
        Ok(match reply {
            Err(reply) if matches!(reply.verdict, Verdict::Void(_)) => return Err(reply),
            Ok(ChatReply { text, is_cut, usage, .. }) => {
                let answer = if is_cut {
                    let answer = self.extractor.extract_cut(&text);
                    answer.ok_or_else(|| (CountedFailure::Truncated, CUT_OFF_MESSAGE.into()))
                } else {
                    self.extractor.find(&text).map_err(|reason| {
                        (CountedFailure::Unreadable, format!("{reason} in the reply"))
                    })
                };
                let (delivery, contact) = (Delivery::default(), Contact::Read);
                SolverVote { answer, text: shorten(text), usage, delivery, contact }
            }
            Err(Reply { verdict, usage, text, delivery, contact }) => {
                let answer = match verdict {
                    Verdict::Failed(failure, reason) => Err((failure, reason)),
                    _ => Err((CountedFailure::Unreadable, "no reply".into())),
                };
                SolverVote { answer, text, usage, delivery, contact }
            }
        })
    }
}

/// The final answer with the most votes, and their number. If several have as many, the first one.
fn most_frequent(votes: &[SolverVote]) -> Option<(&str, usize)> {
    let answers: Vec<&str> = votes.iter().filter_map(|vote| vote.answer.as_deref().ok()).collect();
    let mut best: Option<(&str, usize)> = None;
    for answer in &answers {
        let count = answers.iter().filter(|other| same(answer, other)).count();
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((answer, count));
        }
    }
    best
}

/// The sum of two usages, without costs. A sum with an unknown part is unknown.
pub(super) fn add(left: Usage, right: Usage) -> Usage {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Usage {
        input_tokens: sum(left.input_tokens, right.input_tokens),
        output_tokens: sum(left.output_tokens, right.output_tokens),
        cost: None,
        worked: left.worked.saturating_add(right.worked),
    }
}

/// The texts of all replies, each cut to its share.
fn show(votes: &[SolverVote]) -> String {
    if let [vote] = votes {
        return shorten(vote.text.clone());
    }
    let share = REPLY_BYTES_MAX / votes.len().max(1);
    let shown: Vec<&str> = votes
        .iter()
        .map(|vote| &vote.text[..vote.text.floor_char_boundary(share.saturating_sub(8))])
        .collect();
    shorten(shown.join("\n---\n"))
}

/// The most votes of one call; each vote is a request.
const VOTES_MAX: u32 = 64;

#[cfg(test)]
mod tests;
