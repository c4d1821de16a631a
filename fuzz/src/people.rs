//! Replies of people: raw lines, and lines with valid checksums.

use std::fs;

use goodarm_record::fuzzing::replies_at;
use goodarm_record::sealed_lines::SealedWriter;
use serde_json::Value;

use crate::folder;

/// Reads raw bytes, and then their JSON lines with correct seals.
pub(crate) fn read(bytes: &[u8]) {
    let path = folder::file("replies.jsonl", bytes);
    if let Err(error) = replies_at(&path) {
        assert!(!error.to_string().is_empty());
    }
    fs::remove_file(&path).expect("it was written");
    let (mut writer, _) = SealedWriter::open::<Value>(&path).expect("a new file");
    let lines = bytes.split(|byte| *byte == b'\n').take(LINES_MAX);
    for mut line in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        let Some(keys) = line.as_object_mut() else { continue };
        keys.remove("crc");
        if !keys.is_empty() {
            writer.append(&line).expect("the folder is writable");
        }
    }
    drop(writer);
    if let Err(error) = replies_at(&path) {
        assert!(error.to_string().contains("damaged at line"), "{error}");
    }
}

/// A low limit, because each line waits for the disk.
const LINES_MAX: usize = 8;
