//! Warnings about services, for people who rely on a run: recomputed from the journal by summaries, reports and
//! audits, and printed on the terminal once.

use goodarm_core::{BlockingFailure, Cost, Failure};
use goodarm_files::words::{counted, number};

use crate::account::{Account, AddressTotals, OutcomeTotals, ServiceTotals};
use crate::job_file::Scores;
use crate::terms::{RunTerms, ServiceTerms};

/// A warning about a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The name of the verifier or generator.
    pub service: String,
    /// What the warning is about.
    pub kind: WarningKind,
    /// The warning in words, with the service's name.
    pub text: String,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A warning of the verifier itself.
    Reported {
        /// The index among the service's own warnings.
        index: usize,
        /// Whether calls may not have been fresh.
        weakens_promise: bool,
    },
    /// The verifier gave scores below the lowest that it declares: the promise rests on that declaration.
    BelowLowest,
    /// A recording ran out, or calls on the same answer were throttled again and again.
    Exhausted,
    /// The service failed, and has never given a score.
    NeverScored,
    /// An exact verifier that failed to score some answers.
    Unscored,
    /// The service is metered, but its replies do not report their usage.
    NoUsage,
    /// Far more is reserved for a call than it costs.
    HighCeiling,
    /// Many requests began no work. That must not depend on the answer.
    Throttled,
    /// The job declares statuses of failed calls to be independent of the answer.
    DeclaredVoid,
    /// One of several addresses fails far more often than the others.
    BadAddress,
}

impl WarningKind {
    /// Whether certificates may be wrong more often than promised.
    pub const fn weakens_promise(self) -> bool {
        matches!(self, Self::BelowLowest | Self::Reported { weakens_promise: true, .. })
    }
}

/// All warnings about the verifiers of a run, and about its generators.
pub fn warnings(terms: &RunTerms, account: &Account) -> Vec<Warning> {
    let mut services = account.services.iter();
    let all = terms.rows().enumerate().filter_map(|(row, service)| {
        // Cost and warnings of a call are counted for the first criterion.
        let is_paid = service.is_generator || terms.is_called(row);
        let paid = if is_paid { services.next() } else { None };
        let outcomes = match paid {
            Some(paid) if service.is_generator => &paid.outcomes,
            _ => account.attributes.get(row)?,
        };
        Some((service, outcomes, paid))
    });
    let mut warnings: Vec<Warning> = all
        .flat_map(|(service, outcomes, paid)| {
            let budget = account.budgets.last().copied().unwrap_or(terms.budget);
            about(&service, outcomes, paid, budget).into_iter().map(move |(kind, text)| Warning {
                service: service.name.to_owned(),
                kind,
                text: match kind {
                    WarningKind::Reported { .. } => format!("{}: {text}", service.name),
                    _ => format!("{} {text}", service.name),
                },
            })
        })
        .collect();
    warnings.sort_by_key(|warning| !warning.kind.weakens_promise());
    warnings
}

fn about(
    terms: &ServiceTerms<'_>,
    totals: &OutcomeTotals,
    paid: Option<&ServiceTotals>,
    budget: Cost,
) -> Vec<(WarningKind, String)> {
    let mut found = Vec::new();
    if totals.score_count() == 0
        && let Some(why) = why_never_scored(totals)
    {
        let lacks = if terms.answers_questions { "an answer" } else { "a score" };
        let text = format!(
            "has never given {lacks}: {why}. None of these failures counts against an answer. Fix the job, try its verifiers, and begin again."
        );
        return vec![(WarningKind::NeverScored, text)];
    }
    for (index, warning) in paid.iter().flat_map(|paid| &paid.warnings).enumerate() {
        let kind = WarningKind::Reported { index, weakens_promise: warning.weakens_promise };
        found.push((kind, warning.text.clone()));
    }
    let blocked = |failure| totals.blocked.values().filter(|&&other| other == failure).count();
    let below = blocked(BlockingFailure::BelowLowest);
    if below > 0 {
        let text = format!(
            "scored {} below the lowest score that it declares, and is not asked about them any more. All its certificates rest on that declaration: correct it, and begin a new run.",
            counted(below, "answer")
        );
        found.push((WarningKind::BelowLowest, text));
    }
    let exhausted = blocked(BlockingFailure::Exhausted);
    if exhausted > 0 {
        let answers =
            counted(exhausted, if terms.answers_questions { "question" } else { "answer" });
        let text = if terms.kind == "replay" || terms.kind == "pool" {
            format!(
                "ran out of recorded outcomes for {answers}, and is not asked about them any more."
            )
        } else {
            format!(
                "throttled calls on {answers} again and again while it answered others, and is not asked about them any more: see the reasons in the file of calls."
            )
        };
        found.push((WarningKind::Exhausted, text));
    }
    if terms.scores == Scores::Exact && totals.counted_failure_count > 0 {
        let text = format!(
            "gave no verdict on {}, which cannot be certified or rejected without it.",
            counted(totals.counted_failure_count, "answer")
        );
        found.push((WarningKind::Unscored, text));
    }
    found.extend(paid.and_then(|paid| about_prices(terms, totals, paid, budget)));
    found.extend(paid.and_then(|paid| about_throttling(terms, paid)));
    found.extend(paid.and_then(|paid| about_addresses(terms, paid)));
    found
}

