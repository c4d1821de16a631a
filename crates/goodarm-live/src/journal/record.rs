//! Records as bytes: one tag, then variable-length integers and texts with their length.

use std::borrow::Cow;
use std::time::Duration;

use goodarm_core::{
    ArmId, AttributeId, Cost, CountedFailure as Counted, Failure, Ticket, VoidFailure as Void,
};
use thiserror::Error;

use super::format::FORMAT_VERSION;
use super::varint::{Input, put_large, put_number, put_score, put_text};

/// What a journal is about; its first record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of goodarm that began the run.
    pub version: String,
    /// The text of the job file.
    pub job: String,
    /// The fingerprint of the candidates.
    pub candidates: [u8; 32],
    /// How many arms there are.
    pub arm_count: u64,
    /// How many attributes there are.
    pub attribute_count: u64,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// A call is about to be made.
    Asked {
        /// Its number.
        ticket: Ticket,
        /// Which answer.
        arm: ArmId,
        /// Which verifier.
        attribute: AttributeId,
    },
    /// A call gave a score.
    Told {
        /// Which call.
        ticket: Ticket,
        /// Its score.
        score: f64,
        /// Its bill.
        cost: Cost,
        /// How long it took.
        latency: Duration,
        /// What the verifier said, as far as it is kept.
        reply: Cow<'a, str>,
    },
    /// A call gave no score.
    Failed {
        /// Which call.
        ticket: Ticket,
        /// In which way.
        failure: Failure,
        /// Its bill.
        cost: Cost,
        /// How long it took.
        latency: Duration,
        /// What the verifier said, as far as it is kept.
        reply: Cow<'a, str>,
        /// Why, in words.
        reason: Cow<'a, str>,
    },
    /// There is more money.
    BudgetRaised {
        /// The new budget.
        budget: Cost,
    },
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The frame ends inside the record.
    #[error("it ends inside a record")]
    Short,
    /// No record begins with this byte.
    #[error("no record has tag {0}")]
    Tag(u8),
    /// A number exceeds what its field can hold.
    #[error("a number is too large")]
    Number,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// No way of writing a score begins with this byte.
    #[error("no score has code {0}")]
    Score(u8),
    /// No failure has this number.
    #[error("no failure has code {0}")]
    Failure(u8),
    /// The frame does not end with the mark that ends frames.
    #[error("no end mark")]
    NoEnd,
    /// A header that does not begin the journal.
    #[error("a second header")]
    SecondHeader,
    /// The journal does not begin with a header.
    #[error("no header")]
    NoHeader,
    /// The journal's header promised fewer arms.
    #[error("there is no arm {0}")]
    Arm(u32),
    /// The journal's header promised fewer attributes.
    #[error("there is no attribute {0}")]
    Attribute(u32),
}

/// Why a journal's first record cannot be read.
pub(super) enum HeaderError {
    Malformed(Malformed),
    /// Written by a later goodarm.
    Format(u64),
}

impl From<Malformed> for HeaderError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

// No tag is 0, which is what a lost sector reads as.
const TAG_HEADER: u8 = 1;
const TAG_ASKED: u8 = 2;
const TAG_TOLD: u8 = 3;
const TAG_FAILED: u8 = 4;
const TAG_BUDGET_RAISED: u8 = 5;
/// The last byte of a payload. As it is not zero, a tail of zeros is never what was written.
pub(super) const TAG_END: u8 = 0xE5;

impl Header {
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(TAG_HEADER);
        put_number(bytes, FORMAT_VERSION);
        put_text(bytes, &self.version);
        put_text(bytes, &self.job);
        bytes.extend_from_slice(&self.candidates);
        put_number(bytes, self.arm_count);
        put_number(bytes, self.attribute_count);
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Result<Self, HeaderError> {
        if input.byte()? != TAG_HEADER {
            return Err(Malformed::NoHeader.into());
        }
        // First of all, because what follows may be written otherwise in another format.
        let format = input.number()?;
        if format != FORMAT_VERSION {
            return Err(HeaderError::Format(format));
        }
        Ok(Self {
            version: input.text()?.to_owned(),
            job: input.text()?.to_owned(),
            candidates: input.array()?,
            arm_count: input.number()?,
            attribute_count: input.number()?,
        })
    }
}

