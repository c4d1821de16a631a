//! verifiers: traces with a graph of messages, or the older results with a prompt and a completion.

use serde_json::{Map, Value};

use super::{
    FAILED, Lacks, NO_TEXT, Tool, ToolAnswer, content_text, id_text, prompt_text, question_in,
    reply_text, scores_of,
};

pub(super) fn answers(
    tool: &mut Tool,
    entry: &Map<String, Value>,
) -> Result<Vec<ToolAnswer>, Lacks> {
    let get = |name: &str| entry.get(name).unwrap_or(&Value::Null);
    let has_errors = match get("errors") {
        Value::Array(errors) => !errors.is_empty(),
        _ => !get("error").is_null(),
    };
    if has_errors {
        return Ok(tool.leave_out(FAILED));
    }
    if get("is_completed") == false {
        return Ok(tool.leave_out("that are not finished"));
    }
    let answer = if entry.contains_key("nodes") { trace(entry)? } else { result(tool, entry)? };
    Ok(answer.map_or_else(|| tool.leave_out(NO_TEXT), |answer| vec![answer]))
}

fn trace(entry: &Map<String, Value>) -> Result<Option<ToolAnswer>, Lacks> {
    let get = |name: &str| entry.get(name).unwrap_or(&Value::Null);
    let id = id_text(entry.get("id")).ok_or("id")?;
    let nodes = get("nodes").as_array().ok_or("nodes")?;
    let said_by = |node: &Value, role: &str| {
        (node["message"]["role"] == role).then(|| content_text(&node["message"]["content"]))?
    };
    let data = &get("task")["data"];
    let first = || nodes.iter().find_map(|node| said_by(node, "user"));
    let last = || nodes.iter().rev().find_map(|node| said_by(node, "assistant"));
    let reply = get("root_reply").as_str().map(str::to_owned);
    Ok(reply.or_else(last).map(|answer| ToolAnswer {
        id,
        question: question_in(data).or_else(first),
        answer,
        more: vec![
            ("target", data["answer"].clone()),
            ("model", get("agent")["config"]["model"].clone()),
            ("task", get("task")["key"].clone()),
            ("scores", scores_of(get("rewards"), "score")),
            ("metadata", data.clone()),
        ],
    }))
}

fn result(tool: &mut Tool, entry: &Map<String, Value>) -> Result<Option<ToolAnswer>, Lacks> {
    let get = |name: &str| entry.get(name).unwrap_or(&Value::Null);
    let id = id_text(entry.get("example_id")).ok_or("nodes, and no example_id")?;
    let completion = entry.get("completion").ok_or("completion")?;
    let Some(answer) = reply_text(completion) else { return Ok(None) };
    Ok(Some(ToolAnswer {
        id: tool.repeated(id),
        question: prompt_text(get("prompt")),
        answer,
        more: vec![
            ("target", get("answer").clone()),
            ("task", get("task").clone()),
            ("reward", get("reward").clone()),
            ("metadata", get("info").clone()),
        ],
    }))
}
