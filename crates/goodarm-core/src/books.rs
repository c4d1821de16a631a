//! The books: every call dispatched, every score and bill that came back, what they prove and what
//! money is left. They know nothing of policies: however calls are chosen, the books stay right.

mod calls;
mod lanes;
mod lending;
mod outstanding;
mod pairs;
mod proof;
mod questions;
mod streams;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::bills::{BillTotals, Bills};
pub use crate::books::calls::{DispatchError, Expected, SettleError, Settled};
pub use crate::books::lanes::Lane;
use crate::books::lanes::Lanes;
pub use crate::books::lending::{AddArmsError, LendError};
use crate::books::pairs::Pairs;
pub use crate::books::questions::QuestionState;
use crate::books::streams::Streams;
use crate::call::{Source, Target, Ticket};
use crate::evidence::bounded::Wealths;
use crate::evidence::weights::Weights;
use crate::evidence::{Pair, Process};
use crate::guarantee::{Certifier, RejectionLevel};
use crate::ledger::Ledger;
use crate::num::real;
use crate::prior::{Belief, Prior};
use crate::problem::design::Questions;
use crate::problem::{Guarantee, Problem};
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId, QuestionId, ServiceId};

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

impl ArmStatus {
    /// Every status, in the order in which reports show them.
    pub const ALL: [Self; 3] = [Self::Certified, Self::Undecided, Self::Rejected];

    /// What files and reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::Undecided => "undecided",
            Self::Rejected => "rejected",
        }
    }
}

/// What a policy that remembers things must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A call was dispatched.
    Dispatched(ArmId, AttributeId),
    /// A score came back; the arm's tallies, evidence and status may have changed.
    Observed(ArmId, AttributeId),
    /// The arm takes no more pulls: it is certified, or can never be.
    Left(ArmId),
    /// The priors of all attributes were learned again.
    PriorsRefreshed,
    /// Some attribute has become affordable, or is no longer.
    AffordableChanged,
    /// The arm was lent a share of δ: its evidence begins.
    Lent(ArmId),
    /// The arm's share was taken back: its evidence is gone.
    Released(ArmId),
    /// A question was asked, answered, or has a certificate.
    Question(QuestionId),
    /// There is one arm more, the last; [`Policy::on_birth`](crate::Policy::on_birth) is told.
    Born(ArmId),
}

#[derive(Clone, Copy, Debug)]
struct Arm {
    status: ArmStatus,
    left: bool,
    /// Whether it has ever been asked about: with a million arms, most have not.
    touched: bool,
    /// Whose answer it is, if it was made or proposed during the run.
    origin: Option<Source>,
}

impl Arm {
    const START: Self =
        Self { status: ArmStatus::Undecided, left: false, touched: false, origin: None };
}

/// The scores of one attribute over all arms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScoreTotals {
    /// Scores that came back, failed calls that count among them.
    pub returned_count: u64,
    /// The sum of those scores.
    pub score_sum: f64,
}

impl ScoreTotals {
    /// The mean of the scores that came back.
    pub fn mean(&self) -> Option<f64> {
        (self.returned_count > 0).then(|| self.score_sum / real(self.returned_count))
    }

    const fn take(&mut self, score: f64) {
        self.returned_count += 1;
        self.score_sum += score;
    }
}

/// What the books know of one attribute.
#[derive(Clone, Debug)]
struct AttributeState {
    process: Process,
    weights: Weights,
    prior: Prior,
    totals: ScoreTotals,
}

/// Tallies, evidence, certificates and money of one problem. See the module page.
#[derive(Clone, Debug)]
pub struct Books {
    problem: Problem,
    ledger: Ledger,
    pairs: Pairs,
    attributes: Vec<AttributeState>,
    pub(crate) lanes: Lanes,
    pub(crate) bills: Bills,
    arms: Vec<Arm>,
    arms_left_count: usize,
    questions: Vec<QuestionState>,
    certified: Vec<ArmId>,
    certified_levels: BTreeMap<ArmId, f64>,
    certifier: Certifier,
    rejection_level: RejectionLevel,
    /// Evidence is looked at only where it may come this near to its level.
    floor_below_level: f64,
    pub(crate) streams: Streams,
    observation_count: u64,
    refresh_at: u64,
    /// What the last call, score or failure has changed.
    pub(crate) changes: Vec<Change>,
}

