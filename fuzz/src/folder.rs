//! A temporary folder for files that are read by name.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().expect("a folder for files");
}

/// The folder of this thread.
pub(crate) fn folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_owned())
}

/// Writes a file of this name and content into the folder.
pub(crate) fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder().join(name);
    write(&path, bytes.as_ref());
    path
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("the folder is writable");
}
