use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::*;

fn alone(all: &[&str]) -> Secrets {
    let mut secrets = Secrets::default();
    all.iter().for_each(|secret| secrets.add(secret));
    secrets
}

/// The secrets of a job with one service.
fn secrets(all: &[&str]) -> Secrets {
    let secrets = alone(all);
    Secrets::united([&secrets].into_iter());
    secrets
}

#[track_caller]
fn check(all: &[&str], text: &str, expected: &str) {
    check_with(&secrets(all), text, expected);
}

#[track_caller]
fn check_with(secrets: &Secrets, text: &str, expected: &str) {
    assert_eq!(secrets.remove(text.to_owned()), expected, "{text}");
}

/// Every form of it differs from every other, since it has all that is escaped somewhere, and bytes that the two
/// alphabets of Base64 write differently at each alignment.
const KEY: &str = "a/é&\"'<>\\?????~9";

/// The text in every encoding that `SECURITY.md` promises to recognise, but for Base64.
fn encodings(text: &str) -> [String; 21] {
    let each = |form: fn(char) -> String| text.chars().map(form).collect::<String>();
    let bytes = |form: fn(u8) -> String| text.bytes().map(form).collect::<String>();
    [
        text.to_owned(),
        each(|c| if "\"\\".contains(c) { format!("\\{c}") } else { c.into() }),
        each(|c| if "\"\\/".contains(c) { format!("\\{c}") } else { c.into() }),
        each(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            ' '..='~' => c.into(),
            _ => format!("\\u{:04x}", u32::from(c)),
        }),
        each(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            ' '..='~' => c.into(),
            _ => format!("\\u{:04X}", u32::from(c)),
        }),
        each(|c| match c {
            '"' | '\\' | '/' => format!("\\{c}"),
            ' '..='~' => c.into(),
            _ => format!("\\u{:04x}", u32::from(c)),
        }),
        each(|c| match c {
            '"' | '\\' | '/' => format!("\\{c}"),
            ' '..='~' => c.into(),
            _ => format!("\\u{:04X}", u32::from(c)),
        }),
        each(|c| html(c).unwrap_or_else(|| c.into())),
        each(|c| if c == '"' { "&quot;".into() } else { html(c).unwrap_or_else(|| c.into()) }),
        each(|c| if c == '\'' { "&#39;".into() } else { html(c).unwrap_or_else(|| c.into()) }),
        each(|c| if c == '\'' { "&#x27;".into() } else { html(c).unwrap_or_else(|| c.into()) }),
        each(|c| match c {
            '"' => "&quot;".into(),
            '\'' => "&#39;".into(),
            _ => html(c).unwrap_or_else(|| c.into()),
        }),
        each(|c| match c {
            '"' => "&quot;".into(),
            '\'' => "&#x27;".into(),
            _ => html(c).unwrap_or_else(|| c.into()),
        }),
        bytes(|byte| format!("{byte:02x}")),
        bytes(|byte| format!("{byte:02X}")),
        bytes(|byte| format!("%{byte:02x}")),
        bytes(|byte| format!("%{byte:02X}")),
        bytes(|byte| unreserved(byte).map_or_else(|| format!("%{byte:02x}"), String::from)),
        bytes(|byte| unreserved(byte).map_or_else(|| format!("%{byte:02X}"), String::from)),
        bytes(|byte| match byte {
            b'/' => "/".into(),
            _ => unreserved(byte).map_or_else(|| format!("%{byte:02X}"), String::from),
        }),
        bytes(|byte| match byte {
            b'!' | b'\'' | b'(' | b')' | b'*' => char::from(byte).into(),
            _ => unreserved(byte).map_or_else(|| format!("%{byte:02X}"), String::from),
        }),
    ]
}

fn html(c: char) -> Option<String> {
    let entity = match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        _ => return None,
    };
    Some(entity.into())
}

fn unreserved(byte: u8) -> Option<char> {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~')
        .then_some(char::from(byte))
}

