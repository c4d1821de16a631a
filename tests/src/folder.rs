//! A temporary folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder; deleted when dropped.
#[derive(Debug)]
pub struct TestFolder(TempDir);

impl TestFolder {
    /// A folder with these files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The path of a file, as an argument of a command.
    pub fn argument(&self, name: &str) -> String {
        self.join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.join(name), text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A JSON file.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }

    /// A file with a JSON value on each line.
    pub fn json_lines(&self, name: &str) -> Vec<Value> {
        self.read(name).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The number of lines of a file; 0 if there is no such file. Commands of tests add a line to `made`
    /// for each call.
    pub fn line_count(&self, name: &str) -> usize {
        fs::read_to_string(self.join(name)).map_or(0, |text| text.lines().count())
    }
}
