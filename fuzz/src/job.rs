//! Job files.

use std::fs;
use std::path::PathBuf;

use goodarm_live::job::{Job, Overrides};
use goodarm_record::terms::RunTerms;

use crate::folder;

pub(crate) const ANSWERS: &str = "\
{\"id\": \"q0\", \"question\": \"2+2?\", \"answer\": \"4\"}
{\"id\": \"q1\", \"question\": \"3+3?\", \"answer\": \"It is \\\\boxed{6}.\"}
{\"id\": \"q2\", \"question\": \"4+4?\", \"answer\": \"nine\"}
";

const RECORDING: &str = "\
{\"goodarm_recording\":1,\"unit\":\"tokens\"}
{\"id\":\"q0\",\"verifier\":\"solution\",\"scores\":[1,1,1,1,1,1,1,0,1,1],\"costs\":[7,8,9,7,8,9,7,8,9,7]}
{\"id\":\"q1\",\"verifier\":\"solution\",\"scores\":[1,0,1,1,null,1,1,1,1,1],\"costs\":[7,8,9,7,8,9,7,8,9,7]}
{\"id\":\"q2\",\"verifier\":\"solution\",\"scores\":[0,0,1,0,0,0,0,0,0,0],\"costs\":[7,8,9,7,8,9,7,8,9,7]}
";

const QUESTIONS: &str = "\
{\"id\": \"q0\", \"question\": \"2+2?\"}
{\"id\": \"q1\", \"question\": \"3+3?\"}
";

const POOL: &str = "\
{\"id\": \"q0\", \"solutions\": [{\"answer\": \"4\", \"cost\": 7}, {\"answer\": \"It is 4\", \"cost\": 8}, {\"answer\": \"5\", \"tokens\": 9}]}
{\"id\": \"q1\", \"solutions\": [{\"text\": \"Six: 6\", \"cost\": 7}, {\"answer\": \"none\"}]}
";

/// Writes a job file with this content, beside all files that the jobs here use.
pub(crate) fn file(text: impl AsRef<[u8]>) -> PathBuf {
    folder::file("answers.jsonl", ANSWERS);
    folder::file("recording.jsonl", RECORDING);
    folder::file("questions.jsonl", QUESTIONS);
    folder::file("pool.jsonl", POOL);
    folder::file("job.toml", text)
}

/// Reads a job: problems are on existing lines, and the terms read back unchanged from a journal.
pub(crate) fn read(bytes: &[u8]) {
    let path = file(bytes);
    match Job::read(&path, &Overrides::default()) {
        Ok(job) => {
            assert_eq!(RunTerms::read(&job.terms.text()).as_ref(), Ok(&job.terms));
            for id in job.problem.services() {
                let (service, subjects) = (job.service(id), job.subjects_of(id));
                let last = subjects.arms().last().map(|arm| subjects.get(arm));
                last.iter().for_each(|last| drop(service.service.preview(last)));
            }
        }
        Err(error) => {
            let line_count = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
            assert!(!error.problems.is_empty() && !error.to_string().is_empty());
            for line in error.problems.iter().filter_map(|problem| problem.line) {
                assert!((1..=line_count).contains(&line), "line {line} of {line_count}: {error}");
            }
        }
    }
    fs::remove_file(path).expect("it was written");
}
