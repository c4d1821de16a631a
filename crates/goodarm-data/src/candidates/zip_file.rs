//! Archives of inspect_ai: a header, and a file for each sample.

use std::fs::File;
use std::io::Read;

use serde_json::{Map, Value};
use zip::ZipArchive;

use super::Candidates;
use super::error::CandidatesErrorKind;
use super::intake::Intake;
use super::json;

pub(super) fn read(file: File, mut intake: Intake<'_>) -> Result<Candidates, CandidatesErrorKind> {
    let broken = |error: &dyn std::fmt::Display| {
        CandidatesErrorKind::Document(format!("not an .eval file of inspect_ai: {error}"))
    };
    let mut archive = ZipArchive::new(file).map_err(|error| broken(&error))?;
    let names = archive.file_names().enumerate();
    let names: Vec<(usize, String)> =
        names.filter_map(|(index, name)| Some((index, name.ok()?.into_owned()))).collect();
    let heading = HEADINGS.iter().find_map(|name| names.iter().find(|(_, found)| found == name));
    let samples = names.iter().filter(|(_, name)| is_sample(name));
    let mut bytes_left = ARCHIVE_BYTES_MAX;
    let mut number = 0;
    for (index, name) in heading.into_iter().chain(samples) {
        let limit = ENTRY_BYTES_MAX.min(bytes_left);
        let mut bytes = Vec::new();
        let entry = archive.by_index(*index).map_err(|error| broken(&error))?;
        // The length that the archive states may be too small.
        let read = entry.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| broken(&format!("{name}: {error}")))?;
        if bytes.len() as u64 > limit {
            let limit = limit >> 20;
            return Err(broken(&format!("{name} unpacks to more than {limit} MiB")));
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
/// The limits for one unpacked sample and for all of them.
const ENTRY_BYTES_MAX: u64 = 256 << 20;
const ARCHIVE_BYTES_MAX: u64 = 16 << 30;
