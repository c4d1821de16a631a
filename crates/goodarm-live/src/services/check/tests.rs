use std::time::Duration;

use goodarm_record::reply::Verdict;
use goodarm_testing::Stopwatch;
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

/// A tree of arrays, each of which may be one in two ways, to this depth: both are tried at every depth.
fn forked_tree(depth: usize) -> Value {
    let branch = |least: u64, next: usize| json!({"type": "array", "minItems": least, "items": {"$ref": format!("#/$defs/{next}")}});
    let mut trees = serde_json::Map::new();
    for index in 0..depth {
        let next = (index + 1) % depth.max(2);
        let last = json!({"type": "integer"});
        let tree = if index + 1 < depth {
            json!({"anyOf": [branch(0, next), branch(1, next), last]})
        } else {
            last
        };
        trees.insert(index.to_string(), tree);
    }
    json!({"$ref": "#/$defs/0", "$defs": trees})
}

#[test]
fn a_schema_whose_work_has_no_limit_is_refused() {
    let refused = |schema: Value, why: &str| {
        let keys = json!({"check": "json-schema", "schema": schema});
        let problems = new(keys, Path::new(".")).expect_err("it is refused");
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!(problem.key, "schema");
        assert!(problem.to_string().contains(why), "{problem}");
    };
    let tree = json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"anyOf": [
        {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/tree"}},
    ]}}});
    refused(tree, "contains itself");
    refused(json!({"properties": {"next": {"$ref": "#"}}}), "contains itself");
    let two = json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}});
    refused(two, "contains itself");
    refused(forked_tree(20), "too large");
    let mut deep = json!({"type": "array"});
    for _ in 0..150 {
        deep = json!({"not": {"not": deep}});
    }
    refused(deep, "levels");
    let dynamic = json!({"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}});
    refused(dynamic, "$dynamicRef");
    refused(json!({"unevaluatedProperties": false}), "unevaluatedProperties");
    refused(json!({"items": {"format": "regex"}}), "format regex");
    refused(json!({"$ref": "#/$defs/none"}), "leads nowhere");
    refused(json!({"$ref": "other.json#/a"}), "leads nowhere");
    refused(json!({"pattern": "^(?=(a+)+$)a*c"}), "without look-around");
    refused(json!({"patternProperties": {r"(\d*)*\1b": true}}), "regex");
    refused(json!({"pattern": "(?s)<answer>.{1,8000}</answer>"}), "fewer states");
}

#[test]
fn a_definition_may_be_used_many_times() {
    let item = json!({"$ref": "#/$defs/item"});
    let schema = json!({"type": "object", "properties": {"a": item, "b": item, "c": {"type": "array", "items": item}},
        "$defs": {"item": {"type": "string", "pattern": r"^[\w .-]{1,64}$"}}});
    let keys = json!({"check": "json-schema", "schema": schema});
    check(keys.clone(), json!({"answer": {"a": "x", "b": "y", "c": ["z"]}}), 1.0, "accepted");
    let long = json!({"answer": {"c": vec!["a line of some words"; 3000]}});
    check(keys.clone(), long, 1.0, "accepted");
    check(keys, json!({"answer": {"a": "x", "c": [""]}}), 0.0, "/c/0");
    check(
        json!({"check": "json-schema", "schema": forked_tree(5)}),
        json!({"answer": [[[1]]]}),
        1.0,
        "accepted",
    );
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
    let short = json!({"answer": "<answer>42</answer>"});
    check(json!({"check": "regex", "pattern": pattern}), short, 1.0, "42");
}

#[test]
fn json_values_and_json_texts_have_the_same_limit() {
    let keys = json!({"check": "json-schema", "schema": {"type": "array"}});
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
        let start = Stopwatch::start();
        let fields = json!({"answer": text, "gold": text});
        let reply = new(keys, Path::new(".")).unwrap().check(&candidate(fields));
        assert!(matches!(reply.verdict, Verdict::Score(_)));
        assert!(start.used() < Duration::from_secs(3), "{extract} {}", &text[..20]);
    }
}

#[test]
fn beyond_a_limit_the_reason_says_so() {
    let any = json!({"check": "json-schema", "schema": {"type": "array"}});
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    check(any.clone(), json!({"answer": nested(127)}), 1.0, "accepted");
    check(any.clone(), json!({"answer": nested(128)}), 0.0, "too deep");
    check(any, json!({"answer": format!("[{}]", " ".repeat(1 << 20))}), 0.0, "too large");
    let unique = json!({"check": "json-schema", "schema": {"uniqueItems": true}});
    let numbers = |count: u32| json!({"answer": (0..count).collect::<Vec<_>>()});
    check(unique.clone(), numbers(10_000), 1.0, "accepted");
    check(unique, numbers(20_000), 0.0, "too much work");
    let names: Vec<String> = (0..1000).map(|index| format!("name {index}")).collect();
    let many = json!({"check": "json-schema", "schema": {"items": {"enum": names}}});
    check(many.clone(), json!({"answer": names}), 1.0, "accepted");
    check(many, json!({"answer": vec![1; 170_000]}), 0.0, "too much work");
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
    let tree = json!({"check": "json-schema", "schema": forked_tree(5)});
    assert!(is_answered(&tree, "[[[1]]]".into()));
    let json = format!("[{}0]", "0,".repeat(8000));
    assert!(!is_answered(&tree, json), "many values");
}

/// Pairs of integers that are one number as floating-point numbers, so that their hashes are equal.
fn equal_hashes(count: u64) -> String {
    let number = |offset: u64| (u64::MAX - (1 << 20)) + offset % 1000;
    let pairs = (0..count).map(|index| format!("[{},{}]", number(index / 80), number(index % 80)));
    format!("[{}]", pairs.collect::<Vec<_>>().join(","))
}

