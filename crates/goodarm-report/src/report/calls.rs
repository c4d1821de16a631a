//! The calls that a page shows, kept while the journal is read. The limit per row is known only at the end, but
//! it can only fall while reading: calls above the present limit are dropped on the way, so that memory is
//! bounded for a journal of any length.

use goodarm_core::ArmId;
use goodarm_record::history::JournalEntry;
use serde::Serialize;

use super::cut::LengthCounts;
use super::rows::{CallRow, call_row};

/// The limits of a page, which the page shows to its readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PageLimits {
    /// The most bytes of a field.
    pub(super) field_bytes: usize,
    /// The most bytes of a reply.
    pub(super) reply_bytes: usize,
    /// The most calls of a row, which is an answer, or a question with its answers.
    pub(super) calls: usize,
}

/// The first calls of each row: of an answer, or of a question with its answers.
#[derive(Clone)]
pub(super) struct KeptCalls {
    /// The kept calls of each row, each with its answer if it is about one.
    rows: Vec<Vec<(Option<ArmId>, CallRow)>>,
    /// The number of calls of each row, including calls that are not kept.
    counts: Vec<u32>,
    /// The number of calls of a row that are kept.
    row_max: usize,
    /// The bytes of a reply that are kept.
    reply_bytes_max: usize,
    kept_count: u64,
    kept_bytes: u64,
}

/// A call, and the data for its row in the page.
#[derive(Clone, Copy)]
pub(super) struct CallEntry<'a> {
    pub(super) entry: &'a JournalEntry<'a>,
    /// The index of its answer, or of its question.
    pub(super) row: usize,
    /// The start of the run.
    pub(super) started_millis: u64,
    pub(super) criterion_count: usize,
}

impl KeptCalls {
    /// Keeps as many calls as a page can show.
    pub(super) const fn for_page() -> Self {
        Self::within(CALLS_OF_ROW_MAX, REPLY_BYTES_MAX)
    }

    /// Keeps no calls, because there will be no page.
    pub(super) const fn none() -> Self {
        Self::within(0, 0)
    }

    pub(super) const fn within(row_max: usize, reply_bytes_max: usize) -> Self {
        Self {
            rows: Vec::new(),
            counts: Vec::new(),
            row_max,
            reply_bytes_max,
            kept_count: 0,
            kept_bytes: 0,
        }
    }

    /// Adds a call; `replies` are the lengths of all replies so far.
    pub(super) fn take(&mut self, call: CallEntry<'_>, replies: &LengthCounts) {
        let CallEntry { entry, row, started_millis, criterion_count } = call;
        if self.row_max == 0 {
            return;
        }
        if row >= self.rows.len() {
            self.rows.resize_with(row + 1, Vec::new);
            self.counts.resize(row + 1, 0);
        }
        self.counts[row] += 1;
        if self.rows[row].len() >= self.row_max {
            return;
        }
        let line = call_row(entry, criterion_count, started_millis, self.reply_bytes_max);
        let Some(line) = line else { return };
        self.kept_count += 1;
        self.kept_bytes += line.reply_bytes();
        let about = entry.call.as_ref().and_then(|call| call.arm());
        self.rows[row].push((about, line));
        self.make_room(replies);
    }

    /// Drops calls and cuts replies above the present limits. This is rare, because half as much again is allowed.
    fn make_room(&mut self, replies: &LengthCounts) {
        if self.kept_count > CALLS_TOTAL + CALLS_TOTAL / 2 {
            let mut counts = LengthCounts::new(self.row_max);
            self.counts.iter().for_each(|&count| counts.take(count as usize));
            self.row_max = counts.limit(CALLS_TOTAL);
            self.rows.iter_mut().for_each(|calls| calls.truncate(self.row_max));
            self.count_kept();
        }
        if self.kept_bytes > REPLIES_BYTES_TOTAL + REPLIES_BYTES_TOTAL / 2 {
            self.reply_bytes_max = replies.limit(REPLIES_BYTES_TOTAL);
            let lines = self.rows.iter_mut().flatten();
            lines.for_each(|(_, line)| line.shorten(self.reply_bytes_max));
            self.count_kept();
        }
    }

    fn count_kept(&mut self) {
        self.kept_count = self.rows.iter().map(|calls| calls.len() as u64).sum();
        self.kept_bytes = self.rows.iter().flatten().map(|(_, line)| line.reply_bytes()).sum();
    }

    /// Whether all calls within these limits were kept. They were not if the page leaves rows out: the calls of those
    /// rows have lowered the limit at which calls were kept.
    pub(super) const fn are_enough(&self, limits: &PageLimits) -> bool {
        limits.calls <= self.row_max && limits.reply_bytes <= self.reply_bytes_max
    }

