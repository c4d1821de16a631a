//! Totals for people beside the books: calls, failures, money and time. Live runs, summaries, reports and
//! audits count the same way. No decision depends on them.

use std::collections::BTreeMap;
use std::time::Duration;

use goodarm_core::{
    ArmId, AttributeId, BlockingFailure, Books, Cost, Event, Failure, ServiceId, Source, Target,
    VoidFailure,
};

use crate::history::{JournalEntry, SettledCall};
use crate::reply::ServiceWarning;

/// The totals of a run, call by call.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Calls, bills and warnings of each service: verifiers, then generators.
    services: Vec<ServiceTotals>,
    /// Outcomes by attribute: each criterion of a verifier is one.
    attributes: Vec<OutcomeTotals>,
    /// The budget at the start, and what it was raised to.
    pub budgets: Vec<Cost>,
    /// What was spent when each certificate was reached, in their order.
    pub spent_at: Vec<Cost>,
    /// How many answers the run began with.
    pub began_with: usize,
}

/// Counts of outcomes: of a service, or of one criterion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutcomeTotals {
    /// Calls that were made and came back.
    pub call_count: u64,
    /// Calls that were asked for and not made, because the run stopped or the verifier was not there.
    pub unmade_count: u64,
    /// Failures by name, including scores that a reply lacks.
    pub failures: BTreeMap<&'static str, u64>,
    /// Failures that count as the lowest score.
    pub counted_failure_count: u64,
    /// Why the first call failed that counts as the lowest score.
    pub first_failure: Option<String>,
    /// Why the verifier was not called, if the reason is not just that the run stopped.
    pub first_obstacle: Option<String>,
    /// Answers, or questions, that take no more of its calls, and why.
    pub blocked: BTreeMap<ArmId, BlockingFailure>,
}

/// One service's calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceTotals {
    /// Their outcomes. A call has failed if it has no score for any criterion.
    pub outcomes: OutcomeTotals,
    /// Paid.
    pub spent: Cost,
    /// Paid for calls without a score.
    pub spent_on_failures: Cost,
    /// The part of it that was paid at the ceiling because the bill is not known.
    pub failures_at_ceiling: Cost,
    /// Calls with a score that were paid at the ceiling.
    pub scored_at_ceiling_count: u64,
    /// What was remarked about it, each once.
    pub warnings: Vec<ServiceWarning>,
    latency_sum: f64,
    latencies: Latencies,
}

impl Account {
    /// Empty totals.
    pub fn new(books: &Books) -> Self {
        let problem = books.problem();
        Self {
            services: vec![ServiceTotals::default(); problem.service_count()],
            attributes: vec![OutcomeTotals::default(); problem.attribute_count()],
            budgets: vec![problem.budget()],
            spent_at: Vec::new(),
            began_with: problem.arm_count(),
        }
    }

    /// Adds an entry that the books have already.
    pub fn take(&mut self, books: &Books, entry: &JournalEntry<'_>) {
        if let Some(call) = &entry.call {
            self.take_call(books, call);
        }
        if let Event::BudgetRaised { budget } = entry.event {
            self.budgets.push(budget);
        }
    }

    /// Adds a call that the books have already.
    pub fn take_call(&mut self, books: &Books, call: &SettledCall<'_>) {
        let problem = books.problem();
        let service = problem.service(call.target);
        self.services[service.index()].take(call, problem.price(service));
        match call.target {
            Target::Arm(_, lead) => {
                for (criterion, &attribute) in problem.members(lead).iter().enumerate() {
                    let outcome = call.outcome_for(criterion, problem.attribute(attribute));
                    self.attributes[attribute.index()].take(call, outcome.err());
                }
            }
            Target::Question(_, Source::Votes(attribute)) => {
                self.attributes[attribute.index()].take(call, call.failure());
            }
            Target::Question(_, Source::Generator(_)) => {}
        }
        let certified_count = books.certified().len();
        if certified_count > self.spent_at.len() {
            self.spent_at.resize(certified_count, books.ledger().settled());
        }
    }

    /// Totals of a service.
    pub fn service(&self, service: ServiceId) -> &ServiceTotals {
        &self.services[service.index()]
    }

    /// Totals of all services.
    pub fn services(&self) -> &[ServiceTotals] {
        &self.services
    }

    /// Outcomes of each attribute.
    pub fn attributes(&self) -> &[OutcomeTotals] {
        &self.attributes
    }

    /// Outcomes of one attribute.
    pub fn attribute(&self, attribute: AttributeId) -> &OutcomeTotals {
        &self.attributes[attribute.index()]
    }

    /// Calls that were made and came back.
    pub fn call_count(&self) -> u64 {
        self.services.iter().map(|totals| totals.outcomes.call_count).sum()
    }

    /// Calls that were asked for and not made.
    pub fn unmade_count(&self) -> u64 {
        self.services.iter().map(|totals| totals.outcomes.unmade_count).sum()
    }

    /// Calls that came back without any score.
    pub fn failure_count(&self) -> u64 {
        self.services.iter().map(|totals| totals.outcomes.failure_count()).sum()
    }

    /// An amount, summed over all services.
    pub fn sum(&self, part: impl Fn(&ServiceTotals) -> Cost) -> Cost {
        self.services.iter().map(part).fold(Cost::ZERO, Cost::saturating_add)
    }
}

