use super::*;

#[track_caller]
fn check_linear(values: &[f64], expected: (f64, f64)) {
    let span = fit(&Axis::linear(""), values, 0.1).unwrap();
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
    assert!(near(span.start, expected.0) && near(span.end, expected.1), "{span:?}");
}

#[test]
fn a_zero_that_is_near_is_included() {
    check_linear(&[1.0, 9.0], (0.0, 9.9));
    check_linear(&[-9.0, -1.0], (-9.9, 0.0));
    check_linear(&[8.0, 10.0], (7.8, 10.2));
    check_linear(&[0.0, 1.0], (0.0, 1.1));
    check_linear(&[-1.0, 1.0], (-1.2, 1.2));
}

#[test]
fn one_value_still_spans_something() {
    check_linear(&[3.0], (0.0, 6.0));
    check_linear(&[-3.0, -3.0], (-6.0, 0.0));
    check_linear(&[0.0], (0.0, 1.0));
    check_linear(&[5e-324], (0.0, 1.0));
}

#[test]
fn what_cannot_be_shown_is_skipped() {
    check_linear(&[f64::NAN, 0.0, f64::INFINITY, 1.0, f64::NEG_INFINITY, 1e308], (0.0, 1.1));
    assert_eq!(fit(&Axis::linear(""), &[f64::NAN, f64::INFINITY], 0.1), None);
    assert_eq!(fit(&Axis::log10(""), &[0.0, -1.0, f64::NAN], 0.1), None);
    assert_eq!(fit(&Axis::linear(""), &[], 0.1), None);
}

#[test]
fn extremes_stay_finite() {
    for values in [[-1e300, 1e300], [0.0, 1e300], [1.0, 1.0 + f64::EPSILON], [0.0, 5e-324]] {
        let span = fit(&Axis::linear(""), &values, 0.1).unwrap();
        for value in values {
            assert!(span.place(value).unwrap().is_finite());
        }
    }
    let span = fit(&Axis::log10(""), &[5e-324, 1e300], 0.1).unwrap();
    assert!(span.place(1.0).unwrap().is_finite());
}

#[test]
fn a_range_is_kept_if_it_can_be_shown() {
    let mut axis = Axis::log10("");
    axis.range = Some((1e-160, 1e-2));
    let span = fit(&axis, &[1e-10], 0.1).unwrap();
    assert!(span.place(1e-160).unwrap().abs() < 1e-12);
    assert!((span.place(1e-2).unwrap() - 1.0).abs() < 1e-12);
    assert!((span.place(1e-81).unwrap() - 0.5).abs() < 1e-12);
    for bad in [(0.0, 1.0), (1.0, 1.0), (1.0, 0.1), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        axis.range = Some(bad);
        let automatic = fit(&Axis::log10(""), &[1e-10], 0.1);
        assert_eq!(fit(&axis, &[1e-10], 0.1), automatic);
    }
}
