//! Recorded outcomes of verifiers and recorded answers to questions: what `replay` and `pool` draw from, and
//! what thresholds and plans are made from.
//!
//! A recording is the folder of a run; its journal has every call in the order in which it was asked for.
//! Most are made with the policy `fixed`, but any policy will do. A recording can also be a file, which other
//! programs can write. It has JSON Lines: the first has the unit of the costs, and each further line the outcomes
//! of one verifier on one candidate, in the order in which they were made:
//!
//! ```json
//! {"goodarm_recording":1,"unit":"tokens","note":"…"}
//! {"id":"q-1","verifier":"one solution","scores":[1,0,null],"costs":["77","102","80"]}
//! ```
//!
//! `null` is a call that failed. Answers to questions have a line for each question ([`PoolLine`]).

mod runs;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use goodarm_core::Cost;
use goodarm_data::bounds;
use goodarm_data::candidates::text_of;
use goodarm_files::money::AmountInput;
use goodarm_files::{PROBLEMS_MAX, PoolLine};
use serde::Deserialize;

use crate::fingerprint::{Fingerprint, HashingReader};
use crate::folder::Folder;

/// The first line of a recording that is a file.
#[derive(Deserialize)]
struct Heading {
    /// The version of this format.
    goodarm_recording: u32,
    /// The unit of the costs.
    unit: String,
}

/// The outcomes of one verifier on one candidate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcomes {
    id: String,
    verifier: String,
    /// The scores; null for a failed call.
    scores: Vec<Option<f64>>,
    /// The costs: decimals as text, or numbers.
    costs: Vec<AmountInput>,
    /// The final answers, if the verifier solves.
    #[serde(default, rename = "answers")]
    _answers: Vec<String>,
}

/// One recorded outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedOutcome {
    /// `None` for a failed call.
    pub score: Option<f64>,
    /// What it cost.
    pub cost: Cost,
}

/// All recorded outcomes of one verifier.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What the costs count.
    pub unit: String,
    /// The file that it was read from.
    pub file: Fingerprint,
    by_candidate: BTreeMap<String, Vec<RecordedOutcome>>,
}

impl Recording {
    /// Reads the outcomes of one verifier, from a run's folder or from a file, which may be packed.
    pub fn read(path: &Path, verifier: &str) -> Result<Self, String> {
        let at = |problem: String| format!("{}: {problem}", path.display());
        if path.is_dir() {
            return runs::outcomes(path, verifier).map_err(at);
        }
        let mut recording = Self::default();
        let mut others = Vec::new();
        recording.file = read_lines(path, |is_heading, line| {
            if is_heading {
                recording.unit = unit_of_heading(line)?;
                return Ok(());
            }
            recording.take(line, verifier, &mut others)
        })?;
        if recording.by_candidate.is_empty() {
            return Err(at(nothing_of("verifier", verifier, &others)));
        }
        Ok(recording)
    }

    fn take(&mut self, line: &str, verifier: &str, others: &mut Vec<String>) -> Result<(), String> {
        let outcomes: Outcomes = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if outcomes.verifier != verifier {
            if !others.contains(&outcomes.verifier) && others.len() < PROBLEMS_MAX {
                others.push(outcomes.verifier);
            }
            return Ok(());
        }
        if outcomes.scores.len() != outcomes.costs.len() {
            let (scores, costs) = (outcomes.scores.len(), outcomes.costs.len());
            return Err(format!("{scores} scores but {costs} costs"));
        }
        // A recording that was interrupted and resumed has several lines for a pair.
        let list = self.by_candidate.entry(outcomes.id).or_default();
        for (score, cost) in outcomes.scores.into_iter().zip(&outcomes.costs) {
            let cost = cost.price().map_err(|error| format!("a cost of {cost}: {error}"))?;
            list.push(RecordedOutcome { score, cost });
        }
        Ok(())
    }

    /// The outcomes on one candidate.
    pub fn of(&self, id: &str) -> Option<&[RecordedOutcome]> {
        self.by_candidate.get(id).map(Vec::as_slice).filter(|outcomes| !outcomes.is_empty())
    }

    /// The candidates that there are outcomes on.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_candidate.keys().map(String::as_str)
    }

    /// All outcomes.
    pub fn outcomes(&self) -> impl Iterator<Item = &RecordedOutcome> {
        self.by_candidate.values().flatten()
    }
}

