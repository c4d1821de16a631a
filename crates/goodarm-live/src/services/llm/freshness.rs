//! Detects cached replies. A cached reply is not new evidence, but looks like it.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// The last replies, as hashes.
#[derive(Debug, Default)]
pub(super) struct Freshness {
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// Hashes of the id of the candidate and of the text of the reply; the latest is last.
    replies: VecDeque<(u64, u64)>,
    ids: VecDeque<u64>,
    /// The first sign of a cache, as a warning for people.
    found: Option<String>,
}

impl Freshness {
    /// A warning about the first sign that replies come from a cache.
    pub(super) fn warning(&self) -> Option<String> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).found.clone()
    }

    /// Adds a reply, and looks for signs of a cache.
    pub(super) fn note(&self, candidate: &str, id: &str, text: &str) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.found.is_some() {
            return;
        }
        // Short ids repeat by chance, so they are not compared.
        if id.len() >= ID_BYTES_MIN {
            let hash = hash(id);
            if recent.ids.contains(&hash) {
                let id: String = id.chars().take(ID_CHARS_MAX).collect();
                recent.found = Some(format!("two replies with the same id {id}: {CACHE}"));
            }
            remember(&mut recent.ids, hash, IDS_MAX);
        }
        let entry = (hash(candidate), hash(text));
        remember(&mut recent.replies, entry, REPLIES_MAX);
        // Short replies, such as yes, are often equal without a cache. But a short one between equal long ones ends
        // the row.
        if text.len() > REPLY_BYTES_MIN {
            let own = recent.replies.iter().rev().filter(|(whose, _)| *whose == entry.0);
            let count = own.take_while(|reply| **reply == entry).count();
            if count >= IN_A_ROW {
                recent.found =
                    Some(format!("{count} identical replies to candidate {candidate}: {CACHE}"));
            }
        }
    }
}

fn remember<T>(queue: &mut VecDeque<T>, entry: T, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(entry);
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

const CACHE: &str = "is there a cache in between? \
                     Repeats are not evidence, and certificates from them may be wrong";
const REPLIES_MAX: usize = 64;
const REPLY_BYTES_MIN: usize = 40;
const IN_A_ROW: usize = 3;
const IDS_MAX: usize = 64;
/// Ids of OpenAI, vLLM and llama.cpp have at least 32 characters; those of Ollama have three random digits.
const ID_BYTES_MIN: usize = 20;
const ID_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "The answer is right because two and two are four.";

    #[test]
    fn three_identical_long_replies_to_one_candidate_are_a_sign() {
        let freshness = Freshness::default();
        for other in ["b", "c"] {
            freshness.note("a", "", LONG);
            freshness.note(other, "", LONG);
        }
        assert_eq!(freshness.warning(), None);
        freshness.note("a", "", LONG);
        let warning = freshness.warning().expect("three in a row");
        assert!(warning.starts_with("3 identical replies to candidate a:"), "{warning}");
    }

    #[test]
    fn another_reply_in_between_is_no_sign() {
        for other in ["It is wrong, since the sum of the parts is not the whole.", "No."] {
            let freshness = Freshness::default();
            for _ in 0..3 {
                freshness.note("a", "", LONG);
                freshness.note("a", "", LONG);
                freshness.note("a", "", other);
            }
            assert_eq!(freshness.warning(), None, "{other}");
        }
    }

    #[test]
    fn short_replies_repeat_by_nature_but_long_ids_do_not() {
        let freshness = Freshness::default();
        for _ in 0..10 {
            freshness.note("a", "chatcmpl-7", "Yes");
        }
        assert_eq!(freshness.warning(), None);
        freshness.note("a", "chatcmpl-0123456789abcdef", "Yes");
        freshness.note("b", "chatcmpl-0123456789abcdef", "No");
        let warning = freshness.warning().expect("the same id twice");
        assert!(warning.contains("is there a cache"), "{warning}");
    }
}
