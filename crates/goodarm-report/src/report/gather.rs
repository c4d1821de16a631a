//! One pass through the journal: it rebuilds the books, and counts what the books do not.

use std::collections::BTreeMap;
use std::fs;

use goodarm_core::{ArmId, ArmStatus, Books, Cost, Event, Failure};
use goodarm_live::charter::Charter;
use goodarm_live::folder::Folder;
use goodarm_live::history::{Call, Happening, History};
use goodarm_live::job_file::ScoresFile;
use goodarm_live::outputs::calls::failure_name;
use goodarm_live::outputs::summary::Summary;
use goodarm_live::outputs::{promise, status_of};
use goodarm_live::retrace;

use super::ReportError;
use super::cut::Lengths;
use super::data::{Answer, Data, Money, Overview, Pair, Status, Step, VerifierData};
use super::details::REPLY_BYTES_MAX;
use super::noise::{Scores, noise};
use super::trail::Trail;
use super::uniform::uniform;

/// What the journal says.
pub(super) struct Gathered {
    pub(super) charter: Charter,
    /// Of the candidates that the run began with.
    pub(super) fingerprint: [u8; 32],
    /// Ids are still to be filled in.
    pub(super) data: Data,
    /// Of all replies.
    pub(super) reply_lengths: Lengths,
}

/// Goes through a run's journal.
pub(super) fn gather(folder: &Folder) -> Result<Gathered, ReportError> {
    let path = folder.journal();
    let told = |error| ReportError::History { path: path.clone(), error };
    let mut history = History::open(&path).map_err(told)?;
    let problem = history
        .charter
        .problem()
        .map_err(|error| ReportError::Charter { path: path.clone(), error })?;
    let mut gatherer = Gatherer::new(&history.charter, Books::new(problem));
    let mut asked = Vec::new();
    let mismatch = |error| ReportError::Mismatch { path: path.clone(), error };
    loop {
        let happening = history.next_happening_after(|event| asked.push(event)).map_err(told)?;
        for event in asked.drain(..) {
            retrace::follow(&mut gatherer.books, event).map_err(mismatch)?;
        }
        match happening {
            None => break,
            Some(Happening::Called(call)) => gatherer.take(&call).map_err(mismatch)?,
            Some(Happening::BudgetRaised { budget, .. }) => {
                gatherer.budgets.push(budget);
                retrace::follow(&mut gatherer.books, Event::BudgetRaised { budget })
                    .map_err(mismatch)?;
            }
        }
    }
    let reply_lengths = std::mem::replace(&mut gatherer.reply_lengths, Lengths::new(0));
    let data = gatherer.data(&history, folder);
    let fingerprint = history.header().candidates;
    Ok(Gathered { charter: history.charter, fingerprint, data, reply_lengths })
}

/// The books, and what is counted beside them.
struct Gatherer {
    books: Books,
    budgets: Vec<Cost>,
    coverage: Vec<Step>,
    verifiers: Vec<Counts>,
    /// Of each pair, arm by arm.
    scores: Vec<Scores>,
    trails: Vec<Trail>,
    /// Of each arm.
    call_counts: Vec<u32>,
    reply_lengths: Lengths,
}

/// One verifier's calls.
#[derive(Default)]
struct Counts {
    threshold: f64,
    ceiling: Cost,
    call_count: u64,
    score_count: u64,
    score_sum: f64,
    spent: Cost,
    billed_count: u64,
    spent_on_failures: Cost,
    at_ceiling: Cost,
    failures: BTreeMap<&'static str, u64>,
    /// Seconds, of calls that reached the verifier.
    latencies: Vec<f32>,
}

impl Gatherer {
    fn new(charter: &Charter, books: Books) -> Self {
        let pair_count = books.problem().pair_count();
        let arm_count = books.problem().arm_count();
        let verifiers = charter.verifiers.iter().map(|clause| Counts {
            threshold: clause.threshold,
            ceiling: Cost::of_price(clause.ceiling).unwrap_or(Cost::ZERO),
            ..Counts::default()
        });
        Self {
            budgets: vec![books.ledger().budget()],
            coverage: Vec::new(),
            verifiers: verifiers.collect(),
            scores: vec![Scores::default(); pair_count],
            trails: vec![Trail::default(); pair_count],
            call_counts: vec![0; arm_count],
            reply_lengths: Lengths::new(REPLY_BYTES_MAX),
            books,
        }
    }

