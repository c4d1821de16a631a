//! Differences between two texts of one job.

use serde_json::{Map, Value, json};

use goodarm_files::{GuaranteeName, toml_text};

use crate::job_file::{JobFile, TIMEOUT};

/// A line for each changed key that a certificate may depend on; the budget is compared elsewhere.
pub fn of_job(before: &str, now: &str) -> Vec<String> {
    // A default that is written out is not a change. Texts that are not job files are compared as they are.
    let [before, now] = match (in_full(before), in_full(now)) {
        (Some(before), Some(now)) => [before, now],
        _ => [before, now].map(|text| toml_text::parse(text).unwrap_or_default()),
    };
    let changes = of_values(&binding(before), &binding(now));
    changes.into_iter().map(|(path, before, now)| format!("  {path}: {before} → {now}")).collect()
}

/// Every place where two values differ: its path, and both values.
pub(crate) fn of_values(before: &Value, now: &Value) -> Vec<(String, Value, Value)> {
    let mut changes = Vec::new();
    compare("", before, now, &mut changes);
    changes
}

/// A job file with defaults for the keys that it does not have; `None` if the text is not a job file.
fn in_full(text: &str) -> Option<Value> {
    let mut file = toml_text::parse::<JobFile>(text).ok()?;
    file.guarantee.get_or_insert_with(|| GuaranteeName::natural(&file.policy));
    file.question_field.get_or_insert_with(|| "question_id".to_owned());
    file.answer_field.get_or_insert_with(|| "answer".to_owned());
    for verifier in &mut file.verifiers {
        fill_in(verifier, &verifier_defaults(kind_of(verifier)));
    }
    let generators = file.generators.iter_mut().flatten();
    for generator in generators.chain(file.generator.as_mut()) {
        fill_in(generator, &generator_defaults(kind_of(generator)));
    }
    serde_json::to_value(&file).ok()
}

