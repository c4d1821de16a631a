//! Readers of a run's files, for the fuzz targets only: not a stable interface.

use std::path::Path;

use crate::card_queue::ReplyForm;
use crate::claims::labelled::Claims;
use crate::claims::line::LabelLine;
use crate::people::{ReplyLine, verdict};
use crate::reply::Verdict;
use crate::sealed_lines::{SealedError, SealedReader};
use crate::view::ClaimView;

/// The number of people's replies in a file; each is interpreted in every form of reply.
pub fn replies_at(path: &Path) -> Result<usize, SealedError> {
    let lines = SealedReader::<ReplyLine>::new(path).read_on()?;
    let given = lines.iter().filter_map(|line| match line {
        ReplyLine::Opened(_) => None,
        ReplyLine::Given(given) => Some(&given.replies),
    });
    let replies: Vec<_> = given.flatten().collect();
    let score = ReplyForm::Score { lowest: 0.0, highest: 1.0 };
    for reply in &replies {
        for wanted in [ReplyForm::Verdict, score, ReplyForm::Answer] {
            if let Verdict::Score(score) = verdict(wanted, Some(100), &reply.said) {
                assert!((0.0..=1.0).contains(&score), "{score}");
            }
        }
    }
    Ok(replies.len())
}

/// The claim of lines of labels, without their checksums, up to the first invalid one.
pub fn claimed_in(lines: &[u8]) -> Option<ClaimView> {
    let mut labels = Claims::default();
    for bytes in lines.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<LabelLine>(bytes) else { break };
        let text = serde_json::to_string(&line).expect("plain data with text keys");
        let again: LabelLine = serde_json::from_str(&text).expect("what was written can be read");
        assert_eq!(again, line, "a line is written as it was read");
        let is_right = labels.check(&line).is_ok();
        assert_eq!(labels.take(&line).is_ok(), is_right, "what is checked is taken");
        if !is_right {
            break;
        }
    }
    ClaimView::new(&labels, 0)
}
