//! Labels of a run's certified answers: their order, what they prove, and that nothing is lost or changed
//! unseen.

mod another;

use std::fs;

use goodarm_live::run::Run;
use goodarm_record::audit::{Area, AuditReport};
use goodarm_record::card_queue::{CardQueue as _, CardQueueError, CardReply};
use goodarm_record::folder::Folder;
use goodarm_record::journal::Mark;
use goodarm_record::labels::{self, ClaimQueue, ClaimTerms, LabelError};
use goodarm_record::sealed_lines::{SealedReader, SealedWriter};
use goodarm_record::view::ClaimView;
use serde_json::{Value, json};

use crate::crash::{REPLAY_JOB, replay_place};
use crate::job_folder::JobFolder;
use crate::questions::pools;

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
fn labelled_place(count: usize) -> JobFolder {
    let place = JobFolder::new(count);
    place.write("job.toml", JOB);
    place.run();
    place
}

fn open(place: &JobFolder) -> ClaimQueue {
    opened(place, &ClaimTerms::default())
}

/// A queue whose claim has begun.
fn opened(place: &JobFolder, terms: &ClaimTerms) -> ClaimQueue {
    let queue = ClaimQueue::open(&place.output(), terms);
    let mut queue = queue.unwrap_or_else(|error| panic!("{error}"));
    queue.begin().unwrap_or_else(|error| panic!("{error}"));
    queue
}

/// Says the same about the next cards.
fn say(queue: &mut ClaimQueue, by: &str, count: usize, said: &CardReply) {
    for card in queue.upcoming(by, count).expect("cards") {
        queue.submit(by, &card.key, said.clone()).unwrap_or_else(|error| panic!("{error}"));
    }
}

fn order(place: &JobFolder) -> Vec<String> {
    let line: Value =
        serde_json::from_str(place.read("run/labels.jsonl").lines().next().expect("a line"))
            .expect("JSON");
    let ids = line["begun"]["order"].as_array().expect("an order");
    ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect()
}

#[test]
fn the_order_is_drawn_and_written_before_the_first_label() {
    let place = labelled_place(20);
    let mut queue = open(&place);
    let drawn = order(&place);
    assert_eq!(drawn.len(), 20);
    let keys: Vec<String> =
        queue.upcoming("Ann", 99).expect("cards").into_iter().map(|card| card.key).collect();
    assert_eq!(keys, drawn);
    drop(queue);
    // Opened again it is the same. The same run somewhere else has another: labels of the one must not tell
    // which of the other come first.
    open(&place);
    assert_eq!(order(&place), drawn);
    let other = labelled_place(20);
    open(&other);
    assert_ne!(order(&other), drawn);
}

#[test]
fn a_card_has_the_fields_of_the_answer_and_what_the_verifiers_say() {
    let place = labelled_place(3);
    let card = open(&place).next("Ann").expect("a queue").expect("a card");
    assert_eq!((card.asks.as_str(), &card.key), ("Is this answer right?", &card.id));
    let names: Vec<&str> = card.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["question", "answer"]);
    assert_eq!(card.fields[0].text, format!("{}?", card.id.replace('q', "Q")));
    assert_eq!(card.evidence.len(), 1);
    assert_eq!(card.evidence[0].name, "says something");
    assert_eq!(card.evidence[0].text, "mean 1.000 of 1 call, threshold 0.5");
}

#[test]
fn an_answer_to_a_question_is_shown_behind_its_question() {
    let place = pools(9);
    place.run();
    let mut queue = open(&place);
    let cards = queue.upcoming("Ann", 99).expect("cards");
    assert_eq!(cards.len(), place.certified().len());
    for card in &cards {
        let names: Vec<&str> = card.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["question", "right", "answer", "final_answer", "question_id"]);
        assert_eq!(card.fields[2].text, format!("It is {}.", card.fields[1].text));
    }
    say(&mut queue, "Ann", 99, &CardReply::Right);
    labels::publish(&place.output(), |balance| balance)
        .expect("a summary")
        .expect("the run is over");
    assert_eq!(summary(&place)["claim"]["at_least"], cards.len());
    place.assert_clean();
}

