//! Worlds × methods × δ × budgets × concurrency × repetitions, in parallel, with the same result for any
//! number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use goodarm_core::Options;
use goodarm_core::policy::Parameters;
use goodarm_core::policy::rcb::FreshRule;
use goodarm_files::GuaranteeName;
use rayon::prelude::*;
use serde::Deserialize;

use crate::family::WorldSpec;
use goodarm_sim::instance::Instance;
use goodarm_sim::labels::LabelsSpec;
use goodarm_sim::random::Random;
use goodarm_sim::run::run;
use goodarm_sim::trial::{Method, Trial, TrialError, TrialSettings};
use goodarm_sim::world_error::WorldError;

/// An experiment file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentSpec {
    /// The title, one line.
    pub title: String,
    /// The choices of the experiment and their reasons.
    #[serde(default)]
    pub note: String,
    /// The seed of all draws.
    pub seed: u64,
    /// The number of trials of each cell.
    pub repetitions: u64,
    /// Error probabilities.
    pub deltas: Vec<f64>,
    /// Budgets.
    pub budgets: Budgets,
    /// Calls in flight at once.
    #[serde(default = "sequential")]
    pub concurrency: Vec<usize>,
    /// Whether arms are shuffled in every repetition.
    #[serde(default = "yes")]
    pub shuffled: bool,
    /// Whether a trial ends once every good arm is certified, which a real session could not know: to
    /// measure the cost of that.
    #[serde(default)]
    pub until_all_good: bool,
    /// Claims about the certified answers, made from labels after each trial; for worlds that have the
    /// right answers.
    pub labels: Option<LabelsSpec>,
    /// The worlds.
    pub worlds: Vec<WorldSpec>,
    /// The methods.
    pub methods: Vec<MethodSpec>,
}

impl ExperimentSpec {
    /// The number of trials, at most `u64::MAX`.
    fn trial_count(&self) -> u64 {
        let budgets = self.budgets.values();
        let (worlds, methods) = (self.worlds.len(), self.methods.len());
        [worlds, methods, self.deltas.len(), self.concurrency.len(), budgets.len()]
            .into_iter()
            .map(|count| u64::try_from(count).unwrap_or(u64::MAX))
            .fold(self.repetitions, u64::saturating_mul)
    }
}

/// The most trials of an experiment, since all of them are kept in memory.
pub const TRIALS_MAX: u64 = 10_000_000;

fn sequential() -> Vec<usize> {
    vec![1]
}

const fn yes() -> bool {
    true
}

/// Budgets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Budgets {
    /// In the unit of the prices.
    Absolute(Vec<f64>),
    /// In units of T*_|G|(μ) log(1/δ), the cost of certifying every good arm to first order.
    Normalized(Vec<f64>),
}

/// Why a valid budget may be nothing, or infinite, in a world.
fn budget_hint(written: f64, amount: f64) -> &'static str {
    if !(written > 0.0 && written.is_finite()) {
        ""
    } else if amount > 0.0 {
        ": normalized budgets are in units of the cost of certifying every good arm, which is infinite here; give absolute budgets"
    } else {
        ": normalized budgets are in units of the cost of certifying every good arm, and this world has no good arm; give absolute budgets"
    }
}

impl Budgets {
    /// The numbers in the file.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Absolute(values) | Self::Normalized(values) => values,
        }
    }
}

/// A method of an experiment file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodSpec {
    /// Its name in figures.
    pub name: String,
    /// One of the policies.
    pub policy: String,
    /// The guarantee; the policy's default if not given.
    pub guarantee: Option<GuaranteeName>,
    /// The 8 of the paper's allocation intervals.
    pub allocation_constant: Option<f64>,
    /// Explore only unresolved attributes.
    #[serde(default)]
    pub unresolved_only: bool,
    /// When a question gets another answer; for worlds of questions.
    #[serde(default)]
    pub answers: AnswersKey,
    /// Whether a session ends when no arm has a chance.
    #[serde(default)]
    pub stop_when_hopeless: bool,
    /// The share of unsettled money that may be reserved at once.
    #[serde(default = "in_flight_share")]
    pub in_flight_share: f64,
    /// The share of the budget at first; the rest is added when the session has ended.
    pub budget_raised_at: Option<f64>,
}

/// When a question gets another answer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswersKey {
    /// When that is the cheapest way to one more certificate.
    #[default]
    Joint,
    /// When the last answer's chance is below this.
    OneByOne(f64),
    /// This many for each question before any check.
    Fixed(usize),
}

impl From<AnswersKey> for FreshRule {
    fn from(key: AnswersKey) -> Self {
        match key {
            AnswersKey::Joint => Self::Joint,
            AnswersKey::OneByOne(below) => Self::OneByOne { below },
            AnswersKey::Fixed(count) => Self::Fixed { count },
        }
    }
}

fn in_flight_share() -> f64 {
    Options::default().in_flight_share
}

