//! What has changed between two texts of one job.

use serde_json::Value;

use goodarm_files::{GuaranteeName, toml_text};

use crate::job_file::{JobFile, TIMEOUT};

/// Every key that is not what it was and that a certificate may depend on; the budget is looked at
/// elsewhere.
pub fn of_job(before: &str, now: &str) -> Vec<String> {
    // A default that is written out means the same. What is no job file is compared as it is written.
    let [before, now] = match (in_full(before), in_full(now)) {
        (Some(before), Some(now)) => [before, now],
        _ => [before, now].map(|text| toml_text::parse(text).unwrap_or_default()),
    };
    let changes = of_values(&binding(before), &binding(now));
    changes.into_iter().map(|(path, before, now)| format!("  {path}: {before} → {now}")).collect()
}

/// Every place where two values differ: its path, and what is there in each.
pub(crate) fn of_values(before: &Value, now: &Value) -> Vec<(String, Value, Value)> {
    let mut changes = Vec::new();
    compare("", before, now, &mut changes);
    changes
}

/// A job file with the defaults of the keys that it does not have.
fn in_full(text: &str) -> Option<Value> {
    let mut file = toml_text::parse::<JobFile>(text).ok()?;
    file.guarantee.get_or_insert_with(|| GuaranteeName::natural(&file.policy));
    for verifier in &mut file.verifiers {
        let timeout = verifier.entry("timeout").or_insert_with(|| TIMEOUT.as_secs_f64().into());
        // 60 and 60.0 are one number.
        *timeout = timeout.as_f64().map_or_else(|| timeout.clone(), Value::from);
    }
    serde_json::to_value(&file).ok()
}

/// A job without what may change: the budget, the pace, and how it is written about.
fn binding(mut job: Value) -> Value {
    let take_out = |table: &mut Value, keys: &[&str]| {
        if let Some(table) = table.as_object_mut() {
            keys.iter().for_each(|key| drop(table.remove(*key)));
        }
    };
    take_out(&mut job, &["budget", "calls_max", "expect", "calls", "certified", "concurrency"]);
    let pace = ["concurrency", "rate", "patience"];
    for list in ["verifiers", "generators"] {
        let callers = job.get_mut(list).and_then(Value::as_array_mut);
        callers.into_iter().flatten().for_each(|caller| take_out(caller, &pace));
    }
    job.get_mut("generator").into_iter().for_each(|generator| take_out(generator, &pace));
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
}
