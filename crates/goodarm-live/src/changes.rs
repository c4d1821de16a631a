//! What has changed between two texts of one job.

use crate::toml_text;

/// Every key that is not what it was; the budget is looked at elsewhere.
pub(crate) fn of_job(before: &str, now: &str) -> Vec<String> {
    let read = |text: &str| toml_text::parse::<serde_json::Value>(text).unwrap_or_default();
    let mut changes = Vec::new();
    compare("", &read(before), &read(now), &mut changes);
    changes
}

fn compare(
    path: &str,
    before: &serde_json::Value,
    now: &serde_json::Value,
    changes: &mut Vec<String>,
) {
    use serde_json::Value;
    // How fast and how patiently calls are made changes no score; nor do words about the run.
    let key = path.rsplit(['.', ']']).next().unwrap_or(path);
    let is_pace = matches!(key, "concurrency" | "rate" | "patience");
    if is_pace || matches!(path, "budget" | "expect" | "calls") {
        return;
    }
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
        (before, now) if before != now => changes.push(format!("  {path}: {before} → {now}")),
        _ => {}
    }
}
