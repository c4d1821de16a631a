//! inspect_ai: samples with an epoch each, in an archive or in one document. Each epoch is another answer.

use serde_json::{Map, Value};

use super::{
    FAILED, Lacks, NO_TEXT, Tool, ToolAnswer, content_text, id_text, numbered, prompt_text,
    scores_of,
};

/// Reads the header of a log and takes out its samples; `None` if the object is a sample itself.
pub(super) fn samples(tool: &mut Tool, log: &mut Map<String, Value>) -> Option<Vec<Value>> {
    let heading = log.get("eval")?;
    tool.model = Some(heading["model"].clone());
    let samples = log.get_mut("samples").and_then(Value::as_array_mut);
    Some(samples.map(std::mem::take).unwrap_or_default())
}

pub(super) fn answers(
    tool: &mut Tool,
    sample: &Map<String, Value>,
) -> Result<Vec<ToolAnswer>, Lacks> {
    let get = |name: &str| sample.get(name).unwrap_or(&Value::Null);
    let id = id_text(sample.get("id")).ok_or("id")?;
    let input = sample.get("input").ok_or("input")?;
    if !get("error").is_null() {
        return Ok(tool.leave_out(FAILED));
    }
    let output = get("output");
    let choices = output["choices"].as_array().map_or(&[][..], Vec::as_slice);
    let mut texts: Vec<Option<String>> =
        choices.iter().map(|choice| content_text(&choice["message"]["content"])).collect();
    // The log's completion is the first choice, or the only text.
    match (output["completion"].as_str(), texts.first_mut()) {
        (Some(text), Some(first)) => *first = Some(text.to_owned()),
        (Some(text), None) => texts.push(Some(text.to_owned())),
        (None, _) => {}
    }
    if texts.iter().all(Option::is_none) {
        return Ok(tool.leave_out(NO_TEXT));
    }
    let epoch = get("epoch").as_u64().unwrap_or(1);
    let model = match &output["model"] {
        Value::Null => tool.model.clone().unwrap_or_default(),
        own => own.clone(),
    };
    let answer = |(choice, text): (u64, String)| ToolAnswer {
        id: match (numbered(id.clone(), epoch), choice) {
            (id, 0 | 1) => id,
            (id, choice) => format!("{id}.{choice}"),
        },
        question: prompt_text(input),
        answer: text,
        more: vec![
            ("target", get("target").clone()),
            ("model", model.clone()),
            ("epoch", epoch.into()),
            ("scores", scores_of(get("scores"), "value")),
            ("metadata", get("metadata").clone()),
        ],
    };
    let texts = (1..).zip(texts).filter_map(|(choice, text)| Some((choice, text?)));
    Ok(texts.map(answer).collect())
}
