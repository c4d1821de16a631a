use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn secrets(all: &[&str]) -> Secrets {
    let mut secrets = Secrets::default();
    all.iter().for_each(|secret| secrets.add(secret));
    secrets
}

#[track_caller]
fn check(all: &[&str], text: &str, expected: &str) {
    assert_eq!(secrets(all).remove(text.to_owned()), expected, "{text}");
}

const KEY: &str = "ab/+c=é&\"9";

#[test]
fn a_key_is_removed_in_every_form() {
    for form in [
        KEY.to_owned(),
        r#"ab\/+c=é&\"9"#.into(),
        r#"ab\\\/+c=é&\\\"9"#.into(),
        r"ab\u002F\u002bc\u003D\u00E9\u0026\u00229".into(),
        r"\u0061\u0062\u002f\u002b\u0063\u003d\u00e9\u0026\u0022\u0039".into(),
        r"ab\x2f+c=\xe9&\x229".into(),
        r#"ab/+c=\u{e9}&\"9"#.into(),
        "ab%2F%2Bc%3D%C3%A9%26%229".into(),
        "ab%2f%2bc%3d%c3%a9%26%229".into(),
        "ab%252F%252Bc%253D%25C3%25A9%2526%25229".into(),
        "ab/+c=é&amp;&quot;9".into(),
        "ab&#47;&#x2B;c&#61;&#233;&#38;&#x22;9".into(),
        "%61%62/%2bc\\u003dé&amp;\\\"9".into(),
    ] {
        check(&[KEY], &format!("key {form}!"), "key ***!");
        check(&[KEY], &form, "***");
        check(&[KEY], &format!("{form}{form}"), "***");
    }
    check(&["two words"], "two+words two%20words two words", "*** *** ***");
    check(&["smile\u{1f600}!!"], r"a smile\ud83d\uDE00!!", "a ***");
    check(&["back\\slash\\"], r"back\slash\ and back\\slash\\", "*** and ***");
    check(&["line one\nline two"], r"line one\nline two", "***");
    check(&["100%25sure"], "100%25sure 100%2525sure", "*** ***");
}

#[test]
fn a_key_in_base64_is_removed_at_every_alignment() {
    let key = "s3cret-key-?>~";
    for before in ["", "u", "me", "user", "user:"] {
        let text = STANDARD.encode(format!("{before}:{key}:"));
        let cleaned = secrets(&[key]).remove(text.clone());
        assert!(cleaned.contains("***") && cleaned.len() < 3 + before.len() * 2 + 10, "{cleaned}");
    }
}

/// The text in one of several encodings. Some of them may give the same result.
fn encoded(text: &str, way: usize) -> String {
    let each = |escape: fn(u8) -> String| text.bytes().map(escape).collect::<String>();
    match way {
        0 => {
            let quoted = serde_json::Value::from(text).to_string();
            quoted[1..quoted.len() - 1].replace('/', "\\/")
        }
        1 => text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect(),
        2 => each(|byte| format!("%{byte:02x}")),
        3 => each(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        }),
        4 => text.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
        5 => text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;"),
        6 => STANDARD.encode(text),
        7 => URL_SAFE_NO_PAD.encode(format!("m{text}")),
        8 => STANDARD
            .encode(text)
            .as_bytes()
            .chunks(16)
            .map(str::from_utf8)
            .fold(String::new(), |lines, line| lines + line.expect("ASCII") + "\r\n"),
        9 => each(|byte| format!("{byte:02x}")),
        10 => each(|byte| format!("{byte:02X}:")),
        _ => each(|byte| format!("\\x{byte:02x}")),
    }
}

const WAYS: usize = 12;

#[test]
fn a_key_that_looks_like_an_escape_is_removed_from_other_escapes() {
    // Removing all escapes at once would decode the beginning of the key itself.
    let key = "%a0%a=&0";
    let text = encoded(&encoded(key, 5), 5);
    let cleaned = secrets(&[key]).remove(format!("<{text}>"));
    assert_eq!(cleaned, "<***>");
}

#[test]
fn a_key_that_is_encoded_twice_is_removed() {
    for (one, other) in (0..WAYS).flat_map(|one| (0..WAYS).map(move |other| (one, other))) {
        let text = encoded(&encoded(KEY, one), other);
        let cleaned = secrets(&[KEY]).remove(format!("it is <{text}>!"));
        assert!(cleaned.starts_with("it is <") && cleaned.ends_with(">!"), "{cleaned}");
        assert!(cleaned.contains("***"), "{one} {other}: {text}");
        // Text around the key may stay, and incomplete groups of digits.
        assert!(cleaned.len() < 40, "{one} {other}: {text}: {cleaned}");
    }
}

