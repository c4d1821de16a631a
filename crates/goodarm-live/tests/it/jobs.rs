//! Valid job files, and the messages about invalid ones.

use goodarm_data::problem::ProblemKind;

use crate::job_folder::JobFolder;

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
    let place = JobFolder::new(3);
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
    let place = JobFolder::new(3);
    place.write("job.toml", JOB);
    assert_eq!(place.good_job().candidates.len(), 3);
}

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_right_spelling() {
    check("budget", "budgt", &["job.toml", "line 2", "budgt", "did you mean `budget`?"]);
    check("threshold", "treshold", &["line 9", "did you mean `threshold`?"]);
    check("\"command\"\n", "\"comand\"\n", &["line 7", "did you mean \"command\"?"]);
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

/// `votes` is one number, and of a solver.
#[test]
fn a_list_of_votes_is_of_the_wrong_type_and_a_command_has_none() {
    check("kind = \"command\"", "votes = 5\nkind = \"command\"", &["line 7", "votes"]);
    let solver = "votes = [1, 5]\nrole = \"solver\"\nkind = \"llm\"";
    check(
        "kind = \"command\"",
        solver,
        &["line 7: verifier \"judge\": votes: expected a whole number, found a list"],
    );
}

#[test]
fn what_is_missing_or_out_of_range_is_named() {
    check("threshold = 0.5", "", &["judge", "threshold", "needed"]);
    check("threshold = 0.5", "threshold = 1.5", &["threshold", "between 0 and 1"]);
    let within =
        |range: &str| format!("threshold = 0.5\nscores = {{ bounded = {{ range = {range} }} }}");
    check("threshold = 0.5", &within("[0.5, 1]"), &["threshold", "0.5", "between 0.5 and 1"]);
    check("threshold = 0.5", &within("[1, 0]"), &["scores", "1 to 0 is not a range"]);
    check("threshold = 0.5", &within("[1, 5]"), &["scores", "1 to 5", "from 0 to 1"]);
    check("threshold = 0.5", &within("1"), &["scores"]);
    let misspelt = within("1").replace("range", "rnage");
    check("threshold = 0.5", &misspelt, &["rnage", "range"]);
    check("delta = 0.1", "delta = 0", &["delta"]);
    check("budget = 100", "budget = -1", &["budget"]);
    check("budget = 100", "budget = \"1 dollar\"", &["budget", "1 dollar", "not an amount"]);
    check("budget = 100", "budget = true", &["budget", "an amount such as 12.5"]);
    check("budget = 100", "budget = 100\npolicy = \"rbc\"", &["policy", "did you mean \"rcb\"?"]);
    check("budget = 100", "budget = 100\nconcurrency = 0", &["concurrency"]);
    check(
        "budget = 100",
        "budget = 100\nunit = \"dollars\"",
        &["price", "dollars", "missing", "metered"],
    );
    check("threshold", "price = 0\nthreshold", &["price", "more than 0"]);
    check("threshold", "price = 1\nmetered = { second = 1 }\nthreshold", &["price or metered"]);
    check("threshold", "timeout = -3\nthreshold", &["timeout"]);
}

#[test]
fn dollars_for_tokens_say_for_how_many() {
    let dollars = "unit = \"dollars\"\ndelta = 0.1";
    let error = complaint(|job| {
        job.replace("delta = 0.1", dollars).replace(
            "threshold",
            "metered = { input = 0.15, output = 0.6, ceiling = 1 }\nthreshold",
        )
    });
    for part in ["line 10", "metered", "per = 1000000"] {
        assert!(error.contains(part), "{error}\nshould say {part:?}");
    }
}

#[test]
fn a_key_that_was_pasted_without_quotes_is_not_shown() {
    let error = complaint(|job| format!("{job}api_key_env = sk-proj-0123456789abcdef\n"));
    assert!(!error.contains("0123456789abcdef") && error.contains("line 10"), "{error}");
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

/// The problems as a program sees them: the line, the verifier, the key, and the sort.
#[track_caller]
fn check_problems(job: &str, expected: &[(usize, &str, &str, ProblemKind)]) {
    let place = JobFolder::new(3);
    place.write("job.toml", job);
    let error = place.job().err().expect("it is wrong");
    let found: Vec<(usize, &str, &str, ProblemKind)> = error
        .problems
        .iter()
        .map(|problem| {
            let verifier = problem.verifier.as_ref().map_or("", |(_, name)| name.as_str());
            let key = problem.key.as_deref().unwrap_or_default();
            (problem.line.unwrap_or(0), verifier, key, problem.kind.clone())
        })
        .collect();
    assert_eq!(found, expected, "{error}");
}

#[test]
fn values_that_cannot_be_read_are_named_all_at_once_with_their_lines() {
    let job = JOB
        .replace("delta = 0.1", "delta = \"small\"\nseed = -1\nuint = \"calls\"")
        .replace("threshold = 0.5", "threshold = \"high\"\nworker = 1\nscores = \"binry\"");
    let value = || ProblemKind::Value;
    check_problems(
        &job,
        &[
            (3, "", "delta", value()),
            (4, "", "seed", value()),
            (5, "", "uint", ProblemKind::UnknownKey),
            (11, "judge", "threshold", value()),
            (12, "judge", "worker", value()),
            (13, "judge", "scores", value()),
        ],
    );
    check("threshold", "scores = \"binry\"\nthreshold", &["did you mean `binary`?"]);
}

#[test]
fn keys_in_a_table_of_their_own_are_found() {
    let table = "[verifiers.metered]\nsecond = 1\ninptu = 2\n";
    check_problems(&format!("{JOB}{table}"), &[(10, "judge", "metered", ProblemKind::Value)]);
    let error = complaint(|job| format!("{job}{table}"));
    assert!(
        error.contains("inptu: no such key") && error.contains("did you mean `input`?"),
        "{error}"
    );
}

#[test]
fn what_is_missing_is_named_all_at_once() {
    let missing = ProblemKind::MissingKey;
    check_problems(
        "policy = \"rbc\"\n",
        &[
            (0, "", "candidates", missing.clone()),
            (0, "", "budget", missing.clone()),
            (0, "", "delta", missing.clone()),
            (0, "", "verifiers", missing.clone()),
        ],
    );
    let unnamed = JOB.replace("name = \"judge\"\n", "");
    check_problems(&unnamed, &[(5, "", "name", missing.clone())]);
    check_problems(&JOB.replace("kind = \"command\"\n", ""), &[(5, "judge", "kind", missing)]);
}

#[test]
fn problems_can_be_told_apart() {
    check_problems("budget = ", &[(1, "", "", ProblemKind::Syntax)]);
    let lost = JOB.replace("answers.jsonl", "absent.jsonl").replace("threshold", "treshold");
    check_problems(
        &lost,
        &[(9, "judge", "treshold", ProblemKind::UnknownKey), (0, "", "", ProblemKind::Candidates)],
    );
    let twice = format!("{JOB}{}", JOB.split_once("\n\n").expect("a verifier").1);
    check_problems(&twice, &[(11, "judge", "name", ProblemKind::Value)]);
    let absent = JobFolder::new(3).job().err().expect("no file");
    assert_eq!(absent.problems[0].kind, ProblemKind::Unreadable);
}

#[test]
fn a_wrong_price_is_not_missing_as_well() {
    let job = JOB.replace("budget = 100", "budget = 100\nunit = \"dollars\"");
    let both = job.replace("threshold", "price = 1\nmetered = { second = 1 }\nthreshold");
    check_problems(&both, &[(11, "judge", "metered", ProblemKind::Value)]);
    let dear = JOB.replace("threshold", "price = 101\nthreshold");
    check_problems(&dear, &[(9, "judge", "price", ProblemKind::Value)]);
}

#[test]
fn a_broken_candidate_is_named_with_its_line() {
    let place = JobFolder::new(3);
    place.write("job.toml", JOB);
    place.write("answers.jsonl", "{\"id\":\"a\"}\n{\"id\":\"a\"}\n{nonsense}\n{\"no\":1}\n");
    let error = place.job().err().expect("a wrong file").to_string();
    for part in ["answers.jsonl", "line 2", "line 3", "line 4"] {
        assert!(error.contains(part), "{error}\nshould say {part:?}");
    }
}

#[test]
fn a_field_that_a_prompt_needs_is_missed_before_anything_is_spent() {
    let place = JobFolder::new(3);
    let job = JOB.replace("kind = \"command\"\ncommand = [\"true\"]", "kind = \"llm\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nmax_tokens = 3\nprompt = \"{{ qestion }}\"");
    place.write("job.toml", &job);
    let error = place.job().err().expect("a missing field").to_string();
    assert!(error.contains("qestion") && error.contains("question"), "{error}");
}

#[test]
fn a_misspelt_field_inside_a_field_is_named_with_its_line_and_the_right_spelling() {
    let place = JobFolder::new(3);
    let prompt = "prompt = \"\"\"\nIs this right?\n{{ doc.qestion }}\"\"\"";
    let llm = format!("kind = \"llm\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n{prompt}");
    place.write("job.toml", &JOB.replace("kind = \"command\"\ncommand = [\"true\"]", &llm));
    place.write(
        "answers.jsonl",
        "{\"id\": \"a\", \"doc\": {\"question\": \"?\", \"gold\": \"!\"}}\n",
    );
    let error = place.job().err().expect("a missing field").to_string();
    for part in [
        "line 12: verifier \"judge\" uses the field \"doc.qestion\"",
        "which candidate \"a\" lacks",
        "did you mean \"doc.question\"?",
    ] {
        assert!(error.contains(part), "{error}\nshould say {part:?}");
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    use proptest::prelude::*;
    let place = JobFolder::new(3);
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

#[test]
fn a_name_that_is_taken_is_said_with_its_line() {
    let more = "[[verifiers]]\nname = \"judge\"\nkind = \"command\"\ncommand = [\"true\"]\nthreshold = 0.5\n";
    let error = complaint(|job| format!("{job}{more}"));
    assert!(error.contains("line 11: verifier \"judge\": name: an earlier verifier"), "{error}");
}

/// A number has 17 digits at most, and money has no such limit.
#[test]
fn a_budget_in_quotes_is_exact() {
    for (budget, expected) in [
        ("\"123456789.123456789012\"", "123456789.123456789012"),
        ("\"2.50\"", "2.5"),
        ("1.1", "1.1"),
        ("7", "7"),
    ] {
        let place = JobFolder::new(3);
        place.write("job.toml", &JOB.replace("budget = 100", &format!("budget = {budget}")));
        assert_eq!(place.good_job().settings.budget.to_string(), expected);
    }
}