    /// The calls of a row, within the limits.
    pub(super) fn of_row(&self, row: u32, limits: &PageLimits) -> Vec<(Option<ArmId>, CallRow)> {
        let kept = self.rows.get(row as usize).map_or(&[][..], Vec::as_slice);
        let mut kept = kept[..kept.len().min(limits.calls)].to_vec();
        kept.iter_mut().for_each(|(_, line)| line.shorten(limits.reply_bytes));
        kept
    }
}

/// The most bytes that are kept of a reply.
pub(super) const REPLY_BYTES_MAX: usize = 8_000;
pub(super) const REPLIES_BYTES_TOTAL: u64 = 16 << 20;
pub(super) const CALLS_OF_ROW_MAX: usize = 5_000;
pub(super) const CALLS_TOTAL: u64 = 500_000;

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use goodarm_core::{AttributeId, Bill, Event, Outcome, Target, Ticket};
    use goodarm_record::history::SettledCall;
    use goodarm_record::journal::Note;

    use super::*;

    /// Takes `count` calls of a row, each with a reply of `reply` bytes.
    fn take(
        calls: &mut KeptCalls,
        replies: &mut LengthCounts,
        row: u32,
        [count, reply]: [usize; 2],
    ) {
        let note = Note { reply: Cow::Owned("é".repeat(reply / 2)), ..Note::default() };
        let target = Target::Arm(ArmId(row), AttributeId(0));
        let (ticket, outcome, bill) = (Ticket(0), Outcome::Score(1.0), Bill::ZERO);
        let event = Event::Settled { ticket, outcome: outcome.clone(), bill };
        let call = Some(SettledCall { ticket, target, outcome, bill, note });
        let (loan, candidates) = (None, None);
        let entry =
            JournalEntry { index: 0, unix_millis: 0, event, call, asked: 0, loan, candidates };
        for _ in 0..count {
            replies.take(reply);
            let row = row as usize;
            let call = CallEntry { entry: &entry, row, started_millis: 0, criterion_count: 1 };
            calls.take(call, replies);
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_enough_for_all_rows_at_the_end() {
        let (mut calls, mut replies) = (KeptCalls::for_page(), LengthCounts::new(REPLY_BYTES_MAX));
        let counts: Vec<usize> = (0..1500).map(|row| 1 + row * 7 % 2000).collect();
        for (row, &count) in (0..).zip(&counts) {
            take(&mut calls, &mut replies, row, [count, 40 + row as usize % 50]);
            assert!(calls.kept_count <= CALLS_TOTAL + CALLS_TOTAL / 2);
            assert!(calls.kept_bytes <= REPLIES_BYTES_TOTAL + REPLIES_BYTES_TOTAL / 2);
        }
        let mut lengths = LengthCounts::new(CALLS_OF_ROW_MAX);
        counts.iter().for_each(|&count| lengths.take(count));
        let limits = PageLimits {
            field_bytes: 0,
            reply_bytes: replies.limit(REPLIES_BYTES_TOTAL),
            calls: lengths.limit(CALLS_TOTAL),
        };
        assert!(calls.row_max < 2000 && calls.reply_bytes_max < 89, "some were dropped");
        assert!(calls.are_enough(&limits));
        // As if they had been taken within the limits.
        let mut expected = KeptCalls::within(limits.calls, limits.reply_bytes);
        for (row, &count) in (0..).zip(&counts) {
            take(&mut expected, &mut replies, row, [count, 40 + row as usize % 50]);
        }
        let json = |calls: &KeptCalls, row| {
            let kept = calls.of_row(row, &limits);
            let lines: Vec<_> = kept.iter().map(|(_, line)| line).collect();
            serde_json::to_string(&lines).unwrap()
        };
        for row in [0, 1, 284, 285, 286, 700, 1499] {
            assert_eq!(json(&calls, row), json(&expected, row), "{row}");
        }
    }

    #[test]
    fn a_page_that_leaves_rows_out_has_room_for_more_than_is_kept() {
        let (mut calls, mut replies) = (KeptCalls::for_page(), LengthCounts::new(REPLY_BYTES_MAX));
        for row in 0..200 {
            take(&mut calls, &mut replies, row, [4000, 0]);
        }
        let limits = PageLimits { field_bytes: 0, reply_bytes: 0, calls: 4000 };
        assert!(!calls.are_enough(&limits));
        assert!(!KeptCalls::none().are_enough(&limits));
    }
}
