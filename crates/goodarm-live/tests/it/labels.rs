//! Labels of a run's certified answers: their order, what they prove, and that nothing is lost or changed
//! unseen.

use std::fs;

use goodarm_live::deck::{Deck as _, DeckError, Said};
use goodarm_live::folder::Folder;
use goodarm_live::labels::{ClaimDeck, LabelError, Rule, Terms};
use goodarm_live::view::ClaimView;

use crate::place::Place;

/// Every answer has the word.
const JOB: &str = r#"
candidates = "answers.jsonl"
budget = 1000000
unit = "calls"
seed = 7
delta = 0.1
[[verifiers]]
name = "says something"
kind = "check"
check = "regex"
pattern = "right|wrong"
"#;

/// A run that has certified all of `count` answers.
fn labelled_place(count: usize) -> Place {
    let place = Place::new(count);
    place.write("job.toml", JOB);
    place.run();
    place
}

fn open(place: &Place) -> ClaimDeck {
    opened(place, &Terms::default())
}

fn opened(place: &Place, terms: &Terms) -> ClaimDeck {
    ClaimDeck::open(&place.output(), terms).unwrap_or_else(|error| panic!("{error}"))
}

/// Says the same about the next cards.
fn say(deck: &mut ClaimDeck, by: &str, count: usize, said: &Said) {
    for card in deck.upcoming(by, count).expect("cards") {
        deck.say(by, &card.key, said.clone()).unwrap_or_else(|error| panic!("{error}"));
    }
}

fn order(place: &Place) -> Vec<String> {
    let line: serde_json::Value =
        serde_json::from_str(place.read("run/labels.jsonl").lines().next().expect("a line"))
            .expect("JSON");
    let ids = line["begun"]["order"].as_array().expect("an order");
    ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect()
}

#[test]
fn the_order_is_written_before_the_first_label_and_is_the_seeds() {
    let place = labelled_place(20);
    let mut deck = open(&place);
    let drawn = order(&place);
    assert_eq!(drawn.len(), 20);
    let keys: Vec<String> =
        deck.upcoming("Ann", 99).expect("cards").into_iter().map(|card| card.key).collect();
    assert_eq!(keys, drawn);
    let mut expected = drawn.clone();
    expected.sort_by_key(|id| *blake3::hash(format!("7 1 {id}").as_bytes()).as_bytes());
    assert_eq!(drawn, expected);
    drop(deck);
    // The same run somewhere else has the same order; another seed has another.
    let other = labelled_place(20);
    open(&other);
    assert_eq!(order(&other), drawn);
    let other = Place::new(20);
    other.write("job.toml", &JOB.replace("seed = 7", "seed = 8"));
    other.run();
    open(&other);
    assert_ne!(order(&other), drawn);
}

#[test]
fn a_card_has_the_fields_of_the_answer_and_what_the_verifiers_say() {
    let place = labelled_place(3);
    let card = open(&place).next("Ann").expect("a deck").expect("a card");
    assert_eq!((card.asks.as_str(), &card.key), ("Is this answer right?", &card.id));
    let names: Vec<&str> = card.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["question", "answer"]);
    assert_eq!(card.fields[0].text, format!("{}?", card.id.replace('q', "Q")));
    assert_eq!(card.evidence.len(), 1);
    assert_eq!(card.evidence[0].name, "says something");
    assert_eq!(card.evidence[0].text, "mean 1.000 of 1 call, threshold 0.5");
}

#[test]
fn labels_prove_what_the_bound_says() {
    let place = labelled_place(100);
    let mut deck = open(&place);
    let standing = deck.standing().expect("a deck");
    assert_eq!(
        standing.statement,
        "nothing is known yet about the 100 certified answers (0 labels, 0 wrong)"
    );
    assert_eq!(standing.outlook, "about 42 more labels until 95 %, if all of them say right");
    assert_eq!((standing.done, standing.all), (0, 100));
    say(&mut deck, "Ann", 30, &Said::Right);
    let standing = deck.standing().expect("a deck");
    assert_eq!(standing.outlook, "about 12 more labels until 95 %, if all of them say right");
    say(&mut deck, "Ann", 12, &Said::Right);
    let standing = deck.standing().expect("a deck");
    assert_eq!(
        standing.statement,
        "with confidence 95 % at least 95 % of the 100 certified answers are right (42 labels, 0 wrong)"
    );
    assert!(standing.outlook.starts_with("95 % is reached"), "{}", standing.outlook);
    assert_eq!((standing.done, standing.all), (42, 100));
    let claim = deck.claim();
    assert_eq!((claim.at_least, claim.answers, claim.labels, claim.right), (95, 100, 42, 42));
    assert_eq!((claim.lines, claim.labellers[0].labels), (43, 42));
    drop(deck);
    // What was said is there when it is opened again; all labels are the truth.
    let mut deck = open(&place);
    assert_eq!(deck.claim(), claim);
    say(&mut deck, "Ann", 6, &Said::Wrong);
    assert_eq!(
        deck.standing().expect("a deck").outlook,
        "95 % cannot be reached any more, 94 % at most"
    );
    say(&mut deck, "Ann", 1, &Said::Skip);
    say(&mut deck, "Ann", 99, &Said::Right);
    let claim = deck.claim();
    assert_eq!((claim.at_least, claim.right, claim.wrong, claim.skipped), (93, 93, 6, 1));
    assert!(claim.statement.ends_with("(100 labels, 6 wrong, 1 skipped)"), "{}", claim.statement);
    assert!(claim.rests_on.iter().any(|text| text.contains("1 answer was skipped")));
    assert_eq!(deck.standing().expect("a deck").outlook, "");
    assert!(deck.next("Ann").expect("a deck").is_none());
    let place = labelled_place(50);
    let mut deck = open(&place);
    say(&mut deck, "Ann", 4, &Said::Skip);
    assert_eq!(
        deck.standing().expect("a deck").outlook,
        "95 % cannot be reached any more, 92 % at most: about 46 more labels until 92 %, if all of them say right"
    );
}

