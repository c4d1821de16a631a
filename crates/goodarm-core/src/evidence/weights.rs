//! Weights of the bets: learned from earlier scores, and frozen before a pair's evidence begins.
//!
//! Any weights that sum to at most one are valid if they were fixed before the first score of the evidence was
//! asked for; weights chosen after looking at that score are not. So weights are rows of a table, and a pair keeps
//! the row that was the newest when its first call was dispatched. Where δ is lent, a pair has a row of its own,
//! written when its evidence begins.

use alloc::vec;
use alloc::vec::Vec;

use crate::evidence::Process;
use crate::evidence::bounded::Bounded;
use crate::evidence::grid::{BETS, LogWeights};
use crate::num::real_size;
use crate::prior::{Belief, Prior};

/// The row of an attribute's weights that a pair was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WeightsId(pub(crate) u32);

impl WeightsId {
    pub(crate) const UNSET: Self = Self(u32::MAX);
}

/// The weights of one attribute: one row for every prior that pairs were begun under.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    rows: Vec<LogWeights>,
    learned_from: Prior,
}

impl Weights {
    pub(crate) fn new(process: &Process, prior: Prior) -> Self {
        Self { rows: vec![default_weights(process)], learned_from: prior }
    }

    pub(crate) fn row(&self, id: WeightsId) -> &LogWeights {
        &self.rows[id.0 as usize]
    }

    /// The row for a pair that is about to be dispatched for the first time.
    pub(crate) fn freeze(&mut self, process: &Process, prior: &Prior) -> WeightsId {
        if let Some(gaps) = process.gaps()
            && prior.differs_from(&self.learned_from)
        {
            self.learned_from = *prior;
            self.rows.push(learned(process, &gaps, prior.belief(), DEFAULT_SHARE));
        }
        self.newest()
    }

    /// A row of its own for a pair with this belief, whose evidence is about to begin. It replaces `before`, the
    /// row of the pair's earlier evidence, or is a new one.
    pub(crate) fn freeze_for(
        &mut self,
        process: &Process,
        likely: Belief,
        before: WeightsId,
    ) -> WeightsId {
        let Some(gaps) = process.gaps() else { return self.newest() };
        let row = learned(process, &gaps, likely, DEFAULT_SHARE_OF_OWN);
        if before == WeightsId::UNSET {
            self.rows.push(row);
            return self.newest();
        }
        self.rows[before.0 as usize] = row;
        before
    }

    fn newest(&self) -> WeightsId {
        WeightsId(u32::try_from(self.rows.len() - 1).expect("fewer rows than pairs"))
    }
}

fn default_weights(process: &Process) -> LogWeights {
    match process {
        Process::Bounded(_) => Bounded::log_weights(),
        _ => [-libm::log(real_size(BETS)); BETS],
    }
}

// w = a default + (1 - a) norm(d exp(-(d - m)²/(2s²))), (m, s) mean and standard deviation of the believed gap
fn learned(
    process: &Process,
    gaps: &[f64; BETS],
    likely: Belief,
    default_share: f64,
) -> LogWeights {
    let mut density = gaps.map(|gap| {
        let distance = (gap - likely.gap) / likely.sd;
        gap * libm::exp(-0.5 * distance * distance)
    });
    let total: f64 = density.iter().sum();
    let default = default_weights(process);
    if total < DENSITY_MIN {
        return default;
    }
    if let Process::Bounded(bounded) = process {
        // A gap asks for a stake that also depends on the noise.
        let mut by_stake = [0.0; BETS];
        for (share, gap) in density.iter().zip(gaps) {
            let stake = bounded.best_stake(*gap, likely.variance);
            by_stake[bounded.nearest(stake)] += share;
        }
        density = by_stake;
    }
    let mut weights = [0.0; BETS];
    for bet in 0..BETS {
        let share =
            default_share * libm::exp(default[bet]) + (1.0 - default_share) * density[bet] / total;
        weights[bet] = libm::log(share) - SUM_ROUNDING;
    }
    weights
}

const DEFAULT_SHARE: f64 = 0.2;
/// Less doubt where the belief is about the pair itself.
const DEFAULT_SHARE_OF_OWN: f64 = 0.1;
const DENSITY_MIN: f64 = 1e-200;
/// Keeps the sum of the weights from exceeding one by rounding.
const SUM_ROUNDING: f64 = 1e-14;
