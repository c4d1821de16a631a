//! Cards and labels as files, on a queue in memory.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::labels_file::ImportCounts;
use super::*;

/// Cards in order, of which each gets so many labels.
struct MemoryQueue {
    cards: Vec<Card>,
    labels_per_card: usize,
    is_ordered: bool,
    /// Ids of the run that have no card.
    others: Vec<&'static str>,
    /// By card: who said what.
    said: Vec<Vec<(String, CardReply)>>,
}

impl MemoryQueue {
    fn new(cards: Vec<Card>) -> Self {
        Self {
            said: vec![Vec::new(); cards.len()],
            labels_per_card: 1,
            is_ordered: true,
            others: Vec::new(),
            cards,
        }
    }

    /// Cards `q1` to `q{count}` that ask for a verdict.
    fn verdicts(count: usize) -> Self {
        let fields = |index: usize| vec![("question", format!("{index}?")), ("answer", "4".into())];
        Self::new(
            (1..=count)
                .map(|it| card(&format!("q{it}"), ReplyForm::Verdict, &fields(it)))
                .collect(),
        )
    }

    fn own(&self, labeller: &str, index: usize) -> Option<&CardReply> {
        self.said[index].iter().find(|(by, _)| by == labeller).map(|(_, said)| said)
    }

    fn waits(&self, labeller: &str, index: usize) -> bool {
        self.said[index].len() < self.labels_per_card && self.own(labeller, index).is_none()
    }

    /// What was said, in order, a letter each.
    fn letters(&self) -> String {
        let letter = |said: &Vec<(String, CardReply)>| match said.first() {
            None => '.',
            Some((_, said)) => said.words().chars().next().unwrap_or('-'),
        };
        self.said.iter().map(letter).collect()
    }
}

fn card(id: &str, wanted: ReplyForm, fields: &[(&str, String)]) -> Card {
    let field = |(name, text): &(&str, String)| Field { name: (*name).into(), text: text.clone() };
    Card {
        key: id.into(),
        id: id.into(),
        asks: "Is this answer right?".into(),
        wanted,
        fields: fields.iter().map(field).collect(),
        evidence: Vec::new(),
    }
}

impl CardQueue for MemoryQueue {
    fn preview(&mut self, labeller: &str, most: usize) -> Result<Vec<Card>, CardQueueError> {
        let waiting = (0..self.cards.len()).filter(|index| self.waits(labeller, *index)).take(most);
        Ok(waiting.map(|index| self.cards[index].clone()).collect())
    }

    fn statuses(&mut self, labeller: &str) -> Result<Vec<CardStatus>, CardQueueError> {
        let place = |(index, card): (usize, &Card)| CardStatus {
            key: card.key.clone(),
            id: card.id.clone(),
            wanted: card.wanted,
            said: self.own(labeller, index).cloned(),
            waits: self.waits(labeller, index),
        };
        Ok(self.cards.iter().enumerate().map(place).collect())
    }

    fn submit_all(
        &mut self,
        labeller: &str,
        said: Vec<(String, CardReply)>,
    ) -> Result<(), CardQueueError> {
        let before = self.said.clone();
        for (key, said) in said {
            let mut waiting = (0..self.cards.len()).filter(|index| self.waits(labeller, *index));
            let next = waiting.clone().next().map(|index| self.cards[index].key.clone());
            match waiting.find(|index| self.cards[*index].key == key) {
                Some(index) if !self.is_ordered || next.as_ref() == Some(&key) => {
                    self.said[index].push((labeller.to_owned(), said));
                }
                _ => {
                    self.said = before;
                    return Err(CardQueueError::OutOfOrder { key, next: next.unwrap_or_default() });
                }
            }
        }
        Ok(())
    }

    fn is_of_run(&self, id: &str) -> bool {
        self.others.contains(&id)
    }

    fn can_undo(&self, _: &str) -> bool {
        false
    }

    fn undo(&mut self, _: &str) -> Result<Option<Card>, CardQueueError> {
        Ok(None)
    }

