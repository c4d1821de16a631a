//! Lent shares of δ under policies that lend, release and sample at will, on boundary nulls: at most
//! δ for the books, and far more for each of five ways to get the rule wrong.

use goodarm_core::{
    ArmId, AttributeId, AttributeSpec, Books, Cost, CountedFailure, Failure, Guarantee, Problem,
    ProblemSpec, ScoreModel, Share, Target, Ticket,
};
use goodarm_sim::random::Random;

use super::limit::{check_broken, check_valid};

use crate::doors::Doors;

const DELTA: f64 = 0.2;
const ARMS: u32 = 12;
const TRIALS: u32 = 300;
/// What a strategy may spend.
const CALLS: u32 = 3000;

/// What a strategy can do, and see.
trait Lender {
    /// Lends an arm this part of the pool.
    fn lend(&mut self, arm: u32, part: f64);
    fn release(&mut self, arm: u32);
    /// Adds this part of the pool to an arm's share: not allowed, and so not done but by a twin.
    fn raise(&mut self, arm: u32, part: f64);
    fn call(&mut self, arm: u32) -> Ticket;
    fn back(&mut self, ticket: Ticket, score: bool);
    fn has_certificate(&self) -> bool;
    fn share_of(&self, arm: u32) -> f64;
}

/// The real ones.
struct Honest(Books);

impl Honest {
    fn new() -> Self {
        let judge = AttributeSpec {
            name: "judge".into(),
            price: 1.0,
            expected: None,
            threshold: 0.5,
            scores: ScoreModel::Binary,
        };
        let spec = ProblemSpec {
            arms: ARMS as usize,
            attributes: vec![judge],
            budget: 1e6,
            delta: DELTA,
            guarantee: Guarantee::Lent,
        };
        Self(Books::new(Problem::new(spec).expect("a sound problem")))
    }
}

impl Lender for Honest {
    fn lend(&mut self, arm: u32, part: f64) {
        let pool = self.0.pool().expect("shares are lent").fraction();
        // A refused share is not lent.
        let _ = self.0.lend(ArmId(arm), Share::of(pool * part));
    }

    fn release(&mut self, arm: u32) {
        let _ = self.0.release(ArmId(arm));
    }

    fn raise(&mut self, arm: u32, part: f64) {
        self.lend(arm, part);
    }

    fn call(&mut self, arm: u32) -> Ticket {
        self.0.dispatch(Target::Arm(ArmId(arm), AttributeId(0))).expect("the arm is open").ticket
    }

    /// Every other miss is a failure, which counts as one.
    fn back(&mut self, ticket: Ticket, score: bool) {
        let cost = Cost::from_units(1);
        if !score && ticket.0.is_multiple_of(2) {
            let failure = Failure::Counted(CountedFailure::Lost);
            self.0.fail(ticket, failure, cost).expect("the call is out");
        } else {
            let score = f64::from(u8::from(score));
            self.0.tell(ticket, score, cost).expect("the call is out");
        }
    }

    fn has_certificate(&self) -> bool {
        !self.0.certified().is_empty()
    }

    fn share_of(&self, arm: u32) -> f64 {
        self.0.share(ArmId(arm)).map_or(0.0, Share::fraction)
    }
}

/// How to get it wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Twin {
    /// The calls from before the loan count.
    CountsLooks,
    /// What is released comes back in full.
    RefundsAll,
    /// The share of an arm grows while it is being used.
    RaisesShares,
    /// A release looks at the best that the evidence ever was.
    ReleasesAtMaximum,
    /// A release looks at the calls that happen to be back.
    ReleasesAtPrefix,
}

/// The rule written down once more, for one bet: a hit makes 1.5 of the wealth, a miss 0.5.
struct Wrong {
    twin: Twin,
    pool: f64,
    arms: Vec<Arm>,
    calls: Vec<(u32, Option<bool>)>,
    certified: bool,
}

#[derive(Clone, Default)]
struct Arm {
    share: f64,
    /// Its calls in the order of their dispatch.
    calls: Vec<usize>,
    /// The first of them that counts.
    begin: usize,
    wealth_max: f64,
}

impl Wrong {
    fn new(twin: Twin) -> Self {
        let arms = vec![Arm::default(); ARMS as usize];
        Self { twin, pool: DELTA, arms, calls: Vec::new(), certified: false }
    }

