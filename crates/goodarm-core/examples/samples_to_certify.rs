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
    let normal =
        Table { name: "Normal scores, σ = 1, ξ = 0.5", law: Law::Normal, threshold: 0.5 };
    normal.print(&sizes, &gaps, runs);
    let binary = Table { name: "Binary scores, ξ = 0.5", law: Law::Binary, threshold: 0.5 };
    binary.print(&sizes, &with_certainty, runs);
    let high = Table { name: "Binary scores, ξ = 0.8", law: Law::Binary, threshold: 0.8 };
    high.print(&sizes[1..2], &[0.05, 0.1, 0.15, 0.19], runs);
    let wide =
        Table { name: "Beta(4μ, 4(1 - μ)), ξ = 0.5", law: Law::Beta(4.0), threshold: 0.5 };
    wide.print(&sizes[1..2], &gaps, runs);
    let narrow =
        Table { name: "Beta(20μ, 20(1 - μ)), ξ = 0.5", law: Law::Beta(20.0), threshold: 0.5 };
    narrow.print(&sizes[1..2], &gaps, runs);
}

/// Everything but the number of pairs and the gap.
struct Table {
    name: &'static str,
    law: Law,
    threshold: f64,
}

impl Table {
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
            for (name, certificate, runs) in [
                ("paper's radius", Certificate::Paper, paper(runs)),
                ("mixture", Certificate::Mixture, runs),
            ] {
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
