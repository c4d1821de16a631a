//! Limits for foreign files: a small packed file may unpack to more than the memory, and a line may be
//! endless.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use goodarm_files::words::number;

/// How a file is packed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// The file is not packed.
    None,
    /// `.gz`
    Gzip,
    /// `.zst` or `.zstd`
    Zstd,
}

/// The name of a file in lower case, without the ending of its packing, and this packing.
pub fn packing_of(path: &Path) -> (String, Packing) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let endings = [(".gz", Packing::Gzip), (".zst", Packing::Zstd), (".zstd", Packing::Zstd)];
    let packed = endings.iter().find_map(|(end, it)| Some((name.strip_suffix(end)?, *it)));
    packed.map_or((name.clone(), Packing::None), |(plain, it)| (plain.to_owned(), it))
}

/// The content of a file, unpacked up to a limit.
pub fn unpacked<'a>(
    path: &Path,
    file: impl Read + 'a,
) -> io::Result<BufReader<Box<dyn Read + 'a>>> {
    let bytes_max = unpacked_max(length_of(path));
    let reader: Box<dyn Read + 'a> = match packing_of(path).1 {
        Packing::None => Box::new(file),
        Packing::Gzip => Box::new(AtMost::new(MultiGzDecoder::new(file), bytes_max)),
        Packing::Zstd => Box::new(AtMost::new(zstd::Decoder::new(file)?, bytes_max)),
    };
    Ok(BufReader::with_capacity(1 << 20, reader))
}

/// The most bytes that a packed file of this length may unpack to.
pub const fn unpacked_max(packed_len: u64) -> u64 {
    let by_length = packed_len.saturating_mul(UNPACKED_TIMES_MAX);
    if by_length > UNPACKED_BYTES_MIN { by_length } else { UNPACKED_BYTES_MIN }
}

/// The most memory for the values of one JSON text in a file of this length.
pub const fn memory_max(file_len: u64) -> u64 {
    let by_length = file_len.saturating_mul(MEMORY_TIMES_MAX);
    if by_length > MEMORY_BYTES_MIN { by_length } else { MEMORY_BYTES_MIN }
}

/// The length of a file; 0 if it is unknown.
pub fn length_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// Says what is wrong with a JSON text whose values would take more than `memory_max` bytes; `None` if they
/// would not. Values are counted without a parser, which would have to build them first.
pub fn too_many_values(text: &[u8], memory_max: u64) -> Option<String> {
    // Most texts are too short to exceed the limit.
    if (text.len() as u64).saturating_mul(MEMORY_PER_OBJECT) <= memory_max {
        return None;
    }
    let (mut values, mut objects) = (1, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in text {
        if is_text {
            is_text = *byte != b'"' || is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b',' | b'[' => values += 1,
            b'{' => (values, objects) = (values + 1, objects + 1),
            _ => {}
        }
    }
    let memory = text.len() as u64 + values * MEMORY_PER_VALUE + objects * MEMORY_PER_OBJECT;
    (memory > memory_max).then(|| {
        format!(
            "about {} JSON values in one text, which would take {} MiB of memory; at most {} MiB are allowed",
            number(values),
            number(memory >> 20),
            number(memory_max >> 20)
        )
    })
}

/// The unpacked content of a file, with an error as soon as it exceeds a limit.
struct AtMost<R> {
    input: R,
    left: u64,
    most: u64,
}

impl<R: Read> AtMost<R> {
    /// At most `most` bytes of this input.
    const fn new(input: R, most: u64) -> Self {
        Self { input, left: most, most }
    }
}

impl<R: Read> Read for AtMost<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            let most = self.most >> 20;
            io::Error::other(format!(
                "it unpacks to more than {most} MiB, far more than a text of its packed size usually does: if that is intended, unpack it first"
            ))
        })?;
        Ok(length)
    }
}

