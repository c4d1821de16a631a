//! Collects candidates of all formats: ids, faults, and the text of all objects.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use goodarm_core::problem::ARMS_MAX;
use serde_json::Value;

use super::error::{CandidatesErrorKind, EntryUnit, FaultKind, FaultList, NOT_AN_OBJECT, nearest};
use super::json::{self, Id, Scanned};
use super::{Candidates, KEY, lookup};
use crate::bounds;

pub(super) struct Builder<'a> {
    pub(super) id_field: &'a str,
    pub(super) faults: FaultList,
    /// Whether ids are made because the file has none; known after the first object.
    makes_ids: Option<bool>,
    /// Whether the objects are rows of other data, which need no ids.
    pub(super) are_rows: bool,
    /// The limit for the text of all objects: a file may hold far more than its length.
    pub(super) bytes_max: u64,
    /// The limit for the memory of one object's values.
    pub(super) memory_max: u64,
    candidates: Candidates,
}

/// Memory for the whole file is reserved at once, up to this limit: the claimed length may be wrong.
const RESERVED_BYTES_MAX: u64 = 1 << 36;

impl<'a> Builder<'a> {
    pub(super) fn new(path: &'a Path, unit: EntryUnit, id_field: &'a str) -> Self {
        Self {
            id_field,
            faults: FaultList::new(unit),
            makes_ids: None,
            are_rows: false,
            bytes_max: u64::MAX,
            memory_max: u64::MAX,
            candidates: Candidates::empty(path),
        }
    }

    /// Whether a text has too many values, which is then a fault.
    pub(super) fn is_too_much(&mut self, line: u64, text: &[u8]) -> bool {
        let problem = bounds::too_many_values(text, self.memory_max);
        problem.map(|problem| self.faults.push(line, problem)).is_some()
    }

    /// Adds a note about how the file was read.
    pub(super) fn note(&mut self, note: String) {
        self.candidates.notes.push(format!("{}: {note}", self.candidates.path.display()));
    }

    /// Reserves memory for the text of a file of this length.
    pub(super) fn expect_bytes(&mut self, bytes: u64) {
        // If that fails, the text may still grow step by step, or fails with its own error.
        let bytes = usize::try_from(bytes.min(RESERVED_BYTES_MAX)).unwrap_or(0);
        let _ = self.candidates.json.try_reserve_exact(bytes);
    }

    /// Adds an object from its text.
    pub(super) fn take(&mut self, line: u64, text: &str) -> Result<(), CandidatesErrorKind> {
        let scanned = match json::scan(text.trim_ascii_end(), self.id_field) {
            Ok(scanned) if scanned.is_object => scanned,
            Ok(_) => {
                self.faults.push(line, NOT_AN_OBJECT);
                return Ok(());
            }
            Err(error) => {
                if let Some(repaired) = json::repaired(text) {
                    return self.take(line, &repaired);
                }
                self.faults.push_broken(line, text, &error);
                return Ok(());
            }
        };
        let json = on_one_line(text.trim_ascii());
        match self.id_of(&scanned, &json) {
            Ok(Some(id)) => {
                self.note_fields(line, &scanned.fields);
                self.push(line, &id, &json)
            }
            Ok(None) if self.are_rows => self.push(line, &made_id(line, &json), &json),
            Ok(None) => {
                let id = made_id(line, &json);
                let mut fields = scanned.fields;
                fields.insert(self.id_field.into());
                self.note_fields(line, &fields);
                self.push(line, &id, &with_id(&json, self.id_field, &id))
            }
            Err(kind) => {
                self.faults.push_with(line, || kind);
                Ok(())
            }
        }
    }