/// A note about an address at which most calls fail while most calls at the others do not.
fn about_addresses(
    terms: &ServiceTerms<'_>,
    paid: &ServiceTotals,
) -> Option<(WarningKind, String)> {
    let sum = |of: fn(&AddressTotals) -> u64| paid.addresses.values().map(of).sum::<u64>();
    let (calls, failures) = (sum(|it| it.call_count), sum(|it| it.failure_count));
    let is_bad = |it: &AddressTotals| {
        let (others, their_failures) = (calls - it.call_count, failures - it.failure_count);
        it.failure_count >= ADDRESS_FAILURES_MIN
            && 2 * it.failure_count > it.call_count
            && 2 * their_failures < others
    };
    let (index, bad) = paid.addresses.iter().find(|(_, totals)| is_bad(totals))?;
    let address = terms.calls.addresses.get(usize::from(*index))?;
    let text = format!(
        "fails at one of its addresses, {address}: {} of {} there, and {} of {} at the others.",
        number(bad.failure_count),
        counted(bad.call_count, "call"),
        number(failures - bad.failure_count),
        number(calls - bad.call_count)
    );
    Some((WarningKind::BadAddress, text))
}

/// A note about requests that are sent again, which is valid only if their failure does not depend on the answer.
fn about_throttling(
    terms: &ServiceTerms<'_>,
    paid: &ServiceTotals,
) -> Option<(WarningKind, String)> {
    let declared: Vec<String> = {
        let listed = terms.calls.void_status.iter().filter(|status| matches!(status, 500 | 504));
        listed.map(ToString::to_string).collect()
    };
    let (throttled, calls) = (paid.throttled_count, paid.outcomes.call_count);
    let is_large = throttled >= THROTTLED_MIN && throttled * THROTTLED_ONE_IN >= throttled + calls;
    if is_large {
        let all = number(throttled + calls);
        let text = format!(
            "began no work on {} of {all} requests (429, another void status, or no connection); they were sent again. If that depends on the answer, certificates may be wrong more often than promised.",
            number(throttled)
        );
        return Some((WarningKind::Throttled, text));
    }
    (!declared.is_empty()).then(|| {
        let text = format!(
            "is asked again after status {} (void_status): the promise rests on the job's word that this does not depend on the answer.",
            declared.join(" or ")
        );
        (WarningKind::DeclaredVoid, text)
    })
}

fn why_never_scored(totals: &OutcomeTotals) -> Option<String> {
    let failed = totals.first_failure.as_ref().map(|reason| {
        let calls = counted(totals.failure_count(), "call");
        format!("{calls} failed, the first one so: {reason}")
    });
    failed.or_else(|| Some(format!("it was not reached: {}", totals.first_obstacle.as_ref()?)))
}

fn about_prices(
    terms: &ServiceTerms<'_>,
    totals: &OutcomeTotals,
    paid: &ServiceTotals,
    budget: Cost,
) -> Option<(WarningKind, String)> {
    let scores = totals.score_count();
    if !terms.metered || scores < SCORES_MIN {
        return None;
    }
    // A Python function that does not report a cost has a fixed price.
    if paid.scored_at_ceiling_count == scores && terms.kind != "python" {
        let text = "does not say what its calls took: their bills are not known, and the budget keeps their \
                    ceilings. Let the server say (usage), or give a fixed price.";
        return Some((WarningKind::NoUsage, text.to_owned()));
    }
    let mean = paid.mean_price()?;
    if mean <= 0.0 {
        let text = "bills nothing for its calls: the budget does not end them, calls_max does.";
        return Some((WarningKind::HighCeiling, text.to_owned()));
    }
    let text = high_ceiling(terms.ceiling, mean, budget)?;
    Some((WarningKind::HighCeiling, format!("{text}.")))
}

/// A warning about a ceiling that is far above the mean bill, if it keeps a large part of the budget from being spent.
/// The default ceiling of a prompt is always far above the bill, and does no harm while it is small beside the budget.
pub fn high_ceiling(ceiling: Cost, mean: f64, budget: Cost) -> Option<String> {
    let (times, share) = (ceiling.units() / mean, ceiling.units() / budget.units());
    (times >= CEILING_TIMES_MAX && share >= CEILING_SHARE_MAX).then(|| {
        format!(
            "reserves {times:.0} times what a call costs, {:.0} % of the budget, which cannot be spent at the end: \
             lower max_tokens, or give input_tokens_max or metered.ceiling",
            100.0 * share
        )
    })
}

/// The name in files of scores below the declared lowest.
pub(super) const BELOW_LOWEST: &str = Failure::Blocking(BlockingFailure::BelowLowest).name();
/// With fewer scores, there is no warning about prices.
const SCORES_MIN: u64 = 10;
const CEILING_TIMES_MAX: f64 = 6.0;
/// Requests that began no work are mentioned if they are at least this many, and one in so many.
const THROTTLED_MIN: u64 = 10;
const THROTTLED_ONE_IN: u64 = 10;
/// With fewer failures, nothing is said about an address.
const ADDRESS_FAILURES_MIN: u64 = 5;
const CEILING_SHARE_MAX: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_high_ceiling_is_reported_only_if_it_keeps_money_from_being_spent() {
        let found = |ceiling, mean, budget| {
            high_ceiling(Cost::from_units(ceiling), mean, Cost::from_units(budget))
        };
        let text = found(60, 6.0, 200).expect("30 % of the budget");
        assert!(
            text.starts_with("reserves 10 times what a call costs, 30 % of the budget"),
            "{text}"
        );
        assert_eq!(found(60, 6.0, 700), None, "a usual judge with its default ceiling");
        assert_eq!(found(60, 20.0, 200), None, "bills are near their ceiling");
    }
}
