//! The journal of a run: all calls, outcomes and bills, in one append-only file.
//!
//! Records are gathered in memory and written as one **frame** by [`Journal::commit`], which returns
//! once the frame is on the disk, or by [`Journal::write`], after which a [`Syncer`] makes it durable
//! from another thread. The caller starts a call only after the record of its asking is durable, and
//! shows an outcome only after its record is.
//!
//! After a crash the file may end inside a frame: a **torn tail**, which is cut. Everything else
//! that is wrong is **damage**, and is refused with its place. The bytes, and how the two are told
//! apart, are described in `docs/journal-format.md`.
//!
//! ```text
//! let storage = FileStorage::create(path)?;              // a new run
//! let mut journal = Journal::create(storage, &header)?;
//!
//! match open(path)? {                                    // a resumed run
//!     Opened::NeverBegun { .. } => restart(FileStorage::open(path)?), // truncate(0), then create
//!     Opened::Begun(mut reader) => {
//!         while let Some((position, record)) = reader.next_record()? { replay(record) }
//!         let journal = Journal::resume(FileStorage::open(path)?, reader.finish()?)?;
//!     }
//! }
//! ```

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

mod format;
mod lock;
mod mark;
mod reader;
mod record;
mod storage;
#[cfg(test)]
mod tests;
mod torn;
mod varint;

pub use format::{FORMAT_VERSION, FRAME_BYTES_MAX, MalformedRecord};
pub use lock::{FolderLock, LockError, beside};
pub use mark::Mark;
pub use reader::{
    Damage, JournalEnd, OpenError, OpenedJournal, Reader, RecordPosition, open, passes,
};
pub use record::{Header, Note, Record};
pub use storage::{FileStorage, Storage, Syncer};

use format::{FrameHeader, HEADER_LEN};

/// The writing end of a journal.
///
/// After a failed write or sync nothing is known about the end of the file, so the journal is
/// poisoned: every later [`Journal::write`] or [`Journal::commit`] fails. Open the file again to
/// read what it holds.
#[derive(Debug)]
pub struct Journal<S> {
    storage: S,
    /// Room for the header of the next frame, then the frame's records.
    buffer: Vec<u8>,
    next_sequence: u64,
    /// The checksum of the last frame's payload; the checksum of the next payload starts from it.
    crc: u32,
    state: State,
    clock: Clock,
}

/// Milliseconds since 1970.
type Clock = fn() -> u64;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Synced,
    Unsynced,
    Poisoned,
}

impl<S: Storage> Journal<S> {
    /// Begins a journal in an empty file: the header is on the disk when this returns.
    pub fn create(storage: S, header: &Header) -> io::Result<Self> {
        Self::create_with_clock(storage, header, unix_millis)
    }

    /// Continues after the last whole frame: cuts the torn tail that [`Reader`] found.
    pub fn resume(mut storage: S, tail: JournalEnd) -> io::Result<Self> {
        if tail.bytes_cut > 0 {
            storage.truncate(tail.len_valid)?;
        }
        // Frames that were read may still be in the cache only: a killed process leaves them there.
        // From now on the run depends on them, so a power cut must not remove them.
        storage.sync()?;
        Ok(Self {
            storage,
            buffer: vec![0; HEADER_LEN],
            next_sequence: tail.next_sequence,
            crc: tail.crc,
            state: State::Synced,
            clock: unix_millis,
        })
    }

    /// Puts a record into the buffer; nothing is written.
    pub fn append(&mut self, record: &Record<'_>) {
        record.encode(&mut self.buffer);
    }

    /// Writes the buffered records as one frame and returns when everything that was ever appended
    /// is on the disk. Does nothing if it already is.
    pub fn commit(&mut self) -> io::Result<()> {
        self.write()?;
        if self.state == State::Unsynced {
            self.state = State::Poisoned;
            self.storage.sync()?;
            self.state = State::Synced;
        }
        Ok(())
    }

    /// Writes the buffered records as one frame without waiting for the disk. They are durable once a
    /// sync that began later has ended: [`Journal::commit`], or one by [`Syncer::sync`].
    pub fn write(&mut self) -> io::Result<()> {
        if self.state == State::Poisoned {
            return Err(io::Error::other("an earlier write to the journal failed"));
        }
        if self.buffered_bytes() == 0 {
            return Ok(());
        }
        // Until the write is known to have worked, the end of the file is unknown.
        self.state = State::Poisoned;
        self.buffer.push(record::TAG_END);
        let payload = &self.buffer[HEADER_LEN..];
        let length = u32::try_from(payload.len())
            .ok()
            .filter(|length| *length <= FRAME_BYTES_MAX)
            .ok_or_else(|| io::Error::other("a frame of the journal exceeds 1 GiB"))?;
        let crc = format::chained_crc(self.crc, payload);
        let header = FrameHeader {
            length,
            sequence: self.next_sequence,
            unix_millis: (self.clock)(),
            payload_crc: crc,
        };
        self.buffer[..HEADER_LEN].copy_from_slice(&header.encode());
        self.storage.append(&self.buffer)?;
        self.buffer.truncate(HEADER_LEN);
        self.next_sequence += 1;
        self.crc = crc;
        self.state = State::Unsynced;
        Ok(())
    }

    /// Poisons the journal after a [`Syncer`] has failed: nothing more is written.
    pub const fn poison(&mut self) {
        self.state = State::Poisoned;
    }

    /// The storage, to get a [`Syncer`] for what [`Journal::write`] wrote. The system reports a failed sync only
    /// once, to one handle: sync only by the syncer, and call [`Journal::poison`] if it fails.
    pub const fn storage(&self) -> &S {
        &self.storage
    }

    /// How many bytes of records wait for the next [`Journal::commit`].
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len() - HEADER_LEN
    }

    fn create_with_clock(storage: S, header: &Header, clock: Clock) -> io::Result<Self> {
        let mut journal = Self {
            storage,
            buffer: vec![0; HEADER_LEN],
            next_sequence: 0,
            crc: 0,
            state: State::Synced,
            clock,
        };
        header.encode(&mut journal.buffer);
        journal.commit()?;
        Ok(journal)
    }
}

/// The version of this package, for people: whether a run can be resumed depends on [`goodarm_core::DECISIONS`].
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Now, in milliseconds since 1970.
pub(crate) fn unix_millis() -> u64 {
    // A clock before 1970 is wrong, but not worth losing a run for: times are only shown.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
