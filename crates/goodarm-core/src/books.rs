//! The books: every call dispatched, every score and bill that came back, what they prove and the money
//! that is left. They are independent of policies: they are right however calls are chosen.
//!
//! Calls enter by [`Books::dispatch`], outcomes and bills by [`Books::settle`]. Each part of the state
//! has a type of its own: money in `funds`, the order of calls in `streams`, tallies and evidence in
//! `pairs`, priors in `learning`, certificates and loans in `arms`, votes and fresh answers in
//! `questions`.
//!
//! `docs/notation.md` defines the words used here: evidence, level, share (the part of δ that is lent to an
//! arm), look (a call about an arm without a share, which proves nothing).

mod arms;
mod dispatch;
mod funds;
mod learning;
mod lending;
mod outstanding;
mod pairs;
mod proof;
mod question_calls;
mod questions;
mod settle;
mod streams;

use alloc::vec;
use alloc::vec::Vec;

pub use crate::books::arms::ArmStatus;
use crate::books::arms::Arms;
pub use crate::books::dispatch::DispatchError;
use crate::books::funds::Funds;
pub use crate::books::funds::Lane;
use crate::books::learning::Learning;
pub use crate::books::learning::ScoreTotals;
pub use crate::books::lending::{AddArmsError, LendError};
use crate::books::pairs::Pairs;
pub use crate::books::questions::QuestionState;
pub use crate::books::settle::{SettleError, Settlement};
use crate::books::streams::Streams;
use crate::call::{Source, Target, Ticket};
use crate::ledger::Ledger;
use crate::prior::{Belief, Prior};
use crate::problem::Problem;
use crate::problem::design::Questions;
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId, QuestionId, ServiceId};

/// A state change, for policies that cache state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A call that scores this pair was dispatched.
    Dispatched(ArmId, AttributeId),
    /// A score came back; the arm's tallies, evidence and status may have changed.
    Observed(ArmId, AttributeId),
    /// The arm gets no more calls: it is certified, or can never be.
    Retired(ArmId),
    /// The priors of all attributes were learned again.
    PriorsRefreshed,
    /// Some attribute has become affordable, or is no longer.
    AffordableChanged,
    /// The arm was lent a share of δ: its evidence begins.
    Lent(ArmId),
    /// The arm's share was revoked: its evidence is lost.
    Released(ArmId),
    /// A question was asked, got an answer, or has a certificate.
    Question(QuestionId),
    /// An arm was added at the end. [`Policy::on_birth`](crate::Policy::on_birth) is called instead of
    /// `on_change`.
    Added(ArmId),
}

/// Tallies, evidence, certificates and money of one problem. See the module page.
#[derive(Clone, Debug)]
pub struct Books {
    problem: Problem,
    pub(crate) funds: Funds,
    pub(crate) pairs: Pairs,
    pub(crate) learning: Learning,
    pub(crate) arms: Arms,
    questions: Vec<QuestionState>,
    pub(crate) streams: Streams,
    /// The changes made by the last operation, for the policy.
    pub(crate) changes: Vec<Change>,
}

impl Books {
    /// Opens the books of a problem: nothing asked, nothing spent.
    pub fn new(problem: Problem) -> Self {
        let states = |it: &Questions| vec![QuestionState::start(&problem, it); it.count()];
        Self {
            funds: Funds::new(&problem),
            pairs: Pairs::new(&problem),
            learning: Learning::new(&problem),
            arms: Arms::new(&problem),
            questions: problem.questions().map_or_else(Vec::new, states),
            streams: Streams::default(),
            changes: Vec::new(),
            problem,
        }
    }

    /// The problem of these books.
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Budget, spent and reserved money.
    pub const fn ledger(&self) -> &Ledger {
        &self.funds.ledger
    }

    /// Money and calls in flight of a service.
    #[inline]
    pub fn lane(&self, service: ServiceId) -> &Lane {
        self.funds.lane(service)
    }

    /// The lane of the service whose calls score an attribute.
    #[inline]
    pub fn lane_of(&self, attribute: AttributeId) -> &Lane {
        self.funds.lane(self.problem.service_of(attribute))
    }

    /// Whether one more call of the attribute fits the budget; M_t in the paper.
    pub fn is_affordable(&self, attribute: AttributeId) -> bool {
        self.lane_of(attribute).is_affordable
    }

    /// The certified arms, in the order in which they were certified; S in the paper.
    pub fn certified(&self) -> &[ArmId] {
        &self.arms.certified
    }

    /// The status of an arm. A score below the threshold of an exact verifier rejects the arm, even if all other
    /// evidence is enough. A blocked pair does not reject the arm. Nor does an exact verifier that failed to score
    /// it, but the arm then takes no more calls.
    pub fn status(&self, arm: ArmId) -> ArmStatus {
        self.arms.status(arm)
    }

