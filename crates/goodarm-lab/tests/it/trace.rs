//! What `goodarm-lab trace` prints.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::tool::{lab, lines, message, root, text, trace, trace_bytes, verifiers};

fn four_answers() -> Value {
    json!({
        "arms": 4, "verifiers": verifiers(&[1.0, 3.0], &[0.5, 0.5]), "budget": 9000, "delta": 0.02,
        "policy": "bma-gai", "guarantee": "paper",
        "observations": [[[0.9, 0.1], [1.2]], [[0.8], [0.7]], [[0.1], [0.2]], [[0.6], [0.4]]],
    })
}

fn with(mut problem: Value, key: &str, value: impl Into<Value>) -> Value {
    problem[key] = value.into();
    problem
}

/// D = 8. N = 0 < √(t+1)/8 holds for a pair that was never pulled, N = 1 < √(t+1)/8 only from
/// t = 64 on. Until then √(8 ln(t+1)/N) is at least √(8 ln 9) = 4.2, far above every mean: no H⁺ is
/// finite, and the least-pulled pair is pulled, by arm and then by attribute.
#[test]
fn the_first_lines_are_algorithm_1_by_hand() {
    let expected = [
        r#"{"t":1,"branch":"explore","arm":0,"attribute":0,"score":0.9,"spent":1.0,"certified":[]}"#,
        r#"{"t":2,"branch":"explore","arm":0,"attribute":1,"score":1.2,"spent":4.0,"certified":[]}"#,
        r#"{"t":3,"branch":"explore","arm":1,"attribute":0,"score":0.8,"spent":5.0,"certified":[]}"#,
        r#"{"t":4,"branch":"explore","arm":1,"attribute":1,"score":0.7,"spent":8.0,"certified":[]}"#,
        r#"{"t":5,"branch":"explore","arm":2,"attribute":0,"score":0.1,"spent":9.0,"certified":[]}"#,
        r#"{"t":6,"branch":"explore","arm":2,"attribute":1,"score":0.2,"spent":12.0,"certified":[]}"#,
        r#"{"t":7,"branch":"explore","arm":3,"attribute":0,"score":0.6,"spent":13.0,"certified":[]}"#,
        r#"{"t":8,"branch":"explore","arm":3,"attribute":1,"score":0.4,"spent":16.0,"certified":[]}"#,
        r#"{"t":9,"branch":"fallback","arm":0,"attribute":0,"score":0.1,"spent":17.0,"certified":[]}"#,
        r#"{"t":10,"branch":"fallback","arm":0,"attribute":1,"score":1.2,"spent":20.0,"certified":[]}"#,
        r#"{"t":11,"branch":"fallback","arm":1,"attribute":0,"score":0.8,"spent":21.0,"certified":[]}"#,
        r#"{"t":12,"branch":"fallback","arm":1,"attribute":1,"score":0.7,"spent":24.0,"certified":[]}"#,
        r#"{"t":13,"branch":"fallback","arm":2,"attribute":0,"score":0.1,"spent":25.0,"certified":[]}"#,
        r#"{"t":14,"branch":"fallback","arm":2,"attribute":1,"score":0.2,"spent":28.0,"certified":[]}"#,
        r#"{"t":15,"branch":"fallback","arm":3,"attribute":0,"score":0.6,"spent":29.0,"certified":[]}"#,
        r#"{"t":16,"branch":"fallback","arm":3,"attribute":1,"score":0.4,"spent":32.0,"certified":[]}"#,
        r#"{"t":17,"branch":"fallback","arm":0,"attribute":0,"score":0.9,"spent":33.0,"certified":[]}"#,
    ];
    let output = trace_bytes(four_answers().to_string().as_bytes());
    assert_eq!(text(&output).lines().take(17).collect::<Vec<_>>(), expected);
}

#[test]
fn a_file_and_standard_input_give_the_same_lines() {
    let path = "examples/tiny-delta.json";
    let bytes = std::fs::read(root().join(path)).unwrap();
    let from_file = lab(&["trace", path]);
    assert_eq!(text(&from_file), text(&trace_bytes(&bytes)));
    assert!(!lines(&from_file).is_empty());
}

#[test]
fn pulls_max_cuts_the_trace_short_and_changes_nothing_else() {
    let all = trace(&four_answers());
    for pulls_max in [0, 1, 10, all.len(), all.len() + 1] {
        let cut = trace(&with(four_answers(), "pulls_max", pulls_max));
        assert_eq!(cut, all[..pulls_max.min(all.len())]);
    }
}

#[test]
fn ten_pulls_at_a_dime_fit_one_and_eleven_do_not() {
    let dimes = json!({
        "arms": 1, "verifiers": verifiers(&[0.1], &[0.5]), "budget": 1.0, "delta": 0.05,
        "policy": "bma-gai", "guarantee": "paper", "observations": [[[0.5]]],
    });
    let output = trace_bytes(dimes.to_string().as_bytes());
    let text = text(&output);
    let spent: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split("\"spent\":").nth(1)?.split(',').next())
        .collect();
    assert_eq!(spent, ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]);
    assert_eq!(trace(&with(dimes.clone(), "budget", 0.99)).len(), 9);
    assert_eq!(trace(&with(dimes.clone(), "budget", 1.1)).len(), 11);
    assert_eq!(trace(&with(dimes, "budget", 0.09)).len(), 0);
}

