//! Checks that the token counts of a reply are possible. An impossible count becomes unknown, and the budget keeps
//! the ceiling of the call: a server that reports 0 must not get unlimited calls.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use goodarm_record::reply::{ServiceWarning, Usage};

use super::CHAT_OVERHEAD_TOKENS;

/// Checks token counts, and keeps a warning about the first impossible one.
#[derive(Debug, Default)]
pub(super) struct UsageCheck(OnceLock<ServiceWarning>);

impl UsageCheck {
    /// The usage without impossible counts. The messages bound the tokens of the prompt. The text, which may be
    /// empty, and `max_tokens` bound those of the reply.
    pub(super) fn believable(
        &self,
        usage: Usage,
        messages: [&str; 2],
        text: &str,
        max_tokens: Option<u32>,
    ) -> Usage {
        let bytes: usize = messages.iter().map(|message| message.len()).sum();
        let least: u64 = messages.iter().map(|message| tokens_min(message)).sum();
        let input = least.max(1)..=bytes as u64 + CHAT_OVERHEAD_TOKENS;
        let most = max_tokens.map_or(u64::MAX, u64::from);
        let output = tokens_min(text)..=most;
        Usage {
            input_tokens: self.within(&input, usage.input_tokens, "prompt"),
            output_tokens: self.within(&output, usage.output_tokens, "reply"),
            ..usage
        }
    }

    fn within(&self, range: &RangeInclusive<u64>, count: Option<u64>, of: &str) -> Option<u64> {
        let count = count?;
        if range.contains(&count) {
            return Some(count);
        }
        self.0.get_or_init(|| {
            let bound = if count < *range.start() {
                format!("at least {}", range.start())
            } else {
                format!("at most {}", range.end())
            };
            let text = format!(
                "it reports impossible token counts: {count} for a {of} of {bound}. Their bills are not known, and the budget keeps their ceilings."
            );
            ServiceWarning { weakens_promise: false, text }
        });
        None
    }

    /// A warning about the first impossible count.
    pub(super) fn warning(&self) -> Option<ServiceWarning> {
        self.0.get().cloned()
    }
}

/// The fewest tokens of a text. White space does not count: servers trim it.
fn tokens_min(text: &str) -> u64 {
    let bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count() as u64;
    bytes.div_ceil(TOKEN_BYTES_MAX)
}

/// The bytes of the longest tokens in common vocabularies, which are runs of one character. A token of words has four
/// bytes on average.
const TOKEN_BYTES_MAX: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    /// Which counts are believed of a prompt of 1,000 bytes, a reply and a limit.
    fn believed(input: u64, output: u64, text: &str, max_tokens: Option<u32>) -> (bool, bool) {
        let (system, prompt) = ("s".repeat(300), "p".repeat(700));
        let usage_check = UsageCheck::default();
        let usage =
            Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() };
        let usage = usage_check.believable(usage, [&system, &prompt], text, max_tokens);
        let found = (usage.input_tokens.is_some(), usage.output_tokens.is_some());
        assert_eq!(usage_check.warning().is_some(), found != (true, true));
        found
    }

    #[test]
    fn counts_that_no_text_can_have_are_unknown() {
        for (input, is_believed) in
            [(0, false), (8, false), (9, true), (250, true), (1256, true), (1257, false)]
        {
            assert_eq!(believed(input, 2, "Yes", Some(5)), (is_believed, true), "{input}");
        }
        for (output, is_believed) in [(0, false), (1, true), (5, true), (6, false)] {
            assert_eq!(believed(250, output, "Yes", Some(5)), (true, is_believed), "{output}");
        }
        assert_eq!(believed(250, 0, "", Some(5)), (true, true), "an empty reply");
        assert_eq!(believed(250, 9000, "Yes", None), (true, true), "a long thought");
        assert_eq!(believed(250, 7, &"=".repeat(1000), None), (true, false));
    }

    #[test]
    fn an_empty_prompt_has_a_token_and_white_space_may_have_none() {
        let count = |prompt: &str, input| {
            let usage = Usage { input_tokens: Some(input), ..Usage::default() };
            UsageCheck::default().believable(usage, ["", prompt], "", None).input_tokens
        };
        assert_eq!(count("", 0), None);
        assert_eq!(count(&" ".repeat(10_000), 1), Some(1));
    }
}
