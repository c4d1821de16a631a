//! The files of a run's folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use goodarm_core::ArmStatus;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::journal::Mark;

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

    /// A file at the folder's path, or at the path of one of its parents.
    pub fn file_in_the_way(&self) -> Option<&Path> {
        self.path.ancestors().find(|path| path.is_file())
    }

    /// Renames the folder to the next free name, so that a new run can begin here.
    pub fn set_aside(&self) -> io::Result<PathBuf> {
        if self.path.file_name().is_none() {
            return Err(io::Error::other(
                "the folder has no name that could be changed: choose another output",
            ));
        }
        let aside = self.aside().find(|path| !path.exists()).expect("there is a free number");
        fs::rename(&self.path, &aside)?;
        Ok(aside)
    }

    /// The folders that runs of this folder were moved to.
    pub fn set_aside_before(&self) -> impl Iterator<Item = Self> + '_ {
        self.aside().take_while(|path| path.exists()).map(|path| Self::new(&path))
    }

    /// The names for runs that are moved aside, in order.
    fn aside(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let name = self.path.file_name().unwrap_or_default();
        (1_u32..).map(move |number| {
            let mut name = name.to_owned();
            name.push(format!(".{number}"));
            self.path.with_file_name(name)
        })
    }

    /// The durable record of events: everything else can be made from it.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// The job file as run.
    pub fn job(&self) -> PathBuf {
        self.path.join("job.toml")
    }

    /// The candidates as they were when the run began, and those that were added.
    pub fn candidates(&self) -> PathBuf {
        self.path.join("candidates.jsonl")
    }

    /// The questions that the candidates answer, if the job has any.
    pub fn questions(&self) -> PathBuf {
        self.path.join("questions.jsonl")
    }

    /// What became of each question.
    pub fn answers(&self) -> PathBuf {
        self.path.join("answers.jsonl")
    }

    /// Labels of certified answers, if people have given any.
    pub fn labels(&self) -> PathBuf {
        self.path.join("labels.jsonl")
    }

    /// Every call.
    pub fn calls(&self) -> PathBuf {
        self.path.join("calls.jsonl")
    }

    /// Replies of people, if some services are people.
    pub fn replies(&self) -> PathBuf {
        self.path.join("replies.jsonl")
    }

    /// The files of findings, and the status of the candidates in each.
    pub fn findings(&self) -> [(PathBuf, ArmStatus); 3] {
        let all = [ArmStatus::Certified, ArmStatus::Rejected, ArmStatus::Undecided];
        all.map(|status| (self.path.join(format!("{}.jsonl", status.name())), status))
    }

    /// The files of a run that must not be in the way of a new one: all but journal and lock.
    pub fn outputs(&self) -> impl Iterator<Item = PathBuf> {
        let before = [self.job(), self.candidates(), self.questions(), self.answers()];
        let findings = self.findings().map(|(path, _)| path);
        let behind = [self.calls(), self.replies(), self.labels(), self.summary(), self.report()];
        before.into_iter().chain(findings).chain(behind)
    }

    /// The totals of the run.
    pub fn summary(&self) -> PathBuf {
        self.path.join("summary.json")
    }

    /// The report: the results as one page.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Checks that the journal begins with the bytes that the summary was made from. A summary is written when the
    /// journal is durable, so no crash leaves a shorter journal.
    pub fn check_journal_age(&self) -> Result<(), OlderJournal> {
        let Some(seen) = self.seen() else { return Ok(()) };
        let (journal, summary) = (self.journal(), self.summary());
        if seen.begins(&journal).unwrap_or(false) {
            return Ok(());
        }
        let found = fs::metadata(&journal).map_or(0, |found| found.len());
        Err(OlderJournal { journal, summary, seen: seen.bytes, found })
    }

    /// How much of the journal the summary was made from.
    pub(crate) fn seen(&self) -> Option<Mark> {
        self.in_summary("/journal")
    }

    /// How many lines of labels the summary was made from.
    pub(crate) fn labels_seen(&self) -> Option<u64> {
        self.in_summary("/claim/lines")
    }

    /// What the summary has at a JSON pointer.
    pub(crate) fn in_summary<T: DeserializeOwned>(&self, pointer: &str) -> Option<T> {
        let text = fs::read_to_string(self.summary()).ok()?;
        let summary: Value = serde_json::from_str(&text).ok()?;
        serde_json::from_value(summary.pointer(pointer)?.clone()).ok()
    }
}

/// A journal that is older than its summary, or belongs to another run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} ({found} bytes) does not begin with the {seen} bytes that {} was made from: it is older, or belongs to another run. \
     Continuing it would repeat calls whose outcomes are known, and break delta: put the newer journal back, or \
     begin a new run",
    journal.display(), summary.display()
)]
pub struct OlderJournal {
    /// The journal that is there.
    pub journal: PathBuf,
    /// The summary, which was made from another beginning.
    pub summary: PathBuf,
    /// How many bytes of the journal the summary was made from.
    pub seen: u64,
    /// The length of the journal, in bytes.
    pub found: u64,
}
