//! What a run says of its calls, in whichever format it says it.

use std::fmt;
use std::fs::File;
use std::io::BufReader;

use goodarm_data::bounds;

use crate::folder::Folder;
use crate::outputs::calls::CallLine;
use crate::outputs::calls::table::TableReader;

/// `calls.jsonl` or `calls.parquet`, call by call.
pub(super) struct CallFile {
    place: Place,
    source: Source,
}

enum Source {
    Lines { reader: BufReader<File>, line: Vec<u8> },
    Rows(Box<TableReader>),
}

/// Where a call is written.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) file: &'static str,
    unit: &'static str,
    number: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} {}", self.file, self.unit, self.number)
    }
}

/// A call as it is written down, or what is wrong with it.
type Written<'a> = Result<CallLine<'a>, String>;

/// The same, and where it is.
pub(super) type Next<'a> = (Place, Written<'a>);

impl CallFile {
    pub(super) fn open(folder: &Folder) -> Result<Self, String> {
        let table = folder.calls_table();
        if table.exists() && folder.calls().exists() {
            return Err("both calls.parquet and calls.jsonl are there, and a run writes one".into());
        }
        if table.exists() {
            let rows = TableReader::open(&table);
            let rows = rows.map_err(|error| format!("{}: {error}", table.display()))?;
            let place = Place { file: "calls.parquet", unit: "row", number: 0 };
            return Ok(Self { place, source: Source::Rows(Box::new(rows)) });
        }
        let path = folder.calls();
        let file = File::open(&path).map_err(|error| {
            let path = path.display();
            format!("{path}: {error}, and summary.json was made from all calls: resuming the run writes it")
        })?;
        let reader = BufReader::with_capacity(1 << 20, file);
        let place = Place { file: "calls.jsonl", unit: "line", number: 0 };
        Ok(Self { place, source: Source::Lines { reader, line: Vec::new() } })
    }

    /// Where the last call was.
    pub(super) const fn place(&self) -> Place {
        self.place
    }

    /// The next call; an error that nothing can be read after.
    pub(super) fn next_call(&mut self) -> Result<Option<Next<'_>>, String> {
        self.place.number += 1;
        match &mut self.source {
            Source::Rows(rows) => Ok(rows.next_line().map(|line| (self.place, line))),
            Source::Lines { reader, line } => {
                loop {
                    let is_there = bounds::read_line(reader, line)
                        .map_err(|error| format!("{}: {error}", self.place))?;
                    if !is_there {
                        return Ok(None);
                    }
                    if !line.trim_ascii().is_empty() {
                        break;
                    }
                    self.place.number += 1;
                }
                let written = serde_json::from_slice(line).map_err(|error| error.to_string());
                Ok(Some((self.place, written)))
            }
        }
    }
}
