//! The README's commands run, and its table is what the example prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use goodarm_testing::TestFolder;

use super::page::{Block, blocks};
use crate::tool::{laboratory, message, root, text};

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("it is there")
}

fn block_of(page: &str, language: &str) -> Block {
    let mut blocks = blocks(page).into_iter();
    blocks.find(|block| block.language() == language).expect("the page has such a block")
}

/// The folder of a user with answers of their own, in a copy of this repository.
fn place() -> TestFolder {
    let place = TestFolder::new(&[]);
    let tutorial = fs::read_to_string(root().join("docs/tutorial.md")).expect("it is there");
    let answers = block_of(&tutorial, "json").body;
    place.write("answers.jsonl", &answers);
    for folder in ["examples", "experiments"] {
        std::os::unix::fs::symlink(root().join(folder), place.join(folder)).expect("a link");
    }
    place
}

fn run(place: &TestFolder, line: &str) -> Output {
    run_program(place, env!("CARGO_BIN_EXE_goodarm").as_ref(), line)
}

fn run_program(place: &TestFolder, program: &Path, line: &str) -> Output {
    let mut command = Command::new(program);
    let output = command.args(line.split_whitespace()).current_dir(place.path()).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{program:?} {line}: {}", message(&output));
    output
}

/// Which program a line runs, and with what; comments are cut.
fn command_of(line: &str) -> Option<(PathBuf, &str)> {
    let line = line.split(" #").next()?.trim();
    let with = |starts: [&str; 2]| starts.iter().find_map(|start| line.strip_prefix(start));
    if let Some(rest) = with(["goodarm-lab ", "cargo run --release -p goodarm-lab -- "]) {
        return Some((laboratory(), rest));
    }
    let rest = with(["goodarm ", "cargo run --release -- "])?;
    Some((env!("CARGO_BIN_EXE_goodarm").into(), rest))
}

#[test]
fn every_command_runs() {
    let place = place();
    let shells: Vec<Block> =
        blocks(&readme()).into_iter().filter(|block| block.language() == "sh").collect();
    let mut count = 0;
    let lines = shells.iter().flat_map(|block| block.body.lines());
    for (program, command) in lines.filter_map(command_of) {
        let name = command.split(' ').next().unwrap();
        // These take a minute and more, or wait for people: what is typed is parsed, and other tests run
        // parts of them.
        if ["reproduce", "simulate", "label", "calibrate"].contains(&name) {
            run_program(&place, &program, &format!("{command} --help"));
            for file in command.split(' ').filter(|word| word.starts_with("experiments/")) {
                let text = fs::read_to_string(root().join(file)).unwrap();
                text.parse::<toml::Table>().unwrap();
            }
        } else {
            run_program(&place, &program, command);
        }
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

#[test]
fn the_job_is_taken() {
    let place = place();
    fs::write(place.join("job.toml"), block_of(&readme(), "toml").body).unwrap();
    run(&place, "run job.toml --dry-run");
}

#[test]
fn the_table_is_what_the_example_prints() {
    let said = text(&run(&place(), "example"));
    let readme = readme();
    let table = readme.lines().skip_while(|line| !line.contains("| certified |"));
    let rows: Vec<(&str, &str)> = table
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.trim_matches('|').trim().split_once(" | "))
        .collect();
    let printed = |name: &str| {
        let line = said.lines().find_map(|line| line.trim_start().strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(rows[0].0, "150,000 tokens, δ = 0.05, 48 answers");
    assert!(said.contains(" of 48 answers certified") && said.contains(" of 150,000 tokens"));
    for (name, count) in &rows[1..] {
        let printed: Vec<String> = match *name {
            "uniform or BMA-GAI as printed, the paper's certificates" => {
                vec![printed("uniform, the paper's certificates "), printed("BMA-GAI as printed ")]
            }
            name => vec![printed(&format!("{name} "))],
        };
        assert!(printed.iter().all(|own| own == count), "{name}: {count}, but {printed:?}");
    }
    assert_eq!(rows.len(), 5);
    let claim = said.lines().find(|line| line.contains("with confidence")).expect("a claim");
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&format!("*{}*", claim.trim())), "{claim}");
}