impl From<&MethodSpec> for Method {
    fn from(spec: &MethodSpec) -> Self {
        Self {
            name: spec.name.clone(),
            policy: spec.policy.clone(),
            guarantee: spec
                .guarantee
                .unwrap_or_else(|| GuaranteeName::natural(&spec.policy))
                .into(),
            parameters: Parameters {
                allocation_constant: spec.allocation_constant,
                unresolved_only: spec.unresolved_only,
                fresh: spec.answers.into(),
                ..Parameters::default()
            },
            options: Options {
                in_flight_share: spec.in_flight_share,
                stop_when_hopeless: spec.stop_when_hopeless,
            },
            raised_at: spec.budget_raised_at,
        }
    }
}

/// One combination; each of its repetitions is a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Index into the worlds.
    pub world: usize,
    /// Index into the methods.
    pub method: usize,
    /// δ.
    pub delta: f64,
    /// The budget in the file, normalized or absolute.
    pub budget: f64,
    /// Calls in flight at once.
    pub concurrency: usize,
}

/// An experiment ready to run.
#[derive(Debug)]
pub struct Experiment {
    /// The experiment file.
    pub spec: ExperimentSpec,
    /// Every combination, in the order worlds, δ, concurrency, budgets, methods.
    pub cells: Vec<Cell>,
    methods: Vec<Method>,
    /// The instance of each world that is the same in all repetitions.
    fixed: Vec<Option<Arc<Instance>>>,
}

/// Why an experiment cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A list in the file is empty, or a count is 0.
    #[error("{0}: at least one is needed")]
    Empty(&'static str),
    /// More trials than memory can hold.
    #[error(
        "{0} trials are more than {TRIALS_MAX}: fewer repetitions, or several experiments, are needed"
    )]
    TooMany(u64),
    /// An error probability is out of range.
    #[error("deltas: {0} is not strictly between 0 and 1")]
    Delta(f64),
    /// Invalid labels.
    #[error("{0}: at least one is needed, shares and deltas between 0 and 1")]
    Labels(&'static str),
    /// The name of a world that cannot be made, and the reason.
    #[error("world {0:?}: {1}")]
    World(String, WorldError),
    /// A world, a method, a budget in the file, and the same in units of the prices: nothing, or infinity.
    #[error("world {0:?}, method {1:?}: the budget {2} comes to {3}{hint}", hint = budget_hint(*.2, *.3))]
    Budget(String, String, f64, f64),
    /// A world, a method that does not work in it, and the reason.
    #[error("world {0:?}, method {1:?}: {2}")]
    Trial(String, String, TrialError),
}

impl Experiment {
    /// Checks an experiment; `data` holds recorded answers for worlds that need them.
    pub fn new(spec: ExperimentSpec, data: Option<&str>) -> Result<Self, ExperimentError> {
        for (place, empty) in [
            ("deltas", spec.deltas.is_empty()),
            ("budgets", spec.budgets.values().is_empty()),
            ("concurrency", spec.concurrency.is_empty() || spec.concurrency.contains(&0)),
            ("worlds", spec.worlds.is_empty()),
            ("methods", spec.methods.is_empty()),
            ("repetitions", spec.repetitions == 0),
        ] {
            if empty {
                return Err(ExperimentError::Empty(place));
            }
        }
        if let Some(delta) = spec.deltas.iter().find(|delta| !(**delta > 0.0 && **delta < 1.0)) {
            return Err(ExperimentError::Delta(*delta));
        }
        if let Some(list) = spec.labels.as_ref().and_then(LabelsSpec::wrong) {
            return Err(ExperimentError::Labels(list));
        }
        let trials = spec.trial_count();
        if trials > TRIALS_MAX {
            return Err(ExperimentError::TooMany(trials));
        }
        let mut fixed = Vec::with_capacity(spec.worlds.len());
        for world in &spec.worlds {
            let instance = world
                .instance(0, data)
                .map_err(|reason| ExperimentError::World(world.name.clone(), reason))?;
            fixed.push((!world.varies()).then(|| Arc::new(instance)));
        }
        let methods: Vec<Method> = spec.methods.iter().map(Method::from).collect();
        let experiment = Self { cells: cells(&spec), methods, fixed, spec };
        experiment.check_cells()?;
        Ok(experiment)
    }

    /// The number of trials.
    pub fn trial_count(&self) -> usize {
        self.cells.len() * usize::try_from(self.spec.repetitions).unwrap_or(usize::MAX)
    }

    /// The instance of a world in a repetition.
    pub fn instance(&self, world: usize, repetition: u64) -> Arc<Instance> {
        if let Some(instance) = &self.fixed[world] {
            return Arc::clone(instance);
        }
        let instance = self.spec.worlds[world].instance(self.seed(world, repetition), None);
        Arc::new(instance.expect("a family that could be drawn once can be drawn again"))
    }

