//! Claims that are begun again and again, by somebody who knows the truth and shows whichever looks best.

use super::labelled::Claims;
use super::line::{CardLabel, ClaimStarted, LabelLine, LabelsAdded};
use super::order;
use crate::card_queue::CardReply;
use crate::journal::Mark;
use crate::view::ClaimView;

const SIZE: usize = 40;
/// One fewer than is claimed.
const RIGHT: usize = 35;
const DELTA: f64 = 0.2;
const TRIALS: usize = 1000;
/// A claim after which another is begun, at most.
const CLAIMS: usize = 5;

fn begun(claim: usize, delta: f64, draw: &str) -> ClaimStarted {
    let ids: Vec<String> = (0..SIZE).map(|id| id.to_string()).collect();
    ClaimStarted {
        claim,
        delta,
        labels_per_card: 1,
        journal: Mark { bytes: 0, blake3: String::new() },
        draw: draw.to_owned(),
        order: order::drawn(7, claim, draw, ids.iter().map(String::as_str)),
        unix_millis: 0,
    }
}

/// Labels the next card truly.
fn label(claims: &mut Claims) -> bool {
    let last = claims.claims.last().expect("a claim");
    let Some(place) = last.upcoming("Ann").next() else { return false };
    let key = last.id(place).to_owned();
    let is_right = key.parse::<usize>().expect("a number") < RIGHT;
    let said = if is_right { CardReply::Right } else { CardReply::Wrong };
    let labels = vec![CardLabel { key, said }];
    let line = LabelsAdded { by: "Ann".into(), unix_millis: 0, labels };
    claims.take(&LabelLine::Added(line)).expect("it is next");
    true
}

/// Whether one of the statements is false.
fn is_false(claims: &Claims) -> bool {
    let view = ClaimView::new(claims, SIZE).expect("a claim");
    view.earlier.iter().chain([&view]).any(|claim| claim.at_least > RIGHT)
}

/// Whether a false statement is ever made: claims are abandoned after the second wrong label, which seldom leads to
/// a false statement, and begun again, with the deltas that `delta` gives to each.
fn deceives(
    trial: usize,
    start: impl Fn(&mut Claims, ClaimStarted),
    delta: impl Fn(usize) -> f64,
) -> bool {
    let mut claims = Claims::default();
    for number in 1..=CLAIMS {
        let begun = begun(number, delta(number), &format!("{trial} {number}"));
        start(&mut claims, begun);
        loop {
            if is_false(&claims) {
                return true;
            }
            let wrong = claims.claims.last().expect("a claim").verdicts();
            let wrong = wrong.filter(|it| *it == CardReply::Wrong).count();
            if (wrong > 1 && number < CLAIMS) || !label(&mut claims) {
                break;
            }
        }
    }
    false
}

fn errors(start: impl Fn(&mut Claims, ClaimStarted), delta: impl Fn(usize) -> f64) -> f64 {
    let count = (0..TRIALS).filter(|trial| deceives(*trial, &start, &delta)).count();
    f64::from(u32::try_from(count).expect("few")) / f64::from(u32::try_from(TRIALS).expect("few"))
}

fn halved(number: usize) -> f64 {
    DELTA / f64::from(1_u32 << (number - 1))
}

/// All deltas together, and four standard deviations of the count.
fn limit() -> f64 {
    let sum: f64 = (1..=CLAIMS).map(halved).sum();
    sum + 4.0 * (sum * (1.0 - sum) / 1000.0).sqrt()
}

#[test]
fn claims_begun_again_and_again_are_false_with_all_their_deltas_at_most() {
    let take = |claims: &mut Claims, begun: ClaimStarted| {
        claims.take(&LabelLine::Started(begun)).expect("half the delta");
    };
    let errors = errors(take, halved);
    assert!(errors <= limit(), "{errors}");
    // Without this it would also hold for claims that are never made.
    assert!(errors > 0.3 * DELTA, "{errors}");
}

/// The wrong twin: each claim at the same delta, with labels of its own.
#[test]
fn another_claim_at_the_same_delta_breaks_it() {
    let take = |claims: &mut Claims, begun: ClaimStarted| {
        *claims = Claims::default();
        claims.take(&LabelLine::Started(ClaimStarted { claim: 1, ..begun })).expect("the first");
    };
    let errors = errors(take, |_| DELTA);
    assert!(errors > limit(), "{errors}");
}

/// The wrong twin: labels of earlier claims come first, the right ones before the wrong ones.
#[test]
fn known_labels_that_do_not_wait_for_their_turn_break_it() {
    let take = |claims: &mut Claims, mut begun: ClaimStarted| {
        if let Some(last) = claims.claims.last() {
            let said = |id: &String| {
                let place = (0..SIZE).find(|place| last.id(*place) == id).expect("the same set");
                last.said("Ann", place).cloned()
            };
            let rank = |id: &String| match said(id) {
                Some(CardReply::Right) => 0,
                Some(_) => 2,
                None => 1,
            };
            begun.order.sort_by_key(rank);
        }
        claims.take(&LabelLine::Started(begun)).expect("half the delta");
    };
    let errors = errors(take, halved);
    assert!(errors > limit(), "{errors}");
}
