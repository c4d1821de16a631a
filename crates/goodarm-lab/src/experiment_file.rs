//! Reads an experiment file.

use std::fs;
use std::io::Read;
use std::path::Path;

use goodarm_data::bounds;
use goodarm_files::toml_text::parse;

use crate::experiment::Experiment;
use crate::lab_error::LabError;

/// Reads and checks an experiment; `data` holds recorded answers for worlds that replay them.
pub fn read(path: &Path, data: Option<&Path>) -> Result<Experiment, LabError> {
    let text = fs::read_to_string(path).map_err(|error| LabError::file(path, error))?;
    let data = data.map(read_data).transpose()?;
    let spec = parse(&text).map_err(|error| LabError::file(path, error))?;
    Experiment::new(spec, data.as_deref()).map_err(|error| LabError::file(path, error))
}

/// Recorded answers; unpacked if the name ends like that of a packed file.
pub fn read_data(path: &Path) -> Result<String, LabError> {
    let mut text = String::new();
    fs::File::open(path)
        .and_then(|file| bounds::unpacked(path, file)?.read_to_string(&mut text))
        .map_err(|error| LabError::file(path, error))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use crate::experiment::ExperimentSpec;

    use super::*;

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_right_spelling() {
        let error = parse::<ExperimentSpec>("title = \"x\"\nsed = 1\n").unwrap_err();
        let error = error.to_string();
        assert_eq!(error, "line 2, column 1: sed: no such key; did you mean `seed`?");
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
        assert!(error.to_string().contains("seed"), "{error}");
    }
}
