//! The books: every call dispatched, every score and bill that came back, what they prove and what
//! money is left. They know nothing of policies: however calls are chosen, the books stay right.

mod calls;
mod lending;
mod outstanding;
mod proof;
mod questions;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::bills::Bills;
use crate::books::calls::Calls;
pub use crate::books::calls::{AskedFor, DispatchError, TellError};
pub use crate::books::lending::{AddArmsError, LendError, Loan};
pub use crate::books::questions::QuestionState;
use crate::cost::Cost;
use crate::evidence::bounded::Wealths;
use crate::evidence::weights::Weights;
use crate::evidence::{Evidence, Process};
use crate::guarantee::{Certifier, RejectionLevel};
use crate::ledger::Ledger;
use crate::num::real;
use crate::outlook::{Remainder, certified_count_forecast, remainder};
use crate::prior::{Belief, Prior};
use crate::problem::{Guarantee, Problem};
use crate::pull::{Source, Target, Ticket};
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId, GeneratorId, QuestionId};

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
    /// The priors of all attributes were learned anew.
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

/// Everything about one pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) tally: Tally,
    pub(crate) evidence: Evidence,
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

/// Calls and money of one attribute over all arms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttributeTotals {
    /// Bills that came in.
    pub billed_count: u64,
    /// Their sum.
    pub spent: Cost,
    /// Scores that came back, failed calls that count among them.
    pub returned_count: u64,
    /// The sum of those scores.
    pub score_sum: f64,
}

