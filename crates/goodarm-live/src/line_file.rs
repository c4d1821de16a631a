//! Files of lines that grow at their end, and what stands beside them.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// Sees to it that a file ends with a whole line: whoever wrote the last one may have been cut off.
/// What is not whole is cut, and its length comes back. The first line is never cut: without it,
/// nobody knows whose file this is.
pub(crate) fn mend_last_line(path: &Path, is_whole: impl Fn(&[u8]) -> bool) -> io::Result<u64> {
    let mut file = match OpenOptions::new().read(true).append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let (mut line, mut begin) = (Vec::new(), 0);
    let mut reader = BufReader::new(&file);
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            break;
        }
        begin += line.len() as u64;
    }
    let is_whole = is_whole(&line);
    if line.is_empty() || (begin == 0 && !is_whole) {
        return Ok(0);
    }
    let bytes_cut = if is_whole {
        file.write_all(b"\n")?;
        0
    } else {
        file.set_len(begin)?;
        line.len() as u64
    };
    file.sync_data()?;
    Ok(bytes_cut)
}
