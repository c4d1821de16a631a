use proptest::strategy::Strategy as _;

use super::*;

fn extractor(name: ExtractName) -> Extractor {
    Extractor::new(name, None, None).unwrap()
}

#[track_caller]
fn check(name: ExtractName, text: &str, expected: Option<&str>) {
    assert_eq!(extractor(name).extract(text).as_deref(), expected, "{name:?} in {text:?}");
}

#[test]
fn gsm8k_answers_are_after_the_last_marks() {
    use ExtractName::Gsm8k;
    check(Gsm8k, "9 * 2 = 18\n#### 18", Some("18"));
    check(Gsm8k, "#### 1\nno, wait\n####2", Some("2"));
    check(Gsm8k, "#### $1,234.50", Some("1234.50"));
    check(Gsm8k, "#### -7 dollars", Some("-7"));
    check(Gsm8k, "#### 25%.", Some("25"));
    check(Gsm8k, "#### 18. That is all", Some("18"));
    check(Gsm8k, "#### 3/4", Some("3/4"));
    check(Gsm8k, "#### Paris", None);
    check(Gsm8k, "the answer is 18", None);
    check(Gsm8k, "18 ####", None);
    check(Gsm8k, "", None);
}

#[test]
fn boxed_answers_are_in_the_last_box() {
    use ExtractName::Boxed;
    check(Boxed, r"so \boxed{18}", Some("18"));
    check(Boxed, r"\boxed{1} or rather \boxed{2}", Some("2"));
    check(Boxed, r"\boxed{\frac{3}{4}}", Some("3/4"));
    check(Boxed, r"\boxed{-\dfrac{3}{4}}", Some("-3/4"));
    check(Boxed, r"\boxed{\frac34}", Some("3/4"));
    check(Boxed, r"\boxed{\frac{x}{4}}", Some(r"\frac{x}{4}"));
    check(Boxed, r"\boxed{1{,}234}", Some("1234"));
    check(Boxed, r"\boxed{1,\!234}", Some("1234"));
    check(Boxed, r"\boxed{\$5.00}", Some("5.00"));
    check(Boxed, r"\boxed{50\%}", Some("50"));
    check(Boxed, r"\boxed{\text{(A)}}", Some("(A)"));
    check(Boxed, r"\boxed{\text{east}}.", Some("east"));
    check(Boxed, r"\boxed{90^\circ}", Some("90"));
    check(Boxed, r"\boxed {7}", Some("7"));
    check(Boxed, r"\boxed{\{1, 2\}}", Some(r"\{1, 2\}"));
    check(Boxed, r"\boxed{x^{2}}", Some("x^{2}"));
    check(Boxed, r"\boxed{", None);
    check(Boxed, r"\boxed{\frac{1}{2}", None);
    check(Boxed, r"\boxed{}", None);
    check(Boxed, r"boxed 18", None);
    check(Boxed, r"\boxed{\frac}", Some(r"\frac"));
    check(Boxed, r"\boxed{\fracé1}", Some(r"\fracé1"));
}

#[test]
fn the_last_number_is_found() {
    use ExtractName::LastNumber;
    check(LastNumber, "2 apples and 16 pears are 18.", Some("18"));
    check(LastNumber, "**18**", Some("18"));
    check(LastNumber, "1,234,567 in all", Some("1234567"));
    check(LastNumber, "1,2,3", Some("3"));
    check(LastNumber, "12,34", Some("34"));
    check(LastNumber, "1234,567", Some("567"));
    check(LastNumber, "x = -3", Some("-3"));
    check(LastNumber, "x=−3", Some("-3"));
    check(LastNumber, "10-3", Some("3"));
    check(LastNumber, "10 - 3", Some("3"));
    check(LastNumber, "(2)-3", Some("3"));
    check(LastNumber, "-$5", Some("-5"));
    check(LastNumber, "$-5", Some("-5"));
    check(LastNumber, "€5", Some("5"));
    check(LastNumber, "+5", Some("5"));
    check(LastNumber, ".5", Some("0.5"));
    check(LastNumber, "-.5", Some("-0.5"));
    check(LastNumber, "2.50", Some("2.50"));
    check(LastNumber, "1.5e3 metres", Some("1.5e3"));
    check(LastNumber, "2E-3", Some("2e-3"));
    check(LastNumber, "5 eggs, 7eggs", Some("7"));
    check(LastNumber, "3 / 4", Some("4"));
    check(LastNumber, "3/4", Some("3/4"));
    check(LastNumber, "1/2/2024", Some("2024"));
    check(LastNumber, "7/0", Some("0"));
    check(LastNumber, "1.2.3", Some("3"));
    check(LastNumber, "none", None);
    check(LastNumber, "é٣", None);
    check(LastNumber, "", None);
}

