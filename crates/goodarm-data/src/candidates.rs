//! Candidates, read from a file: each is a JSON object with an id.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use goodarm_core::ArmId;
use serde_json::{Map, Value};

mod builder;
mod csv_file;
mod error;
pub mod fields;
mod format;
mod ids;
mod intake;
mod json;
mod json_text;
mod parquet_file;
#[cfg(test)]
mod tests;
mod tools;
mod zip_file;

pub use error::{CandidatesError, CandidatesErrorKind, EntryUnit, FaultList};
pub use format::Format;

use builder::Builder;
use error::FaultKind;
use format::FileLayout;
use ids::Ids;
use intake::Intake;

use crate::bounds::{self, Packing};

/// All candidates in the order of the file; the first is arm 0. They take little more memory than their
/// text.
#[derive(Clone, Debug)]
pub struct Candidates {
    path: PathBuf,
    unit: EntryUnit,
    ids: Ids,
    /// All objects, one after the other.
    json: String,
    /// Where each object ends.
    json_ends: Vec<u64>,
    /// The line, row or entry of each object.
    lines: Vec<u64>,
    /// The fields that all objects have, in alphabetical order.
    common_fields: Vec<String>,
    notes: Vec<String>,
    are_ids_made: bool,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its id in the source.
    pub id: String,
    /// The object on one line, with the fields in the source's order.
    pub json: String,
    /// Parsed on first use: most verifiers send the whole object and never need the fields.
    fields: OnceLock<Map<String, Value>>,
}

impl Candidate {
    /// A candidate whose object is `json`.
    pub const fn new(id: String, json: String) -> Self {
        Self { id, json, fields: OnceLock::new() }
    }

    /// Its fields; empty if the text is not an object.
    pub fn fields(&self) -> &Map<String, Value> {
        self.fields.get_or_init(|| serde_json::from_str(&self.json).unwrap_or_default())
    }

    /// The value of a field, which may be nested: see [`lookup`].
    pub fn field(&self, path: &str) -> Option<&Value> {
        lookup(self.fields(), path)
    }
}

/// The value of a field. `meta.id` is the field of that name, or else the field `id` inside the field
/// `meta`; `messages.0.content` and `messages.-1.content` are in the first and the last element of a list.
pub fn lookup<'v>(fields: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = fields.get(path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    rest.split('.').try_fold(fields.get(first)?, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(list) => {
            let index: isize = part.parse().ok()?;
            let from_end = list.len().checked_add_signed(index);
            list.get(if index < 0 { from_end? } else { index.unsigned_abs() })
        }
        _ => None,
    })
}

/// A string as it is, null as the empty text, and anything else as JSON.
pub fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The key that outputs add to each candidate.
pub const KEY: &str = "goodarm";
/// The default field for ids.
pub const ID_FIELD: &str = "id";
const READ_BUFFER_LEN: usize = 1 << 20;

impl Candidates {
    /// Reads a file; its extension gives the format: `.jsonl` or `.ndjson` (an object on each line), `.json` (an
    /// array of objects), `.csv` or `.tsv` (a header row, then texts), the same with `.gz` or `.zst`,
    /// `.parquet`, or `.eval`. Files of some other tools are recognised by their content. All faults of the
    /// file are reported at once.
    ///
    /// The field `id_field` holds the id: a text or a whole number, unique and not blank. If the file has
    /// neither a field `id` nor one with a similar name, ids are made.
    pub fn read(path: &Path, id_field: &str) -> Result<Self, CandidatesError> {
        Self::read_as(path, id_field, None)
    }

    /// The same as [`Self::read`] in a given format; with `None`, the extension gives the format.
    pub fn read_as(
        path: &Path,
        id_field: &str,
        format: Option<Format>,
    ) -> Result<Self, CandidatesError> {
        Self::read_by(path, format, Some(id_field)).map_err(|kind| CandidatesError::new(path, kind))
    }

