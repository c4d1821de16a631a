//! Fields of answers that are not shown to people: above all the right answers, which would be compared and not judged.

use serde_json::{Map, Value};

/// Which fields are hidden: those with the name of a reference, unless they are to be shown, and others by name.
#[derive(Clone, Debug, Default)]
pub struct HiddenFields {
    /// Fields to hide, such as `model` or `meta.model`.
    pub hide: Vec<String>,
    /// Fields to show although they have the name of a reference.
    pub show: Vec<String>,
}

impl HiddenFields {
    fn hides(&self, path: &str) -> bool {
        let name = path.rsplit('.').next().unwrap_or(path).to_lowercase();
        let is_in = |paths: &[String]| paths.iter().any(|it| it == path);
        is_in(&self.hide) || (REFERENCES.contains(&name.as_str()) && !is_in(&self.show))
    }

    /// Takes the hidden fields out, nested ones too. Returns the paths of those that were there.
    pub(crate) fn take_out(&self, fields: &mut Vec<(String, Value)>) -> Vec<String> {
        let mut hidden = Vec::new();
        fields.retain_mut(|(name, value)| self.keeps(name, value, &mut hidden));
        hidden
    }

    fn keeps(&self, path: &str, value: &mut Value, hidden: &mut Vec<String>) -> bool {
        if self.hides(path) {
            hidden.push(path.to_owned());
            return false;
        }
        if let Value::Object(inner) = value {
            let all: Map<String, Value> = std::mem::take(inner);
            for (name, mut value) in all {
                if self.keeps(&format!("{path}.{name}"), &mut value, hidden) {
                    inner.insert(name, value);
                }
            }
        }
        true
    }
}

/// Names of fields that usually have the right answer.
const REFERENCES: [&str; 14] = [
    "gold",
    "gold_answer",
    "reference",
    "reference_answer",
    "target",
    "expected",
    "expected_answer",
    "label",
    "correct",
    "correct_answer",
    "right",
    "right_answer",
    "ground_truth",
    "truth",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_hidden_at_every_depth_unless_they_are_shown() {
        let all = || -> Vec<(String, Value)> {
            let fields = [
                ("question", json!("2 + 2?")),
                ("Gold", json!(4)),
                ("goldfish", json!("swims")),
                ("meta", json!({"model": "small", "target": 4, "more": {"label": 4}})),
            ];
            fields.map(|(name, value)| (name.to_owned(), value)).to_vec()
        };
        let of = |hide: &[&str], show: &[&str]| {
            let own = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
            let mut fields = all();
            let hidden = HiddenFields { hide: own(hide), show: own(show) }.take_out(&mut fields);
            (hidden, fields)
        };
        let (hidden, left) = of(&[], &[]);
        assert_eq!(hidden, ["Gold", "meta.more.label", "meta.target"]);
        assert_eq!(left.len(), 3);
        assert_eq!(left[2].1, json!({"model": "small", "more": {}}));
        let (hidden, left) = of(&["meta.model", "question"], &["Gold", "meta.target"]);
        assert_eq!(hidden, ["question", "meta.model", "meta.more.label"]);
        assert_eq!(left[2].1, json!({"target": 4, "more": {}}));
    }
}
