//! Files of candidates, in every format.

use goodarm_data::candidates::{Candidates, CandidatesError, Format};

use crate::folder;

/// Reads a file in the format of its name.
pub(crate) fn read(name: &str, bytes: &[u8]) {
    check(Candidates::read(&folder::file(name, bytes), "id"));
}

/// Reads a file of another tool.
pub(crate) fn of(format: Format, bytes: &[u8]) {
    check(Candidates::read_as(&folder::file("a.json", bytes), "id", Some(format)));
}

/// Every candidate is found by its id, and a run's copy of the candidates reads back the same.
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
    let kept = Candidates::from_lines(lines, "id").expect("the copy can be read");
    assert_eq!(kept.fingerprint(), candidates.fingerprint());
}