#[test]
fn nobody_chooses_what_is_labelled() {
    let place = labelled_place(9);
    let mut deck = open(&place);
    let order = order(&place);
    let said = |key: &str| (key.to_owned(), Said::Right);
    let error = deck.say("Ann", &order[1], Said::Right).expect_err("it is not next");
    assert!(
        matches!(&error, DeckError::OutOfOrder { key, next } if *key == order[1] && *next == order[0])
    );
    assert!(matches!(deck.say("Ann", "q99", Said::Right), Err(DeckError::Unknown(_))));
    assert!(matches!(deck.say("Ann", &order[0], Said::Score(1.0)), Err(DeckError::Unfit(_))));
    for name in ["", "  ", &"x".repeat(201)] {
        assert!(matches!(deck.say(name, &order[0], Said::Right), Err(DeckError::Unfit(_))));
    }
    // All of it or nothing.
    for said in [
        vec![said(&order[0]), said(&order[2])],
        vec![said(&order[0]), said(&order[0])],
        vec![said(&order[0]), said("q99")],
    ] {
        assert!(deck.say_all("Ann", said).is_err());
        assert_eq!(deck.claim().lines, 1);
    }
    deck.say_all("Ann", vec![said(&order[0]), said(&order[1])]).expect("the first two");
    assert_eq!(deck.claim().lines, 2, "several labels are one line");
    for (who, by) in [("Ann", "Ann"), ("Bob", "Ann")] {
        let error = deck.say(who, &order[1], Said::Wrong).expect_err("it has its label");
        assert!(matches!(&error, DeckError::Doubled { by: found, .. } if found == by), "{error}");
    }
    deck.say_all("Ann", Vec::new()).expect("nothing");
    assert_eq!(deck.claim().lines, 2);
}

fn several(count: usize, rule: Rule) -> Terms {
    Terms { labels_per_card: Some(count), rule: Some(rule), ..Terms::default() }
}

#[test]
fn an_answer_counts_when_it_has_all_its_labels_and_none_before_it_lacks_one() {
    let place = labelled_place(9);
    let mut deck = opened(&place, &several(2, Rule::All));
    say(&mut deck, "Ann", 3, &Said::Right);
    let claim = deck.claim();
    assert_eq!((claim.labels, claim.behind_gap), (0, 3));
    say(&mut deck, "Bob", 1, &Said::Right);
    say(&mut deck, "Bob", 1, &Said::Wrong);
    let claim = deck.claim();
    assert_eq!((claim.labels, claim.right, claim.wrong, claim.behind_gap), (2, 1, 1, 1));
    assert_eq!(claim.disagreements, 1);
    assert!(claim.statement.contains("2 answers labelled by 2 people, 1 wrong"), "{claim:?}");
    // Ann takes back her first label, which is her third undo: the first card is a gap again.
    (0..3).for_each(|_| assert!(deck.undo("Ann").expect("a deck").is_some()));
    assert!(deck.undo("Ann").expect("a deck").is_none());
    let claim = deck.claim();
    assert_eq!((claim.labels, claim.behind_gap, claim.changed), (0, 2, 3));
    assert!(claim.rests_on.iter().any(|text| text.contains("3 labels were taken back")));
    // A third person fills the gap, and Ann gets the next card.
    let order = order(&place);
    say(&mut deck, "Cid", 1, &Said::Right);
    assert_eq!(deck.next("Ann").expect("a deck").expect("a card").key, order[1]);
    assert_eq!(deck.claim().labels, 1);
    let labellers = deck.claim().labellers;
    let labellers: Vec<(&str, usize)> =
        labellers.iter().map(|labeller| (labeller.name.as_str(), labeller.labels)).collect();
    assert_eq!(labellers, [("Bob", 2), ("Cid", 1)]);
}