    /// The number of candidates so far.
    pub(super) const fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Whether ids are made for objects with these fields: not if the job names a field for the ids, nor if
    /// a field has a similar name.
    pub(super) fn would_make_ids<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        let is_like = |name: &str| {
            name == self.id_field || nearest(self.id_field, std::iter::once(name)).is_some()
        };
        self.id_field == super::ID_FIELD && !names.any(is_like)
    }

    /// The id of an object; `None` if an id is to be made.
    fn id_of<'s>(
        &mut self,
        scanned: &'s Scanned<'_>,
        json: &str,
    ) -> Result<Option<Cow<'s, str>>, FaultKind> {
        if self.are_rows {
            return Ok(None);
        }
        let field = self.id_field;
        let wrong_kind = || {
            FaultKind::Id(format!("the id in field {field:?} is neither a text nor a whole number"))
        };
        let nested = || -> Option<Value> {
            let fields = self.id_field.contains('.').then(|| serde_json::from_str(json).ok())??;
            lookup(&fields, self.id_field).cloned()
        };
        let found = match &scanned.id {
            Some(Id::Text(id)) => Some(Ok(Cow::from(id.as_ref()))),
            Some(Id::Other) => Some(Err(wrong_kind())),
            None => nested().map(|value| match value {
                Value::String(text) => Ok(text.into()),
                Value::Number(number) if !number.is_f64() => Ok(number.to_string().into()),
                _ => Err(wrong_kind()),
            }),
        };
        let names = || scanned.fields.iter().map(AsRef::as_ref);
        let decide = || found.is_none() && self.would_make_ids(names());
        let makes_ids = self.makes_ids.unwrap_or_else(decide);
        self.makes_ids = Some(makes_ids);
        match (makes_ids, found) {
            (false, Some(found)) => found.map(Some),
            (true, None) => Ok(None),
            (true, Some(_)) => Err(FaultKind::Id(format!(
                "a field {field:?}, which the first candidate does not have: give every candidate one, or remove it"
            ))),
            (false, None) => {
                // Only the first faults are shown.
                let nearest = if self.faults.more > 0 { None } else { nearest(field, names()) };
                Err(FaultKind::NoId(field.to_owned(), nearest))
            }
        }
    }

    /// Adds an object, which must be on one line.
    fn push(&mut self, line: u64, id: &str, json: &str) -> Result<(), CandidatesErrorKind> {
        if id.trim().is_empty() {
            self.faults.push_with(line, || FaultKind::Id("the id is empty".into()));
            return Ok(());
        }
        let candidates = &mut self.candidates;
        if candidates.len() >= ARMS_MAX {
            return Err(CandidatesErrorKind::Document(format!("more than {ARMS_MAX} candidates")));
        }
        if (candidates.json.len() + json.len()) as u64 > self.bytes_max {
            let message = format!(
                "{} {line}: with it the candidates take more than {} MiB, far more than the file",
                self.faults.unit,
                self.bytes_max >> 20
            );
            return Err(CandidatesErrorKind::Document(message));
        }
        if let Err(first) = candidates.try_push(id, json, line) {
            self.faults.push_with(line, || {
                FaultKind::Id(format!("id {id:?} already names the candidate at {first}"))
            });
        }
        Ok(())
    }

    /// Notes the fields of an object before it is added.
    fn note_fields(&mut self, line: u64, fields: &BTreeSet<Cow<'_, str>>) {
        if fields.contains(KEY) {
            self.faults.push(line, format!(
                "the field {KEY:?} is where a run writes its findings, as in certified.jsonl: take it out first, for example with jq -c 'del(.{KEY})'"
            ));
        }
        let common = &mut self.candidates.common_fields;
        if self.candidates.lines.is_empty() {
            *common = fields.iter().map(|field| field.clone().into_owned()).collect();
        } else if !fields.iter().eq(common.iter()) {
            common.retain(|field| fields.contains(field.as_str()));
        }
    }

    pub(super) fn finish(mut self) -> Result<Candidates, CandidatesErrorKind> {
        let unit = self.faults.unit;
        std::mem::replace(&mut self.faults, FaultList::new(unit)).into_result()?;
        if self.candidates.is_empty() {
            return Err(CandidatesErrorKind::Empty(self.candidates.notes));
        }
        if self.makes_ids == Some(true) {
            self.candidates.are_ids_made = true;
            self.note(format!(
                "no field {:?}: ids such as {:?} are made from each {unit}'s number and a hash of its \
                 content; `id_field` names another field",
                self.id_field,
                self.candidates.ids.get(0),
            ));
        }
        let mut candidates = self.candidates;
        candidates.unit = unit;
        candidates.ids.shrink();
        candidates.json.shrink_to_fit();
        candidates.json_ends.shrink_to_fit();
        candidates.lines.shrink_to_fit();
        Ok(candidates)
    }
}

/// Makes an id. The same object on the same line always gets the same id, and a changed object gets another
/// one.
fn made_id(line: u64, json: &str) -> String {
    let hash = blake3::hash(json.as_bytes()).to_hex();
    format!("{line}-{}", &hash[..HASH_DIGITS])
}

/// An object with its id as the first field.
fn with_id(json: &str, field: &str, id: &str) -> String {
    let rest = json.strip_prefix('{').unwrap_or_default().trim_ascii_start();
    let comma = if rest == "}" { "" } else { "," };
    let mut text = String::from("{");
    json::push_name(&mut text, field);
    json::push_text(&mut text, id);
    text + comma + rest
}

/// The object on one line. In JSON, line breaks can only be between values, so spaces can replace them.
fn on_one_line(json: &str) -> Cow<'_, str> {
    let has = |byte: u8| json.as_bytes().contains(&byte);
    if has(b'\r') || has(b'\n') { json.replace(['\r', '\n'], " ").into() } else { json.into() }
}

const HASH_DIGITS: usize = 8;
