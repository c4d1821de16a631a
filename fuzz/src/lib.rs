//! Every reader of foreign bytes, one function each: files, replies, output of programs, templates. For any
//! bytes, none may panic, hang, or take more than [`MEMORY_BYTES_MAX`]; other properties are asserted where
//! possible.
//!
//! libFuzzer runs these functions (`src/main.rs`, `cargo xtask fuzz`), and so does a test
//! (`tests/corpus.rs`) over the corpus and mutations of it.

mod answers;
mod candidates;
mod folder;
mod job;
mod journal;
mod label_files;
mod labels;
mod people;
mod programs;
mod recording;
mod replies;
mod run;
mod templates;

use std::alloc::System;

use cap::Cap;
use goodarm_data::candidates::Format;

/// The most memory that a reader may take: one that allocates the length that a file states exceeds this and aborts.
pub const MEMORY_BYTES_MAX: usize = 1 << 30;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, MEMORY_BYTES_MAX);

/// A reader of foreign bytes.
pub struct FuzzTarget {
    /// The name of the target, and of its folder in the corpus.
    pub name: &'static str,
    /// Reads the bytes; panics if a property does not hold.
    pub run: fn(&[u8]),
}

/// All targets, in the order of their names.
pub const TARGETS: &[FuzzTarget] = &[
    target("answers", answers::extract),
    target("candidates-csv", |bytes| candidates::read("a.csv", bytes)),
    target("candidates-eval", |bytes| candidates::read("a.eval", bytes)),
    target("candidates-gzip", |bytes| candidates::read("a.jsonl.gz", bytes)),
    target("candidates-inspect", |bytes| candidates::of(Format::Inspect, bytes)),
    target("candidates-json", |bytes| candidates::read("a.json", bytes)),
    target("candidates-jsonl", |bytes| candidates::read("a.jsonl", bytes)),
    target("candidates-lm-eval", |bytes| candidates::of(Format::LmEval, bytes)),
    target("candidates-openai-batch", |bytes| candidates::of(Format::OpenaiBatch, bytes)),
    target("candidates-parquet", |bytes| candidates::read("a.parquet", bytes)),
    target("candidates-promptfoo", |bytes| candidates::of(Format::Promptfoo, bytes)),
    target("candidates-tsv", |bytes| candidates::read("a.tsv", bytes)),
    target("candidates-verifiers", |bytes| candidates::of(Format::Verifiers, bytes)),
    target("candidates-zstd", |bytes| candidates::read("a.jsonl.zst", bytes)),
    target("job", job::read),
    target("journal", journal::read),
    target("journal-records", journal::read_records),
    target("label-rows-csv", |bytes| label_files::read("a.csv", bytes)),
    target("label-rows-jsonl", |bytes| label_files::read("a.jsonl", bytes)),
    target("labels", labels::read),
    target("pool", recording::read_pool),
    target("program-output", programs::output),
    target("recording", recording::read),
    target("replies", people::read),
    target("reply-anthropic", |bytes| replies::receive("anthropic", bytes)),
    target("reply-http", |bytes| replies::receive("http", bytes)),
    target("reply-logprobs", |bytes| replies::receive("logprobs", bytes)),
    target("reply-openai", |bytes| replies::receive("openai", bytes)),
    target("resume", run::resume),
    target("resume-questions", run::resume_questions),
    target("schema", answers::validate),
    target("template", templates::render),
];

const fn target(name: &'static str, run: fn(&[u8])) -> FuzzTarget {
    FuzzTarget { name, run }
}

/// Two texts in one: before and after a line of three dashes.
fn halves(bytes: &[u8]) -> Option<(&str, &str)> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.split_once("\n---\n").unwrap_or((text, "")))
}