    fn progress(&mut self) -> Result<QueueProgress, CardQueueError> {
        Ok(QueueProgress::default())
    }
}

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What comes of a file of this name and text.
    fn take(
        &self,
        queue: &mut MemoryQueue,
        name: &str,
        text: &str,
    ) -> Result<ImportCounts, String> {
        fs::write(self.path(name), text).expect("the folder takes files");
        labels_file::take(queue, "me", &self.path(name)).map_err(|error| error.to_string())
    }

    /// What is wrong with it, without the folder.
    fn refusal(&self, queue: &mut MemoryQueue, name: &str, text: &str) -> String {
        let before = queue.letters();
        let fault = self.take(queue, name, text).expect_err("it is wrong");
        assert_eq!(queue.letters(), before, "nothing is taken: {fault}");
        fault.replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("it was written")
}

#[test]
fn what_is_exported_and_filled_in_comes_back() {
    let files = Files::new();
    let name = "cards.csv";
    let mut queue = MemoryQueue::verdicts(5);
    queue.submit("me", "q1", CardReply::Wrong).expect("it is next");
    assert_eq!(cards_file::write(&mut queue, "me", &files.path(name)).expect("it can"), 4);
    let again =
        cards_file::write(&mut queue, "me", &files.path(name)).expect_err("labels are in there");
    assert!(again.to_string().contains("may hold labels"), "{again}");
    let sheet = read(&files.path(name));
    let labels = ["", "right", "WRONG", "s", ""];
    let filled: Vec<String> =
        sheet.lines().zip(labels).map(|(line, label)| format!("{line}{label}")).collect();
    let text = format!("\u{feff}{}\r\n", filled.join("\r\n"));
    let imported = files.take(&mut queue, name, &text).expect("it is right");
    assert_eq!(imported, ImportCounts { taken: 3, empty: 1, ..ImportCounts::default() });
    assert_eq!(queue.letters(), "wrws.");
    let imported = files.take(&mut queue, name, &text).expect("it is right");
    assert_eq!(imported, ImportCounts { known: 3, empty: 1, ..ImportCounts::default() });
}

#[test]
fn the_columns_of_an_export_are_as_documented_and_nothing_in_it_is_a_formula() {
    let files = Files::new();
    let fields =
        [("answer", "=HYPERLINK(1)"), ("label", "mine"), ("@x", " -1"), ("note", "a,\"b\"\nc")];
    let fields = fields.map(|(name, text)| (name, text.to_owned()));
    let mut queue = MemoryQueue::new(vec![
        card("+a", ReplyForm::Verdict, &fields),
        card("'=b", ReplyForm::Verdict, &[("more", "4".into())]),
        card("=b", ReplyForm::Verdict, &[("more", "-4".into())]),
    ]);
    cards_file::write(&mut queue, "me", &files.path("a.csv")).expect("it can");
    let csv = read(&files.path("a.csv"));
    assert_eq!(
        csv,
        "place,id,asks,answer,field.label,'@x,note,more,label\n\
         1,'+a,Is this answer right?,'=HYPERLINK(1),mine,' -1,\"a,\"\"b\"\"\nc\",,\n\
         2,''=b,Is this answer right?,,,,,4,\n\
         3,'=b,Is this answer right?,,,,,-4,\n"
    );
    let text = "id,label\n'+a,right\n''=b,wrong\n'=b,right\n";
    assert_eq!(files.take(&mut queue, "b.csv", text).expect("all are known").taken, 3);
    assert_eq!(queue.letters(), "rwr");
    queue.cards[0].key = "k".into();
    queue.said[0].clear();
    cards_file::write(&mut queue, "me", &files.path("c.csv")).expect("it can");
    assert!(read(&files.path("c.csv")).starts_with("place,id,key,asks,"), "a key of its own");
    assert_eq!(files.take(&mut queue, "d.csv", "key,label\nk,no\n").expect("known").taken, 1);
}

#[test]
fn ids_that_differ_by_a_blank_or_an_apostrophe_are_told_apart() {
    let files = Files::new();
    let ids = ["a", "a ", "=x", "'=x"];
    let cards = || MemoryQueue::new(ids.map(|id| card(id, ReplyForm::Verdict, &[])).into());
    let json: String = ids
        .iter()
        .zip(["r", "w", "w", "r"])
        .map(|(id, label)| format!("{}\n", serde_json::json!({"id": id, "label": label})))
        .collect();
    let texts = [
        ("a.jsonl", json.as_str()),
        ("a.csv", "id,label\na,r\n\"a \",w\n'=x,w\n''=x,r\n"),
        ("b.csv", "place;id;label\n1;a;r\n2;\"a \";w\n3;'=x;w\n4;''=x;r\n"),
    ];
    for (name, text) in texts {
        let mut queue = cards();
        files.take(&mut queue, name, text).expect("all are known");
        assert_eq!(queue.letters(), "rwwr", "{name}");
    }
}

