//! Summary, answers and page, compared with the journal; and the files that verifiers were made of.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};

use goodarm_core::{ArmStatus, Books, StopReason};
use goodarm_data::bounds;
use goodarm_files::words::counted;
use serde_json::Value;

use super::{Area, AuditReport, Auditor, shortened};
use crate::changes;
use crate::ending::{Ending, EndingView};
use crate::fingerprint::Fingerprint;
use crate::folder::Folder;
use crate::journal::Mark;
use crate::journal::VERSION;
use crate::outputs::{self, page};
use crate::replay::Balance;
use crate::terms::RunTerms;
use crate::view::Overview;

/// Every key of the summary must follow from the calls.
pub(super) fn compare_summary(
    folder: &Folder,
    began_by: &str,
    found: &mut Overview,
    books: &Books,
    report: &mut AuditReport,
) {
    let before = report.problem_count;
    let path = folder.summary();
    let text = fs::read_to_string(&path);
    let read = text.and_then(|text| Ok((serde_json::from_str::<Value>(&text)?, text)));
    let (claimed, text) = match read {
        Ok(read) => read,
        Err(error) => return report.problem(Area::Summary, format!("{}: {error}", path.display())),
    };
    // The version that wrote the summary and the reason of the stop do not follow from the calls.
    let told: Option<EndingView> = serde_json::from_value(claimed["ending"].clone()).ok();
    let has_questions = books.problem().questions().is_some();
    found.ending = told.map(|told| EndingView::new(told.facts, has_questions));
    found.goodarm = claimed["goodarm"].as_str().unwrap_or_default().to_owned();
    if found.goodarm != VERSION {
        let version = shortened(&found.goodarm);
        report
            .notes
            .push(format!("summary.json was written by goodarm {version}, and this is {VERSION}"));
    }
    let is_own_version = began_by == VERSION;
    let mut expected = serde_json::to_value(&*found).unwrap_or_default();
    // Another version may not have had all of these keys.
    if let (Value::Object(claims), Value::Object(keys)) = (&claimed, &mut expected)
        && !is_own_version
    {
        keys.retain(|key, _| claims.contains_key(key));
    }
    for (key, claim, found) in changes::of_values(&claimed, &expected) {
        let (claim, found) = (claim.to_string(), found.to_string());
        let (claim, found) = (shortened(&claim), shortened(&found));
        let is_of_labels = key.split('.').next() == Some("claim");
        let (area, who) =
            if is_of_labels { (Area::Labels, "labels") } else { (Area::Summary, "calls") };
        let text = format!("summary.json: {key} is {claim}, but the {who} give {found}");
        report.problem(area, text);
    }
    if let Some(objection) = found.ending.as_ref().and_then(|told| objection(&told.facts, books)) {
        report.problem(Area::Summary, format!("summary.json: ending is wrong: {objection}"));
    }
    // A key that is there twice passes the comparison of values, and readers differ on which one counts.
    let is_same = outputs::summary_text(found).is_ok_and(|expected| expected == text);
    if is_own_version && !is_same && report.problem_count == before {
        let text = "summary.json says the same in other words than a run writes: it was changed";
        report.problem(Area::Summary, text);
    }
    report.checked(before, "summary.json has the totals of the calls".into());
}

/// Why a run cannot have ended like this.
fn objection(ending: &Ending, books: &Books) -> Option<&'static str> {
    let problem = books.problem();
    match ending {
        Ending::Done(StopReason::AllCertified) => {
            let is_wrong = books.certified().len() < problem.certificates_max();
            is_wrong.then_some("not every answer is certified")
        }
        Ending::Done(StopReason::AllDecided) => {
            let has_undecided = books.status_count(ArmStatus::Undecided) > 0;
            let is_wrong = has_undecided && problem.questions().is_none();
            is_wrong.then_some("there are undecided answers")
        }
        Ending::Done(StopReason::BudgetSpent) => {
            let is_wrong = problem.attributes().any(|attribute| books.is_affordable(attribute));
            is_wrong.then_some("a verifier is affordable")
        }
        _ => None,
    }
}

/// The outcome of each question must follow from its calls.
pub(super) fn compare_answers(folder: &Folder, auditor: &Auditor, report: &mut AuditReport) {
    let Auditor { balance: Balance { books, .. }, subjects, .. } = auditor;
    let Some(questions) = &subjects.questions else { return };
    let before = report.problem_count;
    let path = folder.answers();
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) => {
            return report.problem(Area::Findings, format!("{}: {error}", path.display()));
        }
    };
    let mut lines = bounds::lines(BufReader::with_capacity(1 << 18, file));
    for (expected, number) in outputs::outcomes(books, questions, &subjects.candidates).zip(1..) {
        if !matches!(lines.next(), Some(Ok(line)) if line == expected) {
            let text = format!("answers.jsonl line {number} is not what its calls give");
            return report.problem(Area::Findings, text);
        }
    }
    if lines.next().is_some() {
        report.problem(Area::Findings, "answers.jsonl has more lines than there are questions");
    }
    let answered = counted(books.certified().len(), "question");
    report.checked(before, format!("answers.jsonl has every question: {answered} answered"));
}

/// The page must be as it was written, and of this run.
pub(super) fn compare_page(folder: &Folder, all: &Mark, report: &mut AuditReport) {
    let again = "a new report replaces it";
    let mark = match page::mark(&folder.report()) {
        Ok(Some(mark)) => mark,
        Ok(None) => {
            let text = format!("report.html was changed since it was written: {again}");
            return report.problem(Area::Page, text);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => return report.problem(Area::Page, format!("report.html: {error}")),
    };
    if mark == *all {
        report.checked.push("report.html belongs to this run, and is up to date".into());
    } else if mark.begins(&folder.journal()).unwrap_or(false) {
        report.notes.push(format!("report.html is outdated: {again}"));
    } else {
        report.problem(Area::Page, format!("report.html is not of this run: {again}"));
    }
}

/// Reports whether the files that verifiers were made of are unchanged.
pub(super) fn look_at_files(folder: &Folder, terms: &RunTerms, report: &mut AuditReport) {
    let listed = terms.files.iter().map(|(path, content)| format!("{path} (BLAKE3 {content})"));
    let listed: Vec<String> = listed.collect();
    if listed.is_empty() {
        return;
    }
    report.checked.push(format!("the verifiers were made of {}", listed.join(", ")));
    let mut same = Vec::new();
    for (path, content) in &terms.files {
        let place = terms.folder.as_ref().map(|base| folder.path().join(base).join(path));
        // Reading a pipe in place of the file could block.
        let now =
            place.filter(|place| place.is_file()).map(|place| Fingerprint::read(path, &place));
        let note = match now {
            Some(Ok(now)) if now.blake3 == *content => {
                same.push(path.as_str());
                continue;
            }
            Some(Ok(now)) => format!(
                "{path} has changed since the run began, which is about what it was (BLAKE3 {content}) and not about what it is (BLAKE3 {})",
                now.blake3
            ),
            Some(Err(error)) => format!("{path} could not be looked at: {error}"),
            None => format!("{path} could not be looked at: it is not where it was"),
        };
        report.notes.push(note);
    }
    if !same.is_empty() {
        report.checked.push(format!("of these, as they were: {}", same.join(", ")));
    }
}
