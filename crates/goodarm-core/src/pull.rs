//! The words that a caller and a session exchange: pulls with tickets out, scores or failures in.

use crate::books::Loan;
use crate::cost::Cost;
use crate::units::{ArmId, AttributeId, GeneratorId, QuestionId};

/// The number of a call, counted from 0 in the order of dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// One verifier call to make now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Give this back with the answer.
    pub ticket: Ticket,
    /// Which answer to check.
    pub arm: ArmId,
    /// With which verifier.
    pub attribute: AttributeId,
    /// What has been reserved for it: it may cost no more.
    pub ceiling: Cost,
    /// 0 for a first try; k if k tries of this call were void.
    pub attempt: u32,
    /// What the arm was lent just before, where shares of δ are lent.
    pub loan: Option<Loan>,
    /// Which rule of the policy chose it, in the policy's own words.
    pub branch: &'static str,
}

/// One call about a question to make now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionPull {
    /// Give this back with the answer.
    pub ticket: Ticket,
    /// Which question to ask.
    pub question: QuestionId,
    /// And whom.
    pub source: Source,
    /// What has been reserved for it: it may cost no more.
    pub ceiling: Cost,
    /// 0 for a first try; k if k tries of this call were void.
    pub attempt: u32,
    /// What an answer of the question was lent just before, where shares of δ are lent.
    pub loan: Option<(ArmId, Loan)>,
    /// Which rule of the policy chose it, in the policy's own words.
    pub branch: &'static str,
}

/// Who answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A verifier whose replies are votes on all answers.
    Votes(AttributeId),
    /// A generator, whose answers are to be verified.
    Generator(GeneratorId),
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// An arm, and the attribute to score it by.
    Arm(ArmId, AttributeId),
    /// A question, and who is to answer it.
    Question(QuestionId, Source),
}

/// A call that was dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatched {
    /// On an arm.
    Arm(Pull),
    /// About a question.
    Question(QuestionPull),
}

impl Target {
    /// The place of who is called: that of an attribute, or behind all attributes that of a generator.
    pub const fn caller(self, attribute_count: usize) -> usize {
        match self {
            Self::Arm(_, attribute) | Self::Question(_, Source::Votes(attribute)) => {
                attribute.index()
            }
            Self::Question(_, Source::Generator(generator)) => attribute_count + generator.index(),
        }
    }
}

impl Dispatched {
    /// A call that was dispatched before, as far as that is known.
    pub const fn again(ticket: Ticket, target: Target, ceiling: Cost) -> Self {
        match target {
            Target::Arm(arm, attribute) => Self::Arm(Pull {
                ticket,
                arm,
                attribute,
                ceiling,
                attempt: 0,
                loan: None,
                branch: "",
            }),
            Target::Question(question, source) => Self::Question(QuestionPull {
                ticket,
                question,
                source,
                ceiling,
                attempt: 0,
                loan: None,
                branch: "",
            }),
        }
    }

    /// Its number.
    pub const fn ticket(self) -> Ticket {
        match self {
            Self::Arm(pull) => pull.ticket,
            Self::Question(pull) => pull.ticket,
        }
    }

    /// What it is about.
    pub const fn target(self) -> Target {
        match self {
            Self::Arm(pull) => Target::Arm(pull.arm, pull.attribute),
            Self::Question(pull) => Target::Question(pull.question, pull.source),
        }
    }

    /// What has been reserved for it.
    pub const fn ceiling(self) -> Cost {
        match self {
            Self::Arm(pull) => pull.ceiling,
            Self::Question(pull) => pull.ceiling,
        }
    }

    /// How many tries of it were void.
    pub const fn attempt(self) -> u32 {
        match self {
            Self::Arm(pull) => pull.attempt,
            Self::Question(pull) => pull.attempt,
        }
    }

    /// The call, if it is on an arm.
    pub const fn on_arm(self) -> Option<Pull> {
        match self {
            Self::Arm(pull) => Some(pull),
            Self::Question(_) => None,
        }
    }

    /// The same call, of which is known who chose it and what was lent before it.
    pub(crate) const fn chosen(self, branch: &'static str, loan: Option<(ArmId, Loan)>) -> Self {
        match self {
            Self::Arm(pull) => {
                let loan = match loan {
                    Some((_, loan)) => Some(loan),
                    None => None,
                };
                Self::Arm(Pull { branch, loan, ..pull })
            }
            Self::Question(pull) => Self::Question(QuestionPull { branch, loan, ..pull }),
        }
    }
}

/// Why a call has no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The verifier never began to work, so the failure cannot depend on the answer. The call must
    /// be tried again; it leaves no trace in its stream, of which the retry is the last call.
    Void(VoidFailure),
    /// No number can stand for the call, so nothing after it in its pair's stream can count. What
    /// the pair has proved before stands; nothing is held against the arm.
    Blocking(BlockingFailure),
    /// Anything else. The call counts as the lowest score its model allows.
    Counted(CountedFailure),
}

/// The only failures that cannot depend on the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoidFailure {
    /// No connection was made.
    NotConnected,
    /// The server refused before any work, as with HTTP status 429.
    RateLimited,
    /// Lost on its way back from a verifier that always says the same, so it can be made again. It
    /// may have been made, and is paid. From any other verifier it counts as the lowest score.
    LostRepeatable,
}

/// Failures that end a pair's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockingFailure {
    /// A score below the lowest that the attribute declares. To count it as that would clip it up.
    BelowLowest,
    /// The verifier has nothing more to say about the answer, such as a recording at its end.
    Exhausted,
}

/// Failures that may depend on the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountedFailure {
    /// No answer in time.
    TimedOut,
    /// The verifier broke after it began to work.
    Crashed,
    /// An answer that holds no score.
    Unreadable,
    /// An answer that was cut off.
    Truncated,
    /// The verifier declined to answer.
    Refused,
    /// The call was in flight when the process died.
    Lost,
    /// Retries were given up.
    GivenUp,
}
