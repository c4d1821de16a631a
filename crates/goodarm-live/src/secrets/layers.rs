//! Decodes escapes, Base64 and hexadecimal in a text, and maps ranges of the decoded text back to the original.

use super::forms::{digit, entity, escape, hex};
use super::{SECRET_BYTES_MIN, TooMuchWork};

/// Start and end.
pub(super) type ByteRange = (usize, usize);

/// A text that was decoded from the digits of another one.
pub(super) struct Decoded {
    pub(super) text: Vec<u8>,
    /// The start of each digit, and the end of the last one.
    places: Vec<u32>,
    /// The digits before the first one that was decoded.
    skipped: usize,
    /// The bits of a digit.
    bits: usize,
}

impl Decoded {
    /// The range that these bytes were decoded from.
    pub(super) fn source(&self, (start, end): ByteRange) -> ByteRange {
        let first = self.skipped + start * 8 / self.bits;
        let last = self.skipped + (end * 8).div_ceil(self.bits);
        (self.places[first] as usize, self.places[last] as usize)
    }
}

/// Decodes the text in all ways. `singly`: also decodes one kind of escapes and keeps the others, for secrets that
/// look like escapes themselves.
pub(super) fn each(
    text: &[u8],
    singly: bool,
    mut take: impl FnMut(&Decoded) -> Result<(), TooMuchWork>,
) -> Result<(), TooMuchWork> {
    let single = MARKS.chunks(1).filter(|_| singly);
    for marks in std::iter::once(&MARKS[..]).chain(single) {
        if let Some(decoded) = unescaped(text, marks) {
            take(&decoded)?;
        }
    }
    for writing in [&BASE64, &HEXADECIMAL] {
        let mut at = 0;
        while at < text.len() {
            let (places, end) = writing.run(text, at);
            at = end.max(at + 1);
            if (places.len() - 1) * writing.bits < SECRET_BYTES_MIN * 8 {
                continue;
            }
            // The run may begin with other text, so all alignments are tried.
            let mut decoded = Decoded { text: Vec::new(), places, skipped: 0, bits: writing.bits };
            for skipped in 0..writing.digits_per_group {
                decoded.skipped = skipped;
                writing.decode(text, &mut decoded);
                take(&decoded)?;
            }
        }
    }
    Ok(())
}

/// Removes one layer of the escapes that begin with these marks; `None` without such escapes.
pub(super) fn unescaped(text: &[u8], marks: &[u8]) -> Option<Decoded> {
    text.iter().position(|byte| marks.contains(byte))?;
    let (mut plain, mut places) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at + 1..];
        let place = u32::try_from(at).ok()?;
        let before = plain.len();
        let len = match byte {
            _ if !marks.contains(&byte) => None,
            b'%' => rest.get(..2).and_then(hex).map(|code| (code, 2, true)),
            b'\\' => escape(rest)
                .map(|(code, len)| (code, len, rest[0] == b'x'))
                .or_else(|| rest.first().map(|&next| (next.into(), 1, true))),
            b'&' => entity(&text[at..]).map(|(code, len)| (code, len - 1, false)),
            _ => None,
        }
        .and_then(|(code, len, is_byte)| {
            // One byte of a character, or a whole one.
            if is_byte {
                plain.push(u8::try_from(code).ok()?);
            } else {
                let mut bytes = [0; 4];
                plain.extend(char::from_u32(code)?.encode_utf8(&mut bytes).bytes());
            }
            Some(len)
        });
        if len.is_none() {
            plain.push(byte);
        }
        places.extend(std::iter::repeat_n(place, plain.len() - before));
        at += 1 + len.unwrap_or(0);
    }
    places.push(u32::try_from(text.len()).ok()?);
    (plain.len() < text.len()).then_some(Decoded { text: plain, places, skipped: 0, bits: 8 })
}

/// An encoding of bytes by digits of a few bits each.
struct Alphabet {
    bits: usize,
    /// The number of digits after which a byte begins with a digit again.
    digits_per_group: usize,
    value: fn(u8) -> Option<u8>,
    /// Whether a byte may separate two digits, such as a line break.
    is_between: fn(u8) -> bool,
}

impl Alphabet {
    /// The positions of a run of digits from here on, and its end.
    fn run(&self, text: &[u8], start: usize) -> (Vec<u32>, usize) {
        let mut places = Vec::new();
        let (mut at, mut end) = (start, start);
        while let Some(&byte) = text.get(at) {
            if (self.value)(byte).is_some() {
                let Ok(place) = u32::try_from(at) else { break };
                places.push(place);
                end = at + 1;
            } else if places.is_empty() || !(self.is_between)(byte) || at - end >= BETWEEN_MAX {
                break;
            }
            at += 1;
        }
        places.push(u32::try_from(end).unwrap_or(u32::MAX));
        (places, end)
    }

    fn decode(&self, text: &[u8], decoded: &mut Decoded) {
        let (mut bits, mut count) = (0_u32, 0);
        decoded.text.clear();
        for &place in &decoded.places[decoded.skipped..decoded.places.len() - 1] {
            bits = bits << self.bits | u32::from((self.value)(text[place as usize]).unwrap_or(0));
            count += self.bits;
            if count >= 8 {
                count -= 8;
                decoded.text.push((bits >> count).to_le_bytes()[0]);
            }
        }
    }
}

/// The standard alphabet and the one for URLs.
const BASE64: Alphabet = Alphabet {
    bits: 6,
    digits_per_group: 4,
    value: |sign| {
        Some(match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        })
    },
    is_between: |byte| matches!(byte, b'\r' | b'\n'),
};

const HEXADECIMAL: Alphabet = Alphabet {
    bits: 4,
    digits_per_group: 2,
    value: digit,
    is_between: |byte| matches!(byte, b'\r' | b'\n' | b' ' | b':' | b'-' | b','),
};

/// The first bytes of escapes.
pub(super) const MARKS: [u8; 3] = [b'%', b'\\', b'&'];
const BETWEEN_MAX: usize = 2;