#[test]
fn labels_prove_what_the_bound_says() {
    let place = labelled_place(100);
    let mut queue = open(&place);
    let standing = queue.progress().expect("a queue");
    assert_eq!(
        standing.statement,
        "nothing is known yet about the 100 certified answers (0 labels, 0 wrong)"
    );
    assert_eq!(standing.outlook, "about 42 more labels until 95 %, if all of them say right");
    assert_eq!((standing.done, standing.all), (0, 100));
    say(&mut queue, "Ann", 30, &CardReply::Right);
    let standing = queue.progress().expect("a queue");
    assert_eq!(standing.outlook, "about 12 more labels until 95 %, if all of them say right");
    say(&mut queue, "Ann", 12, &CardReply::Right);
    let standing = queue.progress().expect("a queue");
    assert_eq!(
        standing.statement,
        "with confidence 95 % at least 95 % of the 100 certified answers are right (42 labels, 0 wrong)"
    );
    assert!(standing.outlook.starts_with("95 % is reached"), "{}", standing.outlook);
    assert_eq!((standing.done, standing.all), (42, 100));
    let claim = queue.claim();
    assert_eq!((claim.at_least, claim.answers, claim.labels, claim.right), (95, 100, 42, 42));
    assert_eq!((standing.at_least, standing.at_most), (Some(95), Some(100)));
    assert_eq!((claim.lines, claim.labellers[0].labels), (43, 42));
    drop(queue);
    // The labels are there when it is opened again; all of them are true.
    let mut queue = open(&place);
    assert_eq!(queue.claim(), claim);
    say(&mut queue, "Ann", 6, &CardReply::Wrong);
    assert_eq!(
        queue.progress().expect("a queue").outlook,
        "95 % cannot be reached any more, 94 % at most"
    );
    say(&mut queue, "Ann", 1, &CardReply::Skip);
    say(&mut queue, "Ann", 99, &CardReply::Right);
    let claim = queue.claim();
    assert_eq!((claim.at_least, claim.right, claim.wrong, claim.skipped), (93, 93, 6, 1));
    assert!(claim.statement.ends_with("(100 labels, 6 wrong, 1 skipped)"), "{}", claim.statement);
    assert!(claim.rests_on.iter().any(|text| text.contains("1 answer was skipped")));
    assert_eq!(queue.progress().expect("a queue").outlook, "");
    assert!(queue.next("Ann").expect("a queue").is_none());
    let place = labelled_place(50);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 4, &CardReply::Skip);
    assert_eq!(
        queue.progress().expect("a queue").outlook,
        "95 % cannot be reached any more, 92 % at most: about 46 more labels until 92 %, if all of them say right"
    );
}

#[test]
fn labels_that_say_wrong_prove_that_few_are_right() {
    let statement = |queue: &mut ClaimQueue| queue.progress().expect("a queue").statement;
    let place = labelled_place(100);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 42, &CardReply::Wrong);
    assert_eq!(
        statement(&mut queue),
        "with confidence 95 % at most 5 % of the 100 certified answers are right (42 labels, 42 wrong)"
    );
    say(&mut queue, "Ann", 2, &CardReply::Right);
    assert_eq!(
        statement(&mut queue),
        "with confidence 95 % at least 2 % of the 100 certified answers are right, and with the same confidence at most 5 % (44 labels, 42 wrong)"
    );
    let together =
        "Each of the two bounds has confidence 95 % on its own; both together have 90 %.";
    assert!(queue.claim().rests_on.iter().any(|text| text == together));
    say(&mut queue, "Ann", 99, &CardReply::Wrong);
    assert_eq!(
        statement(&mut queue),
        "2 of the 100 certified answers are right: all of them are labelled (100 labels, 98 wrong)"
    );
    let place = labelled_place(38);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 38, &CardReply::Wrong);
    assert_eq!(
        statement(&mut queue),
        "0 of the 38 certified answers are right: all of them are labelled (38 labels, 38 wrong)"
    );
    assert!(!queue.claim().rests_on.iter().any(|text| text.contains("on its own")));
}

/// A skipped answer may be right: it is not among the right ones of the lower bound, nor the wrong ones of the upper.
#[test]
fn skipped_answers_are_between_the_bounds() {
    let place = labelled_place(20);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 19, &CardReply::Skip);
    let statement = queue.progress().expect("a queue").statement;
    assert_eq!(
        statement,
        "nothing is known yet about the 20 certified answers (19 labels, 0 wrong, 19 skipped)"
    );
    say(&mut queue, "Ann", 1, &CardReply::Right);
    let statement = queue.progress().expect("a queue").statement;
    assert_eq!(
        statement,
        "at least 1 and at most 20 of the 20 certified answers are right: all of them are labelled (20 labels, 0 wrong, 19 skipped)"
    );
}

