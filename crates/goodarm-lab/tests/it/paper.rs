//! The trace of `bma-gai` with the paper's certificate, line by line against a plain transcription
//! of Algorithm 1: no trees, no bounds kept, every pair looked at before every pull.
//!
//! The transcription takes logs from std, the tool from libm: they may differ in the last bit, which
//! would show only where two numbers of a decision agree to the last bit but one. Prices here are
//! sums of powers of two, so that sums of floating-point numbers are exact.

use serde_json::{Value, json};

use crate::tool::{trace, verifiers};

/// What the paper says, as a table of numbers per pair.
struct Algorithm1 {
    costs: Vec<f64>,
    /// Costs as H sees them: all 1 if it is blind to costs.
    surrogate_costs: Vec<f64>,
    thresholds: Vec<f64>,
    budget: f64,
    delta: f64,
    allocation_constant: f64,
    counts: Vec<Vec<f64>>,
    sums: Vec<Vec<f64>>,
    certificates: Vec<Vec<f64>>,
    active: Vec<bool>,
    certified: Vec<usize>,
    spent: f64,
    time: f64,
}

impl Algorithm1 {
    fn new(problem: &Value) -> Self {
        let arms = problem["arms"].as_u64().map(|arms| usize::try_from(arms).expect("few arms"));
        let arms = arms.expect("a number of arms");
        let costs = of_each(problem, "price");
        let zeros = vec![vec![0.0; costs.len()]; arms];
        let blind = problem["policy"] == "cb-gai";
        Self {
            surrogate_costs: if blind { vec![1.0; costs.len()] } else { costs.clone() },
            costs,
            thresholds: of_each(problem, "threshold"),
            budget: number(&problem["budget"]),
            delta: number(&problem["delta"]),
            allocation_constant: problem["allocation_constant"].as_f64().unwrap_or(8.0),
            counts: zeros.clone(),
            sums: zeros.clone(),
            certificates: zeros,
            active: vec![true; arms],
            certified: Vec::new(),
            spent: 0.0,
            time: 0.0,
        }
    }

    fn pairs(&self) -> f64 {
        real(self.active.len() * self.costs.len())
    }

    fn affordable(&self, m: usize) -> bool {
        self.spent + self.costs[m] <= self.budget
    }

    fn active_arms(&self) -> Vec<usize> {
        (0..self.active.len()).filter(|&q| self.active[q]).collect()
    }

    fn affordable_attributes(&self) -> Vec<usize> {
        (0..self.costs.len()).filter(|&m| self.affordable(m)).collect()
    }

    fn least_pulled(&self) -> (usize, usize) {
        let mut best = None;
        for q in self.active_arms() {
            for m in self.affordable_attributes() {
                if best
                    .is_none_or(|(q0, m0): (usize, usize)| self.counts[q][m] < self.counts[q0][m0])
                {
                    best = Some((q, m));
                }
            }
        }
        best.expect("some arm is active and some attribute affordable")
    }

    /// μ̂ ± √(8 log(t + 1)/N), by the sign; 0 and 1 when N = 0.
    fn interval_end(&self, q: usize, m: usize, sign: f64) -> f64 {
        let count = self.counts[q][m];
        if count < 1.0 {
            return if sign > 0.0 { 1.0 } else { 0.0 };
        }
        let radius = (self.allocation_constant * (self.time + 1.0).ln() / count).sqrt();
        self.sums[q][m] / count + sign * radius
    }

    fn unresolved(&self, q: usize, m: usize) -> bool {
        self.certificates[q][m] < self.thresholds[m]
    }

    fn cost_index(&self, q: usize, sign: f64) -> f64 {
        if !self.affordable_attributes().into_iter().any(|m| self.unresolved(q, m)) {
            return f64::INFINITY;
        }
        let mut sum = 0.0;
        for m in 0..self.costs.len() {
            let end = self.interval_end(q, m, sign);
            if end <= self.thresholds[m] {
                return f64::INFINITY;
            }
            sum += 2.0 * self.surrogate_costs[m] / (end - self.thresholds[m]).powi(2);
        }
        sum
    }

