//! A run in numbers. The summary, the report, the live page, texts and JSON are all made from this one view.

mod answer;
pub(crate) mod claim;
pub mod noise;
pub mod questions;
mod uniform;
pub mod warnings;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use goodarm_core::{ArmStatus, AttributeId, Books, Cost, Failure};
use goodarm_files::words::{money, number, were};
use serde::{Serialize, Serializer};

use crate::account::{Account, FailureCost, ServiceTotals, mean};
use crate::ending::EndingView;
use crate::job_file::{GuaranteeName, Scores, Unit};
use crate::journal::Mark;
use crate::journal::VERSION;
use crate::reply::MeanOver;
use crate::terms::{CallTerms, RunTerms, VerifierTerms};
pub use crate::view::answer::{AnswerView, Finding, LoanView, PairView};
pub use crate::view::claim::{ClaimView, LabellerView};
use crate::view::noise::Noise;
use crate::view::questions::QuestionsView;
pub use crate::view::uniform::UniformCost;
use crate::view::warnings::{BELOW_LOWEST, Warning, warnings};

/// The run as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The version that made this.
    pub goodarm: String,
    /// The run's folder; empty where it does not matter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// How the run ended; `None` while it runs, or if it was stopped without saving.
    pub ending: Option<EndingView>,
    /// The part of the journal that this was made from; `None` during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<Mark>,
    /// What people's labels prove about the certified answers, if there are labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimView>,
    /// The sentence about what delta covers, and what it does not.
    pub promise: String,
    /// Why the promise may not hold, if there is a reason.
    pub doubt: Option<String>,
    /// What a certified mean score is the mean over, in words.
    pub mean_over: &'static str,
    /// The error probability.
    pub delta: f64,
    /// What delta bounds.
    pub guarantee: GuaranteeName,
    /// The policy that chose the calls.
    pub policy: String,
    /// The questions, if candidates are answers to questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionsView>,
    /// How many runs came before this one in its folder, were moved aside, and had made calls.
    pub earlier_runs: u32,
    /// How many candidates there are.
    pub candidates: usize,
    /// How many candidates were added after the run began.
    pub added: usize,
    /// How many candidates are certified.
    pub certified: usize,
    /// How many candidates are rejected.
    pub rejected: usize,
    /// How many candidates are neither certified nor rejected.
    pub undecided: usize,
    /// Calls that came back.
    pub calls: u64,
    /// Calls that are in flight, or were when the process died.
    #[serde(rename = "out")]
    pub in_flight: usize,
    /// How many calls in flight wait for a person.
    pub for_people: usize,
    /// Milliseconds since 1970 of the first and the last event.
    pub span_millis: [u64; 2],
    /// Seconds between these two events; during the run, since this process began or resumed it.
    pub seconds: f64,
    /// The average over the run; during the run, the recent rate.
    pub calls_per_second: Option<f64>,
    /// Budget, spend and reserves.
    pub money: MoneyView,
    /// The shares of δ, if they are lent.
    pub shares: Option<Shares>,
    /// What checking every answer alike would have cost: an estimate.
    pub uniform: Option<UniformCost>,
    /// The number of certified answers by spend, with an entry for each certificate; for plots only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Vec<CoverageStep>>,
    /// Each verifier, or each of its criteria.
    pub verifiers: Vec<VerifierView>,
    /// The sentence about failed calls, if they took more than 5 % of the spending, or keep more than that of the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_note: Option<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// The money of a run: exact decimals.
