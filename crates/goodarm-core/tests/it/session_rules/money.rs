//! The budget, to the last decimal.

use goodarm_core::policy::{Choice, Policy};
use goodarm_core::{
    ArmId, ArmStatus, Ask, Bill, Books, Call, Cost, CountedFailure, Failure, Guarantee, Options,
    Outcome, ProblemSpec, REPEATS_MAX, ScoreModel, Session, StopReason, VoidFailure,
};
use goodarm_sim::random::Random;

use super::{FIRST, GUARANTEES, SUB_GAUSSIAN, UNIT, problem, pulled, round_robin, send, spec};

use crate::doors::Doors;

fn cost(units: f64) -> Cost {
    Cost::of_price(units).expect("an amount")
}

fn binary(budget: f64) -> ProblemSpec {
    ProblemSpec { budget, ..spec(3, Guarantee::Holm, &[ScoreModel::Binary]) }
}

#[test]
fn ten_calls_at_a_dime_fit_a_budget_of_one() {
    let mut spec = binary(1.0);
    spec.attributes[0].price = 0.1;
    let mut session = Session::new(problem(spec), round_robin());
    for _ in 0..10 {
        let pull = pulled(session.ask().unwrap());
        session.tell(pull.ticket, 0.0, cost(0.1)).unwrap();
    }
    assert_eq!(session.ask(), Ok(Ask::Done(StopReason::BudgetSpent)));
    assert_eq!(session.books().ledger().settled(), session.books().ledger().budget());
}

#[test]
fn a_budget_below_every_price_buys_nothing() {
    for guarantee in GUARANTEES {
        let spec = ProblemSpec { guarantee, ..binary(0.999) };
        let mut session = Session::new(problem(spec), round_robin());
        assert_eq!(session.ask(), Ok(Ask::Done(StopReason::BudgetSpent)));
        assert!(session.certified().is_empty());
        assert_eq!(session.books().ledger().settled(), Cost::ZERO);
    }
}

/// Condition 17: a bill above the ceiling is a fact, and so is the score that came with it.
#[test]
fn an_overrun_is_recorded_and_its_score_counts() {
    let mut books = Books::new(problem(binary(10.0)));
    let pull = send(&mut books, 0, FIRST);
    books.tell(pull.ticket, 1.0, cost(9.5)).unwrap();
    let ledger = books.ledger();
    assert_eq!((ledger.settled(), ledger.left()), (cost(9.5), cost(0.5)));
    assert_eq!((ledger.overrun_count(), ledger.overrun()), (1, cost(8.5)));
    assert_eq!(books.evidence_count(ArmId(0), FIRST), 1);
    assert!(!books.is_affordable(FIRST), "what is left no longer buys a call");
    let mut broke = Books::new(problem(binary(10.0)));
    let [one, other] = [0, 1].map(|arm| send(&mut broke, arm, FIRST));
    broke.tell(one.ticket, 1.0, cost(25.0)).unwrap();
    assert_eq!((broke.ledger().settled(), broke.ledger().left()), (cost(25.0), Cost::ZERO));
    broke.tell(other.ticket, 1.0, UNIT).unwrap();
    assert_eq!(broke.ledger().settled(), cost(26.0), "what is in flight is still paid for");
}

#[test]
fn the_money_of_a_void_call_stays_reserved_for_its_retry() {
    let mut books = Books::new(problem(binary(2.0)));
    let void = send(&mut books, 0, FIRST);
    send(&mut books, 1, FIRST);
    books.fail(void.ticket, Failure::Void(VoidFailure::RateLimited), Cost::ZERO).unwrap();
    assert_eq!(books.ledger().reserved(), cost(2.0));
    assert!(!books.is_affordable(FIRST), "no other call gets it");
    let retry = books.dispatch_retry().unwrap();
    assert_eq!((retry.ceiling, books.ledger().reserved()), (UNIT, cost(2.0)));
}

#[test]
fn the_money_of_a_retry_that_is_not_needed_is_free_again() {
    let scores = [ScoreModel::Exact, ScoreModel::Binary];
    let mut books =
        Books::new(problem(ProblemSpec { budget: 2.0, ..spec(2, Guarantee::Holm, &scores) }));
    let exact = send(&mut books, 0, FIRST);
    let void = send(&mut books, 0, super::SECOND);
    books.fail(void.ticket, Failure::Void(VoidFailure::RateLimited), Cost::ZERO).unwrap();
    books.tell(exact.ticket, 0.0, UNIT).unwrap();
    assert!(!books.is_active(ArmId(0)));
    assert_eq!(books.ledger().reserved(), Cost::ZERO);
    assert!(books.is_affordable(FIRST));
    assert!(books.dispatch_retry().is_none());
}

