//! Wrong input: exit code 2, a message that names the field, and no line of trace.

use serde_json::{Value, json};

use crate::tool::{lab, message, text, trace, trace_bytes};

fn right() -> Value {
    json!({
        "arms": 2, "costs": [1, 3], "thresholds": [0.5, 0.5], "budget": 9, "delta": 0.02,
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
        ("treshold", "thresholds"),
        ("cost", "costs"),
        ("arm", "arms"),
        ("Delta", "delta"),
        ("observation", "observations"),
        ("prior-weights", "prior_weights"),
        ("pull_max", "pulls_max"),
        ("guarentee", "guarantee"),
        ("stop_when_hopless", "stop_when_hopeless"),
    ] {
        check(&json!({typo: 1}), &format!("{typo}: no such key; did you mean `{meant}`?"));
    }
    check(
        &json!({"zzz": 1}),
        "zzz: no such key; there are arms, verifiers, costs, thresholds, names, scores, budget, delta, \
         observations, policy, guarantee, certificate, prior_weights, means, allocation_constant, \
         unresolved_only, stop_when_hopeless, pulls_max",
    );
}

#[test]
fn a_missing_field_is_named() {
    for key in ["arms", "costs", "thresholds", "budget", "delta", "observations"] {
        let mut problem = right();
        problem.as_object_mut().unwrap().remove(key);
        let lists = ["costs", "thresholds"].contains(&key);
        let or = if lists { "; or describe the `verifiers` instead" } else { "" };
        check_fault(&problem, &format!("{key}: this key is missing{or}"));
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
        (json!({"costs": [1, 0]}), "costs[1]: a price must be more than 0"),
        (json!({"costs": [-1, 1]}), "costs[0]: -1 is not a finite number that is at least 0"),
        (json!({"costs": [1, 1e16]}), "costs[1]: 10000000000000000 is more than 10^15"),
        (json!({"costs": [1, "3"]}), "costs[1]: expected a number, found \"3\""),
        (json!({"costs": 1}), "costs: expected a list, found 1"),
        (json!({"costs": [], "thresholds": []}), "costs: expected 1 to 1024 attributes, found 0"),
        (json!({"thresholds": [0, 0.5]}), "thresholds[0]: 0 is not strictly between 0 and 1"),
        (json!({"thresholds": [0.5, 1]}), "thresholds[1]: 1 is not strictly between 0 and 1"),
        (json!({"thresholds": [0.5, true]}), "thresholds[1]: expected a number, found true"),
        (
            json!({"thresholds": [0.5]}),
            "thresholds: expected as many as there are costs, which is 2, found 1",
        ),
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
            "observations[1][1][2]: the score -10000000000 is not between -1e9 and 1e9",
        ),
    ] {
        check(&json!({"observations": observations}), expected);
    }
}

#[test]
fn a_score_that_its_model_refuses_is_found_at_the_door() {
    check(
        &json!({"scores": ["binary", "bounded"]}),
        "observations[0][0][0]: the score 0.9 is neither 0 nor 1, but the attribute is binary",
    );
    check(
        &json!({"scores": ["bounded", "bounded"], "observations": [[[1], [1]], [[1], [1, -0.5]]]}),
        "observations[1][1][1]: the score -0.5 is below 0, but the attribute is bounded",
    );
    let lowest = json!({"sub-gaussian": {"lowest": 0.25}});
    check(
        &json!({"scores": [lowest, "exact"]}),
        "observations[0][0][1]: the score 0.1 is below 0.25, the lowest that the attribute declares",
    );
}

