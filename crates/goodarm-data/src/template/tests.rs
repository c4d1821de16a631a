use std::time::Duration;

use goodarm_testing::Stopwatch;
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
fn a_field_that_is_only_sliced_is_needed() {
    check("{{ answer[:2] }}", json!({"answer": "abc"}), "ab");
    check("{{ doc.text[n:][:1] }}", json!({"doc": {"text": "abc"}, "n": 1}), "b");
    let template = Template::new("{% set x = a %}{{ x[1:] }}{{ b.c[:n] }}").unwrap();
    assert_eq!(template.fields(), ["a", "b", "n"].map(String::from).into());
    assert_eq!(template.constant_text_problem(), None);
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
    assert!(error.contains("replace makes a value of more than 4194304 bytes"), "{error}");
}

/// What a hostile candidate, or a hostile template, makes on its way is limited: processor time here, memory by the
/// corpus of the fuzzer.
#[test]
fn no_value_on_the_way_grows_without_limit() {
    let text = "x".repeat(200_000);
    let many: Vec<u8> = vec![0; 200_000];
    let mut deep = json!(many);
    for _ in 0..120 {
        deep = json!([deep]);
    }
    let fields = json!({
        "text": text, "many": many, "deep": deep, "n": 1_000_000_000_000_u64, "m": 99_999_999,
        "lines": "\n".repeat(200_000), "width": "%999999999999d", "fields": "%(a)s".repeat(40_000),
        "words": vec!["word"; 100_000],
    });
    let hostile = candidate(fields);
    for source in [
        "{{ many|join(text)|length }}",
        "{{ many|join(d=text)|length }}",
        "{{ text|join(text)|length }}",
        "{{ words|select|join(text)|length }}",
        "{{ text|replace('x', text)|length }}",
        "{{ text|replace('', text)|length }}",
        "{{ lines|indent(m, true, true)|length }}",
        "{{ lines|indent(width=n, blank=true)|length }}",
        "{{ text|indent(n)|length }}",
        "{{ width|format(1)|length }}",
        "{{ '%*d'|format(n, 1)|length }}",
        "{{ fields|format(a=text)|length }}",
        "{{ many|batch(n, 0)|length }}",
        "{{ many|slice(n)|length }}",
        "{{ deep|tojson(indent=2)|length }}",
        "{{ many|tojson(n)|length }}",
        "{{ deep|pprint|length }}",
        "{{ (many * 400)|list|length }}",
        "{{ (many * 400)|sort|length }}",
        "{{ words|sum(start=text)|length }}",
        "{{ (words * 40)|map('replace', '', text)|list|length }}",
        "{{ range(100000)|map('string')|map('indent', 4000000, true)|list|length }}",
        "{% set x %}{{ many * 400 }}{% endset %}{{ x|length }}",
        "{% set x %}{% for i in many %}{{ text }}{% endfor %}{% endset %}{{ x|length }}",
        "{% filter upper %}{% for i in many %}{{ text }}{% endfor %}{% endfilter %}",
        "{% set ns = namespace(t='') %}{% for i in many %}{% set ns.t = ns.t ~ text %}{% endfor %}{{ ns.t|length }}",
        "{% set ns = namespace(t='') %}{% for i in words %}{%- set ns.t = ns.t + i -%}{% endfor %}{{ ns.t|length }}",
        "{% set ns = namespace(t=[0]) %}{% for i in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}{{ ns.t|list }}",
        "{% set ns = namespace(t=[0]) %}{% for i in range(99) %}{% set ns.t = ns.t|chain(ns.t) %}{% endfor %}{{ ns.t }}",
        "{% set ns = namespace(t=[0]) %}{% for i in range(99) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.t }}",
        "{% for i in words %}{% if i in text %}{% endif %}{% endfor %}",
        "{% for i in many recursive %}{{ loop([i, i]) }}{% endfor %}",
        "{{ range(2147483647, -2147483647, -1)|length }}",
        "{{ range(n, -n, -n)|length }}",
        "{{ text * n }}",
        "{{ debug() }}",
    ] {
        let start = Stopwatch::start();
        let error = Template::new(source).unwrap().render(&hostile).expect_err(source);
        let used = start.used();
        assert!(!error.to_string().is_empty() && used < SLOW, "{source}: {used:?}: {error}");
    }
    let doubled =
        format!("{{% set x = text %}}{}{{{{ x|length }}}}", "{% set x = x ~ x %}".repeat(40));
    assert!(Template::new(&doubled).unwrap().render(&hostile).is_err());
}

