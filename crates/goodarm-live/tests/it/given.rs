//! A job whose candidates or verifiers a program has in its hands.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_live::job::{Job, JobError, JobInputs, Overrides};
use goodarm_live::run::Run;
use goodarm_live::service::{CallFuture, Remote, Reply, Service};
use goodarm_live::throttle::Throttle;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_testing::TestFolder;

/// Says what the candidate's field `good` says.
struct Mirror;

impl Remote for Mirror {
    fn preview(&self, candidate: &Candidate) -> String {
        candidate.json.clone()
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, _: &'a Throttle) -> CallFuture<'a> {
        let score = candidate.fields()["good"].as_f64().unwrap_or(0.0);
        Box::pin(async move { Reply::score(score) })
    }
}

const JOB: &str = "candidates = \"(in memory)\"\nbudget = 1000\ndelta = 0.1\n\
    [[verifiers]]\nname = \"mirror\"\nkind = \"python\"\nthreshold = 0.5\nscores = \"binary\"\n";

fn given(verifier: &str) -> JobInputs {
    let text = "{\"id\":\"a\",\"good\":1}\n{\"id\":\"b\",\"good\":0}\n";
    let candidates = Candidates::from_text(text, "the frame", "id").expect("candidates");
    let mirror = Service::from(Mirror);
    JobInputs {
        candidates: Some(candidates),
        verifiers: BTreeMap::from([(verifier.to_owned(), mirror)]),
        ..JobInputs::default()
    }
}

fn parse(text: &str, given: JobInputs, output: &Path) -> Result<Job, JobError> {
    let overrides = Overrides { output: Some(output.to_owned()), ..Overrides::default() };
    Job::parse(Path::new("(job)"), text.to_owned(), JobInputs { overrides, ..given })
}

#[track_caller]
fn check_refused(text: &str, given: JobInputs, expected: &str) {
    let error = parse(text, given, Path::new("nowhere")).err().expect("it is wrong");
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn candidates_and_verifiers_that_are_given_need_no_file() {
    let folder = TestFolder::new(&[]);
    let output = folder.join("run");
    let job = |text: &str| Arc::new(parse(text, given("mirror"), &output).expect("a job"));
    let mut run = Run::begin(job(JOB)).expect("a new run");
    let ending = run.drive(&Control::default(), &mut ()).expect("the run ends");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(run.session().certified().len(), 1);
    drop(run);
    Run::resume(job(JOB)).expect("the same job");
    let other = JOB.replace("threshold = 0.5", "threshold = 0.6");
    let error = Run::resume(job(&other)).err().expect("another promise");
    assert!(error.to_string().contains("verifiers[mirror].threshold: 0.5 → 0.6"), "{error}");
}

#[test]
fn what_is_given_and_not_named_is_refused_and_so_are_keys_of_other_kinds() {
    check_refused(
        JOB,
        given("miror"),
        "a function was passed for \"miror\", but the job has no verifier",
    );
    check_refused(&format!("{JOB}url = \"http://a\"\n"), given("mirror"), "url: no such key");
    check_refused(JOB, JobInputs::default(), "goodarm.run(");
}

#[test]
fn rows_of_a_table_are_named_as_rows() {
    let text = "{\"id\":\"a\"}\n{\"id\":\"a\"}\n";
    let error = Candidates::from_text(text, "the frame", "id").expect_err("doubled");
    assert!(error.to_string().contains("the frame, row 2"), "{error}");
}
