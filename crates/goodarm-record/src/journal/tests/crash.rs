//! Processes that die, disks that fill up, and power cuts.

use std::cell::Cell;

use proptest::prelude::*;

use super::round_trip::any_groups;
use super::*;

/// Everything in the frames that end within the first `len` bytes, or that there is no first frame.
fn whole_before(groups: &[Vec<Record<'static>>], ends: &[usize], len: usize) -> Option<usize> {
    let whole = ends.iter().filter(|end| **end <= len).count();
    whole.checked_sub(1).map(|frames| groups[..frames].iter().map(Vec::len).sum())
}

#[test]
fn a_cut_at_any_byte_leaves_the_frames_before_it() {
    let groups = groups();
    let (bytes, ends) = written(&groups);
    for len in 0..=bytes.len() {
        match (read(&bytes[..len]).unwrap(), whole_before(&groups, &ends, len)) {
            (Content::NeverBegun, None) => {}
            (Content::Records(records, tail), Some(count)) => {
                assert_eq!(records, groups.concat()[..count], "cut at {len}");
                let whole_len = *ends.iter().rfind(|end| **end <= len).unwrap();
                assert_eq!(tail.len_valid, whole_len as u64);
                assert_eq!(tail.bytes_cut, (len - whole_len) as u64);
            }
            (content, expected) => panic!("cut at {len}: {content:?}, not {expected:?}"),
        }
    }
}

#[test]
fn after_a_cut_at_any_byte_the_run_goes_on() {
    let groups = groups();
    let (bytes, ends) = written(&groups);
    for len in ends[0]..=bytes.len() {
        let disk = Disk::holding(&bytes[..len]);
        let Content::Records(mut expected, tail) = read(&disk.bytes()).unwrap() else {
            panic!("never begun")
        };
        let mut journal = Journal::resume(disk.clone(), tail).unwrap();
        assert_eq!(disk.synced_len(), disk.bytes().len(), "what counts is on the disk");
        for ticket in 10..12 {
            journal.append(&asked(ticket, 1, 1));
            journal.commit().unwrap();
            expected.push(asked(ticket, 1, 1));
        }
        assert_eq!(read_records(&disk.bytes()), (expected, 0), "cut at {len}");
    }
}

/// Commits all groups until something fails, and gives how many groups are known to be safe.
fn commit_all(disk: &Disk, groups: &[Vec<Record<'_>>]) -> Option<usize> {
    let mut journal = Journal::create(disk.clone(), &header()).ok()?;
    let mut committed = 0;
    for group in groups {
        for record in group {
            journal.append(record);
        }
        if journal.commit().is_err() {
            let bytes = disk.bytes();
            journal.append(&asked(0, 0, 0));
            assert!(journal.commit().is_err(), "nothing follows what may be half a frame");
            assert!(journal.write().is_err());
            assert_eq!(disk.bytes(), bytes, "nothing more was written");
            break;
        }
        committed += 1;
    }
    Some(committed)
}

#[test]
fn whatever_operation_fails_all_that_was_committed_is_there() {
    let groups = groups();
    let sound = Disk::default();
    assert_eq!(commit_all(&sound, &groups), Some(groups.len()));
    let longest = sound.bytes().len();
    for operation in 0..sound.operations() {
        // Every beginning of what should have been written, for a sync only once.
        for bytes_written in 0..=longest {
            let disk = Disk::failing(operation, bytes_written);
            let committed = commit_all(&disk, &groups);
            let bytes = disk.bytes();
            match (read(&bytes).unwrap(), committed) {
                (Content::NeverBegun, None) => {}
                (Content::Records(records, _), committed) => {
                    let safe = groups[..committed.unwrap_or(0)].concat();
                    assert!(records.starts_with(&safe), "operation {operation}");
                    assert!(groups.concat().starts_with(&records), "operation {operation}");
                }
                (Content::NeverBegun, Some(_)) => panic!("operation {operation}: all is lost"),
            }
            if bytes_written > bytes.len() {
                break;
            }
        }
    }
}

#[test]
fn a_journal_that_cannot_be_resumed_is_not() {
    let (bytes, _) = written(&groups());
    let torn = &bytes[..bytes.len() - 1];
    let Content::Records(_, tail) = read(torn).unwrap() else { panic!("never begun") };
    for operation in 0..2 {
        let disk = Disk::holding(torn);
        disk.0.borrow_mut().failure = Some((operation, 0));
        assert!(Journal::resume(disk, tail).is_err());
    }
}

/// What a power cut leaves: the synced bytes, then as much of the file's new length as `len` says,
/// where sectors that never reached the disk are zeros.
fn after_power_cut(disk: &Disk, len: usize, is_lost: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut bytes = disk.bytes();
    let synced_len = disk.synced_len();
    bytes.truncate(synced_len.max(len));
    for (index, byte) in bytes.iter_mut().enumerate().skip(synced_len) {
        if is_lost(index / 512) {
            *byte = 0;
        }
    }
    bytes
}

/// A journal with one frame that is written but not synced, behind others of any length.
fn with_unsynced_frame(groups: &[Vec<Record<'_>>], last: &[Record<'_>]) -> Disk {
    with_unsynced_frame_at(unix_millis, groups, last)
}

fn with_unsynced_frame_at(clock: Clock, groups: &[Vec<Record<'_>>], last: &[Record<'_>]) -> Disk {
    let disk = Disk::default();
    let mut journal = Journal::create_with_clock(disk.clone(), &header(), clock).unwrap();
    for group in groups {
        for record in group {
            journal.append(record);
        }
        journal.commit().unwrap();
    }
    for record in last {
        journal.append(record);
    }
    journal.write().unwrap();
    disk
}

proptest! {
    #[test]
    fn a_power_cut_costs_the_last_frame_at_most(
        groups in any_groups(),
        last in prop::collection::vec(super::round_trip::any_record(), 1..12),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
        lost in any::<[bool; 16]>(),
    ) {
        let disk = with_unsynced_frame(&groups, &last);
        let full_len = disk.bytes().len();
        let len = if is_cut { cut.index(full_len) } else { full_len };
        let bytes = after_power_cut(&disk, len, |sector| lost[sector % lost.len()]);
        let (records, bytes_cut) = read_records(&bytes);
        let safe = groups.concat();
        if bytes == disk.bytes() {
            prop_assert_eq!(records, [safe, last].concat());
        } else {
            prop_assert_eq!(records, safe);
            prop_assert_eq!(bytes_cut, (bytes.len() - disk.synced_len()) as u64);
        }
    }
}

#[test]
fn lost_sectors_are_recognised_wherever_the_frame_begins() {
    // Replies of all lengths shift the last frame through all places in a sector.
    for shift in 0..600 {
        let groups = [vec![told(0, 0.5, &"x".repeat(shift))]];
        let last = [told(1, 0.5, &"y".repeat(1100))];
        let disk = with_unsynced_frame(&groups, &last);
        let sectors = disk.synced_len() / 512..=(disk.bytes().len() - 1) / 512;
        for kept in sectors.clone() {
            let bytes = after_power_cut(&disk, usize::MAX, |sector| sector != kept);
            assert_eq!(read_records(&bytes).0, groups.concat(), "shift {shift}, kept {kept}");
        }
        for lost in sectors {
            let bytes = after_power_cut(&disk, usize::MAX, |sector| sector == lost);
            assert_eq!(read_records(&bytes).0, groups.concat(), "shift {shift}, lost {lost}");
        }
    }
}

/// A header whose last byte is zero is whole without the sector of that byte.
#[test]
fn a_lost_sector_that_begins_with_a_zero_of_the_header_is_recognised() {
    thread_local!(static NOW: Cell<u64> = const { Cell::new(0) });
    // With it the header of the last frame ends in the next sector.
    let shift = (0..512)
        .find(|shift| {
            let groups = [vec![told(0, 0.5, &"x".repeat(*shift))]];
            with_unsynced_frame(&groups, &[]).synced_len() % 512 == 512 - (format::HEADER_LEN - 1)
        })
        .expect("all places in a sector are met");
    let groups = [vec![told(0, 0.5, &"x".repeat(shift))]];
    let last = [told(1, 0.5, &"y".repeat(300))];
    let mut zero_count = 0;
    for millis in 0..2_000 {
        NOW.set(millis);
        let disk = with_unsynced_frame_at(|| NOW.get(), &groups, &last);
        let lost = disk.bytes().len() / 512;
        zero_count += u32::from(disk.bytes()[lost * 512] == 0);
        let bytes = after_power_cut(&disk, usize::MAX, |sector| sector == lost);
        assert_eq!(read_records(&bytes).0, groups.concat(), "at {millis}");
    }
    assert!(zero_count > 0, "the rare case was met");
}

#[test]
fn a_first_frame_that_a_power_cut_lost_was_never_begun() {
    let (bytes, ends) = written(&[]);
    for len in 0..=ends[0] {
        let zeros = vec![0; len];
        assert_eq!(read(&zeros).unwrap(), Content::NeverBegun);
    }
    assert!(matches!(read(&bytes), Ok(Content::Records(..))));
}