impl Record<'_> {
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Asked { ticket, arm, attribute } => {
                bytes.push(TAG_ASKED);
                put_number(bytes, ticket.0);
                put_number(bytes, arm.0.into());
                put_number(bytes, attribute.0.into());
            }
            Self::Told { ticket, score, cost, latency, reply } => {
                bytes.push(TAG_TOLD);
                put_number(bytes, ticket.0);
                put_score(bytes, *score);
                put_large(bytes, cost.picos());
                put_large(bytes, latency.as_nanos());
                put_text(bytes, reply);
            }
            Self::Failed { ticket, failure, cost, latency, reply, reason } => {
                bytes.push(TAG_FAILED);
                put_number(bytes, ticket.0);
                bytes.push(failure_code(*failure));
                put_large(bytes, cost.picos());
                put_large(bytes, latency.as_nanos());
                put_text(bytes, reply);
                put_text(bytes, reason);
            }
            Self::BudgetRaised { budget } => {
                bytes.push(TAG_BUDGET_RAISED);
                put_large(bytes, budget.picos());
            }
        }
    }
}

impl<'a> Record<'a> {
    #[inline]
    pub(super) fn decode(input: &mut Input<'a>) -> Result<Self, Malformed> {
        Ok(match input.byte()? {
            TAG_ASKED => Self::Asked {
                ticket: Ticket(input.number()?),
                arm: ArmId(input.small_number()?),
                attribute: AttributeId(input.small_number()?),
            },
            TAG_TOLD => Self::Told {
                ticket: Ticket(input.number()?),
                score: input.score()?,
                cost: Cost::from_picos(input.large()?),
                latency: input.duration()?,
                reply: Cow::Borrowed(input.text()?),
            },
            TAG_FAILED => Self::Failed {
                ticket: Ticket(input.number()?),
                failure: failure_of(input.byte()?)?,
                cost: Cost::from_picos(input.large()?),
                latency: input.duration()?,
                reply: Cow::Borrowed(input.text()?),
                reason: Cow::Borrowed(input.text()?),
            },
            TAG_BUDGET_RAISED => Self::BudgetRaised { budget: Cost::from_picos(input.large()?) },
            TAG_HEADER => return Err(Malformed::SecondHeader),
            tag => return Err(Malformed::Tag(tag)),
        })
    }

    /// Refuses pairs that the journal's header does not know: readers use them as indices.
    #[inline]
    pub(super) fn check(&self, header: &Header) -> Result<(), Malformed> {
        let Self::Asked { arm, attribute, .. } = self else {
            return Ok(());
        };
        if u64::from(arm.0) >= header.arm_count {
            return Err(Malformed::Arm(arm.0));
        }
        if u64::from(attribute.0) >= header.attribute_count {
            return Err(Malformed::Attribute(attribute.0));
        }
        Ok(())
    }
}

// These numbers are in files: new failures get new numbers, and none is used again.

fn failure_code(failure: Failure) -> u8 {
    match failure {
        Failure::Void(Void::NotConnected) => 1,
        Failure::Void(Void::RateLimited) => 2,
        Failure::Void(Void::LostRepeatable) => 3,
        Failure::Counted(Counted::TimedOut) => 65,
        Failure::Counted(Counted::Crashed) => 66,
        Failure::Counted(Counted::Unreadable) => 67,
        Failure::Counted(Counted::Truncated) => 68,
        Failure::Counted(Counted::Refused) => 69,
        Failure::Counted(Counted::Lost) => 70,
        Failure::Counted(Counted::GivenUp) => 71,
    }
}

fn failure_of(code: u8) -> Result<Failure, Malformed> {
    Ok(match code {
        1 => Failure::Void(Void::NotConnected),
        2 => Failure::Void(Void::RateLimited),
        3 => Failure::Void(Void::LostRepeatable),
        65 => Failure::Counted(Counted::TimedOut),
        66 => Failure::Counted(Counted::Crashed),
        67 => Failure::Counted(Counted::Unreadable),
        68 => Failure::Counted(Counted::Truncated),
        69 => Failure::Counted(Counted::Refused),
        70 => Failure::Counted(Counted::Lost),
        71 => Failure::Counted(Counted::GivenUp),
        _ => return Err(Malformed::Failure(code)),
    })
}