    /// The budget of a cell, in the unit of the prices.
    pub fn budget(&self, cell: &Cell, instance: &Instance) -> f64 {
        match self.spec.budgets {
            Budgets::Absolute(_) => cell.budget,
            Budgets::Normalized(_) => {
                cell.budget * instance.complexity().total() * -libm::log(cell.delta)
            }
        }
    }

    /// Runs all trials, in the order of the cells and their repetitions. Trials that had not begun when
    /// `cancelled` became true are missing; `progress` gets the number of finished trials.
    pub fn run(
        &self,
        cancelled: &AtomicBool,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Vec<Option<Trial>> {
        let repetitions = usize::try_from(self.spec.repetitions).unwrap_or(usize::MAX);
        let done = AtomicUsize::new(0);
        (0..self.trial_count())
            .into_par_iter()
            .with_max_len(1)
            .map(|index| {
                if cancelled.load(Ordering::Relaxed) {
                    return None;
                }
                let cell = &self.cells[index / repetitions];
                let trial = self.trial(cell, (index % repetitions) as u64);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                Some(trial)
            })
            .collect()
    }

    fn trial(&self, cell: &Cell, repetition: u64) -> Trial {
        let instance = self.instance(cell.world, repetition);
        let setting = self.setting(cell, repetition, &instance);
        let mut trial = run(&instance, &self.methods[cell.method], setting)
            .expect("every cell was tried out when the experiment was checked");
        if let Some(labels) = &self.spec.labels {
            trial.labelled = labels.label(&trial.truth(), setting.seed);
        }
        trial
    }

    fn setting(&self, cell: &Cell, repetition: u64, instance: &Instance) -> TrialSettings {
        TrialSettings {
            budget: self.budget(cell, instance),
            delta: cell.delta,
            concurrency: cell.concurrency,
            seed: self.seed(cell.world, repetition),
            shuffled: self.spec.shuffled,
            until_all_good: self.spec.until_all_good,
            calls_max: u64::MAX,
        }
    }

    /// Does not depend on method, budget or δ, so that all of them get the same draws.
    fn seed(&self, world: usize, repetition: u64) -> u64 {
        Random::at(self.spec.seed, &[world as u64, repetition]).bits()
    }

    /// Tries every cell with almost no money, so that errors show before the experiment starts.
    fn check_cells(&self) -> Result<(), ExperimentError> {
        for cell in &self.cells {
            let instance = self.instance(cell.world, 0);
            let world = || self.spec.worlds[cell.world].name.clone();
            let method = || self.methods[cell.method].name.clone();
            let setting = self.setting(cell, 0, &instance);
            if !(setting.budget > 0.0 && setting.budget.is_finite()) {
                let (written, amount) = (cell.budget, setting.budget);
                return Err(ExperimentError::Budget(world(), method(), written, amount));
            }
            let trifle = TrialSettings { budget: setting.budget.min(1e-9), ..setting };
            run(&instance, &self.methods[cell.method], trifle)
                .map_err(|reason| ExperimentError::Trial(world(), method(), reason))?;
        }
        Ok(())
    }
}

fn cells(spec: &ExperimentSpec) -> Vec<Cell> {
    let mut cells = Vec::new();
    for world in 0..spec.worlds.len() {
        for &delta in &spec.deltas {
            for &concurrency in &spec.concurrency {
                for &budget in spec.budgets.values() {
                    for method in 0..spec.methods.len() {
                        cells.push(Cell { world, method, delta, budget, concurrency });
                    }
                }
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use goodarm_core::Guarantee;
    use goodarm_files::toml_text::parse;

    use super::*;

    fn trial(budget: f64, raised_at: Option<f64>) -> Trial {
        let world = "name = 'x'\nscores = 'binary'\n\
                     means.random = { arms = 12, good = [0.5, 0.5], price_max = 10 }";
        let world: WorldSpec = parse(world).unwrap();
        let method = Method {
            name: "rcb".into(),
            policy: "rcb".into(),
            guarantee: Guarantee::Holm,
            parameters: Parameters::default(),
            options: Options::default(),
            raised_at,
        };
        let setting = TrialSettings {
            budget,
            delta: 0.05,
            concurrency: 1,
            seed: 3,
            shuffled: true,
            until_all_good: false,
            calls_max: u64::MAX,
        };
        run(&world.instance(1, None).unwrap(), &method, setting).unwrap()
    }

    #[test]
    fn a_session_with_a_raised_budget_continues_from_where_it_ended() {
        let (half, raised) = (trial(2000.0, None), trial(4000.0, Some(0.5)));
        assert!(!half.certified.is_empty());
        assert_eq!(raised.certified[..half.certified.len()], half.certified);
        assert!(raised.certified.len() > half.certified.len());
        assert!(half.spent <= 2000.0 && raised.spent > 3000.0 && raised.spent <= 4000.0);
    }
}