#[derive(Clone, Debug, Serialize)]
pub struct MoneyView {
    /// The unit of all amounts.
    pub unit: Unit,
    /// The hard limit.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub budget: Cost,
    /// What is believed to be owed for finished calls.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent: Cost,
    /// The most that may be owed: spent, reserved, and the rest up to the ceiling of calls whose bills are not known. The
    /// budget bounds this amount.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub possible: Cost,
    /// Reserved for calls in flight.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub reserved: Cost,
    /// What is left of the budget beyond `possible`.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub left: Cost,
    /// Paid for calls without a score.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent_on_failures: Cost,
    /// How many finished calls have bills that are not known.
    pub unknown_bills: u64,
    /// Calls without a score by cause, those that may have cost most first.
    pub failed: Vec<FailedView>,
    /// The number of bills above their ceiling.
    pub overruns: u64,
    /// The sum of the amounts by which bills exceed their ceilings.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub overrun: Cost,
    /// The budget at the start, and what it was raised to.
    #[serde(serialize_with = "exact_list")]
    pub budgets: Vec<Cost>,
}

/// Calls that failed for the same cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedView {
    /// The HTTP status, such as `HTTP 500`, or the name of the failure.
    pub cause: String,
    /// How many calls.
    pub calls: u64,
    /// What is believed to be owed for them.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent: Cost,
    /// The most that may be owed.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub possible: Cost,
}

/// The shares of δ, if they are lent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// Shares that are lent, and neither returned nor released.
    pub out: usize,
    /// The part of δ that is left to lend.
    pub left: f64,
}

/// One certificate: the spend and the number of certified answers at that time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoverageStep {
    /// The spend at that time, in the run's unit.
    pub spent: f64,
    /// Answers certified by then.
    pub certified: usize,
}

/// One verifier, or one of its criteria, over all answers.
#[derive(Clone, Debug, Serialize)]
pub struct VerifierView {
    /// What reports call it.
    pub name: String,
    /// The verifier, if this is one of its criteria.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criterion_of: Option<String>,
    /// The earlier criterion whose calls also score this one: their cost and time are counted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_with: Option<String>,
    /// The kind of the verifier, such as `llm`.
    pub kind: String,
    /// Whether its score for an answer never changes, so that one call is enough.
    pub exact: bool,
    /// Whether it is a solver: each call is a vote for one answer to a question, or for none of the answers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub votes: bool,
    /// The mean score that is asked for.
    pub threshold: f64,
    /// The most that a call may cost.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub ceiling: Cost,
    /// Calls that came back.
    pub calls: u64,
    /// What its mean scores are the mean of.
    pub mean_over: MeanOver,
    /// Failures by cause: an HTTP status, or the name of a failure.
    pub failures: BTreeMap<Cow<'static, str>, u64>,
    /// Requests that began no work, because they were throttled or the verifier was not reached.
    pub throttled: u64,
    /// What each address gave, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressView>,
    /// Answers that take no more of its calls, by the failure that was the reason.
    pub blocked: BTreeMap<&'static str, u64>,
    /// Paid.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent: Cost,
    /// Paid for certified, undecided and rejected answers.
    #[serde(serialize_with = "exact_list")]
    pub spent_by_status: [Cost; 3],
    /// Paid for answered questions, and for open ones; only in reports.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact_pair")]
    pub spent_by_question: Option<[Cost; 2]>,
    /// Paid for calls without a score.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent_on_failures: Cost,
    /// The mean of all scores, with failed calls as the lowest; `None` before the first score, and after a score below
    /// the declared lowest.
    pub mean_score: Option<f64>,
    /// What a call cost on average.
    pub mean_price: Option<f64>,
    /// Seconds a call took on average.
    pub mean_latency: Option<f64>,
    /// How often it contradicts itself; only in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// One address of a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AddressView {
    /// The address, without secrets.
    pub address: String,
    /// Calls that it replied to, or failed.
    pub calls: u64,
    /// Calls without a score or an answer.
    pub failures: u64,
    /// The mean of its scores; `None` without a single score.
    pub mean_score: Option<f64>,
}

impl AddressView {
    /// All addresses of a service; empty if it has only one.
    pub(crate) fn all(terms: &CallTerms, totals: &ServiceTotals) -> Vec<Self> {
        let view = |(index, address): (u16, &String)| {
            let own = totals.addresses.get(&index).copied().unwrap_or_default();
            let (sum, count) = own.scores;
            Self {
                address: address.clone(),
                calls: own.call_count,
                failures: own.failure_count,
                mean_score: mean(sum, count),
            }
        };
        (0..).zip(&terms.addresses).map(view).collect()
    }
}

