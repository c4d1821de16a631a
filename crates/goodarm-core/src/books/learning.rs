//! What all scores and bills so far suggest. It guides policies, and the weights of bets that have not
//! begun; it never enters evidence that has.

use alloc::vec::Vec;

use crate::bills::BillModel;
use crate::num::real;
use crate::prior::{Prior, Sample};
use crate::problem::Problem;
use crate::units::AttributeId;

/// The scores of one attribute over all arms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScoreTotals {
    /// The number of scores, counted failures included.
    pub returned_count: u64,
    /// The sum of those scores.
    pub score_sum: f64,
}

impl ScoreTotals {
    /// The mean of the scores.
    pub fn mean(&self) -> Option<f64> {
        (self.returned_count > 0).then(|| self.score_sum / real(self.returned_count))
    }
}

/// Priors of all attributes, and the model of bills.
#[derive(Clone, Debug)]
pub(crate) struct Learning {
    attributes: Vec<(Prior, ScoreTotals)>,
    pub(crate) bills: BillModel,
    observation_count: u64,
    refresh_at: u64,
}

impl Learning {
    pub(super) fn new(problem: &Problem) -> Self {
        let start = |attribute| Prior::start(problem.attribute(attribute));
        Self {
            attributes: (problem.attributes())
                .map(|attribute| (start(attribute), ScoreTotals::default()))
                .collect(),
            bills: BillModel::new(problem.attribute_count()),
            observation_count: 0,
            refresh_at: refresh_interval(problem.arm_count()),
        }
    }

    pub(super) const fn observation_count(&self) -> u64 {
        self.observation_count
    }

    pub(super) fn prior(&self, attribute: AttributeId) -> &Prior {
        &self.attributes[attribute.index()].0
    }

    pub(super) fn totals(&self, attribute: AttributeId) -> &ScoreTotals {
        &self.attributes[attribute.index()].1
    }

    pub(super) fn add_score(&mut self, attribute: AttributeId, score: f64) {
        let totals = &mut self.attributes[attribute.index()].1;
        totals.returned_count += 1;
        totals.score_sum += score;
    }

    /// Counts the scores of one call; true if priors should be learned again.
    pub(super) const fn count_observation(&mut self) -> bool {
        self.observation_count += 1;
        self.observation_count >= self.refresh_at
    }

    pub(super) fn schedule_refresh(&mut self, arm_count: usize) {
        let news = self.observation_count / REFRESH_SHARE;
        self.refresh_at = self.observation_count + refresh_interval(arm_count).max(news);
    }

    pub(super) fn refresh_prior<'a>(
        &mut self,
        problem: &Problem,
        attribute: AttributeId,
        samples: impl Iterator<Item = Sample<'a>> + Clone,
    ) {
        let prior = &mut self.attributes[attribute.index()].0;
        *prior = prior.refreshed(problem.attribute(attribute), samples);
        if problem.are_votes(attribute) {
            prior.gap_sd = prior.gap_sd.max(GAP_SD_OF_VOTES_MIN);
        }
    }
}

/// Learning costs O(pairs), so it is spread over as many observations.
fn refresh_interval(arm_count: usize) -> u64 {
    (arm_count as u64).max(REFRESH_INTERVAL_MIN)
}

const REFRESH_INTERVAL_MIN: u64 = 20;
/// And no sooner than one observation in this many is new.
const REFRESH_SHARE: u64 = 16;
/// Questions are easy or hard: scores decide which, not the prior.
const GAP_SD_OF_VOTES_MIN: f64 = 0.316;