#[test]
fn a_lost_call_is_paid_and_made_again_only_if_it_says_the_same_again() {
    let lost = Failure::Void(VoidFailure::NoVerdict);
    let mut exact = Books::new(problem(ProblemSpec {
        budget: 3.0,
        ..spec(2, Guarantee::Holm, &[ScoreModel::Exact])
    }));
    let pull = send(&mut exact, 0, FIRST);
    exact.fail(pull.ticket, lost, UNIT).unwrap();
    assert_eq!((exact.ledger().settled(), exact.ledger().reserved()), (UNIT, UNIT));
    assert!(exact.is_active(ArmId(0)), "a lost call does not count against the answer");
    assert!(exact.dispatch_retry().is_some());

    let mut noisy = Books::new(problem(binary(3.0)));
    let pull = send(&mut noisy, 0, FIRST);
    noisy.fail(pull.ticket, lost, UNIT).unwrap();
    assert!(noisy.dispatch_retry().is_none(), "a second chance would break δ");
    assert_eq!(noisy.evidence_count(ArmId(0), FIRST), 1, "it counts as the lowest score");
    assert!(noisy.tally(ArmId(0), FIRST).mean().abs() < 1e-12);
}

#[test]
fn an_exact_call_without_a_verdict_is_made_again_three_times_and_then_counts() {
    let unscored = Failure::Void(VoidFailure::NoVerdict);
    let mut books = Books::new(problem(ProblemSpec {
        budget: 9.0,
        ..spec(2, Guarantee::Holm, &[ScoreModel::Exact])
    }));
    let mut pull = send(&mut books, 0, FIRST);
    for attempt in 1..=REPEATS_MAX {
        books.fail(pull.ticket, unscored, Cost::ZERO).unwrap();
        pull = books.dispatch_retry().expect("a repeat");
        assert_eq!(pull.attempt, attempt);
    }
    books.fail(pull.ticket, unscored, Cost::ZERO).unwrap();
    assert!(books.dispatch_retry().is_none());
    assert!(!books.is_active(ArmId(0)), "it is not passed");
    assert_eq!(books.status(ArmId(0)), ArmStatus::Undecided, "and no verdict rejects it");
}

#[test]
fn an_unknown_bill_is_believed_at_the_mean_and_kept_at_its_ceiling() {
    let mut books = Books::new(problem(binary(3.0)));
    let half = Cost::of_price(0.5).unwrap();
    let service = books.problem().service_of(FIRST);
    assert_eq!(books.lane(service).typical_bill(), UNIT, "nothing is known");
    for bill in [half, Cost::ZERO] {
        let pull = send(&mut books, 0, FIRST);
        books.tell(pull.ticket, 1.0, bill).unwrap();
    }
    assert_eq!(books.lane(service).typical_bill(), half, "a free call is not a bill");
    let mut others = Books::new(problem(binary(3.0)));
    for bill in [0.1, 0.1, 0.2] {
        let pull = send(&mut others, 0, FIRST);
        others.tell(pull.ticket, 1.0, cost(bill)).unwrap();
    }
    assert_eq!(others.lane(service).typical_bill(), cost(0.134), "three digits, rounded up");
    let pull = send(&mut books, 0, FIRST);
    let timeout = Outcome::Failed(Failure::Counted(CountedFailure::TimedOut));
    books.settle(pull.ticket, &timeout, Bill::unknown(half, UNIT)).unwrap();
    let ledger = books.ledger();
    assert_eq!((ledger.settled(), ledger.possible()), (UNIT, UNIT + half));
    let again = send(&mut books, 0, FIRST);
    books.settle(again.ticket, &timeout, Bill::unknown(half, UNIT)).unwrap();
    assert!(!books.is_affordable(FIRST), "half a unit is left, and one is believed to be");
}

