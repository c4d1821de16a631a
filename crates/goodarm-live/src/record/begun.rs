//! A recording as it stands before more is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use goodarm_core::Cost;
use goodarm_data::bounds;
use goodarm_record::recording::{self, Outcomes};

use crate::job::Job;
use crate::line_file::mend_last_line;
use crate::record::RecordError;

/// What a recording has already.
#[derive(Default)]
pub(super) struct Begun {
    /// How long it is, and how much was cut from its end.
    pub(super) bytes: u64,
    pub(super) bytes_cut: u64,
    /// How many outcomes of each pair.
    pub(super) counts: BTreeMap<(String, String), usize>,
    /// Verifiers that have given a score.
    pub(super) scored: BTreeSet<String>,
    /// What the calls of each verifier have cost.
    pub(super) spent: BTreeMap<String, Cost>,
}

impl Begun {
    pub(super) fn read(path: &Path, job: &Job) -> Result<Self, RecordError> {
        let file_error = |error| RecordError::file(path, error);
        let mut begun = Self {
            bytes_cut: mend_last_line(path, recording::is_line).map_err(file_error)?,
            ..Self::default()
        };
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(begun),
            file => file.map_err(file_error)?,
        };
        begun.bytes = file.metadata().map_err(file_error)?.len();
        let lines = bounds::json_lines(BufReader::new(file), bounds::memory_max(begun.bytes));
        for (line, number) in lines.zip(1..) {
            let taken = line.map_err(|error| error.to_string()).and_then(|line| match number {
                1 => recording::check_unit(&line, job.unit()),
                _ => begun.take(&line),
            });
            taken.map_err(|reason| RecordError::Begun {
                path: path.to_owned(),
                line: number,
                reason,
            })?;
        }
        Ok(begun)
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let outcomes: Outcomes = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let Outcomes { id, verifier, scores, costs, .. } = outcomes;
        if scores.iter().any(Option::is_some) {
            self.scored.insert(verifier.clone());
        }
        let spent = self.spent.entry(verifier.clone()).or_default();
        *spent = costs.into_iter().fold(*spent, Cost::saturating_add);
        *self.counts.entry((id, verifier)).or_insert(0) += scores.len();
        Ok(())
    }
}