impl Overview {
    /// The overview without the parts that go through every answer: cheap to compute during a run.
    pub fn new(terms: &RunTerms, books: &Books, account: &Account) -> Self {
        let candidates = books.problem().arm_count();
        let certified = books.certified().len();
        let rejected = books.status_count(ArmStatus::Rejected);
        let verifiers: Vec<VerifierView> = books
            .problem()
            .attributes()
            .map(|attribute| verifier(terms, books, account, attribute))
            .collect();
        let warnings = warnings(terms, account);
        let money = MoneyView::new(terms, books, account);
        Self {
            goodarm: VERSION.to_owned(),
            folder: String::new(),
            ending: None,
            journal: None,
            claim: None,
            promise: promise(terms),
            doubt: doubt(&warnings),
            mean_over: mean_over(terms),
            delta: terms.delta,
            guarantee: terms.guarantee,
            policy: terms.policy.clone(),
            questions: QuestionsView::new(terms, books, account),
            earlier_runs: terms.earlier_runs,
            candidates,
            added: candidates - account.began_with,
            certified,
            rejected,
            undecided: candidates - certified - rejected,
            calls: account.call_count(),
            in_flight: books.in_flight_count(),
            for_people: for_people(terms, books),
            span_millis: [0, 0],
            seconds: 0.0,
            calls_per_second: None,
            failures_note: money.failures_note(),
            money,
            shares: books.lending().map(|lending| Shares {
                out: lending.out_count(),
                left: lending.pool().fraction(),
            }),
            uniform: None,
            coverage: None,
            notes: earlier_runs(terms)
                .into_iter()
                .chain(warnings.into_iter().map(|warning| warning.text))
                .collect(),
            verifiers,
        }
    }

    /// The overview with the parts that go through every answer, for a run that has ended.
    pub fn in_full(terms: &RunTerms, books: &Books, account: &Account) -> Self {
        let mut overview = Self::new(terms, books, account);
        for (view, attribute) in overview.verifiers.iter_mut().zip(books.problem().attributes()) {
            for arm in books.problem().arms() {
                let status = books.status(arm);
                let place = ArmStatus::ALL.iter().position(|&other| other == status);
                let sum = &mut view.spent_by_status[place.unwrap_or_default()];
                *sum = sum.saturating_add(books.tally(arm, attribute).spent);
            }
        }
        overview.uniform = uniform::uniform(books, &overview.verifiers);
        overview
    }

    /// Sets the times of the first and the last event, the seconds between them, and the rate of calls.
    pub fn set_span(&mut self, span_millis: [u64; 2]) {
        let [first, last] = span_millis;
        self.span_millis = span_millis;
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let (seconds, calls) = (last.saturating_sub(first) as f64 / 1000.0, self.calls as f64);
        self.seconds = seconds;
        self.calls_per_second = (seconds > 0.0).then(|| calls / seconds);
    }
}

impl MoneyView {
    fn new(terms: &RunTerms, books: &Books, account: &Account) -> Self {
        let ledger = books.ledger();
        Self {
            unit: terms.unit,
            budget: ledger.budget(),
            spent: ledger.settled(),
            possible: ledger.possible(),
            reserved: ledger.reserved(),
            left: ledger.left(),
            spent_on_failures: account.sum(ServiceTotals::spent_on_failures),
            unknown_bills: account.services.iter().map(|it| it.unknown_bill_count).sum(),
            failed: failed(account),
            overruns: ledger.overrun_count(),
            overrun: ledger.overrun(),
            budgets: account.budgets.clone(),
        }
    }

