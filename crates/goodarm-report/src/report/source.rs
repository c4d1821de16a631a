//! Where the answers' own texts are: in the run's outputs, or in the file that the job names.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use goodarm_live::candidates::Candidates;
use goodarm_live::charter::Charter;
use goodarm_live::folder::Folder;
use goodarm_live::job_file::JobFile;
use goodarm_live::outputs::KEY;
use goodarm_live::toml_text;
use serde::Deserialize;

/// The candidates that the run began with, or in words why they cannot be found.
pub(super) fn candidates(
    folder: &Folder,
    charter: &Charter,
    fingerprint: &[u8; 32],
    given: Option<&Path>,
) -> Result<Candidates, String> {
    let job: JobFile = toml_text::parse(&charter.job)
        .map_err(|error| format!("The job file in the journal cannot be read: {error}"))?;
    if let Some(path) = given {
        let candidates = Candidates::read(path, &job.id_field)
            .map_err(|error| format!("The answers' texts are not shown: {error}"))?;
        return checked(candidates, fingerprint).ok_or_else(|| {
            format!("{} does not hold the answers that the run began with.", path.display())
        });
    }
    let kept = from_outputs(folder, charter, &job);
    if let Some(candidates) = kept.and_then(|kept| checked(kept, fingerprint)) {
        return Ok(candidates);
    }
    places(folder, &job)
        .iter()
        .filter(|path| path.is_file())
        .filter_map(|path| Candidates::read(path, &job.id_field).ok())
        .find_map(|candidates| checked(candidates, fingerprint))
        .ok_or_else(|| {
            let name = &job.candidates;
            format!(
                "The answers' texts are not shown: the run has not written its outputs yet, and {name} was not found or has changed. Say where it is with --candidates."
            )
        })
}

/// The field that names an answer.
pub(super) fn id_field(charter: &Charter) -> String {
    toml_text::parse::<JobFile>(&charter.job).map_or_else(|_| "id".into(), |job| job.id_field)
}

fn checked(candidates: Candidates, fingerprint: &[u8; 32]) -> Option<Candidates> {
    (candidates.fingerprint() == *fingerprint).then_some(candidates)
}

/// One line of an output file.
#[derive(Deserialize)]
struct Line {
    goodarm: Number,
}

#[derive(Deserialize)]
struct Number {
    arm: usize,
}

/// The output files together hold every candidate once; what they add to it is not read.
fn from_outputs(folder: &Folder, charter: &Charter, job: &JobFile) -> Option<Candidates> {
    let mut originals: Vec<Option<String>> = vec![None; charter.candidate_count];
    for path in [folder.certified(), folder.rejected(), folder.undecided()] {
        for line in BufReader::with_capacity(1 << 18, File::open(path).ok()?).lines() {
            let line = line.ok()?;
            let number = serde_json::from_str::<Line>(&line).ok()?.goodarm.arm;
            *originals.get_mut(number)? = Some(original(&line));
        }
    }
    let lines: Option<Vec<&str>> = originals.iter().map(Option::as_deref).collect();
    Candidates::from_lines(lines?, &job.id_field).ok()
}

/// A line without what was added to it.
fn original(line: &str) -> String {
    let Some(at) = line.rfind(&format!("\"{KEY}\":")) else { return line.to_owned() };
    let head = line[..at].trim_end();
    format!("{}}}", head.strip_suffix(',').unwrap_or(head))
}

/// The job's paths are relative to its file's folder, which usually contains the run's folder.
fn places(folder: &Folder, job: &JobFile) -> Vec<PathBuf> {
    let inside = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned());
    let mut places: Vec<PathBuf> = inside
        .ancestors()
        .skip(1)
        .take(PARENTS_MAX)
        .map(|place| place.join(&job.candidates))
        .collect();
    places.push(PathBuf::from(&job.candidates));
    places
}

/// How many folders up a job file may be.
const PARENTS_MAX: usize = 4;