impl AttributeTotals {
    /// The mean of the scores that came back.
    pub fn mean_score(&self) -> Option<f64> {
        (self.returned_count > 0).then(|| self.score_sum / real(self.returned_count))
    }
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
    /// Of each attribute, and then of each generator, as are the next six.
    prices: Vec<Cost>,
    totals: Vec<AttributeTotals>,
    /// The sum of the squares of their bills.
    bill_squares: Vec<f64>,
    mean_bills: Vec<f64>,
    /// The calls in flight.
    out_counts: Vec<u32>,
    /// The most of those that take hours, such as people; none where calls come back soon.
    out_maxes: Vec<Option<u32>>,
    affordable: Vec<bool>,
    bills: Bills,
    arms: Vec<Arm>,
    arms_left_count: usize,
    questions: Vec<QuestionState>,
    /// Which of a question's kinds of votes belong to the attribute.
    vote_slots: Vec<Option<usize>>,
    certified: Vec<ArmId>,
    certified_levels: BTreeMap<ArmId, f64>,
    certifier: Certifier,
    rejection_level: RejectionLevel,
    /// Evidence is looked at only where it may come so near to its level.
    floor_below_level: f64,
    calls: Calls,
    observation_count: u64,
    refresh_at: u64,
    all_affordable: bool,
    price_max: Cost,
    /// What the last call, score or failure has changed.
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
        // Millions of pairs: take just the room they need.
        let mut pairs = Vec::with_capacity(problem.pair_count());
        for _ in problem.arms() {
            push_pairs(&mut pairs, &processes, problem.guarantee());
        }
        let priors: Vec<Prior> = problem
            .attributes()
            .map(|attribute| Prior::start(problem.attribute(attribute)))
            .collect();
        let (arm_count, attribute_count) = (problem.arm_count(), problem.attribute_count());
        let generators = problem.questions().map_or(&[][..], |questions| questions.generators());
        let prices: Vec<Cost> = problem
            .attributes()
            .map(|attribute| problem.attribute(attribute).price())
            .chain(generators.iter().map(|generator| generator.price()))
            .collect();
        let (vote_slots, vote_kind_count) = vote_slots(&problem);
        let question_count = problem.questions().map_or(0, |questions| questions.count());
        let mut books = Self {
            ledger: Ledger::new(problem.budget()),
            pairs,
            wealths: vec![Wealths::START; arm_count * bounded_count],
            wealth_slots,
            bounded_count,
            weights: processes
                .iter()
                .zip(&priors)
                .map(|(process, prior)| Weights::new(process, *prior))
                .collect(),
            processes,
            priors,
            totals: vec![AttributeTotals::default(); prices.len()],
            bill_squares: vec![0.0; prices.len()],
            mean_bills: prices.iter().map(|price| price.units()).collect(),
            out_counts: vec![0; prices.len()],
            out_maxes: vec![None; prices.len()],
            affordable: vec![false; prices.len()],
            price_max: prices.iter().copied().max().unwrap_or(Cost::ZERO),
            prices,
            questions: vec![
                QuestionState::start(vote_kind_count, generators.len());
                question_count
            ],
            vote_slots,
            bills: Bills::new(attribute_count),
            arms: vec![Arm::START; arm_count],
            arms_left_count: 0,
            certified: Vec::new(),
            certified_levels: BTreeMap::new(),
            certifier: Certifier::new(&problem),
            rejection_level: RejectionLevel::new(&problem),
            // Where levels fall, a maximum that was not looked at is lost unless it was far below.
            floor_below_level: if problem.guarantee() == Guarantee::Lent { 0.0 } else { 1.0 },
            calls: Calls::default(),
            observation_count: 0,
            refresh_at: refresh_interval(arm_count),
            all_affordable: false,
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

    /// How many certificates there can still be.
    pub(crate) fn certifiable_count(&self) -> usize {
        match self.problem.questions() {
            Some(questions) => questions.count() - self.certified.len(),
            None => self.active_count(),
        }
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
        assert!(arm.index() < self.arms.len(), "there is no arm {arm}");
        self.level_of_known(arm, attribute)
    }

    #[inline]
    fn level_of_known(&self, arm: ArmId, attribute: AttributeId) -> f64 {
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
        self.held(arm, attribute) >= self.level_of_known(arm, attribute)
    }

    /// Whether one more call of the attribute fits the budget; M_t in the paper.
    pub fn is_affordable(&self, attribute: AttributeId) -> bool {
        self.affordable[attribute.index()]
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
        self.calls.out.len()
    }

    /// How many calls that score an attribute are in flight.
    pub fn in_flight_count_of(&self, attribute: AttributeId) -> usize {
        self.out_counts[self.problem.lead(attribute).index()] as usize
    }

    /// How many answers of a generator are on their way.
    pub fn fresh_in_flight_count(&self, generator: GeneratorId) -> usize {
        self.out_counts[self.processes.len() + generator.index()] as usize
    }

    /// Whether calls of this kind take hours: nobody waits for them before making others.
    pub(crate) fn is_slow(&self, attribute: AttributeId) -> bool {
        self.out_maxes[self.problem.lead(attribute).index()].is_some()
    }

    /// Whether a slow caller has as many calls as it may have, so that no more are made for now.
    pub(crate) fn is_held(&self, attribute: AttributeId) -> bool {
        self.is_lane_held(self.problem.lead(attribute).index())
    }

    /// The same for the calls of a stream, which is slow or not.
    pub(crate) fn is_stream_held(&self, stream: Target) -> bool {
        self.is_lane_held(self.lane(stream))
    }

    pub(crate) fn is_stream_slow(&self, stream: Target) -> bool {
        self.out_maxes[self.lane(stream)].is_some()
    }

    pub(super) fn is_lane_held(&self, lane: usize) -> bool {
        self.out_maxes[lane].is_some_and(|most| self.out_counts[lane] >= most)
    }

    /// Declares that calls of this caller take hours; so many at most are in flight.
    pub(crate) fn set_slow(&mut self, caller: Source, in_flight_max: u32) {
        let attribute_count = self.processes.len();
        let lane = match caller {
            Source::Votes(attribute) if attribute.index() >= attribute_count => return,
            Source::Votes(attribute) => self.problem.lead(attribute).index(),
            Source::Generator(generator) => attribute_count + generator.index(),
        };
        if let Some(most) = self.out_maxes.get_mut(lane) {
            *most = Some(in_flight_max.max(1));
        }
    }

    /// How many calls in flight come back soon, and what they will cost, as it looks.
    pub(crate) fn hurried_in_flight(&self) -> (u32, f64) {
        let lanes = self.out_counts.iter().zip(&self.mean_bills).zip(&self.out_maxes);
        let hurried = lanes.filter(|(_, most)| most.is_none());
        hurried.fold((0, 0.0), |(count, bill), ((&out, mean), _)| {
            (count + out, bill + f64::from(out) * mean)
        })
    }

    /// Tickets of calls in flight, the oldest first.
    pub fn outstanding(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.calls.out.tickets()
    }

    /// The arms that calls in flight score, the oldest call first.
    pub(crate) fn outstanding_arms(&self) -> impl Iterator<Item = ArmId> + '_ {
        self.calls.out.calls().flat_map(|call| match call.place.target {
            Target::Arm(arm, _) => vec![arm],
            Target::Question(question, Source::Votes(_)) => self.active_answers(question),
            Target::Question(_, Source::Generator(_)) => Vec::new(),
        })
    }

    /// What is believed about an attribute over all arms.
    pub fn prior(&self, attribute: AttributeId) -> &Prior {
        &self.priors[attribute.index()]
    }

    /// How many arms will have been certified when the money is gone, if every arm goes as its
    /// scores so far suggest: a guess, in a time that grows with the number of pairs.
    pub fn certified_count_forecast(&self) -> f64 {
        certified_count_forecast(self)
    }

    /// The undecided arms that look good, and what certifying them would still take, whether or not
    /// the money is there: a guess, in the same time.
    pub fn remainder(&self) -> Remainder {
        remainder(self)
    }

