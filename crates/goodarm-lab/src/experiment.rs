//! Worlds × methods × δ × budgets × concurrency × repetitions, in parallel, with the same result for any
//! number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Deserialize;

use crate::family::WorldSpec;
use crate::lab_error::LabError;
use goodarm_sim::instance::Instance;
use goodarm_sim::labels::LabelsSpec;
use goodarm_sim::random::Random;
use goodarm_sim::run::run;
use goodarm_sim::trial::{Method, Trial, TrialSettings};

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
    /// Whether a trial ends once every good arm is certified, in order to measure what that costs. A real session
    /// could not know when that is.
    #[serde(default)]
    pub until_all_good: bool,
    /// Claims about the certified answers, made from labels after each trial; for worlds that have the
    /// right answers.
    pub labels: Option<LabelsSpec>,
    /// The worlds.
    pub worlds: Vec<WorldSpec>,
    /// The methods.
    pub methods: Vec<Method>,
}

impl ExperimentSpec {
    /// Checks everything that needs no world.
    fn check(&self) -> Result<(), LabError> {
        for (place, is_empty) in [
            ("deltas", self.deltas.is_empty()),
            ("budgets", self.budgets.values().is_empty()),
            ("concurrency", self.concurrency.is_empty() || self.concurrency.contains(&0)),
            ("worlds", self.worlds.is_empty()),
            ("methods", self.methods.is_empty()),
            ("repetitions", self.repetitions == 0),
        ] {
            if is_empty {
                return Err(LabError::about(place, "at least one is needed"));
            }
        }
        if let Some(delta) = self.deltas.iter().find(|delta| !(**delta > 0.0 && **delta < 1.0)) {
            let fault = format!("{delta} is not strictly between 0 and 1");
            return Err(LabError::about("deltas", fault));
        }
        if let Some(list) = self.labels.as_ref().and_then(LabelsSpec::wrong) {
            let fault = "at least one is needed, shares and deltas between 0 and 1";
            return Err(LabError::about(list, fault));
        }
        let trials = self.trial_count();
        if trials > TRIALS_MAX {
            return Err(LabError(format!(
                "{trials} trials are more than {TRIALS_MAX}: fewer repetitions, or several experiments, are needed"
            )));
        }
        Ok(())
    }

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

/// Why a normalized budget is zero or infinite in a world; empty if the number in the file is not valid.
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

/// One combination of world, method, δ, budget and concurrency; each of its repetitions is a trial.
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
    /// The instance of each world; `None` if every repetition has its own.
    fixed: Vec<Option<Arc<Instance>>>,
}

impl Experiment {
    /// Checks an experiment; `data` holds recorded answers for worlds that need them.
    pub fn new(spec: ExperimentSpec, data: Option<&str>) -> Result<Self, LabError> {
        spec.check()?;
        let mut fixed = Vec::with_capacity(spec.worlds.len());
        for world in &spec.worlds {
            let instance = world
                .instance(0, data)
                .map_err(|error| LabError::about(format_args!("world {:?}", world.name), error))?;
            fixed.push((!world.varies()).then(|| Arc::new(instance)));
        }
        let experiment = Self { cells: cells(&spec), fixed, spec };
        experiment.check_cells()?;
        Ok(experiment)
    }

    /// The number of trials.
    pub fn trial_count(&self) -> usize {
        self.cells.len() * self.repetitions()
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

    /// Runs all trials, in the order of the cells and their repetitions. Trials that had not begun when `cancelled`
    /// became true are `None`; `progress` gets the number of finished trials.
    pub fn run(
        &self,
        cancelled: &AtomicBool,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Vec<Option<Trial>> {
        let repetitions = self.repetitions();
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

    /// Each cell with its trials.
    pub fn by_cell<'a>(
        &'a self,
        trials: &'a [Option<Trial>],
    ) -> impl Iterator<Item = (&'a Cell, &'a [Option<Trial>])> {
        self.cells.iter().zip(trials.chunks(self.repetitions()))
    }

    fn repetitions(&self) -> usize {
        usize::try_from(self.spec.repetitions).unwrap_or(usize::MAX)
    }

    fn trial(&self, cell: &Cell, repetition: u64) -> Trial {
        let instance = self.instance(cell.world, repetition);
        let setting = self.setting(cell, repetition, &instance);
        let mut trial = run(&instance, &self.spec.methods[cell.method], setting)
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

    /// The seed of a trial. It does not depend on method, budget or δ, so that all of them get the same draws.
    fn seed(&self, world: usize, repetition: u64) -> u64 {
        Random::at(self.spec.seed, &[world as u64, repetition]).bits()
    }

    /// Tries every cell with almost no money, so that errors show before the experiment starts.
    fn check_cells(&self) -> Result<(), LabError> {
        for cell in &self.cells {
            let instance = self.instance(cell.world, 0);
            let setting = self.setting(cell, 0, &instance);
            let method = &self.spec.methods[cell.method];
            let wrong = |fault: String| {
                let world = &self.spec.worlds[cell.world].name;
                LabError(format!("world {world:?}, method {:?}: {fault}", method.name))
            };
            let budget = setting.budget;
            if !(budget > 0.0 && budget.is_finite()) {
                let (written, hint) = (cell.budget, budget_hint(cell.budget, budget));
                return Err(wrong(format!("the budget {written} comes to {budget}{hint}")));
            }
            let trifle = TrialSettings { budget: budget.min(1e-9), ..setting };
            run(&instance, method, trifle).map_err(|error| wrong(error.to_string()))?;
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
    use goodarm_files::GuaranteeName;
    use goodarm_files::toml_text::parse;

    use super::*;

    fn trial(budget: f64, raised_at: Option<f64>) -> Trial {
        let world = "name = 'x'\nscores = 'binary'\n\
                     means.random = { arms = 12, good = [0.5, 0.5], price_max = 10 }";
        let world: WorldSpec = parse(world).unwrap();
        let method =
            Method { budget_raised_at: raised_at, ..Method::new("rcb", Some(GuaranteeName::Holm)) };
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
