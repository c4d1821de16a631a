//! The share of wrong certificates under a policy made to raise it: it first sees how lucky each
//! bad arm gets, and then certifies just as many good arms as the luckiest bad ones need for
//! company. That does not work on present e-values, but on their running maxima it does.

use goodarm_core::{
    ArmId, AttributeId, AttributeSpec, Books, Cost, Guarantee, Problem, ProblemSpec, ScoreModel,
};
use goodarm_sim::random::Random;
use goodarm_sim::world::{Outcome, ScoreLaw, Verifiers, World};

use super::lab::count;
use super::limit::{check_broken, check_valid};

const TRIALS: u32 = 1600;
const DELTA: f64 = 0.2;
const GOOD: u32 = 8;
const BAD: u32 = 60;
const ARMS: u32 = GOOD + BAD;
const THRESHOLD: f64 = 0.5;
const SIGMA: f64 = 0.3;
const ATTRIBUTE: AttributeId = AttributeId(0);
/// Calls of each bad arm, unless it is left earlier.
const PATIENCE: u32 = 2000;

/// A bad arm is also left when its scores sum up to this many standard deviations too little.
const HOPELESS: f64 = 12.0;

/// What the certificates rest on.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// The session's own.
    Session,
    /// Wrong: e-BH on the highest e-value that each arm has ever had.
    RunningMaximum,
}

// ln(Q/(k δ))
fn level(size: u32) -> f64 {
    (f64::from(ARMS) / (f64::from(size) * DELTA)).ln()
}

fn is_good(arm: ArmId) -> bool {
    arm.0 < GOOD
}

/// One session's books, and what the adversary does to them.
struct Matchmaker {
    books: Books,
    world: World,
    seed: u64,
}

impl Matchmaker {
    fn new(reading: Reading, seed: u64) -> Self {
        let mean = |arm: u32| vec![if is_good(ArmId(arm)) { THRESHOLD + 0.4 } else { THRESHOLD }];
        let laws = vec![ScoreLaw::Gaussian(SIGMA)];
        let world = World::new((0..ARMS).map(mean).collect(), laws, &[1.0]);
        Self { books: Books::new(problem(reading)), world, seed }
    }

    fn evidence(&self, arm: ArmId) -> f64 {
        self.books.evidence(arm, ATTRIBUTE)
    }

    /// Makes one call, if the arm takes calls.
    fn call(&mut self, arm: ArmId) -> bool {
        let Ok(pull) = self.books.dispatch(arm, ATTRIBUTE) else { return false };
        let call = self.books.tally(arm, ATTRIBUTE).returned_count;
        let Outcome::Score(score) = self.world.reply(self.seed, arm, ATTRIBUTE, call).outcome
        else {
            unreachable!("nothing fails here")
        };
        self.books.tell(pull.ticket, score, Cost::from_units(1)).expect("the call is in flight");
        true
    }

    /// Tries a bad arm until it is lucky or not worth more.
    fn try_luck(&mut self, arm: ArmId, enough: f64) {
        for count in 0..PATIENCE {
            let excess = self.books.tally(arm, ATTRIBUTE).sum - THRESHOLD * f64::from(count);
            let goes_on = self.evidence(arm) < enough && excess > -HOPELESS * SIGMA;
            if !goes_on || !self.call(arm) {
                return;
            }
        }
    }

    /// The size of set with the largest share of bad arms that can be had.
    fn best_size(&self) -> Option<u32> {
        let lucky = |size: u32| {
            let reaches = |arm: &ArmId| self.evidence(*arm) >= level(size);
            count(bad_arms().filter(reaches))
        };
        let share = |size: u32| f64::from(lucky(size).min(size)) / f64::from(size);
        let sizes = (1..=GOOD).filter(|&size| lucky(size) > 0);
        sizes.max_by(|&one, &other| share(one).total_cmp(&share(other)))
    }

    /// Gives the lucky bad arms as much company as they need.
    fn find_company(&mut self, size: u32) {
        for arm in (0..GOOD).map(ArmId) {
            let reaches = |arm: &ArmId| self.evidence(*arm) >= level(size);
            if count(self.books.problem().arms().filter(reaches)) >= size {
                return;
            }
            while self.evidence(arm) < level(size) && self.call(arm) {}
        }
    }
}

fn bad_arms() -> impl Iterator<Item = ArmId> {
    (GOOD..ARMS).map(ArmId)
}