#[test]
fn a_rule_decides_where_people_differ() {
    for (count, rule, said, right, skipped) in [
        (3, Rule::Majority, [Said::Right, Said::Right, Said::Wrong], 1, 0),
        (3, Rule::Majority, [Said::Right, Said::Wrong, Said::Skip], 0, 0),
        (3, Rule::Majority, [Said::Right, Said::Skip, Said::Skip], 0, 1),
        (3, Rule::All, [Said::Right, Said::Right, Said::Skip], 0, 1),
        (3, Rule::All, [Said::Right, Said::Right, Said::Right], 1, 0),
    ] {
        let place = labelled_place(3);
        let mut deck = opened(&place, &several(count, rule));
        for (by, said) in ["Ann", "Bob", "Cid"].iter().zip(&said) {
            say(&mut deck, by, 1, said);
        }
        let claim = deck.claim();
        assert_eq!((claim.labels, claim.right, claim.skipped), (1, right, skipped), "{said:?}");
        assert_eq!(claim.disagreements, usize::from(said.iter().any(|it| *it != said[0])));
    }
}

#[test]
fn terms_are_fixed_when_a_claim_begins() {
    let place = labelled_place(3);
    let refused = |terms: &Terms| match ClaimDeck::open(&place.output(), terms) {
        Ok(_) => panic!("{terms:?} is taken"),
        Err(error) => error.to_string(),
    };
    for (terms, said) in [
        (Terms { delta: Some(0.0), ..Terms::default() }, "delta is 0"),
        (Terms { delta: Some(f64::NAN), ..Terms::default() }, "delta is NaN"),
        (several(0, Rule::All), "0 labels for each answer"),
        (several(99, Rule::All), "99 labels for each answer"),
        (several(2, Rule::One), "expected the rule majority or all"),
        (Terms { wanted: Some(1.5), ..Terms::default() }, "a share of 1.5 is wanted"),
    ] {
        let error = refused(&terms);
        assert!(error.contains(said), "{error}");
    }
    assert!(!place.output().labels().exists(), "what cannot begin leaves no file");
    let terms = Terms { delta: Some(0.1), labels_per_card: Some(2), ..Terms::default() };
    assert_eq!(opened(&place, &terms).claim().rule, Rule::All, "what claims least");
    for (terms, said) in [
        (Terms { delta: Some(0.05), ..Terms::default() }, "delta 0.1, and not 0.05"),
        (
            Terms { rule: Some(Rule::Majority), ..Terms::default() },
            "the rule all, and not majority",
        ),
        (Terms { labels_per_card: Some(1), ..Terms::default() }, "labels a card 2, and not 1"),
    ] {
        let error = refused(&terms);
        assert!(error.contains(said), "{error}");
    }
    opened(&place, &terms);
    let deck = opened(&place, &Terms { wanted: Some(0.5), ..Terms::default() });
    let busy = ClaimDeck::open(&place.output(), &Terms::default());
    assert!(matches!(busy, Err(LabelError::Labels(error)) if error.to_string().contains("in use")));
    drop(deck);
}

#[test]
fn what_is_not_certified_is_not_labelled() {
    let place = Place::new(3);
    place.write("job.toml", &JOB.replace("right|wrong", "never"));
    place.run();
    let error = ClaimDeck::open(&place.output(), &Terms::default());
    assert!(matches!(error, Err(LabelError::NothingCertified(_))));
    let nowhere = Folder::new(&place.path().join("nowhere"));
    assert!(ClaimDeck::open(&nowhere, &Terms::default()).is_err());
    assert!(!place.output().labels().exists() && !nowhere.path().exists());
}

#[test]
fn a_file_that_is_cut_off_anywhere_has_its_whole_lines_and_goes_on() {
    let place = labelled_place(6);
    let mut deck = open(&place);
    say(&mut deck, "Ann", 2, &Said::Right);
    deck.undo("Ann").expect("a deck");
    say(&mut deck, "Ann", 3, &Said::Wrong);
    let labels = place.output().labels();
    drop(deck);
    let whole = fs::read(&labels).expect("labels");
    let lines: Vec<usize> =
        (0..whole.len()).filter(|place| whole[*place] == b'\n').map(|place| place + 1).collect();
    let views: Vec<ClaimView> = lines
        .iter()
        .map(|&end| {
            fs::write(&labels, &whole[..end]).expect("labels");
            open(&place).claim()
        })
        .collect();
    // Sealed lines are cut at every byte by their own tests.
    let is_tried = |cut: &usize| cut % 17 == 0 || lines.iter().any(|end| cut.abs_diff(*end) < 2);
    for cut in (0..=whole.len()).filter(is_tried) {
        fs::write(&labels, &whole[..cut]).expect("labels");
        let mut deck = open(&place);
        let kept = lines.iter().filter(|end| **end <= cut).count();
        let expected = &views[kept.saturating_sub(1)];
        let claim = deck.claim();
        assert_eq!((claim.lines, claim.labels), (expected.lines, expected.labels), "{cut}");
        assert_eq!(claim, *expected, "cut at {cut}");
        say(&mut deck, "Ann", 1, &Said::Right);
        drop(deck);
        assert_eq!(open(&place).claim().lines, expected.lines + 1);
    }
}
