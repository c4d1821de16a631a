//! A resumed run: its journal begins correctly, and continues with the bytes.

use std::fs;
use std::sync::{Arc, LazyLock};

use goodarm_live::job::{Job, Overrides};
use goodarm_live::run::Run;
use goodarm_record::audit;
use goodarm_record::control::Control;
use goodarm_record::journal::{self, OpenedJournal};

use crate::folder;
use crate::job;
use crate::journal::{Link, framed};

/// Resumes a run, which ends and can be audited.
pub(crate) fn resume(bytes: &[u8]) {
    resume_of(JOB, &FIRST_FRAME, bytes);
}

/// Resumes a run with questions, which ends and can be audited.
pub(crate) fn resume_questions(bytes: &[u8]) {
    resume_of(ASKING, &ASKING_FIRST_FRAME, bytes);
}

fn resume_of(text: &str, first_frame: &(Vec<u8>, Link), bytes: &[u8]) {
    let folder = folder::folder().join("run");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let job = Job::read(&job::file(text), &Overrides::default()).expect("a job of ours");
    let job = Arc::new(job);
    let (first_frame, link) = first_frame;
    folder::write(&folder.join("journal"), &[&first_frame[..], &framed(bytes, *link)].concat());
    if let Ok(mut run) = Run::resume(job) {
        let ending = run.drive(&Control::default(), &mut ()).expect("the run continues");
        run.write_outputs(&ending).expect("the outputs are written");
    }
    let _ = audit::audit(&folder);
}

/// The first frame of the run's journal, and the link to the next one.
static FIRST_FRAME: LazyLock<(Vec<u8>, Link)> = LazyLock::new(|| first_frame(JOB));
static ASKING_FIRST_FRAME: LazyLock<(Vec<u8>, Link)> = LazyLock::new(|| first_frame(ASKING));

fn first_frame(text: &str) -> (Vec<u8>, Link) {
    let folder = folder::folder().join("first_frame");
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