    /// The sentence about failed calls, if they took more than 5 % of the spending, or keep more than that of the budget.
    fn failures_note(&self) -> Option<String> {
        let sum = |of: fn(&FailedView) -> Cost| {
            self.failed.iter().map(of).fold(Cost::ZERO, Cost::saturating_add)
        };
        let (spent, possible) = (sum(|failed| failed.spent), sum(|failed| failed.possible));
        let kept = possible.saturating_sub(spent);
        let finished = self.possible.saturating_sub(self.reserved);
        if spent.units() <= FAILURES_SHARE_MAX * self.spent.units()
            && kept.units() <= FAILURES_SHARE_MAX * finished.units()
        {
            return None;
        }
        let causes = self.failed.iter().filter(|failed| failed.possible > Cost::ZERO);
        let causes = causes.map(|failed| format!("{} × {}", number(failed.calls), failed.cause));
        let causes = causes.collect::<Vec<_>>().join(", ");
        let share = 100.0 * spent.units() / self.spent.units().max(f64::MIN_POSITIVE);
        let mut text = format!("failed calls took {share:.0} % of the spending: {causes}");
        if kept > Cost::ZERO {
            text += &format!(
                ". Their bills are not all known, so the budget keeps {} more for them; failed = \"mean\" in the job keeps the mean of other bills",
                money(kept, self.unit)
            );
        }
        Some(text)
    }
}

/// Calls without a score by cause, those that may have cost most first.
fn failed(account: &Account) -> Vec<FailedView> {
    let mut by_cause: BTreeMap<&str, FailureCost> = BTreeMap::new();
    for (cause, cost) in account.services.iter().flat_map(|totals| &totals.failed) {
        let sum = by_cause.entry(cause).or_default();
        sum.call_count += cost.call_count;
        sum.spent = sum.spent.saturating_add(cost.spent);
        sum.possible = sum.possible.saturating_add(cost.possible);
    }
    let view = |(cause, cost): (&str, FailureCost)| FailedView {
        cause: cause.to_owned(),
        calls: cost.call_count,
        spent: cost.spent,
        possible: cost.possible,
    };
    let mut views: Vec<FailedView> = by_cause.into_iter().map(view).collect();
    views.sort_by_key(|view| std::cmp::Reverse((view.possible, view.calls)));
    views
}

fn verifier(
    terms: &RunTerms,
    books: &Books,
    account: &Account,
    attribute: AttributeId,
) -> VerifierView {
    let index = attribute.index();
    let (own, totals) = (&terms.verifiers[index], account.attribute(attribute));
    // Cost and time of a call are counted for the first criterion.
    let is_paid = terms.is_called(index);
    let paid = is_paid.then(|| account.service(books.problem().service_of(attribute)));
    let mut blocked = BTreeMap::new();
    for &failure in totals.blocked.values() {
        *blocked.entry(Failure::Blocking(failure).name()).or_default() += 1;
    }
    let mean_score = if blocked.contains_key(BELOW_LOWEST) || totals.score_count() == 0 {
        None
    } else {
        books.totals(attribute).mean()
    };
    VerifierView {
        name: own.name.clone(),
        criterion_of: own.criterion.as_ref().map(|criterion| criterion.verifier.clone()),
        paid_with: own
            .criterion
            .as_ref()
            .filter(|criterion| criterion.first != index)
            .and_then(|criterion| Some(terms.verifiers.get(criterion.first)?.name.clone())),
        kind: own.kind.clone(),
        exact: own.scores == Scores::Exact,
        votes: terms.are_votes(index),
        threshold: own.threshold,
        ceiling: own.ceiling,
        calls: totals.call_count,
        mean_over: own.mean_over,
        failures: totals.failures.clone(),
        throttled: paid.map_or(0, |paid| paid.throttled_count),
        addresses: paid.map_or_else(Vec::new, |paid| AddressView::all(&own.calls, paid)),
        blocked,
        spent: paid.map_or(Cost::ZERO, |paid| paid.spent),
        spent_by_status: [Cost::ZERO; 3],
        spent_by_question: None,
        spent_on_failures: paid.map_or(Cost::ZERO, ServiceTotals::spent_on_failures),
        mean_score,
        mean_price: paid.and_then(ServiceTotals::mean_price),
        mean_latency: paid.and_then(ServiceTotals::mean_latency),
        noise: None,
    }
}

