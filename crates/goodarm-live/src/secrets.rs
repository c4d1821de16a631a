//! Removes the secrets of a job, such as API keys, from texts: as they are, and in the usual encodings.
//!
//! Each service lists its secrets. The job combines them into one `Redactor`, which every text of a service passes
//! before it is cut, kept or shown.

use std::fmt;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

/// The secrets of one service; and, once the service is part of a job, those of the whole job.
#[derive(Default)]
pub struct Secrets {
    own: Vec<String>,
    of_job: OnceLock<Redactor>,
}

impl Secrets {
    /// Adds a secret. A secret of fewer than [`SECRET_BYTES_MIN`] bytes cannot be told from ordinary words and is
    /// ignored: the code that reads the secret must reject it.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= SECRET_BYTES_MIN {
            self.own.push(secret.to_owned());
        }
    }

    /// The text with every secret replaced by `***`.
    pub fn remove(&self, text: String) -> String {
        match self.of_job.get() {
            Some(redactor) => redactor.remove(text),
            None => Redactor::new(self.own.iter()).remove(text),
        }
    }

    /// A redactor of the secrets of all these services. From now on each of them also removes the secrets of the
    /// others.
    pub(crate) fn united<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Redactor {
        let redactor = Redactor::new(all.clone().flat_map(|secrets| &secrets.own));
        // A service is part of one job. If it were part of two, the redactor of the first job would stay.
        all.for_each(|secrets| drop(secrets.of_job.set(redactor.clone())));
        redactor
    }
}

/// Removes secrets from texts. The field is `None` if there are no secrets.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Option<Arc<KeySearch>>);

struct KeySearch {
    /// Each key in each form that is recognised.
    forms: Vec<String>,
    /// Finds the beginnings of the forms; the n-th pattern is the beginning of the n-th form.
    beginnings: AhoCorasick,
}

impl Redactor {
    fn new<'a>(keys: impl Iterator<Item = &'a String>) -> Self {
        let (mut forms, mut beginnings) = (Vec::new(), Vec::new());
        for key in keys {
            let beginning: String = key.chars().take(BEGINNING_CHARS).collect();
            forms.extend(forms_of(key));
            beginnings.extend(forms_of(&beginning));
        }
        if forms.is_empty() {
            return Self(None);
        }
        let beginnings = AhoCorasick::new(beginnings).expect("keys are short");
        Self(Some(Arc::new(KeySearch { forms, beginnings })))
    }

    /// The text with every secret replaced by `***`. Overlapping secrets are all removed.
    pub(crate) fn remove(&self, text: String) -> String {
        let Some(known) = &self.0 else { return text };
        let mut spans = known.spans(&text);
        spans.sort_unstable();
        let (mut cleaned, mut copied) = (String::new(), 0);
        for (start, end) in spans {
            // Spans that touch or overlap become one `***`.
            if start > copied || cleaned.is_empty() {
                cleaned.push_str(&text[copied..start]);
                cleaned.push_str(STRUCK_OUT);
            }
            copied = end.max(copied);
        }
        if cleaned.is_empty() { text } else { cleaned + &text[copied..] }
    }
}

impl KeySearch {
    /// The start and end of each place where the text has a form of a key, or at least the beginning of one.
    fn spans(&self, text: &str) -> Vec<(usize, usize)> {
        let span = |found: aho_corasick::Match| {
            let form = &self.forms[found.pattern().as_usize()];
            let both = text[found.start()..].chars().zip(form.chars());
            let same = both.take_while(|(seen, of_key)| seen == of_key);
            (found.start(), found.start() + same.map(|(seen, _)| seen.len_utf8()).sum::<usize>())
        };
        self.beginnings.find_overlapping_iter(text).map(span).collect()
    }
}

/// The key in each form that is recognised. The forms of a beginning of the key are beginnings of these, in the same
/// order.
fn forms_of(key: &str) -> Vec<String> {
    let quoted = Value::from(key).to_string();
    let json = &quoted[1..quoted.len() - 1];
    let html = key.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let attribute = html.replace('"', "&quot;");
    let each_byte = |form: fn(u8) -> String| key.bytes().map(form).collect();
    let mut forms = vec![
        key.to_owned(),
        json.to_owned(),
        json.replace('/', "\\/"),
        in_ascii(json, false),
        in_ascii(json, true),
        in_ascii(&json.replace('/', "\\/"), false),
        in_ascii(&json.replace('/', "\\/"), true),
        attribute.replace('\'', "&#39;"),
        attribute.replace('\'', "&#x27;"),
        html.replace('\'', "&#39;"),
        html.replace('\'', "&#x27;"),
        attribute,
        html,
        each_byte(|byte| format!("{byte:02x}")),
        each_byte(|byte| format!("{byte:02X}")),
        each_byte(|byte| format!("%{byte:02x}")),
        each_byte(|byte| format!("%{byte:02X}")),
        each_byte(|byte| plain(byte, b"").unwrap_or_else(|| format!("%{byte:02x}"))),
        each_byte(|byte| plain(byte, b"").unwrap_or_else(|| format!("%{byte:02X}"))),
        each_byte(|byte| plain(byte, b"/").unwrap_or_else(|| format!("%{byte:02X}"))),
        each_byte(|byte| plain(byte, b"!'()*").unwrap_or_else(|| format!("%{byte:02X}"))),
    ];
    for bytes_before in 0..=2 {
        let bytes = [&[0; 2][..bytes_before], key.as_bytes()].concat();
        // Without the digits that also hold bits of the text before or after the key.
        let digits = (bytes_before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        forms.push(STANDARD_NO_PAD.encode(&bytes)[digits.clone()].to_owned());
        forms.push(URL_SAFE_NO_PAD.encode(&bytes)[digits].to_owned());
    }
    forms
}

/// JSON with an escape for each character that is not ASCII.
fn in_ascii(json: &str, is_upper_case: bool) -> String {
    let escaped = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ if is_upper_case => format!("\\u{unit:04X}"),
        _ => format!("\\u{unit:04x}"),
    };
    json.encode_utf16().map(escaped).collect()
}

/// The byte as text, if encoders leave it as it is; `None` if they percent-encode it.
fn plain(byte: u8, others: &[u8]) -> Option<String> {
    let is_plain =
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || others.contains(&byte);
    is_plain.then(|| char::from(byte).to_string())
}

/// Without the secrets.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Without the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

/// A shorter secret cannot be told from ordinary words.
pub const SECRET_BYTES_MIN: usize = 8;
/// This number of characters at the beginning of a secret is enough to find it: a text may end within a secret.
const BEGINNING_CHARS: usize = 16;
const STRUCK_OUT: &str = "***";

#[cfg(test)]
mod tests;
