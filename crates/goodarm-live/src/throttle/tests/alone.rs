//! A call that is turned away, and nothing else is left to do.

use super::*;
use crate::throttle::throttled_calls::AttemptTracker;

/// Turned away once more, at its next turn.
async fn again(tracker: &mut AttemptTracker<'_>) -> Option<GiveUp> {
    let turn = tracker.turn().await.expect("nobody stops");
    turn.refused(VoidFailure::RateLimited, None, "429".into());
    tracker.throttled_again()
}

/// Tries until it is given up, or the verifier is; says what was said of the call.
async fn until_given_up(throttle: &Throttle, tracker: &mut AttemptTracker<'_>) -> Option<GiveUp> {
    while !matches!(throttle.condition(), Condition::GivenUp { .. }) {
        if let Some(given_up) = again(tracker).await {
            return Some(given_up);
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn it_is_given_up_if_others_were_answered_beside_it() {
    let throttle = Throttle::new(LIMITS);
    let on_answer = throttle.on_answer(ArmId(3));
    let mut tracker = on_answer.track_attempts();
    assert!(again(&mut tracker).await.is_none());
    turn(&throttle).await.answered();
    let given_up = until_given_up(&throttle, &mut tracker).await;
    let Some(GiveUp::Call(reason)) = given_up else { panic!("{given_up:?}") };
    assert!(reason.ends_with("and nothing else is left to do"), "{reason}");
    assert_eq!(throttle.condition(), Condition::Open, "the verifier is well");
    assert!(on_answer.is_refused());
}

#[tokio::test(start_paused = true)]
async fn nobody_can_tell_if_no_other_was_answered_since() {
    let throttle = Throttle::new(LIMITS);
    turn(&throttle).await.answered();
    let on_answer = throttle.on_answer(ArmId(3));
    let mut tracker = on_answer.track_attempts();
    assert!(until_given_up(&throttle, &mut tracker).await.is_none());
}

/// Then the verifier is down, whatever became of the one before.
#[tokio::test(start_paused = true)]
async fn it_is_not_given_up_while_another_is_turned_away_like_it() {
    let throttle = Throttle::new(LIMITS);
    let [one, other] = [3, 4].map(|answer| throttle.on_answer(ArmId(answer)));
    let (mut struck, mut fresh) = (one.track_attempts(), other.track_attempts());
    assert!(again(&mut struck).await.is_none());
    turn(&throttle).await.answered();
    assert!(again(&mut struck).await.is_none());
    assert!(again(&mut fresh).await.is_none());
    assert!(until_given_up(&throttle, &mut struck).await.is_none());
}

/// One that has begun and waits for its turn may still be answered.
#[tokio::test(start_paused = true)]
async fn it_is_not_given_up_while_another_has_yet_to_be_sent() {
    let throttle = Throttle::new(LIMITS);
    let on_answer = throttle.on_answer(ArmId(3));
    throttle.begin().await;
    throttle.begin().await;
    let mut tracker = on_answer.track_attempts();
    assert!(again(&mut tracker).await.is_none());
    turn(&throttle).await.answered();
    assert!(until_given_up(&throttle, &mut tracker).await.is_none());
}
