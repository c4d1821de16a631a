//! Every reader of bytes that others wrote, one function each: files, replies, lines of programs,
//! templates. None may panic, hang, or take more than [`MEMORY_BYTES_MAX`], whatever the bytes; what
//! else must hold is asserted where it can be.
//!
//! The same functions are run by libFuzzer (`src/main.rs`, `cargo xtask fuzz`) and, over the corpus and
//! changes of it, by an ordinary test (`tests/corpus.rs`).

mod answers;
mod candidates;
mod job;
mod journal;
mod label_files;
mod labels;
mod people;
mod place;
mod programs;
mod recording;
mod replies;
mod run;
mod templates;

use std::alloc::System;

use cap::Cap;
use goodarm_data::candidates::Format;

/// A reader that allocates by what a file claims reaches it, and aborts.
pub const MEMORY_BYTES_MAX: usize = 1 << 30;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, MEMORY_BYTES_MAX);

/// Something that reads foreign bytes.
pub struct FuzzTarget {
    /// The name of the target, and of its folder in the corpus.
    pub name: &'static str,
    /// Reads the bytes; panics if something does not hold.
    pub run: fn(&[u8]),
}

/// All there are.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "answers", run: answers::extract },
    FuzzTarget { name: "candidates-csv", run: |bytes| candidates::read("a.csv", bytes) },
    FuzzTarget { name: "candidates-eval", run: |bytes| candidates::read("a.eval", bytes) },
    FuzzTarget { name: "candidates-gzip", run: |bytes| candidates::read("a.jsonl.gz", bytes) },
    FuzzTarget { name: "candidates-inspect", run: |bytes| candidates::of(Format::Inspect, bytes) },
    FuzzTarget { name: "candidates-json", run: |bytes| candidates::read("a.json", bytes) },
    FuzzTarget { name: "candidates-jsonl", run: |bytes| candidates::read("a.jsonl", bytes) },
    FuzzTarget { name: "candidates-lm-eval", run: |bytes| candidates::of(Format::LmEval, bytes) },
    FuzzTarget {
        name: "candidates-openai-batch",
        run: |bytes| candidates::of(Format::OpenaiBatch, bytes),
    },
    FuzzTarget { name: "candidates-parquet", run: |bytes| candidates::read("a.parquet", bytes) },
    FuzzTarget {
        name: "candidates-promptfoo",
        run: |bytes| candidates::of(Format::Promptfoo, bytes),
    },
    FuzzTarget { name: "candidates-tsv", run: |bytes| candidates::read("a.tsv", bytes) },
    FuzzTarget {
        name: "candidates-verifiers",
        run: |bytes| candidates::of(Format::Verifiers, bytes),
    },
    FuzzTarget { name: "candidates-zstd", run: |bytes| candidates::read("a.jsonl.zst", bytes) },
    FuzzTarget { name: "job", run: job::read },
    FuzzTarget { name: "journal", run: journal::read },
    FuzzTarget { name: "journal-records", run: journal::read_records },
    FuzzTarget { name: "label-rows-csv", run: |bytes| label_files::read("a.csv", bytes) },
    FuzzTarget { name: "label-rows-jsonl", run: |bytes| label_files::read("a.jsonl", bytes) },
    FuzzTarget { name: "labels", run: labels::read },
    FuzzTarget { name: "pool", run: recording::read_pool },
    FuzzTarget { name: "program-output", run: programs::output },
    FuzzTarget { name: "recording", run: recording::read },
    FuzzTarget { name: "replies", run: people::read },
    FuzzTarget { name: "reply-anthropic", run: |bytes| replies::receive("anthropic", bytes) },
    FuzzTarget { name: "reply-http", run: |bytes| replies::receive("http", bytes) },
    FuzzTarget { name: "reply-logprobs", run: |bytes| replies::receive("logprobs", bytes) },
    FuzzTarget { name: "reply-openai", run: |bytes| replies::receive("openai", bytes) },
    FuzzTarget { name: "resume", run: run::resume },
    FuzzTarget { name: "resume-questions", run: run::resume_questions },
    FuzzTarget { name: "schema", run: answers::validate },
    FuzzTarget { name: "template", run: templates::render },
];

/// Two texts in one: what is before a line of three dashes, and what is behind it.
fn halves(bytes: &[u8]) -> Option<(&str, &str)> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.split_once("\n---\n").unwrap_or((text, "")))
}