    fn take(&mut self, call: &Call) -> Result<(), retrace::Mismatch> {
        let (ticket, cost) = (call.ticket, call.cost);
        let certified_before = self.books.certified().len();
        let returned_before = self.books.tally(call.arm, call.attribute).returned_count;
        let event = match call.outcome {
            Ok(score) => Event::Told { ticket, score, cost },
            Err(failure) => Event::Failed { ticket, failure, cost },
        };
        retrace::follow(&mut self.books, event)?;
        let spent = self.books.ledger().settled().units();
        let certified = certified_before + 1..=self.books.certified().len();
        self.coverage.extend(certified.map(|certified| Step { spent, certified }));
        self.call_counts[call.arm.index()] += 1;
        self.reply_lengths.take(call.reply.len());
        let pair = call.arm.index() * self.verifiers.len() + call.attribute.index();
        let counts = &mut self.verifiers[call.attribute.index()];
        counts.take(call);
        if let Ok(score) = call.outcome {
            self.scores[pair].take(score, counts.threshold);
        }
        let tally = self.books.tally(call.arm, call.attribute);
        if tally.returned_count > returned_before {
            let level = self.books.level(call.arm, call.attribute);
            let share = self.books.evidence(call.arm, call.attribute) / level;
            self.trails[pair].push(tally.mean(), share);
        }
        Ok(())
    }

    fn data(mut self, history: &History, folder: &Folder) -> Data {
        let charter = &history.charter;
        let answers = self.answers();
        let verifiers = self.verifier_data(charter, &answers);
        let count = |status| answers.iter().filter(|answer| answer.status == status).count();
        let calls = self.verifiers.iter().map(|counts| counts.call_count).sum();
        let (first, last) = history.span_millis();
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let (seconds, call_count) = (last.saturating_sub(first) as f64 / 1000.0, calls as f64);
        let ledger = self.books.ledger();
        let overview = Overview {
            goodarm: history.header().version.clone(),
            folder: folder.path().display().to_string(),
            ending: ending(folder, calls),
            promise: promise(charter),
            delta: charter.delta,
            guarantee: charter.guarantee,
            policy: charter.policy.clone(),
            candidates: answers.len(),
            certified: count(Status::Certified),
            rejected: count(Status::Rejected),
            undecided: count(Status::Undecided),
            calls,
            out: history.outstanding().count() as u64,
            span_millis: [first, last],
            seconds,
            calls_per_second: (seconds > 0.0).then(|| call_count / seconds),
            uniform: uniform(&answers, &verifiers, ledger.settled().units()),
            money: self.money(charter),
            coverage: self.coverage,
            verifiers,
            notes: Vec::new(),
        };
        Data { overview, answers }
    }

    fn money(&self, charter: &Charter) -> Money {
        let ledger = self.books.ledger();
        let sum = |part: fn(&Counts) -> Cost| {
            self.verifiers.iter().map(part).fold(Cost::ZERO, Cost::saturating_add)
        };
        Money {
            unit: charter.unit,
            budget: ledger.budget(),
            spent: ledger.settled(),
            reserved: ledger.reserved(),
            left: ledger.left(),
            stranded: sum(|counts| counts.spent_on_failures),
            stranded_at_ceiling: sum(|counts| counts.at_ceiling),
            overruns: ledger.overrun_count(),
            overrun: ledger.overrun(),
            budgets: self.budgets.clone(),
        }
    }

    fn answers(&mut self) -> Vec<Answer> {
        let books = &self.books;
        let mut ranks = vec![None; books.problem().arm_count()];
        for (arm, rank) in books.certified().iter().zip(1..) {
            ranks[arm.index()] = Some(rank);
        }
        let mut trails = std::mem::take(&mut self.trails).into_iter();
        let answer = |arm: ArmId| {
            let evidence: Vec<Pair> = books
                .problem()
                .attributes()
                .zip(trails.by_ref())
                .map(|(attribute, trail)| pair(books, (arm, attribute), trail))
                .collect();
            Answer {
                id: String::new(),
                status: match status_of(books, arm) {
                    ArmStatus::Certified => Status::Certified,
                    ArmStatus::Rejected => Status::Rejected,
                    ArmStatus::Undecided => Status::Undecided,
                },
                rank: ranks[arm.index()],
                calls: u64::from(self.call_counts[arm.index()]),
                spent: evidence.iter().fold(Cost::ZERO, |sum, pair| sum.saturating_add(pair.spent)),
                evidence,
            }
        };
        books.problem().arms().map(answer).collect()
    }