fn problem(reading: Reading) -> Problem {
    let judge = AttributeSpec {
        name: "judge".into(),
        price: 1.0,
        threshold: THRESHOLD,
        scores: ScoreModel::SubGaussian { sigma: SIGMA, lowest: Some(-10.0) },
    };
    // `Union` keeps running maxima, which the wrong reading then takes for e-values; its own δ is
    // so small that it certifies nothing.
    let (guarantee, delta) = match reading {
        Reading::Session => (Guarantee::FalseDiscovery, DELTA),
        Reading::RunningMaximum => (Guarantee::Union, 1e-300),
    };
    Problem::new(ProblemSpec {
        arms: ARMS as usize,
        attributes: vec![judge],
        budget: 1e6,
        delta,
        guarantee,
        prior_weights: None,
    })
    .expect("a sound problem")
}

/// The arms that e-BH takes.
fn ebh(books: &Books) -> Vec<ArmId> {
    let at_least = |size: u32| -> Vec<ArmId> {
        let enough = |arm: &ArmId| books.evidence(*arm, ATTRIBUTE) >= level(size);
        books.problem().arms().filter(enough).collect()
    };
    let fits = |size: &u32| count(at_least(*size).iter()) >= *size;
    (1..=ARMS).rev().find(fits).map(at_least).unwrap_or_default()
}

/// The certified arms at the end of one session.
fn certified(reading: Reading, parks: bool, seed: u64) -> Vec<ArmId> {
    let mut matchmaker = Matchmaker::new(reading, seed);
    for arm in bad_arms() {
        matchmaker.try_luck(arm, if parks { level(GOOD) } else { level(1) });
    }
    if let Some(size) = matchmaker.best_size() {
        matchmaker.find_company(size);
    }
    match reading {
        Reading::Session => matchmaker.books.certified().to_vec(),
        Reading::RunningMaximum => ebh(&matchmaker.books),
    }
}

fn wrong_share(reading: Reading, parks: bool, seed: u64) -> f64 {
    let certified = certified(reading, parks, seed);
    let wrong = count(certified.iter().filter(|arm| !is_good(**arm)));
    f64::from(wrong) / f64::from(count(certified.iter()).max(1))
}

/// Shares rounded at random to 0 or 1, so that their sum is binomial with the false discovery rate.
fn rounded_errors(reading: Reading, parks: bool, trials: u32) -> u32 {
    let rounded = |trial: u32| {
        let seed = Random::at(u64::from(trial), &[u64::from(parks)]).bits();
        let rounding = Random::at(seed, &[0]).uniform();
        u32::from(rounding < wrong_share(reading, parks, seed))
    };
    (0..trials).map(rounded).sum()
}

#[test]
fn company_for_lucky_bad_arms_does_no_harm() {
    for (parks, trials) in [(true, TRIALS / 8), (false, TRIALS / 2)] {
        let errors = rounded_errors(Reading::Session, parks, trials);
        check_valid(&format!("matchmaker, parks: {parks}"), errors, trials, DELTA);
    }
}

#[test]
fn e_values_at_their_highest_break_false_discovery() {
    let errors = rounded_errors(Reading::RunningMaximum, false, TRIALS);
    check_broken("running maximum", errors, TRIALS, DELTA);
}

/// Arms that come in one after the other, each tried at a level of its own; whether one is certified.
fn newcomers_err(level_of: impl Fn(u32) -> f64, trial: u32) -> bool {
    let mut matchmaker = Matchmaker::new(Reading::RunningMaximum, u64::from(trial));
    (1..=BAD).zip(bad_arms()).any(|(number, arm)| {
        matchmaker.try_luck(arm, level_of(number));
        matchmaker.evidence(arm) >= level_of(number)
    })
}

#[test]
fn levels_from_the_number_of_arms_so_far_break_it() {
    let trials = TRIALS / 4;
    let errors = |level_of: &dyn Fn(u32) -> f64| {
        (0..trials).map(|trial| u32::from(newcomers_err(level_of, trial))).sum()
    };
    // The union is over all arms there will ever be, not over those that have come so far.
    check_valid("all arms", errors(&|_| (f64::from(BAD) / DELTA).ln()), trials, DELTA);
    check_broken("arms so far", errors(&|number| (f64::from(number) / DELTA).ln()), trials, DELTA);
}

/// Where no arm was luckier than it is, both readings are the same.
#[test]
fn the_books_certify_what_e_bh_takes() {
    for seed in 0..20 {
        let mut matchmaker = Matchmaker::new(Reading::Session, seed);
        for arm in (0..ARMS).map(ArmId) {
            while matchmaker.evidence(arm) < level(1 + arm.0) && matchmaker.call(arm) {
                let given_up = matchmaker.books.tally(arm, ATTRIBUTE).returned_count == 20;
                if given_up {
                    break;
                }
            }
        }
        let mut certified = matchmaker.books.certified().to_vec();
        certified.sort();
        assert_eq!(certified, ebh(&matchmaker.books), "seed {seed}");
    }
}
