//! A folder with a job for a benchmark, and what is common to measuring one.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use goodarm_live::job::{Job, Overrides};
use goodarm_live::run::Run;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use tempfile::TempDir;

/// Answers, recordings and a job; gone when dropped.
pub(crate) struct Field {
    folder: TempDir,
}

impl Field {
    pub(crate) fn new(candidate_count: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the benchmark");
        let field = Self { folder };
        field.write_lines("answers.jsonl", candidate_count, |line, index| {
            let _ = write!(
                line,
                r#"{{"id":"q{index}","question":"What is {index} plus one? Think step by step.","answer":"It is {index} and one more. #### {}"}}"#,
                index + 1
            );
        });
        field
    }

    /// A file of `count` lines.
    pub(crate) fn write_lines(&self, name: &str, count: usize, say: impl Fn(&mut String, usize)) {
        let mut out = BufWriter::new(File::create(self.path().join(name)).expect("a new file"));
        let mut line = String::new();
        for index in 0..count {
            line.clear();
            say(&mut line, index);
            line.push('\n');
            out.write_all(line.as_bytes()).expect("room on the disk");
        }
        out.flush().expect("room on the disk");
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write_job(&self, text: &str) {
        fs::write(self.path().join("job.toml"), text).expect("a new file");
    }

    pub(crate) fn job(&self) -> Arc<Job> {
        match Job::read(&self.path().join("job.toml"), &Overrides::default()) {
            Ok(job) => Arc::new(job),
            Err(error) => panic!("{error}"),
        }
    }

    /// Forgets the run.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(self.path().join("run"));
    }
}

/// Makes calls until the money is spent.
pub(crate) fn drive(run: &mut Run) {
    let ending = run.drive(&Control::default(), &mut ()).expect("the run goes on");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
}

pub(crate) fn say(text: &str) {
    println!("{text}");
}
