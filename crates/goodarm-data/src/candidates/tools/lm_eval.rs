//! lm-evaluation-harness: a line for each question and filter. All filters use the same responses, so one
//! is read.

use serde_json::{Map, Value};

use super::{Lacks, NO_TEXT, Tool, ToolAnswer, id_text, numbered, question_in};

pub(super) fn answers(
    tool: &mut Tool,
    sample: &Map<String, Value>,
) -> Result<Vec<ToolAnswer>, Lacks> {
    let get = |name: &str| sample.get(name).unwrap_or(&Value::Null);
    let id = id_text(sample.get("doc_id")).ok_or("doc_id")?;
    let responses = get("resps").as_array().ok_or("resps")?;
    let filter = get("filter").as_str().unwrap_or("none");
    let first = tool.filter.get_or_insert_with(|| filter.to_owned());
    if first != filter {
        let reason = format!("of other filters than {first:?}");
        return Ok(tool.leave_out(reason));
    }
    // One list for each request; only generating requests have texts in it.
    let texts: Vec<&str> = match &responses[..] {
        [Value::Array(repeats)] => repeats.iter().filter_map(Value::as_str).collect(),
        flat => flat.iter().filter_map(Value::as_str).collect(),
    };
    if texts.is_empty() {
        return Ok(tool.leave_out(NO_TEXT));
    }
    let question = question_in(get("doc")).or_else(|| prompt(get("arguments")));
    let filtered = get("filtered_resps").as_array().map_or(&[][..], Vec::as_slice);
    let scores = get("metrics").as_array().into_iter().flatten().filter_map(|name| {
        let name = name.as_str()?;
        Some((name.to_owned(), sample.get(name)?.clone()))
    });
    // Scores are about the question; they belong to an answer only if it is the only one.
    let scores = Value::from(if texts.len() == 1 { scores.collect() } else { Map::new() });
    let is_one_each = filtered.len() == texts.len();
    let answer = |(number, text): (usize, &str)| ToolAnswer {
        id: numbered(id.clone(), number as u64 + 1),
        question: question.clone(),
        answer: text.to_owned(),
        more: vec![
            ("target", get("target").clone()),
            ("filtered", if is_one_each { filtered[number].clone() } else { Value::Null }),
            ("scores", scores.clone()),
            ("doc", get("doc").clone()),
        ],
    };
    Ok(texts.into_iter().enumerate().map(answer).collect())
}

/// The prompt: by name in newer files, in a list in older ones.
fn prompt(arguments: &Value) -> Option<String> {
    let named = arguments["gen_args_0"]["arg_0"].as_str();
    named.or(arguments[0][0].as_str()).map(str::to_owned)
}
