//! The JSON Schema of a job file.

use std::collections::BTreeSet;

use goodarm_record::job_file::{GeneratorKeys, JobFile, ServiceKeys, VERIFIER_KEYS};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::services::{ServiceKind, ServiceKinds};

/// The JSON Schema of a job file, with a variant for each of these kinds.
pub fn schema(kinds: &ServiceKinds) -> String {
    let mut generator = SchemaGenerator::default();
    let mut variants = |role: &str,
                        of: fn(&ServiceKind, &mut SchemaGenerator) -> Value,
                        kinds: Vec<&ServiceKind>| {
        let mut variant = |kind: &ServiceKind| {
            let name = format!("{} {role}", kind.name);
            let variant = of(kind, &mut generator);
            let reference = json!({ "$ref": format!("#/$defs/{}", name.replace(' ', "%20")) });
            generator.definitions_mut().insert(name, variant);
            reference
        };
        kinds.into_iter().map(&mut variant).collect::<Vec<Value>>()
    };
    let verifiers = variants("verifier", verifier_schema, kinds.iter().collect());
    let makers = kinds.iter().filter(|kind| kind.makes_answers).collect();
    let makers = variants("generator", generator_schema, makers);
    let mut schema = generator.into_root_schema_for::<JobFile>();
    if let Some(items) = schema.pointer_mut("/properties/verifiers/items") {
        *items = json!({ "oneOf": verifiers });
    }
    if let Some(items) = schema.pointer_mut("/properties/generators/items") {
        *items = json!({ "oneOf": makers });
    }
    if let Some(one) = schema.pointer_mut("/properties/generator") {
        *one = json!({ "oneOf": makers, "description": one["description"] });
    }
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}

/// The keys of every verifier and those of one kind, as one object.
fn verifier_schema(kind: &ServiceKind, generator: &mut SchemaGenerator) -> Value {
    let keys = ServiceKeys::json_schema(generator).to_value();
    joined_schema(keys, kind, &BTreeSet::new(), generator)
}

/// The keys of every generator and those of one kind, as one object.
fn generator_schema(kind: &ServiceKind, generator: &mut SchemaGenerator) -> Value {
    let mut keys = ServiceKeys::json_schema(generator).to_value();
    let mut own = GeneratorKeys::json_schema(generator).to_value();
    keys["required"] = json!(["kind"]);
    let mut known = BTreeSet::new();
    if let (Some(keys), Some(own)) =
        (keys["properties"].as_object_mut(), own["properties"].as_object_mut())
    {
        keys.retain(|key, _| !VERIFIER_KEYS.contains(&key.as_str()));
        keys.append(own);
        known.extend(keys.keys().cloned());
    }
    joined_schema(keys, kind, &known, generator)
}

/// Adds the keys of one kind, except those in `but`, to the schema of the keys that all services have.
fn joined_schema(
    mut schema: Value,
    kind: &ServiceKind,
    but: &BTreeSet<String>,
    generator: &mut SchemaGenerator,
) -> Value {
    let own = (kind.schema)(generator).to_value();
    for (key, value) in own["properties"].as_object().into_iter().flatten() {
        if !but.contains(key) {
            schema["properties"][key] = value.clone();
        }
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(own["required"].as_array().into_iter().flatten().cloned());
    }
    schema["properties"]["kind"]["const"] = kind.name.into();
    schema["description"] = own["description"].clone();
    schema
}
