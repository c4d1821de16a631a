//! The bytes of this format stay as they are, and journals of earlier formats are refused by name.

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
    records.push(vec![delivered(14)]);
    records
}

/// A call with everything that most calls do not have.
fn delivered(ticket: u64) -> Record<'static> {
    let Record { mut event, mut note } = failed(ticket, Failure::Counted(CountedFailure::Crashed));
    if let Event::Settled { bill, .. } = &mut event {
        *bill = Bill::unknown(Cost::from_picos(300), Cost::from_picos(1000));
    }
    note.delivery = Delivery { status: Some(500), address: Some(2), throttled_count: 9 };
    Record { event, note }
}

#[test]
fn an_earlier_format_is_refused_in_one_sentence() {
    let error = read(&fixture("journal-v2")).unwrap_err().to_string();
    assert!(error.contains("with a journal of format 2; this is goodarm"), "{error}");
    assert!(error.ends_with("which reads format 3: use goodarm 0.1.0 for it"), "{error}");
}

/// If this fails, the format has changed: give it a new number, and keep the old fixture.
#[test]
fn format_3_is_still_read_and_written() {
    let (found, bytes_cut) = read_records(&fixture("journal-v3"));
    assert_eq!((found, bytes_cut), (records().concat(), 0));
    let (bytes, _) = written(&records());
    assert_eq!(bytes, fixture("journal-v3"));
}

#[test]
fn what_most_calls_do_not_have_takes_a_byte_if_it_is_not_there() {
    let mut bytes = Vec::new();
    delivered(7).encode(&mut bytes);
    // Uncertain, status, address and throttled requests.
    let details = [15, 0xBC, 5, 0xF4, 3, 2, 9, 6];
    assert!(bytes.windows(details.len()).any(|window| window == details), "{bytes:?}");
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
