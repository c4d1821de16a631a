//! Chosen figures, made one after the other.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use goodarm_sim::experiment::Experiment;
use thiserror::Error;

use crate::figures::run::write;
use crate::figures::{
    DataSource, ENTRIES, ExperimentRun, FigureError, FigureSection, FigureSpec, page,
};

/// Why figures cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// There is no figure of this name.
    #[error("figure {}", goodarm_files::none_of(name, &names()))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// All that were chosen replay recorded answers, and there are none.
    #[error("{DATA_NEEDED}")]
    DataNeeded,
    /// A figure cannot be made or written.
    #[error(transparent)]
    Figure(#[from] FigureError),
}

/// Which figures, and how.
pub struct ReproduceOrder<'a> {
    /// Which.
    pub entries: Vec<&'static FigureSpec>,
    /// Whether these are all there are, so that one may stand in for another.
    pub is_all: bool,
    /// Recorded answers, for the figures that replay them.
    pub data: Option<&'a str>,
    /// Whether few repetitions will do.
    pub quick: bool,
    /// Where to write each figure as soon as it is done.
    pub out: Option<&'a Path>,
}

impl<'a> ReproduceOrder<'a> {
    /// The figures of these names, or all if there are none.
    pub fn new(names: &[String]) -> Result<Self, ReproduceError> {
        let entries = names.iter().map(|name| entry(name)).collect::<Result<Vec<_>, _>>()?;
        let is_all = names.is_empty();
        let entries = if is_all { ENTRIES.iter().collect() } else { entries };
        Ok(Self { entries, is_all, data: None, quick: false, out: None })
    }

    /// With these recorded answers; refused if there are none and nothing can be made without.
    pub fn with_data(self, data: Option<&'a str>) -> Result<Self, ReproduceError> {
        let needs_data = |entry: &&FigureSpec| matches!(entry.recorded, DataSource::Given);
        if data.is_none() && self.entries.iter().all(needs_data) {
            return Err(ReproduceError::DataNeeded);
        }
        Ok(Self { data, ..self })
    }
}

/// Figures that are done.
pub struct Reproduction {
    /// In the order of the figures.
    pub sections: Vec<FigureSection>,
    /// Which figures were left out, and why.
    pub missing: Vec<&'static str>,
    quick: bool,
}

impl Reproduction {
    /// Makes the figures until `cancelled`; a figure whose experiments were cut short is left out.
    /// `run` runs an experiment, as [`ExperimentRun::new`] does, and may show how far it is.
    pub fn new(
        order: &ReproduceOrder<'_>,
        cancelled: &AtomicBool,
        run: &mut dyn FnMut(Experiment) -> ExperimentRun,
    ) -> Result<Self, FigureError> {
        let mut made = Self { sections: Vec::new(), missing: Vec::new(), quick: order.quick };
        for entry in &order.entries {
            let recorded = match entry.recorded {
                DataSource::Nothing => None,
                DataSource::Given if order.data.is_none() => {
                    if !made.missing.contains(&DATA_MISSING) {
                        made.missing.push(DATA_MISSING);
                    }
                    continue;
                }
                DataSource::Given => order.data,
                // It stands in for what is missing, unless someone asks for it.
                DataSource::BuiltIn(_) if order.data.is_some() && order.is_all => continue,
                DataSource::BuiltIn(pools) => Some(pools),
            };
            let experiments = entry.prepare(recorded, order.quick)?;
            let runs = experiments.into_iter().map(&mut *run).collect();
            if cancelled.load(Ordering::Relaxed) {
                break;
            }
            let section = FigureSection::new(entry, runs);
            if let Some(folder) = order.out {
                section.write(folder)?;
            }
            made.sections.push(section);
        }
        Ok(made)
    }

    /// Writes the page with all of them, and says where it is.
    pub fn write_page(&self, folder: &Path) -> Result<PathBuf, FigureError> {
        let path = folder.join("index.html");
        write(&path, page(&self.sections, &self.missing, self.quick).as_bytes())?;
        Ok(path)
    }
}

fn names() -> Vec<&'static str> {
    ENTRIES.iter().map(|entry| entry.name).collect()
}

fn entry(name: &str) -> Result<&'static FigureSpec, ReproduceError> {
    let unknown = || ReproduceError::Unknown { name: name.to_owned() };
    ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(unknown)
}

const DATA_NEEDED: &str = "\
gsm8k, questions-gsm8k and implied-majority replay recorded answers, and there is no file of them: give it with --data POOLS.jsonl (or .jsonl.gz). \
docs/pools.md says what it holds and how to make it from public outputs. `goodarm-lab reproduce capitals` is the same \
experiment on a recording that is built in, and `questions-capitals` that of questions.";
const DATA_MISSING: &str = "\
gsm8k, questions-gsm8k and implied-majority: left out, since they replay recorded answers: give them with --data POOLS.jsonl (or .jsonl.gz). In their place \
stand `capitals` and `questions-capitals`, the same experiments on the recording of a small model in examples/capitals. \
docs/pools.md says what such a file holds and how to make one from public outputs.";
