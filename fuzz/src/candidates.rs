//! Files of candidates, in every format.

use goodarm_data::candidates::{Candidates, CandidatesError, Format};

use crate::place;

/// A file whose name says what it is.
pub(crate) fn read(name: &str, bytes: &[u8]) {
    check(Candidates::read(&place::file(name, bytes), "id"));
}

/// What another tool has written.
pub(crate) fn of(format: Format, bytes: &[u8]) {
    check(Candidates::read_as(&place::file("a.json", bytes), "id", Some(format)));
}

/// What was read is found by its id, and is the same when a run reads back what it has kept.
fn check(read: Result<Candidates, CandidatesError>) {
    let candidates = match read {
        Ok(candidates) => candidates,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!candidates.is_empty());
    for arm in candidates.arms() {
        assert_eq!(candidates.arm_of(candidates.id(arm)), Some(arm));
        assert!(!candidates.json(arm).contains(['\n', '\r']), "one line");
    }
    let lines = candidates.arms().map(|arm| candidates.json(arm));
    let kept = Candidates::from_lines(lines, "id").expect("what is kept can be read");
    assert_eq!(kept.fingerprint(), candidates.fingerprint());
}
