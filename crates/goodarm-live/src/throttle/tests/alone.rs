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

const HOUR: Option<Duration> = Some(Duration::from_secs(3600));

async fn ask_for_an_hour(throttle: &Throttle) {
    turn(throttle).await.refused(VoidFailure::RateLimited, HOUR, "429".into());
}

/// The time until a request may be sent.
async fn pause(throttle: &Throttle) -> Duration {
    let begin = Instant::now();
    drop(turn(throttle).await);
    begin.elapsed()
}

/// Calls on other answers show in time whether the pause is for all of them.
#[tokio::test(start_paused = true)]
async fn a_pause_that_is_longer_than_the_patience_is_tested_several_times() {
    let throttle = Throttle::new(LIMITS);
    let begin = Instant::now();
    let mut count = 0;
    while !matches!(throttle.condition(), Condition::GivenUp { .. }) {
        ask_for_an_hour(&throttle).await;
        count += 1;
    }
    assert!((8..=10).contains(&count), "{count} requests in {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_first_long_pause_after_a_reply_is_tested_soon() {
    let throttle = Throttle::new(CallLimits { patience: Duration::from_secs(300), ..LIMITS });
    turn(&throttle).await.record_reply();
    ask_for_an_hour(&throttle).await;
    let first = pause(&throttle).await;
    assert_eq!(first.as_secs(), 5, "the cause may be this answer");
    ask_for_an_hour(&throttle).await;
    let second = pause(&throttle).await;
    assert_eq!(second.as_secs(), 300 / 8, "another one was throttled, too");
}

/// Throttles the call once more, at its next turn, and asks for an hour. Returns the pause.
async fn pause_after(throttle: &Throttle, tracker: &mut AttemptTracker<'_>) -> Duration {
    let turn = tracker.turn().await.expect("nobody stops");
    turn.refused(VoidFailure::RateLimited, tracker.believed(HOUR), "429".into());
    assert!(tracker.throttled_again().is_none());
    pause(throttle).await
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_throttled_alone_pauses_the_others_only_shortly() {
    let throttle = Throttle::new(LIMITS);
    let on_answer = throttle.on_answer(ArmId(3));
    let mut tracker = on_answer.track_attempts();
    assert!(pause_after(&throttle, &mut tracker).await > Duration::from_secs(5));
    turn(&throttle).await.record_reply();
    assert!(pause_after(&throttle, &mut tracker).await < Duration::from_secs(1));
}

/// A throttled call that gets through shows that the server is only busy: what it asks for is kept.
#[tokio::test(start_paused = true)]
async fn a_busy_server_gets_the_pause_that_it_asks_for() {
    let throttle = Throttle::new(LIMITS);
    let [one, other] = [3, 4].map(|answer| throttle.on_answer(ArmId(answer)));
    let (mut first, mut second) = (one.track_attempts(), other.track_attempts());
    pause_after(&throttle, &mut first).await;
    pause_after(&throttle, &mut second).await;
    let through = second.turn().await.expect("nobody stops");
    second.got_through(&through);
    through.record_reply();
    assert!(pause_after(&throttle, &mut first).await >= Duration::from_secs(5));
}
