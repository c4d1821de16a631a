//! Templates, and the fields that they are filled with.

use goodarm_data::candidates::Candidate;
use goodarm_data::template::{TEXT_BYTES_MAX, Template};

use crate::halves;

/// The bytes are a template, a line of three dashes, and a candidate's object. The text of a field is never read as a
/// template.
pub(crate) fn render(bytes: &[u8]) {
    let Some((source, fields)) = halves(bytes) else { return };
    let fields = if fields.is_empty() { FIELDS } else { fields };
    let candidate = Candidate::new("id".into(), fields.into());
    if let Some(answer) = candidate.fields().get("answer").and_then(|answer| answer.as_str())
        && answer.len() <= TEXT_BYTES_MAX
    {
        let plain = Template::new("{{ answer }}").expect("a template of ours");
        assert_eq!(plain.render(&candidate).as_deref(), Ok(answer));
    }
    let Ok(template) = Template::new(source) else { return };
    let _ = template.fields();
    match template.render(&candidate) {
        Ok(text) => assert!(text.len() <= TEXT_BYTES_MAX),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

const FIELDS: &str = r#"{"id": 7, "question": "2+2?", "answer": "{{ question }} {% raw %}", "list": [1, [2, {"a": null}]],
"text": "\u0000é\n", "number": 1e308, "yes": true, "none": null, "map": {"a": {"b": {"c": [0.1]}}}}"#;
