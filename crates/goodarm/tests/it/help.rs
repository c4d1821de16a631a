//! The help of the tool: commands in groups, and the others on request.

use crate::tool::{goodarm, message, ok, text};

const TOP: &str = "\
Certify as many LLM answers as a verification budget can buy

Usage: goodarm <COMMAND>

Start:
  example    Certify answers of a real model, recorded, and compare: everything at once, offline
  init       Write a commented starter job for a file of candidates or questions
  docs       Print a page of the book, or its table of contents

Run:
  try        Make one real call of each verifier on a few answers, and show it word for word
  plan       Compute what a budget will buy, before a cent is spent
  run        Certify answers: make verifier calls until the budget is spent or nothing is left to do

Look:
  report     Show what a run found: one self-contained page, or text, JSON and plots
  export     Write what a run found for other tools: inspect_ai, Hugging Face, CSV, Parquet

Prove:
  label      Ask people: label certified answers, to show how many are right; or answer a run's calls to people
  calibrate  Choose the thresholds of a job's verifiers by labelled answers
  audit      Compute every certificate and the ledger again from a run's raw calls

Options:
  -h, --help     Print help
  -V, --version  Print version

`goodarm COMMAND --help` describes a command, `goodarm help --all` lists the others.
";

const OTHERS: &str = "
Others:
  completions  Print shell completions
  help         Print help: of all commands, or of one
  schema       Print the JSON Schema of a job file, for editors
  version      Print the version
";

#[test]
fn commands_are_in_groups() {
    for arguments in [&["--help"][..], &["-h"], &["help"]] {
        assert_eq!(ok(arguments), TOP, "{arguments:?}");
    }
    let output = goodarm(&[]);
    assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
    assert_eq!(message(&output).trim_end(), TOP.trim_end());
    let commands = TOP.lines().filter(|line| line.starts_with("  ") && !line.contains("--"));
    assert!(commands.count() <= 12);
}

#[test]
fn all_commands_are_listed_on_request() {
    let all = ok(&["help", "--all"]);
    assert!(all.contains(OTHERS.trim_start()), "{all}");
    assert!(all.contains("\nProve:\n") && !all.contains("help --all"), "{all}");
    // Every command that completions know is in one of the lists.
    let completions = ok(&["completions", "fish"]);
    let names = completions.lines().filter(|line| line.contains("__fish_goodarm_needs_command"));
    let names = names.filter_map(|line| line.split(" -a \"").nth(1)?.split('"').next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        assert!(all.contains(&format!("\n  {name} ")), "{name}: {all}");
    }
}

#[test]
fn help_about_a_command_is_its_help() {
    assert_eq!(ok(&["help", "run"]), ok(&["run", "--help"]));
    let output = goodarm(&["help", "labl"]);
    assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
    assert!(message(&output).contains("'label'"), "{}", message(&output));
}

#[test]
fn the_version_is_a_command() {
    assert_eq!(ok(&["version"]), ok(&["--version"]));
}
