//! The order in which answers are labelled, and whether a recorded claim belongs to this run.

use std::collections::BTreeMap;
use std::path::Path;

use super::line::ClaimStarted;

/// The order of these ids for claim number `claim` of a run with this seed: by the BLAKE3 hash of seed, number, the
/// claim's own draw and id, with spaces between them. Without the draw, the order would be known beforehand, and
/// would be the same in the next run of these answers. Anyone can compute it again.
pub(crate) fn drawn<'a>(
    seed: u64,
    claim: usize,
    draw: &str,
    ids: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let hashed = |id: &'a str| {
        let hash = blake3::hash(format!("{seed} {claim} {draw} {id}").as_bytes());
        (*hash.as_bytes(), id)
    };
    let mut order: Vec<([u8; 32], &str)> = ids.into_iter().map(hashed).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, id)| id.to_owned()).collect()
}

/// Checks that a claim belongs to the run with this journal, seed and certified answers (in the order of their
/// certificates). `then` is how many answers were certified when the claim began, if known.
pub(crate) fn check(
    begun: &ClaimStarted,
    journal: &Path,
    seed: u64,
    certified: &[&str],
    then: Option<usize>,
) -> Result<(), String> {
    let number = begun.claim;
    if !begun.journal.begins(journal).unwrap_or(false) {
        return Err(format!(
            "claim {number} was begun with another journal, or with more of it than there is"
        ));
    }
    let size = begun.order.len();
    if let Some(then) = then.filter(|then| *then != size) {
        return Err(format!(
            "claim {number} is about {size} answers, but {then} were certified when it began"
        ));
    }
    let Some(certified) = certified.get(..size) else {
        let count = certified.len();
        return Err(format!("claim {number} is about {size} answers, but {count} are certified"));
    };
    let expected = drawn(seed, number, &begun.draw, certified.iter().copied());
    match begun.order.iter().zip(&expected).zip(1..).find(|((id, own), _)| id != own) {
        None => Ok(()),
        Some(((id, own), place)) => Err(format!(
            "the order of claim {number} is not the one of its draw and the certified answers: place {place} has {id:?}, and not {own:?}"
        )),
    }
}

/// How many answers were certified at some lengths of a journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertifiedAt(BTreeMap<u64, usize>);

impl CertifiedAt {
    /// Counts for the lengths of the journal at which these claims began, all 0 at first.
    pub(crate) fn new<'a>(claims: impl IntoIterator<Item = &'a ClaimStarted>) -> Self {
        Self(claims.into_iter().map(|begun| (begun.journal.bytes, 0)).collect())
    }

    /// Notes that `count` answers are certified when the journal has `bytes` bytes.
    pub(crate) fn note(&mut self, bytes: u64, count: usize) {
        self.0.range_mut(bytes..).for_each(|(_, at)| *at = count);
    }

    /// How many answers were certified when a claim began.
    pub(crate) fn get(&self, begun: &ClaimStarted) -> Option<usize> {
        self.0.get(&begun.journal.bytes).copied()
    }
}
