//! Whether the last frame is torn or damaged: what a crash, and nothing else, can leave of it.
//!
//! A killed process, or a disk that is full, leaves a beginning of the frame. A power cut can leave
//! more: the file has its new length, but sectors of it never reached the disk and read as zeros.
//! The part of a frame in a sector that it shares with another frame is never all zeros by itself: a header
//! begins with a magic number, and a payload ends with a mark.

use std::io::{self, Read};

use super::format::{FrameHeader, HEADER_LEN, MAGIC};

/// The smallest piece that a disk writes as a whole.
const SECTOR_LEN: usize = 512;

/// How much is read at once in search of another frame.
pub(super) const SCAN_CHUNK_LEN: usize = 1 << 16;

/// Whether a sector of a frame was lost although the header is whole: a header may end in zeros anyway.
pub(super) fn is_lost_payload(offset: u64, header: FrameHeader, payload: &[u8]) -> bool {
    let header = header.encode();
    let payload_offset = offset + HEADER_LEN as u64;
    // The payload's first sector may begin with the header's last bytes.
    let shared_len = payload_offset % SECTOR_LEN as u64;
    let shared_len = usize::try_from(shared_len).map_or(HEADER_LEN, |len| len.min(HEADER_LEN));
    let is_shared_lost = is_zero(&header[HEADER_LEN - shared_len..]);
    let mut parts = sectors(payload_offset, payload);
    let first = parts.next().unwrap_or_default();
    (is_shared_lost && is_zero(first)) || parts.any(is_zero)
}

/// Whether `bytes`, the last ones of a file and fewer than a header, are what is left of a torn header.
pub(super) fn is_torn_header(offset: u64, bytes: &[u8]) -> bool {
    let magic_len = bytes.len().min(MAGIC.len());
    bytes[..magic_len] == MAGIC[..magic_len] || sectors(offset, bytes).any(is_zero)
}

/// Whether a header cannot be decoded because its sectors were lost, and with them the frame's length.
/// `rest` is the file after the header. If another frame follows, then this one was once whole, and the
/// file is damaged.
pub(super) fn is_lost_header(
    offset: u64,
    header: [u8; HEADER_LEN],
    mut rest: impl Read,
) -> io::Result<bool> {
    let header_end = offset + HEADER_LEN as u64;
    let mut seen = header.to_vec();
    let sector_end = header_end.next_multiple_of(SECTOR_LEN as u64);
    rest.by_ref().take(sector_end - header_end).read_to_end(&mut seen)?;
    Ok(sectors(offset, &seen).any(is_zero) && !has_frame(seen, rest)?)
}

/// Whether there is a whole frame header anywhere in `seen` and `rest`.
fn has_frame(mut seen: Vec<u8>, mut rest: impl Read) -> io::Result<bool> {
    loop {
        let found = seen.windows(HEADER_LEN).any(|window| {
            window[0] == MAGIC[0]
                && window.first_chunk().is_some_and(|bytes| FrameHeader::decode(bytes).is_some())
        });
        if found {
            return Ok(true);
        }
        // What is kept may be the beginning of a header.
        seen.drain(..seen.len().saturating_sub(HEADER_LEN - 1));
        if rest.by_ref().take(SCAN_CHUNK_LEN as u64).read_to_end(&mut seen)? == 0 {
            return Ok(false);
        }
    }
}

/// The parts of `bytes` that lie in one sector of the file each.
fn sectors(offset: u64, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let room = (offset + 1).next_multiple_of(SECTOR_LEN as u64) - offset;
    let first_len = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
    let (first, others) = bytes.split_at(first_len);
    std::iter::once(first).chain(others.chunks(SECTOR_LEN))
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
