//! Removes the keys of a job from texts, in all encodings in which a text may repeat them.
//!
//! Each service lists its secrets. The job combines them into one `Redactor`, which every text of a service passes
//! before it is cut, kept or shown.

use std::fmt;
use std::sync::{Arc, OnceLock};

mod forms;
mod layers;

use forms::MatchEnds;
use layers::{ByteRange, MARKS};

/// The secrets of one service, and of its whole job once it is part of one.
#[derive(Default)]
pub struct Secrets {
    own: Redactor,
    of_job: OnceLock<Redactor>,
}

impl Secrets {
    /// Adds a secret. One of fewer than [`SECRET_BYTES_MIN`] bytes cannot be told from ordinary words and is ignored:
    /// the code that reads one must reject it.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= SECRET_BYTES_MIN {
            self.own.add(secret);
            // A key that looks encoded itself is decoded together with the text around it.
            let mut bytes = secret.as_bytes().to_vec();
            while let Some(unescaped) = layers::unescaped(&bytes, &MARKS) {
                bytes = unescaped.text;
                let text = str::from_utf8(&bytes).ok().filter(|it| it.len() >= SECRET_BYTES_MIN);
                text.into_iter().for_each(|text| self.own.add(text));
            }
        }
    }

    /// The text with every secret replaced by `***`.
    pub fn remove(&self, text: String) -> String {
        self.of_job.get().unwrap_or(&self.own).remove(text)
    }

    /// A redactor of the secrets of all these services. From now on each of them also removes the secrets of the
    /// others.
    pub(crate) fn united<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Redactor {
        let mut redactor = Redactor::default();
        let texts = all.clone().flat_map(|secrets| secrets.own.0.iter());
        texts.flat_map(|known| &known.texts).for_each(|text| redactor.add_chars(text.clone()));
        // A service is part of one job. If it ever were of two, the first one's would stay.
        all.for_each(|secrets| drop(secrets.of_job.set(redactor.clone())));
        redactor
    }
}

/// Removes secrets from texts. `None` without secrets.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Option<Arc<KeySearch>>);

#[derive(Clone)]
struct KeySearch {
    texts: Vec<Box<[char]>>,
    /// The bytes that an encoding of a secret may begin with.
    starts: [bool; 256],
}

impl Redactor {
    /// The text with every secret replaced by `***`, in all encodings. Overlapping secrets are all removed. A text
    /// that is too expensive to search is left out as a whole.
    pub(crate) fn remove(&self, text: String) -> String {
        let Some(known) = &self.0 else { return text };
        let Ok(spans) = known.spans(&text) else { return LEFT_OUT.to_owned() };
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
            Arc::new(KeySearch { texts: Vec::new(), starts: std::array::from_fn(|_| false) })
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

impl KeySearch {
    /// The ranges of secrets, in order, without overlaps.
    fn spans(&self, text: &str) -> Result<Vec<ByteRange>, TooMuchWork> {
        let mut work = WorkBudget { left: text.len().saturating_mul(STEPS_PER_BYTE) + STEPS_MIN };
        let mut all = Vec::new();
        self.search(text.as_bytes(), 0, &mut work, &mut all)?;
        all.sort_unstable();
        let mut spans: Vec<ByteRange> = Vec::new();
        for (start, end) in all {
            let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
            match spans.last_mut() {
                Some((_, last_end)) if start <= *last_end => *last_end = end.max(*last_end),
                _ => spans.push((start, end)),
            }
        }
        Ok(spans)
    }

    /// Finds secrets in the text, and in what it encodes in up to [`LAYERS_MAX`] layers.
    fn search(
        &self,
        text: &[u8],
        depth: usize,
        work: &mut WorkBudget,
        spans: &mut Vec<ByteRange>,
    ) -> Result<(), TooMuchWork> {
        work.take(text.len())?;
        let mut ends = MatchEnds::default();
        for (start, &byte) in text.iter().enumerate() {
            if !self.starts[usize::from(byte)] {
                continue;
            }
            let found = self.texts.iter().filter_map(|secret| ends.of(secret, text, start)).max();
            spans.extend(found.map(|end| (start, end)));
            work.take(ends.take_steps())?;
        }
        if depth == LAYERS_MAX {
            return Ok(());
        }
        let singly = self.texts.iter().flatten().any(|&c| MARKS.map(char::from).contains(&c));
        layers::each(text, singly, |decoded| {
            let mut inner = Vec::new();
            self.search(&decoded.text, depth + 1, work, &mut inner)?;
            spans.extend(inner.into_iter().map(|span| decoded.source(span)));
            Ok(())
        })
    }
}

/// The remaining steps of a search. A hostile text may have many layers.
struct WorkBudget {
    left: usize,
}

impl WorkBudget {
    fn take(&mut self, steps: usize) -> Result<(), TooMuchWork> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuchWork)?;
        Ok(())
    }
}

struct TooMuchWork;

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
/// The most encodings within each other; the innermost may also have escapes.
const LAYERS_MAX: usize = 3;
/// Ordinary texts take one to ten steps a byte: each byte of each layer is one, and each comparison.
const STEPS_PER_BYTE: usize = 32;
const STEPS_MIN: usize = 1 << 16;
const STRUCK_OUT: &str = "***";
const LEFT_OUT: &str = "*** (left out: it takes too long to search this text for keys)";

#[cfg(test)]
mod tests;
