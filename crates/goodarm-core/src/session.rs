//! The loop: ask for a call, make it, settle its outcome. See [`Session`].

use alloc::boxed::Box;
use core::fmt;

use thiserror::Error;

use crate::books::{
    AddArmsError, ArmStatus, Books, Change, DispatchError, LendError, SettleError, Settlement,
};
use crate::call::{Call, Loan, Role, Source, Target, Ticket};
use crate::cost::Cost;
use crate::event::{Event, EventError};
use crate::ledger::Bill;
use crate::outcome::Outcome;
use crate::outlook::certification_cost_min;
use crate::policy::{Choice, Policy};
use crate::problem::{Guarantee, Problem};
use crate::units::{ArmId, ServiceId};

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Make this call.
    Call(Call),
    /// Nothing until a call in flight has been settled.
    Wait,
    /// Nothing more, and no call is in flight.
    Done(StopReason),
}

/// Why there is nothing more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Every arm is certified or, if there are questions, one answer to each of them; Q = ∅ in the paper.
    AllCertified,
    /// No arm takes calls: each is certified or rejected, or another answer to its question is certified.
    AllDecided,
    /// No service is affordable any more; M = ∅ in the paper.
    BudgetSpent,
    /// The policy wants no more calls: all other arms are rejected, or cannot be certified any more.
    NothingWorthwhile,
    /// No arm has a realistic chance of being certified with the money that is left.
    Hopeless,
    /// The guarantee is [`Guarantee::Nothing`], and the policy wants no more calls: a recording is complete.
    AllCallsMade,
}

/// Options of a session; none can affect the validity of a certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Upper bound on the expected cost of calls in flight, as a share of the unsettled budget. One call is
    /// always allowed. With more calls in flight, the next call is chosen with less information.
    pub in_flight_share: f64,
    /// The number of calls that may be in flight in any case, if the unsettled budget is expected to pay for them.
    pub in_flight_min: u32,
    /// Whether to stop, and keep the rest of the budget, when no arm has a realistic chance of a certificate.
    pub stop_when_hopeless: bool,
}

impl Options {
    /// The options of a run: like the default, with four calls in flight even if money is short.
    pub fn of_run(stop_when_hopeless: bool) -> Self {
        Self { in_flight_min: 4, stop_when_hopeless, ..Self::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { in_flight_share: 0.02, in_flight_min: 1, stop_when_hopeless: false }
    }
}

/// [`Options::in_flight_share`] is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("in-flight share: {0} is not more than 0 and at most 1")]
pub struct InFlightShareOutOfRange(pub f64);

/// The policy chose a call that may not be made, or a share of δ that may not be lent. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("policy {policy}: {reason}")]
pub struct AskError {
    /// Which policy.
    pub policy: &'static str,
    /// The call that the policy chose.
    pub choice: Choice,
    /// Why the call or the share was refused.
    pub reason: Refusal,
}

/// A refused request of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The call may not be made.
    #[error("{0}")]
    Dispatch(DispatchError),
    /// The share may not be lent.
    #[error("{0}")]
    Lend(LendError),
}

/// Why events could not be replayed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The session would have asked for something else: another problem, policy or version.
    #[error("event {event}: recorded {recorded:?}, but the session asks {asked:?}")]
    Diverged {
        /// Which event, counted from 0.
        event: usize,
        /// What the record says.
        recorded: Event,
        /// What the session asks.
        asked: Box<Result<Ask, AskError>>,
    },
    /// The record has an impossible event.
    #[error("event {event}: {reason}")]
    Refused {
        /// Which event, counted from 0.
        event: usize,
        /// Why.
        reason: EventError,
    },
}

/// A problem, a policy, and the state of the work: the only writer of its [`Books`].
///
/// The contract: `ask` until it says [`Ask::Wait`] or [`Ask::Done`]; settle every ticket once, in any
/// order. Each call must be a fresh, independent run of the verifier: no
/// cache, no duplicates raced against each other.
pub struct Session {
    books: Books,
    policy: Box<dyn Policy + Send>,
    options: Options,
    chance: Chance,
    is_limited_by_budget: bool,
}

impl Session {
    /// Creates a session.
    pub fn new(problem: Problem, policy: impl Into<Box<dyn Policy + Send>>) -> Self {
        let options = Options::default();
        Self::with_options(problem, policy, options).expect("the default options make sense")
    }

