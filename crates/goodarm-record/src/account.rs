//! Totals for people beside the books: calls, failures, money and time. Live runs, summaries, reports and
//! audits count the same way. No decision depends on them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use goodarm_core::{
    ArmId, AttributeId, BlockingFailure, Books, Cost, Event, Failure, Outcome, ServiceId, Source,
    Target, VoidFailure,
};

use crate::history::{JournalEntry, SettledCall};
use crate::reply::ServiceWarning;

/// The totals of a run, call by call.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Calls, bills and warnings of each service: verifiers, then generators.
    pub services: Vec<ServiceTotals>,
    /// Outcomes by attribute: each criterion of a verifier is one.
    pub attributes: Vec<OutcomeTotals>,
    /// The budget at the start, and what it was raised to.
    pub budgets: Vec<Cost>,
    /// The run's spend at each certificate, in the order of the certificates.
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
    /// Failures by cause ([`crate::reply::Delivery::cause`]), including scores that a reply lacks.
    pub failures: BTreeMap<Cow<'static, str>, u64>,
    /// Failures that count as the lowest score.
    pub counted_failure_count: u64,
    /// The reason of the first failure that counts as the lowest score, or of an exact call without a verdict.
    pub first_failure: Option<String>,
    /// The first reason for a call that was not made, except that the run stopped.
    pub first_obstacle: Option<String>,
    /// Answers that take no more calls, and why; for calls about questions, the questions by their numbers.
    pub blocked: BTreeMap<ArmId, BlockingFailure>,
}

/// One service's calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceTotals {
    /// The outcomes of its calls. A call has failed if it has no score for any criterion.
    pub outcomes: OutcomeTotals,
    /// What is believed to be owed for its calls.
    pub spent: Cost,
    /// Calls without a score, by cause.
    pub failed: BTreeMap<Cow<'static, str>, FailureCost>,
    /// Calls whose bills are not known.
    pub unknown_bill_count: u64,
    /// Calls with a score that may have cost the ceiling.
    pub scored_at_ceiling_count: u64,
    /// Requests that began no work, because they were throttled or the service was not reached.
    pub throttled_count: u64,
    /// Calls by the index of the address that replied, if there are several addresses.
    pub addresses: BTreeMap<u16, AddressTotals>,
    /// Warnings about the service, each once.
    pub warnings: Vec<ServiceWarning>,
    latency_sum: f64,
    /// Calls that count for the mean price: all that were made.
    priced_count: u64,
}

/// The cost of calls that failed for the same cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureCost {
    /// How many calls.
    pub call_count: u64,
    /// What is believed to be owed for them.
    pub spent: Cost,
    /// The most that may be owed.
    pub possible: Cost,
}

/// The calls that one address of a service replied to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AddressTotals {
    /// How many calls.
    pub call_count: u64,
    /// Calls without a score or an answer.
    pub failure_count: u64,
    /// The sum of all single scores, and their number.
    pub scores: (f64, u64),
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

    /// Adds an entry, after the books have taken it.
    pub fn take(&mut self, books: &Books, entry: &JournalEntry<'_>) {
        if let Some(call) = &entry.call {
            self.take_call(books, call);
        }
        if let Event::BudgetRaised { budget } = entry.event {
            self.budgets.push(budget);
        }
    }

    /// Adds a call, after the books have taken it.
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
    /// Adds a call, with its failure for this service or criterion. Returns false if the call was not made.
    fn take(&mut self, call: &SettledCall<'_>, failure: Option<Failure>) -> bool {
        if is_unmade(call) {
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
        if matches!(failure, Failure::Counted(_) | Failure::Void(VoidFailure::NoVerdict)) {
            self.counted_failure_count += u64::from(matches!(failure, Failure::Counted(_)));
            self.first_failure.get_or_insert_with(|| call.note.reason.to_string());
        }
        *self.failures.entry(call.note.delivery.cause(failure)).or_default() += 1;
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

    /// Calls with a score.
    pub fn score_count(&self) -> u64 {
        self.call_count - self.failure_count()
    }
}

impl ServiceTotals {
    fn take(&mut self, call: &SettledCall<'_>, ceiling: Cost) {
        self.throttled_count += u64::from(call.note.delivery.throttled_count);
        if self.outcomes.take(call, call.failure()) {
            self.pay(call, ceiling);
            self.take_address(call);
        }
    }

    fn take_address(&mut self, call: &SettledCall<'_>) {
        let Some(address) = call.note.delivery.address else { return };
        let totals = self.addresses.entry(address).or_default();
        totals.call_count += 1;
        totals.failure_count += u64::from(call.outcome.is_failed());
        if let Outcome::Score(score) = call.outcome {
            totals.scores.0 += score;
            totals.scores.1 += 1;
        }
    }

    /// What is believed to be owed for calls without a score.
    pub fn spent_on_failures(&self) -> Cost {
        self.failed.values().map(|cost| cost.spent).fold(Cost::ZERO, Cost::saturating_add)
    }

    fn pay(&mut self, call: &SettledCall<'_>, ceiling: Cost) {
        let bill = call.bill;
        self.spent = self.spent.saturating_add(bill.settled());
        self.unknown_bill_count += u64::from(bill.uncertain() > Cost::ZERO);
        self.latency_sum += call.note.latency.as_secs_f64();
        if let Some(warning) = &call.note.warning
            && !self.warnings.contains(warning)
        {
            self.warnings.push(warning.clone());
        }
        match call.failure() {
            Some(failure) => {
                let cost = self.failed.entry(call.note.delivery.cause(failure)).or_default();
                cost.call_count += 1;
                cost.spent = cost.spent.saturating_add(bill.settled());
                cost.possible = cost.possible.saturating_add(bill.possible());
            }
            None => self.scored_at_ceiling_count += u64::from(bill.possible() == ceiling),
        }
        self.priced_count += u64::from(!call.failure().is_some_and(Failure::is_free));
    }

    /// What a call that reached the verifier cost on average.
    pub fn mean_price(&self) -> Option<f64> {
        mean(self.spent.units(), self.priced_count)
    }

    /// Seconds a call took on average.
    pub fn mean_latency(&self) -> Option<f64> {
        mean(self.latency_sum, self.outcomes.call_count)
    }
}

/// Whether the call was asked for and not made.
const fn is_unmade(call: &SettledCall<'_>) -> bool {
    matches!(
        call.failure(),
        Some(Failure::Void(VoidFailure::NotConnected | VoidFailure::RateLimited))
    )
}

/// A mean for people; `None` of nothing.
pub(crate) fn mean(sum: f64, count: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "means for people")]
    (count > 0).then(|| sum / count as f64)
}