/// The distribution of a certified mean score, in words. An exact verifier has only one score.
fn mean_over(terms: &RunTerms) -> &'static str {
    let noisy = terms.verifiers.iter().filter(|verifier| verifier.scores != Scores::Exact);
    let is_pool: BTreeSet<bool> =
        noisy.map(|verifier| verifier.mean_over == MeanOver::RecordedPool).collect();
    match (is_pool.contains(&true), is_pool.contains(&false)) {
        (false, _) => "fresh calls",
        (true, false) => "the recorded outcomes that its calls were drawn from",
        (true, true) => {
            "fresh calls (of a verifier that is replayed with replacement: over the recorded outcomes that its calls were drawn from)"
        }
    }
}

/// The promise of a run in words: what δ covers, and what it does not.
pub fn promise(terms: &RunTerms) -> String {
    let delta = terms.delta;
    if terms.guarantee == GuaranteeName::None {
        return RECORDING.to_owned();
    }
    let bound = match terms.guarantee {
        GuaranteeName::Fdr => {
            format!("On average at most {} % of the certificates are wrong", 100.0 * delta)
        }
        _ => format!("With probability at least {} no certificate is wrong", 1.0 - delta),
    };
    let over = mean_over(terms);
    let is_pool = |verifier: &VerifierTerms| verifier.mean_over == MeanOver::RecordedPool;
    let limit = if terms.verifiers.iter().any(is_pool) {
        ", and nothing about fresh calls of a replayed verifier"
    } else {
        ""
    };
    format!(
        "{bound}. A certificate says that the answer's mean score, over {over}, reaches the threshold of every verifier; it does not say that the answer is true, only that these verifiers approve of it{limit}."
    )
}

/// What earlier runs in the same folder mean for the promise.
fn earlier_runs(terms: &RunTerms) -> Option<String> {
    let earlier = terms.earlier_runs;
    if earlier == 0 || terms.guarantee == GuaranteeName::None {
        return None;
    }
    let (runs, all) = (were(earlier, "run"), earlier + 1);
    let bound = goodarm_files::words::short((f64::from(all) * terms.delta).min(1.0));
    Some(format!(
        "{runs} begun in this folder before this one, and moved aside. Delta is about one run: the probability that any of these {all} runs has a wrong certificate is at most {bound}."
    ))
}

/// Why the promise may not hold, to be shown beside it.
fn doubt(warnings: &[Warning]) -> Option<String> {
    let doubted = warnings.iter().filter(|warning| warning.kind.weakens_promise());
    let names: BTreeSet<&str> = doubted.map(|warning| warning.service.as_str()).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(" and ");
    (!names.is_empty()).then(|| format!("This may not hold here: see the warnings about {names}."))
}

/// Two amounts, if they are known.
fn exact_pair<S: Serializer>(costs: &Option<[Cost; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    exact_list(costs.as_ref().map_or(&[], |costs| costs), serializer)
}

/// Calls in flight that wait for a person.
fn for_people(terms: &RunTerms, books: &Books) -> usize {
    let people = terms.services().filter(|(_, service)| service.people.is_some());
    people.map(|(service, _)| books.lane(service).in_flight_count()).sum()
}

fn exact_list<S: Serializer>(costs: &[Cost], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(costs.iter().map(ToString::to_string))
}

/// Failed calls that took more than this share of the spending, or keep it from being spent, are mentioned.
const FAILURES_SHARE_MAX: f64 = 0.05;
/// The promise of a run without a guarantee, which makes a recording.
const RECORDING: &str = "Nothing is certified: the calls of a fixed design are a recording, to be replayed, calibrated with and planned by.";
