//! A folder with candidates and a job, and what tests do with it.

use std::fmt::Write as _;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use goodarm_live::job::{Job, JobError, Overrides};
use goodarm_live::run::Run;
use goodarm_record::audit::{self, AuditReport};
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::folder::Folder;
use goodarm_record::run_error::RunError;
use goodarm_record::view::Overview;
use goodarm_testing::TestFolder;

/// A folder for a job and its run.
pub(crate) struct JobFolder(TestFolder);

impl Deref for JobFolder {
    type Target = TestFolder;

    fn deref(&self) -> &TestFolder {
        &self.0
    }
}

/// Answers that pass a verifier half-way between these: good ones nine times of ten.
pub(crate) const GOOD: f64 = 0.9;
pub(crate) const BAD: f64 = 0.2;

impl JobFolder {
    /// `count` candidates, of which every third is bad.
    pub(crate) fn new(count: usize) -> Self {
        let mut text = String::new();
        for index in 0..count {
            let answer = if is_good(index) { "right" } else { "wrong" };
            let _ = writeln!(
                text,
                r#"{{"id": "q{index}", "question": "Q{index}?", "answer": "{answer}"}}"#
            );
        }
        Self(TestFolder::new(&[("answers.jsonl", &text)]))
    }

    /// A recording of `draws` outcomes for each of `count` candidates, by a fixed rule.
    pub(crate) fn write_recording(&self, verifier: &str, count: usize, draws: usize) {
        let mut text = String::from("{\"goodarm_recording\":1,\"unit\":\"tokens\"}\n");
        for index in 0..count {
            let share = if is_good(index) { GOOD } else { BAD };
            #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
            let score = |draw: usize| u8::from((draw as f64 + 0.5) / (draws as f64) < share);
            let scores: Vec<String> = (0..draws).map(|draw| score(draw).to_string()).collect();
            let costs: Vec<String> = (0..draws).map(|draw| (10 + draw % 7).to_string()).collect();
            let _ = writeln!(
                text,
                r#"{{"id":"q{index}","verifier":"{verifier}","scores":[{}],"costs":[{}]}}"#,
                scores.join(","),
                costs.join(",")
            );
        }
        self.write("recording.jsonl", &text);
    }

    pub(crate) fn job(&self) -> Result<Job, JobError> {
        Job::read(&self.join("job.toml"), &Overrides::default())
    }

    pub(crate) fn good_job(&self) -> Arc<Job> {
        match self.job() {
            Ok(job) => Arc::new(job),
            Err(error) => panic!("{error}"),
        }
    }

    /// A whole run, with its outputs.
    pub(crate) fn run(&self) -> (Ending, Overview) {
        Self::finish(Run::begin(self.good_job()).expect("a new run"))
    }

    pub(crate) fn resume(&self) -> Result<(Ending, Overview), RunError> {
        Ok(Self::finish(Run::resume(self.good_job())?))
    }

    fn finish(mut run: Run) -> (Ending, Overview) {
        let ending = run.drive(&Control::default(), &mut ()).expect("the run ends");
        let overview = run.write_outputs(&ending).expect("the outputs are written");
        (ending, overview)
    }

    pub(crate) fn output(&self) -> Folder {
        Folder::new(&self.join("run"))
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.output().journal()
    }

    pub(crate) fn audit(&self) -> AuditReport {
        audit::audit(self.output().path())
    }

    pub(crate) fn assert_clean(&self) {
        let report = self.audit();
        assert!(report.is_clean(), "{:#?}", report.problems);
    }

    pub(crate) fn certified(&self) -> Vec<String> {
        self.read("run/certified.jsonl").lines().map(str::to_owned).collect()
    }
}

pub(crate) const fn is_good(index: usize) -> bool {
    index % 3 != 2
}