#[test]
fn first_words_of_any_script() {
    use ExtractName::FirstWord;
    check(FirstWord, "Paris.", Some("paris"));
    check(FirstWord, "  **Paris**, of course", Some("paris"));
    check(FirstWord, "\"PARIS\"", Some("paris"));
    check(FirstWord, "N’Djamena", Some("n'djamena"));
    check(FirstWord, "Guinea-Bissau!", Some("guinea-bissau"));
    check(FirstWord, "Paris-", Some("paris"));
    check(FirstWord, "Ålesund", Some("ålesund"));
    check(FirstWord, "東京です。", Some("東京です"));
    check(FirstWord, "दिल्ली।", Some("दिल्ली"));
    check(FirstWord, "42 is it", Some("42"));
    check(FirstWord, "…!?", None);
}

#[test]
fn whole_texts_are_trimmed() {
    check(ExtractName::Whole, "  a b \n", Some("a b"));
    check(ExtractName::Whole, " \n", None);
}

#[test]
fn json_is_found_in_prose() {
    let check = |pointer: &str, text: &str, expected: Option<&str>| {
        let extractor = Extractor::new(ExtractName::Json, None, Some(pointer)).unwrap();
        assert_eq!(extractor.extract(text).as_deref(), expected, "{pointer} in {text:?}");
    };
    check("/answer", r#"{"answer": " 18 "}"#, Some("18"));
    check("/answer", r#"{"answer": 18.0}"#, Some("18.0"));
    check("/answer", r#"{"answer": true}"#, Some("true"));
    check("/answer", r#"{"answer": null}"#, None);
    check("/a/1", "Here:\n```json\n{\"a\": [1, 2]}\n```\nDone.", Some("2"));
    check("/a", "```\n{\"a\": 1}\n```", Some("1"));
    check("/a", r#"I think {x} is {"a": 1} and not {"a": 2}"#, Some("1"));
    check("", "7", Some("7"));
    check("/a", r#"{"a": 1"#, None);
    check("/b", r#"{"a": 1}"#, None);
    check("/a", &"[".repeat(100_000), None);
    check("/a", &"{\"a\":".repeat(10_000), None);
}

#[test]
fn the_last_match_of_a_pattern() {
    let check = |pattern: &str, text: &str, expected: Option<&str>| {
        let extractor = Extractor::new(ExtractName::Regex, Some(pattern), None).unwrap();
        assert_eq!(extractor.extract(text).as_deref(), expected, "{pattern} in {text:?}");
    };
    check(r"(?i)answer:\s*(\w+)", "Answer: A ... answer: B", Some("B"));
    check(r"[A-D]", "A or C", Some("C"));
    check(r"(x)?y", "y", Some("y"));
    check(r"(\d+)", "none", None);
}

#[test]
fn missing_and_unused_keys_are_refused() {
    let wrong = |name, pattern, pointer| {
        Extractor::new(name, pattern, pointer).expect_err("it is wrong").to_string()
    };
    assert!(wrong(ExtractName::Regex, None, None).starts_with("pattern: "));
    assert!(wrong(ExtractName::Regex, Some("("), None).contains("unclosed group"));
    assert!(wrong(ExtractName::Json, None, None).starts_with("pointer: "));
    assert!(wrong(ExtractName::Json, None, Some("answer")).contains("\"/answer\""));
    assert!(wrong(ExtractName::Gsm8k, Some("x"), None).contains("extract"));
    assert!(wrong(ExtractName::Gsm8k, None, Some("/x")).contains("extract"));
}

#[test]
fn a_cut_text_has_only_a_finished_first_word() {
    let word = extractor(ExtractName::FirstWord);
    assert_eq!(word.extract_cut("Paris is").as_deref(), Some("paris"));
    assert_eq!(word.extract_cut("Par"), None);
    assert_eq!(extractor(ExtractName::LastNumber).extract_cut("18 or 1"), None);
    assert_eq!(extractor(ExtractName::Gsm8k).extract_cut("#### 18"), None);
}

#[test]
fn equal_numbers_in_different_notations() {
    for (left, right) in [
        ("18", "18.0"),
        ("18", "18.00"),
        ("18", "$18."),
        ("18", "+18"),
        ("18", "018"),
        ("18", "1.8e1"),
        ("1,800", "1.8E3"),
        ("50%", "50"),
        ("1/2", "0.5"),
        ("1/2", "2/4"),
        ("-1/2", "-.5"),
        ("0", "-0.0"),
        ("0/5", "0"),
        ("100000000000000000000000000000000000000000", "1e41"),
        ("1e400", "10e399"),
        (" Paris", "paris "),
        ("ÉVIAN", "évian"),
        ("3 apples", "3 Apples"),
    ] {
        assert!(same(left, right), "{left} = {right}");
        assert!(same(right, left), "{right} = {left}");
    }
}

#[test]
fn numbers_that_are_close_are_not_equal() {
    for (left, right) in [
        ("18", "81"),
        ("18", "-18"),
        ("0.1", "0.10000000000000000000000000000001"),
        ("9007199254740993", "9007199254740992"),
        ("1/3", "0.3333333333333333"),
        ("1e400", "1e401"),
        ("18", "18 apples"),
        ("18", "eighteen"),
        ("Paris", "Lyon"),
        ("", "0"),
        ("340282366920938463463374607431768211455/3", "1"),
    ] {
        assert!(!same(left, right), "{left} ≠ {right}");
        assert!(!same(right, left), "{right} ≠ {left}");
    }
}

/// Texts similar to those that extractors look for.
fn texts() -> impl proptest::strategy::Strategy<Value = String> {
    proptest::collection::vec(
        proptest::prop_oneof![
            proptest::sample::select(vec![
                "####",
                "\\boxed{",
                "\\frac",
                "{",
                "}",
                "[",
                "]",
                "```json\n",
                "```",
                "-",
                "−",
                "$",
                ",",
                ".",
                "/",
                "e",
                "E+",
                "0",
                "18",
                "1,234",
                "%",
                "\"",
                ":",
                "’",
                " ",
                "\\",
                "é",
                "\\text{",
                "\u{301}",
                "𝟙",
                "\n",
            ])
            .prop_map(str::to_owned),
            ".{0,3}",
        ],
        0..24,
    )
    .prop_map(|parts| parts.concat())
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange(text in texts()) {
        for name in [
            ExtractName::Gsm8k,
            ExtractName::Boxed,
            ExtractName::LastNumber,
            ExtractName::FirstWord,
            ExtractName::Whole,
        ] {
            if let Some(answer) = extractor(name).extract(&text) {
                assert!(!answer.is_empty());
                assert!(same(&answer, &answer), "{answer}");
            }
            extractor(name).extract_cut(&text);
        }
        let json = Extractor::new(ExtractName::Json, None, Some("/a")).unwrap();
        json.extract(&text);
    }

    /// A number found in a text can be read as a number.
    #[test]
    fn numbers_found_are_numbers(text in texts()) {
        if let Some(found) = number::last(&text) {
            assert_eq!(same_number(&found.plain, &found.plain), Some(true), "{}", found.plain);
            assert!(text.is_char_boundary(found.start) && text.is_char_boundary(found.end));
        }
    }

    #[test]
    fn sameness_is_symmetric_and_agrees_with_integers(left: i64, right: i64, zeros in 0_usize..3) {
        let padded = format!("{right}.{}", "0".repeat(zeros + 1));
        assert_eq!(same(&left.to_string(), &padded), left == right);
        assert_eq!(same(&padded, &left.to_string()), left == right);
        assert!(same(&right.to_string(), &padded));
    }
}
