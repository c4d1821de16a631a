//! The I/O seam: everything that a journal does to its file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A file that grows at its end.
pub trait Storage {
    /// Writes all bytes at the end. After an error, any part of them may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything appended is on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to `len` bytes; appends go on from there.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

/// A journal's file.
#[derive(Debug)]
pub struct FileStorage {
    file: File,
}

impl FileStorage {
    /// Creates a file that must not exist yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create_new(true).open(path)?;
        sync_folder_of(path)?;
        Ok(Self { file })
    }

    /// Opens an existing file to write behind its end.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).open(path)?;
        // The process that created it may have died before its name was on the disk.
        sync_folder_of(path)?;
        Ok(Self { file })
    }

    /// Another handle on the file, for a thread that waits for the disk while this one is written to.
    pub fn syncer(&self) -> io::Result<Syncer> {
        self.file.try_clone().map(|file| Syncer { file })
    }
}

/// Makes durable what was written to a journal's file elsewhere.
#[derive(Debug)]
pub struct Syncer {
    file: File,
}

impl Syncer {
    /// Returns when everything that had been written before is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl Storage for FileStorage {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}

/// A new file is lost in a power cut if its folder does not know it.
#[cfg(unix)]
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file; the system looks after names itself.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
pub(crate) fn sync_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}
