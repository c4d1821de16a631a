//! Archives of inspect_ai: a header, and a file for each sample.

use std::fs::File;
use std::io::Read;

use serde_json::{Map, Value};
use zip::ZipArchive;

use super::Candidates;
use super::error::CandidatesErrorKind;
use super::intake::Intake;
use super::json;
use crate::bounds::unpacked_max;

pub(super) fn read(file: File, mut intake: Intake<'_>) -> Result<Candidates, CandidatesErrorKind> {
    let broken = |error: &dyn std::fmt::Display| {
        CandidatesErrorKind::Document(format!("not an .eval file of inspect_ai: {error}"))
    };
    let bytes_max = unpacked_max(file.metadata().map_or(0, |file| file.len()));
    let mut archive = ZipArchive::new(file).map_err(|error| broken(&error))?;
    if archive.has_overlapping_entries().map_err(|error| broken(&error))? {
        return Err(broken(
            &"two of its entries overlap, so that the same bytes would be unpacked twice",
        ));
    }
    let names = archive.file_names().enumerate();
    let names: Vec<(usize, String)> =
        names.filter_map(|(index, name)| Some((index, name.ok()?.into_owned()))).collect();
    let heading = HEADINGS.iter().find_map(|name| names.iter().find(|(_, found)| found == name));
    let samples = names.iter().filter(|(_, name)| is_sample(name));
    let mut bytes_left = bytes_max;
    let mut number = 0;
    for (index, name) in heading.into_iter().chain(samples) {
        let limit = ENTRY_BYTES_MAX.min(bytes_left);
        let mut bytes = Vec::new();
        let entry = archive.by_index(*index).map_err(|error| broken(&error))?;
        // The length that the archive states may be too small.
        let read = entry.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| broken(&format!("{name}: {error}")))?;
        if bytes.len() as u64 > limit {
            let (what, limit) = match limit {
                ENTRY_BYTES_MAX => (name.as_str(), limit),
                _ => ("it", bytes_max),
            };
            return Err(broken(&format!("{what} unpacks to more than {} MiB", limit >> 20)));
        }
        bytes_left -= bytes.len() as u64;
        number += u64::from(is_sample(name));
        if intake.builder.is_too_much(number, &bytes) {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        match serde_json::from_str::<Map<String, Value>>(&json::without_nan(&text)) {
            Ok(fields) => intake.entry(number, fields)?,
            Err(error) => intake.builder.faults.push_broken(number, &text, &error),
        }
    }
    intake.finish()
}

fn is_sample(name: &str) -> bool {
    name.starts_with("samples/") && name.ends_with(".json")
}

/// The header of a finished log, or of one that is still being written.
const HEADINGS: [&str; 2] = ["header.json", "_journal/start.json"];
/// The limit for one unpacked sample. All samples together have the limit of every packed file.
const ENTRY_BYTES_MAX: u64 = 256 << 20;