    /// Calls and money of a generator over all questions; nothing is scored.
    pub fn totals_of_fresh(&self, generator: GeneratorId) -> &AttributeTotals {
        &self.totals[self.processes.len() + generator.index()]
    }

    /// Calls and money of an attribute over all arms.
    pub fn totals(&self, attribute: AttributeId) -> &AttributeTotals {
        &self.totals[attribute.index()]
    }

    pub(crate) fn pair(&self, arm: ArmId, attribute: AttributeId) -> &Pair {
        &self.pairs[self.problem.pair_index(arm, attribute)]
    }

    pub(crate) fn belief(&self, arm: ArmId, attribute: AttributeId) -> Belief {
        let tally = self.unproposed(arm, attribute);
        let sample = (&tally, self.wealths(arm, attribute));
        self.prior(attribute).given(self.problem.attribute(attribute), sample)
    }

    pub(crate) fn pairs_of(&self, arm: ArmId) -> &[Pair] {
        let first = self.problem.pair_index(arm, AttributeId(0));
        &self.pairs[first..first + self.problem.attribute_count()]
    }

    /// What a call costs on average.
    pub(crate) fn mean_bill_of(&self, target: Target) -> f64 {
        self.mean_bills[self.lane(target)]
    }

    pub(crate) fn is_anything_affordable(&self) -> bool {
        self.affordable.contains(&true)
    }

    /// What a call of the attribute costs on average.
    pub(crate) fn mean_bill(&self, attribute: AttributeId) -> f64 {
        self.mean_bills[attribute.index()]
    }

    /// What the calls in flight will cost, as it looks: no bound, unlike what is reserved for them.
    pub fn in_flight_bill(&self) -> f64 {
        self.out_counts
            .iter()
            .zip(&self.mean_bills)
            .map(|(&count, bill)| f64::from(count) * bill)
            .sum()
    }

    pub(crate) const fn bills(&self) -> &Bills {
        &self.bills
    }

    pub(crate) fn process(&self, attribute: AttributeId) -> &Process {
        &self.processes[attribute.index()]
    }

    pub(crate) fn wealths(&self, arm: ArmId, attribute: AttributeId) -> Option<&Wealths> {
        let slot = self.wealth_slots[attribute.index()]?;
        Some(&self.wealths[arm.index() * self.bounded_count + slot])
    }

    fn wealths_mut(&mut self, arm: ArmId, attribute: AttributeId) -> Option<&mut Wealths> {
        let slot = self.wealth_slots[attribute.index()]?;
        Some(&mut self.wealths[arm.index() * self.bounded_count + slot])
    }

    fn refresh_priors(&mut self) {
        let news = self.observation_count / REFRESH_SHARE;
        self.refresh_at = self.observation_count + refresh_interval(self.arms.len()).max(news);
        let stride = self.problem.attribute_count();
        for attribute in self.problem.attributes() {
            if self.problem.are_votes(attribute) {
                self.refresh_prior_of_votes(attribute);
                continue;
            }
            let touched = self.arms.iter().enumerate().filter(|(_, arm)| arm.touched);
            let sample = touched.map(|(arm, _)| {
                let slot = self.wealth_slots[attribute.index()];
                let wealths = slot.map(|slot| &self.wealths[arm * self.bounded_count + slot]);
                (&self.pairs[arm * stride + attribute.index()].tally, wealths)
            });
            let declared = self.problem.attribute(attribute);
            let prior = &mut self.priors[attribute.index()];
            *prior = prior.refreshed(declared, sample);
        }
        let attribute_count = self.problem.attribute_count();
        self.bills = Bills::refreshed(
            &self.pairs,
            &self.totals[..attribute_count],
            &self.bill_squares[..attribute_count],
        );
        self.changes.push(Change::PriorsRefreshed);
    }
}

/// Which of a question's kinds of votes belong to each attribute, and how many there are.
fn vote_slots(problem: &Problem) -> (Vec<Option<usize>>, usize) {
    let mut count = 0;
    let slot = |attribute| {
        let votes = problem.are_votes(attribute);
        count += usize::from(votes);
        votes.then(|| count - 1)
    };
    (problem.attributes().map(slot).collect(), count)
}

/// One arm more.
fn push_pairs(pairs: &mut Vec<Pair>, processes: &[Process], guarantee: Guarantee) {
    pairs.extend(processes.iter().map(|process| Pair {
        tally: Tally::START,
        evidence: Evidence::start(process, guarantee),
    }));
}

/// Learning costs O(pairs), so it is spread over as many observations.
fn refresh_interval(arm_count: usize) -> u64 {
    (arm_count as u64).max(REFRESH_INTERVAL_MIN)
}

const REFRESH_INTERVAL_MIN: u64 = 20;
/// And no sooner than one observation in this many is new.
const REFRESH_SHARE: u64 = 16;
