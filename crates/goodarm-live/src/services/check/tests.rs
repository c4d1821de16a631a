use std::time::Duration;

use goodarm_record::reply::Verdict;
use serde_json::json;

use super::*;

fn new(keys: Value, folder: &Path) -> Result<Check, Vec<KeyProblem>> {
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
fn problems_name_their_key() {
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
    assert_eq!(check.manifest().fields, ["gold", "reply"].map(String::from).into());
}

/// A tree of arrays, each of which may be one in two ways: both are tried at every depth.
fn forked_tree() -> Value {
    let branch =
        |least: u64| json!({"type": "array", "minItems": least, "items": {"$ref": "#/$defs/tree"}});
    json!({"check": "json-schema", "schema": {
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"anyOf": [branch(0), branch(1), {"type": "integer"}]}},
    }})
}

#[test]
fn a_schema_that_forks_at_every_depth_ends() {
    let nested = |leaf: &str| format!("{}{leaf}{}", "[".repeat(60), "]".repeat(60));
    check(forked_tree(), json!({"answer": nested("1")}), 1.0, "accepted");
    check(forked_tree(), json!({"answer": nested("\"x\"")}), 0.0, "not accepted");
}

#[test]
fn a_pattern_that_looks_to_the_end_at_every_match_ends() {
    let keys = json!({"check": "final-answer", "extract": "regex", "pattern": "a.*b|a"});
    check(keys, json!({"answer": "a".repeat(300_000)}), 0.0, "too much work");
    let keys = json!({"check": "final-answer", "extract": "regex", "pattern": r"\ba.*b|a"});
    let answer = format!("é{}", "a ".repeat(150_000));
    check(keys, json!({"answer": answer}), 0.0, "too much work");
}

#[test]
fn a_pattern_of_many_states_ends() {
    let pattern = "(?s)<answer>.{1,800}</answer>";
    let text: String =
        (0..90_000).map(|count| format!("<answer>{}", "x".repeat(count % 7))).collect();
    let fields = json!({"answer": text});
    check(json!({"check": "regex", "pattern": pattern}), fields.clone(), 0.0, "too much work");
    let keys = json!({"check": "final-answer", "extract": "regex", "pattern": pattern});
    check(keys, fields, 0.0, "too much work");
    let keys = json!({"check": "json-schema", "schema": {"pattern": pattern}});
    check(keys, json!({"answer": json!(text).to_string()}), 0.0, "too much work");
    let short = json!({"answer": "<answer>42</answer>"});
    check(json!({"check": "regex", "pattern": pattern}), short, 1.0, "42");
}

#[test]
fn json_values_and_json_texts_have_the_same_limit() {
    let keys = json!({"check": "json-schema", "schema": {"uniqueItems": true}});
    let values: Vec<[u32; 1]> = (0..400_000).map(|value| [value]).collect();
    check(keys, json!({"answer": values}), 0.0, "too large");
}

#[test]
fn a_hostile_megabyte_does_not_delay_a_check() {
    let long = |piece: &str| piece.repeat(1_000_000 / piece.len());
    let extracts = [
        ("gsm8k", format!("####{}", long("1,1"))),
        ("gsm8k", long("####")),
        ("boxed", format!("\\boxed{{{}}}", long("\\text{\\\\,}"))),
        ("boxed", long("\\boxed{")),
        ("boxed", format!("\\boxed{{{}", long("{"))),
        ("last-number", long("1/1")),
        ("last-number", long("1e1x-.$")),
        ("last-number", long("9")),
        ("first-word", long("-'a")),
        ("first-word", long("a'")),
        ("whole", long(" ")),
        ("json", long("{")),
        ("json", long("[1,")),
        ("json", long("[\"")),
        ("json", format!("x{}", long("[0,{\"a\":1},"))),
    ];
    for (extract, text) in extracts {
        let mut keys = json!({"check": "number-equals", "with": "gold", "extract": extract});
        if extract == "json" {
            keys["pointer"] = json!("/a");
        }
        let start = std::time::Instant::now();
        let fields = json!({"answer": text, "gold": text});
        let reply = new(keys, Path::new(".")).unwrap().check(&candidate(fields));
        assert!(matches!(reply.verdict, Verdict::Score(_)));
        assert!(start.elapsed() < Duration::from_secs(30), "{extract} {}", &text[..20]);
    }
}

/// A schema that goes through so many others before it looks at what is inside of an array.
fn ladder(rungs: usize) -> Value {
    let rung = |index: usize| match index + 1 {
        next if next < rungs => json!({"allOf": [{"$ref": format!("#/$defs/{next}")}, true]}),
        _ => json!({"type": "array", "items": {"$ref": "#/$defs/0"}}),
    };
    let rungs: serde_json::Map<_, _> = (0..rungs).map(|it| (it.to_string(), rung(it))).collect();
    json!({"$ref": "#/$defs/0", "$defs": rungs})
}

