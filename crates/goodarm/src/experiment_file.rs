//! An experiment file: TOML in, an experiment or a helpful error out.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use goodarm_files::toml_text::parse;
use goodarm_sim::experiment::Experiment;

use crate::commands::Failure;

/// Reads and checks an experiment; `data` holds recorded answers for worlds that replay them.
pub(crate) fn read(path: &Path, data: Option<&Path>) -> Result<Experiment, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    let data = data.map(read_data).transpose()?;
    let spec = parse(&text)
        .map_err(|error| Failure::wrong_input(format!("{}: {error}", path.display())))?;
    Experiment::new(spec, data.as_deref())
        .map_err(|error| Failure::wrong_input(format!("{}: {error}", path.display())))
}

/// Recorded answers; compressed if the name says so.
pub(crate) fn read_data(path: &Path) -> Result<String, Failure> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        let file = fs::File::open(path)?;
        if path.extension().is_some_and(|extension| extension == "gz") {
            flate2::read::GzDecoder::new(file).read_to_string(&mut text)?;
        } else {
            io::BufReader::new(file).read_to_string(&mut text)?;
        }
        Ok(text)
    };
    read().map_err(|error| Failure::file(path, &error))
}

#[cfg(test)]
mod tests {
    use goodarm_sim::experiment::ExperimentSpec;

    use super::*;

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_right_spelling() {
        let error = parse::<ExperimentSpec>("title = \"x\"\nsed = 1\n").unwrap_err();
        assert_eq!((error.line, error.suggestion.as_deref()), (2, Some("seed")), "{error}");
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = parse::<ExperimentSpec>("title = \"x\"\n").unwrap_err();
        assert!(error.message.contains("seed"), "{error}");
    }
}
