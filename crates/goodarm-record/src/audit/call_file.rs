//! The run's file of calls.

use std::fs::File;
use std::io::BufReader;

use goodarm_data::bounds;

use crate::folder::Folder;
use crate::outputs::calls::CallLine;

/// `calls.jsonl`, call by call.
pub(super) struct CallFile {
    /// The number of the line that was read last.
    pub(super) line_number: u64,
    reader: BufReader<File>,
    line: Vec<u8>,
}

/// The number of a line, and its call, or why the call cannot be read.
pub(super) type Next<'a> = (u64, Result<CallLine<'a>, String>);

impl CallFile {
    pub(super) fn open(folder: &Folder) -> Result<Self, String> {
        let path = folder.calls();
        let file = File::open(&path).map_err(|error| {
            let path = path.display();
            format!("{path}: {error}, and summary.json was made from all calls: resuming the run writes it")
        })?;
        let reader = BufReader::with_capacity(1 << 20, file);
        Ok(Self { line_number: 0, reader, line: Vec::new() })
    }

    /// The next call; after an error, reading stops.
    pub(super) fn next_call(&mut self) -> Result<Option<Next<'_>>, String> {
        loop {
            self.line_number += 1;
            let is_there = bounds::read_line(&mut self.reader, &mut self.line)
                .map_err(|error| format!("calls.jsonl line {}: {error}", self.line_number))?;
            if !is_there {
                return Ok(None);
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        let written = serde_json::from_slice(&self.line).map_err(|error| error.to_string());
        Ok(Some((self.line_number, written)))
    }
}