#[test]
fn nobody_chooses_what_is_labelled() {
    let place = labelled_place(9);
    let mut queue = open(&place);
    let order = order(&place);
    let said = |key: &str| (key.to_owned(), CardReply::Right);
    let error = queue.submit("Ann", &order[1], CardReply::Right).expect_err("it is not next");
    assert!(
        matches!(&error, CardQueueError::OutOfOrder { key, next } if *key == order[1] && *next == order[0])
    );
    assert!(matches!(
        queue.submit("Ann", "q99", CardReply::Right),
        Err(CardQueueError::Unknown(_))
    ));
    assert!(matches!(
        queue.submit("Ann", &order[0], CardReply::Score(1.0)),
        Err(CardQueueError::Unfit(_))
    ));
    for name in ["", "  ", &"x".repeat(201)] {
        assert!(matches!(
            queue.submit(name, &order[0], CardReply::Right),
            Err(CardQueueError::Unfit(_))
        ));
    }
    // All of it or nothing.
    for said in [
        vec![said(&order[0]), said(&order[2])],
        vec![said(&order[0]), said(&order[0])],
        vec![said(&order[0]), said("q99")],
    ] {
        assert!(queue.submit_all("Ann", said).is_err());
        assert_eq!(queue.claim().lines, 1);
    }
    queue.submit_all("Ann", vec![said(&order[0]), said(&order[1])]).expect("the first two");
    assert_eq!(queue.claim().lines, 2, "several labels are one line");
    for (who, by) in [("Ann", "Ann"), ("Bob", "Ann")] {
        let error = queue.submit(who, &order[1], CardReply::Wrong).expect_err("it has its label");
        assert!(
            matches!(&error, CardQueueError::Doubled { by: found, .. } if found == by),
            "{error}"
        );
    }
    queue.submit_all("Ann", Vec::new()).expect("nothing");
    assert_eq!(queue.claim().lines, 2);
}

fn several(count: usize) -> ClaimTerms {
    ClaimTerms { labels_per_card: Some(count), ..ClaimTerms::default() }
}

#[test]
fn an_answer_counts_when_it_has_all_its_labels_and_none_before_it_lacks_one() {
    let place = labelled_place(9);
    let mut queue = opened(&place, &several(2));
    say(&mut queue, "Ann", 3, &CardReply::Right);
    let claim = queue.claim();
    assert_eq!((claim.labels, claim.behind_gap), (0, 3));
    say(&mut queue, "Bob", 1, &CardReply::Right);
    say(&mut queue, "Bob", 1, &CardReply::Wrong);
    let claim = queue.claim();
    assert_eq!((claim.labels, claim.right, claim.wrong, claim.behind_gap), (2, 1, 1, 1));
    assert_eq!(claim.disagreements, 1);
    assert!(claim.statement.contains("2 answers labelled by 2 people, 1 wrong"), "{claim:?}");
    // Ann takes back her first label, which is her third undo: the first card is a gap again.
    (0..3).for_each(|_| assert!(queue.undo("Ann").expect("a queue").is_some()));
    assert!(queue.undo("Ann").expect("a queue").is_none());
    let claim = queue.claim();
    assert_eq!((claim.labels, claim.behind_gap, claim.changed), (0, 2, 3));
    assert!(claim.rests_on.iter().any(|text| text.contains("3 labels were undone")));
    // A third person fills the gap, and Ann gets the next card.
    let order = order(&place);
    say(&mut queue, "Cid", 1, &CardReply::Right);
    assert_eq!(queue.next("Ann").expect("a queue").expect("a card").key, order[1]);
    assert_eq!(queue.claim().labels, 1);
    let labellers = queue.claim().labellers;
    let labellers: Vec<(&str, usize)> =
        labellers.iter().map(|labeller| (labeller.name.as_str(), labeller.labels)).collect();
    assert_eq!(labellers, [("Bob", 2), ("Cid", 1)]);
}

