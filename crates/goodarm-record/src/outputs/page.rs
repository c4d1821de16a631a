//! The seal at the end of a page: the mark of the journal that the page was made from, and a hash of the page. It
//! guards against accidents and mix-ups, as the checksums of the journal do, not against forgers.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::journal::Mark;

/// Writes a page and computes its hash.
pub struct Sealing<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Sealing<W> {
    /// Begins a page.
    pub fn new(out: W) -> Self {
        Self { out, hasher: blake3::Hasher::new() }
    }

    /// Ends the page and its body; `mark` is the part of the journal that it was made from.
    pub fn finish(mut self, Mark { bytes, blake3 }: &Mark) -> io::Result<()> {
        write!(self, "{BEGIN}{bytes} {blake3} ")?;
        write!(self.out, "{}{END}", self.hasher.finalize())
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The part of a journal that a page was made from; `None` without an intact seal.
pub fn mark(path: &Path) -> io::Result<Option<Mark>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(SEAL_BYTES_MAX)))?;
    file.read_to_end(&mut end)?;
    let end = String::from_utf8_lossy(&end);
    let Some((mark, hash)) = parse(&end) else { return Ok(None) };
    let hashed = length.saturating_sub((hash.len() + END.len()) as u64);
    file.rewind()?;
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut file.take(hashed), &mut hasher)?;
    Ok((hasher.finalize().to_string() == hash).then_some(mark))
}

/// Parses the seal at the end of a page.
fn parse(end: &str) -> Option<(Mark, &str)> {
    let (_, seal) = end.strip_suffix(END)?.rsplit_once(BEGIN)?;
    let [bytes, blake3, hash] = seal.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some((Mark { bytes: bytes.parse().ok()?, blake3: blake3.to_owned() }, hash))
}

/// Three values follow: length and BLAKE3 hash of the journal, and the BLAKE3 hash of the page up to there.
const BEGIN: &str = "<data id=\"seal\" hidden value=\"";
const END: &str = "\"></data>\n</body>\n</html>\n";
/// The most bytes of a seal.
const SEAL_BYTES_MAX: u64 = 300;
