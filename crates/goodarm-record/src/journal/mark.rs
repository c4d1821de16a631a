//! How much of a journal a file was made from.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The length and the hash of the beginning of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Mark {
    /// The length of its whole frames.
    pub bytes: u64,
    /// The BLAKE3 hash of them, in hexadecimal.
    pub blake3: String,
}

impl Mark {
    /// Of the beginning of the journal at `path`, or of all of it if it is shorter.
    pub fn of(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut File::open(path)?.take(bytes), &mut hasher)?;
        Ok(Self { bytes, blake3: hasher.finalize().to_string() })
    }

    /// Whether the journal at `path` begins like this.
    pub fn begins(&self, path: &Path) -> io::Result<bool> {
        Ok(Self::of(path, self.bytes)? == *self)
    }
}
