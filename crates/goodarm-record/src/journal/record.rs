//! Records as bytes: one tag, then variable-length integers and texts with their length.

use std::borrow::Cow;
use std::time::Duration;

use goodarm_core::problem::ATTRIBUTES_MAX;
use goodarm_core::{
    ArmId, AttributeId, Bill, Cost, Event, Failure, GeneratorId, Label, Loan, Outcome, QuestionId,
    Share, Source, Target, Ticket,
};

use super::format::{FORMAT_VERSION, MalformedRecord};
use super::varint::{Input, put_large, put_number, put_score, put_score_or_none, put_text};
use crate::reply::{Delivery, ServiceWarning};

/// The first record of a journal: the run that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of goodarm that began the run, for people.
    pub version: String,
    /// The version of the decision rules; see [`goodarm_core::DECISIONS`].
    pub decisions: u32,
    /// The terms of the run, as JSON.
    pub terms: String,
    /// The fingerprint of the candidates.
    pub candidates: [u8; 32],
    /// Arms at the start; more may be added.
    pub arm_count: u64,
    /// Attributes; fixed for the run.
    pub attribute_count: u64,
}

/// Something that happened in a run, with a note for people. Only the event decides anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    /// What happened.
    pub event: Event,
    /// Details of the event; empty for most.
    pub note: Note<'a>,
}

/// Details of an event: for people, about a call that came back; or the fingerprint after arms were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note<'a> {
    /// How long the call took.
    pub latency: Duration,
    /// How the reply came.
    pub delivery: Delivery,
    /// The text of the reply, possibly cut; a new answer is kept whole.
    pub reply: Cow<'a, str>,
    /// The final answer that a call about a question gave; its hash if it is long.
    pub answer: Cow<'a, str>,
    /// Why there is no score, or why some scores are missing, in words.
    pub reason: Cow<'a, str>,
    /// A warning about the verifier, raised by this call.
    pub warning: Option<ServiceWarning>,
    /// If arms were added: the fingerprint of all candidates, including the new ones.
    pub candidates: [u8; 32],
}

impl Note<'_> {
    /// A copy that borrows the texts.
    pub fn borrowed(&self) -> Note<'_> {
        Note {
            latency: self.latency,
            delivery: self.delivery,
            reply: Cow::Borrowed(&self.reply),
            answer: Cow::Borrowed(&self.answer),
            reason: Cow::Borrowed(&self.reason),
            warning: self.warning.clone(),
            candidates: self.candidates,
        }
    }

    /// The note with owned texts.
    pub fn into_owned(self) -> Note<'static> {
        Note {
            latency: self.latency,
            delivery: self.delivery,
            reply: Cow::Owned(self.reply.into_owned()),
            answer: Cow::Owned(self.answer.into_owned()),
            reason: Cow::Owned(self.reason.into_owned()),
            warning: self.warning,
            candidates: self.candidates,
        }
    }
}

impl From<Event> for Record<'_> {
    fn from(event: Event) -> Self {
        Self { event, note: Note::default() }
    }
}

// No tag is 0, which is what a lost sector reads as.
const TAG_HEADER: u8 = 1;
const TAG_ASKED: u8 = 2;
const TAG_TOLD: u8 = 3;
const TAG_FAILED: u8 = 4;
const TAG_BUDGET_RAISED: u8 = 5;
const TAG_LENT_AND_ASKED: u8 = 6;
const TAG_RELEASED: u8 = 7;
const TAG_ARMS_ADDED: u8 = 8;
/// Comes before the record of the call that it belongs to.
const TAG_WARNING: u8 = 9;
const TAG_TOLD_ALL: u8 = 10;
const TAG_QUESTION_ASKED: u8 = 11;
const TAG_LENT_AND_QUESTION_ASKED: u8 = 12;
const TAG_ANSWERED: u8 = 13;
const DETAIL_UNCERTAIN: u8 = 1;
const DETAIL_STATUS: u8 = 2;
const DETAIL_ADDRESS: u8 = 4;
const DETAIL_THROTTLED: u8 = 8;
/// Higher bits are for fields of later versions.
const DETAIL_END: u8 = 16;
const SOURCE_VOTES: u8 = 1;
const SOURCE_GENERATOR: u8 = 2;
/// The last byte of a payload. It is not zero, so a payload that ends in zeros is not what was written.
pub(super) const TAG_END: u8 = 0xE5;