#[test]
fn an_answer_is_right_if_all_people_say_so() {
    for (said, right, skipped) in [
        ([CardReply::Right, CardReply::Right, CardReply::Wrong], 0, 0),
        ([CardReply::Right, CardReply::Wrong, CardReply::Skip], 0, 0),
        ([CardReply::Right, CardReply::Skip, CardReply::Skip], 0, 1),
        ([CardReply::Right, CardReply::Right, CardReply::Skip], 0, 1),
        ([CardReply::Right, CardReply::Right, CardReply::Right], 1, 0),
    ] {
        let place = labelled_place(3);
        let mut queue = opened(&place, &several(3));
        for (by, said) in ["Ann", "Bob", "Cid"].iter().zip(&said) {
            say(&mut queue, by, 1, said);
        }
        let claim = queue.claim();
        assert_eq!((claim.labels, claim.right, claim.skipped), (1, right, skipped), "{said:?}");
        assert_eq!(claim.disagreements, usize::from(said.iter().any(|it| *it != said[0])));
    }
}

#[test]
fn terms_are_fixed_when_a_claim_begins() {
    let place = labelled_place(3);
    let refused = |terms: &ClaimTerms| match ClaimQueue::open(&place.output(), terms) {
        Ok(_) => panic!("{terms:?} is taken"),
        Err(error) => error.to_string(),
    };
    for (terms, said) in [
        (ClaimTerms { delta: Some(0.0), ..ClaimTerms::default() }, "delta is 0"),
        (ClaimTerms { delta: Some(f64::NAN), ..ClaimTerms::default() }, "delta is NaN"),
        (several(0), "0 labels for each answer"),
        (several(99), "99 labels for each answer"),
        (
            ClaimTerms { target_share: Some(1.5), ..ClaimTerms::default() },
            "target share 1.5: expected",
        ),
    ] {
        let error = refused(&terms);
        assert!(error.contains(said), "{error}");
    }
    assert!(!place.output().labels().exists(), "what cannot begin leaves no file");
    let terms = ClaimTerms { delta: Some(0.1), labels_per_card: Some(2), ..ClaimTerms::default() };
    assert_eq!(opened(&place, &terms).claim().labels_per_card, 2);
    for (terms, said) in [
        (
            ClaimTerms { delta: Some(0.05), ..ClaimTerms::default() },
            "delta 0.1; it cannot be changed to 0.05",
        ),
        (
            ClaimTerms { labels_per_card: Some(1), ..ClaimTerms::default() },
            "labels a card 2; it cannot be changed to 1",
        ),
    ] {
        let error = refused(&terms);
        assert!(error.contains(said), "{error}");
    }
    opened(&place, &terms);
    let queue = opened(&place, &ClaimTerms { target_share: Some(0.5), ..ClaimTerms::default() });
    let busy = ClaimQueue::open(&place.output(), &ClaimTerms::default());
    assert!(matches!(busy, Err(LabelError::Labels(error)) if error.to_string().contains("in use")));
    drop(queue);
}

#[test]
fn what_is_not_certified_is_not_labelled() {
    let place = JobFolder::new(3);
    place.write("job.toml", &JOB.replace("right|wrong", "never"));
    place.run();
    let error = ClaimQueue::open(&place.output(), &ClaimTerms::default());
    assert!(matches!(error, Err(LabelError::NothingCertified(_))));
    let nowhere = Folder::new(&place.path().join("nowhere"));
    assert!(ClaimQueue::open(&nowhere, &ClaimTerms::default()).is_err());
    assert!(!place.output().labels().exists() && !nowhere.path().exists());
}

#[test]
fn a_file_that_is_cut_off_anywhere_has_its_whole_lines_and_goes_on() {
    let place = labelled_place(6);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 2, &CardReply::Right);
    queue.undo("Ann").expect("a queue");
    say(&mut queue, "Ann", 3, &CardReply::Wrong);
    let labels = place.output().labels();
    drop(queue);
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
    let is_tried =
        |cut: &usize| cut.is_multiple_of(17) || lines.iter().any(|end| cut.abs_diff(*end) < 2);
    for cut in (0..=whole.len()).filter(is_tried) {
        fs::write(&labels, &whole[..cut]).expect("labels");
        let mut queue = open(&place);
        let kept = lines.iter().filter(|end| **end <= cut).count();
        let expected = &views[kept.saturating_sub(1)];
        let claim = queue.claim();
        assert_eq!((claim.lines, claim.labels), (expected.lines, expected.labels), "{cut}");
        assert_eq!(claim, *expected, "cut at {cut}");
        say(&mut queue, "Ann", 1, &CardReply::Right);
        drop(queue);
        assert_eq!(open(&place).claim().lines, expected.lines + 1);
    }
}

