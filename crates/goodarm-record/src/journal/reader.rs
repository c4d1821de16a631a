//! Reading a journal from its beginning to its last whole frame.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use thiserror::Error;

use super::VERSION;
use super::format::{
    self, FORMAT_VERSION, FRAME_BYTES_MAX, FrameHeader, HEADER_LEN, MAGIC, MalformedRecord,
};
use super::record::{Header, Record, TAG_END};
use super::torn;
use super::varint::Input;

/// The result of opening a file as a journal.
#[derive(Debug)]
pub enum OpenedJournal<R = BufReader<File>> {
    /// A journal.
    Begun(Reader<R>),
    /// A crash came before the first frame was whole: nothing has happened. Cut the file to length 0
    /// and begin again.
    NeverBegun {
        /// How long the file is.
        bytes_cut: u64,
    },
}

/// The place of a record, and when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPosition {
    /// The number of its frame, counted from 0.
    pub sequence: u64,
    /// Where its frame begins in the file.
    pub offset: u64,
    /// When its frame was written, in milliseconds since 1970, by the clock of that time.
    pub unix_millis: u64,
}

/// The end of a journal: what [`super::Journal::resume`] needs to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalEnd {
    /// The length of all whole frames.
    pub len_valid: u64,
    /// How many bytes of a torn frame follow them.
    pub bytes_cut: u64,
    /// The number of the next frame.
    pub next_sequence: u64,
    /// The checksum of the last frame's payload.
    pub crc: u32,
}

/// Why a journal cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file could not be read.
    #[error("cannot read the journal: {0}")]
    Read(#[from] io::Error),
    /// The file does not begin like a journal.
    #[error("not a journal of goodarm")]
    NotAJournal,
    /// The file has a format that this version cannot read.
    #[error(
        "goodarm {version} began this run, with a journal of format {found}; this is goodarm {VERSION}, which reads format {FORMAT_VERSION}: use goodarm {version} for it"
    )]
    Format {
        /// The format of the file.
        found: u64,
        /// The version that began the journal.
        version: String,
    },
    /// The bytes are not those that were written, and no crash explains it.
    #[error("the journal is damaged at byte {offset}: {damage}")]
    Damaged {
        /// Where the frame begins, or the record if the frame itself is whole.
        offset: u64,
        /// What is wrong.
        damage: Damage,
    },
}

/// What is wrong with a frame, if no crash can have caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    /// No frame begins here.
    #[error("no frame begins here")]
    NoFrame,
    /// A frame's header is not what was written.
    #[error("wrong checksum of a frame header")]
    HeaderChecksum,
    /// A frame's content is not what was written, or the frame before it is missing.
    #[error("wrong checksum of a frame")]
    PayloadChecksum,
    /// Frames are missing or have changed places.
    #[error("frame {found} where frame {expected} should be")]
    Sequence {
        /// The number of frames before it.
        expected: u64,
        /// The number it has.
        found: u64,
    },
    /// The frame is empty, or longer than [`FRAME_BYTES_MAX`].
    #[error("a frame of {0} bytes")]
    Length(u32),
    /// A record is malformed.
    #[error("{0}")]
    Record(MalformedRecord),
}

/// Reads a journal record by record. The memory in use is that of the longest frame.
#[derive(Debug)]
pub struct Reader<R = BufReader<File>> {
    input: R,
    header: Header,
    file_len: u64,
    frame: Frame,
    /// The end of the frame that is being read.
    tail: JournalEnd,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Reading,
    AtEnd,
    /// The frame is damaged, and what follows is unknown: neither may be used.
    Broken,
}

/// A frame whose checksums are right.
#[derive(Debug, Default)]
struct Frame {
    offset: u64,
    /// Arms that were added since the header was written: an upper bound.
    arms_added: u64,
    unix_millis: u64,
    payload: Vec<u8>,
    /// How much of the payload has been read.
    consumed: usize,
}

const READ_BUFFER_LEN: usize = 1 << 20;