impl Header {
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(TAG_HEADER);
        put_number(bytes, FORMAT_VERSION);
        put_text(bytes, &self.version);
        put_number(bytes, self.decisions.into());
        put_text(bytes, &self.terms);
        bytes.extend_from_slice(&self.candidates);
        put_number(bytes, self.arm_count);
        put_number(bytes, self.attribute_count);
    }

    /// The format version of the journal: the first number of its header.
    pub(super) fn format(input: &mut Input<'_>) -> Result<u64, MalformedRecord> {
        if input.byte()? == TAG_HEADER { input.number() } else { Err(MalformedRecord::NoHeader) }
    }

    /// The rest of the header.
    pub(super) fn decode(input: &mut Input<'_>) -> Result<Self, MalformedRecord> {
        Ok(Self {
            version: input.text()?.to_owned(),
            decisions: input.small_number()?,
            terms: input.text()?.to_owned(),
            candidates: input.array()?,
            arm_count: input.number()?,
            attribute_count: input.number()?,
        })
    }
}

impl Record<'_> {
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        if let Some(ServiceWarning { weakens_promise, text }) = &self.note.warning {
            bytes.extend_from_slice(&[TAG_WARNING, u8::from(*weakens_promise)]);
            put_text(bytes, text);
        }
        match &self.event {
            Event::Asked { ticket, target, loan } => put_asked(bytes, *ticket, *target, *loan),
            Event::Settled { ticket, outcome, bill } => {
                self.encode_settled(bytes, *ticket, outcome, *bill);
            }
            Event::BudgetRaised { budget } => {
                bytes.push(TAG_BUDGET_RAISED);
                put_large(bytes, budget.picos());
            }
            Event::Released { arm } => {
                bytes.push(TAG_RELEASED);
                put_number(bytes, arm.0.into());
            }
            Event::ArmsAdded { count } => {
                bytes.push(TAG_ARMS_ADDED);
                put_number(bytes, (*count).into());
                bytes.extend_from_slice(&self.note.candidates);
            }
        }
    }

    fn encode_settled(&self, bytes: &mut Vec<u8>, ticket: Ticket, outcome: &Outcome, bill: Bill) {
        let Note { latency, delivery, reply, answer, reason, .. } = &self.note;
        bytes.push(match outcome {
            Outcome::Score(_) => TAG_TOLD,
            Outcome::Scores(_) => TAG_TOLD_ALL,
            Outcome::Answer(_) => TAG_ANSWERED,
            Outcome::Failed(_) => TAG_FAILED,
        });
        put_number(bytes, ticket.0);
        match outcome {
            Outcome::Score(score) => put_score(bytes, *score),
            Outcome::Scores(scores) => {
                put_number(bytes, scores.len() as u64);
                scores.iter().for_each(|score| put_score_or_none(bytes, *score));
            }
            // The number of the final answer plus 1; 0 if it could not be read.
            Outcome::Answer(label) => {
                put_number(bytes, label.map_or(0, |label| u64::from(label.0) + 1));
            }
            Outcome::Failed(failure) => bytes.push(failure.code()),
        }
        put_large(bytes, bill.settled().picos());
        put_large(bytes, latency.as_nanos());
        put_details(bytes, bill.uncertain(), delivery);
        put_text(bytes, reply);
        match outcome {
            Outcome::Score(_) => {}
            Outcome::Answer(_) => put_text(bytes, answer),
            Outcome::Scores(_) | Outcome::Failed(_) => put_text(bytes, reason),
        }
    }
}

/// What most calls do not have: a byte with a bit for each field, then the fields.
fn put_details(bytes: &mut Vec<u8>, uncertain: Cost, delivery: &Delivery) {
    let Delivery { status, address, throttled_count } = delivery;
    let is_there = |is_there: bool, bit: u8| if is_there { bit } else { 0 };
    bytes.push(
        is_there(uncertain > Cost::ZERO, DETAIL_UNCERTAIN)
            | is_there(status.is_some(), DETAIL_STATUS)
            | is_there(address.is_some(), DETAIL_ADDRESS)
            | is_there(*throttled_count > 0, DETAIL_THROTTLED),
    );
    if uncertain > Cost::ZERO {
        put_large(bytes, uncertain.picos());
    }
    status.iter().chain(address).for_each(|number| put_number(bytes, (*number).into()));
    if *throttled_count > 0 {
        put_number(bytes, (*throttled_count).into());
    }
}

