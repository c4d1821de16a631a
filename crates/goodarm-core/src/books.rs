//! The books: every call let out, every score and bill that came back, what they prove and what
//! money is left. No policy in sight: whoever chooses the calls, the books stay right.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use thiserror::Error;

use crate::cost::Cost;
use crate::evidence::bounded::Wealths;
use crate::evidence::weights::{Weights, WeightsId};
use crate::evidence::{Evidence, Process, Rule};
use crate::guarantee::{Certifier, rejection_level};
use crate::ledger::Ledger;
use crate::prior::Prior;
use crate::problem::{Guarantee, Problem, SCORE_ABS_MAX, ScoreModel};
use crate::pull::{Failure, Pull, Ticket};
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId};

/// What is known about an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmStatus {
    /// Neither certified nor rejected.
    Undecided,
    /// Every attribute's evidence is enough. Final.
    Certified,
    /// Some attribute's evidence speaks against the arm, or an exact verifier failed it. For the
    /// report and for policies; unless an exact verifier said so, the arm may still be certified.
    Rejected,
}

/// What a policy that remembers things must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A call was let out.
    Dispatched(ArmId, AttributeId),
    /// A score came back; the arm's tallies, evidence and status may have changed.
    Observed(ArmId, AttributeId),
    /// The arm takes no more pulls: it is certified, or can never be.
    Left(ArmId),
    /// The priors of all attributes were learned anew.
    PriorsRefreshed,
    /// Some attribute has become affordable, or is no longer.
    AffordableChanged,
    /// Pairs that were resolved may no longer be; only for false discovery.
    LevelRaised,
}

/// A ticket that is not out, or a score that its model does not allow. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TellError {
    /// The ticket was never issued, or has been answered.
    #[error("ticket {} is not outstanding", .0.0)]
    NotOutstanding(Ticket),
    /// NaN or an infinity, or beyond [`SCORE_ABS_MAX`].
    #[error("score {score} of attribute {attribute} is not a number of at most {SCORE_ABS_MAX:e}")]
    NotANumber {
        /// What was told.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
    },
    /// A binary score is 0 or 1.
    #[error("score {score} of attribute {attribute} is neither 0 nor 1")]
    NotBinary {
        /// What was told.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
    },
    /// Below 0, or below the lowest score that the attribute declares.
    #[error("score {score} of attribute {attribute} is below {lowest}, the lowest there can be")]
    BelowLowest {
        /// What was told.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
        /// The declared minimum.
        lowest: f64,
    },
}

/// Why a call may not be let out. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// There is no such arm or attribute.
    #[error("there is no arm {0} with an attribute {1}")]
    NoSuchPair(ArmId, AttributeId),
    /// The arm is certified, or can never be.
    #[error("arm {0} takes no more pulls")]
    ArmLeft(ArmId),
    /// An exact attribute has been asked, or a failed call blocks the stream.
    #[error("attribute {1} of arm {0} takes no more pulls")]
    PairClosed(ArmId, AttributeId),
    /// The ceiling does not fit the budget.
    #[error("attribute {0} is not affordable")]
    NotAffordable(AttributeId),
}

/// Everything about one pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) tally: Tally,
    pub(crate) evidence: Evidence,
    /// No more calls: exact and asked, or blocked by a failure that has no safe score.
    pub(crate) closed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Arm {
    status: ArmStatus,
    left: bool,
}

/// A call that is out: its place in its pair's stream, and what is reserved for it.
#[derive(Clone, Copy, Debug)]
struct Call {
    place: Place,
    ceiling: Cost,
    attempt: u32,
}

/// The `order`-th call of a pair, counted from 0 in dispatch order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    arm: ArmId,
    attribute: AttributeId,
    order: u64,
}

/// A retry that must be made before anything later in its stream can count.
#[derive(Clone, Copy, Debug)]
struct Owed {
    place: Place,
    ceiling: Cost,
    attempt: u32,
}

