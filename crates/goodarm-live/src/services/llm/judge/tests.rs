use serde_json::{Value, json};

use super::*;

fn keys_of(keys: Value) -> LlmKeys {
    serde_json::from_value(keys).unwrap()
}

#[track_caller]
fn check(keys: Value, text: &str, expected: Option<f64>) {
    let parser = Parser::new(&keys_of(keys), None, &mut Vec::new()).unwrap();
    match (parser.verdict(text), expected) {
        (Ok(Verdict::Score(score)), Some(expected)) => {
            assert!((score - expected).abs() < 1e-12, "{text:?}: {score}");
        }
        (Err(_), None) => {}
        (score, _) => panic!("{text:?}: {score:?}"),
    }
}

#[test]
fn yes_and_no() {
    let keys = || json!({});
    for text in ["Yes", "yes.", "**YES**", "  \"Yes\", it is", "Yes - because", "> yes", "# Yes\n"]
    {
        check(keys(), text, Some(1.0));
    }
    for text in ["No", "no!", "__No__, not", "NO\n\nYes"] {
        check(keys(), text, Some(0.0));
    }
    for text in ["", "Maybe", "Yesterday", "Not", "The answer is yes", "…"] {
        check(keys(), text, None);
    }
}

#[test]
fn numbers_in_a_range() {
    let keys = || json!({"parse": "number", "range": [0.0, 10.0]});
    check(keys(), "Score: 7", Some(0.7));
    check(keys(), "I give 3, no, 7/10.", Some(0.7));
    check(keys(), "10.", Some(1.0));
    check(keys(), "3/4", Some(0.075));
    check(keys(), "11", None);
    check(keys(), "-1", None);
    check(keys(), "none", None);
    check(json!({"parse": "number"}), "0.25", Some(0.25));
    check(json!({"parse": "number"}), "85%", None);
    check(json!({"parse": "number", "range": [5.0, 1.0]}), "Grade 2", Some(0.75));
    check(json!({"parse": "number", "range": [1.0, 5.0]}), "4/5", Some(0.75));
}

#[test]
fn fields_of_json() {
    let keys = || json!({"parse": "json", "pointer": "/score", "range": [0.0, 5.0]});
    check(keys(), r#"Sure! {"why": "ok", "score": 4}"#, Some(0.8));
    check(keys(), "```json\n{\"score\": true}\n```", Some(1.0));
    check(keys(), r#"{"score": "4"}"#, Some(0.8));
    check(keys(), r#"{"score": "4/5"}"#, Some(0.8));
    check(keys(), r#"{"score": 6}"#, None);
    check(keys(), r#"{"score": null}"#, None);
    check(keys(), r#"{"points": 4}"#, None);
    check(keys(), "4", None);
    check(json!({"parse": "json", "pointer": "/a/0"}), r#"{"a": [0.5]}"#, Some(0.5));
}

#[test]
fn problems_name_their_key() {
    let wrong = |keys: Value| {
        let mut problems = Vec::new();
        Parser::new(&keys_of(keys), None, &mut problems);
        problems.into_iter().map(|problem| problem.key).collect::<Vec<_>>()
    };
    assert_eq!(wrong(json!({"range": [0.0, 1.0]})), ["range"]);
    assert_eq!(wrong(json!({"parse": "number", "range": [1.0, 1.0]})), ["range"]);
    assert_eq!(wrong(json!({"parse": "number", "pointer": "/x"})), ["pointer"]);
    assert_eq!(wrong(json!({"parse": "json", "pointer": "x"})), ["pointer"]);
    assert_eq!(wrong(json!({"parse": "json"})), ["pointer"]);
}

#[test]
fn out_of_ten_is_not_ten() {
    let parser = Parser::Number(Range::new([0.0, 10.0]).unwrap());
    for (text, score) in [
        ("I rate it 2 out of 10.", 0.2),
        ("Score: 8 of 10", 0.8),
        ("8/10", 0.8),
        ("2 Out  Of 10, though 3 out of 10 would do", 0.3),
    ] {
        let Ok(Verdict::Score(found)) = parser.verdict(text) else { panic!("{text}") };
        assert!((found - score).abs() < 1e-12, "{text}: {found}");
    }
}
