//! Converts entries of other tools into candidates; all other objects are kept as they are.

use serde_json::{Map, Value};

use super::Candidates;
use super::builder::Builder;
use super::error::{CandidatesErrorKind, NOT_AN_OBJECT};
use super::format::Format;
use super::json;
use super::tools::{self, Tool};

pub(super) struct Intake<'a> {
    pub(super) builder: Builder<'a>,
    /// The format that the job gives, if any.
    format: Option<Format>,
    /// The writer of the file, known from the job or from the first object.
    writer: Option<Writer>,
    /// The field of the first object that may hold the candidates, and the length of its list.
    wrapped: Option<(String, usize)>,
}

enum Writer {
    Anyone,
    Tool(Tool),
}

impl<'a> Intake<'a> {
    pub(super) const fn new(builder: Builder<'a>, format: Option<Format>) -> Self {
        Self { builder, format, writer: None, wrapped: None }
    }

    /// Reads one JSON text.
    pub(super) fn object(&mut self, line: u64, text: &str) -> Result<(), CandidatesErrorKind> {
        if self.builder.is_too_much(line, text.as_bytes()) {
            return Ok(());
        }
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.writer_of(text),
        };
        match self.writer.insert(writer) {
            Writer::Anyone => self.builder.take(line, text),
            Writer::Tool(_) => match serde_json::from_str::<Value>(text) {
                Ok(Value::Object(fields)) => self.entry(line, fields),
                Ok(_) => {
                    self.builder.faults.push(line, NOT_AN_OBJECT);
                    Ok(())
                }
                Err(error) => match json::repaired(text) {
                    Some(repaired) => self.object(line, &repaired),
                    None => {
                        self.builder.faults.push_broken(line, text, &error);
                        Ok(())
                    }
                },
            },
        }
    }

    /// Reads one object of a tool: an entry, or a document with many entries.
    pub(super) fn entry(
        &mut self,
        line: u64,
        fields: Map<String, Value>,
    ) -> Result<(), CandidatesErrorKind> {
        if self.writer.is_none() {
            self.writer = self.format.map(|format| Writer::Tool(Tool::new(format)));
        }
        let Some(Writer::Tool(tool)) = &mut self.writer else { return Ok(()) };
        let list = tools::entries_of(tool, fields);
        let is_document = list.len() != 1;
        for (entry, number) in list.into_iter().zip(1..) {
            let place = if is_document { number } else { line };
            match tool.answers(&entry) {
                Ok(answers) => {
                    for answer in answers {
                        self.builder.take(place, &answer.into_json())?;
                    }
                }
                Err(lacks) => {
                    let message = format!(
                        "not an entry of format {:?}: no {lacks}; format = \"jsonl\" or \"json\" takes the objects as they are",
                        tool.format.name()
                    );
                    self.builder.faults.push(place, message);
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Candidates, CandidatesErrorKind> {
        if let Some(Writer::Tool(tool)) = &self.writer {
            self.builder.note(tool.note(self.builder.len()));
        }
        if let (Some((field, count)), 1) = (self.wrapped.take(), self.builder.len()) {
            return Err(CandidatesErrorKind::Document(format!(
                "one object whose field `{field}` is a list of {count} objects: if these are the candidates, extract them (jq '.{field}'), or if the whole object is one candidate, set format = \"json\" or \"jsonl\""
            )));
        }
        self.builder.finish()
    }

    fn writer_of(&mut self, text: &str) -> Writer {
        if self.builder.are_rows {
            return Writer::Anyone;
        }
        let format = self.format.or_else(|| {
            let text = json::without_nan(text.trim_ascii_end());
            let scanned = json::scan(&text, "").ok()?;
            let format = Format::recognised(&scanned.fields);
            // Only if the names of the fields do not decide: parsing takes longer than scanning.
            format.or_else(|| self.recognised_inside(serde_json::from_str(&text).ok()?))
        });
        match format {
            Some(format) if format.tool().is_some() => Writer::Tool(Tool::new(format)),
            _ => Writer::Anyone,
        }
    }

    /// The tool that wrote an object, recognised by its lists. Notes whether the object may only wrap the
    /// candidates.
    fn recognised_inside(&mut self, mut object: Map<String, Value>) -> Option<Format> {
        if tools::promptfoo::is_document(&mut object) {
            return Some(Format::Promptfoo);
        }
        // An object with an id is a candidate.
        let id_field = self.builder.id_field.split('.').next().unwrap_or_default();
        if object.contains_key(id_field) {
            return None;
        }
        let is_list = |value: &Value| {
            // Messages belong to a single candidate.
            let is_entry = |item: &Value| item.is_object() && item.get("role").is_none();
            value.as_array().is_some_and(|list| list.len() > 1 && list.iter().all(is_entry))
        };
        let mut lists = object.iter().filter(|(_, value)| is_list(value));
        if let (Some((field, list)), None) = (lists.next(), lists.next()) {
            self.wrapped = Some((field.clone(), list.as_array().map_or(0, Vec::len)));
        }
        None
    }
}
