//! A throttled call, with nothing else left to do.

use super::*;
use crate::throttle::throttled_calls::AttemptTracker;

/// Throttles the call once more, at its next turn.
async fn again(tracker: &mut AttemptTracker<'_>) -> Option<GiveUp> {
    let turn = tracker.turn().await.expect("nobody stops");
    turn.refused(VoidFailure::RateLimited, None, "429".into());
    tracker.throttled_again()
}

/// Throttles the call until it or the service is given up.
async fn until_given_up(throttle: &Throttle, tracker: &mut AttemptTracker<'_>) -> Option<GiveUp> {
    while !matches!(throttle.condition(), Condition::GivenUp { .. }) {
        if let Some(given_up) = again(tracker).await {
            return Some(given_up);
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_throttled_call_is_given_up_if_others_were_answered_meanwhile() {
    let throttle = Throttle::new(LIMITS);
    let on_answer = throttle.on_answer(ArmId(3));
    let mut tracker = on_answer.track_attempts();
    assert!(again(&mut tracker).await.is_none());
    turn(&throttle).await.record_reply();
    let given_up = until_given_up(&throttle, &mut tracker).await;
    let Some(GiveUp::Call(reason)) = given_up else { panic!("{given_up:?}") };
    assert!(reason.ends_with("and nothing else is left to do"), "{reason}");
    assert_eq!(throttle.condition(), Condition::Open, "the verifier is well");
    assert!(on_answer.is_refused());
}

#[tokio::test(start_paused = true)]
async fn a_throttled_call_is_not_given_up_if_no_other_was_answered_since() {
    let throttle = Throttle::new(LIMITS);
    turn(&throttle).await.record_reply();
    let on_answer = throttle.on_answer(ArmId(3));
    let mut tracker = on_answer.track_attempts();
    assert!(until_given_up(&throttle, &mut tracker).await.is_none());
}

/// The service is down, even if an earlier call was given up.
#[tokio::test(start_paused = true)]
async fn a_throttled_call_is_not_given_up_while_another_is_throttled() {
    let throttle = Throttle::new(LIMITS);
    let [one, other] = [3, 4].map(|answer| throttle.on_answer(ArmId(answer)));
    let (mut struck, mut fresh) = (one.track_attempts(), other.track_attempts());
    assert!(again(&mut struck).await.is_none());
    turn(&throttle).await.record_reply();
    assert!(again(&mut struck).await.is_none());
    assert!(again(&mut fresh).await.is_none());
    assert!(until_given_up(&throttle, &mut struck).await.is_none());
}

/// A call that waits for its turn may still be answered.
#[tokio::test(start_paused = true)]
async fn a_throttled_call_is_not_given_up_while_another_waits_to_be_sent() {
    let throttle = Throttle::new(LIMITS);
    let on_answer = throttle.on_answer(ArmId(3));
    throttle.begin().await;
    throttle.begin().await;
    let mut tracker = on_answer.track_attempts();
    assert!(again(&mut tracker).await.is_none());
    turn(&throttle).await.record_reply();
    assert!(until_given_up(&throttle, &mut tracker).await.is_none());
}
