//! What all formats share: ids, faults, and the text of all objects.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use goodarm_core::problem::ARMS_MAX;

use super::Candidates;
use super::error::{CandidatesError, FaultKind, Faults, Unit};
use super::ids::Ids;
use crate::outputs;

pub(super) struct Builder<'a> {
    pub(super) path: &'a Path,
    pub(super) id_field: &'a str,
    pub(super) faults: Faults,
    candidates: Candidates,
}

/// The whole of a file is reserved at once, but not more than this: a file that claims to be larger
/// must first show it.
const RESERVED_BYTES_MAX: u64 = 1 << 36;

impl<'a> Builder<'a> {
    pub(super) fn new(path: &'a Path, unit: Unit, id_field: &'a str) -> Self {
        let candidates = Candidates {
            path: path.to_owned(),
            unit,
            ids: Ids::default(),
            json: String::new(),
            json_ends: Vec::new(),
            lines: Vec::new(),
            common_fields: Vec::new(),
        };
        Self { path, id_field, faults: Faults::new(path, unit), candidates }
    }

    /// Makes room for the text of a file of this length.
    pub(super) fn expect_bytes(&mut self, bytes: u64) {
        // If that fails, growing bit by bit may still work, or fails with an error of its own.
        let bytes = usize::try_from(bytes.min(RESERVED_BYTES_MAX)).unwrap_or(0);
        let _ = self.candidates.json.try_reserve_exact(bytes);
    }

    /// Adds an object, which must be on one line.
    pub(super) fn push(&mut self, line: u64, id: &str, json: &str) -> Result<(), CandidatesError> {
        if id.trim().is_empty() {
            self.faults.push(line, FaultKind::BlankId);
            return Ok(());
        }
        let Some(next) = self.next_arm() else {
            return Err(CandidatesError::TooMany { path: self.path.to_owned() });
        };
        let candidates = &mut self.candidates;
        if let Err(first) = candidates.ids.insert(id, next) {
            let first = candidates.lines[first as usize];
            self.faults.push_with(line, || FaultKind::DuplicateId { id: id.to_owned(), first });
            return Ok(());
        }
        candidates.json.push_str(json);
        candidates.json_ends.push(candidates.json.len() as u64);
        candidates.lines.push(line);
        Ok(())
    }

    /// Says which fields an object has that is about to be pushed.
    pub(super) fn note_fields(&mut self, line: u64, fields: &BTreeSet<Cow<'_, str>>) {
        if fields.contains(outputs::KEY) {
            self.faults.push(line, FaultKind::TakenField);
        }
        let common = &mut self.candidates.common_fields;
        if self.candidates.lines.is_empty() {
            *common = fields.iter().map(|field| field.clone().into_owned()).collect();
        } else if !fields.iter().eq(common.iter()) {
            common.retain(|field| fields.contains(field.as_str()));
        }
    }

    pub(super) fn finish(self) -> Result<Candidates, CandidatesError> {
        self.faults.into_result()?;
        let mut candidates = self.candidates;
        if candidates.is_empty() {
            return Err(CandidatesError::Empty { path: self.path.to_owned() });
        }
        candidates.ids.shrink();
        candidates.json.shrink_to_fit();
        candidates.json_ends.shrink_to_fit();
        candidates.lines.shrink_to_fit();
        Ok(candidates)
    }

    fn next_arm(&self) -> Option<u32> {
        let next = self.candidates.len();
        if next < ARMS_MAX { u32::try_from(next).ok() } else { None }
    }
}
