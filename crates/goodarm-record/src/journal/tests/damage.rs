//! Files that no crash leaves like this.

use std::collections::VecDeque;
use std::io::Read;

use proptest::prelude::*;

use super::format::{FrameHeader, HEADER_LEN, MAGIC, chained_crc};
use super::*;

/// What may be wrong with byte `index` of a journal of `groups`: nothing is ever read that was not
/// written, and only the last frame may be cut, if it looks torn.
fn check_changed(bytes: &[u8], index: usize, groups: &[Vec<Record<'static>>], ends: &[usize]) {
    let last_start = ends[ends.len() - 2];
    match read(bytes) {
        Err(OpenError::Damaged { offset, .. }) => {
            let frame = ends.iter().rfind(|end| **end <= index).copied().unwrap_or(0);
            assert!(offset >= frame as u64, "byte {index}: reported at {offset}");
        }
        Err(OpenError::NotAJournal) => assert!(index < MAGIC.len(), "byte {index}"),
        Err(error) => panic!("byte {index}: {error}"),
        Ok(Content::NeverBegun) => panic!("byte {index}: everything is lost"),
        Ok(Content::Records(records, tail)) => {
            assert!(index >= last_start, "byte {index} is before the last frame");
            assert_eq!(tail.len_valid, last_start as u64);
            assert_eq!(records, groups[..groups.len() - 1].concat());
            assert_eq!(bytes[index], 0, "byte {index}: only zeros look torn");
        }
    }
}

#[test]
fn no_changed_byte_is_ever_read() {
    let groups = groups();
    let (mut bytes, ends) = written(&groups);
    for index in 0..bytes.len() {
        let original = bytes[index];
        for change in 1..=255 {
            bytes[index] = original ^ change;
            check_changed(&bytes, index, &groups, &ends);
        }
        bytes[index] = original;
    }
}

#[test]
fn damage_is_found_in_the_last_frame_too() {
    let (mut bytes, ends) = written(&groups());
    let last_start = ends[ends.len() - 2];
    for index in last_start..bytes.len() {
        bytes[index] ^= 0x40;
        assert!(matches!(read(&bytes), Err(OpenError::Damaged { .. })), "byte {index}");
        bytes[index] ^= 0x40;
    }
}

#[test]
fn a_zero_is_a_lost_sector_only_if_it_is_all_of_it() {
    for shift in 0..600 {
        let groups = [vec![told(0, 0.5, &"x".repeat(shift))], vec![asked(1, 1, 1)]];
        let (bytes, ends) = written(&groups);
        let zeroed = |index: usize| {
            let mut zeroed = bytes.clone();
            zeroed[index] = 0;
            zeroed
        };
        let start = ends[1];
        if start % 512 == 511 {
            assert_eq!(read_records(&zeroed(start)).0, groups[0], "shift {shift}");
        } else {
            check_error(&zeroed(start), start, Damage::NoFrame);
        }
        check_error(&zeroed(start + HEADER_LEN), start, Damage::PayloadChecksum);
        let end = ends[2] - 1;
        if end % 512 == 0 {
            assert_eq!(read_records(&zeroed(end)).0, groups[0], "shift {shift}");
        } else {
            check_error(&zeroed(end), start, Damage::PayloadChecksum);
        }
    }
}

#[test]
fn a_zeroed_sector_before_the_last_frame_is_damage() {
    // The last frame is short, so that whole sectors lie before it.
    let mut groups = groups();
    groups.push(vec![asked(9, 9, 1)]);
    let (bytes, ends) = written(&groups);
    let last_start = ends[ends.len() - 2];
    assert!(last_start > 3 * 512);
    for sector in 0..last_start / 512 {
        let mut zeroed = bytes.clone();
        zeroed[sector * 512..(sector + 1) * 512].fill(0);
        let error = read(&zeroed).unwrap_err();
        let expected = matches!(error, OpenError::Damaged { .. } | OpenError::NotAJournal);
        assert!(expected, "sector {sector}: {error}");
    }
}

#[test]
fn frames_cannot_be_removed_repeated_or_swapped() {
    let (bytes, ends) = written(&groups());
    let starts = [&[0], &ends[..]].concat();
    let frames: Vec<&[u8]> = starts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
    let check = |frames: Vec<&[u8]>, what: &str| {
        let error = read(&frames.concat()).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{what}: {error}");
    };
    for index in 0..frames.len() - 1 {
        let mut removed = frames.clone();
        removed.remove(index);
        check(removed, &format!("without frame {index}"));
        let mut swapped = frames.clone();
        swapped.swap(index, index + 1);
        check(swapped, &format!("frame {index} swapped"));
    }
    for index in 0..frames.len() {
        let mut repeated = frames.clone();
        repeated.insert(index, frames[index]);
        check(repeated, &format!("frame {index} repeated"));
    }
}

#[test]
fn a_gap_is_damage_even_if_what_follows_it_is_torn() {
    let (bytes, ends) = written(&groups());
    let gap = [&bytes[..ends[1]], &bytes[ends[2]..ends[3] - 1]].concat();
    check_error(&gap, ends[1], Damage::Sequence { expected: 2, found: 3 });
}

#[test]
fn another_frame_is_found_wherever_it_begins() {
    let (frame, _) = written(&[]);
    for shift in 0..2 * HEADER_LEN {
        let text = vec![b'G'; torn::SCAN_CHUNK_LEN - shift];
        let rest = [&[0; 480], &*text, &frame].concat();
        assert!(!torn::is_lost_header(0, [0; HEADER_LEN], &*rest).unwrap(), "shift {shift}");
        let rest = &rest[..rest.len() - frame.len() + HEADER_LEN - 1];
        assert!(torn::is_lost_header(0, [0; HEADER_LEN], rest).unwrap(), "shift {shift}");
    }
}

/// Bytes of a disk that fails once, before its second part, and then goes on.
struct FailingOnce<'a>(VecDeque<Option<&'a [u8]>>);

