//! The format of a file of candidates, from the job, the file's name, or its content.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::{self, Packing};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A JSON object on each line, taken as it is.
    Jsonl,
    /// A JSON array of objects, taken as they are.
    Json,
    /// A header row with names, then rows of texts.
    Csv,
    /// The same with tabs instead of commas.
    Tsv,
    /// Columns of texts, numbers, lists and structs.
    Parquet,
    /// A log of inspect_ai: .eval or .json.
    Inspect,
    /// Samples of lm-evaluation-harness.
    LmEval,
    /// Results of promptfoo, as .json or .jsonl.
    Promptfoo,
    /// Results of a batch of requests to OpenAI or vLLM.
    OpenaiBatch,
    /// Traces or results of verifiers.
    Verifiers,
}

/// The layout of the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileLayout {
    /// A JSON text on each line.
    Lines,
    /// JSON texts in sequence, or one array of them.
    Document,
    /// Rows of texts with this delimiter.
    Rows(u8),
    Parquet,
    /// An archive of JSON texts.
    Zip,
}

impl Format {
    /// The tool that writes such files.
    pub(super) const fn tool(self) -> Option<&'static str> {
        match self {
            Self::Jsonl | Self::Json | Self::Csv | Self::Tsv | Self::Parquet => None,
            Self::Inspect => Some("inspect_ai"),
            Self::LmEval => Some("lm-evaluation-harness"),
            Self::Promptfoo => Some("promptfoo"),
            Self::OpenaiBatch => Some("an OpenAI batch"),
            Self::Verifiers => Some("verifiers"),
        }
    }

    /// The word for it in the key `format` of a job.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The tool that wrote an object with these fields, if all fields that mark it are present.
    pub(super) fn recognised(fields: &BTreeSet<std::borrow::Cow<'_, str>>) -> Option<Self> {
        let has = |names: &[&str]| names.iter().all(|name| fields.contains(*name));
        let marks: [(Self, &[&str]); 7] = [
            (Self::Inspect, &["eval", "status", "version"]),
            (Self::LmEval, &["doc_id", "doc", "resps", "filtered_resps"]),
            (Self::Promptfoo, &["results", "evalId"]),
            (Self::Promptfoo, &["testIdx", "promptIdx", "vars", "provider"]),
            (Self::OpenaiBatch, &["custom_id", "response", "error"]),
            (Self::Verifiers, &["id", "task", "nodes", "rewards"]),
            (Self::Verifiers, &["example_id", "prompt", "completion", "reward"]),
        ];
        marks.iter().find(|(_, names)| has(names)).map(|(format, _)| *format)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.into_iter().find(|(_, name)| *name == text);
        found
            .map(|(format, _)| format)
            .ok_or_else(|| goodarm_files::none_of(text, &NAMES.map(|(_, name)| name)))
    }
}

/// The layout of a file, from the job's format or else from the file's name; `None` if it is unknown.
pub(super) fn layout_of(path: &Path, format: Option<Format>) -> Option<(FileLayout, Packing)> {
    let (plain, packing) = bounds::packing_of(path);
    let by_name = LAYOUTS.iter().find(|(end, _)| plain.ends_with(end)).map(|(_, layout)| *layout);
    let layout = match format {
        None => by_name?,
        Some(Format::Jsonl) => FileLayout::Lines,
        Some(Format::Json) => FileLayout::Document,
        Some(Format::Csv) => FileLayout::Rows(b','),
        Some(Format::Tsv) => FileLayout::Rows(b'\t'),
        Some(Format::Parquet) => FileLayout::Parquet,
        // The ending decides for a tool's usual file names; otherwise the JSON texts are read in sequence.
        Some(_) => match by_name {
            Some(layout @ (FileLayout::Lines | FileLayout::Zip)) => layout,
            _ => FileLayout::Document,
        },
    };
    // Parquet and zip files are read from their ends, so they cannot be compressed as a whole.
    let is_possible =
        packing == Packing::None || !matches!(layout, FileLayout::Parquet | FileLayout::Zip);
    is_possible.then_some((layout, packing))
}

/// All formats in the order of the enum, with their names in jobs.
const NAMES: [(Format, &str); 10] = [
    (Format::Jsonl, "jsonl"),
    (Format::Json, "json"),
    (Format::Csv, "csv"),
    (Format::Tsv, "tsv"),
    (Format::Parquet, "parquet"),
    (Format::Inspect, "inspect"),
    (Format::LmEval, "lm-eval"),
    (Format::Promptfoo, "promptfoo"),
    (Format::OpenaiBatch, "openai-batch"),
    (Format::Verifiers, "verifiers"),
];

const LAYOUTS: [(&str, FileLayout); 8] = [
    (".jsonl", FileLayout::Lines),
    (".ndjson", FileLayout::Lines),
    (".json", FileLayout::Document),
    (".csv", FileLayout::Rows(b',')),
    (".tsv", FileLayout::Rows(b'\t')),
    (".parquet", FileLayout::Parquet),
    (".pq", FileLayout::Parquet),
    (".eval", FileLayout::Zip),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_formats_are_the_same_everywhere() {
        for (format, name) in NAMES {
            assert_eq!(format.name(), name);
            assert_eq!(name.parse(), Ok(format));
            assert_eq!(serde_json::to_value(format).expect("a name"), name);
        }
    }
}
