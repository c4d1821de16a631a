//! Journals: as raw bytes, and as records with valid frames and checksums.

use std::io;

use goodarm_core::Books;
use goodarm_record::account::Account;
use goodarm_record::history::{History, HistoryError};
use goodarm_record::journal::{
    Journal, JournalEnd, OpenError, OpenedJournal, Reader, Record, Storage,
};

use crate::folder;

/// Reads raw bytes as a journal. If they are a torn journal, its valid part is a whole one.
pub(crate) fn read(bytes: &[u8]) {
    let Ok(Some(read)) = read_all(bytes) else { return };
    let valid = usize::try_from(read.tail.len_valid).expect("it is in memory");
    assert_eq!(read.tail.len_valid + read.tail.bytes_cut, bytes.len() as u64);
    let cut = read_all(&bytes[..valid]).expect("the valid part is a journal");
    let cut = cut.expect("it has begun");
    assert_eq!((cut.header, cut.records), (read.header, read.records));
    assert_eq!(cut.tail.bytes_cut, 0, "a tail is cut once");
}

/// Splits the bytes at end marks into payloads and frames them correctly. Accepted records can be written and read
/// again, and all readers of runs can process them.
pub(crate) fn read_records(bytes: &[u8]) {
    let framed = framed(bytes, Link::default());
    if let Ok(Some(read)) = read_all(&framed) {
        let mut file = Memory::default();
        let mut journal = Journal::create(&mut file, &read.header).expect("memory never fails");
        let records = read.records.iter();
        records.for_each(|record| journal.append(record));
        journal.commit().expect("memory never fails");
        let again =
            read_all(&file.0).expect("what was written is a journal").expect("it has begun");
        let texts = |records: &[Record<'_>]| format!("{records:?}");
        // Texts are compared, because a score that is not a number is not equal to itself.
        assert_eq!((&again.header, texts(&again.records)), (&read.header, texts(&read.records)));
    }
    let path = folder::file("journal", &framed);
    if let Err(error) = go_through(&path) {
        assert!(!error.to_string().is_empty());
    }
}

fn go_through(path: &std::path::Path) -> Result<(), HistoryError> {
    let mut history = History::open(path)?;
    // Books for very many arms are not made: only readers that have the candidates make them.
    let question_count = history.terms.questions.as_ref().map_or(0, |asked| asked.count);
    let has_books = history.terms.candidate_count.max(question_count) <= ARMS_MAX;
    let mut books = has_books.then(|| history.problem().map(Books::new)).transpose()?;
    let mut account = books.as_ref().map(Account::new);
    while let Some(entry) = history.next_entry()? {
        let is_small = !matches!(entry.event, goodarm_core::Event::ArmsAdded { count } if count as usize > ARMS_MAX);
        if let (true, Some(books), Some(account)) = (is_small, &mut books, &mut account)
            && books.apply(&entry.event).is_ok()
        {
            account.take(books, &entry);
        }
    }
    history.finish()?;
    Ok(())
}

struct Read {
    header: goodarm_record::journal::Header,
    records: Vec<Record<'static>>,
    tail: JournalEnd,
}

fn read_all(bytes: &[u8]) -> Result<Option<Read>, OpenError> {
    let OpenedJournal::Begun(mut reader) = Reader::open(bytes, bytes.len() as u64)? else {
        return Ok(None);
    };
    let mut records = Vec::new();
    while let Some((_, Record { event, note })) = reader.next_record()? {
        records.push(Record { event, note: note.into_owned() });
    }
    Ok(Some(Read { header: reader.header().clone(), records, tail: reader.finish()? }))
}

/// What a frame depends on in the frame before it: its sequence number and its checksum.
#[derive(Clone, Copy, Default)]
pub(crate) struct Link {
    pub(crate) sequence: u64,
    pub(crate) crc: u32,
}

/// Puts a frame around each payload, which ends with [`END`], as described in `docs/journal-format.md`.
pub(crate) fn framed(bytes: &[u8], mut link: Link) -> Vec<u8> {
    let mut frames = Vec::new();
    for payload in bytes.split_inclusive(|byte| *byte == END) {
        let mut crc = crc32fast::Hasher::new_with_initial(link.crc);
        crc.update(payload);
        link.crc = crc.finalize();
        let mut header = b"GAJ1".to_vec();
        header.extend(u32::try_from(payload.len()).expect("an input is short").to_le_bytes());
        header.extend(link.sequence.to_le_bytes());
        header.extend(1_700_000_000_000_u64.to_le_bytes());
        header.extend(link.crc.to_le_bytes());
        header.extend(crc32fast::hash(&header).to_le_bytes());
        frames.extend(header);
        frames.extend(payload);
        link.sequence += 1;
    }
    frames
}

#[derive(Default)]
struct Memory(Vec<u8>);

impl Storage for &mut Memory {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.truncate(usize::try_from(len).map_err(io::Error::other)?);
        Ok(())
    }
}

/// The mark at the end of a payload.
const END: u8 = 0xE5;
const ARMS_MAX: usize = 1000;
