//! A run goes on only with all replies that it has used, and with its own.

use std::fs;

use goodarm_live::run::Run;

use super::*;

/// Several people are asked about each answer.
const NOISY: &str = "threshold = 0.5\nprice = 1\ncards_max = 40";

/// A run that has used replies of one person.
fn used() -> JobFolder {
    let place = place(NOISY);
    go_on(&place);
    assert!(answer_all(&place, "anna") > 1);
    go_on(&place);
    assert!(cards(&place, "anna").is_empty(), "she has spoken about all of them");
    place
}

/// The refusals of a resume, of a dry one, and of the queue of cards.
#[track_caller]
fn refused(place: &JobFolder, words: &str) {
    let error = Run::resume(place.good_job()).err().expect("it is refused").to_string();
    assert!(error.contains("replies.jsonl") && error.contains(words), "{error}");
    assert!(Run::check_resume(&place.good_job()).is_err());
    let error = PeopleQueue::open(&place.output()).expect_err("it is refused").to_string();
    assert!(error.contains("replies.jsonl") && error.contains(words), "{error}");
}

#[test]
fn a_run_does_not_go_on_without_the_replies_that_it_has_used() {
    let place = used();
    let path = place.output().replies();
    let whole = fs::read_to_string(&path).expect("replies");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for kept in 0..lines.len() {
        fs::write(&path, lines[..kept].concat()).expect("replies");
        refused(&place, "lacks the reply to call");
    }
    fs::remove_file(&path).expect("replies");
    refused(&place, "lacks the reply to call");
    fs::write(&path, whole).expect("replies");
    assert!(cards(&place, "anna").is_empty());
    assert!(answer_all(&place, "bo") > 1);
    go_on(&place);
    place.assert_clean();
}

/// The same job has the same calls, so that the replies would fit.
#[test]
fn replies_to_another_run_are_refused() {
    let (place, other) = (place(NOISY), place(NOISY));
    go_on(&place);
    go_on(&other);
    assert!(answer_all(&other, "anna") > 1);
    fs::copy(other.output().replies(), place.output().replies()).expect("replies");
    refused(&place, "another run");
    assert!(!place.audit().is_clean());
    fs::remove_file(place.output().replies()).expect("replies");
    assert!(answer_all(&place, "anna") > 1);
    go_on(&place);
    place.assert_clean();
}

#[cfg(unix)]
#[test]
fn replies_are_in_a_regular_file() {
    let place = used();
    let path = place.output().replies();
    let aside = place.path().join("replies");
    fs::rename(&path, &aside).expect("replies");
    let refused = |what: &str| {
        let (job, folder) = (place.good_job(), place.output());
        let error = in_time(move || Run::resume(job).err().map(|error| error.to_string()));
        let error = error.expect("it is refused");
        assert!(error.contains("replies.jsonl: not a regular file"), "{what}: {error}");
        let error = in_time(move || PeopleQueue::open(&folder).err().map(|it| it.to_string()));
        assert!(error.expect("it is refused").contains("not a regular file"), "{what}");
        fs::remove_file(&path).expect("it is there");
    };
    std::os::unix::fs::symlink(&aside, &path).expect("a link");
    refused("a link");
    make_pipe(&path);
    refused("a pipe");
    fs::rename(&aside, &path).expect("replies");
    go_on(&place);
}

#[test]
fn one_person_does_not_speak_twice_by_the_spelling_of_a_name() {
    let place = place(NOISY);
    go_on(&place);
    let card = cards(&place, "Ana Lee").remove(0);
    queue(&place).submit("Ana Lee", &card.key, CardReply::Right).expect("it waits");
    go_on(&place);
    for name in ["ana lee", " ANA  LEE", "A\u{200b}na Lee\u{2060}"] {
        let again = cards(&place, name).into_iter().find(|it| it.id == card.id);
        assert_eq!(again, None, "{name:?} is asked again");
    }
    let other = cards(&place, "bo").into_iter().find(|it| it.id == card.id).expect("a card");
    let error = queue(&place).submit("ANA\u{a0}LEE", &other.key, CardReply::Right);
    let error = error.expect_err("the same person").to_string();
    assert!(error.contains("each call needs another person"), "{error}");
    let error = queue(&place).submit("\u{200b}", &other.key, CardReply::Right);
    assert!(error.expect_err("no name").to_string().contains("needs a name"));
}
