use serde_json::json;

use super::*;

fn validator(schema: &Value) -> jsonschema::Validator<CountedJson> {
    jsonschema::options_for::<CountedJson>().build(schema).unwrap()
}

/// Schemas that look at values in all the ways that there are.
fn schemas() -> Vec<Value> {
    let tree = json!({"$ref": "#/$defs/tree"});
    vec![
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}),
        json!({"type": "array", "items": {"type": ["string", "null"], "minLength": 1}, "minItems": 2}),
        json!({"prefixItems": [{"const": 1}, {"enum": ["x", [1]]}], "items": false}),
        json!({"patternProperties": {"^a": {"minimum": 0}}, "additionalProperties": {"maxItems": 2}}),
        json!({"propertyNames": {"pattern": "^[a-z]$"}, "minProperties": 1, "maxProperties": 3}),
        json!({"contains": {"type": "array"}, "minContains": 1, "maxContains": 2, "uniqueItems": true}),
        json!({"if": {"type": "object"}, "then": {"required": ["b"]}, "else": {"not": {"type": "string"}}}),
        json!({"unevaluatedProperties": false, "anyOf": [{"properties": {"a": true}}, {"required": ["b"]}]}),
        json!({"unevaluatedItems": {"type": "array"}, "prefixItems": [true]}),
        json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"maxProperties": 1}}}),
        json!({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}, {"format": "date"}]}),
        json!({"$defs": {"tree": {"oneOf": [
            {"type": "array", "items": tree},
            {"type": "object", "additionalProperties": tree},
            {"allOf": [{"type": "number"}, {"not": {"const": 3}}]},
        ]}}, "$ref": "#/$defs/tree"}),
    ]
}

fn instances() -> Vec<Value> {
    vec![
        json!(null),
        json!(6),
        json!("x"),
        json!({"a": 1}),
        json!({"a": -1, "b": [1, 2, 3]}),
        json!({"b": {"a": {"b": [[], [[]], {}]}}, "C": "d"}),
        json!([1, "x", [1], [1]]),
        json!([[1, [2, [4, {"a": 5}]]], {"b": [3]}]),
        json!(["", null, "é"]),
    ]
}

#[test]
fn with_enough_steps_the_result_is_that_of_the_plain_validator() {
    for schema in schemas() {
        let (plain, counted) = (jsonschema::validator_for(&schema).unwrap(), validator(&schema));
        for instance in instances() {
            let counter = Counter::new(100_000, Prices::default());
            let node = Counted::new(&instance, &counter);
            let error = |it: jsonschema::ValidationError<'_>| {
                (it.instance_path().to_string(), it.to_string())
            };
            assert_eq!(
                counted.is_valid(node.clone()),
                plain.is_valid(&instance),
                "{schema} {instance}"
            );
            assert_eq!(
                counted.validate(node).map_err(error),
                plain.validate(&instance).map_err(error),
                "{schema} {instance}"
            );
            assert_eq!(counter.limit(), None);
        }
    }
}

#[test]
fn the_end_of_the_steps_is_reported_wherever_it_comes() {
    for schema in schemas() {
        let validator = validator(&schema);
        for instance in instances() {
            for steps in 0.. {
                let counter = Counter::new(steps, Prices::default());
                let node = Counted::new(&instance, &counter);
                let _ = validator.is_valid(node.clone());
                if counter.limit().is_none() {
                    break;
                }
                assert_eq!(counter.limit(), Some(Limit::Steps));
                drop(validator.validate(node));
            }
        }
    }
}

#[test]
fn equal_values_have_the_same_canonical_text() {
    let values = [
        json!(1),
        json!(1.0),
        json!(-0.0),
        json!(0),
        json!(1.5),
        json!(u64::MAX),
        json!(18_446_744_073_709_551_616.0),
        json!(1e300),
        json!("1"),
        json!(null),
        json!([]),
        json!([[]]),
        json!([1, [2]]),
        json!([[1.0], 2]),
        json!({"a": 1, "b": [2]}),
        json!({"b": [2.0], "a": 1.0}),
        json!({"a": [1], "b": 2}),
        json!({}),
    ];
    for left in &values {
        for right in &values {
            let written = [left, right].map(|value| {
                let mut text = String::new();
                write_alike(value, &mut text);
                text
            });
            assert_eq!(written[0] == written[1], cmp::equal(left, right), "{left} {right}");
        }
    }
}
