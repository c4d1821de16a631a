//! Wrong twins: each breaks one rule in a setting where the rule holds, and is caught.

use goodarm_core::policy::{Choice, Policy};
use goodarm_core::{ArmId, Books, Guarantee, ScoreModel};

use super::FAILURES;
use super::lab::{BINARY, BOUNDED, Drift, FLOORED, Habit, Lab, NOISE, Scores};
use super::limit::{check_broken, check_valid};

/// Sessions for each of two twins.
const TRIALS: u32 = 100;

/// Runs the setting as it should be run, and then its wrong twin.
fn check_twins(what: &str, policy: &str, right: Lab, wrong: Lab) {
    // A small rate takes more sessions to tell from a somewhat larger one.
    let trials = if right.delta < 0.1 { 3 * TRIALS } else { TRIALS };
    check_valid(what, right.errors(policy, trials), trials, right.delta);
    check_broken(what, wrong.errors(policy, trials), trials, right.delta);
}

#[test]
fn scores_in_order_of_completion_break_it() {
    for scores in [FLOORED, BOUNDED, BINARY] {
        for guarantee in [Guarantee::Union, Guarantee::Holm] {
            let lab = Lab { concurrency: 64, ..Lab::new(guarantee, scores) };
            let wrong = Lab { habit: Habit::CompletionOrder, ..lab };
            check_twins("completion order", "chaser", lab, wrong);
        }
    }
}

#[test]
fn dropped_failures_break_it() {
    for guarantee in [Guarantee::Union, Guarantee::Holm, Guarantee::FalseDiscovery] {
        let lab = Lab { failures: FAILURES, calls: 2000, ..Lab::new(guarantee, BINARY) };
        let wrong = Lab { habit: Habit::FailuresDropped, ..lab };
        check_twins("dropped failures", "chaser", lab, wrong);
    }
}

#[test]
fn a_response_cache_breaks_it() {
    let lab = Lab::new(Guarantee::Holm, BINARY);
    check_twins("cache", "rcb", lab, Lab { habit: Habit::Cached, ..lab });
}

#[test]
fn the_faster_of_two_duplicates_breaks_it() {
    let lab = Lab::new(Guarantee::Holm, BINARY);
    check_twins("hedging", "rcb", lab, Lab { habit: Habit::Hedged, ..lab });
}

#[test]
fn every_arm_at_delta_breaks_it() {
    for guarantee in [Guarantee::Union, Guarantee::Holm] {
        for policy in ["rcb", "chaser"] {
            let right = Lab { delta: 0.05, ..Lab::new(guarantee, BINARY) };
            let wrong = Lab { delta: right.delta * f64::from(right.arms), ..right };
            check_twins("no union over arms", policy, right, wrong);
        }
    }
}

#[test]
fn a_sigma_that_is_too_small_breaks_it() {
    let declared = |sigma| Scores {
        declared: ScoreModel::SubGaussian { sigma, lowest: Some(-3.0) },
        ..FLOORED
    };
    for guarantee in [Guarantee::Union, Guarantee::Holm, Guarantee::FalseDiscovery] {
        let right = Lab::new(guarantee, declared(NOISE));
        let wrong = Lab { scores: declared(0.5 * NOISE), ..right };
        check_twins("sigma", "chaser", right, wrong);
    }
    let right = Lab::new(Guarantee::Paper, declared(NOISE));
    let wrong = Lab { scores: declared(0.25 * NOISE), ..right };
    check_twins("sigma", "rcb", right, wrong);
}

#[test]
fn a_score_that_is_clipped_up_breaks_it() {
    // Scores below 0.3 end their stream; as calls that count as 0.3 they would be more than they were.
    let declared = ScoreModel::SubGaussian { sigma: NOISE, lowest: Some(0.3) };
    let right = Lab::new(Guarantee::Holm, Scores { declared, ..FLOORED });
    check_twins("lowest score", "rcb", right, Lab { habit: Habit::ClippedUp, ..right });
}

#[test]
fn taking_turns_at_being_bad_breaks_it() {
    // An arm that is bad at any moment, but not always on the same attribute.
    let lab = Lab { concurrency: 16, ..Lab::new(Guarantee::Holm, BINARY) };
    check_twins("rotating attributes", "oracle", lab, Lab { drift: Drift::Rotating, ..lab });
}

#[test]
fn not_counting_the_arms_that_were_dropped_breaks_it() {
    let right = Lab { arms: 33, calls: 1500, delta: 0.05, ..Lab::new(Guarantee::Union, BINARY) };
    // Q/δ' = SHORT_LIST/δ: as if the arms that are not on the short list had never been.
    let wrong = Lab { delta: right.delta * 33.0 / f64::from(SHORT_LIST), ..right };
    check_twins("dropped arms", "screener", right, wrong);
}

/// Tries all arms a little, and then only the luckiest few.
pub(super) struct Screener {
    lab: Lab,
}

/// The number of arms that the screener continues with.
const SHORT_LIST: u32 = 3;
/// Calls of each arm's null attribute before that.
const SCREENING: u64 = 20;

impl Screener {
    pub(super) const fn new(lab: Lab) -> Self {
        Self { lab }
    }

    fn screened(&self, books: &Books) -> Option<ArmId> {
        let null = |arm| self.lab.null_of(arm).expect("every arm is bad");
        let dispatched = |arm| books.tally(arm, null(arm)).dispatched_count;
        let fresh = books.problem().arms().find(|&arm| dispatched(arm) < SCREENING);
        fresh.filter(|&arm| books.is_active(arm))
    }
}

impl Policy for Screener {
    fn name(&self) -> &'static str {
        "screener"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let null = |arm| self.lab.null_of(arm).expect("every arm is bad");
        if let Some(arm) = self.screened(books) {
            return Some(Choice::pair(arm, null(arm), "screen"));
        }
        let mut arms: Vec<ArmId> = books.problem().arms().collect();
        let excess = |arm: ArmId| {
            let attribute = null(arm);
            let threshold = books.problem().attribute(attribute).threshold;
            books.tally(arm, attribute).mean() - threshold
        };
        arms.sort_by(|&one, &other| excess(other).total_cmp(&excess(one)));
        arms.truncate(SHORT_LIST as usize);
        let unresolved = |&(arm, attribute): &(ArmId, _)| {
            books.is_open(arm, attribute)
                && books.is_affordable(attribute)
                && !books.is_resolved(arm, attribute)
        };
        let pairs =
            arms.iter().flat_map(|&arm| books.problem().attributes().map(move |m| (arm, m)));
        let (arm, attribute) = pairs
            .filter(unresolved)
            .min_by_key(|&(arm, attribute)| books.tally(arm, attribute).dispatched_count)?;
        Some(Choice::pair(arm, attribute, "short list"))
    }
}