/// The uncertain part of a bill, and how the reply came.
#[inline]
fn details(input: &mut Input<'_>) -> Result<(Cost, Delivery), MalformedRecord> {
    let fields = input.byte()?;
    if fields == 0 {
        return Ok((Cost::ZERO, Delivery::default()));
    }
    if fields >= DETAIL_END {
        return Err(MalformedRecord::Details(fields));
    }
    let has = |bit: u8| fields & bit != 0;
    let uncertain = if has(DETAIL_UNCERTAIN) { input.large()? } else { 0 };
    let mut short = |bit: u8| {
        let number = if has(bit) { Some(input.number()?) } else { None };
        number.map(u16::try_from).transpose().map_err(|_| MalformedRecord::Number)
    };
    let (status, address) = (short(DETAIL_STATUS)?, short(DETAIL_ADDRESS)?);
    let throttled_count = if has(DETAIL_THROTTLED) { input.small_number()? } else { 0 };
    Ok((Cost::from_picos(uncertain), Delivery { status, address, throttled_count }))
}

fn put_asked(bytes: &mut Vec<u8>, ticket: Ticket, target: Target, loan: Option<(ArmId, Loan)>) {
    bytes.push(match (target, loan) {
        (Target::Arm(..), None) => TAG_ASKED,
        (Target::Arm(..), Some(_)) => TAG_LENT_AND_ASKED,
        (Target::Question(..), None) => TAG_QUESTION_ASKED,
        (Target::Question(..), Some(_)) => TAG_LENT_AND_QUESTION_ASKED,
    });
    put_number(bytes, ticket.0);
    match target {
        Target::Arm(arm, attribute) => {
            put_number(bytes, arm.0.into());
            put_number(bytes, attribute.0.into());
        }
        Target::Question(question, source) => {
            put_number(bytes, question.0.into());
            let (kind, place) = match source {
                Source::Votes(attribute) => (SOURCE_VOTES, attribute.0),
                Source::Generator(generator) => (SOURCE_GENERATOR, generator.0),
            };
            bytes.push(kind);
            put_number(bytes, place.into());
        }
    }
    let Some((arm, Loan { share, weights })) = loan else { return };
    // With a call about an arm, the loan is to that arm, which is already written.
    if matches!(target, Target::Question(..)) {
        put_number(bytes, arm.0.into());
    }
    put_number(bytes, share.parts());
    bytes.extend_from_slice(&weights.to_le_bytes());
}

fn asked(tag: u8, input: &mut Input<'_>) -> Result<Event, MalformedRecord> {
    let ticket = Ticket(input.number()?);
    let first = input.small_number()?;
    if matches!(tag, TAG_ASKED | TAG_LENT_AND_ASKED) {
        let (arm, attribute) = (ArmId(first), AttributeId(input.small_number()?));
        let loan = if tag == TAG_ASKED { None } else { Some((arm, loan(input)?)) };
        return Ok(Event::Asked { ticket, target: Target::Arm(arm, attribute), loan });
    }
    let kind = input.byte()?;
    let place = input.small_number()?;
    let source = match kind {
        SOURCE_VOTES => Source::Votes(AttributeId(place)),
        SOURCE_GENERATOR => Source::Generator(GeneratorId(place)),
        kind => return Err(MalformedRecord::Source(kind)),
    };
    let loan = if tag == TAG_QUESTION_ASKED {
        None
    } else {
        Some((ArmId(input.small_number()?), loan(input)?))
    };
    Ok(Event::Asked { ticket, target: Target::Question(QuestionId(first), source), loan })
}

