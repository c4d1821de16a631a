//! Several claims about one run: what they cost, when they begin, and which labels they share.

use std::collections::HashSet;

use super::*;

fn delta(delta: f64) -> ClaimTerms {
    ClaimTerms { delta: Some(delta), ..ClaimTerms::default() }
}

/// A queue of which no card was shown.
fn prepared(place: &JobFolder, terms: &ClaimTerms) -> ClaimQueue {
    ClaimQueue::open(&place.output(), terms).unwrap_or_else(|error| panic!("{error}"))
}

/// The lines that begin a claim.
fn begun(place: &JobFolder) -> usize {
    let text = fs::read_to_string(place.output().labels()).unwrap_or_default();
    text.lines().filter(|line| line.starts_with("{\"begun\"")).count()
}

#[test]
fn a_later_claim_has_at_most_half_the_delta_of_the_one_before() {
    let place = labelled_place(9);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 1, &CardReply::Wrong);
    for wanted in [0.05, 0.0251, 0.5] {
        let error = queue.start_next_claim(&delta(wanted)).expect_err("it is too much");
        assert!(error.to_string().contains("at most 0.025"), "{error}");
    }
    for expected in [0.025_f64, 0.0125] {
        queue.start_next_claim(&ClaimTerms::default()).expect("half of it");
        queue.next("Ann").expect("a queue").expect("a card");
        assert_eq!(queue.claim().own_delta.to_bits(), expected.to_bits());
    }
    assert!(queue.start_next_claim(&delta(0.00626)).is_err());
    queue.start_next_claim(&delta(0.001)).expect("less");
    queue.next("Ann").expect("a queue").expect("a card");
    drop(queue);
    // Nor does a file hold more.
    forge(&place, |lines| {
        let third = lines.iter_mut().filter(|line| line.get("begun").is_some()).nth(2);
        third.expect("claim 3")["begun"]["delta"] = json!(0.02);
    });
    assert_labels_wrong(&place.audit(), "more than half");
}

/// A person may show whichever claim looks best, so all of them are stated at what all cost together.
#[test]
fn every_statement_has_the_confidence_of_all_claims_together() {
    let place = labelled_place(60);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 20, &CardReply::Right);
    assert!(queue.claim().statement.starts_with("with confidence 95 % "));
    queue.start_next_claim(&ClaimTerms::default()).expect("another claim");
    say(&mut queue, "Ann", 25, &CardReply::Right);
    let claim = queue.claim();
    for claim in [&claim, &claim.earlier[0]] {
        assert!(claim.statement.starts_with("with confidence 92.5 % at least"), "{claim:?}");
        assert_eq!(claim.confidence, "92.5 %");
        assert!((claim.delta - 0.075).abs() < 1e-12);
    }
    assert_eq!((claim.own_delta, claim.earlier[0].own_delta), (0.025, 0.05));
    assert!(!format!("{claim:?}").contains("confidence 95 %"), "{claim:?}");
    assert!(!format!("{claim:?}").contains("confidence 97.5 %"), "{claim:?}");
    assert_eq!(queue.progress().expect("a queue").statement, claim.statement);
    labels::publish(&place.output(), |balance| balance).expect("a summary").expect("it is over");
    assert_eq!(summary(&place)["claim"]["confidence"], "92.5 %");
    assert_eq!(summary(&place)["claim"]["earlier"][0]["confidence"], "92.5 %");
    place.assert_clean();
}

/// What shows nothing of an order begins no claim; what shows a card does, and nothing takes it back.
#[test]
fn a_claim_begins_with_its_first_card() {
    let place = labelled_place(9);
    let mut queue = prepared(&place, &delta(0.1));
    queue.progress().expect("a queue");
    queue.statuses("Ann").expect("cards");
    assert!(queue.undo("Ann").expect("a queue").is_none());
    let unfit = vec![("q1".to_owned(), CardReply::Score(1.0))];
    assert!(matches!(queue.submit_all("Ann", unfit), Err(CardQueueError::Unfit(_))));
    assert!(queue.submit(" ", "q1", CardReply::Right).is_err());
    drop(queue);
    assert_eq!(begun(&place), 0);
    place.assert_clean();
    // So other terms are free.
    let mut queue = prepared(&place, &delta(0.04));
    queue.next("Ann").expect("a queue").expect("a card");
    assert_eq!(begun(&place), 1);
    queue.start_next_claim(&ClaimTerms::default()).expect("another claim");
    queue.progress().expect("a queue");
    drop(queue);
    assert_eq!(begun(&place), 1, "no card of it was seen");
    let mut queue = open(&place);
    assert_eq!(queue.claim().own_delta.to_bits(), 0.04_f64.to_bits());
    queue.start_next_claim(&ClaimTerms::default()).expect("another claim");
    queue.upcoming("Ann", 1).expect("a card");
    assert_eq!(begun(&place), 2);
}

