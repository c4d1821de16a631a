//! `summary.json`: the totals of a run.

use std::collections::BTreeMap;

use goodarm_core::{ArmStatus, Books, Cost};
use serde::{Deserialize, Serialize};

use crate::charter::Charter;
use crate::history::{Call, History};
use crate::job_file::{GuaranteeName, Unit};
use crate::outputs::totals::VerifierTotals;
use crate::outputs::{promise, status_of};
use crate::run::VERSION;

/// The totals of a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Who wrote this.
    pub goodarm: String,
    /// How the run ended, or that it has not.
    pub ending: String,
    /// What delta covers, and what it does not.
    pub promise: String,
    /// The error probability.
    pub delta: f64,
    /// What it bounds.
    pub guarantee: GuaranteeName,
    /// Who chose the calls.
    pub policy: String,
    /// How many candidates there are.
    pub candidates: usize,
    /// How many are certified.
    pub certified: usize,
    /// How many the evidence speaks against.
    pub rejected: usize,
    /// How many are neither.
    pub undecided: usize,
    /// Where the money is.
    pub money: Money,
    /// Calls that came back.
    pub calls: u64,
    /// Milliseconds since 1970 of the first and the last event.
    pub span_millis: [u64; 2],
    /// Verifier by verifier.
    pub verifiers: Vec<VerifierSummary>,
}

/// Where the money is: exact decimals.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// What it counts.
    pub unit: Unit,
    /// The hard limit.
    pub budget: String,
    /// Paid.
    pub spent: String,
    /// Set aside for calls that are out.
    pub reserved: String,
    /// Neither.
    pub left: String,
    /// Paid for calls without a score.
    pub spent_on_failures: String,
    /// Bills above their ceiling.
    pub overruns: u64,
    /// By how much, in all.
    pub overrun: String,
    /// The budget at the start, and what it was raised to.
    pub budgets: Vec<String>,
}

/// The totals of one verifier.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VerifierSummary {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// The mean score that is asked for.
    pub threshold: f64,
    /// The most that a call may cost.
    pub ceiling: f64,
    /// Calls that came back.
    pub calls: u64,
    /// Paid.
    pub spent: String,
    /// The mean of all scores.
    pub mean_score: Option<f64>,
    /// Seconds a call took on the average.
    pub mean_latency: Option<f64>,
    /// Failures by name.
    pub failures: BTreeMap<String, u64>,
}

/// Gathers the totals of all calls.
#[derive(Clone, Debug)]
pub struct Totals {
    charter: Charter,
    verifiers: Vec<VerifierTotals>,
    budgets: Vec<String>,
    span_millis: [u64; 2],
}

impl Totals {
    /// Nothing yet.
    pub fn new(charter: &Charter) -> Self {
        Self {
            verifiers: vec![VerifierTotals::default(); charter.verifiers.len()],
            budgets: vec![charter.budget.to_string()],
            charter: charter.clone(),
            span_millis: [0, 0],
        }
    }

    /// One more call.
    pub fn take(&mut self, call: &Call) {
        let totals = &mut self.verifiers[call.attribute.index()];
        totals.take(call.outcome, call.cost, call.latency);
    }

    /// The budget was raised.
    pub fn raised(&mut self, _event: u64, budget: Cost) {
        self.budgets.push(budget.to_string());
    }

    /// That was all.
    pub fn close(&mut self, history: &History) {
        let (first, last) = history.span_millis();
        self.span_millis = [first, last];
    }
}

impl Summary {
    /// The totals of a run.
    pub fn new(totals: &Totals, books: &Books, ending: &str) -> Self {
        let ledger = books.ledger();
        let charter = &totals.charter;
        let count = |status: ArmStatus| {
            books.problem().arms().filter(|&arm| status_of(books, arm) == status).count()
        };
        let spent_on_failures = totals
            .verifiers
            .iter()
            .fold(Cost::ZERO, |sum, verifier| sum.saturating_add(verifier.spent_on_failures));
        Self {
            goodarm: VERSION.to_owned(),
            ending: ending.to_owned(),
            promise: promise(charter),
            delta: charter.delta,
            guarantee: charter.guarantee,
            policy: charter.policy.clone(),
            candidates: charter.candidate_count,
            certified: books.certified().len(),
            rejected: count(ArmStatus::Rejected),
            undecided: count(ArmStatus::Undecided),
            money: Money {
                unit: charter.unit,
                budget: ledger.budget().to_string(),
                spent: ledger.settled().to_string(),
                reserved: ledger.reserved().to_string(),
                left: ledger.left().to_string(),
                spent_on_failures: spent_on_failures.to_string(),
                overruns: ledger.overrun_count(),
                overrun: ledger.overrun().to_string(),
                budgets: totals.budgets.clone(),
            },
            calls: totals.verifiers.iter().map(|verifier| verifier.call_count).sum(),
            span_millis: totals.span_millis,
            verifiers: verifier_summaries(totals),
        }
    }
}

fn verifier_summaries(totals: &Totals) -> Vec<VerifierSummary> {
    totals
        .charter
        .verifiers
        .iter()
        .zip(&totals.verifiers)
        .map(|(clause, totals)| VerifierSummary {
            name: clause.name.clone(),
            kind: clause.kind.clone(),
            threshold: clause.threshold,
            ceiling: clause.ceiling.units(),
            calls: totals.call_count,
            spent: totals.spent.to_string(),
            mean_score: totals.mean_score(),
            mean_latency: totals.mean_latency(),
            failures: totals
                .failures
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
        })
        .collect()
}