    fn choose(&self) -> (&'static str, usize, usize) {
        let (q, m) = self.least_pulled();
        if self.counts[q][m] < (self.time + 1.0).sqrt() / self.pairs() {
            return ("explore", q, m);
        }
        let conservative = self
            .active_arms()
            .into_iter()
            .map(|q| self.cost_index(q, -1.0))
            .fold(f64::INFINITY, f64::min);
        if conservative.is_infinite() {
            return ("fallback", q, m);
        }
        let target =
            self.active_arms().into_iter().find(|&q| self.cost_index(q, 1.0) <= conservative);
        let target = target.expect("the arm with the smallest H+ is a candidate");
        let mut best: Option<(f64, usize)> = None;
        for m in self.affordable_attributes() {
            if self.unresolved(target, m) {
                let gap = self.interval_end(target, m, 1.0) - self.thresholds[m];
                let ratio = self.counts[target][m] / (2.0 / gap.powi(2));
                if best.is_none_or(|(least, _)| ratio < least) {
                    best = Some((ratio, m));
                }
            }
        }
        ("target", target, best.expect("the target has an affordable unresolved attribute").1)
    }

    fn observe(&mut self, q: usize, m: usize, score: f64) {
        self.spent += self.costs[m];
        self.time += 1.0;
        self.counts[q][m] += 1.0;
        self.sums[q][m] += score;
        let count = self.counts[q][m];
        let radius = (2.0 / count * (4.0 * self.pairs() * count * count / self.delta).ln()).sqrt();
        let lower = self.sums[q][m] / count - radius;
        self.certificates[q][m] = self.certificates[q][m].max(lower);
        if (0..self.costs.len()).all(|m| !self.unresolved(q, m)) {
            self.active[q] = false;
            self.certified.push(q);
        }
    }

    fn is_done(&self) -> bool {
        self.active_arms().is_empty() || self.affordable_attributes().is_empty()
    }
}

fn transcribed(problem: &Value) -> Vec<Value> {
    let mut algorithm = Algorithm1::new(problem);
    let mut turns = vec![vec![0; algorithm.costs.len()]; algorithm.active.len()];
    let mut lines = Vec::new();
    while !algorithm.is_done() {
        let (branch, q, m) = algorithm.choose();
        let scores = numbers(&problem["observations"][q][m]);
        let score = scores[turns[q][m] % scores.len()];
        turns[q][m] += 1;
        algorithm.observe(q, m, score);
        lines.push(json!({
            "t": lines.len() + 1, "branch": branch, "arm": q, "attribute": m, "score": score,
            "spent": algorithm.spent, "certified": algorithm.certified,
        }));
    }
    lines
}

/// The tool and the transcription agree; gives the lines.
fn check(problem: &Value) -> Vec<Value> {
    let (told, expected) = (trace(problem), transcribed(problem));
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(told, expected);
    }
    assert_eq!(told.len(), expected.len());
    told
}

fn branch_count(lines: &[Value], branch: &str) -> usize {
    lines.iter().filter(|line| line["branch"] == branch).count()
}

/// Scores on a grid of 1/1024 within half of `spread` of the pair's mean.
fn problem(seed: u64, means: &[&[f64]], spread: f64) -> Value {
    let mut state = seed;
    let mut score = |mean: f64| {
        // Knuth's MMIX generator; the high bits are the good ones.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let step = u32::try_from(state >> 54).expect("ten bits");
        mean + spread * (f64::from(step) / 1024.0 - 0.5)
    };
    let row = |row: &&[f64]| -> Vec<Vec<f64>> {
        row.iter().map(|&mean| (0..37).map(|_| score(mean)).collect()).collect()
    };
    let observations: Vec<Vec<Vec<f64>>> = means.iter().map(row).collect();
    let (costs, thresholds) = ([1.0, 3.0, 0.5], [0.5, 0.4, 0.6]);
    json!({
        "arms": means.len(), "policy": "bma-gai", "guarantee": "paper",
        "verifiers": verifiers(&costs[..means[0].len()], &thresholds[..means[0].len()]),
        "budget": 2000, "delta": 0.02, "observations": observations,
    })
}

fn with(mut problem: Value, key: &str, value: impl Into<Value>) -> Value {
    problem[key] = value.into();
    problem
}