    /// Creates a session with options.
    pub fn with_options(
        problem: Problem,
        policy: impl Into<Box<dyn Policy + Send>>,
        options: Options,
    ) -> Result<Self, InFlightShareOutOfRange> {
        let share = options.in_flight_share;
        if !(share > 0.0 && share <= 1.0) {
            return Err(InFlightShareOutOfRange(share));
        }
        let mut books = Books::new(problem);
        let mut policy = policy.into();
        books.changes.clear();
        policy.begin(&books);
        Ok(Self { books, policy, options, chance: Chance::default(), is_limited_by_budget: false })
    }

    /// Tallies, evidence, certificates and money.
    pub const fn books(&self) -> &Books {
        &self.books
    }

    /// The certified arms, in the order in which they were certified.
    pub fn certified(&self) -> &[ArmId] {
        self.books.certified()
    }

    /// Returns the next call, and reserves its ceiling.
    pub fn ask(&mut self) -> Result<Ask, AskError> {
        let next = self.next_choice();
        self.dispatch(next, None, self.options.in_flight_share)
    }

    /// Like [`Self::ask`], for a runner whose calls in flight all hang. If the next choice would call this service
    /// for an arm or question that has a call in flight, returns a call for another one instead, if possible.
    /// Ignores `in_flight_share`; the budget still applies.
    pub fn ask_probe(&mut self, service: ServiceId) -> Result<Ask, AskError> {
        let next = self.next_choice();
        let probe = self.books.problem().role(service).and_then(|role| {
            // The next choice serves as the probe if it asks another service, or has no call in flight.
            let suffices = |stream: Target| stream.role() != role || !self.books.is_awaited(stream);
            self.probe_target(next, role, suffices)
        });
        self.dispatch(next, probe, f64::INFINITY)
    }

    /// The oldest retry, or the policy's choice.
    fn next_choice(&mut self) -> Result<Choice, StopReason> {
        match self.books.streams.next_retry() {
            Some(target) => Ok(Choice { target, branch: "retry" }),
            None => self.choose(),
        }
    }

    /// Dispatches the probe if there is one, and otherwise the next choice.
    fn dispatch(
        &mut self,
        next: Result<Choice, StopReason>,
        probe: Option<Target>,
        in_flight_share: f64,
    ) -> Result<Ask, AskError> {
        if let Some(call) = probe.and_then(|target| self.books.dispatch_stream(target).ok()) {
            self.is_limited_by_budget = false;
            self.deliver();
            return Ok(Ask::Call(Call { branch: "another", ..call }));
        }
        if let Some(retry) = self.books.dispatch_retry() {
            self.deliver();
            return Ok(Ask::Call(Call { branch: "retry", ..retry }));
        }
        let choice = match next {
            Ok(choice) => choice,
            Err(stop) => {
                self.is_limited_by_budget = false;
                let is_done = self.books.in_flight_count() == 0;
                return Ok(if is_done { Ask::Done(stop) } else { Ask::Wait });
            }
        };
        let Choice { target, branch } = choice;
        let policy = self.policy.name();
        let refused = |reason| AskError { policy, choice, reason: Refusal::Dispatch(reason) };
        self.books.check_dispatch(target).map_err(refused)?;
        self.is_limited_by_budget = self.must_wait(target, in_flight_share);
        let service = self.books.problem().service(target);
        if self.is_limited_by_budget || self.books.lane(service).is_held() {
            return Ok(Ask::Wait);
        }
        let loan = self.lend(choice)?;
        let call = self.books.dispatch_stream(target).map_err(refused)?;
        self.deliver();
        Ok(Ask::Call(Call { branch, loan, ..call }))
    }

    /// The first target of this role without a call in flight; `None` if there is none, if no call is in flight at
    /// all, or if the next choice suffices.
    fn probe_target(
        &self,
        next: Result<Choice, StopReason>,
        role: Role,
        suffices: impl Fn(Target) -> bool,
    ) -> Option<Target> {
        let books = &self.books;
        let problem = books.problem();
        if !problem.has(role) || books.in_flight_count() == 0 {
            return None;
        }
        // An unknown arm from the policy becomes an error in `dispatch`.
        if let Ok(choice) = next
            && problem.known_stream_of(choice.target).is_none_or(suffices)
        {
            return None;
        }
        let may =
            |target: &Target| !books.is_awaited(*target) && books.check_dispatch(*target).is_ok();
        let about = |source| {
            let mut ids = problem.questions()?.ids().map(|it| Target::Question(it, source));
            ids.find(may)
        };
        match role {
            Role::Verifier(attribute) if !problem.are_votes(attribute) => {
                problem.arms().map(|arm| Target::Arm(arm, attribute)).find(may)
            }
            Role::Verifier(attribute) => about(Source::Votes(attribute)),
            Role::Generator(generator) => about(Source::Generator(generator)),
        }
    }