    /// Wealth over the calls that are back without a gap, or with the others counted as misses.
    fn wealth(&self, arm: &Arm, imputed: bool) -> f64 {
        let begin = if self.twin == Twin::CountsLooks { 0 } else { arm.begin };
        let outcomes = arm.calls[begin..].iter().map(|&call| self.calls[call].1);
        let known =
            outcomes.map_while(|score| if imputed { Some(score == Some(true)) } else { score });
        known.fold(1.0, |wealth, hit| wealth * if hit { 1.5 } else { 0.5 })
    }

    fn reconsider(&mut self, index: u32) {
        let wealth = self.wealth(&self.arms[index as usize], false);
        let arm = &mut self.arms[index as usize];
        arm.wealth_max = arm.wealth_max.max(wealth);
        self.certified |= arm.share * arm.wealth_max >= 1.0;
    }
}

impl Lender for Wrong {
    fn lend(&mut self, index: u32, part: f64) {
        let arm = &mut self.arms[index as usize];
        if arm.share == 0.0 {
            arm.share = self.pool * part;
            self.pool -= arm.share;
            arm.begin = arm.calls.len();
            arm.wealth_max = 0.0;
            self.reconsider(index);
        }
    }

    fn release(&mut self, index: u32) {
        let arm = &self.arms[index as usize];
        let worth = match self.twin {
            Twin::RefundsAll => 1.0,
            Twin::ReleasesAtMaximum => arm.wealth_max,
            Twin::ReleasesAtPrefix => self.wealth(arm, false),
            Twin::CountsLooks | Twin::RaisesShares => self.wealth(arm, true),
        };
        self.pool += arm.share * worth.min(1.0);
        self.arms[index as usize].share = 0.0;
    }

    fn raise(&mut self, index: u32, part: f64) {
        if self.twin == Twin::RaisesShares {
            let more = self.pool * part;
            self.pool -= more;
            self.arms[index as usize].share += more;
            self.reconsider(index);
        }
    }

    fn call(&mut self, arm: u32) -> Ticket {
        self.arms[arm as usize].calls.push(self.calls.len());
        self.calls.push((arm, None));
        Ticket(self.calls.len() as u64 - 1)
    }

    fn back(&mut self, ticket: Ticket, score: bool) {
        let (arm, outcome) = &mut self.calls[usize::try_from(ticket.0).expect("a call")];
        *outcome = Some(score);
        let arm = *arm;
        self.reconsider(arm);
    }

    fn has_certificate(&self) -> bool {
        self.certified
    }

    fn share_of(&self, arm: u32) -> f64 {
        self.arms[arm as usize].share / DELTA
    }
}

/// A strategy plays until it has a certificate, or no calls are left. Every score is a fair coin, and
/// ξ is a half.
struct Player {
    lender: Box<dyn Lender>,
    coins: Random,
    calls_left: u32,
}

impl Player {
    fn may_play(&self) -> bool {
        self.calls_left > 0 && !self.lender.has_certificate()
    }

    fn toss(&mut self) -> bool {
        self.calls_left = self.calls_left.saturating_sub(1);
        self.coins.uniform() < 0.5
    }

    /// One call and its answer: the factor that it makes of a simple bet.
    fn play(&mut self, arm: u32) -> f64 {
        let ticket = self.lender.call(arm);
        let hit = self.toss();
        self.lender.back(ticket, hit);
        if hit { 1.5 } else { 0.5 }
    }

    /// Looks at every arm for long, and then lends all to the luckiest.
    fn look_first(&mut self) {
        let mut luck = [1.0_f64; ARMS as usize];
        for arm in 0..ARMS {
            for _ in 0..60 {
                if luck[arm as usize] < 1.0 / DELTA && self.may_play() {
                    luck[arm as usize] *= self.play(arm);
                }
            }
        }
        let luckiest = (0..ARMS).max_by(|&a, &b| luck[a as usize].total_cmp(&luck[b as usize]));
        let arm = luckiest.expect("there are arms");
        self.lender.lend(arm, 1.0);
        let mut wealth = 1.0;
        while self.may_play() && wealth > 1e-3 {
            wealth *= self.play(arm);
        }
    }

