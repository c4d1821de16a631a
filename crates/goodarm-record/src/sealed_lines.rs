//! Append-only files of JSON lines for labels and people's replies. Each line has a checksum of itself and all lines
//! before it. As in the journal, a **torn tail** is what a crash leaves of the last line, and is cut; everything else
//! that is wrong is **damage**, and is refused with its line.
//!
//! A line is an object whose last key is `crc`: the CRC-32 of the line up to there, begun with the
//! checksum of the line before it, as eight hexadecimal digits.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::journal::{FileStorage, Storage as _};

/// Why sealed lines cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealedError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// Another process writes to it.
    #[error("{} is in use by another process", .0.display())]
    Busy(PathBuf),
    /// A changed line, or one that was not written by goodarm.
    #[error("{} is damaged at line {line}: {reason}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads sealed lines. Each further read returns the lines that were added since.
#[derive(Debug)]
pub struct SealedReader<T> {
    path: PathBuf,
    /// Where the next line begins.
    offset: u64,
    line: u64,
    crc: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> SealedReader<T> {
    /// A reader of the file at a path, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), offset: 0, line: 0, crc: 0, kind: PhantomData }
    }

    /// Reads the complete new lines. A torn tail is not read: its writer may not be finished.
    pub fn read_on(&mut self) -> Result<Vec<T>, SealedError> {
        let file = match check_regular(&self.path).and_then(|()| File::open(&self.path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.offset == 0 => {
                return Ok(Vec::new());
            }
            file => file.map_err(|error| self.failed(error))?,
        };
        let len = file.metadata().map_err(|error| self.failed(error))?.len();
        if len < self.offset {
            return Err(self.damaged("it is shorter than it was".into()));
        }
        let mut reader = BufReader::new(file);
        reader.seek(SeekFrom::Start(self.offset)).map_err(|error| self.failed(error))?;
        let (mut lines, mut bytes) = (Vec::new(), Vec::new());
        loop {
            bytes.clear();
            reader.read_until(b'\n', &mut bytes).map_err(|error| self.failed(error))?;
            if !bytes.ends_with(b"\n") {
                return Ok(lines);
            }
            // A power cut may leave the last line in its full length, but with zeros in it.
            let is_last = self.offset + bytes.len() as u64 >= len;
            match self.open_line(&bytes) {
                Err(_) if is_last && bytes.contains(&0) => return Ok(lines),
                line => lines.push(line?),
            }
            self.offset += bytes.len() as u64;
        }
    }

    fn open_line(&mut self, bytes: &[u8]) -> Result<T, SealedError> {
        self.line += 1;
        let text = std::str::from_utf8(bytes).map_err(|error| self.damaged(error.to_string()))?;
        let sealed = text.trim_end().rsplit_once(SEAL);
        let (content, seal) = sealed.ok_or_else(|| self.damaged("it has no checksum".into()))?;
        let crc = crc_of(self.crc, content);
        if seal != format!("{crc:08x}\"}}") {
            return Err(self.damaged("it, or a line before it, is not as it was written".into()));
        }
        let line = serde_json::from_str(&format!("{content}}}"));
        let line = line.map_err(|error| self.damaged(error.to_string()))?;
        self.crc = crc;
        Ok(line)
    }

    fn failed(&self, error: io::Error) -> SealedError {
        SealedError::File { path: self.path.clone(), error }
    }

    fn damaged(&self, reason: String) -> SealedError {
        SealedError::Damaged { path: self.path.clone(), line: self.line.max(1), reason }
    }
}

/// Appends sealed lines. While it is open, no other process can append.
#[derive(Debug)]
pub struct SealedWriter {
    path: PathBuf,
    storage: FileStorage,
    crc: u32,
    /// A write has failed, so the end of the file is unknown.
    is_poisoned: bool,
}

impl SealedWriter {
    /// Opens the file at a path, or makes it, and reads all of its lines. A torn tail is cut.
    pub fn open<T: DeserializeOwned>(path: &Path) -> Result<(Self, Vec<T>), SealedError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::ResourceBusy => SealedError::Busy(path.to_owned()),
            _ => SealedError::File { path: path.to_owned(), error },
        };
        match check_regular(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut storage = FileStorage::open_or_create(path).map_err(failed)?;
        let mut reader = SealedReader::new(path);
        let lines = reader.read_on()?;
        storage.truncate(reader.offset).map_err(failed)?;
        // Lines of a killed process may still be in the cache only.
        storage.sync().map_err(failed)?;
        let path = path.to_owned();
        Ok((Self { path, storage, crc: reader.crc, is_poisoned: false }, lines))
    }

    /// Appends a line, and returns when it is on the disk. What belongs together is one line, so that a crash cannot
    /// leave half of it. After an error the end of the file is unknown, and further writes fail: open it again.
    pub fn append<T: Serialize>(&mut self, line: &T) -> Result<(), SealedError> {
        let failed = |error| SealedError::File { path: self.path.clone(), error };
        if self.is_poisoned {
            return Err(failed(io::Error::other("an earlier write to it failed: open it again")));
        }
        let line = serde_json::to_string(line).map_err(|error| failed(error.into()))?;
        let content = line.strip_suffix('}').expect("a line is an object with keys");
        let crc = crc_of(self.crc, content);
        let text = format!("{content}{SEAL}{crc:08x}\"}}\n");
        self.is_poisoned = true;
        self.storage.append(text.as_bytes()).map_err(failed)?;
        self.storage.sync().map_err(failed)?;
        self.is_poisoned = false;
        self.crc = crc;
        Ok(())
    }
}

/// Refuses what is not a file itself. To open a pipe may block for ever, and a link may point to another run's file.
fn check_regular(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

fn crc_of(previous: u32, content: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(previous);
    hasher.update(content.as_bytes());
    hasher.finalize()
}

const SEAL: &str = ",\"crc\":\"";

#[cfg(test)]
mod tests;
