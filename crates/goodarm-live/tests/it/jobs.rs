//! What a job file may say, and what is said back when it may not.

use crate::place::Place;

const JOB: &str = r#"candidates = "answers.jsonl"
budget = 100
delta = 0.1

[[verifiers]]
name = "judge"
kind = "command"
command = ["true"]
threshold = 0.5
"#;

fn complaint(change: impl Fn(String) -> String) -> String {
    let place = Place::new(3);
    place.write("job.toml", &change(JOB.to_owned()));
    match place.job() {
        Ok(_) => panic!("{} was taken", change(JOB.to_owned())),
        Err(error) => error.to_string(),
    }
}

fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(JOB.contains(from), "{from}");
    let error = complaint(|job| job.replace(from, to));
    for part in expected {
        assert!(error.contains(part), "{error}\nshould say {part:?}");
    }
}

#[test]
fn the_plain_job_is_taken() {
    let place = Place::new(3);
    place.write("job.toml", JOB);
    assert_eq!(place.good_job().candidates.len(), 3);
}

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_right_spelling() {
    check("budget", "budgt", &["job.toml", "line 2", "budgt", "did you mean `budget`?"]);
    check("threshold", "treshold", &["line 9", "did you mean `threshold`?"]);
    check("\"command\"\n", "\"comand\"\n", &["line 7", "did you mean `command`?"]);
}

#[test]
fn a_misspelt_field_is_named_once_and_where_it_is_used() {
    let more = "[[verifiers]]\nname = \"server\"\nkind = \"http\"\nurl = \"http://127.0.0.1:9\"\nthreshold = 0.5\nbody = '{\"a\": {{ anwser | tojson }}}'\n";
    let error = complaint(|job| format!("{}\n{more}", job.trim_end()));
    let line = JOB.trim_end().lines().count() + 6;
    for part in [&format!("line {line}"), "\"server\"", "\"anwser\"", "did you mean \"answer\"?"] {
        assert!(error.contains(part), "{error}\nshould say {part:?}");
    }
    assert_eq!(error.matches("anwser").count(), 1, "{error}");
}

#[test]
fn a_key_of_another_kind_is_named() {
    check("threshold", "prompt = \"x\"\nthreshold", &["line 9", "\"judge\"", "prompt", "command"]);
}

#[test]
fn what_is_missing_or_out_of_range_is_named() {
    check("threshold = 0.5", "", &["judge", "threshold", "needed"]);
    check("threshold = 0.5", "threshold = 1.5", &["threshold", "between 0 and 1"]);
    check("delta = 0.1", "delta = 0", &["delta"]);
    check("budget = 100", "budget = -1", &["budget"]);
    check("budget = 100", "budget = 100\npolicy = \"rbc\"", &["policy", "did you mean \"rcb\"?"]);
    check("budget = 100", "budget = 100\nconcurrency = 0", &["concurrency"]);
    check("budget = 100", "budget = 100\nunit = \"dollars\"", &["price", "dollars", "needed"]);
    check("threshold", "price = 0\nthreshold", &["price", "more than 0"]);
    check("threshold", "price = 1\nmetered = { second = 1 }\nthreshold", &["price or metered"]);
    check("threshold", "timeout = -3\nthreshold", &["timeout"]);
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let error = complaint(|job| {
        job.replace("threshold = 0.5", "rate = -1\nprompt = \"x\"")
            .replace("budget = 100", "budget = 100\npolicy = \"rbc\"")
    });
    for part in ["threshold", "rate", "prompt", "policy"] {
        assert!(error.contains(part), "{error}\nshould say {part:?}");
    }
}

#[test]
fn a_broken_candidate_is_named_with_its_line() {
    let place = Place::new(3);
    place.write("job.toml", JOB);
    place.write("answers.jsonl", "{\"id\":\"a\"}\n{\"id\":\"a\"}\n{nonsense}\n{\"no\":1}\n");
    let error = place.job().err().expect("a wrong file").to_string();
    for part in ["answers.jsonl", "line 2", "line 3", "line 4"] {
        assert!(error.contains(part), "{error}\nshould say {part:?}");
    }
}

#[test]
fn a_field_that_a_prompt_needs_is_missed_before_anything_is_spent() {
    let place = Place::new(3);
    let job = JOB.replace("kind = \"command\"\ncommand = [\"true\"]", "kind = \"llm\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nmax_tokens = 3\nprompt = \"{{ qestion }}\"");
    place.write("job.toml", &job);
    let error = place.job().err().expect("a missing field").to_string();
    assert!(error.contains("qestion") && error.contains("question"), "{error}");
}

#[test]
fn no_text_makes_the_reader_panic() {
    use proptest::prelude::*;
    let place = Place::new(3);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    // Pieces of the real thing, glued together at random.
    let pieces: Vec<String> = JOB.split_inclusive([' ', '\n', '"']).map(str::to_owned).collect();
    let text = proptest::collection::vec(
        prop_oneof![proptest::sample::select(pieces), "\\PC{0,6}".prop_map(|text| text)],
        0..40,
    );
    runner
        .run(&text, |pieces| {
            place.write("job.toml", &pieces.concat());
            let _ = place.job();
            Ok(())
        })
        .expect("no panic");
}
