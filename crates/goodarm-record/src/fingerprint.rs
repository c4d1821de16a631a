//! A hash of the content that a file had when it was read. Certificates are about verifiers, and the scores of a
//! verifier may depend on files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// A file, and a hash of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// What the job calls the file.
    pub path: String,
    /// The BLAKE3 hash of its bytes, in hexadecimal.
    pub blake3: String,
}

impl Fingerprint {
    /// The fingerprint of a file with these bytes, which the job calls `path`.
    pub fn of(path: &str, bytes: &[u8]) -> Self {
        Self { path: path.to_owned(), blake3: blake3::hash(bytes).to_string() }
    }

    /// The fingerprint of the file at `place`, which the job calls `path`.
    pub fn read(path: &str, place: &Path) -> io::Result<Self> {
        let mut reader = HashingReader::new(File::open(place)?);
        reader.finish(path)
    }
}

/// A reader that takes the fingerprint of what passes through it.
pub struct HashingReader<R> {
    reader: R,
    hasher: blake3::Hasher,
}

impl<R: Read> HashingReader<R> {
    /// Wraps a reader: all bytes that are read go into the fingerprint.
    pub fn new(reader: R) -> Self {
        Self { reader, hasher: blake3::Hasher::new() }
    }

    /// Reads the rest, and returns the fingerprint of everything.
    pub fn finish(&mut self, path: &str) -> io::Result<Fingerprint> {
        io::copy(self, &mut io::sink())?;
        Ok(Fingerprint { path: path.to_owned(), blake3: self.hasher.finalize().to_string() })
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..length]);
        Ok(length)
    }
}

/// The relative path from one folder to another, by names alone: it stays right when both are moved together.
pub fn way(from: &Path, to: &Path) -> Option<String> {
    let plain = |path: &Path| -> Option<PathBuf> {
        let mut plain = PathBuf::new();
        for part in std::path::absolute(path).ok()?.components() {
            if part == Component::ParentDir {
                plain.pop();
            } else {
                plain.push(part);
            }
        }
        Some(plain)
    };
    let (from, to) = (plain(from)?, plain(to)?);
    let common = from.ancestors().find(|folder| to.starts_with(folder))?;
    let up = from.strip_prefix(common).ok()?.components().map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.strip_prefix(common).ok()?.components()).collect();
    way.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_one_folder_to_another_is_short() {
        for (from, to, way_there) in [
            ("/a/job/run", "/a/job", ".."),
            ("/a/job/../runs/one", "/a/job", "../../job"),
            ("job/run", "job", ".."),
            ("run", ".", ".."),
            ("/a/job", "/a/job", ""),
            ("/b", "/a/job", "../a/job"),
        ] {
            assert_eq!(way(Path::new(from), Path::new(to)).as_deref(), Some(way_there), "{from}");
        }
    }
}
