//! Time stands still in these tests unless everybody waits.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{advance, timeout};

use super::*;

const LIMITS: Limits =
    Limits { concurrency: 4, rate: None, retries: None, patience: Duration::from_secs(60) };

const SHORT: Duration = Duration::from_millis(1);

async fn is_held_back(line: &Line) -> bool {
    timeout(SHORT, line.turn()).await.is_err()
}

async fn turn(line: &Line) -> Turn<'_> {
    line.turn().await.expect("nobody stops the line")
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_out_than_allowed() {
    let line = Line::new(LIMITS);
    let mut turns = Vec::new();
    for _ in 0..4 {
        turns.push(turn(&line).await);
    }
    assert!(is_held_back(&line).await);
    turns.pop().expect("four are out").answered();
    assert!(!is_held_back(&line).await);
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_kept_to() {
    let line = Line::new(Limits { rate: Some(10.0), ..LIMITS });
    let begin = Instant::now();
    for _ in 0..101 {
        turn(&line).await.answered();
    }
    let seconds = begin.elapsed().as_secs_f64();
    assert!((9.9..10.2).contains(&seconds), "100 requests after the first took {seconds} s");
}

/// Many wait, and none sleeps while it could go.
async fn seconds_of_many(line: Line, count: usize, latency: Duration) -> f64 {
    let line = Arc::new(line);
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let line = Arc::clone(&line);
        tasks.spawn(async move {
            let turn = turn(&line).await;
            tokio::time::sleep(latency).await;
            turn.answered();
        });
    }
    tasks.join_all().await;
    begin.elapsed().as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn everybody_who_waits_goes_as_soon_as_there_is_room() {
    let second = Duration::from_secs(1);
    let seconds = seconds_of_many(Line::new(LIMITS), 40, second).await;
    assert!((10.0..10.1).contains(&seconds), "ten times four: {seconds} s");
    let limits = Limits { concurrency: 20, rate: Some(10.0), ..LIMITS };
    let seconds = seconds_of_many(Line::new(limits), 100, second).await;
    assert!((10.8..11.2).contains(&seconds), "ten a second, and the last: {seconds} s");
    let limits = Limits { concurrency: 2, rate: Some(10.0), ..LIMITS };
    let seconds = seconds_of_many(Line::new(limits), 20, second).await;
    assert!((10.0..10.3).contains(&seconds), "ten times two: {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_everybody_goes_again() {
    let line = Line::new(Limits { concurrency: 10, ..LIMITS });
    turn(&line).await.refused(VoidFailure::RateLimited, None, "429".into());
    // One finds out, then five at once, and more from answer to answer.
    let seconds = seconds_of_many(line, 30, Duration::from_secs(1)).await;
    assert!((4.0..7.5).contains(&seconds), "{seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_not_made_up_for_by_a_burst() {
    let line = Line::new(Limits { rate: Some(10.0), ..LIMITS });
    turn(&line).await.answered();
    advance(Duration::from_secs(30)).await;
    let begin = Instant::now();
    for _ in 0..11 {
        turn(&line).await.answered();
    }
    assert!(begin.elapsed() > Duration::from_millis(900), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_halve_what_is_out_and_answers_bring_it_back() {
    let line = Line::new(LIMITS);
    let refused = turn(&line).await;
    refused.refused(VoidFailure::RateLimited, None, "429".into());
    assert!(matches!(line.condition(), Condition::BackingOff { .. }));
    assert!(is_held_back(&line).await, "it waits first");
    // The first one alone finds out whether it is over.
    let first = turn(&line).await;
    assert!(is_held_back(&line).await);
    first.answered();
    assert_eq!(line.condition(), Condition::Open);
    let two = [turn(&line).await, turn(&line).await];
    assert!(is_held_back(&line).await, "half of four");
    two.into_iter().for_each(Turn::answered);
    for _ in 0..6 {
        turn(&line).await.answered();
    }
    let _four = [turn(&line).await, turn(&line).await, turn(&line).await, turn(&line).await];
    assert_eq!(line.retry_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_server_says_how_long_to_wait() {
    let line = Line::new(LIMITS);
    let wait = Duration::from_secs(7);
    turn(&line).await.refused(VoidFailure::RateLimited, Some(wait), "429".into());
    let begin = Instant::now();
    turn(&line).await.answered();
    assert!(begin.elapsed() >= wait && begin.elapsed() < wait * 2, "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_server_makes_us_wait_for_ever() {
    let line = Line::new(LIMITS);
    let wait = Duration::from_secs(1_000_000);
    turn(&line).await.refused(VoidFailure::RateLimited, Some(wait), "429".into());
    assert!(timeout(WAIT_MAX + SHORT, line.turn()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn waits_grow_while_nobody_answers() {
    let line = Line::new(LIMITS);
    let mut waits = Vec::new();
    for _ in 0..4 {
        let begin = Instant::now();
        turn(&line).await.refused(VoidFailure::NotConnected, None, "refused".into());
        waits.push(begin.elapsed());
    }
    assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "{waits:?}");
    assert!(matches!(line.condition(), Condition::Down { .. }));
    advance(LIMITS.patience).await;
    assert!(matches!(line.condition(), Condition::GivenUp { .. }));
}

#[tokio::test(start_paused = true)]
async fn several_breaks_in_a_row_close_the_line_and_one_answer_opens_it() {
    let line = Line::new(LIMITS);
    for _ in 1..BREAKS_MAX {
        turn(&line).await.broke("500");
    }
    turn(&line).await.answered();
    for _ in 1..BREAKS_MAX {
        turn(&line).await.broke("500");
    }
    assert_eq!(line.condition(), Condition::Open, "an answer in between");
    turn(&line).await.broke("500");
    assert!(matches!(line.condition(), Condition::Down { reason, .. } if reason == "500"));
    turn(&line).await.answered();
    assert_eq!(line.condition(), Condition::Open);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_when_the_run_stops_gets_no_turn() {
    let line = Line::new(Limits { concurrency: 1, ..LIMITS });
    let out = turn(&line).await;
    let (waited, ()) = tokio::join!(line.turn(), async { line.stop() });
    assert!(waited.is_err());
    drop(out);
    assert!(line.turn().await.is_err());
}