#[inline]
fn settled<'a>(
    tag: u8,
    input: &mut Input<'a>,
    note: &mut Note<'a>,
) -> Result<Event, MalformedRecord> {
    let ticket = Ticket(input.number()?);
    let outcome = match tag {
        TAG_TOLD => Outcome::Score(input.score()?),
        TAG_TOLD_ALL => {
            let count = input.number()?;
            // No call has more scores. A damaged count must not allocate memory.
            if count > ATTRIBUTES_MAX as u64 {
                return Err(MalformedRecord::Number);
            }
            let mut scores = Vec::new();
            for _ in 0..count {
                scores.push(input.score_or_none()?);
            }
            Outcome::Scores(scores.into())
        }
        TAG_ANSWERED => Outcome::Answer(input.small_number()?.checked_sub(1).map(Label)),
        _ => {
            let code = input.byte()?;
            Outcome::Failed(Failure::from_code(code).ok_or(MalformedRecord::Failure(code))?)
        }
    };
    let cost = Cost::from_picos(input.large()?);
    note.latency = input.duration()?;
    let (uncertain, delivery) = details(input)?;
    note.delivery = delivery;
    let bill = Bill::unknown(cost, cost.saturating_add(uncertain));
    note.reply = Cow::Borrowed(input.text()?);
    match outcome {
        Outcome::Score(_) => {}
        Outcome::Answer(_) => note.answer = Cow::Borrowed(input.text()?),
        Outcome::Scores(_) | Outcome::Failed(_) => note.reason = Cow::Borrowed(input.text()?),
    }
    Ok(Event::Settled { ticket, outcome, bill })
}

impl<'a> Record<'a> {
    #[inline]
    pub(super) fn decode(input: &mut Input<'a>) -> Result<Self, MalformedRecord> {
        let mut note = Note::default();
        let mut tag = input.byte()?;
        if tag == TAG_WARNING {
            let weakens_promise = input.byte()? != 0;
            note.warning = Some(ServiceWarning { weakens_promise, text: input.text()?.to_owned() });
            tag = input.byte()?;
        }
        let event = match tag {
            TAG_ASKED | TAG_LENT_AND_ASKED | TAG_QUESTION_ASKED | TAG_LENT_AND_QUESTION_ASKED => {
                asked(tag, input)?
            }
            TAG_TOLD | TAG_TOLD_ALL | TAG_ANSWERED | TAG_FAILED => settled(tag, input, &mut note)?,
            TAG_BUDGET_RAISED => Event::BudgetRaised { budget: Cost::from_picos(input.large()?) },
            TAG_RELEASED => Event::Released { arm: ArmId(input.small_number()?) },
            TAG_ARMS_ADDED => {
                let count = input.small_number()?;
                note.candidates = input.array()?;
                Event::ArmsAdded { count }
            }
            TAG_HEADER => return Err(MalformedRecord::SecondHeader),
            tag => return Err(MalformedRecord::Tag(tag)),
        };
        Ok(Self { event, note })
    }

    /// Refuses arms and attributes that do not exist yet: readers use them as indices.
    #[inline]
    pub(super) fn check(
        &self,
        header: &Header,
        arms_added: &mut u64,
    ) -> Result<(), MalformedRecord> {
        let arm_count = header.arm_count.saturating_add(*arms_added);
        let known = |arm: ArmId| {
            if u64::from(arm.0) < arm_count { Ok(()) } else { Err(MalformedRecord::Arm(arm.0)) }
        };
        match &self.event {
            Event::Asked { target, loan, .. } => {
                if let Some((arm, _)) = loan {
                    known(*arm)?;
                }
                let attribute = match *target {
                    Target::Arm(arm, attribute) => {
                        known(arm)?;
                        attribute
                    }
                    Target::Question(_, Source::Votes(attribute)) => attribute,
                    Target::Question(_, Source::Generator(_)) => return Ok(()),
                };
                if u64::from(attribute.0) >= header.attribute_count {
                    return Err(MalformedRecord::Attribute(attribute.0));
                }
            }
            Event::Released { arm } => known(*arm)?,
            Event::ArmsAdded { count } => {
                *arms_added = arms_added.saturating_add((*count).into());
            }
            // An answer may add an arm. Only the books know, so this count is an upper bound.
            Event::Settled { outcome: Outcome::Answer(_), .. } => {
                *arms_added = arms_added.saturating_add(1);
            }
            Event::Settled { .. } | Event::BudgetRaised { .. } => {}
        }
        Ok(())
    }
}

fn loan(input: &mut Input<'_>) -> Result<Loan, MalformedRecord> {
    let share = Share::from_parts(input.number()?).ok_or(MalformedRecord::Number)?;
    Ok(Loan { share, weights: u64::from_le_bytes(input.array()?) })
}