impl Read for FailingOnce<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.front_mut() {
            None => Ok(0),
            Some(None) => {
                self.0.pop_front();
                Err(io::Error::other("a bad sector"))
            }
            Some(Some(part)) => {
                let length = part.read(buffer)?;
                if part.is_empty() {
                    self.0.pop_front();
                }
                Ok(length)
            }
        }
    }
}

#[test]
fn what_could_not_be_read_is_not_the_end() {
    let (bytes, ends) = written(&groups());
    for cut in ends[0]..bytes.len() {
        let (first, second) = bytes.split_at(cut);
        let input = FailingOnce(VecDeque::from([Some(first), None, Some(second)]));
        let OpenedJournal::Begun(mut reader) = Reader::open(input, bytes.len() as u64).unwrap()
        else {
            panic!("never begun")
        };
        let error = loop {
            if let Err(error) = reader.next_record() {
                break error;
            }
        };
        assert!(matches!(error, OpenError::Read(_)), "{error}");
        assert!(reader.next_record().is_err());
        assert!(reader.finish().is_err());
    }
}

#[test]
fn a_frame_of_another_journal_is_refused() {
    let (bytes, ends) = written(&[vec![asked(0, 1, 1)], vec![asked(1, 1, 1)]]);
    let (other, other_ends) = written(&[vec![asked(0, 2, 1)], vec![asked(1, 1, 1)]]);
    assert_eq!(ends, other_ends);
    let mixed = [&bytes[..ends[1]], &other[ends[1]..]].concat();
    check_error(&mixed, ends[1], Damage::PayloadChecksum);
}

#[test]
fn what_follows_the_last_frame_must_be_the_beginning_of_one() {
    let (bytes, _) = written(&groups());
    for rest in [&b"x"[..], b"hello\n", b"GAX", b"a line that somebody added to the end of it\n"] {
        let longer = [&*bytes, rest].concat();
        check_error(&longer, bytes.len(), Damage::NoFrame);
    }
    for rest in [&b"G"[..], b"GAJ1", b"GAJ1\0\0\0", &[0; 31], &[0; 4096]] {
        let longer = [&*bytes, rest].concat();
        assert_eq!(read_records(&longer), (groups().concat(), rest.len() as u64));
    }
}

#[test]
fn other_files_are_not_journals() {
    for bytes in [&b"hello"[..], b"{\"budget\": 5}\n", &[0xFF; 100], b"PAR1 and more of that kind"]
    {
        assert!(matches!(read(bytes), Err(OpenError::NotAJournal)), "{bytes:?}");
    }
}

