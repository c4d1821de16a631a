//! Journals of earlier versions stay readable.

use super::*;

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    std::fs::read(format!("{folder}/{name}.bin")).unwrap()
}

/// All kinds of records and failures.
fn records() -> Vec<Vec<Record<'static>>> {
    let failures = [
        Failure::Void(VoidFailure::NotConnected),
        Failure::Void(VoidFailure::RateLimited),
        Failure::Counted(CountedFailure::TimedOut),
        Failure::Counted(CountedFailure::Crashed),
        Failure::Counted(CountedFailure::Unreadable),
        Failure::Counted(CountedFailure::Truncated),
        Failure::Counted(CountedFailure::Refused),
        Failure::Counted(CountedFailure::Lost),
        Failure::Counted(CountedFailure::GivenUp),
    ];
    let mut records = groups();
    records
        .push(failures.iter().zip(5..).map(|(failure, ticket)| failed(ticket, *failure)).collect());
    records
}

#[test]
fn all_formats_are_still_read() {
    for name in ["journal-v1", "journal-v2"] {
        let (found, bytes_cut) = read_records(&fixture(name));
        assert_eq!(found, records().concat(), "{name}");
        assert_eq!(bytes_cut, 0, "{name}");
    }
}

/// If this fails, the format has changed: give it a new number, and keep the old fixture.
#[test]
fn format_2_is_still_written() {
    let (bytes, _) = written(&records());
    assert_eq!(bytes, fixture("journal-v2"));
}

/// Codes that came after the fixtures were written.
#[test]
fn later_failures_keep_their_codes() {
    for (failure, code) in [
        (Failure::Void(VoidFailure::NoVerdict), 3),
        (Failure::Blocking(BlockingFailure::BelowLowest), 129),
        (Failure::Blocking(BlockingFailure::Exhausted), 130),
    ] {
        let mut bytes = Vec::new();
        failed(7, failure).encode(&mut bytes);
        assert_eq!(bytes[..3], [4, 7, code], "{failure:?}");
    }
}

/// A record that came after the fixtures were written.
#[test]
fn several_scores_keep_their_bytes() {
    let mut bytes = Vec::new();
    told_all(7, &[Some(1.0), None, Some(0.25), Some(0.0)], "a: b").encode(&mut bytes);
    let quarter = 0.25_f64.to_le_bytes();
    let mut expected = vec![10, 7, 4, 1, 3, 2];
    expected.extend_from_slice(&quarter);
    expected.push(0);
    assert_eq!(bytes[..expected.len()], expected);
    assert!(bytes.ends_with(b"\x02{}\x04a: b"), "{bytes:?}");
}
