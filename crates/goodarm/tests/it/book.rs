//! The book does what it says: its files are written, its commands run, their output compared.
//!
//! In the tutorial, the how-to and the explanation pages the word after a fence's language says what
//! the block is:
//!
//! - `file=NAME`: the reader saves it; `append=NAME`: the reader adds it to a file.
//! - `console`: commands after `$ `, each with what it prints. `exit=N`: the status of the last one.
//!   `numbers-vary`: only the words are compared, verifiers being noisy. `background`: goes on
//!   running. `no-run=REASON`: not run. `…` stands for anything, alone on a line for any lines.
//! - `from=PATH`: a part of that file.
//!
//! Each page has a folder of its own, and all its commands run there in order.

mod links;
mod page;
mod readme;

use std::collections::BTreeSet;
use std::fs;

use page::check;

use crate::tool::{goodarm, root, text};

#[test]
fn the_tutorial_works() {
    check("tutorial.md");
}

#[test]
fn trying_works() {
    check("how-to/try-it-first.md");
}

#[test]
fn thresholds_are_chosen_as_shown() {
    check("how-to/calibrate.md");
}

#[test]
fn questions_are_answered_as_shown() {
    check("how-to/questions.md");
}

#[test]
fn what_is_certified_is_labelled() {
    check("how-to/certify-truth.md");
}

#[test]
fn an_llm_judge_works() {
    check("how-to/llm-judge.md");
}

#[test]
fn a_rubric_works() {
    check("how-to/rubrics.md");
}

#[test]
fn endpoints_are_written_as_shown() {
    check("how-to/endpoints.md");
}

#[test]
fn people_are_asked_as_shown() {
    check("how-to/ask-people.md");
}

#[test]
fn unit_tests_work() {
    check("how-to/unit-tests.md");
}

#[test]
fn the_cascade_works() {
    check("how-to/cascade.md");
}

#[test]
fn thresholds_and_delta_cost_what_the_page_says() {
    check("how-to/choose-thresholds-and-delta.md");
}

#[test]
fn files_of_other_tools_work() {
    check("how-to/files-of-other-tools.md");
}

#[test]
fn resuming_and_auditing_work() {
    check("how-to/resume-and-audit.md");
}

#[test]
fn the_report_is_as_shown() {
    check("how-to/read-the-report.md");
}

#[test]
fn a_run_is_embedded_as_shown() {
    check("how-to/embed-a-run.md");
}

#[test]
fn the_core_is_embedded_as_shown() {
    check("how-to/embed-the-core.md");
}

/// Their programs are run by tests of the Python package.
#[test]
fn the_pages_about_python_are_as_shown() {
    for page in PYTHON_PAGES {
        check(&format!("how-to/{page}.md"));
    }
}

#[test]
fn the_explanations_are_true() {
    for page in EXPLANATIONS {
        check(&format!("explanation/{page}.md"));
    }
}

#[test]
fn every_page_is_checked_and_in_the_table_of_contents() {
    let contents = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let tests = include_str!("book.rs");
    for folder in ["how-to", "explanation"] {
        for entry in fs::read_dir(root().join("docs").join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                contents.contains(&format!("({folder}/{name})")),
                "{name} is not in the contents"
            );
            let stem = name.strip_suffix(".md").unwrap();
            assert!(tests.contains(stem), "{name} is not checked");
        }
    }
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_page = name.ends_with(".md") && name != "README.md";
        assert!(
            !is_page || contents.contains(&format!("({name})")),
            "{name} is not in the contents"
        );
    }
}

#[test]
fn the_reference_names_every_key_of_a_job() {
    let schema: serde_json::Value = serde_json::from_str(&text(&goodarm(&["schema"]))).unwrap();
    let page = fs::read_to_string(root().join("docs/job-file.md")).unwrap();
    let mut keys = BTreeSet::new();
    let tables = schema["$defs"].as_object().unwrap().values().chain([&schema]);
    for properties in tables.filter_map(|table| table["properties"].as_object()) {
        keys.extend(properties.keys());
    }
    assert!(keys.len() > 50, "{}", keys.len());
    for key in keys {
        let is_named = page.contains(&format!("`{key}`")) || page.contains(&format!("{key} = "));
        assert!(is_named, "{key}");
    }
}

#[test]
fn the_reference_names_every_exit_code() {
    let page = fs::read_to_string(root().join("docs/outputs.md")).unwrap();
    let codes: Vec<&str> = include_str!("../../../goodarm-terminal/src/exit.rs")
        .lines()
        .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "))
        .map(|(_, code)| code)
        .collect();
    assert!(codes.len() >= 6, "{codes:?}");
    for code in codes {
        assert!(page.contains(&format!("\n| {code} | ")), "exit code {code}");
    }
}

const PYTHON_PAGES: [&str; 5] =
    ["plan-in-python", "python-openai", "python-reward-model", "ray", "scale-out"];

const EXPLANATIONS: [&str; 5] = [
    "how-the-policy-thinks",
    "limits",
    "what-is-certified",
    "why-repeated-calls",
    "why-the-papers-rule-needed-help",
];