fn kind_of(table: &Map<String, Value>) -> &str {
    table.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// Adds defaults for the keys that a table does not have, and makes 60 and 60.0 the same number. Only `parameters`
/// keep their spelling, because they are sent as they are written.
fn fill_in(table: &mut Map<String, Value>, defaults: &Value) {
    for (key, default) in defaults.as_object().into_iter().flatten() {
        table.entry(key.as_str()).or_insert_with(|| default.clone());
    }
    for (key, value) in table {
        match value {
            Value::Object(prices) if key == "metered" => prices.values_mut().for_each(as_float),
            Value::Array(range) if key == "range" => range.iter_mut().for_each(as_float),
            value => as_float(value),
        }
    }
}

fn as_float(value: &mut Value) {
    if let Some(number) = value.as_f64() {
        *value = number.into();
    }
}

/// Default values of the keys of a verifier of this kind.
fn verifier_defaults(kind: &str) -> Value {
    let mut defaults = match kind {
        "check" => json!({ "threshold": 0.5, "field": "answer", "extract": "last-number" }),
        "http" => json!({ "pointer": "/score" }),
        "llm" => json!({
            "role": "judge", "parse": "yes-no", "range": [0, 1], "verdict": "first", "votes": 1,
            "field": "answer", "extract": "last-number",
        }),
        "pool" => json!({ "field": "answer", "extract": "whole" }),
        _ => json!({}),
    };
    add_common(kind, &mut defaults);
    defaults
}

/// Default values of the keys of a generator of this kind.
fn generator_defaults(kind: &str) -> Value {
    let mut defaults = json!({ "name": "generator", "candidates_max": 8, "vote": false });
    if kind == "http" {
        defaults["answer"] = "/answer".into();
    }
    add_common(kind, &mut defaults);
    defaults
}

/// Defaults that verifiers and generators share.
fn add_common(kind: &str, defaults: &mut Value) {
    defaults["timeout"] = TIMEOUT.as_secs_f64().into();
    match kind {
        "command" => defaults["worker"] = false.into(),
        "human" => {
            defaults["cards_max"] = 20.into();
            defaults["same_person"] = false.into();
        }
        "llm" => {
            defaults["api"] = "openai".into();
            defaults["temperature"] = 1.into();
        }
        "pool" | "replay" => defaults["draws"] = "with-replacement".into(),
        _ => {}
    }
}

/// A job without the keys that may change: budget, pace, expectations and outputs.
fn binding(mut job: Value) -> Value {
    let take_out = |table: &mut Value, keys: &[&str]| {
        if let Some(table) = table.as_object_mut() {
            keys.iter().for_each(|key| drop(table.remove(*key)));
        }
    };
    take_out(&mut job, &["budget", "calls_max", "expect", "calls", "certified", "concurrency"]);
    let loosen = |caller: &mut Value| {
        take_out(caller, &["concurrency", "rate", "patience"]);
        caller.get_mut("metered").into_iter().for_each(|it| take_out(it, &["expected"]));
    };
    for list in ["verifiers", "generators"] {
        let callers = job.get_mut(list).and_then(Value::as_array_mut);
        callers.into_iter().flatten().for_each(loosen);
    }
    job.get_mut("generator").into_iter().for_each(loosen);
    job
}

fn compare(path: &str, before: &Value, now: &Value, changes: &mut Vec<(String, Value, Value)>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let keys: std::collections::BTreeSet<&String> =
                before.keys().chain(now.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or_default()
                };
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&path, &of(before), &of(now), changes);
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                let name = before["name"].as_str().map_or_else(|| index.to_string(), str::to_owned);
                compare(&format!("{path}[{name}]"), before, now, changes);
            }
        }
        (before, now) if before != now => {
            changes.push((path.to_owned(), before.clone(), now.clone()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "budget = 1\nconcurrency = 2\n[[verifiers]]\nname = \"a\"\nrate = 3\n\
        schema = { properties = { rate = { type = \"number\" } } }\n";

    #[track_caller]
    fn check(from: &str, to: &str, expected: &[&str]) {
        let now = JOB.replacen(from, to, 1);
        assert_ne!(now, JOB);
        assert_eq!(of_job(JOB, &now), expected, "{from} → {to}");
    }

    #[test]
    fn the_pace_may_change_and_nothing_that_only_has_its_name() {
        check("budget = 1", "budget = 2", &[]);
        check("concurrency = 2", "", &[]);
        check("budget = 1", "budget = 1\ncalls_max = 9", &[]);
        check("rate = 3", "rate = 9\npatience = 1", &[]);
        check(
            "number",
            "string",
            &["  verifiers[a].schema.properties.rate.type: \"number\" → \"string\""],
        );
        check(
            "rate = 3",
            "rate = 3\nurls = [\"http://a\"]",
            &["  verifiers[a].urls: null → [\"http://a\"]"],
        );
        check("name = \"a\"", "name = \"b\"", &["  verifiers[a].name: \"a\" → \"b\""]);
    }

    #[test]
    fn an_expected_bill_may_change_and_a_price_may_not() {
        let job = "budget = 1\n[[verifiers]]\nname = \"a\"\nmetered = { input = 1 }\n";
        let now = job.replace("input = 1", "input = 1, expected = 9");
        assert_eq!(of_job(job, &now), [""; 0]);
        assert_eq!(of_job(job, &job.replace("input = 1", "input = 2")).len(), 1);
    }

    #[test]
    fn a_default_that_is_written_out_is_no_change() {
        let short = "candidates = \"a.jsonl\"\nbudget = 1\ndelta = 0.1\n[[verifiers]]\nname = \"a\"\nkind = \"check\"\n";
        let keys = [
            ("output = \"run\"", "output = \"other\""),
            ("seed = 0", "seed = 1"),
            ("unit = \"calls\"", "unit = \"tokens\""),
            ("policy = \"rcb\"", "policy = \"uniform\""),
            ("guarantee = \"lent\"", "guarantee = \"holm\""),
            ("id_field = \"id\"", "id_field = \"name\""),
            ("stop_when_hopeless = true", "stop_when_hopeless = false"),
        ];
        for (default, other) in keys {
            assert!(of_job(short, &format!("{default}\n{short}")).is_empty(), "{default}");
            assert!(of_job(&format!("{default}\n{short}"), short).is_empty(), "{default}");
            assert!(!of_job(short, &format!("{other}\n{short}")).is_empty(), "{other}");
        }
        for default in ["timeout = 60", "timeout = 60.0"] {
            assert!(of_job(short, &format!("{short}{default}\n")).is_empty(), "{default}");
        }
        assert!(!of_job(short, &format!("{short}timeout = 61\n")).is_empty());
    }

    /// A table of this kind with a key that says the default, and with one that says another.
    #[track_caller]
    fn check_table(header: &str, kind: &str, default: &str, other: &str) {
        let job = format!(
            "questions = \"a.jsonl\"\nbudget = 1\ndelta = 0.1\n{header}\nkind = \"{kind}\"\n"
        );
        let written = format!("{job}{default}\n");
        assert!(of_job(&job, &written).is_empty(), "{header} {kind}: {default}");
        assert!(of_job(&written, &job).is_empty(), "{header} {kind}: {default}");
        assert!(!of_job(&job, &format!("{job}{other}\n")).is_empty(), "{header} {kind}: {other}");
    }

    #[test]
    fn a_default_of_a_generator_that_is_written_out_is_no_change() {
        for header in ["[generator]", "[[generators]]"] {
            for kind in ["llm", "command", "http", "human", "pool"] {
                check_table(header, kind, "timeout = 60", "timeout = 61");
                check_table(header, kind, "timeout = 60.0", "timeout = 60.5");
                check_table(header, kind, "name = \"generator\"", "name = \"other\"");
                check_table(header, kind, "candidates_max = 8", "candidates_max = 9");
                check_table(header, kind, "vote = false", "vote = true");
            }
            check_table(header, "llm", "temperature = 1", "temperature = 0.5");
            check_table(header, "http", "answer = \"/answer\"", "answer = \"/text\"");
            check_table(header, "human", "cards_max = 20", "cards_max = 21");
        }
    }

    #[test]
    fn a_default_of_a_kind_that_is_written_out_is_no_change() {
        let checks = [
            ("check", "threshold = 0.5", "threshold = 0.6"),
            ("check", "field = \"answer\"", "field = \"text\""),
            ("check", "extract = \"last-number\"", "extract = \"boxed\""),
            ("http", "pointer = \"/score\"", "pointer = \"/result\""),
            ("command", "worker = false", "worker = true"),
            ("human", "same_person = false", "same_person = true"),
            ("llm", "api = \"openai\"", "api = \"anthropic\""),
            ("llm", "role = \"judge\"", "role = \"solver\""),
            ("llm", "temperature = 1.0", "temperature = \"default\""),
            ("llm", "parse = \"yes-no\"", "parse = \"number\""),
            ("llm", "range = [0, 1]", "range = [0, 10]"),
            ("llm", "verdict = \"first\"", "verdict = \"last\""),
            ("llm", "votes = 1", "votes = 3"),
            ("pool", "extract = \"whole\"", "extract = \"boxed\""),
            ("replay", "draws = \"with-replacement\"", "draws = \"in-order\""),
        ];
        for (kind, default, other) in checks {
            check_table("[[verifiers]]\nname = \"a\"", kind, default, other);
        }
        let asked = |keys: &str| format!("{keys}\nbudget = 1\ndelta = 0.1\n");
        let written = asked("question_field = \"question_id\"\nanswer_field = \"answer\"");
        assert!(of_job(&asked(""), &written).is_empty());
        assert!(!of_job(&asked(""), &asked("answer_field = \"text\"")).is_empty());
    }

    #[test]
    fn a_price_may_be_written_with_a_point_and_a_parameter_of_a_request_may_not() {
        let header = "[[verifiers]]\nname = \"a\"\nprice = 2\nparameters = { top_k = 5 }";
        let job = format!("budget = 1\ndelta = 0.1\n{header}\nkind = \"llm\"\n");
        assert!(of_job(&job, &job.replace("price = 2", "price = 2.0")).is_empty());
        assert!(!of_job(&job, &job.replace("top_k = 5", "top_k = 5.0")).is_empty());
    }
}