fn summary(place: &JobFolder) -> Value {
    serde_json::from_str(&place.read("run/summary.json")).expect("JSON")
}

#[test]
fn the_claim_is_in_the_summary_and_an_audit_computes_it_again() {
    let place = labelled_place(30);
    let mut queue = open(&place);
    place.assert_clean();
    let before = summary(&place);
    assert_eq!(before.get("claim"), None);
    say(&mut queue, "Ann", 20, &CardReply::Right);
    say(&mut queue, "Ann", 1, &CardReply::Wrong);
    let published = labels::publish(&place.output(), |balance| balance);
    let overview = published.expect("a summary").expect("the run is over").overview;
    let claim = overview.claim.expect("a claim");
    assert_eq!(claim, queue.claim());
    let written = summary(&place);
    assert_eq!(written["claim"], serde_json::to_value(&claim).expect("plain data"));
    assert_eq!(written["ending"]["name"], before["ending"]["name"]);
    place.assert_clean();
    let checked = place.audit().checked;
    let said = "labels.jsonl: claim 1 has 21 labels, in the order that was drawn, of the 30 answers that were certified when it began";
    assert!(checked.iter().any(|text| text == said), "{checked:#?}");
    // More labels change nothing.
    say(&mut queue, "Bob", 2, &CardReply::Right);
    let report = place.audit();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert!(report.notes.iter().any(|note| note.contains("2 lines more")), "{:?}", report.notes);
    // A resumed run has the claim in its summary.
    let (_, overview) = place.resume().expect("a run");
    assert_eq!(overview.claim, Some(queue.claim()));
    assert_eq!(summary(&place)["claim"]["lines"], 24);
    place.assert_clean();
    for (key, other) in [
        ("at_least", json!(29)),
        ("at_most", json!(28)),
        ("lines", json!(23)),
        ("lines", json!(99)),
        ("changed", json!(null)),
        ("statement", json!("all are right")),
    ] {
        let mut changed = summary(&place);
        changed["claim"][key] = other;
        let text = place.read("run/summary.json");
        let pretty = serde_json::to_string_pretty(&changed).expect("plain data");
        place.write("run/summary.json", &(pretty + "\n"));
        assert_labels_wrong(&place.audit(), key);
        place.write("run/summary.json", &text);
    }
    drop(queue);
    let text = place.read("run/labels.jsonl");
    fs::remove_file(place.output().labels()).expect("labels");
    assert_labels_wrong(&place.audit(), "no labels");
    let error = ClaimQueue::open(&place.output(), &ClaimTerms::default());
    assert!(matches!(error, Err(LabelError::Older { seen: 24, found: 0, .. })));
    place.write("run/labels.jsonl", &text);
    place.assert_clean();
}

#[track_caller]
fn assert_labels_wrong(report: &AuditReport, what: &str) {
    let is_found = report.problems.iter().any(|problem| problem.area == Area::Labels);
    assert!(is_found, "{what}: {:#?}", report.problems);
}

/// Changes lines, and seals them again.
fn forge(place: &JobFolder, change: impl FnOnce(&mut Vec<Value>)) {
    let path = place.output().labels();
    let mut lines = SealedReader::<Value>::new(&path).read_on().expect("whole lines");
    for line in &mut lines {
        line.as_object_mut().expect("an object").remove("crc");
    }
    change(&mut lines);
    fs::remove_file(&path).expect("labels");
    let (mut writer, _) = SealedWriter::open::<Value>(&path).expect("a new file");
    lines.iter().for_each(|line| writer.append(line).expect("a line"));
}

