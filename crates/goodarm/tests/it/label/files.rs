//! By files, and by known answers.

use std::fs;

use serde_json::json;

use super::label_folder::LabelFolder;

#[test]
fn a_spreadsheet_goes_out_and_comes_back() {
    let place = LabelFolder::new();
    place.typed(&[], "r\n");
    let cards = place.argument("cards.csv");
    let wrote = place.label(&["--export", &cards]);
    let all = place.status()["all"].as_u64().expect("a count");
    assert!(wrote.contains(&format!("with {} cards for me", all - 1)), "{wrote}");
    let sheet = place.read("cards.csv");
    assert!(sheet.starts_with("place,id,asks,answer,question,label\n2,sum-"), "{sheet}");
    // As a spreadsheet would save it: the third has no label yet, and the order is another.
    let mut rows: Vec<&str> = sheet.lines().collect();
    let header = rows.remove(0);
    let label = |(index, row): (usize, &&str)| match index {
        0 | 1 => format!("{row}right"),
        2 => (*row).to_owned(),
        _ => format!("{row}0"),
    };
    let mut filled: Vec<String> = rows.iter().enumerate().map(label).collect();
    filled.reverse();
    let text = format!("\u{feff}{header}\r\n{}\r\n", filled.join("\r\n"));
    let file = place.file("filled.csv", &text);
    let told = place.label(&["--import", &file]);
    let gap = rows[2].split(',').nth(1).expect("an id");
    let behind = all - 4;
    assert!(
        told.starts_with(&format!(
            "2 labels taken, 1 row not filled in, {behind} rows not taken\n"
        )),
        "{told}"
    );
    assert!(told.contains(&format!("behind \"{gap}\" are not taken: me has not")), "{told}");
    assert_eq!(place.status()["done"], 3);
    let before = place.read("run/labels.jsonl");
    let again = place.label(&["--import", &file]);
    assert!(again.starts_with("0 labels taken, 2 rows known before, 1 row not"), "{again}");
    assert_eq!(place.read("run/labels.jsonl"), before, "nothing changed");
    let other = place.file("other.csv", &text.replace("right\r\n", "wrong\r\n"));
    let refusal = place.refusal(&["--import", &other]);
    assert!(
        refusal.contains("other.csv: line ") && refusal.contains("has said right"),
        "{refusal}"
    );
    let whole = place.file(
        "whole.csv",
        &text.replace(&format!("{}\r\n", rows[2]), &format!("{}1\r\n", rows[2])),
    );
    place.label(&["--import", &whole]);
    assert_eq!(place.status()["done"], all);
    place.assert_clean();
    let nothing = place.label(&["--export", &place.argument("rest.csv")]);
    assert!(nothing.contains("with 0 cards"), "{nothing}");
}

#[test]
fn two_people_label_each_card_by_a_file() {
    let place = LabelFolder::new();
    let cards = place.argument("cards.csv");
    place.label(&["--export", &cards, "--labels", "2"]);
    let written = fs::read_to_string(&cards).expect("it was written");
    for by in ["anna", "bo"] {
        let row = |line: &str| {
            let id = line.split(',').nth(1).expect("the second column");
            format!("{}\n", json!({"id": id, "label": by == "anna", "by": by}))
        };
        let rows: String = written.lines().skip(1).take(2).map(row).collect();
        let file = place.file(&format!("{by}.jsonl"), &rows);
        let told = place.label(&["--import", &file, "--by", by]);
        assert!(told.starts_with("2 labels taken\n"), "{told}");
    }
    let claim = place.claim();
    assert_eq!((&claim["labels"], &claim["disagreements"]), (&2.into(), &2.into()), "{claim}");
    let other = place.refusal(&["--terminal", "--labels", "3"]);
    assert!(other.contains("labels a card 2") && other.contains("--another"), "{other}");
}

#[test]
fn known_answers_label_the_run() {
    let place = LabelFolder::new();
    let wrong = place.refusal(&["--field", "glod", "--equals", "answer"]);
    assert!(wrong.contains("has no field \"glod\"; did you mean \"gold\"?"), "{wrong}");
    assert!(place.claim().is_null(), "nothing was labelled");
    let told = place.label(&["--field", "gold", "--equals", "answer"]);
    assert!(told.contains("20 cards labelled by gold: 19 right, 1 wrong\n"), "{told}");
    assert_eq!((&place.claim()["at_least"], &place.claim()["right"]), (&19.into(), &19.into()));
    let none = place.label(&["--field", "gold", "--equals", "answer"]);
    assert!(none.starts_with("0 cards labelled"), "{none}");
    place.assert_clean();
}

/// The whole text of a solution never equals its number.
#[test]
fn final_answers_are_compared_as_the_job_finds_them() {
    let place = LabelFolder::of_solutions();
    let told = place.label(&["--field", "gold", "--equals", "answer"]);
    let (shown, taken) =
        told.split_once("20 cards labelled by gold: 19 right, 1 wrong\n").expect(&told);
    assert!(shown.contains("sum-3: gold \"6.00\", answer \"7\": different\n"), "{shown}");
    assert!(shown.contains("sum-0: gold \"0.00\", answer \"0\": the same\n"), "{shown}");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert!(taken.contains("19 of the 20 certified answers are right"), "{taken}");
    place.assert_clean();
}

/// A comparison without a match is a mistake in the comparison.
#[test]
fn nothing_is_written_where_nothing_agrees() {
    let place = LabelFolder::of_solutions();
    let fields = ["--field", "gold", "--equals", "answer"];
    for extra in [&["--extract", "whole"][..], &["--extract", "first-word"]] {
        let refusal = place.refusal(&[&fields[..], extra].concat());
        assert!(refusal.contains("none of 20 answers is the same as its gold"), "{refusal}");
        assert!(refusal.contains("sum-0: gold \"0") && refusal.contains("--extract"), "{refusal}");
    }
    assert!(place.refusal(&["--field", "other", "--equals", "answer"]).contains("none of 20"));
    assert_eq!(place.begun(), 0, "no order was drawn");
    assert!(place.claim().is_null());
    place.label(&[&fields[..], &["--extract", "last-number"]].concat());
    assert_eq!(place.claim()["right"], 19);
    let unknown = place.refusal(&[&fields[..], &["--extract", "gsm8"]].concat());
    assert!(unknown.contains("gsm8k"), "{unknown}");
}

/// Who sees the right answer does not judge.
#[test]
fn reference_fields_are_hidden_unless_they_are_asked_for() {
    let place = LabelFolder::new();
    let head = |name: &str, arguments: &[&str]| {
        let file = place.argument(name);
        place.label(&[&["--export", &file], arguments].concat());
        place.read(name).lines().next().expect("a line").to_owned()
    };
    assert_eq!(head("a.csv", &[]), "place,id,asks,answer,question,label");
    assert_eq!(head("b.csv", &["--show", "gold"]), "place,id,asks,answer,gold,question,label");
    assert_eq!(head("c.csv", &["--hide", "question"]), "place,id,asks,answer,label");
    let shown = place.typed(&[], "q\n");
    assert!(shown.contains("question:") && !shown.contains("gold:"), "{shown}");
    let shown = place.typed(&["--show", "gold", "--hide", "question"], "q\n");
    assert!(!shown.contains("question:") && shown.contains("gold:"), "{shown}");
    let refusal = place.refusal(&["--terminal", "--hide", "qestion"]);
    assert!(refusal.contains("\"qestion\"; did you mean \"question\"?"), "{refusal}");
}
