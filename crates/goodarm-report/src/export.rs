//! The answers of a run in the formats of other tools: a table, a dataset of Hugging Face, a dataset of
//! inspect_ai.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use goodarm_core::ArmStatus;
use goodarm_data::candidates::{Candidate, Candidates, KEY};
use goodarm_data::table::Table;
use goodarm_record::outputs::flat::{self, FlatRow};
use goodarm_record::outputs::{OutputError, replace};
use goodarm_record::view::VerifierView;
use serde_json::{Value, json};
use thiserror::Error;

use crate::Report;
use crate::report::ReportAnswer;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// A table with a header row.
    Csv,
    /// The same table as a Parquet file.
    Parquet,
    /// A folder that `datasets.load_dataset` reads.
    HuggingFace,
    /// Lines that `inspect_ai.dataset.json_dataset` reads.
    Inspect,
}

/// What to export, in which format, and where to.
#[derive(Clone, Debug)]
pub struct ExportRequest<'a> {
    /// The format of the export.
    pub format: ExportFormat,
    /// All answers with their status, not only the certified ones.
    pub all: bool,
    /// The path of the file or folder to write. `None`: one in the run's folder, named after the format.
    pub out: Option<&'a Path>,
    /// The fields of the question and the answer, for inspect_ai.
    pub fields: Option<(String, String)>,
}

/// A file or folder that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its path.
    pub path: PathBuf,
    /// The number of answers.
    pub count: usize,
}

/// Why an export failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The run's folder has no file of candidates.
    #[error("{0}")]
    NoCandidates(String),
    /// The field of the question or the answer cannot be guessed.
    #[error("none of the usual names is a field of every answer: name the {0} with --{0} FIELD")]
    NoField(&'static str),
    /// A folder cannot be made.
    #[error("{}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Report {
    /// The candidates with their own fields; `None` if the folder no longer has them.
    pub fn candidates(&self) -> Option<&Candidates> {
        self.subjects.as_ref().map(|subjects| &*subjects.candidates)
    }

    /// Writes the answers for another tool.
    pub fn export(&self, request: &ExportRequest<'_>) -> Result<ExportedFile, ExportError> {
        let rows = self.rows(request.all)?;
        let name = if request.all { "answers" } else { "certified" };
        let ending = match request.format {
            ExportFormat::Csv => "csv",
            ExportFormat::Parquet => "parquet",
            ExportFormat::HuggingFace => "hf",
            ExportFormat::Inspect => "inspect.jsonl",
        };
        let beside = || self.folder.path().join(format!("{name}.{ending}"));
        let path = request.out.map_or_else(beside, Path::to_owned);
        match request.format {
            ExportFormat::Csv => {
                replace(&path, |file| file.write_all(self.flat(&rows).csv().as_bytes()))?;
            }
            ExportFormat::Parquet => replace(&path, |file| self.flat(&rows).write_parquet(file))?,
            ExportFormat::HuggingFace => self.write_dataset(&path, &rows)?,
            ExportFormat::Inspect => {
                let (question, answer) =
                    request.fields.as_ref().ok_or(ExportError::NoField("answer"))?;
                let verifiers = &self.data.overview.verifiers;
                let sample = |row| sample(row, verifiers, [question, answer]);
                replace(&path, |file| {
                    rows.iter().try_for_each(|row| writeln!(file, "{}", sample(row)))
                })?;
            }
        }
        Ok(ExportedFile { path, count: rows.len() })
    }

    /// The status of every answer, and the rank of its certificate, in the order of the file.
    pub fn statuses(&self) -> impl Iterator<Item = (ArmStatus, Option<usize>)> + '_ {
        self.data.answers.iter().map(|answer| (answer.view.status, answer.view.rank))
    }

    /// All answers in the order of the file, as one flat table.
    pub fn table(&self) -> Result<Table, ExportError> {
        Ok(self.flat(&self.rows(true)?))
    }

    fn flat(&self, rows: &[FlatRow]) -> Table {
        flat::table(rows, &self.data.overview.verifiers)
    }

    /// The certified answers in the order of their certificates, or all in the order of the file.
    fn rows(&self, all: bool) -> Result<Vec<FlatRow>, ExportError> {
        let candidates = self.candidates().ok_or_else(|| {
            let notes = self.notes().join(" ");
            ExportError::NoCandidates(format!("there is nothing to export. {notes}"))
        })?;
        let is_wanted = |it: &&ReportAnswer| all || it.view.status == ArmStatus::Certified;
        let mut answers: Vec<_> = self.data.answers.iter().filter(is_wanted).collect();
        if !all {
            answers.sort_by_key(|answer| answer.view.rank);
        }
        let row = |answer: &ReportAnswer| FlatRow {
            candidate: candidates.get(answer.view.arm),
            answer: answer.view.clone(),
        };
        Ok(answers.into_iter().map(row).collect())
    }

    fn write_dataset(&self, folder: &Path, rows: &[FlatRow]) -> Result<(), ExportError> {
        let data = folder.join("data");
        fs::create_dir_all(&data)
            .map_err(|error| ExportError::Folder { path: data.clone(), error })?;
        let table = self.flat(rows);
        replace(&data.join("train-00000-of-00001.parquet"), |file| table.write_parquet(file))?;
        let delta = self.data.overview.delta;
        let card = format!(
            "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: \
             data/train-*.parquet\ntags:\n- goodarm\n---\n\n# Answers of a goodarm run\n\n{} answers. \
             Those whose `{KEY}.status` is `certified` have a mean score that reaches the threshold of \
             every verifier, with an error probability δ = {delta} for the run. The columns \
             `{KEY}.VERIFIER.mean`, `.threshold`, `.calls`, `.met` and `.spent` are the evidence; all \
             others are the candidates' own fields.\n",
            rows.len(),
        );
        replace(&folder.join("README.md"), |file| file.write_all(card.as_bytes()))?;
        Ok(())
    }
}

/// An answer as a sample of inspect_ai: the question is the input, the answer is the target.
fn sample(row: &FlatRow, verifiers: &[VerifierView], [question, answer]: [&str; 2]) -> Value {
    let Candidate { id, .. } = &row.candidate;
    let text = |path: &str| match row.candidate.field(path) {
        Some(Value::String(text)) => Value::from(text.as_str()),
        Some(other) => Value::from(other.to_string()),
        None => Value::from(""),
    };
    let own = row.candidate.fields().iter();
    let mut metadata: serde_json::Map<String, Value> = own
        .filter(|(name, _)| *name != question && *name != answer)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    metadata.insert(
        KEY.to_owned(),
        serde_json::to_value(row.answer.finding(verifiers)).unwrap_or_default(),
    );
    json!({"id": id, "input": text(question), "target": text(answer), "metadata": metadata})
}
