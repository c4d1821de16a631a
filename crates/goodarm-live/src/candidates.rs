//! The answers to be checked, read from a file: each is a JSON object with an id.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::read::MultiGzDecoder;
use goodarm_core::ArmId;
use serde_json::{Map, Value};

mod builder;
mod csv_file;
mod error;
mod ids;
mod json;
mod json_lines;
mod parquet_file;
#[cfg(test)]
mod tests;

pub use error::{CandidatesError, Fault, FaultKind, Unit};

use builder::Builder;
use error::Faults;
use ids::Ids;

/// All candidates, in the order of the file: the first is arm 0. They take little more memory than
/// their text.
#[derive(Clone, Debug)]
pub struct Candidates {
    path: PathBuf,
    unit: Unit,
    ids: Ids,
    /// All objects, one after the other.
    json: String,
    /// Where each object ends.
    json_ends: Vec<u64>,
    /// On which line, or in which row, each stands.
    lines: Vec<u64>,
    /// The fields that all objects have, in alphabetical order.
    common_fields: Vec<String>,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What the source calls it.
    pub id: String,
    /// The object on one line, its fields in the source's order.
    pub json: String,
    /// Parsed when first needed: most verifiers take the whole object and never need it.
    fields: OnceLock<Map<String, Value>>,
}

impl Candidate {
    /// An answer whose object is `json`.
    pub const fn new(id: String, json: String) -> Self {
        Self { id, json, fields: OnceLock::new() }
    }

    /// Its fields; none if the text is not an object.
    pub fn fields(&self) -> &Map<String, Value> {
        self.fields.get_or_init(|| serde_json::from_str(&self.json).unwrap_or_default())
    }
}

enum Format {
    JsonLines,
    Csv,
    Parquet,
}

const READ_BUFFER_LEN: usize = 1 << 20;

impl Candidates {
    /// Reads `.jsonl` or `.ndjson` (an object on each line), `.csv` (a header row, then texts), the
    /// same with `.gz`, or `.parquet`. Everything that is wrong with the file is reported at once.
    ///
    /// The field `id_field` names a candidate: a text or a whole number, unique and not blank.
    pub fn read(path: &Path, id_field: &str) -> Result<Self, CandidatesError> {
        let unreadable = |source| CandidatesError::Read { path: path.to_owned(), source };
        let (format, is_gzipped) = format_of(path)
            .ok_or_else(|| CandidatesError::UnknownFormat { path: path.to_owned() })?;
        let file = File::open(path).map_err(unreadable)?;
        if let Format::Parquet = format {
            return parquet_file::read(file, Builder::new(path, Unit::Row, id_field));
        }
        let mut builder = Builder::new(path, Unit::Line, id_field);
        let input: Box<dyn BufRead> = if is_gzipped {
            Box::new(BufReader::with_capacity(READ_BUFFER_LEN, MultiGzDecoder::new(file)))
        } else {
            builder.expect_bytes(file.metadata().map_err(unreadable)?.len());
            Box::new(BufReader::with_capacity(READ_BUFFER_LEN, file))
        };
        let input = without_byte_order_mark(input).map_err(unreadable)?;
        match format {
            Format::Csv => csv_file::read(input, builder),
            Format::JsonLines | Format::Parquet => json_lines::read(input, builder),
        }
    }

