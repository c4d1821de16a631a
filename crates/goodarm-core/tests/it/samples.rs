//! How many scores a certificate takes, against figures of a prototype written apart from this code.

#[path = "../../examples/samples_to_certify/cell.rs"]
mod cell;

use cell::{Cell, Certificate, Law};

/// One row of the prototype's table.
struct Row {
    law: Law,
    certificate: Certificate,
    /// Q and M.
    size: (usize, usize),
    threshold: f64,
    /// How many runs each figure is the mean of.
    runs: f64,
    /// (gap, mean number of scores), rounded to [`Row::digit`].
    figures: &'static [(f64, f64)],
    digit: f64,
    /// What the continuous part may cost or gain, where the prototype had the grid alone.
    slack: f64,
}

const PAPER: Row = Row {
    law: Law::Normal(1.0),
    certificate: Certificate::Paper,
    size: (100, 3),
    threshold: 0.5,
    runs: 2000.0,
    figures: &[],
    digit: 1.0,
    slack: 0.0,
};
const MIXTURE: Row = Row { certificate: Certificate::Mixture, ..PAPER };

fn normal() -> [Row; 6] {
    [
        Row { size: (12, 4), figures: &[(0.2, 1141.0), (0.3, 471.0), (0.45, 193.0)], ..PAPER },
        Row { figures: &[(0.3, 514.0), (0.45, 213.0)], ..PAPER },
        Row { size: (100_000, 3), figures: &[(0.3, 681.0), (0.45, 289.0)], ..PAPER },
        Row {
            size: (12, 4),
            figures: &[(0.1, 1481.0), (0.2, 381.0), (0.3, 172.0), (0.45, 80.0)],
            ..MIXTURE
        },
        Row { figures: &[(0.3, 223.0), (0.45, 103.0)], slack: 0.015, ..MIXTURE },
        Row {
            size: (100_000, 3),
            figures: &[(0.3, 384.0), (0.45, 174.0)],
            slack: 0.015,
            ..MIXTURE
        },
    ]
}

fn binary() -> [Row; 8] {
    let (law, runs) = (Law::Binary, 4000.0);
    let paper = |size, threshold, figures| Row { law, runs, size, threshold, figures, ..PAPER };
    let mixture = |size, threshold, figures| Row {
        law,
        runs,
        size,
        threshold,
        figures,
        slack: 0.015,
        ..MIXTURE
    };
    [
        paper((12, 4), 0.5, &[(0.2, 1155.0), (0.3, 477.0), (0.45, 195.0), (0.5, 154.0)]),
        paper((100, 3), 0.5, &[(0.3, 522.0), (0.45, 215.0), (0.5, 171.0)]),
        paper((100_000, 3), 0.5, &[(0.3, 688.0), (0.45, 290.0), (0.5, 231.0)]),
        paper((100, 3), 0.8, &[(0.15, 2358.0), (0.19, 1413.0)]),
        mixture((12, 4), 0.5, &[(0.1, 372.0), (0.2, 93.0), (0.3, 41.0), (0.45, 17.0), (0.5, 13.0)]),
        mixture(
            (100, 3),
            0.5,
            &[(0.1, 484.0), (0.2, 120.0), (0.3, 52.0), (0.45, 21.0), (0.5, 16.0)],
        ),
        mixture((100_000, 3), 0.5, &[(0.2, 208.0), (0.3, 90.0), (0.45, 36.0), (0.5, 26.0)]),
        mixture((100, 3), 0.8, &[(0.1, 267.0), (0.15, 108.0), (0.19, 58.0)]),
    ]
}

fn bounded() -> [Row; 4] {
    let (wide, narrow) = (Law::Beta(4.0), Law::Beta(20.0));
    let mixture = |law, figures| Row { law, runs: 1000.0, figures, digit: 0.1, ..MIXTURE };
    [
        Row { law: wide, runs: 400.0, figures: &[(0.3, 523.0), (0.45, 215.0)], ..PAPER },
        Row { law: narrow, runs: 400.0, figures: &[(0.3, 523.0), (0.45, 215.0)], ..PAPER },
        mixture(wide, &[(0.1, 105.0), (0.2, 36.6), (0.3, 23.7), (0.45, 16.3)]),
        mixture(narrow, &[(0.05, 136.0), (0.1, 62.2), (0.2, 31.5), (0.3, 22.2), (0.45, 16.1)]),
    ]
}