/// minijinja is not optimised in tests.
const SLOW: Duration = Duration::from_secs(10);

/// Numbers that nobody expected make minijinja panic where overflows are checked.
#[test]
fn a_panic_of_the_engine_is_an_error() {
    let fields =
        || candidate(json!({"answer": "abc", "from": 0, "to": 9_223_372_036_854_775_807_u64}));
    for source in ["{{ answer[from:to:-1] }}", "{{ answer[to:0:-1] }}", "{{ answer[:to:to] }}"] {
        let rendered = Template::new(source).unwrap().render(&fields());
        assert!(rendered.map_or(true, |text| text.len() <= 3), "{source}");
    }
}

#[test]
fn long_answers_are_rendered() {
    let lines = (0..20_000).map(|line| format!("line {line} of a long answer"));
    let lines: Vec<String> = lines.collect();
    let text = candidate(json!({"answer": lines.join("\n")}));
    let list = candidate(json!({"lines": lines}));
    let count = "{% set ns = namespace(count=0) %}{% for line in lines %}\
                 {% set ns.count = ns.count + 1 %}{% endfor %}{{ ns.count }}";
    for (source, long) in [
        ("{{ answer|trim|replace('line', 'LINE')|indent(4) }}", &text),
        ("{% for line in answer|lines %}{{ loop.index }}: {{ line|trim }}\n{% endfor %}", &text),
        ("{% set short = answer[:2000] ~ '…' %}{{ short }}", &text),
        ("{{ lines|join('\n- ') }}", &list),
        ("{{ lines|tojson(indent=2) }}", &list),
        (count, &list),
    ] {
        let rendered = Template::new(source).unwrap().render(long);
        assert!(rendered.as_ref().is_ok_and(|text| !text.is_empty()), "{source}: {rendered:?}");
    }
}

#[test]
fn assignments_keep_their_meaning() {
    let fields = || json!({"a": "A", "xs": [1, 2]});
    for (source, expected) in [
        ("{% set x = a %}{{ x }}", "A"),
        ("-{%- set x = a -%} {{ x }}", "-A"),
        ("{% set x='=' ~ \"%}\" %}{{ x }}", "=%}"),
        ("{% set x, y = xs %}{{ y }}", "2"),
        ("{% set x = 1, 2 %}{{ x|length }}", "2"),
        ("{% set x = 'it\\'s' %}{{ x }}", "it's"),
        ("{% set x = a if a == 'A' else 'B' %}{{ x }}", "A"),
        ("{% set x = b if b is defined %}{{ x }}", ""),
        ("{% set x = none %}{{ x }}", ""),
        ("{% set x %}{{ a }}={% endset %}{{ x }}", "A="),
        ("{% set x | replace('A', '=') %}{{ a }}{% endset %}{{ x }}", "="),
        ("{% set x | indent(width=1, first=true) %}b{% endset %}{{ x }}", " b"),
        ("{% raw %}{% set x = 1 %}{% endraw %}{{ a }}", "{% set x = 1 %}A"),
        ("{# {% set x = 1 %} #}{{ '{% set x = 1 %}' }}", "{% set x = 1 %}"),
        ("{% set ns = namespace(n=1) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}", "2"),
        ("{% set y %}{% for x in xs -%} {{ x }} {%- endfor %}{% endset %}{{ y }}", "12"),
        ("{% set y %}{% for x in xs %} {{ x }}{% endfor %}{% endset %}{{ y }}", " 1 2"),
        ("{% set f = range %}{{ f(2)|list }}", "[0, 1]"),
    ] {
        check(source, fields(), expected);
    }
    let nothing = Template::new("{% set x = %}").unwrap_err();
    assert!(matches!(nothing, TemplateError::Wrong(1, _)), "{nothing}");
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