    /// Reads rows of other data, such as labels, from files of the same formats. They need no ids.
    pub fn read_rows(path: &Path) -> Result<Self, CandidatesError> {
        Self::read_by(path, None, None).map_err(|kind| CandidatesError::new(path, kind))
    }

    fn read_by(
        path: &Path,
        format: Option<Format>,
        id_field: Option<&str>,
    ) -> Result<Self, CandidatesErrorKind> {
        let (layout, packing) =
            format::layout_of(path, format).ok_or(CandidatesErrorKind::UnknownFormat)?;
        let file = File::open(path)?;
        let unit = match layout {
            FileLayout::Lines | FileLayout::Rows(_) => EntryUnit::Line,
            FileLayout::Parquet => EntryUnit::Row,
            FileLayout::Document | FileLayout::Zip => EntryUnit::Entry,
        };
        let length = file.metadata()?.len();
        let mut builder = Builder::new(path, unit, id_field.unwrap_or_default());
        builder.are_rows = id_field.is_none();
        builder.bytes_max = bounds::unpacked_max(length);
        builder.memory_max = bounds::memory_max(length);
        if packing == Packing::None && layout != FileLayout::Parquet && layout != FileLayout::Zip {
            builder.expect_bytes(length);
        }
        // Only logs of inspect_ai have this ending.
        let format =
            if layout == FileLayout::Zip { format.or(Some(Format::Inspect)) } else { format };
        let intake = Intake::new(builder, format);
        match layout {
            FileLayout::Parquet => return parquet_file::read(file, intake),
            FileLayout::Zip => return zip_file::read(file, intake),
            _ => {}
        }
        let input = without_byte_order_mark(Box::new(bounds::unpacked(path, file)?))?;
        match layout {
            FileLayout::Rows(delimiter) => csv_file::read(input, delimiter, intake),
            FileLayout::Document => json_text::read_document(input, intake),
            _ => json_text::read_lines(input, intake),
        }
    }

    /// An empty list, called `name` in errors.
    pub fn empty(name: &Path) -> Self {
        Self {
            path: name.to_owned(),
            unit: EntryUnit::Row,
            ids: Ids::default(),
            json: String::new(),
            json_ends: Vec::new(),
            lines: Vec::new(),
            common_fields: Vec::new(),
            notes: Vec::new(),
            are_ids_made: false,
        }
    }

    /// Adds a candidate with a new id.
    pub fn push(&mut self, id: &str, json: &str, line: u64) {
        self.try_push(id, json, line).expect("the id is new");
        // The fields of the new candidate are not known.
        self.common_fields.clear();
    }

    /// Adds a candidate; the error is the line of the candidate that already has the id.
    fn try_push(&mut self, id: &str, json: &str, line: u64) -> Result<(), u64> {
        let next = u32::try_from(self.len()).expect("there are fewer than 2^32 candidates");
        self.ids.insert(id, next).map_err(|first| self.lines[first as usize])?;
        self.json.push_str(json);
        self.json_ends.push(self.json.len() as u64);
        self.lines.push(line);
        Ok(())
    }

    /// An empty list from the same file.
    fn empty_copy(&self) -> Self {
        let (unit, notes, are_ids_made) = (self.unit, self.notes.clone(), self.are_ids_made);
        Self { unit, notes, are_ids_made, ..Self::empty(&self.path) }
    }

    /// The same list without some candidates, and with one more note.
    pub fn without(&self, left_out: &BTreeSet<ArmId>, note: String) -> Self {
        let mut kept = self.empty_copy();
        kept.notes.push(note);
        for arm in self.arms().filter(|arm| !left_out.contains(arm)) {
            kept.push(self.id(arm), self.json(arm), self.lines[arm.index()]);
        }
        kept.common_fields.clone_from(&self.common_fields);
        kept
    }

