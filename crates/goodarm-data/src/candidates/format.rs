//! In which form a file holds its candidates: said by the job, by the file's name, or by its content.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a file is.
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
    /// What a batch of requests to OpenAI or vLLM came back with.
    OpenaiBatch,
    /// Traces or results of verifiers.
    Verifiers,
}

/// How the bytes of a file have to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileLayout {
    /// A JSON text on each line.
    Lines,
    /// JSON texts one after the other, or one array of them.
    Document,
    /// Rows of texts with this byte between them.
    Rows(u8),
    Parquet,
    /// An archive of JSON texts.
    Zip,
}

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Format {
    /// Whether another tool has written the file, so that its entries are not candidates yet.
    /// How a file of rows is read, by its name: `None` if it is not one of texts.
    pub fn of_table(path: &Path) -> Option<Self> {
        match layout_of(path, None)?.0 {
            FileLayout::Rows(b',') => Some(Self::Csv),
            FileLayout::Rows(_) => Some(Self::Tsv),
            FileLayout::Lines => Some(Self::Jsonl),
            FileLayout::Document => Some(Self::Json),
            FileLayout::Parquet | FileLayout::Zip => None,
        }
    }

    pub(super) const fn is_tool(self) -> bool {
        self.tool().is_some()
    }

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

    /// What the key `format` of a job calls it.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Which tool has written an object with these fields: only one that has all of these.
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

/// How to read the file: by what the job says, or else by its name; `None` if neither does.
pub(super) fn layout_of(path: &Path, format: Option<Format>) -> Option<(FileLayout, Packing)> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let packings = [(".gz", Packing::Gzip), (".zst", Packing::Zstd), (".zstd", Packing::Zstd)];
    let packed =
        packings.iter().find_map(|(end, packing)| Some((name.strip_suffix(end)?, *packing)));
    let (plain, packing) = packed.unwrap_or((&name, Packing::None));
    let by_name = LAYOUTS.iter().find(|(end, _)| plain.ends_with(end)).map(|(_, layout)| *layout);
    let layout = match format {
        None => by_name?,
        Some(Format::Jsonl) => FileLayout::Lines,
        Some(Format::Json) => FileLayout::Document,
        Some(Format::Csv) => FileLayout::Rows(b','),
        Some(Format::Tsv) => FileLayout::Rows(b'\t'),
        Some(Format::Parquet) => FileLayout::Parquet,
        // A tool's own ending says how; under any other name its texts are found as they come.
        Some(_) => match by_name {
            Some(layout @ (FileLayout::Lines | FileLayout::Zip)) => layout,
            _ => FileLayout::Document,
        },
    };
    // Neither has room for a compression around it: both are read from their ends.
    let is_possible =
        packing == Packing::None || !matches!(layout, FileLayout::Parquet | FileLayout::Zip);
    is_possible.then_some((layout, packing))
}

/// All formats in their order, with the names that a job calls them by.
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
    fn a_format_is_read_by_the_name_that_it_is_written_with() {
        for (format, name) in NAMES {
            assert_eq!(format.name(), name);
            assert_eq!(name.parse(), Ok(format));
            assert_eq!(serde_json::to_value(format).expect("a name"), name);
        }
    }
}
