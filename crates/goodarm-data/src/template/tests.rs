use serde_json::json;

use super::*;
use crate::candidates::Candidates;

fn candidate(fields: serde_json::Value) -> Candidate {
    Candidate::new("1".into(), fields.to_string())
}

#[track_caller]
fn check(source: &str, fields: serde_json::Value, expected: &str) {
    let rendered = Template::new(source).unwrap().render(&candidate(fields));
    assert_eq!(rendered.as_deref(), Ok(expected), "{source}");
}

#[test]
fn fields_are_variables() {
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
fn a_field_named_candidate_hides_the_object() {
    check("{{ candidate }}", json!({"candidate": "Ada"}), "Ada");
}

#[test]
fn needed_fields_are_listed() {
    let template =
        Template::new("{% set x = a %}{{ x }}{{ b.c }}{{ candidate.d }}{{ range(2) }}").unwrap();
    assert_eq!(template.fields(), ["a", "b"].map(String::from).into());
}

#[test]
fn a_missing_field_is_an_error_with_its_line() {
    let template = Template::new("line one\n{{ answer }}").unwrap();
    let Err(TemplateError::Unknown(line, _)) = template.render(&candidate(json!({}))) else {
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
        let (TemplateError::Wrong(line, _) | TemplateError::Unknown(line, _)) = error else {
            panic!("{source:?}: {error}");
        };
        assert_eq!(line, expected, "{source:?}");
    }
}

#[test]
fn endless_templates_are_stopped() {
    let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    let error = Template::new(loops).unwrap().render(&candidate(json!({}))).unwrap_err();
    assert!(matches!(error, TemplateError::Wrong(..)), "{error}");
    let long = "{% for a in range(9999) %}{{ text }}{% endfor %}";
    let text = "x".repeat(1000);
    let error = Template::new(long).unwrap().render(&candidate(json!({"text": text}))).unwrap_err();
    assert_eq!(error, TemplateError::TooLong);
}

#[test]
fn replacing_has_a_limit() {
    check("{{ a|replace('b', 'xy') }}", json!({"a": "abb"}), "axyxy");
    check("{{ a|replace('', '-') }}", json!({"a": "ab"}), "-a-b-");
    let template = Template::new("{{ (a|replace('x', a))|length }}").unwrap();
    let long = candidate(json!({"a": "x".repeat(200_000)}));
    let error = template.render(&long).unwrap_err().to_string();
    assert!(error.contains("replace makes a text of more than 4194304 bytes"), "{error}");
}

#[test]
fn missing_nested_fields_are_found_before_the_run() {
    let lines = [
        r#"{"id": "a", "doc": {"question": "?", "gold": 1}, "turns": [{"text": "x"}]}"#,
        r#"{"id": "b", "doc": {"question": "!"}, "turns": [{"txt": "x"}]}"#,
        r#"{"id": "c"}"#,
    ];
    let candidates = Candidates::from_lines(lines, "id").unwrap();
    let missing_field_problem = |source: &str| {
        let problem = Template::new(source).unwrap().missing_field_problem("prompt", &candidates);
        problem.map_or_else(String::new, |problem| problem.message)
    };
    for fine in [
        "{{ doc.question }}",
        "{% if doc.gold is defined %}{{ doc.gold }}{% endif %}",
        "{{ doc['question'] }}",
        "{{ answer }}",
    ] {
        assert_eq!(missing_field_problem(fine), "", "{fine}");
    }
    assert_eq!(
        missing_field_problem("{{ doc.qestion }}"),
        "uses the field \"doc.qestion\", which candidate \"a\" lacks; did you mean \"doc.question\"?"
    );
    let whole = missing_field_problem("{{ candidate.doc.question }}");
    assert!(whole.contains("\"candidate.doc\", which candidate \"c\" lacks"), "{whole}");
    let some = missing_field_problem("{{ doc.question }}{{ doc.gold }}");
    assert!(some.contains("\"doc.gold\", which candidate \"b\" lacks"), "{some}");
    assert!(
        missing_field_problem("{{ doc.question.x }}")
            .contains("\"doc.question.x\", which candidate")
    );
    let in_loop = missing_field_problem("{% for turn in turns %}\n{{ turn.text }}{% endfor %}");
    assert!(in_loop.starts_with("line 2 of the template: undefined value"), "{in_loop}");
    let asked = "{{ 'doc.gold' if doc.gold is defined }}\n{{ turns[0].text }}";
    assert!(
        missing_field_problem(asked).starts_with("line 2 of the template"),
        "{}",
        missing_field_problem(asked)
    );
    assert!(missing_field_problem("{{ doc | nope }}").contains("nope"));
}

#[test]
fn a_template_without_fields_is_a_problem() {
    let suspicion = |source: &str| Template::new(source).unwrap().constant_text_problem();
    assert_eq!(suspicion("{{ answer }} {question}"), None);
    assert_eq!(suspicion("{{ candidate }}"), None);
    assert!(suspicion("Is it right?").unwrap().contains("uses no field"));
    let braces = suspicion("Is { answer } right?").unwrap();
    assert!(braces.contains("{answer} is plain text: a field is written {{ answer }}"), "{braces}");
}
