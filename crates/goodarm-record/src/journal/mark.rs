//! What was made from a journal says how much of it there was.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// So many bytes of a journal, and what they were.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Mark {
    /// Its whole frames up to then.
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