#[test]
fn score_models_are_checked() {
    for (scores, expected) in [
        (json!("binary"), "scores: expected a list, found \"binary\""),
        (json!(["exact"]), "scores: expected as many as there are costs, which is 2, found 1"),
        (json!(["exact", "binry"]), "scores[1]: unknown word `binry`; did you mean `binary`?"),
        (
            json!(["exact", "poisson!"]),
            "scores[1]: unknown word `poisson!`; there are binary, bounded, exact, sub-gaussian",
        ),
        (
            json!(["exact", 1]),
            "scores[1]: expected a word such as \"binary\", or {\"sub-gaussian\": {...}}, found 1",
        ),
        (json!([{}, "exact"]), "scores[0]: expected an object with one key, found an object"),
        (
            json!([{"subgaussian": {}}, "exact"]),
            "scores[0].subgaussian: unknown word `subgaussian`; did you mean `sub-gaussian`?",
        ),
        (
            json!([{"sub-gaussian": {"sgima": 1}}, "exact"]),
            "scores[0].sub-gaussian.sgima: no such key; did you mean `sigma`?",
        ),
        (
            json!([{"sub-gaussian": 1}, "exact"]),
            "scores[0].sub-gaussian: expected an object, found 1",
        ),
        (
            json!([{"sub-gaussian": {"sigma": 0}}, "exact"]),
            "scores[0].sub-gaussian.sigma: 0 is not between 1e-6 and 1e9",
        ),
        (
            json!(["exact", {"sub-gaussian": {"lowest": 0.5}}]),
            "scores[1].sub-gaussian.lowest: 0.5 is not from -1e9 to below the threshold",
        ),
    ] {
        check(&json!({"scores": scores}), expected);
    }
}

#[test]
fn verifiers_are_checked_and_named_as_they_are_written() {
    let with = |first: Value| {
        let mut problem = right();
        problem.as_object_mut().unwrap().retain(|key, _| key != "costs" && key != "thresholds");
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
        ("name", json!("b"), "verifiers[1].name: \"b\" is taken by an earlier attribute"),
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
            "verifiers[0].scores.bounded.range: 0 is not above 1, or a number is too large",
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
    let mut both = with(right);
    both["thresholds"] = json!([0.5, 0.5]);
    check_fault(&both, "thresholds: the verifiers say it; leave this key out");
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
fn certificates_guarantees_names_and_weights_are_checked() {
    for (changes, expected) in [
        (json!({"certificate": "papr"}), "certificate: unknown word `papr`; did you mean `paper`?"),
        (
            json!({"guarantee": "bonferroni"}),
            "guarantee: unknown word `bonferroni`; there are lent, holm, union, fdr, paper",
        ),
        (
            json!({"certificate": "paper", "guarantee": "holm"}),
            "guarantee: the certificate paper has a guarantee of its own; leave this key out",
        ),
        (
            json!({"certificate": "tight", "guarantee": "paper"}),
            "certificate: the guarantee paper has certificates of its own; leave this key out",
        ),
        (json!({"names": ["a", "a"]}), "names[1]: \"a\" is taken by an earlier attribute"),
        (json!({"names": ["a", 1]}), "names[1]: expected a text, found 1"),
        (
            json!({"names": ["a"]}),
            "names: expected as many as there are costs, which is 2, found 1",
        ),
        (
            json!({"prior_weights": [1]}),
            "prior_weights: expected a weight for each arm, which is 2, found 1",
        ),
        (json!({"prior_weights": [1, 0]}), "prior_weights[1]: 0 is not between 1/1e9 and 1e9"),
        (
            json!({"prior_weights": [1, 1], "guarantee": "fdr"}),
            "prior_weights: only with the guarantees holm and union",
        ),
        (
            json!({"prior_weights": [1, 1], "certificate": "paper"}),
            "prior_weights: only with the guarantees holm and union",
        ),
    ] {
        check(&changes, expected);
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line_and_column() {
    check_text("", "line 1, column 0: EOF while parsing a value");
    check_text("{\"arms\": 2,\n \"costs\": [1,]}", "line 2, column 14: trailing comma");
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
            "goodarm-lab: {}: line 1, column 11: budget: this key is missing\n",
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
    let place = tempfile::tempdir().unwrap();
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{2066}\u{feff}\u{2028}\u{7f}\r";
    let file = place.path().join("d.json");
    std::fs::write(&file, format!("{{\"x{evil}\": 1}}")).unwrap();
    for command in ["trace", "simulate"] {
        let output = lab(&[command, file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output) + &message(&output);
        assert!(
            !told.contains(|c: char| c != '\n' && evil.contains(c) && !c.is_ascii_graphic()),
            "{told:?}"
        );
    }
}