const ORDINARY: &[&[f64]] = &[&[0.9, 0.3], &[0.7, 0.8], &[0.45, 0.5], &[0.95, 0.9]];
const LARGE: &[&[f64]] = &[&[3.5, 3.0, 5.0], &[9.0, 12.0, 7.0], &[0.3, 6.0, 0.7], &[6.0, 4.0, 3.0]];

/// With an ordinary δ the paper's certificate is narrower than its allocation interval, so arms are
/// certified before they could become targets.
#[test]
fn ordinary_scores_fall_back_all_the_way() {
    let lines = check(&with(problem(1, ORDINARY, 0.4), "budget", 20_000));
    assert_eq!(branch_count(&lines, "target"), 0);
    assert_eq!(lines.last().unwrap()["certified"], json!([3, 1]));
}

#[test]
fn a_tiny_delta_makes_targets_last() {
    for (seed, delta) in [(2, 1e-40), (3, 1e-80), (4, 1e-200)] {
        let lines = check(&with(problem(seed, LARGE, 1.5), "delta", delta));
        assert!(branch_count(&lines, "target") > 20, "{}", branch_count(&lines, "target"));
        assert!(branch_count(&lines, "explore") >= 12);
        assert!(branch_count(&lines, "fallback") > 100);
        assert!(lines.last().unwrap()["certified"].as_array().unwrap().len() >= 2);
    }
}

#[test]
fn everything_can_be_certified_before_the_money_is_spent() {
    let lines = check(&with(problem(5, &[&[4.0, 5.0], &[3.0, 8.0]], 1.0), "delta", 1e-40));
    assert_eq!(lines.last().unwrap()["certified"].as_array().unwrap().len(), 2);
    assert!(number(&lines.last().unwrap()["spent"]) < 1000.0);
}

#[test]
fn budgets_that_run_out_leave_only_cheap_attributes_at_the_end() {
    for quarters in [1, 2, 3, 5, 14, 51, 163, 402, 999] {
        let budget = 0.25 * f64::from(quarters);
        let lines = check(&with(with(problem(6, LARGE, 1.5), "delta", 1e-40), "budget", budget));
        let spent = lines.last().map_or(0.0, |line| number(&line["spent"]));
        assert!(spent <= budget && budget - spent < 0.5);
    }
}

#[test]
fn many_shapes_agree() {
    let shapes: [&[&[f64]]; 5] = [
        &[&[5.0]],
        &[&[0.8], &[0.9], &[0.2]],
        &[&[2.0, 7.0], &[6.0, 3.0], &[6.5, 3.5], &[0.5, 9.0], &[4.0, 4.0]],
        &[&[8.0, 8.0, 8.0], &[8.0, 8.0, 8.0]],
        &[&[3.0], &[4.0], &[5.0], &[6.0], &[7.0], &[8.0], &[1.0], &[2.0], &[9.0], &[10.0]],
    ];
    let mut late_explorations = 0;
    for (seed, means) in (10..).zip(shapes) {
        for delta in [0.3, 0.02, 1e-40, 1e-250] {
            for spread in [0.0, 0.5, 4.0] {
                let problem = with(problem(seed, means, spread), "budget", 700);
                let lines = check(&with(problem, "delta", delta));
                late_explorations += branch_count(&lines, "explore") - means.len() * means[0].len();
            }
        }
    }
    assert!(late_explorations > 0, "exploration comes back while a target takes the pulls");
}

#[test]
fn the_cost_blind_variant_sees_unit_costs() {
    let blind = with(with(problem(7, LARGE, 1.5), "delta", 1e-40), "policy", "cb-gai");
    let lines = check(&blind);
    assert!(branch_count(&lines, "target") > 20);
    assert_ne!(lines, trace(&with(blind, "policy", "bma-gai")));
}

#[test]
fn the_allocation_constant_is_the_eight() {
    let four = with(with(problem(8, LARGE, 1.5), "delta", 1e-40), "allocation_constant", 4.0);
    let lines = check(&four);
    assert_ne!(lines, transcribed(&with(four, "allocation_constant", 8.0)), "a wrong twin differs");
}

fn of_each(problem: &Value, key: &str) -> Vec<f64> {
    let verifiers = problem["verifiers"].as_array().expect("a list");
    verifiers.iter().map(|verifier| number(&verifier[key])).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn real(size: usize) -> f64 {
    f64::from(u32::try_from(size).expect("a small number"))
}