/// Reads one line, with its end, into the buffer; false at the end of the input.
pub fn read_line(input: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<bool> {
    buffer.clear();
    let length = input.take(LINE_BYTES_MAX + 1).read_until(b'\n', buffer)?;
    if length as u64 > LINE_BYTES_MAX {
        return Err(too_long());
    }
    Ok(length > 0)
}

/// All lines, without line ends.
pub fn lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
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

/// All lines of JSON, as [`lines`], with an error for a line whose values would take more than `memory_max`
/// bytes.
pub fn json_lines(
    input: impl BufRead,
    memory_max: u64,
) -> impl Iterator<Item = io::Result<String>> {
    lines(input).map(move |line| {
        let line = line?;
        match too_many_values(line.as_bytes(), memory_max) {
            None => Ok(line),
            Some(problem) => Err(io::Error::other(problem)),
        }
    })
}

/// An error with the line at which it happened.
pub fn at_line(line: u64, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("line {line}: {error}"))
}

/// The error for a line or row that is too long.
pub fn too_long() -> io::Error {
    io::Error::other(format!("longer than {} MiB", LINE_BYTES_MAX >> 20))
}

/// The most bytes of a line or row: more than any answer has.
pub const LINE_BYTES_MAX: u64 = 64 << 20;
const UNPACKED_BYTES_MIN: u64 = 128 << 20;
/// Texts are usually packed to a tenth or a twentieth.
const UNPACKED_TIMES_MAX: u64 = 64;
const MEMORY_BYTES_MIN: u64 = 1 << 30;
/// Objects with a few short texts take about ten times their length.
const MEMORY_TIMES_MAX: u64 = 16;
/// The memory that a parser takes for a value in a list that has just grown; below, for an object with room for
/// a few fields.
const MEMORY_PER_VALUE: u64 = 64;
const MEMORY_PER_OBJECT: u64 = 700;

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn unpacking_has_a_limit() {
        let mut unpacked = Vec::new();
        let input = io::repeat(b' ').take(100);
        assert_eq!(AtMost::new(input, 100).read_to_end(&mut unpacked).expect("it fits"), 100);
        let error = AtMost::new(io::repeat(b' '), 5 << 20).read_to_end(&mut unpacked);
        let error = error.expect_err("there is no end").to_string();
        assert!(error.contains("more than 5 MiB") && error.contains("unpack it first"), "{error}");
        assert!(unpacked.len() < 6 << 20);
    }

    #[test]
    fn the_limit_grows_with_the_packed_length() {
        assert_eq!(unpacked_max(10), 128 << 20);
        assert_eq!(unpacked_max(1 << 30), 64 << 30);
        assert_eq!(unpacked_max(u64::MAX), u64::MAX);
    }

    #[test]
    fn values_are_counted_before_they_are_built() {
        assert_eq!(
            too_many_values(b"[0,0,0]", 0).as_deref(),
            Some(
                "about 4 JSON values in one text, which would take 0 MiB of memory; at most 0 MiB are allowed"
            )
        );
        let lists = format!("[{}[]]", "[],".repeat(10_000));
        assert!(too_many_values(lists.as_bytes(), 1 << 20).is_some());
        let objects = format!("[{}0]", "{},".repeat(10_000));
        assert!(too_many_values(objects.as_bytes(), 5 << 20).is_some());
        // Commas and brackets inside a text are not values.
        let text = format!(r#"{{"a":"{}\\"}}"#, r#"[,{\","#.repeat(10_000));
        assert_eq!(too_many_values(text.as_bytes(), 1 << 20), None);
        let mut lines = json_lines(&b"1\n[2,[]]\n"[..], 200);
        assert!(lines.next().expect("a line").is_ok());
        let error = lines.next().expect("a line").expect_err("it is too much").to_string();
        assert!(error.starts_with("about 4 JSON values"), "{error}");
    }

    #[test]
    fn lines_have_no_ends_and_a_limit() {
        let read: Vec<String> = lines(&b"a\r\n\nb"[..]).map(|line| line.expect("a line")).collect();
        assert_eq!(read, ["a", "", "b"]);
        let mut endless = lines(BufReader::new(io::repeat(b' ')));
        let error = endless.next().expect("a result").expect_err("it has no end").to_string();
        assert_eq!(error, "longer than 64 MiB");
    }
}
