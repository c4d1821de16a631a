//! An experiment file: TOML in, an experiment or a helpful error out.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use goodarm_data::bounds;
use goodarm_files::toml_text::{TomlError, parse};
use goodarm_sim::experiment::{Experiment, ExperimentError};
use thiserror::Error;

/// Why an experiment file cannot be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExperimentFileError {
    /// It, or the file of recorded answers, cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It does not say what an experiment file says.
    #[error("{}: {error}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Where, and what was meant.
        error: TomlError,
    },
    /// What it says cannot be run.
    #[error("{}: {error}", path.display())]
    Experiment {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: ExperimentError,
    },
}

/// Reads and checks an experiment; `data` holds recorded answers for worlds that replay them.
pub fn read(path: &Path, data: Option<&Path>) -> Result<Experiment, ExperimentFileError> {
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
    let data = data.map(read_data).transpose()?;
    let spec =
        parse(&text).map_err(|error| ExperimentFileError::Text { path: path.to_owned(), error })?;
    Experiment::new(spec, data.as_deref())
        .map_err(|error| ExperimentFileError::Experiment { path: path.to_owned(), error })
}

/// Recorded answers; compressed if the name says so.
pub fn read_data(path: &Path) -> Result<String, ExperimentFileError> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        let file = fs::File::open(path)?;
        bounds::unpacked(path, file).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: io::Error) -> ExperimentFileError {
    ExperimentFileError::File { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use goodarm_sim::experiment::ExperimentSpec;

    use super::*;

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_right_spelling() {
        let error = parse::<ExperimentSpec>("title = \"x\"\nsed = 1\n").unwrap_err();
        assert_eq!((error.line, error.suggestion.as_deref()), (2, Some("seed")), "{error}");
    }

    /// A megabyte of zeros packs to a kilobyte, over and over.
    #[test]
    fn recorded_answers_that_unpack_without_end_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.jsonl.gz");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..129).for_each(|_| packed.write_all(&[b' '; 1 << 20]).unwrap());
        fs::write(&path, packed.finish().unwrap()).unwrap();
        let error = read_data(&path).unwrap_err().to_string();
        assert!(error.contains("it unpacks to more than 128 MiB"), "{error}");
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = parse::<ExperimentSpec>("title = \"x\"\n").unwrap_err();
        assert!(error.message.contains("seed"), "{error}");
    }
}
