//! Makes the chosen figures, one after the other.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::experiment::Experiment;
use thiserror::Error;

use crate::figures::run::write;
use crate::figures::{
    DataSource, ExperimentRun, FIGURES, FigureError, FigureSection, FigureSpec, page,
};

/// Why figures cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// There is no figure of this name.
    #[error("figure {}", goodarm_files::none_of(name, &names()))]
    Unknown {
        /// The name.
        name: String,
    },
    /// All chosen figures replay recorded answers, and no file of them is given.
    #[error("{DATA_NEEDED}")]
    DataNeeded,
    /// A figure cannot be made or written.
    #[error(transparent)]
    Figure(#[from] FigureError),
}

/// Which figures, and how.
pub struct ReproduceOrder<'a> {
    /// The figures.
    pub figures: Vec<&'static FigureSpec>,
    /// Whether these are all figures: then a built-in recording replaces a missing one.
    pub is_all: bool,
    /// Recorded answers, for the figures that replay them.
    pub data: Option<&'a str>,
    /// Few repetitions.
    pub quick: bool,
    /// Where to write each figure as soon as it is done.
    pub out: Option<&'a Path>,
}

impl<'a> ReproduceOrder<'a> {
    /// The figures with these names, or all if the list is empty.
    pub fn new(names: &[String]) -> Result<Self, ReproduceError> {
        let figures = names.iter().map(|name| spec(name)).collect::<Result<Vec<_>, _>>()?;
        let is_all = names.is_empty();
        let figures = if is_all { FIGURES.iter().collect() } else { figures };
        Ok(Self { figures, is_all, data: None, quick: false, out: None })
    }

    /// With these recorded answers.
    ///
    /// # Errors
    ///
    /// There are none, and all chosen figures need them.
    pub fn with_data(self, data: Option<&'a str>) -> Result<Self, ReproduceError> {
        let needs_data = |spec: &&FigureSpec| matches!(spec.data, DataSource::Argument);
        if data.is_none() && self.figures.iter().all(needs_data) {
            return Err(ReproduceError::DataNeeded);
        }
        Ok(Self { data, ..self })
    }
}

/// The figures that were made.
pub struct Reproduction {
    /// In the order of the figures.
    pub sections: Vec<FigureSection>,
    /// Which figures were left out, and why.
    pub missing: Vec<&'static str>,
    quick: bool,
}

impl Reproduction {
    /// Makes the figures until `cancelled`; a figure whose experiments were cut short is left out.
    /// `run` runs an experiment, as [`ExperimentRun::new`] does, and may show its progress.
    pub fn new(
        order: &ReproduceOrder<'_>,
        cancelled: &AtomicBool,
        run: &mut dyn FnMut(Experiment) -> ExperimentRun,
    ) -> Result<Self, FigureError> {
        let mut made = Self { sections: Vec::new(), missing: Vec::new(), quick: order.quick };
        for spec in &order.figures {
            let recorded = match spec.data {
                DataSource::NotNeeded => None,
                DataSource::Argument if order.data.is_none() => {
                    if !made.missing.contains(&DATA_MISSING) {
                        made.missing.push(DATA_MISSING);
                    }
                    continue;
                }
                DataSource::Argument => order.data,
                // It replaces a missing recording; it is also made if it is named.
                DataSource::BuiltIn(_) if order.data.is_some() && order.is_all => continue,
                DataSource::BuiltIn(pools) => Some(pools),
            };
            let experiments = spec.prepare(recorded, order.quick)?;
            let runs = experiments.into_iter().map(&mut *run).collect();
            if cancelled.load(Ordering::Relaxed) {
                break;
            }
            let section = FigureSection::new(spec, runs);
            if let Some(folder) = order.out {
                section.write(folder)?;
            }
            made.sections.push(section);
        }
        Ok(made)
    }

    /// Writes the page with all of them, and returns its path.
    pub fn write_page(&self, folder: &Path) -> Result<PathBuf, FigureError> {
        let path = folder.join("index.html");
        write(&path, page(&self.sections, &self.missing, self.quick).as_bytes())?;
        Ok(path)
    }
}

fn names() -> Vec<&'static str> {
    FIGURES.iter().map(|spec| spec.name).collect()
}

fn spec(name: &str) -> Result<&'static FigureSpec, ReproduceError> {
    let unknown = || ReproduceError::Unknown { name: name.to_owned() };
    FIGURES.iter().find(|spec| spec.name == name).ok_or_else(unknown)
}

const DATA_NEEDED: &str = "\
gsm8k, questions-gsm8k and implied-majority replay recorded answers, and there is no file of them: give it with --data POOLS.jsonl (or .jsonl.gz). \
docs/pools.md says what it holds and how to make it from public outputs. `goodarm-lab reproduce capitals` is the same \
experiment on a recording that is built in, and `questions-capitals` that of questions.";
const DATA_MISSING: &str = "\
gsm8k, questions-gsm8k and implied-majority: left out, since they replay recorded answers: give them with --data POOLS.jsonl (or .jsonl.gz). In their place \
stand `capitals` and `questions-capitals`, the same experiments on the recording of a small model in examples/capitals. \
docs/pools.md says what such a file holds and how to make one from public outputs.";
