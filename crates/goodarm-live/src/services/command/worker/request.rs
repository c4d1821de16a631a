//! The request to a worker, and the request that a line from a worker belongs to.

use goodarm_data::candidates::Candidate;
use serde_json::Value;

use crate::services::command::input_line;

/// A request to a worker, and the values in it that a reply may repeat.
pub(crate) struct WorkerRequest {
    pub(crate) line: String,
    /// The candidate's id, and the value of its own field `id`.
    ids: Vec<Value>,
    /// The number of the call; `None` if the candidate has a field `call` of its own, which several candidates may
    /// share.
    call: Option<u64>,
}

/// The request that a line from a worker belongs to.
pub(crate) enum LineOwner {
    /// This request: the line has the number of its call.
    This,
    /// Another request, by the number or the id in the line; with a message about it.
    Other(String),
    /// Unknown: the line has no number.
    Unknown,
}

impl WorkerRequest {
    /// The candidate as one line, with the fields `id` and `call` added. If the candidate has fields of these names,
    /// they stay unchanged.
    pub(crate) fn new(candidate: &Candidate, number: u64) -> Self {
        let fields = candidate.fields();
        let name = Value::from(candidate.id.as_str());
        let mut added = Vec::new();
        if !fields.contains_key("id") {
            added.push(format!("\"id\":{name}"));
        }
        if !fields.contains_key("call") {
            added.push(format!("\"call\":{number}"));
        }
        let line = input_line(&candidate.json);
        let line = match line.trim_start().strip_prefix('{') {
            Some(rest) if !added.is_empty() => {
                let comma = if fields.is_empty() { "" } else { "," };
                format!("{{{}{comma}{rest}", added.join(","))
            }
            _ => line,
        };
        let ids = [Some(name), fields.get("id").cloned()].into_iter().flatten().collect();
        let call = (!fields.contains_key("call")).then_some(number);
        Self { line, ids, call }
    }

    /// Whether the request has the number of the call, so that a reply can repeat it.
    pub(super) const fn is_numbered(&self) -> bool {
        self.call.is_some()
    }

    /// The request that a line belongs to. If the worker repeats numbers (`has_numbers`), this is unknown for a line
    /// without one.
    pub(crate) fn owner(&self, line: &[u8], has_numbers: bool) -> LineOwner {
        let answer: Value = serde_json::from_slice(line).unwrap_or_default();
        let repeated = self.call.zip(answer.get("call"));
        match repeated {
            Some((own, call)) if call.as_u64() != Some(own) => {
                return LineOwner::Other(format!("it answered call {call}, not call {own}"));
            }
            None if has_numbers => return LineOwner::Unknown,
            _ => {}
        }
        match answer.get("id").filter(|&id| !self.ids.contains(id)) {
            Some(id) => {
                let own = self.ids[0].as_str().unwrap_or_default();
                LineOwner::Other(format!("it answered for {id}, not for {own}"))
            }
            None if repeated.is_some() => LineOwner::This,
            None => LineOwner::Unknown,
        }
    }
}