#[test]
fn a_share_of_the_money_limits_what_is_in_flight() {
    for (in_flight_share, calls) in [(0.02, 2), (0.1, 10), (1.0, 100), (1e-9, 1)] {
        let options = Options { in_flight_share, ..Options::default() };
        let mut session =
            Session::with_options(problem(binary(100.0)), round_robin(), options).unwrap();
        let mut out: Vec<Call> = Vec::new();
        while let Ask::Call(pull) = session.ask().unwrap() {
            out.push(pull);
        }
        assert_eq!(out.len(), calls, "share {in_flight_share}");
        assert_eq!(session.ask(), Ok(Ask::Wait));
        session.tell(out[0].ticket, 0.0, UNIT).unwrap();
        // The next call fits if it and the calls in flight are within the share of what is left.
        let again = matches!(session.ask(), Ok(Ask::Call(_)));
        assert_eq!(again, calls == 1, "share {in_flight_share}");
    }
}

/// A few calls are always allowed, unless the money is not expected to pay for them.
#[test]
fn little_money_is_spent_one_call_at_a_time() {
    for (budget, in_flight_min, calls) in [(3.0, 4, 1), (4.0, 4, 4), (100.0, 4, 4), (100.0, 1, 2)] {
        let options = Options { in_flight_min, ..Options::default() };
        let mut session =
            Session::with_options(problem(binary(budget)), round_robin(), options).unwrap();
        let mut count = 0;
        while let Ask::Call(_) = session.ask().unwrap() {
            count += 1;
        }
        assert_eq!(count, calls, "a budget of {budget}, at least {in_flight_min}");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    for in_flight_share in [0.0, -1.0, 1.01, f64::INFINITY, f64::NAN] {
        let options = Options { in_flight_share, ..Options::default() };
        let session = Session::with_options(problem(binary(1.0)), round_robin(), options);
        assert!(session.is_err(), "{in_flight_share}");
    }
}

/// Condition 18: more money is always valid, less is not.
#[test]
fn a_budget_can_be_raised_and_not_lowered() {
    for name in goodarm_core::policy::NAMES {
        let means = vec![vec![0.9]; 3];
        let parameters =
            goodarm_core::policy::Parameters { means: Some(means), ..Default::default() };
        let policy = goodarm_core::policy::by_name(name, &parameters).unwrap();
        let mut session = Session::new(problem(binary(2.0)), policy);
        assert_eq!(spend(&mut session), Ask::Done(StopReason::BudgetSpent), "{name}");
        assert!(session.certified().is_empty(), "{name}");
        let before = super::picture(session.books());
        assert!(!session.raise_budget(cost(1.999)), "{name}");
        assert_eq!(super::picture(session.books()), before, "{name}");
        assert!(session.raise_budget(cost(500.0)), "{name}");
        assert_eq!(spend(&mut session), Ask::Done(StopReason::AllCertified), "{name}");
    }
}

/// Answers every call with a pass until there are no more.
fn spend(session: &mut Session) -> Ask {
    loop {
        match session.ask().expect("the policy names an open pair") {
            Ask::Call(pull) => session.tell(pull.ticket, 1.0, UNIT).expect("the call is in flight"),
            end => return end,
        }
    }
}

/// Fails every call until there are no more.
fn waste(session: &mut Session) -> Ask {
    loop {
        match session.ask().expect("the policy names an open pair") {
            Ask::Call(pull) => session.tell(pull.ticket, 0.0, UNIT).expect("the call is in flight"),
            end => return end,
        }
    }
}

#[test]
fn a_hopeless_session_stops_if_the_option_is_set() {
    let session = |stop_when_hopeless| {
        let options = Options { stop_when_hopeless, ..Options::default() };
        Session::with_options(problem(binary(3000.0)), round_robin(), options).unwrap()
    };
    let mut stubborn = session(false);
    assert_eq!(waste(&mut stubborn), Ask::Done(StopReason::BudgetSpent));
    let mut sensible = session(true);
    assert_eq!(waste(&mut sensible), Ask::Done(StopReason::Hopeless));
    let left = sensible.books().ledger().left();
    assert!(left > cost(2000.0), "{left}");
    assert!(sensible.raise_budget(cost(1e6)), "with more money it is not hopeless");
    assert!(matches!(sensible.ask(), Ok(Ask::Call(_))));
}

/// A failed call with no safe score blocks its stream: the arm can never be certified, and a policy
/// that does not see it must not be paid for long.
#[test]
fn a_blocked_stream_is_hopeless() {
    for guarantee in [Guarantee::Paper, Guarantee::Holm, Guarantee::FalseDiscovery] {
        let scores = [SUB_GAUSSIAN, ScoreModel::Binary];
        let spec = ProblemSpec { budget: 3000.0, ..spec(1, guarantee, &scores) };
        let options = Options { stop_when_hopeless: true, ..Options::default() };
        let policy = round_robin();
        let mut session = Session::with_options(problem(spec), policy, options).unwrap();
        let Ok(Ask::Call(first)) = session.ask() else { panic!("a first call") };
        let failure = Failure::Counted(CountedFailure::TimedOut);
        session.fail(first.ticket, failure, UNIT).unwrap();
        while let Ok(Ask::Call(pull)) = session.ask() {
            session.tell(pull.ticket, 1.0, UNIT).unwrap();
        }
        let spent = session.books().ledger().settled();
        assert!(spent < cost(200.0), "{guarantee:?}: {spent} spent on an arm that is lost");
    }
}

/// Names any pair that may be pulled, or sometimes none.
struct RandomPolicy {
    random: Random,
}

impl Policy for RandomPolicy {
    fn name(&self) -> &'static str {
        "random"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let problem = books.problem();
        let pairs = problem.arms().flat_map(|arm| problem.attributes().map(move |m| (arm, m)));
        let may = |&(arm, attribute): &(_, _)| {
            books.is_open(arm, attribute) && books.is_affordable(attribute)
        };
        let open: Vec<_> = pairs.filter(may).collect();
        let chosen = self.random.below(open.len() as u64 + 1);
        let (arm, attribute) = *open.get(usize::try_from(chosen).expect("a small number"))?;
        Some(Choice::pair(arm, attribute, "random"))
    }
}