thread_local! {
    static PASSES: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread has read a journal to its end: for tests that count.
#[doc(hidden)]
pub fn passes() -> u64 {
    PASSES.get()
}

/// Opens the journal at `path` and reads its header. Nothing is changed.
pub fn open(path: &Path) -> Result<OpenedJournal, OpenError> {
    let file = File::open(path)?;
    // If another process is still writing, only what is there now is read.
    let file_len = file.metadata()?.len();
    Reader::open(BufReader::with_capacity(READ_BUFFER_LEN, file), file_len)
}

impl<R: Read> Reader<R> {
    /// Reads the header of a journal of `file_len` bytes.
    pub fn open(mut input: R, file_len: u64) -> Result<OpenedJournal<R>, OpenError> {
        let mut frame = Frame::default();
        let mut tail = JournalEnd { len_valid: 0, bytes_cut: 0, next_sequence: 0, crc: 0 };
        match frame.read(&mut input, &mut tail, file_len) {
            Ok(true) => {}
            Ok(false) => return Ok(OpenedJournal::NeverBegun { bytes_cut: file_len }),
            Err(OpenError::Damaged { offset: 0, damage: Damage::NoFrame }) => {
                return Err(OpenError::NotAJournal);
            }
            Err(error) => return Err(error),
        }
        let header = frame.read_header()?;
        Ok(OpenedJournal::Begun(Self {
            input,
            header,
            file_len,
            frame,
            tail,
            state: State::Reading,
        }))
    }

    /// What the journal is about.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The length of the whole frames that were read.
    pub const fn len_valid(&self) -> u64 {
        self.tail.len_valid
    }

    /// The next record, or `None` after the last one. After an error, the journal cannot be read
    /// any further.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<(RecordPosition, Record<'_>)>, OpenError> {
        if self.frame.is_exhausted() {
            self.next_frame()?;
            if self.state == State::AtEnd {
                return Ok(None);
            }
        }
        let position = RecordPosition {
            sequence: self.tail.next_sequence - 1,
            offset: self.frame.offset,
            unix_millis: self.frame.unix_millis,
        };
        Ok(Some((position, self.frame.next_record(&self.header)?)))
    }

    /// Advances to the next frame that holds a record, or to the end.
    fn next_frame(&mut self) -> Result<(), OpenError> {
        while self.state != State::AtEnd && self.frame.is_exhausted() {
            if self.state == State::Broken {
                return Err(io::Error::other("its end could not be reached").into());
            }
            self.state = State::Broken;
            match self.frame.read(&mut self.input, &mut self.tail, self.file_len) {
                Ok(true) => self.state = State::Reading,
                Ok(false) => {
                    self.state = State::AtEnd;
                    PASSES.set(PASSES.get() + 1);
                }
                Err(error) => {
                    self.frame.forget();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Where the journal ends, once all records are read; reads those that are left.
    pub fn finish(mut self) -> Result<JournalEnd, OpenError> {
        while self.next_record()?.is_some() {}
        Ok(self.tail)
    }
}

impl Frame {
    fn is_exhausted(&self) -> bool {
        self.consumed == self.payload.len()
    }

    /// Reads the frame after `tail`, and moves `tail` past it. Returns false at the end, or before a torn frame.
    /// After an error, the payload is undefined.
    fn read(
        &mut self,
        input: &mut impl Read,
        tail: &mut JournalEnd,
        file_len: u64,
    ) -> Result<bool, OpenError> {
        self.forget();
        let offset = tail.len_valid;
        let damaged = |damage| OpenError::Damaged { offset, damage };
        let left = file_len - offset;
        if left == 0 {
            return Ok(false);
        }
        let Some(header) = read_frame_header(input, offset, left)? else {
            tail.bytes_cut = left;
            return Ok(false);
        };
        if header.sequence != tail.next_sequence {
            let (expected, found) = (tail.next_sequence, header.sequence);
            return Err(damaged(Damage::Sequence { expected, found }));
        }
        if header.length == 0 || header.length > FRAME_BYTES_MAX {
            return Err(damaged(Damage::Length(header.length)));
        }
        let frame_len = HEADER_LEN as u64 + u64::from(header.length);
        if frame_len > left {
            tail.bytes_cut = left;
            return Ok(false);
        }
        read_all(input, header.length.into(), &mut self.payload)?;
        if format::chained_crc(tail.crc, &self.payload) != header.payload_crc {
            if frame_len == left && torn::is_lost_payload(offset, header, &self.payload) {
                self.forget();
                tail.bytes_cut = left;
                return Ok(false);
            }
            return Err(damaged(Damage::PayloadChecksum));
        }
        // The end mark is not a record. What remains of the payload is exactly the records.
        if self.payload.pop() != Some(TAG_END) {
            return Err(damaged(Damage::Record(MalformedRecord::NoEnd)));
        }
        self.offset = offset;
        self.unix_millis = header.unix_millis;
        tail.len_valid += frame_len;
        tail.next_sequence += 1;
        tail.crc = header.payload_crc;
        Ok(true)
    }

    fn forget(&mut self) {
        self.payload.clear();
        self.consumed = 0;
    }

    fn read_header(&mut self) -> Result<Header, OpenError> {
        let mut input = Input::new(&self.payload);
        let format = Header::format(&mut input).map_err(|malformed| self.damaged(malformed))?;
        if format != FORMAT_VERSION {
            let version = input.text().map_err(|malformed| self.damaged(malformed))?.to_owned();
            return Err(OpenError::Format { found: format, version });
        }
        let header = Header::decode(&mut input);
        let header = header.map_err(|malformed| self.damaged(malformed))?;
        self.consumed = self.payload.len() - input.len();
        Ok(header)
    }

    #[inline]
    fn next_record(&mut self, header: &Header) -> Result<Record<'_>, OpenError> {
        let mut input = Input::new(&self.payload[self.consumed..]);
        let record = match Record::decode(&mut input) {
            Ok(record) => record,
            Err(malformed) => return Err(self.damaged(malformed)),
        };
        let mut arms_added = self.arms_added;
        if let Err(malformed) = record.check(header, &mut arms_added) {
            return Err(self.damaged(malformed));
        }
        self.arms_added = arms_added;
        self.consumed = self.payload.len() - input.len();
        Ok(record)
    }

    fn damaged(&self, malformed: MalformedRecord) -> OpenError {
        let offset = self.offset + (HEADER_LEN + self.consumed) as u64;
        OpenError::Damaged { offset, damage: Damage::Record(malformed) }
    }
}

/// Reads the header of a frame; `None` if a crash tore it. The file has `left` more bytes, at least one.
fn read_frame_header(
    input: &mut impl Read,
    offset: u64,
    left: u64,
) -> Result<Option<FrameHeader>, OpenError> {
    let mut buffer = [0; HEADER_LEN];
    let available = usize::try_from(left).map_or(HEADER_LEN, |left| left.min(HEADER_LEN));
    let bytes = &mut buffer[..available];
    input.read_exact(bytes)?;
    let is_torn = if available < HEADER_LEN {
        torn::is_torn_header(offset, bytes)
    } else if let Some(header) = FrameHeader::decode(&buffer) {
        return Ok(Some(header));
    } else {
        torn::is_lost_header(offset, buffer, input.take(left - HEADER_LEN as u64))?
    };
    if is_torn {
        return Ok(None);
    }
    let damage = if buffer.starts_with(&MAGIC) { Damage::HeaderChecksum } else { Damage::NoFrame };
    Err(OpenError::Damaged { offset, damage })
}

/// Reads exactly `length` bytes, and appends them to `bytes`. The file is known to have them.
fn read_all(input: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let expected = bytes.len() as u64 + length;
    input.take(length).read_to_end(bytes)?;
    if bytes.len() as u64 == expected { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