/// Checks Base64 of the key between other bytes. Digits that also hold bits of these bytes stay.
#[track_caller]
fn check_base64(key: &str, secrets: &Secrets) {
    for (before, after) in ["", "u", "me", "you", "user", "user:"].map(|it| (it, "!!")) {
        let bytes = format!("{before}{key}{after}");
        let start = (before.len() * 8).div_ceil(6);
        let end = (before.len() + key.len()) * 8 / 6;
        for text in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            let expected = format!("<{}***{}>", &text[..start], &text[end..]);
            check_with(secrets, &format!("<{text}>"), &expected);
        }
    }
}

#[test]
fn a_key_is_removed_in_every_form() {
    let forms = encodings(KEY);
    for form in &forms {
        assert_eq!(forms.iter().filter(|other| *other == form).count(), 1, "{form}");
        check(&[KEY], &format!("key {form}!"), "key ***!");
        check(&[KEY], form, "***");
        check(&[KEY], &format!("{form}{form}"), "***");
    }
    check_base64(KEY, &secrets(&[KEY]));
    check(&["line one\nline two"], r"line one\nline two", "***");
    check(&["smile\u{1f600}!!"], r"a smile\ud83d\ude00!!", "a ***");
    check(&["100%25sure"], "100%25sure 100%2525sure", "*** ***");
}

/// These are not promised. The test says so, and nothing depends on it.
#[test]
fn nested_and_mixed_forms_stay() {
    let nested = encodings(&encodings(KEY)[1])[1].clone();
    let wrapped = STANDARD.encode(KEY).replace("Pz", "Pz\r\n");
    for text in [nested, wrapped, KEY.replace('a', "\\u0061"), KEY.replace('a', "%61")] {
        check(&[KEY], &text, &text);
    }
}

#[test]
fn ordinary_texts_stay_unchanged() {
    let words = "Kilimandscharo decade deadbeefdeadbeefdeadbeef 100% a\\b \\u0041 &amp; 12:34:56:78:9a:bc:de:f0";
    let picture = STANDARD.encode((0..=255).cycle().take(5000).collect::<Vec<u8>>());
    check(&[KEY], words, words);
    check(&[KEY], &picture, &picture);
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
    for (cut, whole) in encodings(&key[..20]).into_iter().zip(encodings(key)) {
        check(&[key], &format!("{cut}… {whole}"), "***… ***");
    }
}

#[test]
fn texts_without_keys_stay_unchanged() {
    for text in ["", "none", "a/é", r"\u00", "%", "%2", "&", "&#", "&;", r"\", r"\u{", "é"] {
        check(&[KEY], text, text);
        check(&[], text, text);
    }
    check(&["short"], "short", "short");
    check(&["  padded-key\n"], "a padded-key b", "a *** b");
}

#[test]
fn services_of_one_job_remove_the_keys_of_each_other() {
    let (one, other, none) = (alone(&["first-key"]), alone(&["second-key"]), alone(&[]));
    assert_eq!(one.remove("first-key second-key".into()), "*** second-key");
    let redactor = Secrets::united([&one, &other, &none].into_iter());
    let text = || "first-key second-key".to_owned();
    assert_eq!(redactor.remove(text()), "*** ***");
    for secrets in [&one, &other, &none] {
        assert_eq!(secrets.remove(text()), "*** ***");
    }
    assert!(Secrets::united([&none].into_iter()).0.is_none());
}

proptest! {
    /// Any key in each form is removed, and nothing else.
    #[test]
    fn any_key_in_any_form(key in "[a-zA-Z0-9/+=%&\\\\\"'<>?~é-]{8,40}") {
        let secrets = secrets(&[&key]);
        for form in encodings(&key) {
            check_with(&secrets, &format!("<<<|{form}|>>>"), "<<<|***|>>>");
        }
        check_base64(&key, &secrets);
    }

    /// No text causes a panic.
    #[test]
    fn any_text(text in "[\\\\u%&#;{}0-9a-f+x éÿ]{0,200}") {
        secrets(&[KEY, "\\\\\\\\%%%%", "uuuuuuuuuuuuuuuuuuu"]).remove(text);
    }
}