/// Calls and money of one attribute over all arms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeTotals {
    /// Bills that came in.
    pub billed_count: u64,
    /// Their sum.
    pub spent: Cost,
}

/// Tallies, evidence, certificates and money of one problem. See the module page.
#[derive(Clone, Debug)]
pub struct Books {
    problem: Problem,
    ledger: Ledger,
    pairs: Vec<Pair>,
    /// For the pairs of bounded attributes only, `bounded_count` for each arm.
    wealths: Vec<Wealths>,
    /// Which of an arm's gamblers belong to the attribute.
    wealth_slots: Vec<Option<usize>>,
    bounded_count: usize,
    processes: Vec<Process>,
    weights: Vec<Weights>,
    priors: Vec<Prior>,
    totals: Vec<AttributeTotals>,
    arms: Vec<Arm>,
    arms_left_count: usize,
    certified: Vec<ArmId>,
    certifier: Certifier,
    rejection_level: f64,
    calls: BTreeMap<Ticket, Call>,
    /// Scores that are back but wait for an earlier call of their pair.
    early: BTreeMap<Place, f64>,
    owed: VecDeque<Owed>,
    ticket_next: u64,
    observation_count: u64,
    refresh_at: u64,
    affordable: Vec<bool>,
    all_affordable: bool,
    price_max: Cost,
    pub(crate) changes: Vec<Change>,
}

impl Books {
    /// Opens the books of a problem: nothing asked, nothing spent.
    pub fn new(problem: Problem) -> Self {
        let processes: Vec<Process> =
            problem.attributes().map(|attribute| Process::new(&problem, attribute)).collect();
        let mut bounded_count = 0;
        let mut wealth_slots = Vec::with_capacity(processes.len());
        for process in &processes {
            let bounded = matches!(process, Process::Bounded(_));
            wealth_slots.push(bounded.then_some(bounded_count));
            bounded_count += usize::from(bounded);
        }
        let pairs = problem
            .arms()
            .flat_map(|_| processes.iter())
            .map(|process| Pair {
                tally: Tally::START,
                evidence: Evidence::start(process),
                closed: false,
            })
            .collect();
        let arm = Arm { status: ArmStatus::Undecided, left: false };
        let (arm_count, attribute_count) = (problem.arm_count(), problem.attribute_count());
        let mut books = Self {
            ledger: Ledger::new(problem.budget()),
            pairs,
            wealths: vec![Wealths::START; arm_count * bounded_count],
            wealth_slots,
            bounded_count,
            weights: processes.iter().map(|process| Weights::new(process, Prior::START)).collect(),
            processes,
            priors: vec![Prior::START; attribute_count],
            totals: vec![AttributeTotals::default(); attribute_count],
            arms: vec![arm; arm_count],
            arms_left_count: 0,
            certified: Vec::new(),
            certifier: Certifier::new(&problem),
            rejection_level: rejection_level(&problem),
            calls: BTreeMap::new(),
            early: BTreeMap::new(),
            owed: VecDeque::new(),
            ticket_next: 0,
            observation_count: 0,
            refresh_at: refresh_interval(arm_count),
            affordable: vec![false; attribute_count],
            all_affordable: false,
            price_max: problem
                .attributes()
                .map(|attribute| problem.attribute(attribute).price())
                .max()
                .unwrap_or(Cost::ZERO),
            changes: Vec::new(),
            problem,
        };
        books.reconsider_affordable();
        books
    }

    /// The problem whose books these are.
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Where the money is.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The certified arms, in the order in which they were certified; S in the paper.
    pub fn certified(&self) -> &[ArmId] {
        &self.certified
    }

    /// What is known about an arm.
    pub fn status(&self, arm: ArmId) -> ArmStatus {
        self.arms[arm.index()].status
    }

    /// Whether the arm still takes pulls; Q_t in the paper.
    pub fn is_active(&self, arm: ArmId) -> bool {
        !self.arms[arm.index()].left
    }

