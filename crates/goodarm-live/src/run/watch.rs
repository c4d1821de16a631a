//! What people see of a run: notices of what happened, and how far it has come.

use std::time::{Duration, Instant};

use goodarm_core::{ArmId, ArmStatus, AttributeId, Books, Cost, Failure, Pull};

use crate::line::Condition;
use crate::outputs::totals::VerifierTotals;
use crate::run::{Control, Outcome, Run};

/// Takes notice of what happens in a run. Everything it hears of is durable, or can be made again.
pub trait Observer {
    /// Something happened.
    fn notice(&mut self, notice: Notice<'_>);

    /// The books, just before each [`Notice::Progress`]: for what progress does not tell.
    fn look(&mut self, _books: &Books) {}

    /// Whether it wants to hear of every single call.
    fn wants_calls(&self) -> bool {
        false
    }
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// A call came back.
    Called {
        /// The candidate's name.
        id: &'a str,
        /// The verifier's name.
        verifier: &'a str,
        /// Its score, or why there is none.
        outcome: Result<f64, &'a str>,
        /// What it cost.
        cost: Cost,
        /// How long it took.
        latency: Duration,
    },
    /// An answer is certified.
    Certified {
        /// Which.
        arm: ArmId,
        /// Its name.
        id: &'a str,
        /// How many are certified now.
        count: usize,
        /// What was spent by then.
        spent: Cost,
    },
    /// A verifier backs off, is down, or is back.
    Line {
        /// Its name.
        verifier: &'a str,
        /// How it is doing.
        condition: &'a Condition,
    },
    /// Something a person should know.
    Warning(&'a str),
    /// How far the run has come; several times a second.
    Progress(&'a Progress),
}

/// How far a run has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Candidates.
    pub candidate_count: usize,
    /// Certified so far.
    pub certified_count: usize,
    /// Spoken against by the evidence.
    pub rejected_count: usize,
    /// The hard limit.
    pub budget: Cost,
    /// Paid.
    pub spent: Cost,
    /// Set aside for calls that are out.
    pub reserved: Cost,
    /// Neither.
    pub left: Cost,
    /// Calls that came back, in all.
    pub call_count: u64,
    /// Of these, without a score.
    pub failure_count: u64,
    /// Lately.
    pub calls_per_second: f64,
    /// Calls that are out.
    pub in_flight_count: usize,
    /// Requests that had to be sent again.
    pub retry_count: u64,
    /// The last call that was asked for.
    pub working_on: Option<(ArmId, AttributeId)>,
    /// How many will be certified in the end, as it looks now.
    pub forecast: f64,
    /// How the verifiers are doing.
    pub conditions: Vec<Condition>,
    /// What each verifier has said and cost, since the run began.
    pub verifiers: Vec<VerifierTotals>,
    /// Bills above their ceiling.
    pub overrun_count: u64,
    /// By how much, in all.
    pub overrun: Cost,
    /// Whether somebody holds new calls back.
    pub is_paused: bool,
    /// Since this process took up the run.
    pub elapsed: Duration,
}

pub(super) struct Watch<'a> {
    observer: &'a mut dyn Observer,
    control: &'a Control,
    wants_calls: bool,
    started: Instant,
    looked: Instant,
    call_count_then: u64,
    announced_count: usize,
    conditions: Vec<Condition>,
    working_on: Option<(ArmId, AttributeId)>,
    calls_per_second: f64,
    forecast: f64,
    forecast_due: Instant,
    overrun_count: u64,
    repeats_told: bool,
    /// What is not told yet.
    calls: Vec<Call>,
    first_failures: Vec<(ArmId, AttributeId, String)>,
    /// Of each verifier.
    has_failed: Vec<bool>,
}

/// A call that came back.
struct Call {
    arm: ArmId,
    attribute: AttributeId,
    outcome: Result<f64, String>,
    cost: Cost,
    latency: Duration,
}

impl<'a> Watch<'a> {
    pub(super) fn new(run: &Run, control: &'a Control, observer: &'a mut dyn Observer) -> Self {
        let now = Instant::now();
        let wants_calls = observer.wants_calls();
        Self {
            observer,
            control,
            wants_calls,
            started: now,
            looked: now,
            call_count_then: run.counts.call_count,
            announced_count: run.session.certified().len(),
            conditions: run.calls.conditions().collect(),
            working_on: None,
            calls_per_second: 0.0,
            forecast: 0.0,
            forecast_due: now,
            overrun_count: run.session.books().ledger().overrun_count(),
            repeats_told: false,
            calls: Vec::new(),
            first_failures: Vec::new(),
            has_failed: vec![false; run.job.verifiers.len()],
        }
    }

    pub(super) const fn asked(&mut self, pull: &Pull) {
        self.working_on = Some((pull.arm, pull.attribute));
    }

    /// Takes note of a call; it is told when it is durable.
    pub(super) fn settled(
        &mut self,
        pull: &Pull,
        outcome: &Outcome,
        (cost, latency): (Cost, Duration),
    ) {
        let outcome = match outcome {
            Outcome::Score(score) => Ok(*score),
            Outcome::Failed(Failure::Void(_), _) => Err("not reached: to be tried again".into()),
            Outcome::Failed(Failure::Counted(_), reason) => {
                let has_failed = &mut self.has_failed[pull.attribute.index()];
                if !std::mem::replace(has_failed, true) {
                    self.first_failures.push((pull.arm, pull.attribute, reason.clone()));
                }
                Err(reason.clone())
            }
        };
        if self.wants_calls {
            self.calls.push(Call {
                arm: pull.arm,
                attribute: pull.attribute,
                outcome,
                cost,
                latency,
            });
        }
    }

