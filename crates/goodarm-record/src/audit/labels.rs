//! Labels of certified answers: the order that was drawn, the labels in this order, and what they prove.

use goodarm_files::words::counted;

use super::{Area, AuditProblem, AuditReport, Auditor, problem};
use crate::claims::labelled::Claims;
use crate::claims::line::LabelLine;
use crate::claims::order::{self, CertifiedAt};
use crate::folder::Folder;
use crate::labels::record;
use crate::view::ClaimView;

/// The labels of a folder.
pub(super) struct AuditedLabels {
    lines: Vec<LabelLine>,
    labels: Claims,
}

impl AuditedLabels {
    /// Reads and checks the labels: an order is written before its labels, labels are in this order, and a person
    /// gives one label to an answer.
    pub(super) fn read(folder: &Folder, report: &mut AuditReport) -> Self {
        let (lines, labels) = record::read(folder).unwrap_or_else(|error| {
            report.problem(Area::Labels, error);
            (Vec::new(), Claims::default())
        });
        Self { lines, labels }
    }

    /// The lengths of the journal at which the claims began; the counts of certified answers are filled in later.
    pub(super) fn beginnings(&self) -> CertifiedAt {
        CertifiedAt::new(self.labels.claims.iter().map(|claim| &claim.begun))
    }

    /// Each claim must be about what was certified when it began, in the order that was drawn.
    pub(super) fn compare(&self, folder: &Folder, auditor: &Auditor, report: &mut AuditReport) {
        let Auditor { terms, balance, subjects, certified_at, .. } = auditor;
        let certified = balance.books.certified();
        let certified: Vec<&str> = certified.iter().map(|&arm| subjects.id(arm)).collect();
        let seed = terms.seed();
        for claim in &self.labels.claims {
            let before = report.problem_count;
            let then = certified_at.get(&claim.begun);
            let checked = order::check(&claim.begun, &folder.journal(), seed, &certified, then);
            if let Err(reason) = checked {
                report.problem(Area::Labels, format!("labels.jsonl: {reason}"));
            }
            report.checked(
                before,
                format!(
                    "labels.jsonl: claim {} has {}, in the order that was drawn, of the {} that were certified when it began",
                    claim.begun.claim,
                    counted(claim.label_count(), "label"),
                    counted(claim.size(), "answer"),
                ),
            );
        }
    }

    /// The claim that the summary must have. It follows from the lines of labels that the summary was made from; more
    /// lines may have been added since.
    pub(super) fn claim_of_summary(
        &self,
        folder: &Folder,
        certified: usize,
        report: &mut AuditReport,
    ) -> Result<Option<ClaimView>, AuditProblem> {
        let found = self.lines.len();
        let seen = folder.labels_seen().unwrap_or(0);
        let lines = usize::try_from(seen).ok().and_then(|seen| self.lines.get(..seen));
        let Some(lines) = lines else {
            return Err(problem(
                Area::Labels,
                format!(
                    "summary.json was made from {}, but labels.jsonl has {found}: it is older than the summary, or lines are missing at its end",
                    counted(seen, "line")
                ),
            ));
        };
        if found > lines.len() {
            let more = counted(found - lines.len(), "line");
            report.notes.push(format!(
                "labels.jsonl has {more} more than summary.json was made from: a new report shows what all of them prove"
            ));
        }
        let labels = Claims::new(lines).expect("the beginning of lines that were taken");
        Ok(ClaimView::new(&labels, certified))
    }
}
