use serde_json::json;

use super::*;

fn candidate(fields: serde_json::Value) -> Candidate {
    Candidate::new("1".into(), fields.to_string())
}

#[track_caller]
fn check(source: &str, fields: serde_json::Value, expected: &str) {
    let rendered = Template::new(source).unwrap().render(&candidate(fields));
    assert_eq!(rendered.as_deref(), Ok(expected), "{source}");
}

#[test]
fn fields_are_names() {
    check("Q: {{ question }}", json!({"question": "2 + 2?"}), "Q: 2 + 2?");
    check("{{ a.b[1] }}", json!({"a": {"b": [1, 2]}}), "2");
    check("{{ candidate['the answer'] }}", json!({"the answer": 5}), "5");
    check("{% for x in xs %}{{ x }};{% endfor %}", json!({"xs": [1, 2]}), "1;2;");
    check("{% for i in range(3) %}{{ i }}{% endfor %}", json!({}), "012");
    check("{{ answer | tojson }}", json!({"answer": "say \"hi\""}), r#""say \"hi\"""#);
}

#[test]
fn fields_are_data_and_nothing_is_escaped() {
    check("{{ a }}", json!({"a": "{{ b }} <b> & {% raw %}"}), "{{ b }} <b> & {% raw %}");
}

#[test]
fn a_field_called_candidate_is_itself() {
    check("{{ candidate }}", json!({"candidate": "Ada"}), "Ada");
}

#[test]
fn needed_fields_are_known_beforehand() {
    let template =
        Template::new("{% set x = a %}{{ x }}{{ b.c }}{{ candidate.d }}{{ range(2) }}").unwrap();
    assert_eq!(template.fields(), ["a", "b"].map(String::from).into());
}

#[test]
fn a_missing_field_is_an_error_with_its_line() {
    let template = Template::new("line one\n{{ answer }}").unwrap();
    let Err(TemplateError::Render { line, .. }) = template.render(&candidate(json!({}))) else {
        panic!("there is no answer");
    };
    assert_eq!(line, 2);
}

#[test]
fn a_broken_template_is_an_error_with_its_line() {
    for (source, expected) in [("ok\n{{ answer", 2), ("{% if x %}", 1), ("\n\n{{ x | nope }}", 3)] {
        let error = match Template::new(source) {
            Err(error) => error,
            // Unknown filters show when they are used.
            Ok(template) => template.render(&candidate(json!({"x": 1}))).unwrap_err(),
        };
        let (TemplateError::Syntax { line, .. } | TemplateError::Render { line, .. }) = error
        else {
            panic!("{source:?}: {error}");
        };
        assert_eq!(line, expected, "{source:?}");
    }
}

#[test]
fn endless_templates_end() {
    let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    let error = Template::new(loops).unwrap().render(&candidate(json!({}))).unwrap_err();
    assert!(matches!(error, TemplateError::Render { .. }), "{error}");
    let long = "{% for a in range(9999) %}{{ text }}{% endfor %}";
    let text = "x".repeat(1000);
    let error = Template::new(long).unwrap().render(&candidate(json!({"text": text}))).unwrap_err();
    assert_eq!(error, TemplateError::TooLong);
}