#[test]
fn scores_and_money_keep_every_digit() {
    let scores =
        br#"{"arms": 1, "delta": 0.05, "budget": 3, "policy": "uniform", "guarantee": "paper",
        "verifiers": [{"name": "a", "price": 1, "threshold": 0.5}],
        "observations": [[[0.30000000000000004, 0.1234567890123456789, -1e-7]]]}"#;
    let told = text(&trace_bytes(scores));
    for score in ["0.30000000000000004", "0.12345678901234568", "-1e-7"] {
        assert!(told.contains(&format!("\"score\":{score},")), "{told}");
    }
    let cheap =
        br#"{"arms": 1, "delta": 0.05, "budget": 1, "policy": "uniform", "guarantee": "paper",
        "verifiers": [{"name": "a", "price": 0.000000000001, "threshold": 0.5}], "pulls_max": 3,
        "observations": [[[0]]]}"#;
    assert!(text(&trace_bytes(cheap)).contains("\"spent\":0.000000000003,"));
}

#[test]
fn lists_begin_again_when_they_run_out() {
    let problem = json!({
        "arms": 1, "verifiers": verifiers(&[1.0, 1.0], &[0.5, 0.5]), "budget": 12, "delta": 0.05,
        "policy": "round-robin", "guarantee": "paper",
        "observations": [[[0.1, 0.2, 0.3], [0.4, 0.5]]],
    });
    let of = |attribute: u64| -> Vec<f64> {
        let lines = trace(&problem);
        let own = lines.iter().filter(|line| line["attribute"] == attribute);
        own.map(|line| line["score"].as_f64().unwrap()).collect()
    };
    assert_eq!(of(0), [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]);
    assert_eq!(of(1), [0.4, 0.5, 0.4, 0.5, 0.4, 0.5]);
}

#[test]
fn every_policy_certificate_and_guarantee_can_be_traced() {
    let means = json!([[0.9, 1.2], [0.8, 0.7], [0.1, 0.2], [0.6, 0.4]]);
    let base = with(with(four_answers(), "means", means), "budget", 400);
    for policy in
        ["rcb", "bma-gai", "cb-gai", "uniform", "round-robin", "hdoc", "lucb-g", "apt-g", "oracle"]
    {
        let paper = with(base.clone(), "policy", policy);
        assert!(!trace(&paper).is_empty(), "{policy}");
        for guarantee in ["holm", "union", "fdr"] {
            for scores in [
                [
                    json!({"sub-gaussian": {"sigma": 1.0}}),
                    json!({"sub-gaussian": {"sigma": 0.5, "lowest": 0.0}}),
                ],
                [json!({"sub-gaussian": {"sigma": 1.0}}), json!("bounded")],
                [json!("bounded"), json!("exact")],
            ] {
                let mut tight = with(paper.clone(), "guarantee", guarantee);
                for (verifier, scores) in [0, 1].into_iter().zip(scores) {
                    tight["verifiers"][verifier]["scores"] = scores;
                }
                tight["stop_when_hopeless"] = true.into();
                let lines = trace(&tight);
                assert!(!lines.is_empty(), "{policy} {guarantee}");
                assert!(lines.last().unwrap()["spent"].as_f64().unwrap() <= 400.0);
            }
        }
    }
}

#[test]
fn the_defaults_are_rcb_with_tight_certificates_and_lent_shares() {
    let mut plain = four_answers();
    plain.as_object_mut().unwrap().retain(|key, _| key != "policy" && key != "guarantee");
    let mut spelled = with(plain.clone(), "policy", "rcb");
    spelled["guarantee"] = "lent".into();
    spelled["verifiers"][0]["scores"] = json!({"sub-gaussian": {"sigma": 1.0, "lowest": null}});
    spelled["verifiers"][1]["scores"] = json!({"sub-gaussian": {"sigma": 1.0}});
    spelled["unresolved_only"] = false.into();
    assert_eq!(trace(&plain), trace(&spelled));
    for guarantee in ["fdr", "holm"] {
        let other = trace(&with(spelled.clone(), "guarantee", guarantee));
        assert_ne!(trace(&plain), other);
        assert!(other.iter().all(|line| line.get("lent").is_none()), "{guarantee} lends nothing");
    }
    let lent = trace(&plain);
    let shares: Vec<f64> = lent.iter().filter_map(|line| line["lent"].as_f64()).collect();
    assert!(!shares.is_empty() && shares.iter().all(|share| *share > 0.0 && *share <= 1.0));
}

#[test]
fn unresolved_only_spends_nothing_on_what_is_proved() {
    // Attribute 0 is proved by its first score; the paper goes on pulling it, this does not.
    let problem = with(four_answers(), "observations", json!([[[100.0], [0.5]]]));
    let problem = with(with(problem, "arms", 1), "budget", 100);
    let wasted = |lines: &[Value]| lines.iter().filter(|line| line["attribute"] == 0).count();
    assert!(wasted(&trace(&problem)) > 10);
    assert_eq!(wasted(&trace(&with(problem, "unresolved_only", true))), 1);
}

#[test]
fn a_reader_that_goes_away_ends_the_trace_quietly() {
    let endless = with(with(four_answers(), "budget", 1e12), "delta", 1e-300);
    let path = std::env::temp_dir().join(format!("goodarm-endless-{}.json", std::process::id()));
    std::fs::write(&path, endless.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_goodarm-lab"))
        .arg("trace")
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(first.starts_with("{\"t\":1,"));
    assert_eq!((output.status.code(), message(&output)), (Some(0), String::new()));
}
