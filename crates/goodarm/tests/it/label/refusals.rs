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
        (&["--by", " ", "--field", "gold", "--equals", "answer"], "needs a name"),
        (&["--extract", "whole"], "--field"),
        (&["--field", "gold", "--equals", "answer", "--extract", "regex"], "only in a job"),
        (&["--status", "--hide", "gold"], "--hide"),
        (&["--people", "--show", "gold"], "--show"),
        (&["--terminal", "--show", "golden"], "no certified answer has a field \"golden\""),
        (&["--people"], "kind = \"human\""),
    ] {
        let refusal = place.refusal(arguments);
        assert!(refusal.contains(told), "{arguments:?}: {refusal}");
    }
    assert!(place.claim().is_null(), "nobody has labelled");
    assert_eq!(place.begun(), 0, "no claim has begun, so its terms are free");
    place.typed(&["--delta", "0.2", "--labels", "2"], "r\n");
    assert_eq!(place.claim()["own_delta"], 0.2);
}

/// A file that cannot be made shows nobody a card.
#[test]
fn an_export_that_fails_begins_no_claim() {
    let place = LabelFolder::new();
    let taken = place.file("taken.csv", "id\n");
    place.refusal(&["--export", &taken]);
    place.refusal(&["--export", &place.argument("nowhere/cards.csv")]);
    place.label(&["--import", &place.file("empty.csv", "id,label\nsum-1,\n")]);
    assert_eq!(place.begun(), 0);
    place.label(&["--export", &place.argument("cards.csv")]);
    assert_eq!(place.begun(), 1, "the cards are seen");
    place.assert_clean();
}

/// Until a person has accepted the terms, nothing has begun, and there is no card.
#[test]
fn a_page_begins_a_claim_when_a_person_does() {
    let place = LabelFolder::new();
    let desk = place.page(&[]);
    let host = desk.host().to_owned();
    let headers = [format!("host: {host}"), format!("origin: http://{host}")];
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    desk.ask("POST", "state", &headers, "{}");
    assert_eq!(place.begun(), 0);
    desk.ask("POST", "state", &headers, "{\"by\": \"me\"}");
    desk.ask("POST", "say", &headers, "{\"by\": \"me\", \"key\": \"sum-1\", \"said\": \"right\"}");
    desk.ask("POST", "begin", &headers, "{}");
    assert_eq!(place.begun(), 0);
    desk.ask("POST", "begin", &headers, "{\"by\": \"me\"}");
    assert_eq!(place.begun(), 1);
    desk.stop();
    assert_eq!(place.claim()["labels"], 0, "it is in the summary");
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
    for too_much in ["0.2", "0.1", "0.051"] {
        let refusal = place.refusal(&["--another", "--delta", too_much, "--terminal"]);
        assert!(refusal.contains("at most 0.05 "), "{refusal}");
    }
    assert_eq!(place.begun(), 1);
    let told = place.typed(&["--another"], "w\n");
    assert!(
        told.contains("With the claims before it each statement holds with confidence 85 %"),
        "{told}"
    );
    let claim = place.claim();
    assert_eq!((&claim["claim"], &claim["own_delta"]), (&2.into(), &0.05.into()));
    assert_eq!(claim["earlier"][0]["right"], 1);
    let (own, earlier) = (&claim["confidence"], &claim["earlier"][0]["confidence"]);
    assert_eq!((own, earlier), (&"85 %".into(), &"85 %".into()));
    place.assert_clean();
}
