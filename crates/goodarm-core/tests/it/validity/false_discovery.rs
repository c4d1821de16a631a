//! The share of wrong certificates under a policy made to raise it: it first sees how lucky each
//! bad arm gets, and then certifies just as many good arms as the luckiest bad ones need for
//! company. On present e-values that is no use; on their running maxima it is.

use goodarm_core::policy::{Choice, Policy};
use goodarm_core::{
    ArmId, Ask, AttributeId, AttributeSpec, Books, Cost, Guarantee, Problem, ProblemSpec,
    ScoreModel, Session,
};
use goodarm_sim::random::Random;
use goodarm_sim::world::{Outcome, ScoreLaw, World};

use super::lab::count;
use super::limit::{check_broken, check_valid};

const TRIALS: u32 = 300;
const DELTA: f64 = 0.2;
const GOOD: u32 = 20;
const BAD: u32 = 100;
const ARMS: u32 = GOOD + BAD;
const SIGMA: f64 = 0.5;
const ATTRIBUTE: AttributeId = AttributeId(0);
/// Calls of each bad arm, unless it is left earlier.
const PATIENCE: u64 = 80;

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

/// See the module page.
struct Matchmaker {
    /// Whether a bad arm is left for good as soon as it is worth company.
    parks: bool,
}

impl Matchmaker {
    fn next_bad(&self, books: &Books) -> Option<ArmId> {
        let enough = if self.parks { level(GOOD) } else { level(1) };
        let wanted = |arm: &ArmId| {
            let tries = books.tally(*arm, ATTRIBUTE).dispatched_count;
            !is_good(*arm)
                && books.is_active(*arm)
                && tries < PATIENCE
                && books.evidence(*arm, ATTRIBUTE) < enough
        };
        books.problem().arms().find(wanted)
    }

    /// The size of set with the largest share of bad arms that can be had.
    fn best_size(books: &Books) -> Option<u32> {
        let lucky = |size: u32| {
            let reaches = |arm: &ArmId| books.evidence(*arm, ATTRIBUTE) >= level(size);
            count(books.problem().arms().filter(|arm| !is_good(*arm)).filter(reaches))
        };
        let share = |size: u32| f64::from(lucky(size).min(size)) / f64::from(size);
        let sizes = (1..=GOOD).filter(|&size| lucky(size) > 0);
        sizes.max_by(|&one, &other| share(one).total_cmp(&share(other)))
    }
}

impl Policy for Matchmaker {
    fn name(&self) -> &'static str {
        "matchmaker"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let choice = |arm| Choice { arm, attribute: ATTRIBUTE, branch: "match" };
        if let Some(arm) = self.next_bad(books) {
            return Some(choice(arm));
        }
        let size = Self::best_size(books)?;
        let reaches = |arm: &ArmId| books.evidence(*arm, ATTRIBUTE) >= level(size);
        if count(books.problem().arms().filter(reaches)) >= size {
            return None;
        }
        let lonely = |arm: &ArmId| is_good(*arm) && books.is_active(*arm) && !reaches(arm);
        books.problem().arms().find(lonely).map(choice)
    }
}

fn session(reading: Reading, parks: bool) -> Session {
    let judge = AttributeSpec {
        name: "judge".into(),
        price: 1.0,
        threshold: 0.5,
        scores: ScoreModel::SubGaussian { sigma: SIGMA, lowest: Some(-10.0) },
    };
    // `Union` keeps running maxima, which the wrong reading then takes for e-values; its own δ is
    // so small that it certifies nothing.
    let (guarantee, delta) = match reading {
        Reading::Session => (Guarantee::FalseDiscovery, DELTA),
        Reading::RunningMaximum => (Guarantee::Union, 1e-300),
    };
    let problem = Problem::new(ProblemSpec {
        arms: ARMS as usize,
        attributes: vec![judge],
        budget: 1e6,
        delta,
        guarantee,
        prior_weights: None,
    });
    Session::new(problem.expect("a sound problem"), Matchmaker { parks })
}

/// The arms whose e-values e-BH takes.
fn ebh(books: &Books) -> Vec<ArmId> {
    let at_least = |size: u32| -> Vec<ArmId> {
        let enough = |arm: &ArmId| books.evidence(*arm, ATTRIBUTE) >= level(size);
        books.problem().arms().filter(enough).collect()
    };
    let fits = |size: &u32| count(at_least(*size).iter()) >= *size;
    (1..=ARMS).rev().find(fits).map(at_least).unwrap_or_default()
}

/// The share of wrong certificates at the end of one session.
fn wrong_share(reading: Reading, parks: bool, seed: u64) -> f64 {
    let mean = |arm: u32| vec![if is_good(ArmId(arm)) { 0.95 } else { 0.5 }];
    let laws = vec![ScoreLaw::Gaussian(SIGMA)];
    let world = World::new((0..ARMS).map(mean).collect(), laws, &[1.0]);
    let mut session = session(reading, parks);
    while let Ask::Pull(pull) = session.ask().expect("the matchmaker names open pairs") {
        let call = session.books().tally(pull.arm, ATTRIBUTE).returned_count;
        let Outcome::Score(score) = world.reply(seed, pull.arm, ATTRIBUTE, call).outcome else {
            unreachable!("nothing fails here")
        };
        session.tell(pull.ticket, score, Cost::from_units(1)).expect("the ticket is out");
    }
    let certified = match reading {
        Reading::Session => session.certified().to_vec(),
        Reading::RunningMaximum => ebh(session.books()),
    };
    let wrong = count(certified.iter().filter(|arm| !is_good(**arm)));
    f64::from(wrong) / f64::from(count(certified.iter()).max(1))
}

/// Shares rounded at random to 0 or 1, so that their sum is binomial with the false discovery rate.
fn rounded_errors(reading: Reading, parks: bool) -> u32 {
    let rounded = |trial: u32| {
        let seed = Random::at(u64::from(trial), &[u64::from(parks)]).bits();
        let rounding = Random::at(seed, &[0]).uniform();
        u32::from(rounding < wrong_share(reading, parks, seed))
    };
    (0..TRIALS).map(rounded).sum()
}

#[test]
fn company_for_lucky_bad_arms_does_no_harm() {
    for parks in [false, true] {
        let errors = rounded_errors(Reading::Session, parks);
        check_valid(&format!("matchmaker, parks: {parks}"), errors, TRIALS, DELTA);
    }
}

#[test]
fn e_values_at_their_highest_break_false_discovery() {
    let errors = rounded_errors(Reading::RunningMaximum, false);
    check_broken("running maximum", errors, TRIALS, DELTA);
}

/// The two readings agree on what e-BH is.
#[test]
fn the_session_certifies_what_e_bh_takes() {
    for trial in 0..20 {
        let mut session = session(Reading::Session, true);
        let mut random = Random::at(trial, &[]);
        while let Ask::Pull(pull) = session.ask().expect("the matchmaker names open pairs") {
            let score = 0.55 + SIGMA * random.normal();
            session.tell(pull.ticket, score, Cost::from_units(1)).expect("the ticket is out");
            let mut certified = session.certified().to_vec();
            certified.sort();
            assert_eq!(certified, ebh(session.books()), "trial {trial}");
        }
    }
}