impl Books {
    /// Opens the books of a problem: nothing asked, nothing spent.
    pub fn new(problem: Problem) -> Self {
        let state = |attribute| {
            let process = Process::new(&problem, attribute);
            let prior = Prior::start(problem.attribute(attribute));
            let weights = Weights::new(&process, prior);
            AttributeState { process, weights, prior, totals: ScoreTotals::default() }
        };
        let attributes: Vec<AttributeState> = problem.attributes().map(state).collect();
        let of_questions = |it: &Questions| vec![QuestionState::start(&problem, it); it.count()];
        let mut books = Self {
            ledger: Ledger::new(problem.budget()),
            pairs: Pairs::new(&problem, &attributes),
            lanes: Lanes::new(&problem),
            bills: Bills::new(attributes.len()),
            attributes,
            arms: vec![Arm::START; problem.arm_count()],
            arms_left_count: 0,
            questions: problem.questions().map_or_else(Vec::new, of_questions),
            certified: Vec::new(),
            certified_levels: BTreeMap::new(),
            certifier: Certifier::new(&problem),
            rejection_level: RejectionLevel::new(&problem),
            // Where levels fall, a maximum that was not looked at is lost unless it was far below.
            floor_below_level: if problem.guarantee() == Guarantee::Lent { 0.0 } else { 1.0 },
            streams: Streams::default(),
            observation_count: 0,
            refresh_at: refresh_interval(problem.arm_count()),
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

    /// What is known about an arm. One that an exact verifier has scored below its threshold is
    /// rejected, whatever its other evidence says. One that left because a stream of it is blocked, or
    /// because an exact verifier failed to score it, is not: nothing speaks against it.
    pub fn status(&self, arm: ArmId) -> ArmStatus {
        self.arms[arm.index()].status
    }

    /// How many arms have a status; looks at every arm.
    pub fn status_count(&self, status: ArmStatus) -> usize {
        self.problem.arms().filter(|&arm| self.status(arm) == status).count()
    }

    /// Whether the arm still takes pulls; Q_t in the paper.
    pub fn is_active(&self, arm: ArmId) -> bool {
        !self.arms[arm.index()].left
    }

    /// Whether the arm has ever been asked about.
    pub(crate) fn is_touched(&self, arm: ArmId) -> bool {
        self.arms[arm.index()].touched
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
    ///
    /// Evidence that is far from enough is not looked at after every score, so that the maximum may
    /// be somewhat more than this.
    pub fn evidence(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        let evidence = &self.pair(arm, attribute).evidence;
        let rule = self.rule(attribute);
        if !rule.keeps_maximum {
            return evidence.held;
        }
        evidence.held.max(evidence.present(rule, self.wealths(arm, attribute)))
    }

    /// What is known of a pair's evidence without looking again.
    fn held(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.pair(arm, attribute).evidence.held
    }

    /// How many of a pair's scores have entered its evidence: those without a gap before them.
    pub fn evidence_count(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        self.pair(arm, attribute).evidence.count
    }

    /// What a pair's evidence must reach: ξ for the paper's certificate, ln(1/its share of δ) else;
    /// for a certified arm what it had to reach, and infinite for one that could be lent a share and
    /// has none.
    #[inline]
    pub fn level(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.level_above_base(arm) + self.base(attribute)
    }

    /// The same for all attributes of the arm, without what their evidence is measured from.
    #[inline]
    pub(crate) fn level_above_base(&self, arm: ArmId) -> f64 {
        match self.arms[arm.index()].status {
            ArmStatus::Certified => self.certified_levels[&arm],
            ArmStatus::Undecided | ArmStatus::Rejected => self.certifier.level(arm),
        }
    }

    /// Whether a pair's evidence is enough; the complement of U_q in the paper.
    #[inline]
    pub fn is_resolved(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.held(arm, attribute) >= self.level(arm, attribute)
    }

    /// Whether one more call of the attribute fits the budget; M_t in the paper.
    pub fn is_affordable(&self, attribute: AttributeId) -> bool {
        self.lane_of(attribute).is_affordable()
    }

    /// Whether calls can be made, affordable or not, that may prove something about the pair.
    pub fn is_open(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.is_active(arm) && !self.pair(arm, attribute).evidence.closed
    }

    /// Whether calls that score the pair can be made: where they score others too, not all of these need
    /// be closed.
    fn takes_calls(&self, arm: ArmId, attribute: AttributeId) -> bool {
        let is_closed = |&attribute: &AttributeId| self.pair(arm, attribute).evidence.closed;
        self.is_active(arm)
            && !self.problem.members(self.problem.lead(attribute)).iter().all(is_closed)
    }

    /// Whether a failed call has ended the pair's stream.
    pub fn is_blocked(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.pair(arm, attribute).evidence.closed && !self.problem.attribute(attribute).is_exact()
    }

    /// Scores that have come back, failed calls that count among them; t in the paper.
    pub const fn observation_count(&self) -> u64 {
        self.observation_count
    }

    /// Calls in flight.
    pub fn in_flight_count(&self) -> usize {
        self.streams.out.len()
    }

    /// Money and calls in flight of a service.
    pub fn lane(&self, service: ServiceId) -> &Lane {
        self.lanes.get(service)
    }

    /// The same of the service whose calls score an attribute.
    #[inline]
    pub fn lane_of(&self, attribute: AttributeId) -> &Lane {
        self.lanes.get(self.problem.service_of(attribute))
    }

    /// Tickets of calls in flight, the oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.streams.out.tickets()
    }

    /// The arms that calls in flight score, the oldest call first.
    pub(crate) fn outstanding_arms(&self) -> impl Iterator<Item = ArmId> + '_ {
        self.streams.out.calls().flat_map(|call| match call.place.target {
            Target::Arm(arm, _) => vec![arm],
            Target::Question(question, Source::Votes(_)) => self.active_answers(question),
            Target::Question(_, Source::Generator(_)) => Vec::new(),
        })
    }

    /// What is believed about an attribute over all arms.
    pub fn prior(&self, attribute: AttributeId) -> &Prior {
        &self.attributes[attribute.index()].prior
    }

    /// The scores of an attribute over all arms.
    pub fn totals(&self, attribute: AttributeId) -> &ScoreTotals {
        &self.attributes[attribute.index()].totals
    }

    pub(crate) fn pair(&self, arm: ArmId, attribute: AttributeId) -> &Pair {
        self.pairs.get(arm, attribute)
    }

    pub(crate) fn belief(&self, arm: ArmId, attribute: AttributeId) -> Belief {
        let tally = self.unproposed(arm, attribute);
        let sample = self.pairs.sample(arm, attribute, &tally);
        self.prior(attribute).given(self.problem.attribute(attribute), sample)
    }

    pub(crate) fn pairs_of(&self, arm: ArmId) -> &[Pair] {
        self.pairs.of(arm)
    }

    /// What the calls in flight will cost, as it looks: no bound, unlike what is reserved for them.
    pub fn in_flight_bill(&self) -> f64 {
        self.lanes.in_flight_bill()
    }

    pub(crate) fn process(&self, attribute: AttributeId) -> &Process {
        &self.attributes[attribute.index()].process
    }

    pub(crate) fn wealths(&self, arm: ArmId, attribute: AttributeId) -> Option<&Wealths> {
        self.pairs.wealths(arm, attribute)
    }

    fn refresh_priors(&mut self) {
        let news = self.observation_count / REFRESH_SHARE;
        self.refresh_at = self.observation_count + refresh_interval(self.arms.len()).max(news);
        for attribute in self.problem.attributes() {
            if self.problem.are_votes(attribute) {
                self.refresh_prior_of_votes(attribute);
                continue;
            }
            let touched = self.arms.iter().enumerate().filter(|(_, arm)| arm.touched);
            let sample = touched.map(|(place, _)| {
                let arm = ArmId::at(place);
                self.pairs.sample(arm, attribute, &self.pairs.get(arm, attribute).tally)
            });
            let prior = &self.attributes[attribute.index()].prior;
            let prior = prior.refreshed(self.problem.attribute(attribute), sample);
            self.attributes[attribute.index()].prior = prior;
        }
        // Calls are billed to the first attribute that they score.
        let bills_of = |attribute| {
            let is_lead = self.problem.lead(attribute) == attribute;
            if is_lead { self.lane_of(attribute).bills() } else { &BillTotals::NONE }
        };
        let totals: Vec<&BillTotals> = self.problem.attributes().map(bills_of).collect();
        self.bills = Bills::refreshed(self.pairs.all(), &totals);
        self.changes.push(Change::PriorsRefreshed);
    }
}

/// Learning costs O(pairs), so it is spread over as many observations.
fn refresh_interval(arm_count: usize) -> u64 {
    (arm_count as u64).max(REFRESH_INTERVAL_MIN)
}

const REFRESH_INTERVAL_MIN: u64 = 20;
/// And no sooner than one observation in this many is new.
const REFRESH_SHARE: u64 = 16;
