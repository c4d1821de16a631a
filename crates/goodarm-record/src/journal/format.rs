//! The header of a frame, the checksum of its payload, and why bytes of a payload are not records.

use thiserror::Error;

/// The number in a journal's header that says how records are written.
pub const FORMAT_VERSION: u64 = 3;

/// A payload is at most this long; a longer one was not written by us.
pub const FRAME_BYTES_MAX: u32 = 1 << 30;

pub(super) const HEADER_LEN: usize = 32;

/// The first bytes of a frame. None is zero, so a sector that never reached the disk cannot begin a frame.
pub(super) const MAGIC: [u8; 4] = *b"GAJ1";

/// The header of a frame, which comes before the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FrameHeader {
    pub(super) length: u32,
    pub(super) sequence: u64,
    pub(super) unix_millis: u64,
    pub(super) payload_crc: u32,
}

impl FrameHeader {
    pub(super) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.unix_millis.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` if the magic number or the header's own checksum is wrong.
    pub(super) fn decode(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let crc = u32_at(bytes, 28);
        (bytes[..4] == MAGIC && crc == crc32fast::hash(&bytes[..28])).then(|| Self {
            length: u32_at(bytes, 4),
            sequence: u64_at(bytes, 8),
            unix_millis: u64_at(bytes, 16),
            payload_crc: u32_at(bytes, 24),
        })
    }
}

/// The checksum of a payload starts from the previous payload's, so that no frame can be removed,
/// moved or taken from another journal unseen.
pub(super) fn chained_crc(previous: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(previous);
    hasher.update(payload);
    hasher.finalize()
}

fn u32_at(bytes: &[u8; HEADER_LEN], start: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[start + index]))
}

fn u64_at(bytes: &[u8; HEADER_LEN], start: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| bytes[start + index]))
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MalformedRecord {
    /// The frame ends inside the record.
    #[error("it ends inside a record")]
    Short,
    /// No record begins with this byte.
    #[error("no record has tag {0}: damage, or a later goodarm wrote it")]
    Tag(u8),
    /// A number exceeds what its field can hold.
    #[error("a number is too large")]
    Number,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// No encoding of a score begins with this byte.
    #[error("no score has code {0}")]
    Score(u8),
    /// No failure has this number.
    #[error("no failure has code {0}: damage, or a later goodarm wrote it")]
    Failure(u8),
    /// No service that answers questions has this code.
    #[error("no service that answers questions has code {0}: damage, or a later goodarm wrote it")]
    Source(u8),
    /// A settled call has fields that this version does not know.
    #[error("a call has fields {0:#04x}: damage, or a later goodarm wrote it")]
    Details(u8),
    /// The frame does not end with the mark that ends frames.
    #[error("no end mark")]
    NoEnd,
    /// A header that does not begin the journal.
    #[error("a second header")]
    SecondHeader,
    /// The journal does not begin with a header.
    #[error("no header")]
    NoHeader,
    /// The record names an arm that the journal does not have yet.
    #[error("there is no arm {0}")]
    Arm(u32),
    /// The record names an attribute that the journal's header does not have.
    #[error("there is no attribute {0}")]
    Attribute(u32),
}
