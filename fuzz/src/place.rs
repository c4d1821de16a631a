//! A folder for files that are read by their names.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().expect("a folder for files");
}

/// A folder of this thread's own.
pub(crate) fn folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_owned())
}

/// A file of this name and content in it.
pub(crate) fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder().join(name);
    write(&path, bytes.as_ref());
    path
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("the folder takes files");
}
