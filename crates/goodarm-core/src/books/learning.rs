//! Priors and the model of bills, learned from all scores and bills so far. They guide policies, and the weights of
//! evidence that has not begun. They never change evidence that has begun.

use alloc::vec::Vec;

use crate::bills::{BillModel, BillTotals};
use crate::books::arms::Arms;
use crate::books::funds::Funds;
use crate::books::pairs::Pairs;
use crate::num::real;
use crate::prior::{Prior, Sample};
use crate::problem::Problem;
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId};

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
    pub(super) observation_count: u64,
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

    /// Counts one call that came back. Returns whether the priors should be learned again.
    pub(super) const fn count_observation(&mut self) -> bool {
        self.observation_count += 1;
        self.observation_count >= self.refresh_at
    }

    /// Learns again from everything so far.
    pub(super) fn refresh(&mut self, problem: &Problem, pairs: &Pairs, arms: &Arms, funds: &Funds) {
        let news = self.observation_count / REFRESH_SHARE;
        self.refresh_at = self.observation_count + refresh_interval(problem.arm_count()).max(news);
        for attribute in problem.attributes() {
            let declared = problem.attribute(attribute);
            let prior = &mut self.attributes[attribute.index()].0;
            let tally = |arm| &pairs.get(arm, attribute).tally;
            if problem.are_votes(attribute) {
                let votes = |arm: ArmId| tally(arm).sum;
                let leaders = leaders(problem, votes);
                let tallies =
                    leaders.map(|arm| arms.without_proposing_vote(arm, attribute, tally(arm)));
                let tallies: Vec<Tally> = tallies.collect();
                *prior = prior.refreshed(declared, tallies.iter().map(Sample::of));
                prior.gap_sd = prior.gap_sd.max(GAP_SD_OF_VOTES_MIN);
            } else {
                let samples = arms.touched().map(|arm| pairs.sample(arm, attribute, tally(arm)));
                *prior = prior.refreshed(declared, samples);
            }
        }
        // Calls are billed to the first attribute that they score.
        let bills_of = |attribute| {
            let is_lead = problem.lead(attribute) == attribute;
            if is_lead {
                &funds.lane(problem.service_of(attribute)).bills
            } else {
                &BillTotals::NONE
            }
        };
        let totals: Vec<&BillTotals> = problem.attributes().map(bills_of).collect();
        self.bills = BillModel::refreshed(pairs.all(), &totals);
    }
}

/// The answer with the most votes to each question: only these answers show what to expect of an answer that is
/// worth certifying.
fn leaders(problem: &Problem, votes: impl Fn(ArmId) -> f64) -> impl Iterator<Item = ArmId> {
    let questions = problem.questions().into_iter();
    let answers = questions.flat_map(|it| it.ids().map(|question| it.answers(question)));
    answers.filter_map(move |answers| {
        answers.iter().copied().max_by(|&a, &b| votes(a).total_cmp(&votes(b)))
    })
}

/// The least number of observations between two refreshes. A refresh takes O(pairs).
fn refresh_interval(arm_count: usize) -> u64 {
    (arm_count as u64).max(REFRESH_INTERVAL_MIN)
}

const REFRESH_INTERVAL_MIN: u64 = 20;
/// A refresh also waits until the number of observations has grown by one in this many.
const REFRESH_SHARE: u64 = 16;
/// The least `gap_sd` of votes. Some questions are easy and some hard: scores should decide which, not the prior.
const GAP_SD_OF_VOTES_MIN: f64 = 0.316;
