//! A run that is taken up: its journal begins as it should, and goes on as the bytes say.

use std::fs;
use std::sync::{Arc, LazyLock};

use goodarm_live::audit;
use goodarm_live::job::{Job, Overrides};
use goodarm_live::journal::{self, Opened};
use goodarm_live::outputs;
use goodarm_live::run::{Control, Run};

use crate::job::{ANSWERS, RECORDING};
use crate::journal::{Link, framed};
use crate::place;

/// What is taken up comes to its end, and can be audited.
pub(crate) fn resume(bytes: &[u8]) {
    let folder = place::folder().join("run");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let job = Arc::new(job());
    let (begun, link) = &*BEGUN;
    place::write(&folder.join("journal"), &[&begun[..], &framed(bytes, *link)].concat());
    if let Ok(mut run) = Run::resume(job) {
        run.drive(&Control::default(), &mut ()).expect("the run goes on");
        outputs::write(&run, "done").expect("the outputs are written");
    }
    let _ = audit::audit(&folder);
}

/// The first frame of the run's journal, and what the next one needs of it.
static BEGUN: LazyLock<(Vec<u8>, Link)> = LazyLock::new(|| {
    let folder = place::folder().join("begun");
    let overrides = Overrides { output: Some(folder.clone()), ..Overrides::default() };
    let job = Job::read(&job_path(), &overrides).expect("a job of ours");
    drop(Run::begin(Arc::new(job)).expect("a new run"));
    let path = folder.join("journal");
    let Ok(Opened::Begun(reader)) = journal::open(&path) else { panic!("a journal of ours") };
    let tail = reader.finish().expect("a journal of ours");
    let bytes = fs::read(path).expect("a journal of ours");
    (bytes, Link { sequence: tail.next_sequence, crc: tail.crc })
});

fn job() -> Job {
    Job::read(&job_path(), &Overrides::default()).expect("a job of ours")
}

fn job_path() -> std::path::PathBuf {
    place::file("answers.jsonl", ANSWERS);
    place::file("recording.jsonl", RECORDING);
    place::file("job.toml", JOB)
}

const JOB: &str = r#"
candidates = "answers.jsonl"
budget = 200
unit = "tokens"
delta = 0.1
output = "run"
[[verifiers]]
name = "a number"
kind = "check"
check = "final-answer"
[[verifiers]]
name = "solution"
kind = "replay"
recording = "recording.jsonl"
threshold = 0.5
"#;