    /// Records the outcome and cost of a call; see [`Books::settle`].
    pub fn settle(
        &mut self,
        ticket: Ticket,
        outcome: &Outcome,
        bill: impl Into<Bill>,
    ) -> Result<Settlement, SettleError> {
        let settled = self.books.settle(ticket, outcome, bill)?;
        self.deliver();
        Ok(settled)
    }

    /// Declares that calls of this service may take hours, such as calls to people, and limits the number of
    /// them in flight (at least one). Slow calls do not count towards `in_flight_share`, and a policy may leave
    /// them for last. Must be called before the first call, and again before a replay. An unknown service is
    /// ignored.
    pub fn set_slow(&mut self, service: ServiceId, in_flight_max: u32) {
        self.books.funds.limit(service, in_flight_max);
        self.begin_again();
    }

    /// Raises the budget, at any time. Returns false, and changes nothing, if the new budget is smaller.
    pub fn raise_budget(&mut self, budget: Cost) -> bool {
        let raised = self.books.raise_budget(budget);
        if raised {
            self.deliver();
        }
        raised
    }

    /// Revokes the arm's share of δ; its evidence is lost. See [`Books::release`].
    pub fn release(&mut self, arm: ArmId) -> Result<(), LendError> {
        self.books.release(arm)?;
        self.deliver();
        Ok(())
    }

    /// Adds arms, in a time that grows with the number of all arms; see [`Books::add_arms`].
    pub fn add_arms(&mut self, count: usize) -> Result<(), AddArmsError> {
        self.books.add_arms(count)?;
        self.begin_again();
        Ok(())
    }

