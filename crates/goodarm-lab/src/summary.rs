//! Summaries of the trials of a cell, each number with its standard error.

use serde::Serialize;

use crate::experiment::{Cell, Experiment};
use goodarm_sim::labels::{LabelResult, Way};
use goodarm_sim::num::{real, size};
use goodarm_sim::trial::Trial;

/// A mean over trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl Estimate {
    /// The estimate from a sample; zero for an empty one.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().fold(0.0, |count, _| count + 1.0);
        if count == 0.0 {
            return Self::default();
        }
        let mean = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
        let variance = if count > 1.0 { squares / (count - 1.0) } else { 0.0 };
        Self { mean, error: libm::sqrt(variance / count) }
    }

    /// Mean and error, with this many digits after the point.
    fn text(self, digits: usize) -> String {
        format!("{:.digits$} ± {:.digits$}", self.mean, self.error)
    }
}

/// The summary of a cell's trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellSummary {
    /// The world's name.
    pub world: String,
    /// The method's name.
    pub method: String,
    /// δ.
    pub delta: f64,
    /// The budget in the file.
    pub budget: f64,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// The number of trials.
    pub trials: usize,
    /// Good arms certified.
    pub certified_good: Estimate,
    /// Good arms certified, as a share of all good arms.
    pub certified_share: Estimate,
    /// Bad arms certified.
    pub certified_bad: Estimate,
    /// Trials with a wrong certificate.
    pub any_wrong: Estimate,
    /// The share of certificates that are wrong.
    pub false_discoveries: Estimate,
    /// Certified arms whose answer is right, if that is known.
    pub certified_right: Option<Estimate>,
    /// The spending.
    pub spent: Estimate,
    /// Calls: the stopping time.
    pub pulls: Estimate,
    /// `spent_share[kind][attribute]`: shares of the budget, by kind of arm and attribute.
    pub spent_share: Vec<Vec<Estimate>>,
    /// The kinds of arms.
    pub kinds: Vec<String>,
    /// Certified arms of each kind.
    pub certified_of_kind: Vec<Estimate>,
    /// The share of pulls that each branch chose.
    pub branch_share: Vec<(String, Estimate)>,
    /// The spending when the last good arm was certified: the median over all trials; `None` if half of
    /// them did not certify all good arms.
    pub cost_of_all_median: Option<f64>,
    /// Claims from labels on the certified answers, if the experiment has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labelled: Vec<LabelSummary>,
}

/// The summary of all orders of labels in all trials of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelSummary {
    /// The procedure of labelling.
    pub way: Way,
    /// The share of right answers to be claimed.
    pub share: f64,
    /// The error probability of the claim.
    pub delta: f64,
    /// The share of orders in which the claim was made.
    pub claimed: Estimate,
    /// The share of orders in which the claim was made although it is false.
    pub false_claims: Estimate,
    /// The number of labels until the claim, over the orders in which it was made.
    pub labels: Estimate,
    /// The standard deviation of this number.
    pub deviation: f64,
}

impl LabelSummary {
    /// One summary for each procedure, share and δ.
    fn all(trials: &[&Trial]) -> Vec<Self> {
        let count = trials.first().map_or(0, |trial| trial.labelled.len());
        let same = |index: usize| trials.iter().map(move |trial| &trial.labelled[index]);
        (0..count).map(|index| Self::new(&same(index).collect::<Vec<_>>())).collect()
    }

    /// The summary of the same claim in several trials.
    fn new(trials: &[&LabelResult]) -> Self {
        let orders = || {
            trials
                .iter()
                .flat_map(|one| one.claimed_after.iter().map(|after| (one.is_true, *after)))
        };
        let share = |is_counted: fn(bool, bool) -> bool| {
            let counted =
                orders().map(move |(is_true, after)| is_counted(is_true, after.is_some()));
            Estimate::of(counted.map(|counted| f64::from(u8::from(counted))))
        };
        let labels = orders().filter_map(|(_, after)| after).map(size);
        let (count, estimate) = (labels.clone().count(), Estimate::of(labels));
        Self {
            way: trials[0].way,
            share: trials[0].share,
            delta: trials[0].delta,
            claimed: share(|_, is_claimed| is_claimed),
            false_claims: share(|is_true, is_claimed| is_claimed && !is_true),
            labels: estimate,
            deviation: estimate.error * libm::sqrt(size(count)),
        }
    }
}

impl CellSummary {
    /// The columns of a table of cells.
    pub const TITLES: [&str; 11] = [
        "world",
        "method",
        "δ",
        "budget",
        "calls out",
        "trials",
        "certified good",
        "wrong in",
        "spent",
        "calls",
        "branches",
    ];

