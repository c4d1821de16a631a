//! Files from others, read with bounds: a small one may unpack to more than any memory, and a line of it
//! may have no end.

use std::io::{self, BufRead, Read};

/// How many bytes a packed file of this length may unpack to.
pub(crate) const fn unpacked_max(packed_len: u64) -> u64 {
    let by_length = packed_len.saturating_mul(UNPACKED_TIMES_MAX);
    if by_length > UNPACKED_BYTES_MIN { by_length } else { UNPACKED_BYTES_MIN }
}

/// What comes out of a packed file: an error once there is more than was allowed.
pub(crate) struct AtMost<R> {
    input: R,
    left: u64,
    most: u64,
}

impl<R: Read> AtMost<R> {
    pub(crate) const fn new(input: R, most: u64) -> Self {
        Self { input, left: most, most }
    }
}

impl<R: Read> Read for AtMost<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            let most = self.most >> 20;
            io::Error::other(format!(
                "it unpacks to more than {most} MiB, as no text does: if it is right, unpack it first"
            ))
        })?;
        Ok(length)
    }
}

/// Reads one line, with its end, into the buffer; false at the end of the input.
pub(crate) fn read_line(input: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<bool> {
    buffer.clear();
    let length = input.take(LINE_BYTES_MAX + 1).read_until(b'\n', buffer)?;
    if length as u64 > LINE_BYTES_MAX {
        return Err(too_long());
    }
    Ok(length > 0)
}

/// All lines without their ends.
pub(crate) fn lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    let mut buffer = Vec::new();
    std::iter::from_fn(move || match read_line(&mut input, &mut buffer) {
        Ok(true) => {
            let line = std::mem::take(&mut buffer);
            let line = String::from_utf8(line).map_err(|_| io::Error::other("not UTF-8"));
            Some(line.map(|line| line.trim_end_matches(['\r', '\n']).to_owned()))
        }
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    })
}

/// That a line or a row is longer than may be.
pub(crate) fn too_long() -> io::Error {
    io::Error::other(format!("longer than {} MiB", LINE_BYTES_MAX >> 20))
}

/// No answer is that long; a packed file may be.
pub(crate) const LINE_BYTES_MAX: u64 = 256 << 20;
const UNPACKED_BYTES_MIN: u64 = 1 << 30;
/// Texts are packed to a tenth or a twentieth.
const UNPACKED_TIMES_MAX: u64 = 64;

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn what_unpacks_without_end_is_an_error_and_what_just_fits_is_none() {
        let mut unpacked = Vec::new();
        let input = io::repeat(b' ').take(100);
        assert_eq!(AtMost::new(input, 100).read_to_end(&mut unpacked).expect("it fits"), 100);
        let error = AtMost::new(io::repeat(b' '), 5 << 20).read_to_end(&mut unpacked);
        let error = error.expect_err("there is no end").to_string();
        assert!(error.contains("more than 5 MiB") && error.contains("unpack it first"), "{error}");
        assert!(unpacked.len() < 6 << 20);
    }

    #[test]
    fn a_text_may_be_packed_as_texts_are() {
        assert_eq!(unpacked_max(10), 1 << 30);
        assert_eq!(unpacked_max(1 << 30), 64 << 30);
        assert_eq!(unpacked_max(u64::MAX), u64::MAX);
    }

    #[test]
    fn lines_have_their_ends_taken_off_and_one_without_end_is_an_error() {
        let read: Vec<String> = lines(&b"a\r\n\nb"[..]).map(|line| line.expect("a line")).collect();
        assert_eq!(read, ["a", "", "b"]);
        let mut endless = lines(BufReader::new(io::repeat(b' ')));
        let error = endless.next().expect("a result").expect_err("it has no end").to_string();
        assert_eq!(error, "longer than 256 MiB");
    }
}
