//! The choice of addresses, and the outage of one of several.

use super::*;

fn throttle(address_count: usize) -> Throttle {
    Throttle::new(LIMITS).with_addresses(address_count)
}

/// `count` requests that are in flight at once.
async fn turns(throttle: &Throttle, count: usize) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    for _ in 0..count {
        turns.push(turn(throttle).await);
    }
    turns
}

fn places(turns: &[Turn<'_>]) -> Vec<usize> {
    turns.iter().map(Turn::address).collect()
}

/// Refuses the next request, and returns its address.
async fn refuse(throttle: &Throttle, failure: VoidFailure, wait: Option<Duration>) -> usize {
    let turn = turn(throttle).await;
    let address = turn.address();
    turn.refused(failure, wait, format!("no {address}"));
    address
}

const DOWN: VoidFailure = VoidFailure::NotConnected;
const BUSY: VoidFailure = VoidFailure::RateLimited;

#[tokio::test(start_paused = true)]
async fn equal_addresses_take_turns_and_the_least_busy_goes_first() {
    let throttle = throttle(3);
    for expected in [0, 1, 2, 0] {
        let turn = turn(&throttle).await;
        assert_eq!(turn.address(), expected);
        turn.record_reply();
    }
    let mut out = turns(&throttle, 4).await;
    assert_eq!(places(&out), [1, 2, 0, 1]);
    assert!(is_held_back(&throttle).await, "the concurrency is the verifier's");
    out.remove(2).record_reply();
    let next = turn(&throttle).await;
    assert_eq!(next.address(), 0, "0 has none, 2 has one, 1 has two");
    next.record_reply();
    out.remove(1).record_reply();
    assert_eq!(places(&turns(&throttle, 2).await), [2, 0], "1 has two, the others none");
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_one_address_does_not_stop_the_others() {
    let throttle = throttle(2);
    let wait = Duration::from_secs(7);
    let begin = Instant::now();
    assert_eq!(refuse(&throttle, BUSY, Some(wait)).await, 0);
    let reason = "no 0".into();
    assert_eq!(throttle.condition(), Condition::Partly { troubled: 1, of: 2, reason });
    for _ in 0..20 {
        let turn = turn(&throttle).await;
        assert_eq!(turn.address(), 1);
        turn.record_reply();
    }
    assert!(begin.elapsed() < SHORT, "nobody waits");
    advance(wait).await;
    // One request tests whether the pause is over.
    let probe = turn(&throttle).await;
    assert_eq!(probe.address(), 0);
    assert_eq!(places(&turns(&throttle, 2).await), [1, 1]);
    probe.record_reply();
    assert_eq!(throttle.condition(), Condition::Open);
}

#[tokio::test(start_paused = true)]
async fn a_service_is_down_when_all_its_addresses_are() {
    let throttle = throttle(2);
    assert_eq!(refuse(&throttle, DOWN, None).await, 0);
    // Longer than its patience.
    for _ in 0..100 {
        advance(Duration::from_secs(1)).await;
        let turn = turn(&throttle).await;
        match turn.address() {
            0 => turn.refused(DOWN, None, "no 0".into()),
            _ => turn.record_reply(),
        }
    }
    assert!(matches!(throttle.condition(), Condition::Partly { .. }), "one still answers");
    while matches!(throttle.condition(), Condition::Partly { .. }) {
        refuse(&throttle, DOWN, None).await;
    }
    let Condition::Down { since, reason } = throttle.condition() else { panic!("it is down") };
    assert!(since < Duration::from_secs(1), "since the last one is down: {since:?}");
    assert_eq!(reason, "no 0; no 1");
    assert!(is_held_back(&throttle).await);
    advance(LIMITS.patience).await;
    assert!(matches!(throttle.condition(), Condition::GivenUp { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_service_backs_off_until_its_first_address_is_back() {
    let throttle = throttle(2);
    refuse(&throttle, BUSY, Some(Duration::from_secs(30))).await;
    refuse(&throttle, BUSY, Some(Duration::from_secs(5))).await;
    let Condition::BackingOff { wait } = throttle.condition() else { panic!("both are busy") };
    assert!(wait > Duration::from_secs(4) && wait <= Duration::from_secs(5), "{wait:?}");
    let begin = Instant::now();
    let probe = turn(&throttle).await;
    assert_eq!(probe.address(), 1);
    assert!(begin.elapsed() >= wait && begin.elapsed() < wait * 2, "{:?}", begin.elapsed());
    assert!(is_held_back(&throttle).await, "one at a time finds out");
    probe.record_reply();
    assert!(matches!(throttle.condition(), Condition::Partly { .. }));
}

/// Each attempt at an address that breaks calls counts as the lowest score, so they end.
#[tokio::test(start_paused = true)]
async fn an_address_that_breaks_calls_for_too_long_gets_no_more_calls() {
    let throttle = throttle(2);
    let mut breaks = 0;
    for _ in 0..1000 {
        let turn = turn(&throttle).await;
        match turn.address() {
            0 => {
                turn.record_broken("500");
                breaks += 1;
            }
            _ => turn.record_reply(),
        }
        advance(Duration::from_secs(1)).await;
    }
    assert!((5..100).contains(&breaks), "{breaks}");
    let reason = "500".into();
    assert_eq!(throttle.condition(), Condition::Partly { troubled: 1, of: 2, reason });
    for _ in 0..100 {
        advance(Duration::from_secs(1)).await;
        let turn = turn(&throttle).await;
        assert_eq!(turn.address(), 1);
        turn.record_reply();
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_halve_the_share_of_one_address() {
    let throttle = Throttle::new(CallLimits { concurrency: 8, ..LIMITS }).with_addresses(2);
    refuse(&throttle, BUSY, None).await;
    advance(Duration::from_secs(1)).await;
    turn(&throttle).await.record_reply();
    turn(&throttle).await.record_reply();
    assert_eq!(throttle.condition(), Condition::Open);
    let out = turns(&throttle, 8).await;
    let count = |address| places(&out).iter().filter(|it| **it == address).count();
    assert_eq!((count(0), count(1)), (2, 6), "half of its four, and the other takes the rest");
}
