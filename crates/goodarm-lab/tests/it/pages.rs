//! The examples, the reference page and the help say what is true.

use std::fs;

use crate::tool::{lab, lines, message, root, text, trace_bytes};

fn page() -> String {
    fs::read_to_string(root().join("docs/trace.md")).expect("the page is there")
}

/// The first block of the page that is fenced with this language.
fn block(page: &str, language: &str) -> String {
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("the page has the block");
    rest.split_once("```").expect("the block ends").0.to_owned()
}

#[test]
fn every_example_file_runs() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let output = lab(&["trace", path.to_str().unwrap()]);
            let lines = lines(&output);
            let certified = lines.last().unwrap()["certified"].as_array().unwrap();
            assert!(!certified.is_empty(), "{} certifies nothing", path.display());
            count += 1;
        }
    }
    assert!(count >= 4);
}

#[test]
fn the_page_shows_the_example_file_and_its_trace() {
    let page = page();
    let file = fs::read_to_string(root().join("examples/two-answers.json")).unwrap();
    assert_eq!(block(&page, "json"), file);
    let console = block(&page, "console");
    let (command, shown) = console.split_once('\n').unwrap();
    let arguments: Vec<&str> = command.strip_prefix("$ goodarm-lab ").unwrap().split(' ').collect();
    assert_eq!(text(&lab(&arguments)), shown);
}

#[test]
fn the_page_shows_a_real_error() {
    let wrong = br#"{"arms": 3, "budget": 9, "delta": 0.1, "verifiers": [
            {"name": "a", "price": 1, "threshold": 0.5, "scores": "bounded"},
            {"name": "b", "price": 1, "threshold": 0.5, "scores": "binary"}],
        "observations": [[[1], [1]], [[1], [1]], [[1], [0.5]]]}"#;
    let told = message(&trace_bytes(wrong)).replace("standard input", "problem.json");
    assert!(page().contains(&told), "{told}");
}

#[test]
fn the_example_in_the_help_gives_the_lines_in_the_help() {
    let help = text(&lab(&["trace", "--help"]));
    let start = help.find("{\"arms\"").unwrap();
    let end = start + help[start..].find("\n\n").unwrap();
    let told = text(&trace_bytes(&help.as_bytes()[start..end]));
    let shown: Vec<&str> =
        help.lines().map(str::trim).filter(|line| line.starts_with("{\"t\":")).collect();
    assert!(!shown.is_empty());
    assert_eq!(told.lines().take(shown.len()).collect::<Vec<_>>(), shown);
}

/// The tool lists all fields when it is given one that is like none of them.
#[test]
fn the_help_names_every_figure() {
    let help = text(&lab(&["reproduce", "--help"]));
    let words: Vec<&str> = help.split(|c: char| c.is_whitespace() || ",.".contains(c)).collect();
    for figure in goodarm_lab::figures::FIGURES {
        assert!(words.contains(&figure.name), "{}: {help}", figure.name);
    }
}

#[test]
fn the_page_and_the_help_name_every_field() {
    let told = message(&trace_bytes(b"{\"0\": 0}"));
    let fields = told.trim_end().split_once("there are ").unwrap().1;
    let help = text(&lab(&["trace", "--help"]));
    let page = page();
    assert_eq!(fields.split(", ").count(), 12);
    for field in fields.split(", ") {
        assert!(help.contains(&format!("\n  {field} ")), "{field}");
        assert!(page.contains(&format!("\n| `{field}` |")), "{field}");
    }
}

#[test]
fn the_page_and_the_help_name_every_policy() {
    let help = text(&lab(&["trace", "--help"]));
    let page = page();
    for policy in goodarm_core::policy::NAMES {
        assert!(help.contains(policy) && page.contains(&format!("`\"{policy}\"`")), "{policy}");
    }
}