    /// The row of this cell in a table with these titles.
    pub fn row(&self) -> [String; Self::TITLES.len()] {
        let branches = self.branch_share.iter();
        let branches = branches.map(|(name, share)| format!("{name} {:.4}", share.mean));
        [
            self.world.clone(),
            self.method.clone(),
            format!("{:e}", self.delta),
            self.budget.to_string(),
            self.concurrency.to_string(),
            self.trials.to_string(),
            self.certified_good.text(2),
            self.any_wrong.text(3),
            self.spent.text(0),
            self.pulls.text(0),
            branches.collect::<Vec<_>>().join(", "),
        ]
    }

    /// The summary of the trials of one cell.
    pub fn new(experiment: &Experiment, cell: &Cell, trials: &[&Trial]) -> Self {
        let estimate =
            |value: &dyn Fn(&Trial) -> f64| Estimate::of(trials.iter().map(|trial| value(trial)));
        let instance = experiment.instance(cell.world, 0);
        let kind_count = instance.type_names.len();
        let share = |kind: usize, attribute: usize| {
            estimate(&|trial| {
                let spent = trial.spent_on.get(kind).and_then(|row| row.get(attribute));
                spent.copied().unwrap_or(0.0) / trial.budget
            })
        };
        let of_kind = |kind: usize| {
            estimate(&|trial| {
                let mine = trial
                    .certified
                    .iter()
                    .filter(|certified| instance.types.get(certified.arm.index()) == Some(&kind));
                size(mine.count())
            })
        };
        let mut branches: Vec<&str> =
            trials.iter().flat_map(|trial| trial.branches.keys().copied()).collect();
        branches.sort_unstable();
        branches.dedup();
        Self {
            world: experiment.spec.worlds[cell.world].name.clone(),
            method: experiment.spec.methods[cell.method].name.clone(),
            delta: cell.delta,
            budget: cell.budget,
            concurrency: cell.concurrency,
            trials: trials.len(),
            certified_good: estimate(&|trial| size(trial.good())),
            certified_share: estimate(&|trial| size(trial.good()) / size(trial.good_count.max(1))),
            certified_bad: estimate(&|trial| size(trial.bad())),
            any_wrong: estimate(&|trial| f64::from(u8::from(trial.bad() > 0))),
            false_discoveries: estimate(&|trial| {
                size(trial.bad()) / size(trial.certified.len().max(1))
            }),
            certified_right: instance.right.is_some().then(|| {
                estimate(&|trial| {
                    let found = trial.certified.iter().filter(|one| one.right == Some(true));
                    size(found.count())
                })
            }),
            spent: estimate(&|trial| trial.spent),
            pulls: estimate(&|trial| real(trial.pull_count)),
            spent_share: (0..kind_count)
                .map(|kind| {
                    (0..instance.attributes.len()).map(|attribute| share(kind, attribute)).collect()
                })
                .collect(),
            kinds: instance.type_names.clone(),
            certified_of_kind: (0..kind_count).map(of_kind).collect(),
            branch_share: branches
                .into_iter()
                .map(|branch| {
                    let of = |trial: &Trial| {
                        let count = trial.branches.get(branch).copied().unwrap_or(0);
                        real(count) / real(trial.pull_count.max(1))
                    };
                    (branch.to_string(), estimate(&of))
                })
                .collect(),
            cost_of_all_median: cost_of_all_median(trials),
            labelled: LabelSummary::all(trials),
        }
    }
}

/// Summaries of all cells that have a trial.
pub fn summarize(experiment: &Experiment, trials: &[Option<Trial>]) -> Vec<CellSummary> {
    experiment
        .by_cell(trials)
        .map(|(cell, trials)| (cell, trials.iter().flatten().collect::<Vec<&Trial>>()))
        .filter(|(_, trials)| !trials.is_empty())
        .map(|(cell, trials)| CellSummary::new(experiment, cell, &trials))
        .collect()
}

fn cost_of_all_median(trials: &[&Trial]) -> Option<f64> {
    let mut costs: Vec<f64> = trials
        .iter()
        .map(|trial| {
            let mut good = trial.certified.iter().filter(|certified| certified.good);
            let last = good.nth(trial.good_count.checked_sub(1)?)?;
            Some(last.cost)
        })
        .map(|cost| cost.unwrap_or(f64::INFINITY))
        .collect();
    costs.sort_by(f64::total_cmp);
    let middle = costs.len() / 2;
    let median = if costs.len() % 2 == 1 {
        costs[middle]
    } else {
        0.5 * (costs[middle - 1] + costs[middle])
    };
    median.is_finite().then_some(median)
}
