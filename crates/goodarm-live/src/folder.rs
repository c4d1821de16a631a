//! The files of a run's folder.

use std::io;
use std::path::{Path, PathBuf};

use goodarm_core::ArmStatus;

use crate::changes;
use crate::charter::Charter;

/// A run's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The run's folder at a path.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that is where the folder should be, or one that should hold it.
    pub fn file_in_the_way(&self) -> Option<&Path> {
        self.path.ancestors().find(|path| path.is_file())
    }

    /// Gives the folder another name, the next one that is free, so that a new run can begin here.
    pub(crate) fn set_aside(&self) -> io::Result<PathBuf> {
        let name = self.path.file_name().ok_or_else(|| {
            io::Error::other("the folder has no name that could be changed: choose another output")
        })?;
        let aside = (1_u32..).map(|number| {
            let mut name = name.to_owned();
            name.push(format!(".{number}"));
            self.path.with_file_name(name)
        });
        let aside = aside.into_iter().find(|path| !path.exists()).expect("there is a free number");
        std::fs::rename(&self.path, &aside)?;
        Ok(aside)
    }

    /// What happened, durable: everything else can be made from it.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// The job file as run.
    pub fn job(&self) -> PathBuf {
        self.path.join("job.toml")
    }

    /// The terms of a run with its job as it is now: the pace may have changed since it began.
    pub fn present(&self, charter: &Charter) -> Charter {
        let job = std::fs::read_to_string(self.job()).unwrap_or_default();
        let is_same = changes::of_job(&charter.job, &job).is_empty();
        let job = if is_same { job } else { charter.job.clone() };
        Charter { job, ..charter.clone() }
    }

    /// The candidates as they were when the run began, and those that were added.
    pub fn candidates(&self) -> PathBuf {
        self.path.join("candidates.jsonl")
    }

    /// Candidates that meet every threshold.
    pub fn certified(&self) -> PathBuf {
        self.path.join("certified.jsonl")
    }

    /// The certified ones as a table, if the job wants it.
    pub fn certified_table(&self) -> PathBuf {
        self.path.join("certified.parquet")
    }

    /// Candidates that the evidence speaks against.
    pub fn rejected(&self) -> PathBuf {
        self.path.join("rejected.jsonl")
    }

    /// All others.
    pub fn undecided(&self) -> PathBuf {
        self.path.join("undecided.jsonl")
    }

    /// Every call.
    pub fn calls(&self) -> PathBuf {
        self.path.join("calls.jsonl")
    }

    /// The same as a table, if the job wants it so.
    pub fn calls_table(&self) -> PathBuf {
        self.path.join("calls.parquet")
    }

    /// The files of findings, and the status of the candidates in each.
    pub fn findings(&self) -> [(PathBuf, ArmStatus); 3] {
        [
            (self.certified(), ArmStatus::Certified),
            (self.rejected(), ArmStatus::Rejected),
            (self.undecided(), ArmStatus::Undecided),
        ]
    }

    /// Every file that a run writes, but for its journal and its lock.
    pub fn outputs(&self) -> [PathBuf; 9] {
        [
            self.job(),
            self.candidates(),
            self.certified(),
            self.certified_table(),
            self.rejected(),
            self.undecided(),
            self.calls(),
            self.calls_table(),
            self.summary(),
        ]
    }

    /// The totals.
    pub fn summary(&self) -> PathBuf {
        self.path.join("summary.json")
    }
}