    pub(super) fn tell_of_calls(&mut self, run: &Run) {
        let name = |attribute: AttributeId| &run.job.verifiers[attribute.index()].name;
        for call in self.calls.drain(..) {
            self.observer.notice(Notice::Called {
                id: run.job.candidates.id(call.arm),
                verifier: name(call.attribute),
                outcome: call.outcome.as_ref().copied().map_err(String::as_str),
                cost: call.cost,
                latency: call.latency,
            });
        }
        for (arm, attribute, reason) in self.first_failures.drain(..) {
            let (name, id) = (name(attribute), run.job.candidates.id(arm));
            let text = format!(
                "{name}: its call on {id} failed, which counts as the lowest score: {reason} (more failures are only counted)"
            );
            self.observer.notice(Notice::Warning(&text));
        }
    }

    /// Whether people should see again how far the run has come.
    pub(super) fn is_due(&self) -> bool {
        self.looked.elapsed() >= LOOK_INTERVAL
    }

    /// Says what is new; called after it is durable.
    pub(super) fn look(&mut self, run: &Run) {
        self.tell_of_calls(run);
        let certified = run.session.certified();
        while let Some(&arm) = certified.get(self.announced_count) {
            let spent_at = run.counts.spent_at.get(self.announced_count).copied();
            let spent = spent_at.unwrap_or(run.session.books().ledger().settled());
            self.announced_count += 1;
            let id = run.job.candidates.id(arm);
            let count = self.announced_count;
            self.observer.notice(Notice::Certified { arm, id, count, spent });
        }
        if self.is_due() {
            self.look_closely(run);
        }
    }

    pub(super) fn close(&mut self, run: &Run) {
        self.look(run);
        self.look_closely(run);
    }

    fn look_closely(&mut self, run: &Run) {
        let now = Instant::now();
        let seconds = now.duration_since(self.looked).as_secs_f64().max(1e-3);
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = (run.counts.call_count - self.call_count_then) as f64 / seconds;
        let weight = (seconds / RATE_MEMORY_SECONDS).min(1.0);
        self.calls_per_second += weight * (rate - self.calls_per_second);
        self.call_count_then = run.counts.call_count;
        self.looked = now;
        if now >= self.forecast_due {
            self.forecast = run.session.books().certified_count_forecast();
            // Guessing must not take more than a twentieth of the time.
            self.forecast_due = now + (now.elapsed() * 20).max(LOOK_INTERVAL);
        }
        self.compare_conditions(run);
        self.warn(run);
        let progress = self.progress(run);
        self.observer.look(run.session.books());
        self.observer.notice(Notice::Progress(&progress));
    }

    fn compare_conditions(&mut self, run: &Run) {
        for (index, condition) in run.calls.conditions().enumerate() {
            let before = &mut self.conditions[index];
            if std::mem::discriminant(before) != std::mem::discriminant(&condition) {
                let verifier = &run.job.verifiers[index].name;
                self.observer.notice(Notice::Line { verifier, condition: &condition });
            }
            *before = condition;
        }
    }

    fn warn(&mut self, run: &Run) {
        let ledger = run.session.books().ledger();
        if ledger.overrun_count() > self.overrun_count {
            self.overrun_count = ledger.overrun_count();
            let text = format!(
                "{} bills were above their ceiling, by {} in all: raise the ceiling",
                ledger.overrun_count(),
                ledger.overrun()
            );
            self.observer.notice(Notice::Warning(&text));
        }
        if !self.repeats_told {
            let repeats = run.job.verifiers.iter().find_map(|verifier| {
                let warning = verifier.verifier.warning()?;
                Some(format!("{}: {warning}", verifier.name))
            });
            if let Some(text) = repeats {
                self.repeats_told = true;
                self.observer.notice(Notice::Warning(&text));
            }
        }
    }

    fn progress(&self, run: &Run) -> Progress {
        let books = run.session.books();
        let ledger = books.ledger();
        let is_rejected = |arm: &ArmId| books.status(*arm) == ArmStatus::Rejected;
        Progress {
            candidate_count: books.problem().arm_count(),
            certified_count: books.certified().len(),
            rejected_count: books.problem().arms().filter(is_rejected).count(),
            budget: ledger.budget(),
            spent: ledger.settled(),
            reserved: ledger.reserved(),
            left: ledger.left(),
            call_count: run.counts.call_count,
            failure_count: run.counts.failure_count,
            calls_per_second: self.calls_per_second,
            in_flight_count: books.in_flight_count(),
            retry_count: run.calls.retry_count(),
            working_on: self.working_on,
            forecast: self.forecast,
            conditions: self.conditions.clone(),
            verifiers: run.counts.verifiers.clone(),
            overrun_count: ledger.overrun_count(),
            overrun: ledger.overrun(),
            is_paused: self.control.is_paused(),
            elapsed: self.started.elapsed(),
        }
    }
}

const LOOK_INTERVAL: Duration = Duration::from_millis(200);
const RATE_MEMORY_SECONDS: f64 = 2.0;
