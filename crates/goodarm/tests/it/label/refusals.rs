//! What does not fit is refused before anything is written.

use std::net::TcpListener;

use super::label_folder::LabelFolder;
use crate::tool::{goodarm, message};

#[test]
fn options_that_do_not_fit_are_refused() {
    let place = LabelFolder::new();
    let file = place.file("labels.csv", "id,label\n");
    for (arguments, told) in [
        (&["--json"][..], "--status"),
        (&["--status", "--by", "anna"], "--by"),
        (&["--status", "--another"], "--another"),
        (&["--terminal", "--port", "8000"], "--port"),
        (&["--terminal", "--status"], "cannot be used with"),
        (&["--import", &file, "--export", "x.csv"], "cannot be used with"),
        (&["--field", "gold"], "--equals"),
        (&["--equals", "gold"], "--field"),
        (&["--people", "--labels", "2"], "--labels"),
        (&["--people", "--claim"], "--claim"),
        (&["--labels", "0"], "not between 1 and 9"),
        (&["--delta", "1"], "delta is 1, not between 0 and 1"),
        (&["--delta", "x"], "--delta"),
        (&["--at-least", "95"], "more than 0 and at most 1"),
        (&["--export", "cards.xlsx"], "must end in .csv"),
        (&["--import", "labels.xlsx"], "must end in .jsonl"),
        (&["--import", "nowhere.csv"], "nowhere.csv"),
        (&["--import", &file], "there are no labels in it"),
        (&["--by", " ", "--field", "question", "--equals", "answer"], "needs a name"),
        (&["--people"], "kind = \"human\""),
    ] {
        let refusal = place.refusal(arguments);
        assert!(refusal.contains(told), "{arguments:?}: {refusal}");
    }
    assert!(place.claim().is_null(), "nobody has labelled");
}

#[test]
fn a_status_changes_nothing_and_needs_nobody_to_stop() {
    let place = LabelFolder::new();
    assert_eq!(place.label(&["--status"]), "there are no labels yet\n");
    assert!(!place.join("run/labels.jsonl").exists(), "no order was drawn");
    let desk = place.page(&[]);
    assert_eq!(place.status()["done"], 0, "while the page is open");
    let busy = place.refusal(&["--terminal"]);
    assert!(busy.contains("in use by another process"), "{busy}");
    desk.stop();
}

#[test]
fn a_folder_without_a_run_and_a_taken_port_are_told() {
    let missing = goodarm(&["label", "docs"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(message(&missing).contains("holds no run"), "{}", message(&missing));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let place = LabelFolder::new();
    let refusal = place.refusal(&["--port", &port]);
    assert!(refusal.contains(&format!("port {port}")) && refusal.contains("--port"), "{refusal}");
    assert!(!place.join("run/labels.jsonl").exists(), "nothing has begun");
}

#[test]
fn another_claim_begins_where_one_has_begun() {
    let place = LabelFolder::new();
    place.typed(&["--delta", "0.1"], "r\n");
    let refusal = place.refusal(&["--delta", "0.2", "--terminal"]);
    assert!(refusal.contains("delta 0.1") && refusal.contains("--another"), "{refusal}");
    place.typed(&["--another", "--delta", "0.2"], "w\n");
    let claim = place.claim();
    assert_eq!((&claim["claim"], &claim["delta"]), (&2.into(), &0.2.into()));
    assert_eq!(claim["earlier"][0]["right"], 1);
    place.assert_clean();
}