#[test]
fn rows_behind_a_gap_are_not_taken_and_the_gap_is_named() {
    let (files, mut queue) = (Files::new(), MemoryQueue::verdicts(6));
    let text = "id;label\nq6;r\nq2;r\nq1;w\nq3;\nq4;r\n";
    let imported = files.take(&mut queue, "a.csv", text).expect("it is right");
    let gap = Some("q3".to_owned());
    assert_eq!(
        imported,
        ImportCounts { taken: 2, empty: 1, behind: 2, gap, ..ImportCounts::default() }
    );
    assert_eq!(queue.letters(), "wr....");
    let mut queue = MemoryQueue { is_ordered: false, ..MemoryQueue::verdicts(6) };
    let imported = files.take(&mut queue, "a.csv", text).expect("it is right");
    assert_eq!(imported, ImportCounts { taken: 4, empty: 1, ..ImportCounts::default() });
    assert_eq!(queue.letters(), "wr.r.r", "this queue has no order");
}

#[test]
fn rows_of_another_person_are_refused_and_cards_of_others_are_settled() {
    let (files, mut queue) = (Files::new(), MemoryQueue::verdicts(4));
    let text = "id\tby\tlabel\nq2\tbo\t0\nq1\t\t1\n";
    let refusal = files.refusal(&mut queue, "a.tsv", text);
    assert!(
        refusal.contains("a.tsv: line 2: a label by \"bo\", but this import is by \"me\""),
        "{refusal}"
    );
    let imported = files.take(&mut queue, "a.csv", "id,by,label\nq2,me,0\nq1,,1\n");
    assert_eq!(imported.expect("it is right").taken, 2);
    fs::write(files.path("b.csv"), "id,by,label\nq1,bo,1\n").expect("the folder takes files");
    let imported = labels_file::take(&mut queue, "bo", &files.path("b.csv"));
    assert_eq!(
        imported.expect("it is right"),
        ImportCounts { settled: 1, ..ImportCounts::default() },
        "it has its label"
    );
}

/// A file may have all answers of the run, certified or not.
#[test]
fn rows_of_answers_without_a_card_are_skipped_and_counted() {
    let (files, mut queue) = (Files::new(), MemoryQueue::verdicts(3));
    queue.others = vec!["q7", "q8"];
    let text = "id,label\nq7,wrong\nq1,right\nq8,?!\nq2,right\n";
    let imported = files.take(&mut queue, "a.csv", text).expect("it is right");
    assert_eq!(imported, ImportCounts { taken: 2, elsewhere: 2, ..ImportCounts::default() });
    // Another number is another answer, and not a misspelt one.
    for (id, hint) in [("q9", ""), ("q33", ""), ("Q-3", "; did you mean \"q3\"?")] {
        let refusal = files.refusal(&mut queue, "a.csv", &format!("id,label\n{id},right\n"));
        let expected = format!("no card has the id {id:?}{hint}\n");
        assert!(refusal.contains(&expected), "{refusal}");
    }
}

