use super::*;

const fn linear(start: f64, end: f64) -> AxisSpan {
    AxisSpan { scale: Scale::Linear, start, end }
}

const fn log10(start: f64, end: f64) -> AxisSpan {
    AxisSpan { scale: Scale::Log10, start, end }
}

#[track_caller]
fn check_labels(span: AxisSpan, count_max: usize, expected: &[&str]) {
    let axis = Axis { scale: span.scale, ..Axis::linear("") };
    let ticks = ticks(&axis, &span, count_max);
    let labels: Vec<String> = ticks
        .iter()
        .filter(|tick| !tick.label.is_empty())
        .map(|tick| tick.label.replace('\u{a0}', " "))
        .collect();
    assert_eq!(labels, expected);
}

#[test]
fn linear_ticks_are_round() {
    check_labels(linear(0.0, 1.0), 6, &["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    check_labels(linear(-0.03, 1.04), 6, &["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    check_labels(linear(0.0, 1e6), 6, &["0", "0.2 M", "0.4 M", "0.6 M", "0.8 M", "1.0 M"]);
    check_labels(linear(7.3, 9.9), 4, &["8", "9"]);
    check_labels(linear(0.0, 1.0), 3, &["0", "0.5", "1.0"]);
}

#[test]
fn log_ticks_are_powers_at_round_distances() {
    check_labels(log10(-160.0, -2.0), 6, &["10⁻¹⁶⁰", "10⁻¹²⁰", "10⁻⁸⁰", "10⁻⁴⁰"]);
    check_labels(log10(-2.0, 2.0), 6, &["0.01", "0.1", "1", "10", "100"]);
    check_labels(log10(0.1, 1.2), 6, &["2", "5", "10"]);
    check_labels(log10(0.0, 2.0), 6, &["1", "3", "10", "30", "100"]);
    check_labels(log10(0.0, 0.1), 4, &["1.0", "1.1", "1.2"]);
}

/// Over many random spans: ticks lie inside, in order, at multiples of a round step, and are
/// neither too few nor too many.
#[test]
fn automatic_ticks_are_inside_round_and_few() {
    let mut random = crate::random::Random::new(1);
    for _ in 0..3000 {
        let size = ten_to(whole(random.between(-30.0, 30.0)));
        let start = random.between(-1.0, 1.0) * size;
        let spread = random.between(0.001, 2.0) * size;
        let count_max = 2 + random.below(8);
        check_automatic(linear(start, start + spread), count_max);
        let low = random.between(-200.0, 200.0);
        check_automatic(log10(low, low + random.between(0.01, 90.0)), count_max);
    }
}

fn check_automatic(span: AxisSpan, count_max: usize) {
    let axis = Axis { scale: span.scale, ..Axis::linear("") };
    let ticks = ticks(&axis, &span, count_max);
    let labelled = ticks.iter().filter(|tick| !tick.label.is_empty()).count();
    assert!((2..=count_max.max(6)).contains(&labelled), "{span:?} {count_max} {ticks:?}");
    assert!(ticks.iter().all(|tick| (span.start..=span.end).contains(&tick.at)), "{span:?}");
    assert!(ticks.windows(2).all(|pair| pair[0].at < pair[1].at), "{span:?} {ticks:?}");
    let mut labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
    labels.retain(|label| !label.is_empty());
    assert!(labels.windows(2).all(|pair| pair[0] != pair[1]), "{span:?} {labels:?}");
    if span.scale == Scale::Linear && ticks.len() > 1 {
        let step = ticks[1].at - ticks[0].at;
        let lead = step / ten_to(whole(libm::floor(libm::log10(step) + 1e-6)));
        let round = [1.0, 2.0, 5.0].iter().any(|round| (lead / round - 1.0).abs() < 1e-6);
        assert!(round, "{span:?} {step}");
    }
}

#[test]
fn asked_ticks_outside_are_left_out() {
    let axis = Axis {
        ticks: Some(vec![(2.0, "out".into()), (0.5, "in".into()), (f64::NAN, "no".into())]),
        ..Axis::linear("")
    };
    let ticks = ticks(&axis, &linear(0.0, 1.0), 5);
    assert_eq!(ticks, [Tick { at: 0.5, label: "in".into() }]);
}
