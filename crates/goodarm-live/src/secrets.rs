//! What must not appear in any text: the keys of a job, in whatever form a text repeats them.
//!
//! Each verifier says which secrets it has. The job puts them together into one `Redactor`, through
//! which every text goes that a verifier gives back, before it is cut, kept or shown.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// The secrets of one verifier; those of its whole job, once it is part of one.
#[derive(Default)]
pub struct Secrets {
    own: Redactor,
    of_job: OnceLock<Redactor>,
}

impl Secrets {
    /// Takes note of a secret. One of fewer than [`SECRET_BYTES_MIN`] bytes cannot be told from ordinary
    /// words: whoever reads one must refuse it.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= SECRET_BYTES_MIN {
            self.own.add(secret);
            in_base64(secret).iter().for_each(|form| self.own.add(form));
        }
    }

    /// The text with every secret struck out.
    pub fn remove(&self, text: String) -> String {
        self.of_job.get().unwrap_or(&self.own).remove(text)
    }

    /// What strikes out all of these. From now on each verifier strikes out the secrets of the others as
    /// well.
    pub(crate) fn united<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Redactor {
        let mut redactor = Redactor::default();
        let texts = all.clone().flat_map(|secrets| secrets.own.0.iter());
        texts.flat_map(|known| &known.texts).for_each(|text| redactor.add_chars(text.clone()));
        // A verifier is part of one job; if it ever were of two, the first one's would hold.
        all.for_each(|secrets| drop(secrets.of_job.set(redactor.clone())));
        redactor
    }
}

/// Strikes secrets out of texts. Without any it costs nothing.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Option<Arc<Known>>);

#[derive(Clone)]
struct Known {
    texts: Vec<Box<[char]>>,
    /// Which bytes a form of a secret may begin with.
    starts: [bool; 256],
}

impl Redactor {
    /// The text with every secret struck out, in all the forms in which a text may repeat it. Where
    /// secrets overlap, all of them go.
    pub(crate) fn remove(&self, text: String) -> String {
        let Some(known) = &self.0 else { return text };
        let spans = known.spans(&text);
        let Some(&(_, last_end)) = spans.last() else { return text };
        let mut cleaned = String::with_capacity(text.len());
        let mut at = 0;
        for &(start, end) in &spans {
            cleaned.push_str(&text[at..start]);
            cleaned.push_str(STRUCK_OUT);
            at = end;
        }
        cleaned + &text[last_end..]
    }

    fn add(&mut self, text: &str) {
        self.add_chars(text.chars().collect());
    }

    fn add_chars(&mut self, text: Box<[char]>) {
        let known = self.0.get_or_insert_with(|| {
            Arc::new(Known { texts: Vec::new(), starts: std::array::from_fn(|_| false) })
        });
        let Some(&first) = text.first().filter(|_| !known.texts.contains(&text)) else { return };
        let known = Arc::make_mut(known);
        let plus = if first == ' ' { b'+' } else { b'%' };
        for start in [first.encode_utf8(&mut [0; 4]).as_bytes()[0], b'\\', b'%', b'&', plus] {
            known.starts[usize::from(start)] = true;
        }
        known.texts.push(text);
    }
}

impl Known {
    /// Where secrets stand, in order, without overlaps.
    fn spans(&self, text: &str) -> Vec<(usize, usize)> {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        let mut ends = Ends::default();
        for (start, byte) in text.bytes().enumerate() {
            if !self.starts[usize::from(byte)] {
                continue;
            }
            let found = self.texts.iter().filter_map(|secret| ends.of(secret, text, start)).max();
            let Some(end) = found else { continue };
            match spans.last_mut() {
                Some((_, last_end)) if start <= *last_end => *last_end = end.max(*last_end),
                _ => spans.push((start, end)),
            }
        }
        spans
    }
}

/// Where what has been read of a secret may end: a text can often be read in more ways than one.
#[derive(Default)]
struct Ends {
    now: Vec<usize>,
    next: Vec<usize>,
}

