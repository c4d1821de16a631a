use alloc::vec;

use super::*;

fn goal(precision: f64) -> Goal {
    Goal::new(precision, 0.05).unwrap()
}

fn free(means: &[f64]) -> PilotScores {
    let means = means.iter().copied().map(Some).collect();
    PilotScores { means, threshold: Threshold::Free { lowest: 0.0 } }
}

/// 0.005, 0.015, …, 0.995: one arm a percent.
fn ladder() -> Vec<f64> {
    (0..100).map(|arm| (real_size(arm) + 0.5) / 100.0).collect()
}

#[test]
fn thresholds_are_short_numbers_between_two_means() {
    let check = |below: f64, mean: f64, expected: f64| {
        let cut = between(below, mean);
        assert!((cut - expected).abs() < 1e-15, "{below} {mean}: {cut}");
        assert!(cut > below && cut <= mean);
    };
    check(0.0, 1.0, 0.5);
    check(2.0 / 3.0, 1.0, 0.84);
    check(0.0, 1.0 / 3.0, 0.17);
    check(0.50, 0.51, 0.505);
    check(-3.0, -1.0, -2.0);
    check(0.123_456, 0.123_457, 0.123_456_5);
    check(f64::NEG_INFINITY, 0.637, 0.63);
    let next = 0.5_f64.next_up();
    assert!(between(0.5, next) > 0.5 && between(0.5, next) <= next);
}

#[test]
fn a_path_goes_from_strict_to_lax_and_every_step_keeps_what_the_one_before_kept() {
    let mut other = ladder();
    other.rotate_left(30);
    let path = ThresholdPath::new(&[free(&ladder()), free(&other)], goal(0.9), 100);
    assert!(path.steps().len() > 10 && path.steps().len() <= STEPS_MAX + 1);
    for pair in path.steps().windows(2) {
        let lower = pair[0].thresholds.iter().zip(&pair[1].thresholds).all(|(a, b)| b <= a);
        assert!(lower && pair[0].passers.iter().all(|arm| pair[1].passers.contains(arm)));
        assert!(pair[0].passers.len() < pair[1].passers.len());
    }
    assert_eq!(path.steps().last().unwrap().passers.len(), 100, "the laxest step lets all pass");
}

#[test]
fn an_exact_verifier_keeps_its_threshold_and_missing_means_do_not_pass() {
    let exact = PilotScores {
        means: (0..100).map(|arm| Some(f64::from(u8::from(arm >= 50)))).collect(),
        threshold: Threshold::Fixed(0.5),
    };
    let mut noisy = free(&ladder());
    noisy.means[99] = None;
    let path = ThresholdPath::new(&[exact, noisy], goal(0.9), 100);
    assert!(path.steps().iter().all(|step| step.thresholds[0].total_cmp(&0.5).is_eq()));
    assert_eq!(path.steps().last().unwrap().passers, (50..99).collect::<Vec<_>>());
}

#[test]
fn the_laxest_unbroken_step_is_chosen() {
    // 80 good arms above 20 bad ones.
    let path = ThresholdPath::new(&[free(&ladder())], goal(0.9), 100);
    let labels: Vec<_> = (0..100).map(|arm| (arm, arm >= 20)).collect();
    let found = path.walk(&labels);
    let chosen = found.chosen.unwrap();
    assert!(found.rows[chosen].is_shown && !found.rows[chosen + 1].is_shown);
    let threshold = path.steps()[chosen].thresholds[0];
    assert!((0.15..0.25).contains(&threshold), "{threshold}");
    let labels_at = |start: &usize| found.rows[*start].label_count();
    assert_eq!(path.starts().iter().map(labels_at).collect::<Vec<_>>(), [42, 84]);
    assert!(!found.rows[0].is_tested && found.rows[chosen + 1].is_tested);
}

#[test]
fn one_wrong_label_at_the_strict_end_does_not_end_the_search() {
    let path = ThresholdPath::new(&[free(&ladder())], goal(0.8), 100);
    let labels: Vec<_> = (0..100).map(|arm| (arm, arm != 98)).collect();
    let found = path.walk(&labels);
    assert!(!found.rows[path.starts()[0]].is_shown);
    assert_eq!(found.chosen, Some(path.steps().len() - 1));
}

#[test]
fn steps_after_a_gap_do_not_count() {
    // The strictest arms are wrong, so that the start fails; far down there would be enough right ones.
    let means: Vec<f64> = (0..1000).map(|arm| (real_size(arm) + 0.5) / 1000.0).collect();
    let path = ThresholdPath::new(&[free(&means)], goal(0.9), 1000);
    let labels: Vec<_> = (0..1000).map(|arm| (arm, arm < 960)).collect();
    let found = path.walk(&labels);
    assert!(found.rows.last().unwrap().is_shown);
    assert_eq!(found.chosen, None);
}

#[test]
fn the_start_depends_on_the_number_of_labels_only() {
    let path = |labels| ThresholdPath::new(&[free(&ladder())], goal(0.9), labels);
    assert!(path(20).starts().is_empty(), "33 right ones show 0.9 at least");
    let passing = |labels| {
        let path = path(labels);
        path.starts().iter().map(|start| path.steps()[*start].passers.len()).collect::<Vec<_>>()
    };
    assert_eq!(passing(50), [75], "37 of 50 labels expected, and hardly ever below 33");
    assert_eq!(passing(100), [42, 84], "none of 40 may be wrong, or one of 84, at half of δ");
    let same = |labels: &[(usize, bool)]| path(50).walk(labels).rows.len();
    assert_eq!(same(&[]), same(&[(3, true), (4, false)]));
}

#[test]
fn labels_needed_are_the_first_that_show_it() {
    assert_eq!([0, 1, 2].map(|wrong| goal(0.95).labels_needed(wrong)), [68, 153, 194]);
    assert_eq!(goal(0.8).labels_needed(0), 16);
    assert_eq!(goal(0.95).labels_to_go(60, 0), 8);
    assert_eq!(goal(0.95).labels_at_rate(1.0), Some(68));
    assert_eq!(goal(0.95).labels_at_rate(0.95), None);
    let at_97 = goal(0.95).labels_at_rate(0.97).unwrap();
    assert!((500..2000).contains(&at_97), "{at_97}");
    assert_eq!(goal(0.95).labels_at_rate(0.95 + 1e-12), None);
}

#[test]
fn degenerate_pilots_have_paths() {
    for columns in [vec![], vec![free(&[])], vec![free(&[0.0, 0.0])]] {
        let path = ThresholdPath::new(&columns, goal(0.9), 10);
        assert!(path.steps().is_empty() && path.starts().is_empty(), "{columns:?}");
        assert_eq!(path.walk(&[(0, true), (7, false)]).chosen, None);
    }
    let all_alike = ThresholdPath::new(&[free(&[1.0; 50])], goal(0.9), 50);
    assert_eq!(all_alike.steps().len(), 1);
    assert_eq!(all_alike.walk(&(0..50).map(|arm| (arm, true)).collect::<Vec<_>>()).chosen, Some(0));
    let not_numbers = ThresholdPath::new(&[free(&[f64::NAN, 0.5, f64::INFINITY])], goal(0.9), 3);
    assert!(not_numbers.steps().iter().all(|step| step.thresholds[0].is_finite()));
    assert!(Goal::new(1.0, 0.05).is_err() && Goal::new(0.9, 0.0).is_err());
    assert!(Goal::new(f64::NAN, 0.05).is_err());
}