    /// The number of arms with a status, in a time that grows with the number of arms.
    pub fn status_count(&self, status: ArmStatus) -> usize {
        self.problem.arms().filter(|&arm| self.status(arm) == status).count()
    }

    /// Whether the arm still takes pulls; Q_t in the paper.
    pub fn is_active(&self, arm: ArmId) -> bool {
        self.arms.is_active(arm)
    }

    /// The number of arms that still take pulls.
    pub const fn active_count(&self) -> usize {
        self.arms.active_count()
    }

    /// The source of an answer that was made or proposed during the run; `None` for an answer that was given.
    pub fn origin(&self, arm: ArmId) -> Option<Source> {
        self.arms.origin(arm)
    }

    /// The scores and calls of a pair.
    pub fn tally(&self, arm: ArmId, attribute: AttributeId) -> &Tally {
        &self.pairs.get(arm, attribute).tally
    }

    /// The evidence of a pair; the pair is resolved when it reaches [`Self::level`].
    ///
    /// It is L for the paper's certificate, and ln E otherwise: its running maximum, or for false discovery
    /// its present value. ±∞ for an exact attribute.
    ///
    /// It may be slightly low while far below the level, since it is not computed after every score.
    pub fn evidence(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.pairs.evidence(arm, attribute)
    }

    /// The number of scores that a pair's evidence has absorbed. A score is absorbed when all earlier calls of its
    /// stream are back.
    pub fn evidence_count(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        self.pairs.get(arm, attribute).evidence.count
    }

    /// The level that a pair's evidence must reach: ξ for the paper's certificate, and otherwise ln(1/α), where
    /// α is the arm's part of δ. For a certified arm, the level when it was certified. Infinite where shares
    /// are lent and the arm has none.
    #[inline]
    pub fn level(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.arms.level(arm) + self.pairs.base(attribute)
    }

    /// Whether a pair's evidence is enough; the complement of U_q in the paper.
    #[inline]
    pub fn is_resolved(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.pairs.get(arm, attribute).evidence.value >= self.level(arm, attribute)
    }

    /// Whether the pair still takes calls, affordable or not.
    pub fn is_open(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.is_active(arm) && !self.pairs.get(arm, attribute).evidence.closed
    }

    /// Whether a failed call has ended the pair's stream.
    pub fn is_blocked(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.pairs.get(arm, attribute).evidence.closed
            && !self.problem.attribute(attribute).is_exact()
    }

    /// The number of calls that came back with scores or an answer, counted failures of verifiers included; t in
    /// the paper.
    pub const fn observation_count(&self) -> u64 {
        self.learning.observation_count
    }

    /// The prior of an attribute, learned over all arms.
    pub fn prior(&self, attribute: AttributeId) -> &Prior {
        self.learning.prior(attribute)
    }

    /// The scores of an attribute over all arms.
    pub fn totals(&self, attribute: AttributeId) -> &ScoreTotals {
        self.learning.totals(attribute)
    }

    pub(crate) fn belief(&self, arm: ArmId, attribute: AttributeId) -> Belief {
        let tally = self.arms.without_proposing_vote(arm, attribute, self.tally(arm, attribute));
        let sample = self.pairs.sample(arm, attribute, &tally);
        self.prior(attribute).given(self.problem.attribute(attribute), sample)
    }

    /// Calls in flight.
    pub fn in_flight_count(&self) -> usize {
        self.streams.in_flight.len()
    }

    /// Tickets of calls in flight, the oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.streams.in_flight.tickets()
    }

    /// The arms that calls in flight score, the oldest call first.
    pub(crate) fn outstanding_arms(&self) -> impl Iterator<Item = ArmId> + '_ {
        self.streams.in_flight.calls().flat_map(|call| match call.position.target {
            Target::Arm(arm, _) => vec![arm],
            Target::Question(question, Source::Votes(_)) => self.active_answers(question),
            Target::Question(_, Source::Generator(_)) => Vec::new(),
        })
    }

    /// Whether a call of this target is in flight or has to be retried.
    pub fn is_awaited(&self, target: Target) -> bool {
        match target {
            Target::Arm(arm, attribute) => self.tally(arm, attribute).pending_count() > 0,
            Target::Question(question, Source::Votes(attribute)) => {
                let state = self.question(question);
                state.votes_returned_count(attribute) < state.vote_count(attribute)
                    || self.streams.retry_count(target) > 0
            }
            Target::Question(question, Source::Generator(generator)) => {
                let state = self.question(question);
                state.asked_count_of(generator) > state.back_count_of(generator)
            }
        }
    }

    /// The state of a question.
    pub fn question(&self, question: QuestionId) -> &QuestionState {
        &self.questions[question.index()]
    }

    /// Whether another answer to the arm's question was certified, so that the arm is not needed any more.
    pub fn is_superseded(&self, arm: ArmId) -> bool {
        let Some(questions) = self.problem.questions() else { return false };
        self.question(questions.of(arm)).certified.is_some_and(|certified| certified != arm)
    }
}
