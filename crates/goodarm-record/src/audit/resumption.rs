//! What is needed to continue a run that has not ended.

use std::fs;
use std::path::{Component, Path, PathBuf};

use goodarm_core::{Books, Cost};
use goodarm_files::toml_text;

use crate::changes;
use crate::folder::Folder;
use crate::job_file::JobFile;
use crate::terms::RunTerms;

/// What a run continues with, as far as its job file does not say the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumption {
    /// The job file; `None` if it was not found, or is not the run's any more.
    pub job: Option<PathBuf>,
    /// The budget.
    pub budget: Option<Cost>,
    /// The policy.
    pub policy: Option<String>,
    /// The number of calls of each pair.
    pub calls_per_pair: Option<u64>,
}

impl Resumption {
    pub(super) fn new(folder: &Folder, terms: &RunTerms, books: &Books) -> Self {
        let job =
            terms.folder.as_ref().and_then(|way| job_file(&joined(folder.path(), way), terms));
        let Ok(file) = toml_text::parse::<JobFile>(&terms.job) else {
            return Self { job, ..Self::default() };
        };
        let budget = books.ledger().budget();
        let is_other_policy = terms.policy != file.policy;
        let calls_per_pair = terms.calls_per_pair;
        Self {
            job,
            budget: (file.budget.budget() != Ok(budget)).then_some(budget),
            policy: is_other_policy.then(|| terms.policy.clone()),
            calls_per_pair: calls_per_pair
                .filter(|_| is_other_policy || calls_per_pair != file.calls_per_pair),
        }
    }
}

/// A path from a folder, without `..` where possible.
fn joined(folder: &Path, way: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in Path::new(way).components() {
        let is_up = part == Component::ParentDir
            && matches!(path.components().next_back(), Some(Component::Normal(_)));
        if is_up {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path
}

/// The first job file of a folder that can continue a run with these terms.
fn job_file(folder: &Path, terms: &RunTerms) -> Option<PathBuf> {
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let files = fs::read_dir(shown).ok()?.take(FILES_MAX).filter_map(Result::ok);
    let mut names: Vec<_> = files.map(|file| file.file_name()).collect();
    names.sort();
    let mut paths = names.iter().map(|name| folder.join(name));
    paths.find(|path| {
        let is_job =
            path.extension().is_some_and(|extension| extension == "toml") && path.is_file();
        let text = is_job.then(|| fs::read_to_string(path).ok()).flatten();
        text.is_some_and(|text| changes::of_job(&terms.job, &text).is_empty())
    })
}

/// The most files of a folder that are looked at.
const FILES_MAX: usize = 1000;