impl OutcomeTotals {
    /// Adds a call and how it failed here; false if it was not made.
    fn take(&mut self, call: &SettledCall<'_>, failure: Option<Failure>) -> bool {
        if let Some(Failure::Void(VoidFailure::NotConnected | VoidFailure::RateLimited)) =
            call.failure()
        {
            self.unmade_count += 1;
            if !call.note.reason.is_empty() {
                self.first_obstacle.get_or_insert_with(|| call.note.reason.to_string());
            }
            return false;
        }
        self.call_count += 1;
        if let Some(failure) = failure {
            self.take_failure(call, failure);
        }
        true
    }

    fn take_failure(&mut self, call: &SettledCall<'_>, failure: Failure) {
        if matches!(failure, Failure::Counted(_)) {
            self.counted_failure_count += 1;
            self.first_failure.get_or_insert_with(|| call.note.reason.to_string());
        }
        *self.failures.entry(failure.name()).or_default() += 1;
        if let Failure::Blocking(failure) = failure {
            let place = match call.target {
                Target::Arm(arm, _) => arm,
                Target::Question(question, _) => ArmId(question.0),
            };
            self.blocked.entry(place).or_insert(failure);
        }
    }

    /// Calls without a score.
    pub fn failure_count(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Calls with one.
    pub fn score_count(&self) -> u64 {
        self.call_count - self.failure_count()
    }
}

impl ServiceTotals {
    fn take(&mut self, call: &SettledCall<'_>, ceiling: Cost) {
        if self.outcomes.take(call, call.failure()) {
            self.pay(call, ceiling);
        }
    }

    fn pay(&mut self, call: &SettledCall<'_>, ceiling: Cost) {
        self.spent = self.spent.saturating_add(call.cost);
        self.latency_sum += call.note.latency.as_secs_f64();
        if let Some(warning) = &call.note.warning
            && !self.warnings.contains(warning)
        {
            self.warnings.push(warning.clone());
        }
        let is_failed = call.outcome.is_failed();
        self.scored_at_ceiling_count += u64::from(!is_failed && call.cost == ceiling);
        if is_failed {
            self.spent_on_failures = self.spent_on_failures.saturating_add(call.cost);
            if call.cost == ceiling {
                self.failures_at_ceiling = self.failures_at_ceiling.saturating_add(call.cost);
            }
        }
        // Calls that never reached the verifier, or were lost, have no time and no price.
        let is_unknown = matches!(
            call.failure(),
            Some(Failure::Void(_) | Failure::Blocking(BlockingFailure::Exhausted))
        );
        if !is_unknown {
            self.latencies.take(call.note.latency);
        }
    }

    /// What a call that reached the verifier cost on average.
    pub fn mean_price(&self) -> Option<f64> {
        mean(self.spent.units(), self.latencies.count)
    }

    /// Seconds that all calls took together.
    pub const fn latency_sum(&self) -> f64 {
        self.latency_sum
    }

    /// Seconds a call took on average.
    pub fn mean_latency(&self) -> Option<f64> {
        mean(self.latency_sum, self.outcomes.call_count)
    }

    /// Seconds that this share of all calls that reached the verifier stayed below.
    pub fn latency_quantile(&self, share: f64) -> Option<f64> {
        self.latencies.quantile(share)
    }
}

/// A histogram of latencies, in steps of less than 1 %: its size does not depend on the number of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Latencies {
    counts: BTreeMap<Step, u64>,
    count: u64,
}

impl Latencies {
    fn take(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        *self.counts.entry(Step::of(nanos)).or_default() += 1;
        self.count += 1;
    }

    fn quantile(&self, share: f64) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a rank for people")]
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most count"
        )]
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        let step = self.counts.iter().find_map(|(&step, &count)| {
            below += count;
            (below >= rank).then_some(step)
        });
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        step.map(|step| step.middle() as f64 / 1e9)
    }
}

/// Numbers of nanoseconds with the same leading bits, ordered by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// How many bits follow the leading ones.
    shift: u32,
    leading: u64,
}

impl Step {
    const fn of(nanos: u64) -> Self {
        let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(LEADING_BITS);
        Self { shift, leading: nanos >> shift }
    }

    const fn middle(self) -> u64 {
        (self.leading << self.shift) + ((1 << self.shift) >> 1)
    }
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "means for people")]
    (count > 0).then(|| sum / count as f64)
}

const LEADING_BITS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(millis: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        millis.iter().for_each(|&millis| latencies.take(Duration::from_millis(millis)));
        latencies
    }

    #[test]
    fn quantiles_are_within_a_hundredth_of_values_that_occurred() {
        let latencies = latencies(&[4000, 1000, 3000, 2000]);
        for (share, expected) in [(0.0, 1.0), (0.5, 2.0), (0.95, 4.0), (1.0, 4.0)] {
            let found = latencies.quantile(share).unwrap();
            assert!((found / expected - 1.0_f64).abs() < 0.005, "{share}: {found}");
        }
    }

    #[test]
    fn no_calls_have_no_quantile_and_no_latency_is_too_long() {
        assert_eq!(latencies(&[]).quantile(0.5), None);
        let mut longest = Latencies::default();
        longest.take(Duration::MAX);
        assert!(longest.quantile(0.5).unwrap() > 1e10);
    }

    #[test]
    fn steps_are_in_order_and_hold_what_they_are_made_from() {
        let mut last = Step::of(0);
        for nanos in (0..100_000).chain((17..63).map(|bit| 1 << bit)) {
            let step = Step::of(nanos);
            assert!(step >= last, "{nanos}");
            assert!(step.middle().abs_diff(nanos) <= nanos / 200 + 1, "{nanos}");
            last = step;
        }
    }
}