    fn verifier_data(&mut self, charter: &Charter, answers: &[Answer]) -> Vec<VerifierData> {
        let stride = self.verifiers.len();
        let scores = &self.scores;
        let verifiers = charter.verifiers.iter().zip(&mut self.verifiers).enumerate();
        verifiers
            .map(|(index, (clause, counts))| {
                let mut spent_by_status = [Cost::ZERO; 3];
                for answer in answers {
                    let sum = &mut spent_by_status[answer.status as usize];
                    *sum = sum.saturating_add(answer.evidence[index].spent);
                }
                let mean = |sum: f64, count: u64| {
                    #[expect(clippy::cast_precision_loss, reason = "means for people")]
                    (count > 0).then(|| sum / count as f64)
                };
                VerifierData {
                    name: clause.name.clone(),
                    kind: clause.kind,
                    exact: clause.scores == ScoresFile::Exact,
                    threshold: clause.threshold,
                    ceiling: clause.ceiling,
                    calls: counts.call_count,
                    failures: std::mem::take(&mut counts.failures),
                    spent: counts.spent,
                    spent_by_status,
                    spent_on_failures: counts.spent_on_failures,
                    mean_score: mean(counts.score_sum, counts.score_count),
                    mean_price: mean(counts.spent.units(), counts.billed_count),
                    latency_median: quantile(&mut counts.latencies, 0.5),
                    latency_p95: quantile(&mut counts.latencies, 0.95),
                    noise: noise(scores.iter().skip(index).step_by(stride)),
                }
            })
            .collect()
    }
}

impl Counts {
    fn take(&mut self, call: &Call) {
        self.call_count += 1;
        self.spent = self.spent.saturating_add(call.cost);
        match call.outcome {
            Ok(score) => {
                self.score_count += 1;
                self.score_sum += score;
            }
            Err(failure) => {
                *self.failures.entry(failure_name(failure)).or_default() += 1;
                self.spent_on_failures = self.spent_on_failures.saturating_add(call.cost);
                if call.cost == self.ceiling {
                    self.at_ceiling = self.at_ceiling.saturating_add(call.cost);
                }
            }
        }
        if !matches!(call.outcome, Err(Failure::Void(_))) {
            self.billed_count += 1;
            self.latencies.push(call.latency.as_secs_f32());
        }
    }
}

pub(crate) fn pair(
    books: &Books,
    (arm, attribute): (ArmId, goodarm_core::AttributeId),
    trail: Trail,
) -> Pair {
    let tally = books.tally(arm, attribute);
    let finite = |number: f64| number.is_finite().then_some(number);
    let is_exact = books.problem().attribute(attribute).is_exact();
    Pair {
        calls: tally.returned_count,
        mean: (tally.returned_count > 0).then(|| tally.mean()),
        evidence: finite(books.evidence(arm, attribute)),
        needed: (!is_exact).then(|| books.level(arm, attribute)).and_then(finite),
        met: books.is_resolved(arm, attribute),
        spent: tally.spent,
        trail,
    }
}

/// How the run ended, if its totals are those of the journal; older ones belong to an earlier stop.
fn ending(folder: &Folder, calls: u64) -> Option<String> {
    let text = fs::read_to_string(folder.summary()).ok()?;
    let summary: Summary = serde_json::from_str(&text).ok()?;
    (summary.calls == calls).then_some(summary.ending)
}

/// The value that this share of all values stays below or at.
fn quantile(values: &mut [f32], share: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a rank for people")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the length")]
    let rank = ((values.len() as f64 * share).ceil() as usize).clamp(1, values.len()) - 1;
    let (_, value, _) = values.select_nth_unstable_by(rank, f32::total_cmp);
    Some(f64::from(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let mut values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&mut values, 0.5), Some(2.0));
        assert_eq!(quantile(&mut values, 0.95), Some(4.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }
}
