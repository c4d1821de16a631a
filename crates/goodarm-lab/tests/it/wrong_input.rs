//! Wrong input: exit code 2, a message that names the field, and no line of trace.

use goodarm_testing::TestFolder;
use serde_json::{Value, json};

use crate::tool::{lab, message, text, trace, trace_bytes, verifiers};

fn right() -> Value {
    json!({
        "arms": 2, "verifiers": verifiers(&[1.0, 3.0], &[0.5, 0.5]), "budget": 9, "delta": 0.02,
        "observations": [[[0.9, 0.1], [1.2]], [[1], [0]]],
    })
}

/// The file with `changes` over [`right`] is refused with this message; where in the text, if the
/// message says it, is not compared.
fn check(changes: &Value, expected: &str) {
    let mut problem = right();
    for (key, value) in changes.as_object().expect("changes are fields") {
        problem[key] = value.clone();
    }
    check_fault(&problem, expected);
}

/// The same with another value of a verifier's key.
fn check_verifier(index: usize, key: &str, value: Value, expected: &str) {
    let mut problem = right();
    problem["verifiers"][index][key] = value;
    check_fault(&problem, &format!("verifiers[{index}].{expected}"));
}

fn check_fault(problem: &Value, expected: &str) {
    let output = trace_bytes(problem.to_string().as_bytes());
    let told = message(&output);
    let told = told.strip_prefix("goodarm-lab: standard input: ").expect("the file is named");
    let fault = match told.strip_prefix("line 1, column ") {
        Some(place) => place.split_once(": ").expect("a place and a fault").1,
        None => told,
    };
    assert_eq!(fault, format!("{expected}\n"));
    assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
}

fn check_text(input: &str, expected: &str) {
    check_bytes(input.as_bytes(), expected);
}

fn check_bytes(input: &[u8], expected: &str) {
    let output = trace_bytes(input);
    assert_eq!(message(&output), format!("goodarm-lab: standard input: {expected}\n"));
    assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
}

