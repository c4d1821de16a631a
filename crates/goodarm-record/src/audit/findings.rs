//! The run's findings about each candidate, compared with what its calls prove.

use std::fs::File;
use std::io::BufReader;

use goodarm_core::{ArmId, ArmStatus, Books};
use goodarm_data::bounds;
use goodarm_data::candidates::Candidates;
use goodarm_files::words::{counted, number};
use serde::Deserialize;

use super::{Area, AuditProblem, AuditReport, Auditor, problem, shortened};
use crate::account::Account;
use crate::folder::Folder;
use crate::history::History;
use crate::outputs::with_finding;
use crate::replay::Balance;
use crate::subjects::Subjects;
use crate::view::{AnswerView, Overview, VerifierView};

/// The candidates in the folder, checked against the fingerprint at the start, and the answers made since.
pub(super) fn subjects(folder: &Folder, history: &History) -> Result<Subjects, AuditProblem> {
    let path = folder.candidates();
    let unreadable = |text: String| problem(Area::Candidates, text);
    if !path.exists() {
        return Err(unreadable(format!(
            "{} is missing: resuming the run writes it",
            path.display()
        )));
    }
    let subjects =
        Subjects::read(folder, &history.terms).map_err(|error| unreadable(error.to_string()))?;
    if !subjects.candidates.begin_with(history.terms.candidate_count, &history.header().candidates)
    {
        return Err(unreadable(format!(
            "{}: not the candidates that the run began with",
            path.display()
        )));
    }
    Ok(subjects)
}

/// Checks the fingerprint of the first `count` candidates, after some were added.
pub(super) fn check_candidates(
    folder: &Folder,
    candidates: &Candidates,
    count: usize,
    fingerprint: &[u8; 32],
) -> Result<(), AuditProblem> {
    if candidates.begin_with(count, fingerprint) {
        return Ok(());
    }
    let path = folder.candidates();
    let text = format!("{}: not the candidates that were added to the run", path.display());
    Err(super::problem(Area::Candidates, text))
}

/// Describes the candidates, once their fingerprints are checked.
pub(super) fn describe_candidates(subjects: &Subjects, books: &Books, account: &Account) -> String {
    let (began_with, count) = (account.began_with, books.problem().arm_count());
    let mut text =
        format!("the candidates are the {} that the run began with", number(began_with as u64));
    if count > began_with {
        let how = if subjects.questions.is_some() { "made" } else { "added" };
        text += &format!(", and {} that were {how}", number((count - began_with) as u64));
    }
    if let Some(questions) = &subjects.questions {
        let count = number(questions.list.len() as u64);
        text += &format!("; the questions are the {count} that it began with");
    }
    if subjects.candidates.len() > count {
        let more = subjects.candidates.len() - count;
        text += &format!("; candidates.jsonl has {more} more, which a resumed run adds");
    }
    text
}

/// One line of a file of findings: only the number of its candidate.
#[derive(Deserialize)]
struct Line {
    goodarm: Number,
}

#[derive(Deserialize)]
struct Number {
    arm: u32,
}

/// Every candidate must be in one of the files, once, unchanged, with what its calls prove.
pub(super) fn compare(folder: &Folder, auditor: &Auditor, report: &mut AuditReport) {
    let before = report.problem_count;
    let Balance { books, account, .. } = &auditor.balance;
    let verifiers = Overview::new(&auditor.terms, books, account).verifiers;
    let mut is_seen = vec![false; books.problem().arm_count()];
    for (path, status) in folder.findings() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => {
                report.problem(Area::Findings, format!("{}: {error}", path.display()));
                continue;
            }
        };
        let lines = bounds::lines(BufReader::with_capacity(1 << 18, file));
        for (index, text) in lines.enumerate() {
            let at = || format!("{name} line {}", index + 1);
            let text = match text {
                Ok(text) => text,
                Err(error) => {
                    report.problem(Area::Findings, format!("{}: {error}", at()));
                    break;
                }
            };
            let claim = Claim { text: &text, status, place: index + 1 };
            if let Err(problem) = claim.check(auditor, &verifiers, &mut is_seen) {
                report.problem(Area::Findings, format!("{}: {problem}", at()));
            }
        }
    }
    let missing = is_seen.iter().filter(|is_seen| !**is_seen).count();
    if missing > 0 {
        let count = is_seen.len();
        let text = format!("{missing} of {} in none of the files", counted(count, "candidate"));
        report.problem(Area::Findings, text);
    }
    let count = counted(books.certified().len(), "certificate");
    report.checked(
        before,
        format!("the certificates and their order follow from the calls: {count}"),
    );
}

/// A line of a file of findings: its text, the status that the file stands for, and its place.
struct Claim<'a> {
    text: &'a str,
    status: ArmStatus,
    /// The place in its file, counted from 1.
    place: usize,
}

impl Claim<'_> {
    fn check(
        &self,
        auditor: &Auditor,
        verifiers: &[VerifierView],
        is_seen: &mut [bool],
    ) -> Result<(), String> {
        let Auditor { balance: Balance { books, account, .. }, subjects, .. } = auditor;
        let candidates = &subjects.candidates;
        let line: Line = serde_json::from_str(self.text).map_err(|error| error.to_string())?;
        let arm = ArmId(line.goodarm.arm);
        match is_seen.get_mut(arm.index()) {
            None => return Err(format!("there is no candidate {arm}")),
            Some(true) => return Err(format!("candidate {arm} is there twice")),
            Some(is_seen) => *is_seen = true,
        }
        let id = shortened(candidates.id(arm));
        let found = books.status(arm);
        if found != self.status {
            let found = found.name();
            return Err(format!("{id:?} is in this file, but its calls make it {found}"));
        }
        let is_certificate = self.status == ArmStatus::Certified;
        if is_certificate && books.certified().get(self.place - 1) != Some(&arm) {
            return Err(format!("{id:?} is not certificate {}", self.place));
        }
        let rank = is_certificate.then_some(self.place);
        let answer = AnswerView::new(books, account, arm, rank);
        let finding = serde_json::to_string(&answer.finding(verifiers));
        let finding = finding.map_err(|error| error.to_string())?;
        if self.text == with_finding(candidates.json(arm), &finding) {
            return Ok(());
        }
        let is_own = self.text.ends_with(&format!("{finding}}}"));
        Err(if is_own {
            format!("the fields of {id:?} are not what they were when the run began")
        } else {
            format!("the evidence of {id:?} is not what its calls give")
        })
    }
}