/// (cells compared, what is wrong with those that disagree), each seen by `as_if` first.
fn disagreements(rows: &[Row], as_if: impl Fn(Cell) -> Cell) -> (usize, Vec<String>) {
    let (mut count, mut wrong) = (0, Vec::new());
    for row in rows {
        let (arms, attributes) = row.size;
        let Row { law, certificate, threshold, .. } = *row;
        for &(gap, figure) in row.figures {
            let cell = as_if(Cell { law, certificate, arms, attributes, threshold, gap });
            let runs = if certificate == Certificate::Paper { 250 } else { 1000 };
            let found = cell.samples(runs, 7);
            // The prototype's own error is ours, but for its number of runs.
            let error = found.error * (1.0 + f64::from(runs) / row.runs).sqrt();
            let allowed = 4.5 * error + row.slack * figure + 0.5 * row.digit;
            count += 1;
            if (found.mean - figure).abs() > allowed {
                wrong.push(format!("{cell:?}: {found:?}, not {figure} ± {allowed}"));
            }
        }
    }
    (count, wrong)
}

#[test]
fn the_published_table_is_reproduced() {
    for rows in [&normal()[..], &binary(), &bounded()] {
        let (_, wrong) = disagreements(rows, |cell| cell);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn a_certificate_for_one_pair_or_at_half_the_level_is_noticed() {
    let rows = normal().into_iter().chain(binary()).chain(bounded());
    let (paper, mixture): (Vec<Row>, Vec<Row>) =
        rows.partition(|row| row.certificate == Certificate::Paper);
    let (count, wrong) = disagreements(&paper, |cell| Cell { arms: 1, attributes: 1, ..cell });
    assert_eq!(wrong.len(), count, "a radius for one pair is too small");
    let (count, wrong) = disagreements(&mixture, |cell| Cell { arms: cell.arms / 2, ..cell });
    // Among 10⁵ arms ln 2 is lost in the noise.
    assert!(wrong.len() * 2 > count, "ln 2 is missing: {} of {count}", wrong.len());
}

#[test]
fn a_floor_saves_scores_if_it_is_declared() {
    let samples = |declared: f64| {
        let law = Law::Floored { size: 4.0, floor: 0.3, declared };
        let cell = Cell {
            certificate: Certificate::Mixture,
            law,
            arms: 100,
            attributes: 3,
            threshold: 0.5,
            gap: 0.2,
        };
        (cell.samples(300, 7).mean, cell.limit())
    };
    let (unknown, declared) = (samples(0.0), samples(0.3));
    assert!(declared.0 < 0.6 * unknown.0, "{declared:?} {unknown:?}");
    assert!(declared.0 > declared.1 && unknown.0 > unknown.1, "no less than any e-process can do");
}

#[test]
fn the_limits_are_those_published() {
    let cell = |law, arms, threshold, gap| Cell {
        law,
        certificate: Certificate::Mixture,
        arms,
        attributes: 3,
        threshold,
        gap,
    };
    for (cell, figure, digit) in [
        (cell(Law::Normal(1.0), 12, 0.5, 0.05), 5118.0, 1.0),
        (cell(Law::Normal(1.0), 100_000, 0.5, 0.45), 152.0, 1.0),
        (cell(Law::Binary, 12, 0.5, 0.5), 9.2, 0.1),
        (cell(Law::Binary, 100, 0.5, 0.1), 423.0, 1.0),
        (cell(Law::Binary, 100, 0.8, 0.19), 47.0, 1.0),
        (cell(Law::Beta(4.0), 100, 0.5, 0.05), 346.0, 1.0),
        (cell(Law::Beta(4.0), 100, 0.5, 0.45), 13.4, 0.1),
        (cell(Law::Beta(20.0), 100, 0.5, 0.1), 51.5, 0.1),
    ] {
        let found = cell.limit();
        assert!((found - figure).abs() <= 0.5 * digit, "{cell:?}: {found}, not {figure}");
    }
}