/// What is put where: the number of a line, the object in it, and its key.
const FORGED: [(usize, &str, &str, &str); 13] = [
    (0, "/begun/journal", "blake3", "\"00\""),
    (0, "/begun", "claim", "2"),
    (0, "/begun", "delta", "1.0"),
    (0, "/begun", "labels_per_card", "0"),
    (0, "/begun", "more", "2"),
    (0, "/begun", "order", "[]"),
    (0, "/begun", "order", "[\"q0\", \"q0\"]"),
    (1, "", "more", "2"),
    (1, "", "undone", r#"{"by": "Ann", "unix_millis": 1, "key": "q0"}"#),
    (1, "/given", "by", "\" \""),
    (1, "/given", "labels", "[]"),
    (1, "/given/labels/0", "said", "\"maybe\""),
    (3, "/undone", "key", "\"q99\""),
];

type Forgery<'a> = (&'a str, &'a dyn Fn(&mut Vec<Value>));

fn ids(lines: &mut [Value]) -> &mut Vec<Value> {
    lines[0]["begun"]["order"].as_array_mut().expect("ids")
}

#[test]
fn an_audit_finds_labels_that_nobody_can_have_said() {
    let place = replay_place();
    place.run();
    let mut queue = open(&place);
    say(&mut queue, "Ann", 1, &CardReply::Right);
    say(&mut queue, "Ann", 1, &CardReply::Wrong);
    queue.undo("Ann").expect("a queue");
    drop(queue);
    place.assert_clean();
    let text = place.read("run/labels.jsonl");
    for (line, object, key, value) in FORGED {
        forge(&place, |lines| {
            let value = serde_json::from_str(value).expect("JSON");
            lines[line].pointer_mut(object).expect("an object")[key] = value;
        });
        assert_refused(&place, &format!("{object}/{key}"));
        place.write("run/labels.jsonl", &text);
    }
    let undecided = place.read("run/undecided.jsonl");
    let undecided: Value =
        serde_json::from_str(undecided.lines().next().expect("a bad one")).expect("JSON");
    let certified = place.read("run/certified.jsonl");
    let certified: Value =
        serde_json::from_str(certified.lines().next().expect("a good one")).expect("JSON");
    let forgeries: [Forgery<'_>; 7] = [
        ("another order", &|lines| {
            ids(lines).swap(0, 1);
            lines.truncate(1);
        }),
        ("not certified", &|lines| ids(lines)[2] = undecided["id"].clone()),
        ("fewer", &|lines| ids(lines).retain(|id| *id != certified["id"])),
        ("no claim", &|lines| drop(lines.remove(0))),
        ("a label twice", &|lines| lines.insert(2, lines[1].clone())),
        ("labels swapped", &|lines| lines.swap(1, 2)),
        ("undone before it was given", &|lines| lines.swap(2, 3)),
    ];
    for (what, change) in forgeries {
        forge(&place, change);
        assert_refused(&place, what);
        place.write("run/labels.jsonl", &text);
    }
    place.resume().expect("a run");
    place.assert_clean();
}

#[track_caller]
fn assert_refused(place: &JobFolder, what: &str) {
    assert_labels_wrong(&place.audit(), what);
    assert!(ClaimQueue::open(&place.output(), &ClaimTerms::default()).is_err(), "{what}");
    assert!(labels::publish(&place.output(), |balance| balance).is_err(), "{what}");
    // A run does not fail for it.
    let (_, overview) = place.resume().expect("a run");
    assert_eq!(overview.claim, None, "{what}");
    assert!(overview.notes.iter().any(|note| note.contains("labels.jsonl")), "{what}");
}

#[test]
fn an_audit_finds_labels_of_another_moment_or_another_run() {
    let place = replay_place();
    place.run();
    drop(open(&place));
    let text = place.read("run/labels.jsonl");
    // Fewer were certified then.
    forge(&place, |lines| {
        let bytes = fs::metadata(place.journal()).expect("the journal").len() / 2;
        let mark = Mark::of(&place.journal(), bytes).expect("a mark");
        lines[0]["begun"]["journal"] = serde_json::to_value(mark).expect("plain data");
    });
    assert_labels_wrong(&place.audit(), "less of the journal");
    let error = ClaimQueue::open(&place.output(), &ClaimTerms::default());
    assert!(matches!(error, Err(LabelError::OtherRun { .. })));
    place.write("run/labels.jsonl", &text);
    for position in (0..text.len() - 1).step_by(7) {
        let mut bytes = text.clone().into_bytes();
        bytes[position] ^= 1;
        fs::write(place.output().labels(), bytes).expect("labels");
        let report = place.audit();
        assert_labels_wrong(&report, &format!("byte {position}"));
    }
    place.write("run/labels.jsonl", &text);
    place.assert_clean();
    // Another seed in the copy of the job is found as such; the order is that of the journal.
    let job = place.read("run/job.toml");
    place.write("run/job.toml", &job.replace("seed = 7", "seed = 8"));
    assert_eq!(place.audit().problems[0].area, Area::Job);
    place.write("run/job.toml", &job);
    // Labels of another run are not taken for this one's.
    let other = labelled_place(9);
    open(&other);
    fs::copy(other.output().labels(), place.output().labels()).expect("labels");
    let error = ClaimQueue::open(&place.output(), &ClaimTerms::default());
    assert!(matches!(error, Err(LabelError::OtherRun { .. })));
}

#[test]
fn a_claim_is_about_the_answers_that_were_there() {
    let place = replay_place();
    place.write("job.toml", &REPLAY_JOB.replace("4000", "500"));
    place.run();
    let first = place.certified().len();
    assert!(first > 0);
    let mut queue = open(&place);
    say(&mut queue, "Ann", 99, &CardReply::Right);
    drop(queue);
    place.write("job.toml", REPLAY_JOB);
    let (_, overview) = place.resume().expect("more money");
    let all = place.certified().len();
    assert!(all > first, "{all}");
    let claim = overview.claim.expect("a claim");
    assert_eq!((claim.answers, claim.at_least, claim.grown_by), (first, first, all - first));
    assert!(claim.statement.contains("that were certified when the labels began"), "{claim:?}");
    assert!(claim.rests_on.iter().any(|text| text.contains("certified since")), "{claim:?}");
    place.assert_clean();

    let mut queue = open(&place);
    assert!(queue.next("Ann").expect("a queue").is_none());
    queue.start_next_claim(&ClaimTerms::default()).expect("another claim");
    say(&mut queue, "Ann", 1, &CardReply::Right);
    let claim = queue.claim();
    assert_eq!((claim.claim, claim.answers, claim.grown_by), (2, all, 0));
    assert!((1..=first + 1).contains(&claim.labels), "{}", claim.labels);
    assert_eq!((claim.own_delta, claim.confidence.as_str()), (0.025, "92.5 %"));
    assert_eq!((claim.earlier.len(), claim.earlier[0].labels), (1, first));
    assert!(claim.rests_on.last().expect("a text").contains("confidence 92.5 %"), "{claim:?}");
    labels::publish(&place.output(), |balance| balance)
        .expect("a summary")
        .expect("the run is over");
    place.assert_clean();
    let error = queue.start_next_claim(&ClaimTerms { delta: Some(0.95), ..ClaimTerms::default() });
    assert!(matches!(error, Err(LabelError::Terms(_))), "together they would prove nothing");
    drop(queue);
    // The new terms are those of the last claim.
    opened(&place, &ClaimTerms { delta: Some(0.025), ..ClaimTerms::default() });
}

#[test]
fn a_run_that_has_not_ended_is_labelled_with_a_remark() {
    let place = labelled_place(6);
    fs::remove_file(place.output().summary()).expect("a summary");
    let mut queue = open(&place);
    let outlook = queue.progress().expect("a queue").outlook;
    assert!(outlook.contains("the run has not ended"), "{outlook}");
    say(&mut queue, "Ann", 1, &CardReply::Right);
    assert!(labels::publish(&place.output(), |balance| balance).expect("nothing to do").is_none());
    assert!(!place.output().summary().exists());
    let report = place.audit();
    assert!(report.unfinished.is_some() && report.problem_count == 0, "{report:?}");
    place.resume().expect("a run");
    assert_eq!(summary(&place)["claim"]["labels"], 1);
    let outlook = queue.progress().expect("a queue").outlook;
    assert!(outlook.contains("the run has not ended"), "it was so when the queue was opened");
    drop(queue);
    assert!(!open(&place).progress().expect("a queue").outlook.contains("ended"));
    // A run that continues writes its summary itself.
    let run = Run::resume(place.good_job()).expect("a run");
    assert!(labels::publish(&place.output(), |balance| balance).expect("nothing to do").is_none());
    drop(run);
    assert!(labels::publish(&place.output(), |balance| balance).expect("a summary").is_some());
}

#[test]
fn names_are_any_text() {
    let place = labelled_place(3);
    let mut queue = open(&place);
    let name = "<script>\u{1b}[2J\u{202e} \"Bob\"\n";
    say(&mut queue, name, 1, &CardReply::Right);
    assert_eq!(queue.claim().labellers[0].name, name);
    let said = &queue.claim().rests_on[0];
    assert!(!said.contains(['\u{1b}', '\u{202e}', '\n']), "{said:?}");
    labels::publish(&place.output(), |balance| balance)
        .expect("a summary")
        .expect("the run is over");
    place.assert_clean();
}

#[test]
fn a_hundred_thousand_answers_are_labelled_in_no_time() {
    let place = labelled_place(100_000);
    let mut queue = open(&place);
    let cards = queue.upcoming("Ann", 20_000).expect("cards");
    let said = |(card, place): (goodarm_record::card_queue::Card, usize)| {
        (card.key, if place % 50 == 49 { CardReply::Wrong } else { CardReply::Right })
    };
    queue.submit_all("Ann", cards.into_iter().zip(0..).map(said).collect()).expect("in order");
    let claim = queue.claim();
    assert_eq!((claim.labels, claim.wrong), (20_000, 400));
    assert!(claim.share > 0.97 && claim.share < 0.98, "{}", claim.statement);
    say(&mut queue, "Ann", 20, &CardReply::Right);
    queue.progress().expect("a queue");
    drop(queue);
    assert_eq!(open(&place).claim().labels, 20_020);
}

#[test]
fn a_run_does_not_go_on_without_labels_that_its_summary_was_made_from() {
    let place = labelled_place(6);
    let mut queue = open(&place);
    let card = queue.next("Ann").expect("a queue").expect("a card");
    queue.submit("Ann", &card.key, CardReply::Wrong).expect("it is next");
    drop(queue);
    labels::publish(&place.output(), |balance| balance)
        .expect("the folder takes files")
        .expect("the run is over");
    let path = place.output().labels();
    let kept = std::fs::read(&path).expect("labels");
    std::fs::remove_file(&path).expect("they are there");
    let refused = Run::resume(place.good_job()).err().expect("labels are gone");
    assert!(refused.to_string().contains("Put the newer labels.jsonl back"), "{refused}");
    assert!(Run::check_resume(&place.good_job()).is_err());
    std::fs::write(&path, kept).expect("the folder takes files");
    assert!(Run::resume(place.good_job()).is_ok());
}

/// A name that looks the same is the same person, who is shown as they first wrote it.
#[test]
fn one_person_is_not_several_by_the_spelling_of_a_name() {
    let place = labelled_place(3);
    let mut queue = opened(&place, &several(2));
    say(&mut queue, "Ana  Lee", 1, &CardReply::Right);
    let first = order(&place)[0].clone();
    for name in ["ana lee", " ANA LEE ", "A\u{200b}na\u{a0}Lee\u{feff}", "Ana\tLee\u{ad}"] {
        assert_ne!(queue.next(name).expect("a queue").expect("a card").key, first, "{name:?}");
        let error = queue.submit(name, &first, CardReply::Right).expect_err("the same person");
        assert!(
            matches!(&error, CardQueueError::Doubled { by, .. } if by == "Ana  Lee"),
            "{error}"
        );
    }
    for name in ["\u{200b}", "\u{2060} \u{3164}"] {
        let error = queue.submit(name, &first, CardReply::Right).expect_err("no name");
        assert!(matches!(error, CardQueueError::Unfit(_)), "{error}");
    }
    say(&mut queue, "Anna Lee", 1, &CardReply::Right);
    let claim = queue.claim();
    let names: Vec<&str> = claim.labellers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, claim.labels), (vec!["Ana  Lee", "Anna Lee"], 1));
}

/// A pipe would block, and a link may point anywhere.
#[cfg(unix)]
#[test]
fn labels_are_in_a_regular_file() {
    let place = labelled_place(3);
    drop(open(&place));
    let path = place.output().labels();
    let aside = place.path().join("labels");
    fs::rename(&path, &aside).expect("labels");
    let refused = |what: &str| {
        let folder = place.output();
        let opened = crate::people::in_time(move || {
            ClaimQueue::open(&folder, &ClaimTerms::default()).err().map(|error| error.to_string())
        });
        let error = opened.expect("it is refused");
        assert!(error.contains("labels.jsonl: not a regular file"), "{what}: {error}");
        fs::remove_file(&path).expect("it is there");
    };
    std::os::unix::fs::symlink(&aside, &path).expect("a link");
    refused("a link");
    crate::people::make_pipe(&path);
    refused("a pipe");
}
