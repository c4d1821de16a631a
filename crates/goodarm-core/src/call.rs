//! One call: what is asked, of which service, and what is reserved for it.

use crate::cost::Cost;
use crate::units::{ArmId, AttributeId, GeneratorId, QuestionId, Share};

/// The number of a call, counted from 0 in the order of dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What a service does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It scores answers: by this attribute, and by all of its [`Problem::members`](crate::Problem::members).
    Verifier(AttributeId),
    /// It makes answers.
    Generator(GeneratorId),
}

/// One call to make now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The number to settle the call with.
    pub ticket: Ticket,
    /// The arm or question, and who scores or answers it.
    pub target: Target,
    /// The money reserved for the call: the most that it may cost.
    pub ceiling: Cost,
    /// 0 for a first try; k if k tries of this call were void.
    pub attempt: u32,
    /// The share that was lent just before the call, and the arm that got it: the arm of the call, or an answer to
    /// its question. `None` if nothing was lent.
    pub loan: Option<(ArmId, Loan)>,
    /// Which branch of the policy chose it.
    pub branch: &'static str,
}

impl Call {
    /// A call that was dispatched earlier, with the fields that are on record.
    pub const fn again(ticket: Ticket, target: Target, ceiling: Cost) -> Self {
        Self { ticket, target, ceiling, attempt: 0, loan: None, branch: "" }
    }

    /// The arm and the attribute of the call; `None` if it is about a question.
    pub const fn pair(&self) -> Option<(ArmId, AttributeId)> {
        self.target.pair()
    }
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// An arm, and the attribute to score it by.
    Arm(ArmId, AttributeId),
    /// A question, and the source to ask.
    Question(QuestionId, Source),
}

impl Target {
    /// The arm and the attribute; `None` for a question.
    pub const fn pair(self) -> Option<(ArmId, AttributeId)> {
        match self {
            Self::Arm(arm, attribute) => Some((arm, attribute)),
            Self::Question(..) => None,
        }
    }

    /// The role of the service that is asked.
    pub(crate) const fn role(self) -> Role {
        match self {
            Self::Arm(_, attribute) | Self::Question(_, Source::Votes(attribute)) => {
                Role::Verifier(attribute)
            }
            Self::Question(_, Source::Generator(generator)) => Role::Generator(generator),
        }
    }
}

/// The source of answers or votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A verifier whose replies are votes on all answers.
    Votes(AttributeId),
    /// A generator, whose answers are to be verified.
    Generator(GeneratorId),
}

/// The share that an arm was lent before a call, and the weights of its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loan {
    /// The part of δ that is lent.
    pub share: Share,
    /// A fingerprint of the weights of the arm's bets. They are computed from earlier calls, so a replay must find
    /// the same fingerprint.
    pub weights: u64,
}
