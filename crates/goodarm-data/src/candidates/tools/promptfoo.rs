//! promptfoo: a result for each test, prompt and provider, in one document or on lines.

use serde_json::{Map, Value};

use super::{FAILED, Lacks, Tool, ToolAnswer, prompt_text, question_in};

/// The results of a document; `None` if it is a result itself.
pub(super) fn results(document: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    match document.get_mut("results")? {
        Value::Array(list) => Some(list),
        results => results.get_mut("results")?.as_array_mut(),
    }
}

/// Whether an object holds results.
pub(in crate::candidates) fn is_document(object: &mut Map<String, Value>) -> bool {
    let is_result = |result: &Value| result["testIdx"].is_u64() && result["promptIdx"].is_u64();
    results(object).is_some_and(|list| list.first().is_some_and(is_result))
}

pub(super) fn answers(
    tool: &mut Tool,
    result: &Map<String, Value>,
) -> Result<Vec<ToolAnswer>, Lacks> {
    let get = |name: &str| result.get(name).unwrap_or(&Value::Null);
    let test = get("testIdx").as_u64().ok_or("testIdx")?;
    let prompt = get("promptIdx").as_u64().ok_or("promptIdx")?;
    let provider = match get("provider") {
        Value::String(id) => id.as_str(),
        provider => provider["label"]
            .as_str()
            .filter(|label| !label.is_empty())
            .unwrap_or_else(|| provider["id"].as_str().unwrap_or("provider")),
    };
    let response = get("response");
    let text = match &response["output"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    // A failed test also has an error, but its answer counts.
    let Some(text) = text.filter(|_| get("failureReason") != ERRORED) else {
        return Ok(tool.leave_out(FAILED));
    };
    let id = format!("{test}-{prompt}-{provider}");
    let hash = blake3::hash(format!("{id}\0{text}").as_bytes());
    let is_new = tool.seen.insert(hash);
    // The same answer from a cache is not another answer.
    if response["cached"] == true && !is_new {
        return Ok(tool.leave_out("repeated from a cache"));
    }
    let raw = &get("prompt")["raw"];
    Ok(vec![ToolAnswer {
        id: tool.repeated(id),
        question: question_in(get("vars")).or_else(|| prompt_text(raw)),
        answer: text,
        more: vec![
            ("model", provider.into()),
            ("prompt", raw.clone()),
            ("vars", get("vars").clone()),
            ("passed", get("success").clone()),
            ("score", get("score").clone()),
            ("scores", get("namedScores").clone()),
            ("metadata", get("testCase")["metadata"].clone()),
        ],
    }])
}

/// The `failureReason` of a test that ended with an error, and not because of its answer.
const ERRORED: u64 = 2;
