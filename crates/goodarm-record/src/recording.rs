//! Recorded outcomes of verifiers: what `goodarm record` writes and `replay` verifiers read.
//!
//! JSON Lines. The first line says what was recorded; each further line holds the outcomes of one
//! verifier on one candidate, in the order in which they were made:
//!
//! ```json
//! {"goodarm_recording":1,"unit":"tokens","note":"…"}
//! {"id":"q-1","verifier":"one solution","scores":[1,0,null],"costs":["77","102","80"]}
//! ```
//!
//! `null` is a call that failed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;

use goodarm_core::Cost;
use goodarm_data::bounds;
use goodarm_files::PROBLEMS_MAX;
use serde::{Deserialize, Serialize};

use crate::fingerprint::{Fingerprint, Fingerprinted};
use crate::job_file::Unit;

/// The first line.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Heading {
    /// The version of this format.
    pub goodarm_recording: u32,
    /// What the costs count.
    pub unit: String,
    /// Where the outcomes come from.
    #[serde(default)]
    pub note: String,
}

/// The outcomes of one verifier on one candidate.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Outcomes {
    /// The candidate.
    pub id: String,
    /// The verifier.
    pub verifier: String,
    /// What it said; null if it failed.
    pub scores: Vec<Option<f64>>,
    /// What that cost: decimals in texts; numbers are read, too.
    #[serde(with = "goodarm_files::money::price")]
    pub costs: Vec<Cost>,
    /// The final answers, if the verifier solves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
}

impl Outcomes {
    /// Nothing yet.
    pub fn none(id: &str, verifier: &str) -> Self {
        let (id, verifier) = (id.to_owned(), verifier.to_owned());
        Self { id, verifier, scores: Vec::new(), costs: Vec::new(), answers: Vec::new() }
    }
}

/// One recorded outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// None if the call failed.
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
    by_candidate: BTreeMap<String, Vec<Outcome>>,
}

impl Recording {
    /// Reads the outcomes of one verifier; .gz is unpacked. All that is wrong is reported at once.
    pub fn read(path: &Path, verifier: &str) -> Result<Self, Vec<String>> {
        let at = |problem: &dyn fmt::Display| format!("{}: {problem}", path.display());
        let unreadable = |error: io::Error| vec![at(&error)];
        let mut file = Fingerprinted::new(File::open(path).map_err(unreadable)?);
        let memory_max = bounds::memory_max(bounds::length_of(path));
        let parsed = Self::parse(bounds::unpacked(path, &mut file), memory_max, verifier);
        let recording = parsed
            .map_err(|problems| problems.iter().map(|problem| at(problem)).collect::<Vec<_>>())?;
        let file = file.finish(&path.display().to_string()).map_err(unreadable)?;
        Ok(Self { file, ..recording })
    }

    fn parse(reader: impl BufRead, memory_max: u64, verifier: &str) -> Result<Self, Vec<String>> {
        let mut recording = Self::default();
        let mut problems = Vec::new();
        let mut others: Vec<String> = Vec::new();
        for (index, line) in bounds::json_lines(reader, memory_max).enumerate() {
            let problem = |reason: String| format!("line {}: {reason}", index + 1);
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    problems.push(problem(error.to_string()));
                    break;
                }
            };
            let outcome = if index == 0 {
                unit_of_heading(&line).map(|unit| recording.unit = unit)
            } else {
                recording.take(&line, verifier, &mut others)
            };
            if let Err(reason) = outcome {
                problems.push(problem(reason));
            }
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
        }
        if problems.is_empty() && recording.by_candidate.is_empty() {
            let known = if others.is_empty() { "none".into() } else { others.join(", ") };
            problems.push(format!("no outcomes of a verifier {verifier:?}; it has {known}"));
        }
        if problems.is_empty() { Ok(recording) } else { Err(problems) }
    }

    fn take(&mut self, line: &str, verifier: &str, others: &mut Vec<String>) -> Result<(), String> {
        if line.trim().is_empty() {
            return Ok(());
        }
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
        let list = outcomes.scores.into_iter().zip(outcomes.costs);
        let list = list.map(|(score, cost)| Outcome { score, cost });
        // A recording that was broken off and taken up again has several lines for a pair.
        self.by_candidate.entry(outcomes.id).or_default().extend(list);
        Ok(())
    }

    /// The outcomes on one candidate.
    pub fn of(&self, id: &str) -> Option<&[Outcome]> {
        self.by_candidate.get(id).map(Vec::as_slice).filter(|outcomes| !outcomes.is_empty())
    }

    /// The candidates that there are outcomes on.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_candidate.keys().map(String::as_str)
    }

    /// All outcomes.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.by_candidate.values().flatten()
    }
}

/// The names of all verifiers of a recording, in the order of the file; .gz is unpacked.
pub fn verifiers(path: &Path) -> Result<Vec<String>, Vec<String>> {
    #[derive(Deserialize)]
    struct Name {
        verifier: String,
    }
    let at = |line: usize, problem: &dyn fmt::Display| {
        vec![format!("{}: line {line}: {problem}", path.display())]
    };
    let file = File::open(path).map_err(|error| vec![format!("{}: {error}", path.display())])?;
    let mut names: Vec<String> = Vec::new();
    let memory_max = bounds::memory_max(bounds::length_of(path));
    let lines = bounds::json_lines(bounds::unpacked(path, file), memory_max);
    for (line, number) in lines.zip(1..) {
        let line = line.map_err(|error| at(number, &error))?;
        if number == 1 {
            unit_of_heading(&line).map_err(|error| at(number, &error))?;
        } else if !line.trim().is_empty() {
            let Name { verifier } =
                serde_json::from_str(&line).map_err(|error| at(number, &error))?;
            if !names.contains(&verifier) {
                names.push(verifier);
            }
        }
    }
    Ok(names)
}

fn unit_of_heading(line: &str) -> Result<String, String> {
    let heading: Heading = serde_json::from_str(line.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("not the first line of a recording: {error}"))?;
    match heading.goodarm_recording {
        VERSION => Ok(heading.unit),
        other => Err(format!("a recording of version {other}; this goodarm reads {VERSION}")),
    }
}

/// Whether a recording whose first line is this counts costs in `unit`.
pub fn check_unit(line: &str, unit: Unit) -> Result<(), String> {
    let (theirs, ours) = (unit_of_heading(line)?, unit.name());
    if theirs == ours {
        return Ok(());
    }
    Err(format!("the recording counts {theirs}, and the job {ours}: record into another file"))
}

/// Whether this is a whole line of a recording.
pub fn is_line(line: &[u8]) -> bool {
    serde_json::from_slice::<Outcomes>(line).is_ok()
        || serde_json::from_slice::<Heading>(line).is_ok()
}

/// The first line of a new recording.
pub fn heading(unit: &str, note: &str) -> io::Result<String> {
    let heading =
        Heading { goodarm_recording: VERSION, unit: unit.to_owned(), note: note.to_owned() };
    Ok(serde_json::to_string(&heading)?)
}

const VERSION: u32 = 1;