#[test]
fn the_file_that_the_others_change_is_right() {
    assert!(!trace(&right()).is_empty());
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest_spelling() {
    for (typo, meant) in [
        ("verifier", "verifiers"),
        ("arm", "arms"),
        ("Delta", "delta"),
        ("observation", "observations"),
        ("pull_max", "pulls_max"),
        ("guarentee", "guarantee"),
        ("stop_when_hopless", "stop_when_hopeless"),
    ] {
        check(&json!({typo: 1}), &format!("{typo}: no such key; did you mean `{meant}`?"));
    }
    check(
        &json!({"zzz": 1}),
        "zzz: no such key; there are arms, verifiers, budget, delta, observations, policy, guarantee, \
         means, allocation_constant, unresolved_only, stop_when_hopeless, pulls_max",
    );
}

/// Lists for each property of the verifiers, and certificates beside guarantees, are not taken.
#[test]
fn other_ways_to_say_it_are_refused() {
    for key in ["costs", "thresholds", "names", "scores", "certificate"] {
        let mut problem = right();
        problem[key] = json!([1, 1]);
        let output = trace_bytes(problem.to_string().as_bytes());
        assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
        let told = message(&output);
        assert!(told.contains(&format!("{key}: no such key; ")), "{told}");
        assert!(told.contains("verifiers") && told.contains("guarantee"), "{told}");
    }
}

#[test]
fn a_missing_field_is_named() {
    for key in ["arms", "verifiers", "budget", "delta", "observations"] {
        let mut problem = right();
        problem.as_object_mut().unwrap().remove(key);
        check_fault(&problem, &format!("{key}: this key is missing"));
    }
}

#[test]
fn arms_are_a_whole_number_from_1() {
    check(&json!({"arms": 0}), "arms: 0 is not between 1 and 268435456");
    check(&json!({"arms": u64::MAX}), "arms: 18446744073709551615 is not between 1 and 268435456");
    check(&json!({"arms": -1}), "arms: expected a whole number, found -1");
    check(&json!({"arms": 1.5}), "arms: expected a whole number, found 1.5");
    check(&json!({"arms": 1e300}), "arms: expected a whole number, found 1e+300");
    check(&json!({"arms": "two"}), "arms: expected a whole number, found \"two\"");
    check(&json!({"arms": null}), "arms: expected a whole number, found null");
}

#[test]
fn the_numbers_of_a_problem_are_in_range() {
    for (changes, expected) in [
        (json!({"verifiers": 1}), "verifiers: expected a list, found 1"),
        (json!({"verifiers": []}), "verifiers: 0 is not between 1 and 1024"),
        (json!({"budget": 0}), "budget: a budget must be more than 0"),
        (json!({"budget": -5}), "budget: -5 is not a finite number that is at least 0"),
        (json!({"budget": "all"}), "budget: expected a number, found \"all\""),
        (json!({"delta": 0}), "delta: 0 is not strictly between 0 and 1"),
        (json!({"delta": 1.0}), "delta: 1 is not strictly between 0 and 1"),
        (json!({"delta": [0.1]}), "delta: expected a number, found a list"),
    ] {
        check(&changes, expected);
    }
}

#[test]
fn the_numbers_of_a_verifier_are_in_range() {
    for (index, key, value, expected) in [
        (1, "price", json!(0), "price: a price must be more than 0"),
        (0, "price", json!(-1), "price: -1 is not a finite number that is at least 0"),
        (1, "price", json!(1e16), "price: 10000000000000000 is more than 10^15"),
        (1, "price", json!("3"), "price: expected a number, found \"3\""),
        (0, "threshold", json!(0), "threshold: 0 is not strictly between 0 and 1"),
        (1, "threshold", json!(1), "threshold: 1 is not strictly between 0 and 1"),
        (1, "threshold", json!(true), "threshold: expected a number, found true"),
        (1, "name", json!("v0"), "name: the name \"v0\" is taken by an earlier attribute"),
        (1, "name", json!(1), "name: expected a text, found 1"),
    ] {
        check_verifier(index, key, value, expected);
    }
}

#[test]
fn observations_have_the_shape_of_the_problem() {
    for (observations, expected) in [
        (json!(1), "observations: expected a list, found 1"),
        (json!([]), "observations: expected a list for each arm, which is 2, found 0"),
        (json!([[[1], [1]]]), "observations: expected a list for each arm, which is 2, found 1"),
        (
            json!([[[1], [1]], [[1]]]),
            "observations[1]: expected a list for each attribute, which is 2, found 1",
        ),
        (json!([[[1], [1]], [[1], 1]]), "observations[1][1]: expected a list, found 1"),
        (
            json!([[[1], []], [[1], [1]]]),
            "observations[0][1]: expected at least one score, found none",
        ),
        (
            json!([[[1], [1]], [[1, {}], [1]]]),
            "observations[1][0][1]: expected a number, found an object",
        ),
        (
            json!([[[1], [1]], [[1], [1, 1, -1e10]]]),
            "observations[1][1][2]: the score -10000000000 is not a number of at most 1e9",
        ),
    ] {
        check(&json!({"observations": observations}), expected);
    }
}

#[test]
fn a_score_that_its_model_refuses_is_found_at_the_door() {
    let check = |scores: [Value; 2], observations: Value, expected: &str| {
        let mut problem = right();
        for (verifier, scores) in [0, 1].into_iter().zip(scores) {
            problem["verifiers"][verifier]["scores"] = scores;
        }
        problem["observations"] = observations;
        check_fault(&problem, expected);
    };
    let observations = &right()["observations"];
    check(
        [json!("binary"), json!("bounded")],
        observations.clone(),
        "observations[0][0][0]: the score 0.9 is neither 0 nor 1",
    );
    check(
        [json!("bounded"), json!("bounded")],
        json!([[[1], [1]], [[1], [1, -0.5]]]),
        "observations[1][1][1]: the score -0.5 is below 0, the lowest there can be",
    );
    check(
        [json!({"sub-gaussian": {"sigma": 1, "lowest": 0.25}}), json!("exact")],
        observations.clone(),
        "observations[0][0][1]: the score 0.1 is below 0.25, the lowest there can be",
    );
}

#[test]
fn score_models_are_checked() {
    for (index, scores, expected) in [
        (1, json!("binry"), "scores: unknown word `binry`; did you mean `binary`?"),
        (
            1,
            json!("poisson!"),
            "scores: unknown word `poisson!`; there are binary, bounded, exact, sub-gaussian",
        ),
        (
            1,
            json!(1),
            "scores: expected a word such as \"binary\", or {\"sub-gaussian\": {...}}, found 1",
        ),
        (0, json!({}), "scores: expected an object with one key, found an object"),
        (
            0,
            json!({"subgaussian": {}}),
            "scores.subgaussian: unknown word `subgaussian`; did you mean `sub-gaussian`?",
        ),
        (
            0,
            json!({"sub-gaussian": {"sgima": 1}}),
            "scores.sub-gaussian.sgima: no such key; did you mean `sigma`?",
        ),
        (0, json!({"sub-gaussian": 1}), "scores.sub-gaussian: expected an object, found 1"),
        (
            0,
            json!({"sub-gaussian": {"sigma": 0}}),
            "scores.sub-gaussian.sigma: 0 is not between 1e-6 and 1e9",
        ),
        (
            1,
            json!({"sub-gaussian": {"sigma": 1, "lowest": 0.5}}),
            "scores.sub-gaussian.lowest: 0.5 is not a number from -1e9 up to, but below, the threshold",
        ),
    ] {
        check_verifier(index, "scores", scores, expected);
    }
}

#[test]
fn verifiers_are_checked_and_named_as_they_are_written() {
    let with = |first: Value| {
        let mut problem = right();
        let second = json!({"name": "b", "price": 3, "threshold": 0.5, "scores": "bounded"});
        problem["verifiers"] = json!([first, second]);
        problem
    };
    let right = json!({"name": "a", "price": 1, "threshold": 0.5});
    assert!(!trace(&with(right.clone())).is_empty());
    for (key, value, expected) in [
        ("price", json!(0), "verifiers[0].price: a price must be more than 0"),
        ("price", json!("1"), "verifiers[0].price: expected a number, found \"1\""),
        ("threshold", json!(2), "verifiers[0].threshold: 2 is not strictly between 0 and 1"),
        ("name", json!("b"), "verifiers[1].name: the name \"b\" is taken by an earlier attribute"),
        (
            "cost",
            json!(1),
            "verifiers[0].cost: no such key; there are name, price, threshold, scores",
        ),
        (
            "scores",
            json!("binry"),
            "verifiers[0].scores: unknown word `binry`; did you mean `binary`?",
        ),
        (
            "scores",
            json!({"sub-gaussian": {"sigma": 0}}),
            "verifiers[0].scores.sub-gaussian.sigma: 0 is not between 1e-6 and 1e9",
        ),
        (
            "scores",
            json!({"bounded": {"range": [1, 0]}}),
            "verifiers[0].scores.bounded.range: 1 to 0 is not from one number of at most 1e9 to a higher one",
        ),
        (
            "scores",
            json!({"bounded": {"range": [1, 5]}}),
            "verifiers[0].threshold: 0.5 is not strictly between 1 and 5",
        ),
    ] {
        let mut verifier = right.clone();
        verifier[key] = value;
        check_fault(&with(verifier), expected);
    }
    check_fault(&with(json!({"price": 1})), "verifiers[0].name: this key is missing");
}

#[test]
fn policies_and_their_settings_are_checked() {
    for (changes, expected) in [
        (json!({"policy": "bma_gai"}), "policy: unknown word `bma_gai`; did you mean `bma-gai`?"),
        (json!({"policy": 3}), "policy: expected a text, found 3"),
        (
            json!({"policy": "bma-gai", "allocation_constant": 0}),
            "allocation_constant: the allocation constant 0 is not a positive number",
        ),
        (
            json!({"policy": "rcb", "allocation_constant": 8}),
            "allocation_constant: only for bma-gai, cb-gai, but the policy is rcb",
        ),
        (
            json!({"unresolved_only": true}),
            "unresolved_only: only for bma-gai, cb-gai, uniform, round-robin, but the policy is rcb",
        ),
        (
            json!({"policy": "uniform", "unresolved_only": 1}),
            "unresolved_only: expected true or false, found 1",
        ),
        (json!({"policy": "oracle"}), "means: the oracle needs the true means"),
        (
            json!({"policy": "oracle", "means": [[1, 1]]}),
            "means: expected a row for each arm, which is 2, found 1",
        ),
        (
            json!({"policy": "oracle", "means": [[1, 1], [1]]}),
            "means[1]: expected a mean for each attribute, which is 2, found 1",
        ),
        (
            json!({"policy": "oracle", "means": [[1, 1], [1, "1"]]}),
            "means[1][1]: expected a number, found \"1\"",
        ),
        (
            json!({"stop_when_hopeless": "yes"}),
            "stop_when_hopeless: expected true or false, found \"yes\"",
        ),
        (json!({"pulls_max": -1}), "pulls_max: expected a whole number, found -1"),
    ] {
        check(&changes, expected);
    }
}

#[test]
fn guarantees_and_weights_are_checked() {
    for (changes, expected) in [
        (json!({"guarantee": "papr"}), "guarantee: unknown word `papr`; did you mean `paper`?"),
        (
            json!({"guarantee": "bonferroni"}),
            "guarantee: unknown word `bonferroni`; there are lent, holm, union, fdr, paper, none",
        ),
    ] {
        check(&changes, expected);
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line_and_column() {
    check_text("", "line 1, column 0: EOF while parsing a value");
    check_text("{\"arms\": 2,\n \"observations\": [[[1,]]]}", "line 2, column 23: trailing comma");
    check_text("{\"arms\": NaN}", "line 1, column 10: expected value");
    check_text("{\"delta\": 1e999}", "line 1, column 15: number out of range");
    check_text("{\"arms\": 2, \"arms\": 3}", "line 1, column 18: arms: this key is given twice");
    check_bytes(b"{\"arms\": \"\xff\"}", "line 1, column 11: invalid unicode code point");
    check_text("[1]", "line 1, column 3: expected an object, found a list");
    check_text("3", "line 1, column 1: expected an object, found 3");
    let deep = "[".repeat(100_000);
    check_text(&deep, "line 1, column 1: [0]: expected a whole number, found a list");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for path in ["examples/absent.json", "examples"] {
        let output = lab(&["trace", path]);
        assert_eq!(output.status.code(), Some(2));
        let told = message(&output);
        assert!(told.starts_with(&format!("goodarm-lab: {path}: cannot be read: ")), "{told}");
    }
}

#[test]
fn the_file_is_named() {
    let path = std::env::temp_dir().join(format!("goodarm-wrong-{}.json", std::process::id()));
    std::fs::write(&path, "{\"arms\": 0}").unwrap();
    let output = lab(&["trace", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        message(&output),
        format!(
            "goodarm-lab: {}: line 1, column 11: verifiers: this key is missing\n",
            path.display()
        )
    );
}

#[test]
fn a_wrong_command_line_is_refused() {
    for arguments in [&["trace"][..], &[], &["trce"], &["trace", "a", "b"], &["trace", "--x"]] {
        let output = lab(arguments);
        assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
        assert!(message(&output).contains("Usage"), "{arguments:?}");
    }
}

#[test]
fn long_and_odd_texts_are_cut_and_escaped() {
    let told = message(&trace_bytes(json!({"\u{1b}[2J".repeat(1000): 1}).to_string().as_bytes()));
    assert!(told.len() < 600 && !told.contains('\u{1b}'), "{told}");
    let told = message(&trace_bytes(json!({"arms": "é".repeat(100_000)}).to_string().as_bytes()));
    assert!(told.len() < 600, "{told}");
}

#[test]
fn a_hostile_file_does_nothing_to_the_terminal() {
    let place = TestFolder::new(&[]);
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{2066}\u{feff}\u{2028}\u{7f}\r";
    place.write("d.json", &format!("{{\"x{evil}\": 1}}"));
    for command in ["trace", "simulate"] {
        let output = lab(&[command, &place.argument("d.json")]);
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output) + &message(&output);
        assert!(
            !told.contains(|c: char| c != '\n' && evil.contains(c) && !c.is_ascii_graphic()),
            "{told:?}"
        );
    }
}