#[test]
fn every_wrong_row_is_named_and_nothing_is_taken() {
    let (files, mut queue) = (Files::new(), MemoryQueue::verdicts(3));
    queue.submit("me", "q1", CardReply::Right).expect("it is next");
    let text = "id,label\nq1,wrong\nq2,right\nq2,right\n,right\nqq3,right\nq3,rihgt\n";
    assert_eq!(
        files.refusal(&mut queue, "a.csv", text),
        "a.csv: line 2: \"me\" has said right about \"q1\", and this says wrong: what stands is changed by undo\n\
         a.csv: line 4: \"q2\" was named on line 3 already\n\
         a.csv: line 5: the id is empty\n\
         a.csv: line 6: no card has the id \"qq3\"; did you mean \"q3\"?\n\
         a.csv: line 7: label: expected right, wrong or skip; found \"rihgt\"; did you mean \"right\"?\n\
         no label was taken"
    );
    for (name, text, fault) in [
        ("a.csv", "id,labels\nq2,r\n", "line 2: no column \"label\"; did you mean \"labels\"?"),
        ("a.csv", "ids,label\nq2,r\n", "line 2: no column \"id\"; did you mean \"ids\"?"),
        ("a.csv", "id,label\nq2\n", "line 2: 1 columns, but the header has 2"),
        ("a.csv", "id,label\n", "a.csv: there are no labels in it"),
        (
            "a.jsonl",
            "{\"id\":\"q2\",\"label\":[]}\n",
            "line 1: label: expected right, wrong or skip",
        ),
        ("a.jsonl", "{\"id\":\"q2\"\n", "line 1: column"),
        ("a.json", "[{\"id\":\"q2\",\"label\":7}]", "entry 1: label: expected right"),
        ("a.xlsx", "", "the name must end in .jsonl"),
    ] {
        let refusal = files.refusal(&mut queue, name, text);
        assert!(refusal.contains(fault), "{fault}: {refusal}");
    }
    let many: String = (0..500).map(|index| format!("x{index},r\n")).collect();
    let refusal = files.refusal(&mut queue, "a.csv", &format!("id,label\n{many}"));
    assert!(refusal.lines().count() == 22 && refusal.contains("and 480 more"), "{refusal}");
    let missing =
        labels_file::take(&mut queue, "me", &files.path("none.csv")).expect_err("no file");
    assert!(missing.to_string().contains("none.csv"), "{missing}");
}

#[test]
fn what_is_typed_is_read_by_what_is_wanted() {
    let score = ReplyForm::Score { lowest: 0.0, highest: 5.0 };
    for (text, wanted, said) in [
        (" Yes ", ReplyForm::Verdict, Some(CardReply::Right)),
        ("TRUE", ReplyForm::Verdict, Some(CardReply::Right)),
        ("0", ReplyForm::Verdict, Some(CardReply::Wrong)),
        ("unsure", ReplyForm::Verdict, Some(CardReply::Skip)),
        ("  ", ReplyForm::Verdict, None),
        ("4.5", score, Some(CardReply::Score(4.5))),
        ("0", score, Some(CardReply::Score(0.0))),
        ("skip", score, Some(CardReply::Skip)),
        ("yes", ReplyForm::Answer, Some(CardReply::Answer("yes".into()))),
        ("skip", ReplyForm::Answer, Some(CardReply::Skip)),
    ] {
        assert_eq!(CardReply::read(text, wanted), Ok(said), "{text}");
    }
    for text in ["6", "-1", "NaN", "inf", "0,5", "right"] {
        let fault = CardReply::read(text, score).expect_err(text);
        assert!(fault.contains("a number from 0 to 5"), "{fault}");
    }
}

#[test]
fn known_answers_label_each_card() {
    let gold = |id: &str, gold: &str, answer: &str| {
        let meta = format!("{{\"gold\": \"{gold}\"}}");
        let fields = [("gold", gold.into()), ("answer", answer.into()), ("meta", meta)];
        card(id, ReplyForm::Verdict, &fields)
    };
    let cards =
        || vec![gold("a", "72", " 72.0"), gold("b", "Paris", "paris "), gold("c", "7", "8")];
    for field in ["gold", "meta.gold"] {
        let mut queue = MemoryQueue::new(cards());
        let labels =
            gold::compare(&mut queue, "gold", [field, "answer"], None).expect("all are there");
        assert_eq!(queue.letters(), "...", "nothing is written yet");
        let counts = labels.submit(&mut queue, "gold", usize::MAX).expect("in order");
        assert_eq!((counts, queue.letters().as_str()), ((2, 3), "rrw"), "{field}");
        let labels = gold::compare(&mut queue, "gold", [field, "answer"], None).expect("no cards");
        assert_eq!(labels.submit(&mut queue, "gold", usize::MAX).expect("nothing to do"), (0, 0));
    }
    let mut queue = MemoryQueue::new(cards());
    queue.cards[1].fields.remove(0);
    let mut fault = |fields| {
        let compared = gold::compare(&mut queue, "gold", fields, None);
        compared.map(drop).expect_err("it is refused").to_string()
    };
    assert_eq!(fault(["gold", "answer"]), "\"b\" has no field \"gold\"");
    assert!(fault(["gold", "answr"]).contains("did you mean \"answer\"?"));
    assert_eq!(queue.letters(), "...");
}
