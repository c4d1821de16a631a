//! One process at a time in a run's folder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The right to write in a run's folder, until dropped. The system gives it back when the process
/// dies in whatever way; the file `lock` itself stays and means nothing.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// Why a folder could not be locked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else holds the lock.
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
    /// Takes the lock of a folder that exists, or says at once that it is taken.
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join("lock");
        let opened = File::options().write(true).create(true).truncate(false).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(source) => return Err(LockError::Io { path, source }),
        };
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { folder: folder.to_owned() }),
            Err(TryLockError::Error(source)) => Err(LockError::Io { path, source }),
        }
    }
}