/// A text of a and b in an order without a pattern.
fn mixed(length: usize) -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 63 == 0 { 'a' } else { 'b' }
    };
    (0..length).map(|_| letter()).collect()
}

#[test]
fn a_schema_below_the_top_has_no_name_of_its_own() {
    let inner = json!({"definitions": {"b": {"anyOf": [{"type": "array", "items": {"$ref": "#/definitions/b"}}]}},
        "allOf": [{"$ref": "#/definitions/b"}]});
    let named = |key: &str, value: &str, root: &str| {
        let mut inner = inner.clone();
        inner[key] = value.into();
        json!({"check": "json-schema", "schema": {"$schema": root, "definitions": {"b": {}}, "allOf": [inner]}})
    };
    let draft_4 = "http://json-schema.org/draft-04/schema#";
    let newest = "https://json-schema.org/draft/2020-12/schema";
    for (key, value, root) in [("id", "http://x/e", draft_4), ("$schema", draft_4, newest)] {
        let problems = new(named(key, value, root), Path::new(".")).unwrap_err();
        assert_eq!(problems[0].message, format!("{key} is possible at the top only"));
    }
    check(
        json!({"check": "json-schema", "schema": {"properties": {"id": {"const": "a"}}}}),
        json!({"answer": {"id": "a"}}),
        1.0,
        "accepted",
    );
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
    let forked = forked_tree(8);
    let nested = |open: &str, leaf: &str, close: &str| {
        format!("{}{leaf}{}", open.repeat(120), close.repeat(120))
    };
    let branches = json!({"anyOf": [
        {"items": {"type": "integer"}}, {"items": {"type": "object"}}, {"additionalProperties": {"type": "string"}},
    ]});
    let mut deep = json!({"type": "integer"});
    for _ in 0..60 {
        deep =
            json!({"anyOf": [{"type": "array", "items": deep}, {"type": "array", "minItems": 9}]});
    }
    let cases = [
        (json!({"uniqueItems": true}), empties(2000)),
        (
            json!({"items": {"uniqueItems": true}}),
            format!("[{}0]", (empties(300) + ",").repeat(12)),
        ),
        (json!({"uniqueItems": true}), list("{\"a\":1},")),
        (json!({"items": {"pattern": "^(a+)+$"}}), list("\"aaaaaaaaaaaaaaaaaaaaaaaaaaab\",")),
        (json!({"pattern": ".{1,200}b$"}), json!("a".repeat(1_000_000)).to_string()),
        (json!({"propertyNames": {"pattern": r"(\d*)*b"}}), many_names.clone()),
        (
            json!({"patternProperties": {r"(\d*)*b": true}, "additionalProperties": {"type": "object"}}),
            many_names.clone(),
        ),
        (branches.clone(), many_names),
        (branches.clone(), list("\"\",")),
        (branches, long_name.clone()),
        (forked.clone(), list("[[[]]],")),
        (forked.clone(), list("\"\",")),
        (forked.clone(), nested("[", "\"\"", "]")),
        (forked, long_name),
        (deep.clone(), nested("[", "\"\"", "]")),
        (deep, format!("{}{}{}", "[".repeat(50), list("\"\","), "]".repeat(50))),
        (json!({"contains": {"contains": {"const": 5}}, "maxContains": 1}), list("[1,2,5],")),
        (json!({"items": {"multipleOf": 0.000_000_1}}), list("1e308,")),
        (json!({"items": {"multipleOf": 0.000_000_1}}), list("9223372036854775807,")),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": {"format": "email"}}),
            list("\"a@b.c\","),
        ),
        (json!({"type": "array"}), nested("[[", "", "]]")),
    ];
    cases.into_iter().for_each(|(schema, answer)| check_delay(&schema, &answer));
}

#[test]
fn keywords_that_take_much_work_do_not_delay_a_schema() {
    let list = |piece: &str| format!("[{}0]", piece.repeat(1_000_000 / piece.len()));
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    let cases = [
        (json!({"allOf": vec![json!({"uniqueItems": true}); 100]}), equal_hashes(6400)),
        (json!({"pattern": "a[ab]{1000}c"}), json!(mixed(1_000_000)).to_string()),
        (json!({"pattern": "a[ab]{2000}c"}), json!(mixed(1_000_000)).to_string()),
        (
            json!({"$schema": draft_7, "allOf": vec![json!({"contentMediaType": "application/json"}); 4900]}),
            json!(format!("[{}1]", "1,".repeat(500_000))).to_string(),
        ),
        (
            json!({"$schema": draft_7, "items": {"allOf": vec![json!({"format": "hostname"}); 900]}}),
            list("\"xn--bcher-kva\","),
        ),
        (
            json!({"anyOf": vec![json!({"items": {"required": ["x".repeat(1_000_000)]}}); 2]}),
            format!("[{}{{}}]", "{},".repeat(1300)),
        ),
    ];
    cases.into_iter().for_each(|(schema, answer)| check_delay(&schema, &answer));
}

/// Checks an answer by a schema, in a short time of the processor.
#[track_caller]
fn check_delay(schema: &Value, answer: &str) {
    let start = Stopwatch::start();
    let start_of = |text: &str| text.chars().take(20).collect::<String>();
    let named = format!("{} {}", start_of(&schema.to_string()), start_of(answer));
    let keys = json!({"check": "json-schema", "schema": schema});
    let reply = new(keys, Path::new(".")).unwrap().check(&candidate(json!({"answer": answer})));
    assert!(matches!(reply.verdict, Verdict::Score(_)));
    assert!(start.used() < Duration::from_secs(3), "{named}");
}