/// Labels that do not fit the order tell something about it.
#[test]
fn labels_out_of_order_begin_a_claim() {
    let place = labelled_place(9);
    let mut queue = prepared(&place, &ClaimTerms::default());
    let last = queue.statuses("Ann").expect("cards").pop().expect("a card");
    let error = queue.submit("Ann", &last.key, CardReply::Right).expect_err("it is the last");
    assert!(matches!(error, CardQueueError::OutOfOrder { .. }), "{error}");
    assert_eq!(begun(&place), 1);
}

#[test]
fn what_a_person_has_said_is_not_asked_again() {
    let place = labelled_place(40);
    let mut queue = open(&place);
    let said = |id: &str| if id.ends_with('7') { CardReply::Wrong } else { CardReply::Right };
    let mut asked = HashSet::new();
    for (count, by) in [(15, "Ann"), (10, "Bob"), (40, "Ann")] {
        for _ in 0..count {
            let Some(card) = queue.next(by).expect("a queue") else { break };
            assert!(asked.insert(card.id.clone()), "{} is asked again", card.id);
            queue.submit(by, &card.key, said(&card.id)).expect("it is next");
        }
        if asked.len() < 40 {
            queue.start_next_claim(&ClaimTerms::default()).expect("another claim");
        }
    }
    assert_eq!(asked.len(), 40);
    let claim = queue.claim();
    assert_eq!((claim.claim, claim.labels, claim.wrong), (3, 40, 4));
    assert_eq!(
        claim.statement,
        "36 of the 40 certified answers are right: all of them are labelled (40 labels, 4 wrong)"
    );
    let labellers: Vec<(&str, usize)> =
        claim.labellers.iter().map(|it| (it.name.as_str(), it.labels)).collect();
    let count = |by: &str| labellers.iter().find(|it| it.0 == by).map_or(0, |it| it.1);
    assert_eq!((count("Ann"), count("Bob")), (30, 10));
    drop(queue);
    place.assert_clean();
    let line = place.audit().checked.into_iter().find(|text| text.contains("claim 3 has"));
    assert!(line.expect("a line").contains("claim 3 has 40 labels"));
}

#[test]
fn a_label_of_an_earlier_claim_can_be_undone_and_is_then_asked_for() {
    let place = labelled_place(3);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 3, &CardReply::Right);
    queue.start_next_claim(&ClaimTerms::default()).expect("another claim");
    assert!(queue.next("Ann").expect("a queue").is_none(), "all is known");
    let undone = queue.undo("Ann").expect("a queue").expect("the last");
    let card = queue.next("Ann").expect("a queue").expect("it is asked for");
    assert_eq!(card.key, undone.key);
    queue.submit("Ann", &card.key, CardReply::Wrong).expect("it is next");
    let claim = queue.claim();
    assert_eq!((claim.right, claim.wrong, claim.changed), (2, 1, 1));
    drop(queue);
    assert_eq!(open(&place).claim(), claim);
    place.assert_clean();
}

/// Fewer people per answer are no way to lose the label of the one who says wrong.
#[test]
fn of_more_labels_than_an_answer_needs_those_against_it_are_kept() {
    let place = labelled_place(6);
    let mut queue = opened(&place, &several(2));
    say(&mut queue, "Ann", 6, &CardReply::Right);
    say(&mut queue, "Bob", 3, &CardReply::Wrong);
    queue.start_next_claim(&several(1)).expect("another claim");
    assert!(queue.next("ANN ").expect("a queue").is_none(), "all is known");
    let claim = queue.claim();
    assert_eq!((claim.labels, claim.right, claim.wrong), (6, 3, 3));
    let names: Vec<(&str, usize)> =
        claim.labellers.iter().map(|it| (it.name.as_str(), it.labels)).collect();
    assert!(names.contains(&("Ann", 3)) && names.contains(&("Bob", 3)), "{names:?}");
}
