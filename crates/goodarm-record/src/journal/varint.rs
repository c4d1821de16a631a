//! Numbers and texts as bytes. Whole numbers are varints: groups of seven bits, the lowest first, each
//! byte but the last with its top bit set.

use std::time::Duration;

use super::format::MalformedRecord;

const MORE: u8 = 0x80;
const MORE_OF_EIGHT: u64 = u64::from_le_bytes([MORE; 8]);

const SCORE_ZERO: u8 = 0;
const SCORE_ONE: u8 = 1;
const SCORE_BITS: u8 = 2;
const SCORE_NONE: u8 = 3;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(low_byte(number) | MORE);
        number >>= 7;
    }
    bytes.push(low_byte(number));
}

/// Like [`put_number`], for numbers of up to 128 bits.
pub(super) fn put_large(bytes: &mut Vec<u8>, mut number: u128) {
    loop {
        if let Ok(small) = u64::try_from(number) {
            return put_number(bytes, small);
        }
        bytes.push(number.to_le_bytes()[0] | MORE);
        number >>= 7;
    }
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// Most scores are 0 or 1, which take one byte. The others keep their bits.
pub(super) fn put_score(bytes: &mut Vec<u8>, score: f64) {
    let bits = score.to_bits();
    if bits == 0.0_f64.to_bits() {
        bytes.push(SCORE_ZERO);
    } else if bits == 1.0_f64.to_bits() {
        bytes.push(SCORE_ONE);
    } else {
        bytes.push(SCORE_BITS);
        bytes.extend_from_slice(&bits.to_le_bytes());
    }
}

/// A score among several, which a reply may lack.
pub(super) fn put_score_or_none(bytes: &mut Vec<u8>, score: Option<f64>) {
    match score {
        Some(score) => put_score(bytes, score),
        None => bytes.push(SCORE_NONE),
    }
}

fn low_byte(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

/// Joins eight groups of seven bits, each in a byte of its own: first within pairs of bytes, then
/// within fours, then within all eight.
const fn without_gaps(word: u64) -> u64 {
    let pairs = (word & 0x007F_007F_007F_007F) | ((word & 0x7F00_7F00_7F00_7F00) >> 1);
    let fours = (pairs & 0x0000_3FFF_0000_3FFF) | ((pairs & 0x3FFF_0000_3FFF_0000) >> 2);
    (fours & 0x0000_0000_0FFF_FFFF) | ((fours & 0x0FFF_FFFF_0000_0000) >> 4)
}

/// Bytes that are still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(super) const fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, MalformedRecord> {
        let (first, rest) = self.rest.split_first().ok_or(MalformedRecord::Short)?;
        self.rest = rest;
        Ok(*first)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedRecord> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(MalformedRecord::Short)?;
        self.rest = rest;
        Ok(*array)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, MalformedRecord> {
        // Eight bytes are read at once, as nearly all numbers are shorter.
        let word = self.rest.first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        let ends = word.map_or(0, |word| !word & MORE_OF_EIGHT);
        let Some(word) = word.filter(|_| ends != 0) else {
            return self
                .by_bytes(64)
                .and_then(|it| it.try_into().map_err(|_| MalformedRecord::Number));
        };
        let bits = ends.trailing_zeros() + 1;
        self.rest = &self.rest[bits as usize / 8..];
        Ok(without_gaps(word & !MORE_OF_EIGHT & (u64::MAX >> (64 - bits))))
    }

    #[inline]
    pub(super) fn small_number(&mut self) -> Result<u32, MalformedRecord> {
        u32::try_from(self.number()?).map_err(|_| MalformedRecord::Number)
    }

    /// A number of up to 128 bits. Most have at most 64, for which arithmetic is much faster.
    #[inline]
    pub(super) fn large(&mut self) -> Result<u128, MalformedRecord> {
        let mut short = *self;
        if let Ok(number) = short.number() {
            *self = short;
            return Ok(number.into());
        }
        self.by_bytes(128)
    }

    /// A number of at most `bits` bits, byte by byte.
    #[cold]
    fn by_bytes(&mut self, bits: u32) -> Result<u128, MalformedRecord> {
        let mut number = 0;
        for shift in (0..bits).step_by(7) {
            let byte = self.byte()?;
            let group = u128::from(byte & !MORE);
            if bits - shift < 7 && group >> (bits - shift) > 0 {
                return Err(MalformedRecord::Number);
            }
            number |= group << shift;
            if byte < MORE {
                return Ok(number);
            }
        }
        Err(MalformedRecord::Number)
    }

    #[inline]
    pub(super) fn duration(&mut self) -> Result<Duration, MalformedRecord> {
        let nanos = self.large()?;
        if let Ok(nanos) = u64::try_from(nanos) {
            return Ok(Duration::from_nanos(nanos));
        }
        let seconds =
            u64::try_from(nanos / NANOS_PER_SECOND).map_err(|_| MalformedRecord::Number)?;
        let rest = u64::try_from(nanos % NANOS_PER_SECOND).map_err(|_| MalformedRecord::Number)?;
        Ok(Duration::from_secs(seconds) + Duration::from_nanos(rest))
    }

    #[inline]
    pub(super) fn score(&mut self) -> Result<f64, MalformedRecord> {
        match self.byte()? {
            SCORE_ZERO => Ok(0.0),
            SCORE_ONE => Ok(1.0),
            SCORE_BITS => Ok(f64::from_bits(u64::from_le_bytes(self.array()?))),
            code => Err(MalformedRecord::Score(code)),
        }
    }

    pub(super) fn score_or_none(&mut self) -> Result<Option<f64>, MalformedRecord> {
        if self.rest.first() == Some(&SCORE_NONE) {
            self.byte()?;
            return Ok(None);
        }
        self.score().map(Some)
    }

    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a str, MalformedRecord> {
        let length = usize::try_from(self.number()?).map_err(|_| MalformedRecord::Short)?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(MalformedRecord::Short)?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| MalformedRecord::Text)
    }
}
