//! What the run claims about each candidate, against what its calls prove.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use goodarm_core::{ArmId, ArmStatus};
use serde::Deserialize;

use super::{Report, Retraced, shortened};
use crate::candidates::Candidates;
use crate::folder::Folder;
use crate::history::History;
use crate::job_file::JobFile;
use crate::outputs::{Finding, KEY, finding, status_of};
use crate::toml_text;

/// One line of a file of candidates.
#[derive(Deserialize)]
struct Line {
    goodarm: Finding,
}

fn files(folder: &Folder) -> [(PathBuf, ArmStatus); 3] {
    [
        (folder.certified(), ArmStatus::Certified),
        (folder.rejected(), ArmStatus::Rejected),
        (folder.undecided(), ArmStatus::Undecided),
    ]
}

/// The ids of all candidates, after making sure that the three files hold the candidates that the
/// run began with, each of them once.
pub(super) fn ids(
    folder: &Folder,
    history: &History,
    report: &mut Report,
) -> Result<Vec<String>, String> {
    let before = report.wrong_count;
    let count = history.charter.candidate_count;
    let mut originals: Vec<Option<String>> = vec![None; count];
    for (path, _) in files(folder) {
        let name = path.display();
        let file = File::open(&path).map_err(|error| format!("{name}: {error}"))?;
        for (index, text) in BufReader::new(file).lines().enumerate() {
            let at = format!("{name} line {}", index + 1);
            let text = text.map_err(|error| format!("{at}: {error}"))?;
            let line: Line = match serde_json::from_str(&text) {
                Ok(line) => line,
                Err(error) => {
                    report.wrong(format!("{at}: {error}"));
                    continue;
                }
            };
            match originals.get_mut(line.goodarm.arm as usize) {
                Some(place @ None) => *place = Some(original(&text).to_owned()),
                Some(Some(_)) => {
                    report.wrong(format!("{at}: candidate {} is there twice", line.goodarm.arm));
                }
                None => report.wrong(format!("{at}: there is no candidate {}", line.goodarm.arm)),
            }
        }
    }
    let missing = originals.iter().filter(|original| original.is_none()).count();
    if missing > 0 {
        report.wrong(format!("{missing} of {count} candidates are in none of the files"));
    }
    let job: JobFile = toml_text::parse(&history.charter.job)?;
    let lines = originals.iter().map(|line| line.as_deref().unwrap_or("{}"));
    let candidates = match Candidates::from_lines(lines, &job.id_field) {
        Ok(candidates) => candidates,
        Err(error) => {
            report.wrong(format!("the candidates in the files: {error}"));
            return Ok(vec![String::new(); count]);
        }
    };
    if candidates.fingerprint() != history.header().candidates {
        report.wrong("the candidates in the files are not those that the run began with".into());
    }
    let text = format!("the {count} candidates are those that the run began with, each once");
    report.checked(before, text);
    Ok(candidates.arms().map(|arm| candidates.id(arm).to_owned()).collect())
}

/// A line without what was added to it.
fn original(line: &str) -> String {
    let mark = format!("\"{KEY}\":");
    let Some(at) = line.rfind(&mark) else { return line.to_owned() };
    let head = line[..at].trim_end();
    format!("{}}}", head.strip_suffix(',').unwrap_or(head))
}

/// Every claim about a candidate must be what its calls prove.
pub(super) fn compare(folder: &Folder, retraced: &Retraced, report: &mut Report) {
    let before = report.wrong_count;
    let books = &retraced.books;
    let mut certified_next = 0;
    for (path, status) in files(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(file) = File::open(&path) else { continue };
        for text in BufReader::new(file).lines().map_while(Result::ok) {
            let Ok(Line { goodarm: claimed }) = serde_json::from_str::<Line>(&text) else {
                continue;
            };
            let arm = ArmId(claimed.arm);
            if arm.index() >= books.problem().arm_count() {
                continue;
            }
            let id = retraced.ids.get(arm.index()).map_or("", String::as_str);
            let id = shortened(id);
            if status_of(books, arm) != status {
                let is = match status_of(books, arm) {
                    ArmStatus::Certified => "certified",
                    ArmStatus::Rejected => "rejected",
                    ArmStatus::Undecided => "undecided",
                };
                report.wrong(format!("{name}: {id:?} is in this file, but its calls make it {is}"));
                continue;
            }
            let mut rank = None;
            if status == ArmStatus::Certified {
                let expected = books.certified().get(certified_next);
                certified_next += 1;
                rank = Some(certified_next);
                if expected != Some(&arm) {
                    report.wrong(format!("{name}: {id:?} is not certificate {certified_next}"));
                    continue;
                }
            }
            if finding(books, arm, rank) != claimed {
                report.wrong(format!("{name}: the evidence of {id:?} is not what its calls give"));
            }
        }
    }
    let count = books.certified().len();
    report
        .checked(before, format!("all {count} certificates follow from the calls, in their order"));
}