    /// The same list with more fields at the end of each object; a field that an object already has is not
    /// added.
    pub fn with_fields(&self, fields_of: impl Fn(ArmId) -> Option<Map<String, Value>>) -> Self {
        let mut extended = self.empty_copy();
        for arm in self.arms() {
            let own = self.get(arm);
            let mut json = own.json.trim_end().to_owned();
            for (key, value) in fields_of(arm).into_iter().flatten() {
                if !own.fields().contains_key(&key) && json.ends_with('}') {
                    json.pop();
                    let comma = if json.trim_end().ends_with('{') { "" } else { "," };
                    json += &format!("{comma}{}:{value}}}", Value::from(key));
                }
            }
            extended.push(&own.id, &json, self.lines[arm.index()]);
        }
        extended
    }

    /// Adds a note for the user about how the candidates were read.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Reads the candidates in a run's folder, which always has them as lines.
    pub fn read_from_run(path: &Path, id_field: &str) -> Result<Self, CandidatesError> {
        Self::read_as(path, id_field, Some(Format::Jsonl))
    }

    /// Candidates from objects, each on one line.
    pub fn from_lines<'a>(
        lines: impl IntoIterator<Item = &'a str>,
        id_field: &str,
    ) -> Result<Self, CandidatesError> {
        let text: Vec<&str> = lines.into_iter().collect();
        Self::from_text(&text.join("\n"), "the folder", id_field)
    }

    /// Candidates from a text with an object on each line, called `name` in errors.
    pub fn from_text(text: &str, name: &str, id_field: &str) -> Result<Self, CandidatesError> {
        let builder = Builder::new(Path::new(name), EntryUnit::Row, id_field);
        let intake = Intake::new(builder, Some(Format::Jsonl));
        json_text::read_lines(text.as_bytes(), intake)
            .map_err(|kind| CandidatesError::new(Path::new(name), kind))
    }

    /// Notes for the user about how the candidates were read, such as made ids and entries that were left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether ids were made because the source has none.
    pub const fn are_ids_made(&self) -> bool {
        self.are_ids_made
    }

    /// All arms in order.
    pub fn arms(&self) -> impl ExactSizeIterator<Item = ArmId> + use<> {
        let count = u32::try_from(self.len()).expect("there are fewer than 2^32 candidates");
        (0..count).map(ArmId)
    }

    /// Fields that all candidates have, as far as they are known.
    pub fn fields_of_all(&self) -> &[String] {
        &self.common_fields
    }

    /// The number of candidates.
    pub const fn len(&self) -> usize {
        self.json_ends.len()
    }

    /// Whether the list is empty, as in jobs whose answers are all made during the run.
    pub const fn is_empty(&self) -> bool {
        self.json_ends.is_empty()
    }

    /// The id of an arm.
    ///
    /// # Panics
    ///
    /// Like all methods that take an arm: if the arm does not exist.
    pub fn id(&self, arm: ArmId) -> &str {
        self.ids.get(arm.index())
    }

    /// The object of an arm on one line, with the fields in the source's order.
    pub fn json(&self, arm: ArmId) -> &str {
        &self.json[ids::range(&self.json_ends, arm.index())]
    }

    /// The line, row or entry of an arm.
    pub fn line(&self, arm: ArmId) -> u64 {
        self.lines[arm.index()]
    }

    /// The line, row or entry of an arm with its unit, such as "line 3".
    pub fn place(&self, arm: ArmId) -> String {
        format!("{} {}", self.unit, self.line(arm))
    }

    /// The candidate of an arm.
    pub fn get(&self, arm: ArmId) -> Candidate {
        Candidate::new(self.id(arm).to_owned(), self.json(arm).to_owned())
    }

    /// The arm with this id.
    pub fn arm_of(&self, id: &str) -> Option<ArmId> {
        self.ids.find(id).map(ArmId)
    }

    /// A hash of all ids and objects in their order. Other parts of a file, such as blank lines, do not
    /// matter.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint_of(self.len())
    }

    /// Whether the first `count` candidates have this fingerprint.
    pub fn begin_with(&self, count: usize, fingerprint: &[u8; 32]) -> bool {
        count <= self.len() && self.fingerprint_of(count) == *fingerprint
    }

    /// The fingerprint of the first `count` candidates.
    fn fingerprint_of(&self, count: usize) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("goodarm candidates 1");
        // The ends come first, so that a byte that moves from one text to the next changes the hash.
        hasher.update(&(count as u64).to_le_bytes());
        let texts = [(&self.ids.ends, &self.ids.text), (&self.json_ends, &self.json)];
        for (ends, _) in texts {
            let ends = &ends[..count];
            for chunk in ends.chunks(1024) {
                let bytes: Vec<u8> = chunk.iter().flat_map(|end| end.to_le_bytes()).collect();
                hasher.update(&bytes);
            }
        }
        for (ends, text) in texts {
            hasher.update(&text.as_bytes()[..ids::end(ends, count)]);
        }
        *hasher.finalize().as_bytes()
    }

    /// The given fields that occur in no object, each with the field of the most similar name.
    pub fn unknown_fields(&self, fields: &BTreeSet<String>) -> Vec<(String, Option<String>)> {
        let mut wanted = self.not_in_all(fields);
        let mut known = BTreeSet::new();
        for index in 0..self.len() {
            if wanted.is_empty() {
                break;
            }
            let json = &self.json[ids::range(&self.json_ends, index)];
            let scanned = json::scan(json, "").expect("every object was checked when it was read");
            wanted.retain(|field| !has(json, &scanned, field));
            for field in &scanned.fields {
                if !known.contains(field.as_ref()) {
                    known.insert(field.to_string());
                }
            }
        }
        let nearest = |field: &str| error::nearest(field, known.iter().map(String::as_str));
        wanted.into_iter().map(|field| (field.clone(), nearest(field))).collect()
    }

    /// Checks that every object has all of these fields, even if its value is null.
    pub fn require_fields(&self, fields: &BTreeSet<String>) -> Result<(), CandidatesError> {
        let wanted = self.not_in_all(fields);
        if wanted.is_empty() {
            return Ok(());
        }
        let mut faults = FaultList::new(self.unit);
        for index in 0..self.len() {
            let json = &self.json[ids::range(&self.json_ends, index)];
            let scanned = json::scan(json, "").expect("every object was checked when it was read");
            for field in wanted.iter().filter(|field| !has(json, &scanned, field)) {
                faults.push_with(self.lines[index], || {
                    let names = scanned.fields.iter().map(AsRef::as_ref);
                    let hint = goodarm_files::did_you_mean(field, names);
                    FaultKind::Content(format!("no field {field:?}{hint}"))
                });
            }
        }
        faults.into_result().map_err(|kind| CandidatesError::new(&self.path, kind))
    }

    /// The given fields that may be missing in some object.
    fn not_in_all<'a>(&self, fields: &'a BTreeSet<String>) -> Vec<&'a String> {
        let is_common = |field: &&String| self.common_fields.binary_search(field).is_ok();
        fields.iter().filter(|field| !is_common(field)).collect()
    }
}

/// Whether an object has a field, which may be nested.
fn has(json: &str, scanned: &json::Scanned<'_>, field: &str) -> bool {
    scanned.fields.contains(field)
        || field.split_once('.').is_some_and(|(first, _)| {
            let fields = || serde_json::from_str::<Map<String, Value>>(json).ok();
            scanned.fields.contains(first)
                && fields().is_some_and(|fields| lookup(&fields, field).is_some())
        })
}

/// Some programs begin every UTF-8 file with a byte order mark, which is not part of the text.
fn without_byte_order_mark(mut input: Box<dyn BufRead>) -> std::io::Result<Box<dyn BufRead>> {
    let mut first = Vec::new();
    input.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first)?;
    if first == BYTE_ORDER_MARK {
        return Ok(input);
    }
    Ok(Box::new(std::io::Cursor::new(first).chain(input)))
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
