//! Lines of labels.

use goodarm_record::fuzzing::claimed_in;

/// Reads lines of labels: a claim never exceeds what they prove.
pub(crate) fn read(bytes: &[u8]) {
    let Some(claim) = claimed_in(bytes) else { return };
    for claim in claim.earlier.iter().chain([&claim]) {
        assert!(claim.right <= claim.at_least, "every answer that is known to be right is claimed");
        assert!(claim.at_least <= claim.answers - claim.wrong - claim.skipped, "{claim:?}");
        assert_eq!(claim.labels, claim.right + claim.wrong + claim.skipped);
        assert!((0.0..=1.0).contains(&claim.share));
    }
}
