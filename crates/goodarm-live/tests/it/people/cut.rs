//! A run with people, cut off at any byte of its journal or of what they said.

use std::fs;

use goodarm_live::run::Run;
use goodarm_record::audit::Area;
use goodarm_record::ending::Ending;
use goodarm_record::run_error::RunError;

use super::*;

/// Answers all waiting calls until the run is done.
fn finish(place: &JobFolder) -> usize {
    let mut count = 0;
    for _ in 0..20 {
        let (ending, _) = go_on(place);
        if matches!(ending, Ending::Done(_)) {
            return count;
        }
        count += answer_all(place, "anna");
    }
    panic!("it does not end");
}

fn replies(place: &JobFolder) -> String {
    place.read("run/replies.jsonl")
}

/// A crash of the run loses no card and no reply, and no person is asked twice.
#[test]
fn a_journal_cut_at_any_byte_asks_nobody_twice() {
    let place = place("scores = \"exact\"\nprice = 2\ncards_max = 3");
    let begun = {
        let run = Run::begin(place.good_job()).expect("a run");
        drop(run);
        fs::read(place.journal()).expect("the journal").len()
    };
    let count = finish(&place);
    let (whole, said) = (fs::read(place.journal()).expect("the journal"), replies(&place));
    let certified = certified_ids(&place);
    assert_eq!(said.lines().count(), count + 1, "the first names the journal");
    for cut in (begun..whole.len()).filter(|cut| cut % 5 == 0 || cut + 30 > whole.len()) {
        fs::write(place.journal(), &whole[..cut]).expect("the journal");
        let _ = fs::remove_file(place.output().summary());
        assert_eq!(finish(&place), 0, "cut at {cut}: all was answered before");
        assert_eq!(certified_ids(&place), certified, "cut at {cut}");
        assert_eq!(replies(&place), said, "cut at {cut}");
        place.assert_clean();
    }
}

/// What was not wholly written was not said, and is asked again.
#[test]
fn replies_cut_at_any_byte_are_those_before_it() {
    let place = place(EXACT);
    go_on(&place);
    let journal = fs::read(place.journal()).expect("the journal");
    let count = answer_all(&place, "anna");
    let whole = fs::read(place.output().replies()).expect("replies");
    finish(&place);
    let certified = certified_ids(&place);
    for cut in (0..whole.len()).step_by(3) {
        let _ = fs::remove_file(place.output().summary());
        fs::write(place.journal(), &journal).expect("the journal");
        fs::write(place.output().replies(), &whole[..cut]).expect("replies");
        let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(finish(&place), count - lines.saturating_sub(1), "cut at {cut}");
        assert_eq!(certified_ids(&place), certified, "cut at {cut}");
        place.assert_clean();
    }
}

/// A power cut may take a call out of the journal whose card was seen already. Its number goes to another
/// call then, which the reply is not for.
#[test]
fn a_reply_to_a_call_that_is_gone_is_no_reply_to_another_of_its_number() {
    let place = place(EXACT);
    go_on(&place);
    let card = cards(&place, "anna").remove(0);
    let mut queue = queue(&place);
    queue.submit("anna", &card.key, CardReply::Wrong).expect("it waits");
    let own = format!("\"id\":\"{}\"", card.id);
    let forged = replies(&place).replace(&own, "\"id\":\"q999\"");
    fs::remove_file(place.output().replies()).expect("replies");
    seal(&place, &forged);
    let (ending, _) = go_on(&place);
    assert!(matches!(ending, Ending::WaitsForPeople { .. }), "{ending:?}");
    assert!(cards(&place, "anna").iter().any(|it| it.key == card.key), "it waits still");
    // Nor has the person spoken, if the same answer is asked about under another number.
    fs::remove_file(place.output().replies()).expect("replies");
    seal(&place, &forged.replace("q999", &card.id).replace("\"call\":", "\"call\":7"));
    assert!(cards(&place, "anna").iter().any(|it| it.key == card.key), "it waits still");
    assert!(finish(&place) > 0);
    place.assert_clean();
}

/// Writes lines with valid seals.
fn seal(place: &JobFolder, text: &str) {
    use goodarm_record::sealed_lines::SealedWriter;
    let (mut writer, _) =
        SealedWriter::open::<serde_json::Value>(&place.output().replies()).expect("replies");
    for line in text.lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line.as_object_mut().expect("an object").remove("crc");
        writer.append(&line).expect("it is written");
    }
}

#[test]
fn what_is_changed_by_hand_is_found() {
    let place = place(EXACT);
    finish(&place);
    place.assert_clean();
    let (path, said) = (place.output().replies(), replies(&place));
    let find = |text: &str, words: &str| {
        fs::write(&path, text).expect("replies");
        let report = place.audit();
        let found = report
            .problems
            .iter()
            .any(|problem| problem.area == Area::Replies && problem.text.contains(words));
        assert!(found, "{words}: {:?}", report.problems);
    };
    find(&said.replacen("\"right\"", "\"wrong\"", 1), "damaged at line");
    find(said.split_inclusive('\n').next().expect("a line"), "no reply");
    fs::remove_file(&path).expect("replies");
    assert!(!place.audit().is_clean());
    // With the right checksums.
    seal(&place, &said.replacen("\"right\"", "\"wrong\"", 1));
    assert!(place.audit().problems.iter().any(|it| it.text.contains("another outcome")));
    fs::remove_file(&path).expect("replies");
    seal(&place, &said.replacen("\"call\":", "\"call\":7", 1));
    assert!(!place.audit().is_clean());
    fs::write(&path, &said).expect("replies");
    place.assert_clean();
}

#[test]
fn damage_stops_a_run_that_needs_the_replies_and_loses_nothing() {
    let place = place(EXACT);
    go_on(&place);
    answer_all(&place, "anna");
    let said = replies(&place);
    let mut run = Run::resume(place.good_job()).expect("a run");
    fs::write(place.output().replies(), said.replacen("right", "wrong", 1)).expect("replies");
    let error = run.drive(&Control::default(), &mut ()).expect_err("damage");
    assert!(matches!(error, RunError::Replies(_)), "{error}");
    assert!(error.to_string().contains("replies.jsonl is damaged at line"), "{error}");
    drop(run);
    let error = Run::resume(place.good_job()).err().expect("damage");
    assert!(matches!(error, RunError::Replies(_)), "{error}");
    fs::write(place.output().replies(), said).expect("replies");
    assert_eq!(finish(&place), 0);
    place.assert_clean();
}

/// A doubled reply changes nothing: the first counts.
#[test]
fn of_several_replies_to_a_call_the_first_counts() {
    let place = place(EXACT);
    go_on(&place);
    answer_all(&place, "anna");
    let said = replies(&place);
    let (_, given) = said.split_once('\n').expect("a line");
    let doubled = given.replace("\"right\"", "\"wrong\"").replace("anna", "eve");
    seal(&place, &doubled);
    // A reply that was not asked for counts as the lowest score.
    finish(&place);
    let expected = super::place(EXACT);
    finish(&expected);
    assert_eq!(certified_ids(&place), certified_ids(&expected));
    place.assert_clean();
}