    /// How many arms still take pulls.
    pub const fn active_count(&self) -> usize {
        self.arms.len() - self.arms_left_count
    }

    /// What has come back from a pair.
    pub fn tally(&self, arm: ArmId, attribute: AttributeId) -> &Tally {
        &self.pair(arm, attribute).tally
    }

    /// What a pair's scores prove so far: ln E, or L for the paper's certificate; its running
    /// maximum, or for false discovery its present value. Infinite for an exact attribute.
    pub fn evidence(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.pair(arm, attribute).evidence.held
    }

    /// How many of a pair's scores have entered its evidence: those without a gap before them.
    pub fn evidence_count(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        self.pair(arm, attribute).evidence.count
    }

    /// What a pair's evidence must reach: ξ for the paper's certificate, ln(1/its share of δ) else.
    pub fn level(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.certifier.level(arm) + self.base(attribute)
    }

    /// Whether a pair's evidence is enough; the complement of U_q in the paper.
    pub fn is_resolved(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.evidence(arm, attribute) >= self.level(arm, attribute)
    }

    /// Whether one more call of the attribute fits the budget; M_t in the paper.
    pub fn is_affordable(&self, attribute: AttributeId) -> bool {
        self.affordable[attribute.index()]
    }

    /// Whether the pair takes pulls at all, affordable or not.
    pub fn is_open(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.is_active(arm) && !self.pair(arm, attribute).closed
    }

    /// Scores that have come back, failed calls that count among them; t in the paper.
    pub const fn observation_count(&self) -> u64 {
        self.observation_count
    }

    /// Calls that are out.
    pub fn in_flight_count(&self) -> usize {
        self.calls.len()
    }

