use super::*;

#[track_caller]
fn check_ticks(values: &[f64], step: f64, expected: &[&str]) {
    let labels: Vec<String> =
        tick_labels(values, step).iter().map(|label| label.replace('\u{a0}', " ")).collect();
    assert_eq!(labels, expected);
}

#[test]
fn ticks_share_unit_and_digits() {
    check_ticks(&[0.0, 0.2, 0.4, 1.0], 0.2, &["0", "0.2", "0.4", "1.0"]);
    check_ticks(&[-1.0, 0.0, 1.0], 1.0, &["−1", "0", "1"]);
    check_ticks(&[0.0, 2e5, 1e6], 2e5, &["0", "0.2 M", "1.0 M"]);
    check_ticks(&[0.0, 5e3, 1e4], 5e3, &["0", "5 k", "10 k"]);
    check_ticks(&[0.0, 500.0, 1000.0], 500.0, &["0", "500", "1000"]);
    check_ticks(&[0.0, 2e-5, 4e-5], 2e-5, &["0", "2×10⁻⁵", "4×10⁻⁵"]);
    check_ticks(&[0.1 + 0.2], 0.1, &["0.3"]);
    check_ticks(&[5e14, 1e15], 5e14, &["0.5×10¹⁵", "1.0×10¹⁵"]);
}

#[test]
fn powers_are_plain_near_one_and_raised_elsewhere() {
    assert_eq!(log_labels(&[0.01, 0.1, 1.0, 100.0]), ["0.01", "0.1", "1", "100"]);
    assert_eq!(log_labels(&[1e-160, 1e-40, 1.0]), ["10⁻¹⁶⁰", "10⁻⁴⁰", "10⁰"]);
    assert_eq!(log_labels(&[1e5, 2e5]), ["10⁵", "2×10⁵"]);
}

#[test]
fn values_have_about_three_digits() {
    assert_eq!(value_labels(&[0.873, 0.5, 0.0]), ["0.87", "0.50", "0"]);
    assert_eq!(value_labels(&[12.34, 1.0]), ["12.3", "1.0"]);
    assert_eq!(value_labels(&[0.9, 0.001]), ["0.90", "<0.01"]);
    assert_eq!(value_labels(&[-0.5]), ["−0.50"]);
    assert_eq!(value_labels(&[1_234_567.0]), ["1.23\u{a0}M"]);
}

#[test]
fn extremes_have_labels() {
    for value in [5e-324, 1e300, -1e300, 0.0] {
        assert!(!value_labels(&[value])[0].is_empty());
        assert!(!tick_labels(&[value], 1e-300)[0].is_empty());
    }
    assert!(!log_labels(&[5e-324, 1e300])[0].is_empty());
}
