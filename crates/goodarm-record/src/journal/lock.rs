//! One process at a time in a run's folder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

/// The right to write in a run's folder, until dropped. The system releases it when the process dies. The file
/// `lock` itself stays and has no meaning.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// Why a folder could not be locked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds the lock.
    #[error("{} is in use by another process", folder.display())]
    Held {
        /// Which folder.
        folder: PathBuf,
    },
    /// The lock file could not be made or locked.
    #[error("cannot lock {}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
}

impl FolderLock {
    /// Locks an existing folder, unless another process holds the lock.
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join("lock");
        let opened = File::options().write(true).create(true).truncate(false).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(source) => return Err(LockError::Io { path, source }),
        };
        match lock(&file) {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { folder: folder.to_owned() }),
            Err(TryLockError::Error(source)) => Err(LockError::Io { path, source }),
        }
    }
}

/// Locks a file for as long as it is open.
pub(super) fn lock(file: &File) -> Result<(), TryLockError> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => {
                thread::sleep(PATIENCE / 20);
            }
            result => return result,
        }
    }
}

/// How long to wait for a lock. A killed process holds its lock until the system has cleaned up after it, and a
/// child that is being started shares its parent's lock for a moment.
const PATIENCE: Duration = Duration::from_millis(500);

/// The path of a file beside the one at `path`: the same name, with `ending` appended.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