#[test]
fn beyond_a_limit_the_reason_says_so() {
    let any = json!({"check": "json-schema", "schema": {"type": "array"}});
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    check(any.clone(), json!({"answer": nested(127)}), 1.0, "accepted");
    check(any.clone(), json!({"answer": nested(128)}), 0.0, "too deep");
    check(any, json!({"answer": format!("[{}]", " ".repeat(1 << 20))}), 0.0, "too large");
    let keys = json!({"check": "json-schema", "schema": ladder(500)});
    check(keys, json!({"answer": nested(127)}), 0.0, "too deep");
    let keys = json!({"check": "final-answer", "extract": "json", "pointer": "/a"});
    check(keys, json!({"answer": " ".repeat((1 << 20) + 1)}), 0.0, "too large");
}

#[test]
fn a_slow_check_is_not_evaluated_at_once() {
    let keys = json!({"check": "final-answer", "extract": "regex", "pattern": "a.*b|a"});
    let is_answered = |keys: &Value, answer: String| {
        let check = new(keys.clone(), Path::new(".")).unwrap();
        check.check_at_once(&candidate(json!({"answer": answer}))).is_some()
    };
    assert!(is_answered(&keys, "a".repeat(100)));
    assert!(!is_answered(&keys, "a".repeat(10_000)), "many searches");
    assert!(!is_answered(&json!({"check": "final-answer"}), "1".repeat(20_000)), "a long answer");
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(is_answered(&forked_tree(), nested(5)));
    let json = format!("[{}0]", "0,".repeat(8000));
    assert!(!is_answered(&forked_tree(), json), "many values");
}

#[test]
fn hostile_json_does_not_delay_a_schema() {
    let empties = |count: usize| {
        let mut values = vec!["[]".to_owned()];
        while values.len() < count {
            let (left, right) = (values.len() / 2, values.len() / 3);
            values.push(format!("[{},{}]", values[left], values[right]));
            values.push(format!("[{}]", values[left]));
        }
        format!("[{}]", values.join(","))
    };
    let list = |piece: &str| format!("[{}0]", piece.repeat(1_000_000 / piece.len()));
    let many_names: String = (0..60_000).map(|index| format!("\"{index}\":{{}},")).collect();
    let many_names = format!("{{{many_names}\"\":0}}");
    let long_name = format!("{{\"{}\":{}}}", "x".repeat(900_000), "[".repeat(99) + &"]".repeat(99));
    let forked = forked_tree()["schema"].clone();
    let open = json!({"$defs": {"node": {"unevaluatedProperties": false, "anyOf": [
        {"properties": {"a": {"$ref": "#/$defs/node"}}}, {"properties": {"a": {"$ref": "#/$defs/node"}, "b": true}},
    ]}}, "$ref": "#/$defs/node"});
    let dynamic = json!({"$dynamicAnchor": "node", "oneOf": [
        {"type": "array", "items": {"$dynamicRef": "#node"}},
        {"type": "array", "items": {"$dynamicRef": "#node"}, "minItems": 1}, {"type": "integer"},
    ]});
    let nested = |open: &str, leaf: &str, close: &str| {
        format!("{}{leaf}{}", open.repeat(120), close.repeat(120))
    };
    let cases = [
        (json!({"uniqueItems": true}), empties(2000)),
        (json!({"uniqueItems": true}), list("{\"a\":1},")),
        (json!({"items": {"pattern": "^(a+)+$"}}), list("\"aaaaaaaaaaaaaaaaaaaaaaaaaaab\",")),
        (
            json!({"items": {"pattern": "^(?=(a+)+$)a*c"}}),
            list("\"aaaaaaaaaaaaaaaaaaaaaaaaaaab\","),
        ),
        (json!({"items": {"pattern": r"(a*)*\1b"}}), list("\"aaaaaaaaaaaaaaaaaaaaaaaaaaa\",")),
        (json!({"propertyNames": {"pattern": r"(\d*)*\1b"}}), many_names.clone()),
        (
            json!({"patternProperties": {r"(\d*)*\1b": true}, "additionalProperties": {"type": "object"}}),
            many_names.clone(),
        ),
        (
            json!({"unevaluatedProperties": {"type": "object"}, "anyOf": [{"properties": {"1": true}}, {"required": ["0"]}]}),
            many_names,
        ),
        (forked.clone(), list("[[[]]],")),
        (forked.clone(), list("\"\",")),
        (forked.clone(), nested("[", "\"\"", "]")),
        (forked, long_name),
        (open, nested("{\"a\":", "{\"c\":0}", "}")),
        (dynamic, nested("[", "\"\"", "]")),
        (json!({"contains": {"contains": {"const": 5}}, "maxContains": 1}), list("[1,2,5],")),
        (json!({"items": {"multipleOf": 0.000_000_1}}), list("1e308,")),
        (json!({"items": {"multipleOf": 0.000_000_1}}), list("9223372036854775807,")),
        (json!({"type": "array"}), nested("[[", "", "]]")),
        (ladder(500), nested("[", "", "]")),
    ];
    for (schema, answer) in cases {
        let start = std::time::Instant::now();
        let start_of = |text: &str| text.chars().take(20).collect::<String>();
        let named = format!("{} {}", start_of(&schema.to_string()), start_of(&answer));
        let keys = json!({"check": "json-schema", "schema": schema});
        let reply = new(keys, Path::new(".")).unwrap().check(&candidate(json!({"answer": answer})));
        assert!(matches!(reply.verdict, Verdict::Score(_)));
        assert!(start.elapsed() < Duration::from_secs(30), "{named}");
    }
}
