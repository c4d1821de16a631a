//! A run that is taken up: its journal begins as it should, and goes on as the bytes say.

use std::fs;
use std::sync::{Arc, LazyLock};

use goodarm_live::job::{Job, Overrides};
use goodarm_live::run::Run;
use goodarm_record::audit;
use goodarm_record::control::Control;
use goodarm_record::journal::{self, OpenedJournal};

use crate::job;
use crate::journal::{Link, framed};
use crate::place;

/// What is taken up comes to its end, and can be audited.
pub(crate) fn resume(bytes: &[u8]) {
    resume_of(JOB, &BEGUN, bytes);
}

/// The same for a run with questions.
pub(crate) fn resume_questions(bytes: &[u8]) {
    resume_of(ASKING, &ASKING_BEGUN, bytes);
}

fn resume_of(text: &str, begun: &(Vec<u8>, Link), bytes: &[u8]) {
    let folder = place::folder().join("run");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let job = Job::read(&job::file(text), &Overrides::default()).expect("a job of ours");
    let job = Arc::new(job);
    let (begun, link) = begun;
    place::write(&folder.join("journal"), &[&begun[..], &framed(bytes, *link)].concat());
    if let Ok(mut run) = Run::resume(job) {
        let ending = run.drive(&Control::default(), &mut ()).expect("the run goes on");
        run.write_outputs(&ending).expect("the outputs are written");
    }
    let _ = audit::audit(&folder);
}

/// The first frame of the run's journal, and what the next one needs of it.
static BEGUN: LazyLock<(Vec<u8>, Link)> = LazyLock::new(|| begun(JOB));
static ASKING_BEGUN: LazyLock<(Vec<u8>, Link)> = LazyLock::new(|| begun(ASKING));

fn begun(text: &str) -> (Vec<u8>, Link) {
    let folder = place::folder().join("begun");
    let _ = fs::remove_dir_all(&folder);
    let overrides = Overrides { output: Some(folder.clone()), ..Overrides::default() };
    let job = Job::read(&job::file(text), &overrides).expect("a job of ours");
    drop(Run::begin(Arc::new(job)).expect("a new run"));
    let path = folder.join("journal");
    let Ok(OpenedJournal::Begun(reader)) = journal::open(&path) else {
        panic!("a journal of ours")
    };
    let tail = reader.finish().expect("a journal of ours");
    let bytes = fs::read(path).expect("a journal of ours");
    (bytes, Link { sequence: tail.next_sequence, crc: tail.crc })
}

pub(crate) const ASKING: &str = include_str!("../jobs/asking.toml");

const JOB: &str = include_str!("../jobs/answers.toml");
