//! The I/O seam: everything that a journal does to its file.

#[cfg(unix)]
use std::fs;
#[cfg(not(windows))]
use std::fs::TryLockError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[cfg(not(windows))]
use super::lock::lock;

/// A file that grows at its end.
pub trait Storage {
    /// Writes all bytes at the end. After an error, any part of them may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything appended is on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to `len` bytes; appends continue from there.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

/// A journal's file. No other process writes to it while it is open; all may read.
#[derive(Debug)]
pub struct FileStorage {
    own: Syncer,
    /// The length of the file after our last write.
    len: u64,
}

impl FileStorage {
    /// Creates a file that must not exist yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::own(File::options().append(true).create_new(true), path)
    }

    /// Opens an existing file to append to it. If another process writes to it, the error is
    /// [`io::ErrorKind::ResourceBusy`].
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::own(File::options().append(true), path)
    }

    /// Like [`FileStorage::open`], but makes the file if it does not exist.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        Self::own(File::options().append(true).create(true), path)
    }

    fn own(options: &mut OpenOptions, path: &Path) -> io::Result<Self> {
        let file = open_alone(options, path)?;
        // The process that created the file may have died before the file's name was on the disk.
        sync_folder_of(path)?;
        let len = file.metadata()?.len();
        // A program that embeds us may change the working directory.
        let path = std::path::absolute(path)?;
        // On some file systems, device and inode of the same file are different each time.
        let is_found_again = is_at(&file, &path)?;
        Ok(Self { own: Syncer { file, path, is_found_again }, len })
    }

    /// Another handle on the file, for a thread that waits for the disk while this one is written to.
    pub fn syncer(&self) -> io::Result<Syncer> {
        let Syncer { file, path, is_found_again } = &self.own;
        let (path, is_found_again) = (path.clone(), *is_found_again);
        Ok(Syncer { file: file.try_clone()?, path, is_found_again })
    }
}

/// Makes durable what was written to a journal's file elsewhere.
#[derive(Debug)]
pub struct Syncer {
    file: File,
    path: PathBuf,
    /// Whether the system can tell that the file at the path is this one.
    is_found_again: bool,
}

impl Syncer {
    /// Returns when everything that had been written before is on the disk. Fails if the file is no longer
    /// at its path, where readers look for it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        if self.is_found_again && !is_at(&self.file, &self.path)? {
            return Err(io::Error::other("it was moved, replaced or deleted"));
        }
        Ok(())
    }
}

impl Storage for FileStorage {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.own.file.metadata()?.len() != self.len {
            return Err(io::Error::other("another process has written to it"));
        }
        self.own.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.own.sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.own.file.set_len(len)?;
        self.len = len;
        Ok(())
    }
}

/// Opens a file for this process alone to write.
#[cfg(not(windows))]
fn open_alone(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path)?;
    match lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(busy()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// On Windows a lock would also keep readers out; a share mode lets no other process write, move or delete.
#[cfg(windows)]
fn open_alone(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt as _;
    const FILE_SHARE_READ: u32 = 1;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    options.share_mode(FILE_SHARE_READ).open(path).map_err(|error| {
        if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) { busy() } else { error }
    })
}

fn busy() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "another process writes to it")
}

/// Whether the file at a path is this one.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere the system keeps an open file where it is.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Syncs the folder of a file: otherwise a power cut may lose a new file.
#[cfg(unix)]
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file; the system looks after names itself.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
pub fn sync_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}
