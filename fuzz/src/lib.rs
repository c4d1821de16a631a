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
pub struct Target {
    /// The name of the target, and of its folder in the corpus.
    pub name: &'static str,
    /// Reads the bytes; panics if something does not hold.
    pub run: fn(&[u8]),
}

/// All there are.
pub const TARGETS: &[Target] = &[
    Target { name: "answers", run: answers::extract },
    Target { name: "candidates-csv", run: |bytes| candidates::read("a.csv", bytes) },
    Target { name: "candidates-eval", run: |bytes| candidates::read("a.eval", bytes) },
    Target { name: "candidates-gzip", run: |bytes| candidates::read("a.jsonl.gz", bytes) },
    Target { name: "candidates-inspect", run: |bytes| candidates::of(Format::Inspect, bytes) },
    Target { name: "candidates-json", run: |bytes| candidates::read("a.json", bytes) },
    Target { name: "candidates-jsonl", run: |bytes| candidates::read("a.jsonl", bytes) },
    Target { name: "candidates-lm-eval", run: |bytes| candidates::of(Format::LmEval, bytes) },
    Target {
        name: "candidates-openai-batch",
        run: |bytes| candidates::of(Format::OpenaiBatch, bytes),
    },
    Target { name: "candidates-parquet", run: |bytes| candidates::read("a.parquet", bytes) },
    Target { name: "candidates-promptfoo", run: |bytes| candidates::of(Format::Promptfoo, bytes) },
    Target { name: "candidates-tsv", run: |bytes| candidates::read("a.tsv", bytes) },
    Target { name: "candidates-verifiers", run: |bytes| candidates::of(Format::Verifiers, bytes) },
    Target { name: "candidates-zstd", run: |bytes| candidates::read("a.jsonl.zst", bytes) },
    Target { name: "job", run: job::read },
    Target { name: "journal", run: journal::read },
    Target { name: "journal-records", run: journal::read_records },
    Target { name: "label-rows-csv", run: |bytes| label_files::read("a.csv", bytes) },
    Target { name: "label-rows-jsonl", run: |bytes| label_files::read("a.jsonl", bytes) },
    Target { name: "labels", run: labels::read },
    Target { name: "pool", run: recording::read_pool },
    Target { name: "program-output", run: programs::output },
    Target { name: "recording", run: recording::read },
    Target { name: "replies", run: people::read },
    Target { name: "reply-anthropic", run: |bytes| replies::receive("anthropic", bytes) },
    Target { name: "reply-http", run: |bytes| replies::receive("http", bytes) },
    Target { name: "reply-logprobs", run: |bytes| replies::receive("logprobs", bytes) },
    Target { name: "reply-openai", run: |bytes| replies::receive("openai", bytes) },
    Target { name: "resume", run: run::resume },
    Target { name: "resume-questions", run: run::resume_questions },
    Target { name: "schema", run: answers::validate },
    Target { name: "template", run: templates::render },
];

/// Two texts in one: what is before a line of three dashes, and what is behind it.
fn halves(bytes: &[u8]) -> Option<(&str, &str)> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.split_once("\n---\n").unwrap_or((text, "")))
}
