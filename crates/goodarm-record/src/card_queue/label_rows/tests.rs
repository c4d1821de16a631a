use std::fs;

use super::*;

fn at(name: &str, text: &str) -> Result<Vec<LabelRow>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let folder = format!("{}/", folder.path().display());
    read(&path).map_err(|problems| problems.join("\n").replace(&folder, ""))
}

fn said(name: &str, text: &str) -> Vec<(String, String, CardReply)> {
    let rows = at(name, text).unwrap();
    rows.into_iter().map(|row| (row.place, row.id, row.said)).collect()
}

#[test]
fn tables_and_lines_say_the_same() {
    let expected = [
        ("line 2".to_owned(), "a".to_owned(), CardReply::Right),
        ("line 3".to_owned(), "b".to_owned(), CardReply::Wrong),
        ("line 4".to_owned(), "c".to_owned(), CardReply::Skip),
    ];
    assert_eq!(said("l.csv", "id,label\na,Right\nb, no \nc,SKIP\nd,\n"), expected);
    assert_eq!(said("l.tsv", "id\tlabel\tby\na\t1\tx\nb\t0.0\t\nc\tskip\tx\n"), expected);
    let lines = "{\"id\":\"z\"}\n{\"id\":\"a\",\"label\":true}\n{\"id\":\"b\",\"label\":0}\n\
                 {\"id\":\"c\",\"label\":\"skip\"}\n";
    assert_eq!(said("l.jsonl", lines), expected);
    let array = "[{\"id\": 7, \"label\": 1.0, \"by\": \"anna\"}]";
    let rows = at("l.json", array).unwrap();
    assert_eq!((rows[0].by.as_deref(), rows[0].place.as_str()), (Some("anna"), "entry 1"));
    assert_eq!((rows[0].id.as_str(), &rows[0].said), ("7", &CardReply::Right));
}

#[test]
fn everything_that_is_wrong_is_named_with_its_line() {
    let wrong = |name: &str, text: &str| at(name, text).unwrap_err();
    assert_eq!(
        wrong("l.csv", "id,label\na,rigth\nb,right\nc,maybe\n"),
        "l.csv, line 2: expected right, wrong or skip; found \"rigth\"; did you mean \"right\"?\n\
         l.csv, line 4: expected right, wrong or skip; found \"maybe\""
    );
    assert!(wrong("l.csv", "id,label\na,1\na,0\n").starts_with("l.csv, line 3: id \"a\" already"));
    assert_eq!(
        wrong("l.csv", "id,labels\na,1\n"),
        "l.csv: no labels: a column \"label\" with right, wrong or skip is needed; did you mean \"labels\"?"
    );
    assert!(wrong("l.csv", "name,label\na,1\n").starts_with("l.csv: no column \"id\""));
    assert_eq!(
        wrong("l.jsonl", "{\"id\":\"a\",\"label\":[1]}\n"),
        "l.jsonl, line 1: expected right, wrong or skip; found \"[1]\""
    );
    assert!(wrong("l.txt", "a").contains("must end in"));
    assert_eq!(
        wrong(
            "l.csv",
            &format!("id,label\n{}", (0..30).map(|i| format!("{i},x\n")).collect::<String>())
        )
        .lines()
        .last(),
        Some("and 10 more")
    );
}
