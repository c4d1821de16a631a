//! The share of wrong certificates under policies made to raise it. One first sees how lucky each
//! bad arm gets, and then certifies just as many good arms as the luckiest bad ones need for
//! company. That does not work on present e-values, but on their running maxima it does. Another
//! hides a crowd of slightly lucky bad arms behind a very good one.

use goodarm_core::{
    ArmId, AttributeId, AttributeSpec, Books, Cost, Guarantee, Outcome, Problem, ProblemSpec,
    ScoreModel, Target,
};
use goodarm_sim::random::Random;
use goodarm_sim::world::{ScoreLaw, Verifiers, World};

use super::lab::count;
use super::limit::{check_broken, check_valid};

use crate::doors::Doors;

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
    /// Wrong: the certified arms' e-values are enough on average; the smallest ones are not tested.
    OnAverage,
}

/// What the adversary does.
#[derive(Clone, Copy, PartialEq)]
enum Attack {
    /// Tries bad arms until they need no company, and then gives them what they need.
    Company,
    /// The same, but leaves bad arms when as many as there are good ones are enough company.
    ParkedCompany,
    /// Leaves bad arms when they could be certified if all arms were, and then makes
    /// a good one good enough for all.
    Crowd,
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
    /// The highest that the books have ever said of each arm, for a wrong reading.
    highest: Option<Vec<f64>>,
}

impl Matchmaker {
    fn new(reading: Reading, seed: u64) -> Self {
        let mean = |arm: u32| vec![if is_good(ArmId(arm)) { THRESHOLD + 0.4 } else { THRESHOLD }];
        let laws = vec![ScoreLaw::Gaussian(SIGMA)];
        let world = World::new((0..ARMS).map(mean).collect(), laws, &[1.0]);
        let highest = (reading == Reading::RunningMaximum).then(|| vec![0.0; ARMS as usize]);
        Self { books: Books::new(problem(reading)), world, seed, highest }
    }

    fn evidence(&self, arm: ArmId) -> f64 {
        match &self.highest {
            Some(highest) => highest[arm.index()],
            None => self.books.evidence(arm, ATTRIBUTE),
        }
    }

    /// Makes one call, if the arm takes calls.
    fn call(&mut self, arm: ArmId) -> bool {
        let Ok(pull) = self.books.dispatch(Target::Arm(arm, ATTRIBUTE)) else { return false };
        let call = self.books.tally(arm, ATTRIBUTE).returned_count;
        let Outcome::Score(score) = self.world.reply(self.seed, arm, ATTRIBUTE, call).outcome
        else {
            unreachable!("nothing fails here")
        };
        self.books.tell(pull.ticket, score, Cost::from_units(1)).expect("the call is in flight");
        let present = self.books.evidence(arm, ATTRIBUTE);
        if let Some(highest) = &mut self.highest {
            highest[arm.index()] = highest[arm.index()].max(present);
        }
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
        expected: None,
        threshold: THRESHOLD,
        scores: ScoreModel::SubGaussian { sigma: SIGMA, lowest: Some(-10.0) },
    };
    // With a wrong reading the books' own δ is so small that they certify nothing.
    let (guarantee, delta) = match reading {
        Reading::Session => (Guarantee::FalseDiscovery, DELTA),
        Reading::RunningMaximum | Reading::OnAverage => (Guarantee::FalseDiscovery, 1e-300),
    };
    Problem::new(ProblemSpec {
        arms: ARMS as usize,
        attributes: vec![judge],
        budget: 1e6,
        delta,
        guarantee,
    })
    .expect("a sound problem")
}

/// The arms that e-BH takes.
fn ebh(evidence: impl Fn(ArmId) -> f64) -> Vec<ArmId> {
    let at_least = |size: u32| -> Vec<ArmId> {
        let enough = |arm: &ArmId| evidence(*arm) >= level(size);
        (0..ARMS).map(ArmId).filter(enough).collect()
    };
    let fits = |size: &u32| count(at_least(*size).iter()) >= *size;
    (1..=ARMS).rev().find(fits).map(at_least).unwrap_or_default()
}