#[test]
fn ordinary_texts_stay_unchanged() {
    let words = "Kilimandscharo decade deadbeefdeadbeefdeadbeef 100% a\\b \\u0041 &amp; 12:34:56:78:9a:bc:de:f0";
    let picture = STANDARD.encode((0..=255).cycle().take(5000).collect::<Vec<u8>>());
    check(&[KEY], words, words);
    check(&[KEY], &picture, &picture);
    check(&[KEY], &encoded(&picture, 9), &encoded(&picture, 9));
}

#[test]
fn a_text_that_takes_too_many_steps_is_left_out() {
    let mut deep = KEY.repeat(20);
    for way in [6, 9, 6, 9, 6, 1] {
        deep = encoded(&deep, way);
    }
    let hostile = ["\\", "%", "%25", "&", "&#x61;", "VVVV", "4141", "\\u0041", "ab/+c=é&", "a"];
    let hostile = hostile.map(|it| it.repeat((1 << 16) / it.len()));
    for text in hostile.into_iter().chain([deep]) {
        assert_ne!(secrets(&[KEY]).remove(text.clone()), LEFT_OUT, "{:?}", text.get(..8));
    }
    let key = "a".repeat(60) + "b";
    assert_eq!(secrets(&[&key]).remove("a".repeat(1 << 16)), LEFT_OUT);
}

#[test]
fn overlapping_and_nested_keys_are_removed() {
    check(&["inner-key", "outer-inner-key-end"], "outer-inner-key-end inner-key", "*** ***");
    check(&["abcdefgh", "efghijkl"], "abcdefghijkl", "***");
    check(&["efghijkl", "abcdefgh"], "x abcdefghijkl y", "x *** y");
}

#[test]
fn the_beginning_of_a_key_is_removed() {
    let key = "sk-proj-0123456789abcdefghij";
    check(&[key], "sk-proj-0123456789ab", "***");
    check(&[key], "it was sk-proj-0123456789ab… and", "it was ***… and");
    check(&[key], "sk-proj- keys", "sk-proj- keys");
}

#[test]
fn texts_without_keys_stay_unchanged() {
    for text in ["", "none", "ab/+", r"\u00", "%", "%2", "&", "&#", "&;", r"\", r"\u{", "é"] {
        check(&[KEY], text, text);
        check(&[], text, text);
    }
    check(&["short"], "short", "short");
    check(&["  padded-key\n"], "a padded-key b", "a *** b");
}

#[test]
fn services_of_one_job_remove_the_keys_of_each_other() {
    let (one, other, none) = (secrets(&["first-key"]), secrets(&["second-key"]), secrets(&[]));
    let redactor = Secrets::united([&one, &other, &none].into_iter());
    let text = || "first-key second-key".to_owned();
    assert_eq!(redactor.remove(text()), "*** ***");
    for secrets in [&one, &other, &none] {
        assert_eq!(secrets.remove(text()), "*** ***");
    }
    assert!(Secrets::united([&none].into_iter()).0.is_none());
}

proptest! {
    /// A key with each character in any form is removed, and nothing else.
    #[test]
    fn any_mixture_of_forms(
        key in "[a-zA-Z0-9/+=%&\\\\\"é-]{8,40}",
        forms in prop::collection::vec(0..7_usize, 40),
    ) {
        let escaped: String = key.chars().zip(forms).map(|(c, form)| match form {
            1 => format!("\\u{:04X}", u32::from(c)),
            2 => format!("\\u{:04x}", u32::from(c)),
            3 => c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")).collect(),
            4 => format!("&#{};", u32::from(c)),
            5 if !c.is_alphanumeric() => format!("\\{c}"),
            _ => c.to_string(),
        }).collect();
        let cleaned = secrets(&[&key]).remove(format!("<<<{escaped}>>>"));
        prop_assert_eq!(cleaned, "<<<***>>>");
    }

    /// Any key in up to three encodings, within other text.
    #[test]
    fn any_layers(
        key in "[a-zA-Z0-9/+=%&\\\\\"é-]{8,40}",
        ways in prop::collection::vec(0..WAYS, 1..4),
        before in "[a-z ]{0,5}",
    ) {
        let text = ways.iter().fold(key.clone(), |text, way| encoded(&text, *way));
        let cleaned = secrets(&[&key]).remove(format!("{before}<{text}>"));
        prop_assert!(cleaned.contains("***"), "{} {:?}: {}", key, ways, text);
        // The end of Base64, "==\r\n", holds nothing of the key and may stay, escaped by two more layers.
        prop_assert!(cleaned.len() < 40 + 4 * 6 * 6, "{} {:?}: {}", key, ways, cleaned);
    }

    /// No text causes a panic or takes long.
    #[test]
    fn any_text(text in "[\\\\u%&#;{}0-9a-f+x éÿ]{0,200}") {
        secrets(&[KEY, "\\\\\\\\%%%%", "uuuuuuuuuuuuuuuuuuu"]).remove(text);
    }
}
