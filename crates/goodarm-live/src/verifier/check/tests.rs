use serde_json::json;

use super::*;
use crate::verifier::Verdict;

fn new(keys: Value, folder: &Path) -> Result<Check, Vec<Problem>> {
    let keys: CheckKeys = serde_json::from_value(keys).unwrap();
    Check::new(&keys, folder)
}

fn candidate(fields: Value) -> Candidate {
    Candidate::new("1".into(), fields.to_string())
}

#[track_caller]
fn check(keys: Value, fields: Value, score: f64, why: &str) {
    let reply = new(keys, Path::new(".")).unwrap().check(&candidate(fields));
    assert_eq!(reply.verdict, Verdict::Score(score), "{}", reply.text);
    assert!(reply.text.contains(why), "{}", reply.text);
}

#[track_caller]
fn wrong(keys: Value, expected: &[&str]) {
    let problems = new(keys, Path::new(".")).expect_err("it is wrong");
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, expected, "{problems:?}");
}

#[test]
fn final_answers() {
    let gsm8k = json!({"check": "final-answer", "extract": "gsm8k"});
    check(gsm8k.clone(), json!({"answer": "#### 18"}), 1.0, "18");
    check(gsm8k.clone(), json!({"answer": "18"}), 0.0, "no number after ####");
    check(gsm8k, json!({"question": "?"}), 0.0, "no field answer");
    check(json!({"check": "final-answer"}), json!({"answer": 18}), 1.0, "18");
    let other = json!({"check": "final-answer", "field": "reply"});
    check(other, json!({"reply": "no"}), 0.0, "no number");
}

#[test]
fn patterns() {
    let regex = json!({"check": "regex", "pattern": "^[A-D]$"});
    check(regex.clone(), json!({"answer": "B"}), 1.0, "B");
    check(regex, json!({"answer": "E"}), 0.0, "no match");
}

#[test]
fn schemas() {
    let schema = json!({"check": "json-schema", "schema": {
        "type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}},
    }});
    check(schema.clone(), json!({"answer": r#"{"a": 1}"#}), 1.0, "accepted");
    check(schema.clone(), json!({"answer": {"a": 1}}), 1.0, "accepted");
    check(schema.clone(), json!({"answer": r#"{"a": "x"}"#}), 0.0, "/a");
    check(schema.clone(), json!({"answer": "{}"}), 0.0, "required");
    check(schema, json!({"answer": "{"}), 0.0, "not JSON");
}

#[test]
fn a_schema_may_be_a_file_and_never_an_address() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.json"), r#"{"type": "integer"}"#).unwrap();
    let keys = json!({"check": "json-schema", "schema": "s.json"});
    let check = new(keys, folder.path()).unwrap();
    assert_eq!(check.check(&candidate(json!({"answer": "5"}))).verdict, Verdict::Score(1.0));
    wrong(json!({"check": "json-schema", "schema": "no-such-file.json"}), &["schema"]);
    let far = json!({"$ref": "http://127.0.0.1:9/schema.json"});
    wrong(json!({"check": "json-schema", "schema": far}), &["schema"]);
    wrong(json!({"check": "json-schema", "schema": {"type": 5}}), &["schema"]);
}

#[test]
fn equality_of_texts() {
    let equals = json!({"check": "equals", "with": "gold"});
    check(equals.clone(), json!({"answer": " Paris\n", "gold": "Paris"}), 1.0, "equal");
    check(equals.clone(), json!({"answer": "paris", "gold": "Paris"}), 0.0, "not equal");
    check(equals.clone(), json!({"answer": "18", "gold": 18}), 1.0, "equal");
    check(equals, json!({"answer": "Paris"}), 0.0, "no field gold");
}

#[test]
fn equality_of_numbers() {
    let keys = json!({"check": "number-equals", "with": "gold", "extract": "gsm8k"});
    check(keys.clone(), json!({"answer": "#### 18.0", "gold": "x #### 18"}), 1.0, "18");
    check(keys.clone(), json!({"answer": "#### 18", "gold": 18}), 1.0, "18");
    check(keys.clone(), json!({"answer": "#### 18", "gold": "19"}), 0.0, "18 is not 19");
    check(keys.clone(), json!({"answer": "#### 18", "gold": "many"}), 0.0, "is not a number");
    check(keys, json!({"answer": "18", "gold": "18"}), 0.0, "no number after ####");
}

#[test]
fn what_is_wrong_names_its_key() {
    wrong(json!({}), &["check"]);
    wrong(json!({"check": "regex"}), &["pattern"]);
    wrong(json!({"check": "regex", "pattern": "("}), &["pattern"]);
    wrong(json!({"check": "equals"}), &["with"]);
    wrong(json!({"check": "number-equals", "extract": "json"}), &["with", "pointer"]);
    wrong(json!({"check": "json-schema"}), &["schema"]);
    wrong(
        json!({"check": "regex", "pattern": "x", "with": "a", "schema": {}, "extract": "boxed"}),
        &["with", "schema", "extract"],
    );
}

#[test]
fn fields_that_are_looked_at() {
    let keys = json!({"check": "equals", "with": "gold", "field": "reply"});
    let check = new(keys, Path::new(".")).unwrap();
    assert_eq!(check.fields(), ["gold", "reply"].map(String::from).into());
}
