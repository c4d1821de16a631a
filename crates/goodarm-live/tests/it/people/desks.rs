//! Several people at several desks, and what a desk refuses.

use std::thread;

use goodarm_record::card_queue::CardQueueError;
use goodarm_record::folder::Folder;
use goodarm_record::people::are_asked;

use super::*;

#[test]
fn two_desks_at_once_answer_each_card_once() {
    let place = JobFolder::new(60);
    place.write("job.toml", &cascade("scores = \"exact\"\nprice = 2\ncards_max = 40"));
    let (_, overview) = go_on(&place);
    let all = overview.for_people;
    assert!(all > 20, "{all}");
    let at_desk = |person: &'static str| {
        let folder = place.output();
        thread::spawn(move || {
            let mut queue = PeopleQueue::open(&folder).expect("a queue");
            let mut said = 0;
            while let Some(card) = queue.next(person).expect("a queue") {
                match queue.submit(person, &card.key, verdict(&card)) {
                    Ok(()) => said += 1,
                    // The other desk was first.
                    Err(CardQueueError::Doubled { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            said
        })
    };
    let desks = [at_desk("anna"), at_desk("bob")];
    let said: usize = desks.map(|desk| desk.join().expect("a desk")).iter().sum();
    assert_eq!(said, all);
    assert_eq!(waiting(&place.output()), 0);
    let (ending, _) = go_on(&place);
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
}

/// At one desk, people who look at the same time see different cards.
#[test]
fn nobody_gets_the_card_that_another_looks_at() {
    let place = place(EXACT);
    go_on(&place);
    let mut queue = queue(&place);
    let first = queue.next("anna").expect("a queue").expect("a card");
    let second = queue.next("bob").expect("a queue").expect("a card");
    assert_ne!(first.key, second.key);
    assert_eq!(queue.next("anna").expect("a queue"), Some(first.clone()));
    // The only one that is left is for any person.
    while let Some(card) = queue.next("bob").expect("a queue").filter(|it| it.key != first.key) {
        queue.submit("bob", &card.key, CardReply::Right).expect("it waits");
    }
    assert_eq!(queue.next("bob").expect("a queue"), Some(first.clone()));
    queue.submit("bob", &first.key, CardReply::Right).expect("it waits");
    let late = queue.submit("anna", &first.key, CardReply::Right);
    assert!(matches!(late, Err(CardQueueError::Doubled { by, .. }) if by == "bob"));
    assert_eq!(queue.undo("bob").expect("a queue"), None, "the run has it");
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let place = place(EXACT);
    go_on(&place);
    let mut queue = queue(&place);
    let keys: Vec<String> =
        queue.upcoming("anna", 9).expect("cards").into_iter().map(|it| it.key).collect();
    let mut refuse = |person: &str, key: &str, said: CardReply, words: &str| {
        let said = vec![(keys[0].clone(), CardReply::Right), (key.to_owned(), said)];
        let error = queue.submit_all(person, said).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(place.read("run/replies.jsonl"), "", "all of it or nothing");
    };
    refuse("anna", &keys[1], CardReply::Score(0.5), "right or wrong was asked for");
    refuse("anna", &keys[1], CardReply::Answer("4".into()), "right or wrong was asked for");
    refuse("anna", "9999", CardReply::Right, "there is no card \"9999\"");
    refuse("anna", "x", CardReply::Right, "there is no card \"x\"");
    refuse("anna", &keys[0], CardReply::Wrong, "has said something about");
    // The first call is the check's, which no person is asked.
    refuse("anna", "0", CardReply::Right, "there is no card \"0\"");
    assert!(queue.submit(" ", &keys[0], CardReply::Right).is_err());
    queue.submit("anna", &keys[0], CardReply::Right).expect("it waits");
    go_on(&place);
    let again = queue.submit("bob", &keys[0], CardReply::Wrong).expect_err("it is settled");
    assert!(matches!(again, CardQueueError::Doubled { .. }), "{again}");
}

#[test]
fn a_folder_without_people_has_no_queue() {
    let place = JobFolder::new(3);
    let error = PeopleQueue::open(&Folder::new(place.path())).expect_err("no run");
    assert!(error.to_string().contains("journal"), "{error}");
    let job =
        cascade("").split("[[verifiers]]\nname = \"person\"").next().expect("a job").to_owned();
    place.write("job.toml", &job);
    place.run();
    let error = PeopleQueue::open(&place.output()).expect_err("no people are asked");
    assert!(error.to_string().contains("kind = \"human\""), "{error}");
    assert!(!are_asked(&place.output()).expect("no people"));
}
