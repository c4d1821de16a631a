//! How many errors a valid certificate may show before a test fails.

/// A valid certificate exceeds a limit on fewer than one seed in a billion.
pub(super) const FALSE_ALARM: f64 = 1e-9;

/// The smallest count c with P[Binomial(`trials`, `rate`) > c] < [`FALSE_ALARM`], by exact summation.
pub(super) fn count_max(trials: u32, rate: f64) -> u32 {
    quantile(trials, rate, FALSE_ALARM)
}

/// Fails if there are more errors than an error probability of at most `rate` explains.
pub(super) fn check_valid(what: &str, errors: u32, trials: u32, rate: f64) {
    let limit = count_max(trials, rate);
    assert!(errors <= limit, "{what}: {errors} errors in {trials} sessions, above {limit}");
}

/// Fails unless there are more errors than that: for wrong twins.
pub(super) fn check_broken(what: &str, errors: u32, trials: u32, rate: f64) {
    let limit = count_max(trials, rate);
    assert!(errors > limit, "{what}: {errors} errors in {trials} sessions, within {limit}");
}

fn quantile(trials: u32, rate: f64, tail_max: f64) -> u32 {
    let mut tail = 0.0;
    for count in (1..=trials).rev() {
        tail += log_probability(trials, rate, count).exp();
        if tail >= tail_max {
            return count;
        }
    }
    0
}

// ln(n! / (k! (n - k)!) p^k (1 - p)^(n - k))
fn log_probability(trials: u32, rate: f64, count: u32) -> f64 {
    let choose: f64 =
        (1..=count).map(|index| (f64::from(trials - count + index) / f64::from(index)).ln()).sum();
    choose + f64::from(count) * rate.ln() + f64::from(trials - count) * (-rate).ln_1p()
}

#[test]
fn the_limit_is_the_exact_binomial_quantile() {
    // Binomial(10, 1/2): P[X > 8] = 11/1024 and P[X > 7] = 56/1024.
    assert_eq!(quantile(10, 0.5, 12.0 / 1024.0), 8);
    assert_eq!(quantile(10, 0.5, 10.0 / 1024.0), 9);
    assert_eq!(quantile(10, 0.5, 57.0 / 1024.0), 7);
    // A single trial tells nothing at this certainty.
    assert_eq!(count_max(1, 0.2), 1);
    let tail = |above: u32, trials, rate| -> f64 {
        (above + 1..=trials).map(|count| log_probability(trials, rate, count).exp()).sum()
    };
    for (trials, rate) in [(100, 0.2), (2000, 0.05), (3300, 0.2)] {
        let limit = count_max(trials, rate);
        assert!(tail(limit, trials, rate) < FALSE_ALARM, "{trials} {rate} {limit}");
        assert!(tail(limit - 1, trials, rate) >= FALSE_ALARM, "{trials} {rate} {limit}");
    }
    let whole: f64 = (0..=3300).map(|count| log_probability(3300, 0.2, count).exp()).sum();
    assert!((whole - 1.0).abs() < 1e-9, "{whole}");
}
