//! Tests on a paused clock, which advances only while all tasks wait.

use std::future::poll_fn;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{advance, timeout};

use super::addresses::BREAKS_MAX;
use super::backoff::PAUSE_MAX;
use super::*;

mod alone;
mod spreading;

const LIMITS: CallLimits =
    CallLimits { concurrency: 4, rate: None, retries: None, patience: Duration::from_secs(60) };

const SHORT: Duration = Duration::from_millis(1);

async fn is_held_back(throttle: &Throttle) -> bool {
    timeout(SHORT, throttle.turn()).await.is_err()
}

async fn turn(throttle: &Throttle) -> Turn<'_> {
    throttle.turn().await.expect("no one stops it")
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_are_limited() {
    let throttle = Throttle::new(LIMITS);
    let mut turns = Vec::new();
    for _ in 0..4 {
        turns.push(turn(&throttle).await);
    }
    assert!(is_held_back(&throttle).await);
    turns.pop().expect("four are out").record_reply();
    assert!(!is_held_back(&throttle).await);
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_enforced() {
    let throttle = Throttle::new(CallLimits { rate: Some(10.0), ..LIMITS });
    let begin = Instant::now();
    for _ in 0..101 {
        turn(&throttle).await.record_reply();
    }
    let seconds = begin.elapsed().as_secs_f64();
    assert!((9.9..10.2).contains(&seconds), "100 requests after the first took {seconds} s");
}

/// The time of many calls that wait for their turns.
async fn seconds_of_many(throttle: Throttle, count: usize, latency: Duration) -> f64 {
    let throttle = Arc::new(throttle);
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let throttle = Arc::clone(&throttle);
        tasks.spawn(async move {
            let turn = turn(&throttle).await;
            tokio::time::sleep(latency).await;
            turn.record_reply();
        });
    }
    tasks.join_all().await;
    begin.elapsed().as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_start_as_soon_as_a_slot_is_free() {
    let second = Duration::from_secs(1);
    let seconds = seconds_of_many(Throttle::new(LIMITS), 40, second).await;
    assert!((10.0..10.1).contains(&seconds), "ten times four: {seconds} s");
    let limits = CallLimits { concurrency: 20, rate: Some(10.0), ..LIMITS };
    let seconds = seconds_of_many(Throttle::new(limits), 100, second).await;
    assert!((10.8..11.2).contains(&seconds), "ten a second, and the last: {seconds} s");
    let limits = CallLimits { concurrency: 2, rate: Some(10.0), ..LIMITS };
    let seconds = seconds_of_many(Throttle::new(limits), 20, second).await;
    assert!((10.0..10.3).contains(&seconds), "ten times two: {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn all_calls_continue_after_a_pause() {
    let throttle = Throttle::new(CallLimits { concurrency: 10, ..LIMITS });
    turn(&throttle).await.refused(VoidFailure::RateLimited, None, "429".into());
    // One request as a test, then five at once, and one more with each answer.
    let seconds = seconds_of_many(throttle, 30, Duration::from_secs(1)).await;
    assert!((4.0..7.5).contains(&seconds), "{seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_pause_does_not_allow_a_burst() {
    let throttle = Throttle::new(CallLimits { rate: Some(10.0), ..LIMITS });
    turn(&throttle).await.record_reply();
    advance(Duration::from_secs(30)).await;
    let begin = Instant::now();
    for _ in 0..11 {
        turn(&throttle).await.record_reply();
    }
    assert!(begin.elapsed() > Duration::from_millis(900), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_429_halves_the_requests_in_flight_and_answers_restore_them() {
    let throttle = Throttle::new(LIMITS);
    let refused = turn(&throttle).await;
    refused.refused(VoidFailure::RateLimited, None, "429".into());
    assert!(matches!(throttle.condition(), Condition::BackingOff { .. }));
    assert!(is_held_back(&throttle).await, "it waits first");
    // One request tests whether the pause is over.
    let first = turn(&throttle).await;
    assert!(is_held_back(&throttle).await);
    first.record_reply();
    assert_eq!(throttle.condition(), Condition::Open);
    let two = [turn(&throttle).await, turn(&throttle).await];
    assert!(is_held_back(&throttle).await, "half of four");
    two.into_iter().for_each(Turn::record_reply);
    for _ in 0..6 {
        turn(&throttle).await.record_reply();
    }
    let _four = [
        turn(&throttle).await,
        turn(&throttle).await,
        turn(&throttle).await,
        turn(&throttle).await,
    ];
    assert_eq!(throttle.retry_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_requested_pause_is_kept() {
    let throttle = Throttle::new(LIMITS);
    let wait = Duration::from_secs(7);
    turn(&throttle).await.refused(VoidFailure::RateLimited, Some(wait), "429".into());
    let begin = Instant::now();
    turn(&throttle).await.record_reply();
    assert!(begin.elapsed() >= wait && begin.elapsed() < wait * 2, "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_requested_pause_is_limited() {
    let throttle = Throttle::new(LIMITS);
    let wait = Duration::from_secs(1_000_000);
    turn(&throttle).await.refused(VoidFailure::RateLimited, Some(wait), "429".into());
    assert!(timeout(PAUSE_MAX + SHORT, throttle.turn()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_while_no_request_is_answered() {
    let throttle = Throttle::new(LIMITS);
    let mut waits = Vec::new();
    for _ in 0..4 {
        let begin = Instant::now();
        turn(&throttle).await.refused(VoidFailure::NotConnected, None, "refused".into());
        waits.push(begin.elapsed());
    }
    assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "{waits:?}");
    assert!(matches!(throttle.condition(), Condition::Down { .. }));
    advance(LIMITS.patience).await;
    assert!(matches!(throttle.condition(), Condition::GivenUp { .. }));
}

#[tokio::test(start_paused = true)]
async fn several_breaks_in_a_row_close_the_throttle_and_one_answer_opens_it() {
    let throttle = Throttle::new(LIMITS);
    for _ in 1..BREAKS_MAX {
        turn(&throttle).await.record_broken("500");
    }
    turn(&throttle).await.record_reply();
    for _ in 1..BREAKS_MAX {
        turn(&throttle).await.record_broken("500");
    }
    assert_eq!(throttle.condition(), Condition::Open, "an answer in between");
    turn(&throttle).await.record_broken("500");
    assert!(matches!(throttle.condition(), Condition::Down { reason, .. } if reason == "500"));
    turn(&throttle).await.record_reply();
    assert_eq!(throttle.condition(), Condition::Open);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_when_the_run_stops_gets_no_turn() {
    let throttle = Throttle::new(CallLimits { concurrency: 1, ..LIMITS });
    let out = turn(&throttle).await;
    let (waited, ()) = tokio::join!(throttle.turn(), async { throttle.stop() });
    assert!(waited.is_err());
    drop(out);
    assert!(throttle.turn().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_trial_has_few_calls_and_ends_after_few_failures() {
    let throttle = Throttle::new(CallLimits { concurrency: 64, ..LIMITS }).on_trial();
    for _ in 0..5 {
        throttle.begin().await;
    }
    assert!(timeout(SHORT, throttle.begin()).await.is_err(), "a sixth waits");
    throttle.record_not_made();
    throttle.begin().await;
    for _ in 0..5 {
        throttle.record_no_score("no score");
    }
    assert_eq!(throttle.condition(), Condition::NeverScored { reason: "no score".into() });
    assert!(throttle.turn().await.is_err(), "nothing more is sent");
    assert!(timeout(SHORT, throttle.begin()).await.is_err());
    throttle.stop();
    throttle.begin().await;
}

#[tokio::test(start_paused = true)]
async fn a_trial_does_not_wait_long_for_a_missing_server() {
    let throttle = Throttle::new(LIMITS).on_trial();
    let begin = Instant::now();
    for _ in 0..5 {
        turn(&throttle).await.refused(VoidFailure::NotConnected, None, "401".into());
    }
    assert_eq!(throttle.condition(), Condition::NeverScored { reason: "401".into() });
    assert_eq!(throttle.final_reason().as_deref(), Some("401"));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(throttle.turn().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_or_loading_or_has_worked_is_waited_for() {
    let loading = Some(Duration::ZERO);
    for (failure, retry_after) in
        [(VoidFailure::RateLimited, None), (VoidFailure::NotConnected, loading)]
    {
        let throttle = Throttle::new(LIMITS).on_trial();
        for _ in 0..6 {
            turn(&throttle).await.refused(failure, retry_after, "wait".into());
        }
        assert_eq!(throttle.final_reason(), None);
    }
    let throttle = Throttle::new(LIMITS).on_trial();
    throttle.record_score();
    for _ in 0..6 {
        turn(&throttle).await.refused(VoidFailure::NotConnected, None, "401".into());
    }
    assert!(matches!(throttle.condition(), Condition::Down { .. }));
}

/// Later results do not undo the end of a service.
#[tokio::test(start_paused = true)]
async fn a_mistrusted_service_stays_mistrusted() {
    let throttle = Throttle::new(LIMITS);
    let (first, second) = (turn(&throttle).await, turn(&throttle).await);
    first.close_unmatched_output("two lines".into());
    second.refused(VoidFailure::NotConnected, None, "gone".into());
    throttle.record_score();
    assert_eq!(throttle.condition(), Condition::Mistrusted { reason: "two lines".into() });
    let throttle = Throttle::new(LIMITS).on_trial();
    turn(&throttle).await.close_unmatched_output("two lines".into());
    assert!(matches!(throttle.condition(), Condition::NeverScored { .. }));
}

#[tokio::test(start_paused = true)]
async fn one_score_ends_the_trial() {
    let throttle = Throttle::new(CallLimits { concurrency: 64, ..LIMITS }).on_trial();
    for _ in 0..4 {
        throttle.begin().await;
        throttle.record_no_score("no score");
    }
    throttle.begin().await;
    throttle.record_score();
    for _ in 0..64 {
        throttle.begin().await;
    }
    for _ in 0..19 {
        throttle.record_no_score("no score");
    }
    assert_eq!(throttle.condition(), Condition::Open);
}

/// The server is up, but its answers have no scores any more.
#[tokio::test(start_paused = true)]
async fn answers_without_scores_close_the_throttle_until_the_next_score() {
    let throttle = Throttle::new(LIMITS);
    throttle.record_score();
    for _ in 0..20 {
        turn(&throttle).await.record_reply();
        throttle.record_no_score("no score");
    }
    assert!(matches!(throttle.condition(), Condition::Down { .. }));
    assert!(is_held_back(&throttle).await);
    advance(Duration::from_secs(1)).await;
    let probe = turn(&throttle).await;
    assert!(is_held_back(&throttle).await, "one at a time finds out");
    probe.record_reply();
    assert!(matches!(throttle.condition(), Condition::Down { .. }), "an answer is not a score");
    throttle.record_score();
    assert_eq!(throttle.condition(), Condition::Open);
    assert!(!is_held_back(&throttle).await);
}

/// A call that the trial holds back must not take the wake-up of a request.
#[tokio::test]
async fn a_held_call_takes_no_wakeup_from_a_request() {
    let limits =
        CallLimits { concurrency: 1, rate: None, retries: None, patience: Duration::from_secs(9) };
    let throttle = std::sync::Arc::new(Throttle::new(limits).on_trial());
    for _ in 0..UNSCORED_ON_TRIAL_MAX {
        throttle.begin().await;
    }
    let turn = throttle.turn().await.unwrap();
    let held = std::sync::Arc::clone(&throttle);
    let held = tokio::spawn(async move { held.begin().await });
    tokio::task::yield_now().await;
    let waits = std::sync::Arc::clone(&throttle);
    let waits = tokio::spawn(async move { waits.turn().await.map(|turn| turn.record_reply()) });
    tokio::task::yield_now().await;
    turn.record_reply();
    let came = tokio::time::timeout(Duration::from_secs(2), waits).await;
    held.abort();
    assert!(came.is_ok(), "nothing is out, and the request waits for ever");
}

/// If each turn woke all of them, tens of thousands of calls would block each other.
#[tokio::test(start_paused = true)]
async fn waiting_calls_do_not_wake_each_other() {
    let limits = CallLimits { concurrency: 4000, rate: Some(1000.0), ..LIMITS };
    let throttle = Arc::new(Throttle::new(limits));
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..2000 {
        let throttle = Arc::clone(&throttle);
        tasks.spawn(async move {
            let mut look_count = 0;
            let mut waiting = pin!(throttle.turn());
            let turn = poll_fn(|context| {
                look_count += 1;
                waiting.as_mut().poll(context)
            });
            turn.await.expect("no one stops it").record_reply();
            look_count
        });
    }
    let look_count: usize = tasks.join_all().await.into_iter().sum();
    assert!(look_count < 10 * 2000, "{look_count} looks for 2000 turns");
    let seconds = begin.elapsed().as_secs_f64();
    assert!((1.9..2.1).contains(&seconds), "a thousand a second: {seconds} s");
}
