//! Recorded outcomes as a verifier. The outcome of a pair's k-th call depends on the seed, the pair
//! and k alone, so a call that was lost can be made again and says the same.

use goodarm_core::{ArmId, AttributeId, Cost, CountedFailure};

use crate::candidates::Candidates;
use crate::job_file::Draws;
use crate::recording::{Outcome, Recording};
use crate::verifier::{Reply, Usage, Verdict};

/// Recorded outcomes, arm by arm.
#[derive(Clone, Debug)]
pub struct Replay {
    outcomes: Vec<Outcome>,
    /// Where each arm's outcomes begin, and where the last one's end.
    starts: Vec<usize>,
    draws: Draws,
    seed: u64,
    ceiling: Cost,
}

impl Replay {
    /// The keys that only this kind has.
    pub const KEYS: &'static [&'static str] = &["recording", "of", "draws"];

    /// The outcomes for each candidate; the ids without any are an error.
    pub fn new(
        recording: &Recording,
        candidates: &Candidates,
        draws: Draws,
        seed: u64,
    ) -> Result<Self, String> {
        let mut outcomes = Vec::new();
        let mut starts = Vec::with_capacity(candidates.len() + 1);
        let mut missing = Vec::new();
        for arm in candidates.arms() {
            starts.push(outcomes.len());
            match recording.of(candidates.id(arm)) {
                Some(recorded) => outcomes.extend_from_slice(recorded),
                None => missing.push(candidates.id(arm)),
            }
        }
        starts.push(outcomes.len());
        if let Some(first) = missing.first() {
            let count = missing.len();
            return Err(format!("no outcomes for {count} candidates, the first is {first:?}"));
        }
        let ceiling = outcomes.iter().map(|outcome| outcome.cost).max().unwrap_or(Cost::ZERO);
        Ok(Self { outcomes, starts, draws, seed, ceiling })
    }

    /// The most expensive outcome.
    pub const fn ceiling(&self) -> Cost {
        self.ceiling
    }

    /// Whether all scores are 0 or 1.
    pub fn is_binary(&self) -> bool {
        let is_binary =
            |outcome: &Outcome| outcome.score.is_none_or(|score| [0.0, 1.0].contains(&score));
        self.outcomes.iter().all(is_binary)
    }

    /// The outcome of a pair's `order`-th call, counted from 0, and what it cost.
    pub fn call(&self, arm: ArmId, attribute: AttributeId, order: u64) -> (Reply, Cost) {
        let pool = &self.outcomes[self.starts[arm.index()]..self.starts[arm.index() + 1]];
        let size = pool.len() as u64;
        let index = match self.draws {
            Draws::WithReplacement => draw(self.seed, arm, attribute, order) % size,
            Draws::InOrder if order < size => order,
            Draws::InOrder => {
                let reason = format!("all {size} recorded outcomes are used");
                return (Reply::failed(CountedFailure::GivenUp, reason), self.ceiling);
            }
        };
        let Some(outcome) = usize::try_from(index).ok().and_then(|index| pool.get(index)) else {
            return (Reply::failed(CountedFailure::GivenUp, "no recorded outcome"), self.ceiling);
        };
        let reply = match outcome.score {
            Some(score) => Reply {
                verdict: Verdict::Score(score),
                usage: Usage::default(),
                text: String::new(),
            },
            None => Reply::failed(CountedFailure::Unreadable, "recorded as failed"),
        };
        (reply, outcome.cost)
    }
}

/// A hash of where the draw is made: its low bits choose, with a bias below 10⁻¹².
fn draw(seed: u64, arm: ArmId, attribute: AttributeId, order: u64) -> u64 {
    let mut state = seed;
    for word in [u64::from(arm.0), u64::from(attribute.0), order] {
        state = mix(state ^ mix(word.wrapping_add(GOLDEN)));
    }
    state
}

/// The finalizer of SplitMix64.
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
