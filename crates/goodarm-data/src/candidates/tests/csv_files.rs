//! Tables of texts.

use proptest::prelude::*;

use super::*;

#[test]
fn rows_become_objects_of_texts() {
    check(
        "a.csv",
        "\u{feff}answer,id,\"a \"\"b\"\"\"\r\n\"two\nlines, \"\"quoted\"\"\",x,\n7,\"1\",\t\\\n",
        &[
            ("x", "{\"answer\":\"two\\nlines, \\\"quoted\\\"\",\"id\":\"x\",\"a \\\"b\\\"\":\"\"}"),
            ("1", "{\"answer\":\"7\",\"id\":\"1\",\"a \\\"b\\\"\":\"\\t\\\\\"}"),
        ],
    );
}

#[test]
fn tabs_may_separate_columns() {
    check(
        "a.tsv",
        "id\ttext\na\tx,y\nb\t\"two\nlines\"\n",
        &[
            ("a", "{\"id\":\"a\",\"text\":\"x,y\"}"),
            ("b", "{\"id\":\"b\",\"text\":\"two\\nlines\"}"),
        ],
    );
    check_faults(
        "a.tsv",
        b"id\ttext\na\t\"x\nb\ty\n",
        &["2: a quote that is opened here is never closed"],
    );
}

#[test]
fn all_faults_are_found_at_once() {
    check_faults(
        "a.csv",
        b"id,text\na,\"two\nlines\"\nb\n\nc,d,e\n,f\na,g\n\xff,h\ni,\xff\n",
        &[
            "4: 1 columns, but the header has 2",
            "6: 3 columns, but the header has 2",
            "7: the id is empty",
            "8: id \"a\" already names the candidate at 2",
            "9: not UTF-8",
            "10: not UTF-8",
        ],
    );
}

#[test]
fn an_open_quote_is_a_fault() {
    check_faults(
        "a.csv",
        b"id,text\na,\"x\"\nb,\"never closed\nc,d\ne,f\n",
        &["3: a quote that is opened here is never closed"],
    );
    check("a.csv", "id,text\na,5\" pipe\n", &[("a", "{\"id\":\"a\",\"text\":\"5\\\" pipe\"}")]);
    check("a.csv", "id,text\na,\"\"\"\"\n", &[("a", "{\"id\":\"a\",\"text\":\"\\\"\"}")]);
    check("a.csv", "id,text\na,\"x\"", &[("a", "{\"id\":\"a\",\"text\":\"x\"}")]);
}

#[test]
fn wrong_headers_are_refused() {
    let error = read("a.csv", b"ID,uid\n1,2\n").unwrap_err().to_string();
    assert!(
        error.ends_with("no column \"id\", which should hold the ids; did you mean \"ID\"?"),
        "{error}"
    );
    let error = read("a.csv", b"id,x,x\n1,2,3\n").unwrap_err().to_string();
    assert!(error.ends_with("two columns are named \"x\""), "{error}");
    check_faults("a.csv", b"id,\xff\n1,2\n", &["1: not UTF-8"]);
}

#[test]
fn required_fields_are_columns() {
    let candidates = read("a.csv", b"id,answer\n1,\n").unwrap();
    candidates.require_fields(&names(&["id", "answer"])).unwrap();
    let error = candidates.require_fields(&names(&["answers"])).unwrap_err().to_string();
    assert!(
        error.ends_with("a.csv, line 2: no field \"answers\"; did you mean \"answer\"?"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn every_table_comes_back(
        rows in prop::collection::vec(prop::collection::vec(".{0,12}|[\",\n\r]{0,6}", 2), 1..8),
    ) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["id", "first", "second"]).unwrap();
        for (row, id) in rows.iter().zip(0..) {
            writer.write_record([&format!("{id}"), &row[0], &row[1]]).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let candidates = read("a.csv", &bytes).unwrap();
        prop_assert_eq!(candidates.len(), rows.len());
        for (row, arm) in rows.iter().zip(arms(&candidates)) {
            let fields = candidates.get(arm).fields().clone();
            prop_assert_eq!(&fields["first"], &Value::from(row[0].as_str()));
            prop_assert_eq!(&fields["second"], &Value::from(row[1].as_str()));
        }
        check_consistent(&candidates);
    }

    #[test]
    fn changed_files_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = b"id,text,more\na,\"x \"\"y\"\"\",1\nb,\"\n\",\r\nc,,\n".to_vec();
        for (index, byte) in changes {
            *index.get_mut(&mut bytes) = byte;
        }
        if let Ok(candidates) = read("a.csv", &bytes) {
            check_consistent(&candidates);
        }
    }
}

/// A table from a spreadsheet whose decimals have commas.
#[test]
fn semicolons_may_separate_columns() {
    check("a.csv", "id;text\na;1,5\n", &[("a", "{\"id\":\"a\",\"text\":\"1,5\"}")]);
    check("a.csv", "id,a;b\na,x;y\n", &[("a", "{\"id\":\"a\",\"a;b\":\"x;y\"}")]);
}