impl Ends {
    /// Where the secret ends that starts here, if it does: all of it, or so much of its beginning that the
    /// text was probably cut.
    fn of(&mut self, secret: &[char], text: &str, start: usize) -> Option<usize> {
        self.now.clear();
        self.now.push(start);
        for (count, &wanted) in secret.iter().enumerate() {
            self.next.clear();
            for &at in &self.now {
                push_ends(&text[at..], at, wanted, &mut self.next);
            }
            if self.next.is_empty() {
                let is_most = count >= BEGINNING_CHARS_MIN;
                return self.now.iter().copied().max().filter(|_| is_most);
            }
            self.next.sort_unstable();
            self.next.dedup();
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.now.iter().copied().max()
    }
}

/// Every way to read this character at the beginning of `rest`, which starts at `at`: as it is, behind
/// backslashes, as JSON, Rust and Python escape it, as a query or a form has it, or as HTML does.
fn push_ends(rest: &str, at: usize, wanted: char, ends: &mut Vec<usize>) {
    let bytes = rest.as_bytes();
    // JSON in JSON doubles them.
    let slashes = bytes.iter().take(SLASHES_MAX).take_while(|&&byte| byte == b'\\').count();
    let unescaped = &rest[slashes..];
    if wanted == '\\' {
        ends.extend((1..=slashes).map(|count| at + count));
    } else if unescaped.starts_with(wanted) {
        ends.push(at + slashes + wanted.len_utf8());
    }
    if slashes > 0 {
        let len = escaped_len(unescaped, wanted);
        ends.extend(len.map(|len| at + slashes + len));
        return;
    }
    match bytes.first() {
        Some(b'%') => ends.extend(
            (0..=2).filter_map(|depth| percent_len(bytes, wanted, depth).map(|len| at + len)),
        ),
        Some(b'&') => ends.extend(entity_len(rest, wanted).map(|len| at + len)),
        Some(b'+') if wanted == ' ' => ends.push(at + 1),
        _ => {}
    }
}

/// The length of an escape without its backslash.
fn escaped_len(text: &str, wanted: char) -> Option<usize> {
    let is_hex = |digits: &str, code: u32| u32::from_str_radix(digits, 16) == Ok(code);
    let letter = text.chars().next()?;
    match (letter, wanted) {
        ('n', '\n') | ('r', '\r') | ('t', '\t') => return Some(1),
        ('x', _) => return text.get(1..3).filter(|it| is_hex(it, wanted.into())).map(|_| 3),
        ('u' | 'U', _) => {}
        _ => return None,
    }
    if let Some(braced) = text.get(1..).and_then(|text| text.strip_prefix('{')) {
        let end = braced.bytes().take(9).position(|byte| byte == b'}')?;
        let digits = &braced[..end];
        return is_hex(digits, wanted.into()).then_some(digits.len() + 3);
    }
    let mut units = [0; 2];
    let mut len = 1;
    for (index, unit) in wanted.encode_utf16(&mut units).iter().enumerate() {
        if index > 0 {
            len += text.get(len..)?.strip_prefix("\\u").map(|_| 2)?;
        }
        text.get(len..len + 4).filter(|digits| is_hex(digits, u32::from(*unit)))?;
        len += 4;
    }
    Some(len)
}

/// The length of a character as a query has it: a query within a query has `%25` for each `%`.
fn percent_len(bytes: &[u8], wanted: char, depth: usize) -> Option<usize> {
    let mut len = 0;
    for byte in wanted.encode_utf8(&mut [0; 4]).bytes() {
        let written = format!("%{}{byte:02x}", "25".repeat(depth));
        let found = bytes.get(len..len + written.len())?;
        found.eq_ignore_ascii_case(written.as_bytes()).then_some(())?;
        len += written.len();
    }
    Some(len)
}

/// The length of a character as HTML has it.
fn entity_len(rest: &str, wanted: char) -> Option<usize> {
    let end = rest.bytes().take(ENTITY_BYTES_MAX).position(|byte| byte == b';')?;
    let name = rest.get(1..end)?;
    let code = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        },
        None => u32::from(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "sol" => '/',
            "plus" => '+',
            "equals" => '=',
            _ => return None,
        }),
    };
    (code == u32::from(wanted)).then_some(end + 1)
}

/// What a secret looks like within anything that is written in Base64, as a name and a password are:
/// for each of the three ways in which its bytes may fall, the signs that depend on nothing else.
fn in_base64(secret: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let bytes = [&[0; 2][..before], secret.as_bytes()].concat();
        for engine in [&STANDARD, &URL_SAFE] {
            let whole = engine.encode(&bytes);
            let form = &whole[(before * 8).div_ceil(6)..bytes.len() * 8 / 6];
            if !forms.iter().any(|known| known == form) {
                forms.push(form.to_owned());
            }
        }
    }
    forms
}

/// Says nothing of what it hides.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Says nothing of what it hides.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

/// A shorter secret cannot be told from ordinary words.
pub const SECRET_BYTES_MIN: usize = 8;
/// So much of a secret's beginning counts as all of it.
const BEGINNING_CHARS_MIN: usize = 16;
const SLASHES_MAX: usize = 16;
const ENTITY_BYTES_MAX: usize = 12;
const STRUCK_OUT: &str = "***";

#[cfg(test)]
mod tests;