/// The error for a recording without outcomes of the named service.
fn nothing_of(role: &str, name: &str, others: &[String]) -> String {
    let known = if others.is_empty() { "none".into() } else { others.join(", ") };
    format!("no outcomes of a {role} {name:?}; it has {known}")
}

/// The file with a recording's content: a run's journal, or the file itself.
pub fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { Folder::new(path).journal() } else { path.to_owned() }
}

/// What a job that calls the recording `name` calls the file of [`file_of`].
pub fn name_of(name: &str, path: &Path) -> String {
    match file_of(path).file_name().filter(|_| path.is_dir()) {
        Some(journal) => format!("{}/{}", name.trim_end_matches('/'), journal.to_string_lossy()),
        None => name.to_owned(),
    }
}

/// The names of all verifiers of a recording, in the order of the recording.
pub fn verifiers(path: &Path) -> Result<Vec<String>, String> {
    #[derive(Deserialize)]
    struct Name {
        verifier: String,
    }
    if path.is_dir() {
        return runs::verifiers(path).map_err(|error| format!("{}: {error}", path.display()));
    }
    let mut names: Vec<String> = Vec::new();
    read_lines(path, |is_heading, line| {
        if is_heading {
            return unit_of_heading(line).map(drop);
        }
        let Name { verifier } = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if !names.contains(&verifier) {
            names.push(verifier);
        }
        Ok(())
    })?;
    Ok(names)
}

/// Calls `take` with each line of a file that is not blank, and with whether it is the first. Returns the file's
/// fingerprint.
fn read_lines(
    path: &Path,
    mut take: impl FnMut(bool, &str) -> Result<(), String>,
) -> Result<Fingerprint, String> {
    let at = |problem: &dyn fmt::Display| format!("{}: {problem}", path.display());
    let mut file = HashingReader::new(File::open(path).map_err(|error| at(&error))?);
    let memory_max = bounds::memory_max(bounds::length_of(path));
    let content = bounds::unpacked(path, &mut file).map_err(|error| at(&error))?;
    let mut is_first = true;
    for (line, number) in bounds::json_lines(content, memory_max).zip(1_u64..) {
        let on_line = |problem: &dyn fmt::Display| at(&format!("line {number}: {problem}"));
        let line = line.map_err(|error| on_line(&error))?;
        if !line.trim().is_empty() {
            take(is_first, &line).map_err(|problem| on_line(&problem))?;
            is_first = false;
        }
    }
    file.finish(&path.display().to_string()).map_err(|error| at(&error))
}

fn unit_of_heading(line: &str) -> Result<String, String> {
    let heading: Heading = serde_json::from_str(line.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("not the first line of a recording: {error}"))?;
    match heading.goodarm_recording {
        VERSION => Ok(heading.unit),
        other => Err(format!("a recording of version {other}; this goodarm reads {VERSION}")),
    }
}

/// One recorded answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAnswer {
    /// `None` if the call failed.
    pub text: Option<String>,
    /// What it cost.
    pub cost: Cost,
}

/// Recorded answers, question by question.
#[derive(Clone, Debug, Default)]
pub struct RecordedAnswers {
    /// The file that they were read from.
    pub file: Fingerprint,
    /// The answers by the id of their question, in the order in which they were asked for.
    pub by_question: BTreeMap<String, Vec<RecordedAnswer>>,
}

impl RecordedAnswers {
    /// Reads all answers of a file of pools, which may be packed, or those of one generator or solver from a
    /// run's folder.
    pub fn read(path: &Path, of: &str) -> Result<Self, String> {
        if path.is_dir() {
            return runs::answers(path, of)
                .map_err(|problem| format!("{}: {problem}", path.display()));
        }
        let mut by_question: BTreeMap<String, Vec<RecordedAnswer>> = BTreeMap::new();
        let file = read_lines(path, |_, line| {
            let line: PoolLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
            let answers = by_question.entry(text_of(&line.id).into_owned()).or_default();
            for solution in line.solutions {
                let cost = solution.cost.or(solution.tokens).unwrap_or(0.0);
                let cost =
                    Cost::of_price(cost).map_err(|error| format!("a cost of {cost}: {error}"))?;
                let text = solution.text.as_ref().unwrap_or(&solution.answer);
                answers.push(RecordedAnswer { text: Some(text_of(text).into_owned()), cost });
            }
            Ok(())
        })?;
        Ok(Self { file, by_question })
    }
}

const VERSION: u32 = 1;