/// The largest set such that `fits(i, k, Σ)` holds for the sum of δ E over its i smallest, of k, for
/// every i; of arms whose E is at least 1/δ after it has been multiplied by `factor`.
fn largest_set(books: &Books, factor: f64, fits: impl Fn(u32, u32, f64) -> bool) -> Vec<ArmId> {
    let value = |arm: &ArmId| DELTA * factor * books.evidence(*arm, ATTRIBUTE).exp();
    let mut arms: Vec<ArmId> = books.problem().arms().filter(|arm| value(arm) >= 1.0).collect();
    arms.sort_by(|one, other| value(other).total_cmp(&value(one)));
    let all_fit = |arms: &[ArmId]| {
        let mut sum = 0.0;
        (1..).zip(arms.iter().rev()).all(|(smallest, arm)| {
            sum += value(arm);
            fits(smallest, count(arms.iter()), sum)
        })
    };
    while !all_fit(&arms) {
        arms.pop();
    }
    arms
}

// Σ ≥ i(i + Q - k)/k
fn closed_ebh(books: &Books, factor: f64) -> Vec<ArmId> {
    largest_set(books, factor, |smallest, size, sum| {
        sum * f64::from(size) >= f64::from(smallest * (smallest + ARMS - size))
    })
}

/// The certified arms at the end of one session.
fn certified(reading: Reading, attack: Attack, seed: u64) -> Vec<ArmId> {
    let mut matchmaker = Matchmaker::new(reading, seed);
    let luck = match attack {
        Attack::Company => level(1),
        Attack::ParkedCompany => level(GOOD),
        Attack::Crowd => level(ARMS),
    };
    for arm in bad_arms() {
        matchmaker.try_luck(arm, luck);
    }
    if attack == Attack::Crowd {
        let good = ArmId(0);
        while matchmaker.evidence(good) < level(1) && matchmaker.call(good) {}
    } else if let Some(size) = matchmaker.best_size() {
        matchmaker.find_company(size);
    }
    let books = &matchmaker.books;
    match reading {
        Reading::Session => books.certified().to_vec(),
        Reading::RunningMaximum => ebh(|arm| matchmaker.evidence(arm)),
        Reading::OnAverage => {
            let all = |sum| sum >= f64::from(ARMS);
            largest_set(books, 1.0, |smallest, size, sum| smallest < size || all(sum))
        }
    }
}

fn wrong_share(reading: Reading, attack: Attack, seed: u64) -> f64 {
    let certified = certified(reading, attack, seed);
    let wrong = count(certified.iter().filter(|arm| !is_good(**arm)));
    f64::from(wrong) / f64::from(count(certified.iter()).max(1))
}

/// Shares rounded at random to 0 or 1, so that their sum is binomial with the false discovery rate.
fn rounded_errors(reading: Reading, attack: Attack, trials: u32) -> u32 {
    let rounded = |trial: u32| {
        let seed = Random::at(u64::from(trial), &[attack as u64]).bits();
        let rounding = Random::at(seed, &[0]).uniform();
        u32::from(rounding < wrong_share(reading, attack, seed))
    };
    (0..trials).map(rounded).sum()
}

#[test]
fn company_for_lucky_bad_arms_does_no_harm() {
    for (attack, trials) in [(Attack::ParkedCompany, TRIALS / 8), (Attack::Company, TRIALS / 2)] {
        let errors = rounded_errors(Reading::Session, attack, trials);
        check_valid("matchmaker", errors, trials, DELTA);
    }
}

#[test]
fn e_values_at_their_highest_break_false_discovery() {
    let errors = rounded_errors(Reading::RunningMaximum, Attack::Company, TRIALS);
    check_broken("running maximum", errors, TRIALS, DELTA);
}

#[test]
fn a_crowd_behind_a_good_arm_does_no_harm_unless_it_is_judged_on_average() {
    let trials = TRIALS / 8;
    let errors = |reading| rounded_errors(reading, Attack::Crowd, trials);
    check_valid("crowd", errors(Reading::Session), trials, DELTA);
    check_broken("on average", errors(Reading::OnAverage), trials, DELTA);
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

/// The books round e-values down, by less than a hundredth.
#[test]
fn the_books_certify_what_closed_e_bh_takes() {
    let mut more_than_ebh = 0;
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
        let sorted = |mut arms: Vec<ArmId>| {
            arms.sort();
            arms
        };
        let books = &matchmaker.books;
        let certified = sorted(books.certified().to_vec());
        let is_certified = |arm: &ArmId| certified.contains(arm);
        assert!(closed_ebh(books, 0.99).iter().all(is_certified), "seed {seed}");
        let allowed = closed_ebh(books, 1.0);
        assert!(certified.iter().all(|arm| allowed.contains(arm)), "seed {seed}");
        let by_ebh = ebh(|arm| books.evidence(arm, ATTRIBUTE));
        more_than_ebh += count(certified.iter().filter(|arm| !by_ebh.contains(arm)));
    }
    assert!(more_than_ebh > 0);
}
