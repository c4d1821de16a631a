//! A JSON object on each line.

use proptest::prelude::*;

use super::*;

#[test]
fn lines_are_kept_as_they_are() {
    check(
        "a.jsonl",
        "\u{feff}{\"id\":\"a\",\"z\":1,\"b\":null}\r\n\n   {\"n\": 1.000000000000000000001, \"id\" : \"ä\"}\t\n\
         {\"id\":-3,\"deep\":{\"list\":[1,{\"x\":\"\\n\"}]}}",
        &[
            ("a", "{\"id\":\"a\",\"z\":1,\"b\":null}"),
            ("ä", "{\"n\": 1.000000000000000000001, \"id\" : \"ä\"}"),
            ("-3", "{\"id\":-3,\"deep\":{\"list\":[1,{\"x\":\"\\n\"}]}}"),
        ],
    );
}

#[test]
fn ids_are_texts_or_whole_numbers() {
    check(
        "a.jsonl",
        "{\"id\":18446744073709551615}\n{\"id\":\"\\u00e4\\\"\"}\n{\"\\u0069d\":\" x \"}\n",
        &[
            ("18446744073709551615", "{\"id\":18446744073709551615}"),
            ("ä\"", "{\"id\":\"\\u00e4\\\"\"}"),
            (" x ", "{\"\\u0069d\":\" x \"}"),
        ],
    );
    for id in ["1.5", "1e3", "null", "true", "[1]", "{\"a\":1}", "99999999999999999999", "-0"] {
        let expected = "1: the id in field \"id\" is neither a text nor a whole number";
        check_faults("a.jsonl", format!("{{\"id\":{id}}}").as_bytes(), &[expected]);
    }
}

#[test]
fn a_carriage_return_between_values_does_not_end_the_line() {
    check("a.jsonl", "{\"id\":\r1}\n", &[("1", "{\"id\": 1}")]);
}

#[test]
fn all_faults_are_found_at_once() {
    check_faults(
        "a.jsonl",
        b"{\"id\": 1}\n\
          {\"id\": 1 \"x\": 2}\n\
          [1, 2]\n\
          {\"ID\": 5}\n\
          {\"id\": \" \"}\n\
          \n\
          {\"id\": \"1\"}\n\
          \xff\n\
          {\"id\": 2, \"a\": 1, \"a\": 2}\n\
          {\"id\": 3, \"deep\": [{\"a\": 1, \"a\": 2}]}\n\
          {\"id\": 4} {\"id\": 5}\n\
          {\"id\": 6, \"n\": 1e999}\n\
          {\"id\": 7, \"text\": \"\\ud800\"}\n\
          {\"id\": 8",
        &[
            "2: column 10: broken JSON: expected `,` or `}`",
            "3: not a JSON object",
            "4: no field \"id\", which should hold the id; did you mean \"ID\"?",
            "5: the id is empty",
            "7: id \"1\" already names the candidate at 1",
            "8: not UTF-8",
            "9: column 21: broken JSON: field \"a\" appears twice in one object",
            "10: column 31: broken JSON: field \"a\" appears twice in one object",
            "11: column 11: broken JSON: trailing characters",
            "12: column 20: broken JSON: number out of range",
            "13: column 26: broken JSON: unexpected end of hex escape",
            "14: column 8: broken JSON: EOF while parsing an object",
        ],
    );
}

#[test]
fn columns_count_characters_from_the_beginning_of_the_line() {
    check_faults(
        "a.jsonl",
        "  {\"id\": \"äöü\", x}\n".as_bytes(),
        &["1: column 17: broken JSON: key must be a string"],
    );
}

#[test]
fn the_nearest_field_is_suggested_for_the_id() {
    check_faults(
        "a.jsonl",
        b"{\"uid\": 5, \"answer\": 1}\n",
        &["1: no field \"id\", which should hold the id; did you mean \"uid\"?"],
    );
}

#[test]
fn arrays_and_objects_in_sequence_are_read_like_lines() {
    let expected = [("a", "{\"id\":\"a\",  \"b\":[1]}"), ("2", "{\"id\":2}")];
    let array = "\u{feff}\n[\n{\"id\":\"a\",\r\n\"b\":[1]}\n,\n{\"id\":2}\n]\n";
    for name in ["a.json", "a.jsonl"] {
        check(name, array.trim_start_matches('\u{feff}').trim_start(), &expected);
    }
    check("a.json", array, &expected);
    check("a.json", "{\"id\":\"a\",\n \"b\":[1]}\n{\"id\":2}", &expected);
    let lines = read("a.jsonl", b"{\"id\":\"a\",  \"b\":[1]}\n{\"id\":2}").unwrap();
    assert_eq!(read("a.json", array.as_bytes()).unwrap().fingerprint(), lines.fingerprint());
}