#[test]
fn a_length_is_believed_only_if_the_file_has_it() {
    let (bytes, _) = written(&[]);
    let previous = FrameHeader::decode(bytes[..HEADER_LEN].try_into().unwrap()).unwrap();
    let with_length = |length| {
        let frame = FrameHeader { length, sequence: 1, ..previous };
        [&*bytes, &frame.encode()].concat()
    };
    for length in [0, FRAME_BYTES_MAX + 1, u32::MAX] {
        check_error(&with_length(length), bytes.len(), Damage::Length(length));
    }
    assert_eq!(read_records(&with_length(FRAME_BYTES_MAX)), (Vec::new(), HEADER_LEN as u64));
}

#[test]
fn a_later_format_is_refused_by_name() {
    let payload = [1, 4, 3, b'9', b'.', b'9', record::TAG_END];
    let error = read(&framed(0, 0, &payload)).unwrap_err();
    assert!(matches!(&error, OpenError::Format { found: 4, version } if version == "9.9"));
}

#[test]
fn records_that_make_no_sense_are_refused_with_their_place() {
    let (bytes, _) = written(&[]);
    let previous = FrameHeader::decode(bytes[..HEADER_LEN].try_into().unwrap()).unwrap();
    let first = [2, 0, 0, 0]; // a record that makes sense
    for (rest, malformed) in [
        (&[0][..], MalformedRecord::Tag(0)),
        (&[99], MalformedRecord::Tag(99)),
        (&[1, 1], MalformedRecord::SecondHeader),
        (&[3, 0, 1, 0, 0, 16], MalformedRecord::Details(16)),
        (&[3, 0, 1, 0, 0, 2, 0xFF, 0xFF, 0x7F], MalformedRecord::Number),
        (&[2, 1, 1], MalformedRecord::Short),
        (&[2, 1, 0xE8, 0x07, 0], MalformedRecord::Arm(1000)),
        (&[2, 1, 1, 3], MalformedRecord::Attribute(3)),
        (&[2, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0], MalformedRecord::Number),
        (&[2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2], MalformedRecord::Number),
        (&[3, 1, 3, 0, 0, 0], MalformedRecord::Score(3)),
        (&[3, 1, 1, 0, 0, 0, 1, 0xFF], MalformedRecord::Text),
        (&[3, 1, 1, 0, 0, 0, 5, b'a'], MalformedRecord::Short),
        (&[4, 1, 4, 0, 0, 0, 0], MalformedRecord::Failure(4)),
    ] {
        let payload = [&first, rest, &[record::TAG_END]].concat();
        let longer = [&*bytes, &framed(1, previous.payload_crc, &payload)].concat();
        let place = bytes.len() + HEADER_LEN + first.len();
        check_error(&longer, place, Damage::Record(malformed));
    }
    let longer = [&*bytes, &framed(1, previous.payload_crc, &first)].concat();
    check_error(&longer, bytes.len(), Damage::Record(MalformedRecord::NoEnd));
}

fn check_error(bytes: &[u8], expected_offset: usize, expected: Damage) {
    match read(bytes) {
        Err(OpenError::Damaged { offset, damage }) => {
            assert_eq!((offset, damage), (expected_offset as u64, expected));
        }
        other => panic!("{other:?}, not {expected:?}"),
    }
}

fn framed(sequence: u64, previous_crc: u32, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        length: u32::try_from(payload.len()).unwrap(),
        sequence,
        unix_millis: 0,
        payload_crc: chained_crc(previous_crc, payload),
    };
    [&header.encode(), payload].concat()
}

proptest! {
    #[test]
    fn garbage_is_refused_or_never_begun(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(!matches!(read(&bytes), Ok(Content::Records(..))));
        let _ = read(&[&MAGIC, &*bytes].concat());
    }

    #[test]
    fn garbage_behind_a_journal_is_never_read(
        bytes in prop::collection::vec(any::<u8>(), 1..2000)
    ) {
        let (whole, _) = written(&groups());
        if let Ok(Content::Records(records, tail)) = read(&[&*whole, &*bytes].concat()) {
            prop_assert_eq!(records, groups().concat());
            prop_assert_eq!(tail.len_valid, whole.len() as u64);
        }
    }

    /// Nothing panics even where all checksums are right.
    #[test]
    fn payloads_of_garbage_do_no_harm(
        tag in 0..6u8,
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let payload = [&[tag], &*payload, &[record::TAG_END]].concat();
        let _ = read(&framed(0, 0, &payload));
        let (whole, _) = written(&[]);
        let first = FrameHeader::decode(whole[..HEADER_LEN].try_into().unwrap()).unwrap();
        let _ = read(&[&*whole, &framed(1, first.payload_crc, &payload)].concat());
    }
}