/// A caller that answers at random: what it has paid, and its calls in flight.
struct RandomCaller {
    random: Random,
    out: Vec<Call>,
    billed: Cost,
}

impl RandomCaller {
    /// Answers some call in flight, somehow; no bill is above its ceiling.
    fn answer(&mut self, session: &mut Session) {
        let chosen = self.random.below(self.out.len() as u64);
        let pull = self.out.swap_remove(usize::try_from(chosen).expect("a small number"));
        let picos = u64::try_from(pull.ceiling.picos()).expect("a small amount");
        let bill = Cost::from_picos(u128::from(self.random.below(picos + 1)));
        self.billed = self.billed + bill;
        let answered = match self.random.below(10) {
            0 => session.fail(pull.ticket, Failure::Counted(CountedFailure::Crashed), bill),
            1 | 2 => session.fail(pull.ticket, Failure::Void(VoidFailure::NotConnected), bill),
            score => session.tell(pull.ticket, f64::from(u8::from(score > 3)), bill),
        };
        answered.expect("the call is in flight");
    }

    fn check(&self, session: &Session) {
        let ledger = session.books().ledger();
        assert!(ledger.settled() + ledger.reserved() <= ledger.budget(), "{ledger:?}");
        assert_eq!(ledger.settled(), self.billed);
        assert_eq!(ledger.settled() + ledger.reserved() + ledger.left(), ledger.budget());
        let out: Cost = self.out.iter().fold(Cost::ZERO, |sum, pull| sum + pull.ceiling);
        assert!(ledger.reserved() >= out, "{ledger:?}");
        let mut certified = session.certified().to_vec();
        certified.sort();
        certified.dedup();
        assert_eq!(certified.len(), session.certified().len(), "no arm is certified twice");
    }
}

#[test]
fn the_budget_holds_for_any_services_and_policies() {
    let scores = [ScoreModel::Binary, SUB_GAUSSIAN, ScoreModel::UNIT, ScoreModel::Exact];
    for seed in 0..60 {
        let guarantee = GUARANTEES[usize::try_from(seed % 4).unwrap()];
        let mut spec = ProblemSpec { budget: 123.456_789, ..spec(4, guarantee, &scores) };
        for (attribute, price) in spec.attributes.iter_mut().zip([0.1, 1.7, 0.333_333, 3.0]) {
            attribute.price = price;
        }
        let options = Options { in_flight_share: 0.3, ..Options::default() };
        let policy = RandomPolicy { random: Random::at(seed, &[1]) };
        let mut session = Session::with_options(problem(spec), policy, options).unwrap();
        let mut caller =
            RandomCaller { random: Random::at(seed, &[2]), out: Vec::new(), billed: Cost::ZERO };
        for _ in 0..3000 {
            let ask = session.ask().unwrap();
            match ask {
                Ask::Call(pull) => caller.out.push(pull),
                Ask::Wait => caller.answer(&mut session),
                // The policy may have named nothing: ask again.
                Ask::Done(_) => {}
            }
            caller.check(&session);
        }
        while !caller.out.is_empty() {
            caller.answer(&mut session);
            caller.check(&session);
        }
    }
}
