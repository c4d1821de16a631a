//! What the run's own thread does for the page: it remembers the newest certificates and a few
//! hundred steps of the coverage, however long the run is, and hands over copies of that.

use std::collections::VecDeque;
use std::sync::Arc;

use goodarm_record::notice::{Notice, Progress};
use goodarm_record::outputs::RunState;
use goodarm_record::view::questions::AnsweredQuestion;
use goodarm_record::view::{AnswerView, CoverageStep};

use super::WatchedJob;
use super::state::{Phase, Snapshot, WatchedCertificate};
use crate::report::Trail;
use crate::report::data::Pair;

/// Gathers what the page shows.
pub(super) struct SnapshotBuilder {
    pub(super) phase: Phase,
    progress: Arc<Progress>,
    steps: Steps,
    certificates: VecDeque<Arc<WatchedCertificate>>,
    warnings: VecDeque<Arc<str>>,
}

impl SnapshotBuilder {
    /// A run that begins, or is taken up again.
    pub(super) fn new(job: &WatchedJob, standing: &RunState<'_>, progress: &Progress) -> Self {
        let &RunState { books, account, candidates, .. } = standing;
        let mut builder = Self {
            phase: Phase::Running,
            progress: Arc::new(progress.clone()),
            steps: Steps::default(),
            certificates: VecDeque::new(),
            warnings: VecDeque::new(),
        };
        let certificates = books.certified().iter().zip(&account.spent_at);
        for ((&arm, spent), rank) in certificates.zip(1..) {
            builder.steps.push(CoverageStep { spent: spent.units(), certified: rank });
            // The older ones are not shown, so they need not be looked up.
            if rank + CERTIFICATES_MAX > books.certified().len() {
                let answer = AnswerView::new(books, account, arm, Some(rank));
                let is_made = arm.index() >= job.candidates.len();
                builder.certified(WatchedCertificate {
                    arm,
                    made: is_made.then(|| candidates.json(arm).into()),
                    rank,
                    spent_by_then: spent.units(),
                    pairs: pairs(&answer),
                    loan: answer.loan,
                    answers: AnsweredQuestion::new(books, arm),
                });
            }
        }
        builder
    }

    /// Takes notice; true if it is time to hand over a snapshot.
    pub(super) fn take(&mut self, notice: Notice<'_>) -> bool {
        match notice {
            Notice::Certified { answer, made, spent, answers, .. } => {
                let rank = answer.rank.unwrap_or_default();
                self.steps.push(CoverageStep { spent: spent.units(), certified: rank });
                self.certified(WatchedCertificate {
                    arm: answer.arm,
                    made: made.map(Into::into),
                    rank,
                    spent_by_then: spent.units(),
                    pairs: pairs(answer),
                    loan: answer.loan,
                    answers,
                });
            }
            Notice::Warning(text) => push(&mut self.warnings, text.into(), WARNINGS_MAX),
            Notice::Progress(progress) => {
                self.progress = Arc::new(progress.clone());
                return true;
            }
            Notice::Called { .. } | Notice::Verifier { .. } => {}
        }
        false
    }

    /// A copy of what there is to show: small, whatever the size of the run.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            phase: self.phase.clone(),
            progress: Arc::clone(&self.progress),
            steps: self.steps.steps.clone(),
            certificates: self.certificates.iter().cloned().collect(),
            warnings: self.warnings.iter().cloned().collect(),
        }
    }

    /// The evidence is final: a certified answer gets no new calls.
    fn certified(&mut self, certificate: WatchedCertificate) {
        push(&mut self.certificates, Arc::new(certificate), CERTIFICATES_MAX);
    }
}

fn pairs(answer: &AnswerView) -> Vec<Pair> {
    let pair = |view| Pair { view, trail: Trail::default() };
    answer.evidence.iter().cloned().map(pair).collect()
}

/// How many answers were certified at which spend, thinned out when it gets long.
#[derive(Default)]
struct Steps {
    steps: Vec<CoverageStep>,
    /// How many certificates one step stands for, less one.
    skipped: usize,
}

impl Steps {
    fn push(&mut self, step: CoverageStep) {
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
    fn the_steps_stay_few_and_ends_with_the_newest_certificate() {
        let mut steps = Steps::default();
        for certified in 1..=1_000_000 {
            steps.push(CoverageStep { spent: 0.0, certified });
            assert!(steps.steps.len() <= STEPS_MAX);
            assert_eq!(steps.steps.last().unwrap().certified, certified);
        }
        let counts: Vec<usize> = steps.steps.iter().map(|step| step.certified).collect();
        assert!(counts.is_sorted() && counts.len() > STEPS_MAX / 2, "{}", counts.len());
        assert!(counts[0] <= 1_000_000 / STEPS_MAX * 4, "{}", counts[0]);
    }
}