    /// Objects that were read before, each on one line: what is kept in a run's folder.
    pub fn from_lines<'a>(
        lines: impl IntoIterator<Item = &'a str>,
        id_field: &str,
    ) -> Result<Self, CandidatesError> {
        let text: Vec<&str> = lines.into_iter().collect();
        let builder = Builder::new(Path::new("the folder"), Unit::Line, id_field);
        json_lines::read(text.join("\n").as_bytes(), builder)
    }

    /// All arms, the first first.
    pub fn arms(&self) -> impl ExactSizeIterator<Item = ArmId> + use<> {
        let count = u32::try_from(self.len()).expect("there are fewer than 2^32 candidates");
        (0..count).map(ArmId)
    }

    /// How many there are; at least one.
    pub const fn len(&self) -> usize {
        self.json_ends.len()
    }

    /// Whether there are none, which no file that was read has.
    pub const fn is_empty(&self) -> bool {
        self.json_ends.is_empty()
    }

    /// What the source calls an arm.
    ///
    /// # Panics
    ///
    /// As all methods that take an arm: if there are not so many.
    pub fn id(&self, arm: ArmId) -> &str {
        self.ids.get(arm.index())
    }

    /// The object of an arm on one line, its fields in the source's order.
    pub fn json(&self, arm: ArmId) -> &str {
        &self.json[ids::range(&self.json_ends, arm.index())]
    }

    /// Everything about an arm.
    pub fn get(&self, arm: ArmId) -> Candidate {
        Candidate::new(self.id(arm).to_owned(), self.json(arm).to_owned())
    }

    /// The arm of an id.
    pub fn arm_of(&self, id: &str) -> Option<ArmId> {
        self.ids.find(id).map(ArmId)
    }

    /// A hash of all ids and objects in their order; what else is in a file, such as blank
    /// lines, does not matter.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint_of(self.len())
    }

    /// Whether the first `count` of them have this fingerprint.
    pub fn begin_with(&self, count: usize, fingerprint: &[u8; 32]) -> bool {
        count <= self.len() && self.fingerprint_of(count) == *fingerprint
    }

    /// The fingerprint of the first `count` of them.
    fn fingerprint_of(&self, count: usize) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("goodarm candidates 1");
        // The ends first, so that no byte can move from one text to its neighbour unseen.
        hasher.update(&(count as u64).to_le_bytes());
        let texts = [(self.ids.ends(), self.ids.text()), (&self.json_ends, self.json.as_str())];
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

    /// Of these fields, those that no object has, each with the one that is spelled most like it.
    pub fn unknown_fields(&self, fields: &BTreeSet<String>) -> Vec<(String, Option<String>)> {
        let mut wanted = self.uncommon(fields);
        let mut known = BTreeSet::new();
        for index in 0..self.len() {
            if wanted.is_empty() {
                break;
            }
            let json = &self.json[ids::range(&self.json_ends, index)];
            let scanned = json::scan(json, "").expect("every object was checked when it was read");
            wanted.retain(|field| !scanned.fields.contains(field.as_str()));
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
        let wanted = self.uncommon(fields);
        if wanted.is_empty() {
            return Ok(());
        }
        let mut faults = Faults::new(&self.path, self.unit);
        for index in 0..self.len() {
            let json = &self.json[ids::range(&self.json_ends, index)];
            let scanned = json::scan(json, "").expect("every object was checked when it was read");
            for field in wanted.iter().filter(|field| !scanned.fields.contains(field.as_str())) {
                faults.push_with(self.lines[index], || FaultKind::MissingField {
                    field: (*field).clone(),
                    nearest: error::nearest(field, scanned.fields.iter().map(AsRef::as_ref)),
                });
            }
        }
        faults.into_result()
    }

    /// Of these fields, those that some object lacks.
    fn uncommon<'a>(&self, fields: &'a BTreeSet<String>) -> Vec<&'a String> {
        let is_common = |field: &&String| self.common_fields.binary_search(field).is_ok();
        fields.iter().filter(|field| !is_common(field)).collect()
    }
}

fn format_of(path: &Path) -> Option<(Format, bool)> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    if name.ends_with(".parquet") {
        return Some((Format::Parquet, false));
    }
    let plain = name.strip_suffix(".gz");
    let is_gzipped = plain.is_some();
    let plain = plain.unwrap_or(&name);
    if plain.ends_with(".jsonl") || plain.ends_with(".ndjson") {
        Some((Format::JsonLines, is_gzipped))
    } else if plain.ends_with(".csv") {
        Some((Format::Csv, is_gzipped))
    } else {
        None
    }
}

/// Some programs begin every UTF-8 file with a mark that is not part of its text.
fn without_byte_order_mark(mut input: Box<dyn BufRead>) -> std::io::Result<Box<dyn BufRead>> {
    let mut first = Vec::new();
    input.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first)?;
    if first == BYTE_ORDER_MARK {
        return Ok(input);
    }
    Ok(Box::new(std::io::Cursor::new(first).chain(input)))
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
