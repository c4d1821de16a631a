//! Calls and outcomes, as most tests write them.

use goodarm_core::{
    ArmId, AttributeId, Books, Call, Cost, Event, Failure, Label, Outcome, Session, SettleError,
    Settlement, Ticket,
};

/// A score, scores, an answer or a failure through the one door that there is.
pub(crate) trait Doors {
    fn take(
        &mut self,
        ticket: Ticket,
        outcome: &Outcome,
        cost: Cost,
    ) -> Result<Settlement, SettleError>;

    fn tell(&mut self, ticket: Ticket, score: f64, cost: Cost) -> Result<(), SettleError> {
        self.take(ticket, &Outcome::Score(score), cost).map(drop)
    }

    fn tell_all(
        &mut self,
        ticket: Ticket,
        scores: &[Option<f64>],
        cost: Cost,
    ) -> Result<(), SettleError> {
        self.take(ticket, &Outcome::Scores(scores.into()), cost).map(drop)
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        label: Option<Label>,
        cost: Cost,
    ) -> Result<Option<ArmId>, SettleError> {
        self.take(ticket, &Outcome::Answer(label), cost).map(|settled| settled.born)
    }

    fn fail(&mut self, ticket: Ticket, failure: Failure, cost: Cost) -> Result<(), SettleError> {
        self.take(ticket, &Outcome::Failed(failure), cost).map(drop)
    }
}

impl Doors for Session {
    fn take(
        &mut self,
        ticket: Ticket,
        outcome: &Outcome,
        cost: Cost,
    ) -> Result<Settlement, SettleError> {
        self.settle(ticket, outcome, cost)
    }
}

impl Doors for Books {
    fn take(
        &mut self,
        ticket: Ticket,
        outcome: &Outcome,
        cost: Cost,
    ) -> Result<Settlement, SettleError> {
        self.settle(ticket, outcome, cost)
    }
}

/// A call that is on an arm, as all are where there are no questions.
pub(crate) trait OnArm {
    fn arm(&self) -> ArmId;
    fn attribute(&self) -> AttributeId;
}

impl OnArm for Call {
    fn arm(&self) -> ArmId {
        self.pair().expect("a call on an arm").0
    }

    fn attribute(&self) -> AttributeId {
        self.pair().expect("a call on an arm").1
    }
}

/// A call came back with a score.
pub(crate) fn told(ticket: Ticket, score: f64, cost: Cost) -> Event {
    Event::Settled { ticket, outcome: Outcome::Score(score), bill: cost.into() }
}

/// A call failed.
pub(crate) fn failed(ticket: Ticket, failure: Failure, cost: Cost) -> Event {
    Event::Settled { ticket, outcome: Outcome::Failed(failure), bill: cost.into() }
}
