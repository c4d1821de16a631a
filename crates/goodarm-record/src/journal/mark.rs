//! How much of a journal a file was made from.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The length and the hash of the beginning of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Mark {
    /// The length of this beginning, which ends with a whole frame.
    pub bytes: u64,
    /// The BLAKE3 hash of these bytes, in hexadecimal.
    pub blake3: String,
}

impl Mark {
    /// The mark of the first `bytes` bytes of the journal at `path`, or of all of it if it is shorter.
    pub fn of(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut File::open(path)?.take(bytes), &mut hasher)?;
        Ok(Self { bytes, blake3: hasher.finalize().to_string() })
    }

    /// Whether the journal at `path` begins with the bytes of this mark.
    pub fn begins(&self, path: &Path) -> io::Result<bool> {
        Ok(Self::of(path, self.bytes)? == *self)
    }
}
