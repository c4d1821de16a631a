//! Results of a batch of requests, in the format of OpenAI and vLLM. The questions are only in the file of
//! requests.

use serde_json::{Map, Value};

use super::{FAILED, Lacks, NO_TEXT, Tool, ToolAnswer, content_text, id_text, numbered};

pub(super) fn answers(
    tool: &mut Tool,
    line: &Map<String, Value>,
) -> Result<Vec<ToolAnswer>, Lacks> {
    let id = id_text(line.get("custom_id")).ok_or("custom_id")?;
    let response = line.get("response").ok_or("response")?;
    let status = response["status_code"].as_u64().unwrap_or(200);
    let failed = line.get("error").is_some_and(|error| !error.is_null()) || status >= 400;
    if failed || response.is_null() {
        return Ok(tool.leave_out(FAILED));
    }
    let body = &response["body"];
    let texts = texts_of(body);
    if texts.is_empty() {
        return Ok(tool.leave_out(NO_TEXT));
    }
    let answer = |(number, (text, ending)): (u64, (String, Value))| ToolAnswer {
        id: numbered(id.clone(), number),
        question: None,
        answer: text,
        more: vec![("model", body["model"].clone()), ("finish_reason", ending)],
    };
    Ok((1..).zip(texts).map(answer).collect())
}

/// The texts of a chat, completions or responses reply, and why each ended.
fn texts_of(body: &Value) -> Vec<(String, Value)> {
    if let Some(choices) = body["choices"].as_array() {
        let text = |choice: &Value| {
            let text = content_text(&choice["message"]["content"]);
            let text = text.or_else(|| choice["text"].as_str().map(str::to_owned))?;
            Some((text, choice["finish_reason"].clone()))
        };
        return choices.iter().filter_map(text).collect();
    }
    let messages = body["output"].as_array().into_iter().flatten();
    let texts = messages.filter(|item| item["type"] == "message");
    let texts: Vec<String> = texts.filter_map(|item| content_text(&item["content"])).collect();
    if texts.is_empty() { Vec::new() } else { vec![(texts.concat(), body["status"].clone())] }
}
