//! The mean number of scores until one attribute of one answer is certified, as Markdown:
//! `cargo run --release -p goodarm-core --example samples_to_certify [--quick | RUNS]`.

#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "samples_to_certify/cell.rs"]
mod cell;

use std::env;

use cell::{Cell, Certificate, Estimate, Law};

fn main() {
    let runs = match env::args().nth(1).as_deref() {
        None => 1000,
        Some("--quick") => 100,
        Some(text) => text.parse().expect("RUNS is a whole number"),
    };
    let gaps = [0.05, 0.1, 0.2, 0.3, 0.45];
    let sizes = [(12, 4), (100, 3), (100_000, 3)];
    let with_certainty = [0.05, 0.1, 0.2, 0.3, 0.45, 0.5];
    println!("δ = 0.02; mean ± standard error of {runs} runs, {} for the paper.\n", paper(runs));
    with_paper("Normal scores, σ = 1, ξ = 0.5", Law::Normal(1.0), 0.5).print(&sizes, &gaps, runs);
    with_paper("Binary scores, ξ = 0.5", Law::Binary, 0.5).print(&sizes, &with_certainty, runs);
    let high = [0.02, 0.05, 0.1, 0.15, 0.19];
    with_paper("Binary scores, ξ = 0.8", Law::Binary, 0.8).print(&sizes[1..2], &high, runs);
    let wide = "Beta(4μ, 4(1 - μ)), ξ = 0.5";
    with_paper(wide, Law::Beta(4.0), 0.5).print(&sizes[1..2], &gaps, runs);
    let narrow = "Beta(20μ, 20(1 - μ)), ξ = 0.5";
    with_paper(narrow, Law::Beta(20.0), 0.5).print(&sizes[1..2], &gaps, runs);

    let higher = [0.015, 0.02, 0.05, 0.07, 0.09, 0.1];
    without_paper("Binary scores, ξ = 0.9", Law::Binary, 0.9).print(&sizes[1..2], &higher, runs);
    for sigma in [0.25, 0.05, 0.01] {
        let name = format!("Normal scores, σ = {sigma}, ξ = 0.5");
        let gaps =
            [0.05, 0.1, 0.2, 0.45, 0.9, 3.0].map(|share: f64| (share * sigma * 1e6).round() / 1e6);
        without_paper(&name, Law::Normal(sigma), 0.5).print(&sizes[1..2], &gaps, runs);
    }
    for declared in [0.0, 0.3] {
        let law = Law::Floored { size: 4.0, floor: 0.3, declared };
        let name = format!("Beta of size 4 from 0.3 to 1, declared from {declared}, ξ = 0.5");
        without_paper(&name, law, 0.5).print(&sizes[1..2], &[0.05, 0.1, 0.2, 0.3, 0.45], runs);
    }
}

/// Everything but the number of pairs and the gap.
struct Table<'a> {
    name: &'a str,
    law: Law,
    threshold: f64,
    /// Whether to show the paper's certificate as well.
    paper: bool,
}

fn with_paper(name: &str, law: Law, threshold: f64) -> Table<'_> {
    Table { name, law, threshold, paper: true }
}

fn without_paper(name: &str, law: Law, threshold: f64) -> Table<'_> {
    Table { name, law, threshold, paper: false }
}

impl Table<'_> {
    fn print(&self, sizes: &[(usize, usize)], gaps: &[f64], runs: u32) {
        let head: String = gaps.iter().map(|gap| format!(" {gap} |")).collect();
        println!("| {}; gap μ - ξ: |{head}", self.name);
        println!("|---|{}", "---:|".repeat(gaps.len()));
        for &(arms, attributes) in sizes {
            let cell = |gap: f64, certificate: Certificate| Cell {
                law: self.law,
                certificate,
                arms,
                attributes,
                threshold: self.threshold,
                gap,
            };
            let rows = [
                ("paper's radius", Certificate::Paper, paper(runs)),
                ("mixture", Certificate::Mixture, runs),
            ];
            for &(name, certificate, runs) in &rows[usize::from(!self.paper)..] {
                let cells: String = gaps
                    .iter()
                    .map(|&gap| shown(cell(gap, certificate).samples(runs, SEED)))
                    .collect();
                println!("| Q = {arms}, M = {attributes}: {name} |{cells}");
            }
            let limits: String = gaps
                .iter()
                .map(|&gap| format!(" {:.1} |", cell(gap, Certificate::Mixture).limit()))
                .collect();
            println!("| Q = {arms}, M = {attributes}: ln(Q/δ)/growth |{limits}");
        }
        println!();
    }
}

/// The paper's radius takes four times the scores, and its numbers vary half as much.
fn paper(runs: u32) -> u32 {
    (runs / 4).max(2)
}

fn shown(estimate: Estimate) -> String {
    let decimals = usize::from(estimate.mean < 1000.0) + usize::from(estimate.mean < 100.0);
    format!(" {:.decimals$} ± {:.decimals$} |", estimate.mean, estimate.error)
}

const SEED: u64 = 1;