    /// Tickets that are out, the oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.calls.keys().copied()
    }

    /// What is believed about an attribute over all arms.
    pub fn prior(&self, attribute: AttributeId) -> &Prior {
        &self.priors[attribute.index()]
    }

    /// Calls and money of an attribute over all arms.
    pub fn totals(&self, attribute: AttributeId) -> &AttributeTotals {
        &self.totals[attribute.index()]
    }

    /// Lets a call out: reserves its ceiling and gives it the next place in its pair's stream.
    pub fn dispatch(
        &mut self,
        arm: ArmId,
        attribute: AttributeId,
    ) -> Result<Pull, DispatchError> {
        self.check_dispatch(arm, attribute)?;
        let ceiling = self.problem.attribute(attribute).price();
        self.ledger.reserve(ceiling);
        let index = self.problem.pair_index(arm, attribute);
        let pair = &mut self.pairs[index];
        if pair.evidence.weights == WeightsId::UNSET {
            pair.evidence.weights = self.weights[attribute.index()].freeze(
                &self.processes[attribute.index()],
                self.problem.attribute(attribute).threshold(),
                self.priors[attribute.index()],
            );
        }
        let place = Place { arm, attribute, order: pair.tally.dispatched_count };
        pair.tally.dispatched_count += 1;
        pair.closed |= self.problem.attribute(attribute).is_exact();
        self.reconsider_affordable();
        let call = self.issue(place, ceiling, 0);
        self.changes.push(Change::Dispatched(arm, attribute));
        if self.problem.guarantee() == Guarantee::FalseDiscovery {
            self.reconsider(arm);
        }
        Ok(call)
    }

    pub(crate) fn check_dispatch(
        &self,
        arm: ArmId,
        attribute: AttributeId,
    ) -> Result<(), DispatchError> {
        if arm.index() >= self.arms.len() || attribute.index() >= self.processes.len() {
            Err(DispatchError::NoSuchPair(arm, attribute))
        } else if !self.is_active(arm) {
            Err(DispatchError::ArmLeft(arm))
        } else if self.pair(arm, attribute).closed {
            Err(DispatchError::PairClosed(arm, attribute))
        } else if !self.is_affordable(attribute) {
            Err(DispatchError::NotAffordable(attribute))
        } else {
            Ok(())
        }
    }

    /// Lets out the oldest retry that is owed, in the place of the void call, if there is one.
    pub fn dispatch_owed(&mut self) -> Option<Pull> {
        while let Some(owed) = self.owed.pop_front() {
            if self.is_active(owed.place.arm) {
                return Some(self.issue(owed.place, owed.ceiling, owed.attempt));
            }
            // Nothing later in this stream will ever be needed.
            self.ledger.release(owed.ceiling);
            self.reconsider_affordable();
        }
        None
    }

    /// Takes a score and its bill.
    pub fn tell(
        &mut self,
        ticket: Ticket,
        score: f64,
        bill: Cost,
    ) -> Result<(), TellError> {
        let call = *self.calls.get(&ticket).ok_or(TellError::NotOutstanding(ticket))?;
        let score = self.checked_score(call.place.attribute, score)?;
        self.calls.remove(&ticket);
        self.ledger.settle(call.ceiling, bill);
        self.bill(call.place, bill);
        self.observe(call.place, score, Told::Score);
        Ok(())
    }

    /// Takes a failure and its bill.
    pub fn fail(
        &mut self,
        ticket: Ticket,
        failure: Failure,
        bill: Cost,
    ) -> Result<(), TellError> {
        let call = self.calls.remove(&ticket).ok_or(TellError::NotOutstanding(ticket))?;
        self.ledger.settle(call.ceiling, bill);
        self.bill(call.place, bill);
        let retried = matches!(failure, Failure::Void(_)) && self.owe(call);
        if !retried {
            match self.problem.attribute(call.place.attribute).lowest_score() {
                Some(lowest) => self.observe(call.place, lowest, Told::Failure),
                None => self.block(call.place),
            }
        }
        self.reconsider_affordable();
        Ok(())
    }

    /// More money: valid at any time. Less would not be.
    pub fn raise_budget(&mut self, budget: Cost) {
        self.ledger.raise_budget(budget);
        self.reconsider_affordable();
    }

    pub(crate) fn pair(&self, arm: ArmId, attribute: AttributeId) -> &Pair {
        &self.pairs[self.problem.pair_index(arm, attribute)]
    }

    pub(crate) fn process(&self, attribute: AttributeId) -> &Process {
        &self.processes[attribute.index()]
    }

    pub(crate) fn wealths(&self, arm: ArmId, attribute: AttributeId) -> Option<&Wealths> {
        let slot = self.wealth_slots[attribute.index()]?;
        Some(&self.wealths[arm.index() * self.bounded_count + slot])
    }

    fn issue(&mut self, place: Place, ceiling: Cost, attempt: u32) -> Pull {
        let ticket = Ticket(self.ticket_next);
        self.ticket_next += 1;
        self.calls.insert(ticket, Call { place, ceiling, attempt });
        let Place { arm, attribute, .. } = place;
        Pull { ticket, arm, attribute, ceiling, attempt, branch: "" }
    }

    /// Keeps the place and the money for a retry; false if the money is no longer there.
    fn owe(&mut self, call: Call) -> bool {
        if !self.ledger.fits(call.ceiling) {
            return false;
        }
        self.ledger.reserve(call.ceiling);
        let attempt = call.attempt.saturating_add(1);
        self.owed.push_back(Owed { place: call.place, ceiling: call.ceiling, attempt });
        true
    }

    fn bill(&mut self, place: Place, bill: Cost) {
        let index = self.problem.pair_index(place.arm, place.attribute);
        let tally = &mut self.pairs[index].tally;
        tally.spent = tally.spent.saturating_add(bill);
        let totals = &mut self.totals[place.attribute.index()];
        totals.billed_count += 1;
        totals.spent = totals.spent.saturating_add(bill);
    }

    fn checked_score(&self, attribute: AttributeId, score: f64) -> Result<f64, TellError> {
        if !(score.is_finite() && libm::fabs(score) <= SCORE_ABS_MAX) {
            return Err(TellError::NotANumber { score, attribute });
        }
        let declared = self.problem.attribute(attribute);
        match declared.scores() {
            ScoreModel::Binary if score != 0.0 && score != 1.0 => {
                Err(TellError::NotBinary { score, attribute })
            }
            ScoreModel::Bounded | ScoreModel::SubGaussian { .. } => match declared.lowest_score() {
                Some(lowest) if score < lowest => {
                    Err(TellError::BelowLowest { score, attribute, lowest })
                }
                // Above 1 is harmless, and claims less as 1; clipping up at 0 would claim more.
                _ if declared.scores() == ScoreModel::Bounded => Ok(score.min(1.0)),
                _ => Ok(score),
            },
            ScoreModel::Binary | ScoreModel::Exact => Ok(score),
        }
    }

    /// A score is back: tally it at once, and let the stream's evidence advance if it can.
    fn observe(&mut self, place: Place, score: f64, told: Told) {
        let Place { arm, attribute, order } = place;
        self.observation_count += 1;
        let bounded = self.problem.attribute(attribute).scores() == ScoreModel::Bounded;
        let index = self.problem.pair_index(arm, attribute);
        let tally = &mut self.pairs[index].tally;
        tally.returned_count += 1;
        tally.sum += score;
        if bounded {
            tally.sum_of_squares += score * score;
        }
        if order == self.pairs[index].evidence.count {
            self.absorb(arm, attribute, score);
            while !self.early.is_empty() {
                let next = Place { order: self.pairs[index].evidence.count, ..place };
                let Some(score) = self.early.remove(&next) else { break };
                self.absorb(arm, attribute, score);
            }
        } else {
            self.early.insert(place, score);
        }
        self.changes.push(Change::Observed(arm, attribute));
        self.reconsider(arm);
        self.reconsider_exact(arm, attribute, told);
        self.reconsider_affordable();
        if self.observation_count >= self.refresh_at {
            self.refresh_priors();
        }
    }

    fn absorb(&mut self, arm: ArmId, attribute: AttributeId, score: f64) {
        let rule = Rule {
            process: &self.processes[attribute.index()],
            weights: &self.weights[attribute.index()],
            threshold: self.problem.attribute(attribute).threshold(),
            keeps_maximum: self.problem.guarantee() != Guarantee::FalseDiscovery,
        };
        let slot = self.wealth_slots[attribute.index()];
        let wealths = slot.map(|slot| arm.index() * self.bounded_count + slot);
        let index = self.problem.pair_index(arm, attribute);
        let evidence = &mut self.pairs[index].evidence;
        evidence.absorb(rule, wealths.map(|at| &mut self.wealths[at]), score);
        let rejects = evidence.against > self.rejection_level;
        if rejects && self.arms[arm.index()].status == ArmStatus::Undecided {
            self.arms[arm.index()].status = ArmStatus::Rejected;
            let level = self.certifier.level(arm);
            self.certifier.set_aside();
            if self.certifier.level(arm) > level {
                self.changes.push(Change::LevelRaised);
            }
        }
    }

    /// Nothing after this place can ever count, since no number is surely low enough for it.
    fn block(&mut self, place: Place) {
        let index = self.problem.pair_index(place.arm, place.attribute);
        self.pairs[index].closed = true;
        self.changes.push(Change::Observed(place.arm, place.attribute));
    }

    /// An arm's evidence may have changed: certify what can be certified.
    fn reconsider(&mut self, arm: ArmId) {
        if !self.is_active(arm) {
            return;
        }
        let evidence = self
            .problem
            .attributes()
            .map(|attribute| self.claimable(arm, attribute) - self.base(attribute))
            .fold(f64::INFINITY, f64::min);
        for arm in self.certifier.update(arm, evidence) {
            self.certify(arm);
        }
    }

    /// A failure that merely counts as 0 is not the verifier's word, so it frees nobody else's δ.
    fn reconsider_exact(&mut self, arm: ArmId, attribute: AttributeId, told: Told) {
        let failed = self.problem.attribute(attribute).is_exact()
            && !self.is_resolved(arm, attribute)
            && self.evidence_count(arm, attribute) > 0;
        if !failed || !self.is_active(arm) {
            return;
        }
        self.leave(arm);
        if told == Told::Score {
            for arm in self.certifier.exclude_exactly_bad(arm) {
                self.certify(arm);
            }
        }
    }

    fn certify(&mut self, arm: ArmId) {
        assert!(self.is_active(arm), "an arm is certified once, and never after it failed");
        self.arms[arm.index()].status = ArmStatus::Certified;
        self.certified.push(arm);
        self.leave(arm);
    }

    fn leave(&mut self, arm: ArmId) {
        self.arms[arm.index()].left = true;
        self.arms_left_count += 1;
        self.changes.push(Change::Left(arm));
    }

    /// The evidence that a certificate may rest on at this moment.
    fn claimable(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        let pair = self.pair(arm, attribute);
        let waiting = pair.tally.dispatched_count - pair.evidence.count;
        if self.problem.guarantee() != Guarantee::FalseDiscovery || waiting == 0 {
            return pair.evidence.held;
        }
        self.imputed(arm, attribute)
    }

    /// A pair's evidence with every call that is not back counted as its lowest score. "Not back"
    /// tells something about a score, so for expected values it must not be an excuse.
    fn imputed(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        let pair = self.pair(arm, attribute);
        let Some(lowest) = self.problem.attribute(attribute).lowest_score() else {
            return f64::NEG_INFINITY;
        };
        let rule = Rule {
            process: &self.processes[attribute.index()],
            weights: &self.weights[attribute.index()],
            threshold: self.problem.attribute(attribute).threshold(),
            keeps_maximum: false,
        };
        let mut evidence = pair.evidence;
        let mut wealths = self.wealths(arm, attribute).copied();
        for order in evidence.count..pair.tally.dispatched_count {
            let place = Place { arm, attribute, order };
            let score = self.early.get(&place).copied().unwrap_or(lowest);
            evidence.absorb(rule, wealths.as_mut(), score);
        }
        evidence.held
    }

    /// What the evidence of an attribute is measured from: ξ where it is the paper's L.
    fn base(&self, attribute: AttributeId) -> f64 {
        match self.processes[attribute.index()] {
            Process::Paper(_) => self.problem.attribute(attribute).threshold(),
            _ => 0.0,
        }
    }

    fn reconsider_affordable(&mut self) {
        if self.ledger.left() >= self.price_max && self.all_affordable {
            return;
        }
        let mut changed = false;
        for attribute in self.problem.attributes() {
            let fits = self.ledger.fits(self.problem.attribute(attribute).price());
            changed |= self.affordable[attribute.index()] != fits;
            self.affordable[attribute.index()] = fits;
        }
        self.all_affordable = self.affordable.iter().all(|&fits| fits);
        if changed {
            self.changes.push(Change::AffordableChanged);
        }
    }

    fn refresh_priors(&mut self) {
        self.refresh_at = self.observation_count + refresh_interval(self.arms.len());
        let stride = self.problem.attribute_count();
        for attribute in self.problem.attributes() {
            let tallies =
                self.pairs.iter().skip(attribute.index()).step_by(stride).map(|pair| &pair.tally);
            let declared = self.problem.attribute(attribute);
            let prior = &mut self.priors[attribute.index()];
            *prior = prior.refreshed(declared, tallies);
        }
        self.changes.push(Change::PriorsRefreshed);
    }
}

/// Where a score came from.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Score,
    Failure,
}

/// Learning costs O(pairs), so it is spread over as many observations.
fn refresh_interval(arm_count: usize) -> u64 {
    (arm_count as u64).max(REFRESH_INTERVAL_MIN)
}

const REFRESH_INTERVAL_MIN: u64 = 20;
