//! The state of a run at one moment. The run's thread keeps it up to date and publishes copies. It is small
//! for any run: the newest certificates, and a few hundred steps of the coverage (the number of certified answers
//! over the spending).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use goodarm_core::ArmId;
use goodarm_data::candidates::Candidate;
use goodarm_record::ending::EndingView;
use goodarm_record::notice::{Notice, Progress};
use goodarm_record::outputs::RunState;
use goodarm_record::view::questions::AnsweredQuestion;
use goodarm_record::view::{AnswerView, CoverageStep};
use serde_json::Value;

use super::WatchedJob;
use crate::report::rows::{FieldRow, field_rows};

#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) phase: Phase,
    pub(super) progress: Arc<Progress>,
    pub(super) coverage: CoverageSteps,
    /// The newest certificates, in the order of their ranks.
    pub(super) certificates: VecDeque<Arc<WatchedCertificate>>,
    pub(super) warnings: VecDeque<Arc<str>>,
}

/// What the process is doing.
#[derive(Clone)]
pub(super) enum Phase {
    Running,
    Writing {
        ending: EndingView,
    },
    /// The run has ended; `ending` is `None` if an error aborted it.
    Ended {
        ending: Option<EndingView>,
        /// The last message of the run, and the path of the report.
        told: String,
    },
}

/// A certified answer.
pub(super) struct WatchedCertificate {
    pub(super) answer: AnswerView,
    /// The answer's JSON object, if it was made during the run and is not in the job.
    pub(super) made: Option<Box<str>>,
    pub(super) spent_by_then: f64,
    /// The question that it answers.
    pub(super) question: Option<AnsweredQuestion>,
}

impl Snapshot {
    /// The first snapshot of a run that begins or resumes.
    pub(super) fn new(job: &WatchedJob, run: &RunState<'_>, progress: &Progress) -> Self {
        let &RunState { books, account, candidates, .. } = run;
        let mut snapshot = Self {
            phase: Phase::Running,
            progress: Arc::new(progress.clone()),
            coverage: CoverageSteps::default(),
            certificates: VecDeque::new(),
            warnings: VecDeque::new(),
        };
        let certificates = books.certified().iter().zip(&account.spent_at);
        for ((&arm, spent), rank) in certificates.zip(1..) {
            snapshot.coverage.push(CoverageStep { spent: spent.units(), certified: rank });
            // Older certificates are not shown.
            if rank + CERTIFICATES_MAX > books.certified().len() {
                let is_made = arm.index() >= job.candidates.len();
                snapshot.certificates.push_back(Arc::new(WatchedCertificate {
                    answer: AnswerView::new(books, account, arm, Some(rank)),
                    made: is_made.then(|| candidates.json(arm).into()),
                    spent_by_then: spent.units(),
                    question: AnsweredQuestion::new(books, arm),
                }));
            }
        }
        snapshot
    }

    /// Updates the snapshot; true if it is time to publish it.
    pub(super) fn take(&mut self, notice: Notice<'_>) -> bool {
        match notice {
            Notice::Certified { answer, made, spent, answers: question, .. } => {
                let (spent, certified) = (spent.units(), answer.rank.unwrap_or_default());
                self.coverage.push(CoverageStep { spent, certified });
                let certificate = WatchedCertificate {
                    answer: answer.clone(),
                    made: made.map(Into::into),
                    spent_by_then: spent,
                    question,
                };
                push(&mut self.certificates, Arc::new(certificate), CERTIFICATES_MAX);
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

    /// The certificate of an arm, if it is among the newest.
    pub(super) fn certificate(&self, arm: ArmId) -> Option<Arc<WatchedCertificate>> {
        self.certificates.iter().find(|certificate| certificate.answer.arm == arm).cloned()
    }
}

impl WatchedCertificate {
    /// The fields of the answer except its id, then those fields of its question that it lacks, each cut to
    /// `bytes_max` bytes; and the number of all fields, with the id and with fields of the answer that are left out.
    pub(super) fn fields(&self, job: &WatchedJob, bytes_max: usize) -> (Vec<FieldRow>, usize) {
        let json = self.made.as_deref().unwrap_or_else(|| job.candidates.json(self.answer.arm));
        let is_field = |name: &str, _: &Value| name != job.id_field;
        let (mut fields, mut count) = field_rows(json, is_field, bytes_max);
        if let (Some(questions), Some(AnsweredQuestion { question, .. })) =
            (&job.questions, self.question)
        {
            let asked = questions.list.json(ArmId(question.0));
            let (asked, _) = field_rows(asked, is_field, bytes_max);
            let known: BTreeSet<String> = fields.iter().map(|it| it.name().to_owned()).collect();
            let before = fields.len();
            fields.extend(asked.into_iter().filter(|it| !known.contains(it.name())));
            count += fields.len() - before;
        }
        (fields, count)
    }

    pub(super) fn id(&self, job: &WatchedJob) -> String {
        match &self.made {
            None => job.candidates.id(self.answer.arm).to_owned(),
            Some(made) => {
                let made = Candidate::new(String::new(), made.to_string());
                let id = made.field(&job.id_field);
                id.and_then(Value::as_str).unwrap_or_default().to_owned()
            }
        }
    }
}

/// The number of certified answers over the spending, thinned out when there are many steps.
#[derive(Clone, Default)]
pub(super) struct CoverageSteps {
    pub(super) steps: Vec<CoverageStep>,
    /// The number of certificates per step, less one.
    skipped: usize,
}

impl CoverageSteps {
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

/// A screen cannot show more steps.
const STEPS_MAX: usize = 600;
/// The page lists only the newest certificates; the report has all of them.
const CERTIFICATES_MAX: usize = 300;
const WARNINGS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_stay_few_and_end_with_the_newest_certificate() {
        let mut steps = CoverageSteps::default();
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