    /// Plays half of the pool on an arm until luck turns, takes back what it can, and continues.
    fn give_up_early(&mut self) {
        let mut arm = 0;
        while self.may_play() {
            self.lender.lend(arm, 0.5);
            let mut wealth = 1.0;
            while self.may_play() && wealth > 0.6 {
                wealth *= self.play(arm);
            }
            if !self.lender.has_certificate() {
                self.lender.release(arm);
            }
            arm = (arm + 1) % ARMS;
        }
    }

    /// Begins with crumbs on every arm, and gives more to those that are lucky.
    fn feed_the_lucky(&mut self) {
        let mut wealth = [1.0_f64; ARMS as usize];
        for arm in 0..ARMS {
            self.lender.lend(arm, 0.02);
        }
        while self.may_play() {
            let liveliest =
                (0..ARMS).max_by(|&a, &b| wealth[a as usize].total_cmp(&wealth[b as usize]));
            let arm = liveliest.expect("there are arms");
            if wealth[arm as usize] < 1e-3 {
                return;
            }
            wealth[arm as usize] *= self.play(arm);
            if wealth[arm as usize] * DELTA >= 1.0 {
                self.lender.raise(arm, 1.0);
            }
        }
    }

    /// Sends many calls at once, of which misses take long: what is back by then are hits. Unless all
    /// of them are, it takes the share back and lets the late ones come in afterwards.
    fn outrun_the_misses(&mut self) {
        let mut arm = 0;
        while self.may_play() {
            self.lender.lend(arm, 0.5);
            if self.lender.share_of(arm) < 1e-9 {
                return;
            }
            let mut is_lucky = true;
            while is_lucky && self.may_play() {
                let sent: Vec<(Ticket, bool)> =
                    (0..4).map(|_| (self.lender.call(arm), self.toss())).collect();
                for &(ticket, _) in sent.iter().filter(|(_, hit)| *hit) {
                    self.lender.back(ticket, true);
                }
                is_lucky = sent.iter().all(|(_, hit)| *hit);
                if !is_lucky && !self.lender.has_certificate() {
                    self.lender.release(arm);
                }
                for &(ticket, _) in sent.iter().filter(|(_, hit)| !*hit) {
                    self.lender.back(ticket, false);
                }
            }
            arm = (arm + 1) % ARMS;
        }
    }
}

type Strategy = fn(&mut Player);

const STRATEGIES: [(&str, Strategy); 4] = [
    ("look first", Player::look_first),
    ("give up early", Player::give_up_early),
    ("feed the lucky", Player::feed_the_lucky),
    ("outrun the misses", Player::outrun_the_misses),
];

fn errors(strategy: (usize, Strategy), lender: impl Fn() -> Box<dyn Lender>) -> u32 {
    let wrong = |trial: u32| {
        let coins = Random::at(77, &[strategy.0 as u64, u64::from(trial)]);
        let mut player = Player { lender: lender(), coins, calls_left: CALLS };
        strategy.1(&mut player);
        player.lender.has_certificate()
    };
    (0..TRIALS).map(|trial| u32::from(wrong(trial))).sum()
}

#[test]
fn any_loans_and_releases_are_wrong_with_probability_delta_at_most() {
    for (index, (name, strategy)) in STRATEGIES.into_iter().enumerate() {
        let found = errors((index, strategy), || Box::new(Honest::new()));
        check_valid(name, found, TRIALS, DELTA);
    }
}

#[test]
fn each_way_to_get_it_wrong_is_found_out() {
    for (twin, strategy) in [
        (Twin::CountsLooks, 0),
        (Twin::RefundsAll, 1),
        (Twin::RaisesShares, 2),
        (Twin::ReleasesAtMaximum, 1),
        (Twin::ReleasesAtPrefix, 3),
    ] {
        let (name, play) = STRATEGIES[strategy];
        let found = errors((strategy, play), || Box::new(Wrong::new(twin)));
        check_broken(&format!("{twin:?}, {name}"), found, TRIALS, DELTA);
        // Where the strategy does not touch what the twin gets wrong, the twin is right.
        let other = if strategy == 0 { 2 } else { 0 };
        let (name, play) = STRATEGIES[other];
        let found = errors((other, play), || Box::new(Wrong::new(twin)));
        check_valid(&format!("{twin:?}, {name}"), found, TRIALS, DELTA);
    }
}