#[test]
fn faults_of_arrays_name_the_entry_or_the_line() {
    check_faults(
        "a.json",
        b"[{\"id\": 1}, 5, {\"id\": 1}, {\"id\": null}]",
        &[
            "2: not a JSON object",
            "3: id \"1\" already names the candidate at 1",
            "4: the id in field \"id\" is neither a text nor a whole number",
        ],
    );
    for (text, expected) in [
        ("[{\"id\": 1},\n {\"id\": }]", "a.json: line 2: broken JSON: expected value"),
        (
            "[{\"id\": 1}\n\n {\"id\": 2}]",
            "a.json: line 3: broken JSON: the array does not continue",
        ),
        ("[{\"id\": 1}] x", "a.json: line 1: broken JSON: the array does not continue"),
        ("[{\"id\": 1},", "a.json: line 1: broken JSON: the array does not continue"),
        ("[{\"id\": 1", "a.json: line 1: broken JSON: EOF"),
    ] {
        let error = read("a.json", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn an_object_around_the_candidates_is_refused() {
    let wrapped = r#"{"name": "set", "data": [{"id": "a"}, {"id": "b"}]}"#;
    let error = read("a.json", wrapped.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("field `data` is a list of 2 objects"), "{error}");
    assert!(error.contains("jq '.data'"), "{error}");
    let messages = r#"{"id":"a","messages":[{"role":"user"},{"role":"assistant"}]}"#;
    check("a.json", messages, &[("a", messages)]);
    let two =
        r#"{"id":"a","steps":[{"n":1},{"n":2}]}"#.to_owned() + "\n" + r#"{"id":"b","steps":[]}"#;
    assert_eq!(read("a.jsonl", two.as_bytes()).unwrap().len(), 2);
}

#[test]
fn non_finite_numbers_of_python_are_null() {
    let text = r#"{"id": "NaN \\\" NaN", "a": NaN, "b": [Infinity,-Infinity], "c": "\"Infinity"}"#;
    let repaired = r#"{"id": "NaN \\\" NaN", "a": null, "b": [null,null], "c": "\"Infinity"}"#;
    check("a.jsonl", text, &[("NaN \\\" NaN", repaired)]);
    check("a.json", &format!("[{text}]"), &[("NaN \\\" NaN", repaired)]);
}

#[test]
fn required_fields_are_checked_in_every_line() {
    let candidates = read(
        "a.jsonl",
        b"\n{\"id\":1,\"answer\":\"x\",\"note\":null}\n{\"note\":1,\"id\":2,\"anwser\":\"y\"}\n",
    )
    .unwrap();
    candidates.require_fields(&names(&["id", "note"])).unwrap();
    candidates.require_fields(&names(&[])).unwrap();
    let error = candidates.require_fields(&names(&["answer", "question"])).unwrap_err();
    let CandidatesErrorKind::Faults(list) = &error.kind else { panic!("{error}") };
    assert_eq!(list.more, 0);
    let found: Vec<String> =
        list.faults.iter().map(|fault| format!("{}: {}", fault.line, fault.kind)).collect();
    assert_eq!(
        found,
        [
            "2: no field \"question\"",
            "3: no field \"answer\"; did you mean \"anwser\"?",
            "3: no field \"question\"",
        ]
    );
}

#[test]
fn very_deep_json_is_refused() {
    let deep = format!("{{\"id\":1,\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let error = read("a.jsonl", deep.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("recursion limit exceeded"), "{error}");
}

const VALID: &str =
    "{\"id\":\"a\",\"x\":[1,-2.5e3,true,null]}\n{\"x\":{\"y\":\"\\u00e4\\\"ß\"},\"id\":12}\n";

/// All accepted files can be used.
fn check_any(name: &str, bytes: &[u8]) {
    if let Ok(candidates) = read(name, bytes) {
        check_consistent(&candidates);
    }
}

proptest! {
    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check_any("a.jsonl", &bytes);
        check_any("a.jsonl.gz", &bytes);
        check_any("a.csv", &bytes);
        check_any("a.parquet", &bytes);
        check_any("a.json", &bytes);
        check_any("a.eval", &bytes);
        check_any("a.jsonl.zst", &bytes);
    }

    #[test]
    fn changed_files_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        is_ascii in any::<bool>(),
    ) {
        let mut bytes = VALID.as_bytes().to_vec();
        for (index, byte) in changes {
            *index.get_mut(&mut bytes) = if is_ascii { byte & 0x7F } else { byte };
        }
        check_any("a.jsonl", &bytes);
        check_any("a.json", &bytes);
        let mut compressed = gzipped(VALID.as_bytes());
        let index = usize::from(bytes[0]) % compressed.len();
        compressed[index] ^= bytes[1];
        check_any("a.jsonl.gz", &compressed);
    }

    /// The strict scan accepts exactly what can be built afterwards.
    #[test]
    fn what_is_accepted_can_be_built(text in "[\\[\\]{}\",:0-9eE.+\\-\\\\ud truefalsn]{0,20}") {
        let built = serde_json::from_str::<Value>(&text);
        match json::scan(&text, "id") {
            Ok(scanned) => prop_assert_eq!(scanned.is_object, built.unwrap().is_object()),
            Err(error) => {
                prop_assert!(built.is_err() || error.to_string().contains("stands twice"));
            }
        }
    }
}