    /// Applies recorded events. Fails at the first event where the recorded and the recomputed decision
    /// differ. Returns the settlement of the last event.
    pub fn replay(
        &mut self,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Settlement, ReplayError> {
        let mut settled = Settlement::default();
        for (index, recorded) in events.into_iter().enumerate() {
            settled = self.replay_one(index, recorded)?;
        }
        Ok(settled)
    }

    fn replay_one(&mut self, index: usize, recorded: Event) -> Result<Settlement, ReplayError> {
        // The record does not tell `ask` from `ask_probe`, nor how often the runner asked.
        if let Event::Asked { target, .. } = recorded {
            let next = self.next_choice();
            let probe = self.probe_target(next, target.role(), |stream| stream == target);
            let is_recorded = |probe: &Target| self.books.problem().stream_of(*probe) == target;
            let asked = self.dispatch(next, probe.filter(is_recorded), f64::INFINITY);
            return match asked {
                Ok(Ask::Call(call)) if Event::from(call) == recorded => Ok(Settlement::default()),
                asked => {
                    let asked = Box::new(asked);
                    Err(ReplayError::Diverged { event: index, recorded, asked })
                }
            };
        }
        let refused = |reason| ReplayError::Refused { event: index, reason };
        let settled = self.books.apply(&recorded).map_err(refused)?;
        if matches!(recorded, Event::ArmsAdded { .. }) {
            self.begin_again();
        } else {
            self.deliver();
        }
        Ok(settled)
    }

    /// Restarts the policy: its conclusions depend on the arms and on which services are slow.
    fn begin_again(&mut self) {
        self.policy.begin(&self.books);
        self.chance = Chance::default();
        self.deliver();
    }

    fn choose(&mut self) -> Result<Choice, StopReason> {
        let problem = self.books.problem();
        if self.books.active_count() == 0 && !self.books.may_get_answers() {
            let undecided = |arm| {
                self.books.status(arm) == ArmStatus::Undecided && !self.books.is_superseded(arm)
            };
            return Err(if self.books.certified().len() == problem.certificates_max() {
                StopReason::AllCertified
            } else if problem.arms().any(undecided) {
                // The streams of these arms are blocked.
                StopReason::NothingWorthwhile
            } else {
                StopReason::AllDecided
            });
        }
        if !self.books.funds.is_anything_affordable() {
            return Err(StopReason::BudgetSpent);
        }
        if self.options.stop_when_hopeless && self.chance.is_gone {
            return Err(StopReason::Hopeless);
        }
        let is_promised = problem.guarantee() != Guarantee::Nothing;
        let done =
            if is_promised { StopReason::NothingWorthwhile } else { StopReason::AllCallsMade };
        self.policy.choose(&self.books).ok_or(done)
    }

    /// If the guarantee lends shares of δ, and the arm has none: lends it the share that the policy asks for.
    fn lend(&mut self, choice: Choice) -> Result<Option<(ArmId, Loan)>, AskError> {
        let Some(arm) = choice.arm() else { return Ok(None) };
        if self.books.pool().is_none() || self.books.share(arm).is_some() {
            return Ok(None);
        }
        let Some(share) = self.policy.lend(&self.books, choice) else { return Ok(None) };
        let policy = self.policy.name();
        let refused = |reason| AskError { policy, choice, reason: Refusal::Lend(reason) };
        let loan = self.books.lend(arm, share).map_err(refused)?;
        self.deliver();
        Ok(Some((arm, loan)))
    }

    /// Whether this call would exceed `in_flight_share`. False for a slow call, and if only slow calls are in
    /// flight.
    fn must_wait(&self, target: Target, in_flight_share: f64) -> bool {
        let lane = self.books.lane(self.books.problem().service(target));
        let (count, bill) = self.books.funds.fast_in_flight();
        if count == 0 || lane.is_slow() {
            return false;
        }
        // The factor allows for the rounding of sums.
        let unsettled = self.unsettled() * (1.0 + 1e-9);
        let least = self.options.in_flight_min;
        if count < least && f64::from(least) * lane.mean_bill <= unsettled {
            return false;
        }
        bill + lane.mean_bill > in_flight_share * unsettled
    }

    fn unsettled(&self) -> f64 {
        let ledger = self.books.ledger();
        (ledger.left() + ledger.reserved()).units()
    }

    /// Whether the last `ask` returned [`Ask::Wait`] because of `in_flight_share`.
    pub const fn is_limited_by_budget(&self) -> bool {
        self.is_limited_by_budget
    }

    /// Delivers the changes to the policy. Everything that later decisions depend on happens here and not
    /// in `ask`, so that asking once more or once less changes nothing.
    fn deliver(&mut self) {
        let changes = core::mem::take(&mut self.books.changes);
        for &change in &changes {
            match change {
                Change::Added(arm) => self.policy.on_birth(&self.books, arm),
                _ => self.policy.on_change(&self.books, change),
            }
        }
        if self.options.stop_when_hopeless {
            self.chance.reconsider(&self.books, &changes);
        }
        self.books.changes = changes;
        self.books.changes.clear();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("policy", &self.policy.name())
            .field("certified", &self.books.certified())
            .field("ledger", self.books.ledger())
            .finish_non_exhaustive()
    }
}

/// Whether any arm may still be certified with the money that is left.
#[derive(Clone, Copy, Debug, Default)]
struct Chance {
    is_gone: bool,
    /// The unsettled budget when `is_gone` was last computed: this takes time for every pair.
    left: Option<Cost>,
}

impl Chance {
    fn reconsider(&mut self, books: &Books, changes: &[Change]) {
        let unsettled = books.ledger().left() + books.ledger().reserved();
        let refreshed = changes.contains(&Change::PriorsRefreshed);
        let due = self.left.is_none_or(|left| {
            unsettled.units() < (1.0 - CHANCE_CHECK_SHARE) * left.units() || unsettled > left
        });
        if !(due || refreshed) {
            return;
        }
        self.left = Some(unsettled);
        // An answer that does not exist yet may be certified.
        self.is_gone =
            !books.may_get_answers() && certification_cost_min(books) > unsettled.units();
    }
}

/// The chance is computed again when this share of the unsettled budget is spent.
const CHANCE_CHECK_SHARE: f64 = 0.02;

/// A version. It is raised whenever the same outcomes would lead to another call, certificate or bill. A run can be
/// resumed only under the number with which it began.
pub const DECISIONS: u32 = 3;
