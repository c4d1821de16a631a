//! In the terminal.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::label_folder::{LabelFolder, hostile_folder};

#[test]
fn labels_are_typed_one_after_the_other() {
    let place = LabelFolder::new();
    let told = place.typed(&[], "r\nWRONG\n\nrihgt\ns\nu\nno\nq\n");
    let (before, after) = told.split_once("m more, q quit > ").expect("a prompt");
    assert!(before.contains("Is this answer right?") && before.contains("question:"), "{before}");
    assert!(!before.contains("judge"), "evidence would lead: {before}");
    assert!(
        after.starts_with("  has text: mean 1.000 ") && after.contains("\n  judge: mean "),
        "{after}"
    );
    assert!(told.contains("did you mean \"right\"?"), "{told}");
    assert!(told.contains("taken back: sum-"), "{told}");
    let claim = place.claim();
    assert_eq!(
        (&claim["right"], &claim["wrong"], &claim["skipped"]),
        (&1.into(), &2.into(), &0.into())
    );
    assert_eq!(claim["changed"], 1, "what was taken back is kept");
    assert_eq!(claim["labellers"][0]["name"], "me");
    assert_eq!(place.status()["done"], 3);
    assert_eq!(told.matches("(3 labels").count(), 2, "how far it is, behind each label: {told}");
    assert!(told.contains("report: ") && place.read("run/report.html").contains("3 labels"));
    place.assert_clean();
}

/// The order is drawn only when the terms were read.
#[test]
fn the_terms_come_before_the_first_card() {
    let place = LabelFolder::new();
    for input in ["", "q\n", "r\nr\nq\n"] {
        let told = place.typed_as_is(&["--delta", "0.1"], input);
        assert!(
            told.contains("the 20 certified answers") && told.contains("delta is 0.1"),
            "{told}"
        );
        assert!(told.contains("1 person labels each card"), "{told}");
        assert!(told.contains("hidden: gold"), "{told}");
        assert!(told.contains("given up keeps its delta"), "{told}");
        assert!(!told.contains("Is this answer right?"), "{told}");
        assert_eq!(place.begun(), 0, "{input:?}");
    }
    let told = place.typed_as_is(&["--delta", "0.1"], "\nr\nq\n");
    let (before, after) = told.split_once("Enter begins, q quits > ").expect(&told);
    assert!(before.contains("delta is 0.1") && after.contains("Is this answer right?"), "{told}");
    assert_eq!((place.begun(), &place.claim()["labels"]), (1, &1.into()));
    let again = place.typed_as_is(&[], "q\n");
    assert!(!again.contains("Enter begins"), "it has begun: {again}");
}

/// What cannot be undone is not offered.
#[test]
fn undo_is_offered_where_it_works() {
    let place = LabelFolder::new();
    let told = place.typed(&[], "r\nu\nq\n");
    let prompts: Vec<bool> = told
        .lines()
        .filter(|line| line.contains("q quit > "))
        .map(|it| it.contains("u undo"))
        .collect();
    assert_eq!(prompts.first(), Some(&false), "{told}");
    assert_eq!(told.matches("u undo").count(), 1, "{told}");
}

/// The same order goes on where it was left, for each person.
#[test]
fn it_goes_on_where_it_was_left() {
    let place = LabelFolder::new();
    let first = place.typed(&[], "r\nr\n");
    let ids = |told: &str| -> Vec<String> {
        let lines = told.lines().filter_map(|line| line.strip_prefix("── ")?.strip_suffix(" ──"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(ids(&first).len(), 3, "the third was asked for and not labelled: {first}");
    let second = place.typed(&[], "");
    assert_eq!(ids(&second), ids(&first)[2..]);
    assert!(second.starts_with(&place.label(&["--status"])), "{second}");
    let all = "r\n".repeat(100);
    let last = place.typed(&[], &all);
    assert!(last.contains("nothing waits for you"), "{last}");
    let status = place.status();
    assert_eq!(status["done"], status["all"]);
    assert!(
        status["statement"].as_str().expect("a text").contains("all of them are labelled"),
        "{status}"
    );
    place.assert_clean();
}

#[test]
fn nothing_in_an_answer_does_anything_to_the_terminal() {
    let place = hostile_folder();
    let told = place.typed(&[], &"m\nr\n".repeat(30));
    assert!(told.contains("\\u202e") && told.contains("\\u001b"), "what is hidden is shown");
    let is_harmless = |c: char| c == '\n' || c == '\t' || !c.is_control();
    assert!(told.chars().all(is_harmless) && !told.contains('\u{202e}'));
    assert!(told.contains("more bytes: m shows all"), "a text of a megabyte is cut");
}

#[test]
fn what_was_said_before_a_kill_is_kept() {
    let place = LabelFolder::new();
    let mut child =
        place.command(&["--terminal"]).stdin(Stdio::piped()).spawn().expect("the tool starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"\nr\nw\n").expect("it reads");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let is_second = |line: &String| line.contains("(2 labels");
    assert!(lines.map_while(Result::ok).any(|line| is_second(&line)), "both are confirmed");
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    assert_eq!(place.status()["done"], 2);
    place.typed(&[], "r\n");
    assert_eq!(place.claim()["labels"], 3);
    place.assert_clean();
}
