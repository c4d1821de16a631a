//! Recordings of calls and of answers.

use goodarm_live::job::{Job, Overrides};
use goodarm_record::recording::{self, Recording};

use crate::folder;

/// Reads a recording: every verifier that can be read is listed.
pub(crate) fn read(bytes: &[u8]) {
    let path = folder::file("recording.jsonl", bytes);
    let names = recording::verifiers(&path);
    for name in names.iter().flatten().map(String::as_str).chain(["solution"]) {
        match Recording::read(&path, name) {
            Ok(recording) => {
                assert!(names.as_ref().is_ok_and(|names| names.iter().any(|known| known == name)));
                assert_eq!(recording.ids().count() > 0, recording.outcomes().count() > 0);
            }
            Err(problem) => assert!(!problem.is_empty()),
        }
    }
}

/// Recorded answers to questions are read, or give an error with a message.
pub(crate) fn read_pool(bytes: &[u8]) {
    let path = crate::job::file(crate::run::ASKING);
    folder::file("pool.jsonl", bytes);
    if let Err(error) = Job::read(&path, &Overrides::default()) {
        assert!(!error.to_string().is_empty());
    }
}
