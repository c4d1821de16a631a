//! What the run's own thread does for the page: it keeps the newest certificates and a few hundred
//! steps of the coverage, however long the run is, and hands over copies of them.

use std::collections::VecDeque;
use std::sync::Arc;

use goodarm_core::{ArmId, Books, Cost};
use goodarm_live::line::Condition;
use goodarm_live::outputs::totals::VerifierTotals;
use goodarm_live::run::{Notice, Progress, Run};

use super::state::{Certificate, Phase, Snapshot};
use crate::report::data::Step;
use crate::report::{Trail, pair};

/// Collects what the page shows.
pub(super) struct SnapshotBuilder {
    pub(super) phase: Phase,
    progress: Arc<Progress>,
    coverage: Coverage,
    certificates: VecDeque<Arc<Certificate>>,
    /// Announced, but not yet looked up in the books: arm, rank, and what was spent by then.
    announced: VecDeque<(ArmId, usize, Cost)>,
    warnings: VecDeque<Arc<str>>,
}

impl SnapshotBuilder {
    /// For a run that begins or is resumed.
    pub(super) fn new(run: &Run) -> Self {
        let mut builder = Self {
            phase: Phase::Running,
            progress: Arc::new(before_the_first_call(run)),
            coverage: Coverage::default(),
            certificates: VecDeque::new(),
            announced: VecDeque::new(),
            warnings: VecDeque::new(),
        };
        for ((arm, spent), rank) in run.certificates().zip(1..) {
            builder.certified(arm, rank, spent);
        }
        builder.look(run.session().books());
        builder
    }

    /// True if it is time to hand over a snapshot.
    pub(super) fn take(&mut self, notice: Notice<'_>) -> bool {
        match notice {
            Notice::Certified { arm, count, spent, .. } => self.certified(arm, count, spent),
            Notice::Warning(text) => push(&mut self.warnings, text.into(), WARNINGS_MAX),
            Notice::Progress(progress) => {
                self.progress = Arc::new(progress.clone());
                return true;
            }
            Notice::Called { .. } | Notice::Line { .. } => {}
        }
        false
    }

    /// Looks up the evidence of new certificates. It is final: a certified answer gets no new calls.
    pub(super) fn look(&mut self, books: &Books) {
        for (arm, rank, spent) in std::mem::take(&mut self.announced) {
            let attributes = books.problem().attributes();
            let pairs = attributes.map(|attribute| pair(books, (arm, attribute), Trail::default()));
            let certificate =
                Certificate { arm, rank, spent_by_then: spent.units(), pairs: pairs.collect() };
            push(&mut self.certificates, Arc::new(certificate), CERTIFICATES_MAX);
        }
    }

    /// A copy of what is shown: small, whatever the size of the run.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            phase: self.phase.clone(),
            progress: Arc::clone(&self.progress),
            coverage: self.coverage.steps.clone(),
            certificates: self.certificates.iter().cloned().collect(),
            warnings: self.warnings.iter().cloned().collect(),
        }
    }

    fn certified(&mut self, arm: ArmId, rank: usize, spent: Cost) {
        self.coverage.push(Step { spent: spent.units(), certified: rank });
        push(&mut self.announced, (arm, rank, spent), CERTIFICATES_MAX);
    }
}

/// What is known until the first progress arrives, a moment later.
fn before_the_first_call(run: &Run) -> Progress {
    let books = run.session().books();
    let ledger = books.ledger();
    let verifier_count = run.job().verifiers.len();
    Progress {
        candidate_count: books.problem().arm_count(),
        certified_count: books.certified().len(),
        budget: ledger.budget(),
        spent: ledger.settled(),
        reserved: ledger.reserved(),
        left: ledger.left(),
        conditions: vec![Condition::Open; verifier_count],
        verifiers: vec![VerifierTotals::default(); verifier_count],
        ..Progress::default()
    }
}

/// How many answers were certified at which spend, thinned out when it gets long.
#[derive(Default)]
struct Coverage {
    steps: Vec<Step>,
    /// How many certificates one step stands for, less one.
    skipped: usize,
}

impl Coverage {
    fn push(&mut self, step: Step) {
        // The last step is always the newest certificate.
        if self.steps.last().is_some_and(|last| last.certified % (self.skipped + 1) != 0) {
            self.steps.pop();
        }
        self.steps.push(step);
        if self.steps.len() > STEPS_MAX {
            self.skipped = 2 * self.skipped + 1;
            let stride = self.skipped + 1;
            let newest = step.certified;
            self.steps.retain(|step| step.certified % stride == 0 || step.certified == newest);
        }
    }
}

fn push<T>(list: &mut VecDeque<T>, item: T, length_max: usize) {
    if list.len() == length_max {
        list.pop_front();
    }
    list.push_back(item);
}

/// More steps than this cannot be told apart on a screen.
const STEPS_MAX: usize = 600;
/// The newest; the report has all of them.
const CERTIFICATES_MAX: usize = 300;
const WARNINGS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coverage_stays_short_and_ends_with_the_newest_certificate() {
        let mut coverage = Coverage::default();
        for certified in 1..=1_000_000 {
            coverage.push(Step { spent: 0.0, certified });
            assert!(coverage.steps.len() <= STEPS_MAX);
            assert_eq!(coverage.steps.last().unwrap().certified, certified);
        }
        let counts: Vec<usize> = coverage.steps.iter().map(|step| step.certified).collect();
        assert!(counts.is_sorted() && counts.len() > STEPS_MAX / 2, "{}", counts.len());
        assert!(counts[0] <= 1_000_000 / STEPS_MAX * 4, "{}", counts[0]);
    }
}
