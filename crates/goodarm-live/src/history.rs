//! A run's journal, call by call: what every output, report and audit is made from.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use goodarm_core::{ArmId, AttributeId, Cost, Event, Failure, Ticket};

use crate::charter::{Charter, CharterError};
use crate::journal::{self, Header, OpenError, Opened, Reader, Record};

/// A call that came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its number.
    pub ticket: Ticket,
    /// Which candidate.
    pub arm: ArmId,
    /// Which verifier.
    pub attribute: AttributeId,
    /// The place of its asking in the order of all events.
    pub asked: u64,
    /// The place of its answer.
    pub answered: u64,
    /// When the answer was written, in milliseconds since 1970.
    pub unix_millis: u64,
    /// Its score, or why it has none.
    pub outcome: Result<f64, Failure>,
    /// What it cost.
    pub cost: Cost,
    /// How long it took.
    pub latency: Duration,
    /// What was answered.
    pub reply: String,
    /// What went wrong.
    pub reason: String,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A call came back.
    Called(Call),
    /// The budget was raised.
    BudgetRaised {
        /// Its place in the order of all events.
        event: u64,
        /// The new budget.
        budget: Cost,
    },
}

/// Why a history cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// Its first record.
    #[error(transparent)]
    Charter(#[from] CharterError),
    /// The run never began.
    #[error("the journal holds nothing: the run never began")]
    NeverBegun,
    /// An answer without a question.
    #[error("call {} is answered but was never asked", .0.0)]
    NeverAsked(Ticket),
}

/// Goes through a journal.
pub struct History {
    /// The terms of the run.
    pub charter: Charter,
    reader: Reader,
    out: BTreeMap<Ticket, (ArmId, AttributeId, u64)>,
    event_next: u64,
    started_millis: Option<u64>,
    ended_millis: u64,
}

impl History {
    /// Opens a journal; a torn tail is passed over.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let reader = match journal::open(path)? {
            Opened::Begun(reader) => reader,
            Opened::NeverBegun { .. } => return Err(HistoryError::NeverBegun),
        };
        let charter = Charter::read(&reader.header().job)?;
        Ok(Self {
            charter,
            reader,
            out: BTreeMap::new(),
            event_next: 0,
            started_millis: None,
            ended_millis: 0,
        })
    }

    /// The journal's first record.
    pub const fn header(&self) -> &Header {
        self.reader.header()
    }

    /// The next call that came back, or raise of the budget.
    pub fn next_happening(&mut self) -> Result<Option<Happening>, HistoryError> {
        self.next_happening_after(|_| {})
    }

    /// The same; what is asked before it is shown to `asked`.
    pub fn next_happening_after(
        &mut self,
        mut asked: impl FnMut(Event),
    ) -> Result<Option<Happening>, HistoryError> {
        while let Some((position, record)) = self.reader.next_record()? {
            let event = self.event_next;
            self.event_next += 1;
            self.started_millis.get_or_insert(position.unix_millis);
            self.ended_millis = position.unix_millis;
            let (ticket, outcome, cost, latency, reply, reason) = match record {
                Record::Asked { ticket, arm, attribute } => {
                    self.out.insert(ticket, (arm, attribute, event));
                    asked(Event::Asked { ticket, arm, attribute });
                    continue;
                }
                Record::BudgetRaised { budget } => {
                    return Ok(Some(Happening::BudgetRaised { event, budget }));
                }
                Record::Told { ticket, score, cost, latency, reply } => {
                    (ticket, Ok(score), cost, latency, reply.into_owned(), String::new())
                }
                Record::Failed { ticket, failure, cost, latency, reply, reason } => {
                    let (reply, reason) = (reply.into_owned(), reason.into_owned());
                    (ticket, Err(failure), cost, latency, reply, reason)
                }
            };
            let (arm, attribute, asked) =
                self.out.remove(&ticket).ok_or(HistoryError::NeverAsked(ticket))?;
            return Ok(Some(Happening::Called(Call {
                ticket,
                arm,
                attribute,
                asked,
                answered: event,
                unix_millis: position.unix_millis,
                outcome,
                cost,
                latency,
                reply,
                reason,
            })));
        }
        Ok(None)
    }

    /// Calls that have not come back, by the end of what was read.
    pub fn outstanding(&self) -> impl Iterator<Item = (Ticket, ArmId, AttributeId)> + '_ {
        self.out.iter().map(|(&ticket, &(arm, attribute, _))| (ticket, arm, attribute))
    }

    /// When the first and the last event were written, in milliseconds since 1970.
    pub fn span_millis(&self) -> (u64, u64) {
        (self.started_millis.unwrap_or(self.ended_millis), self.ended_millis)
    }
}
