//! The notices that an observer gets during a run. Everything in them is durable or can be made again.

use std::mem::{discriminant, take};
use std::time::Duration;

use goodarm_core::outlook::{certified_count_forecast, takes_all_money};
use goodarm_core::{BlockingFailure, Failure, Outcome, ServiceId, Source, Target};
use goodarm_files::words::{money, were};
use goodarm_record::control::Control;
use goodarm_record::history::SettledCall;
use goodarm_record::notice::{Condition, HeldBy, Notice, Observer, Progress};
use goodarm_record::view::questions::AnsweredQuestion;
use goodarm_record::view::warnings::{Warning, WarningKind, warnings};
use goodarm_record::view::{AnswerView, Overview};
use tokio::time::Instant;

use crate::run::Run;

/// Notices that are not sent yet, and what the observer was already told.
#[derive(Default)]
pub(super) struct PendingNotices {
    /// Settled calls, for an observer that wants them.
    calls: Vec<SettledCall<'static>>,
    wants_calls: bool,
    first_failures: Vec<SettledCall<'static>>,
    /// For each service: the kinds of failures that the observer was told about.
    told: Vec<Vec<FailureKind>>,
    /// The number of certificates that the observer was told about.
    certified_count: usize,
    /// The target of the last call that was asked for.
    pub(super) working_on: Option<Target>,
    /// What limits the calls in flight.
    pub(super) held_by: Option<HeldBy>,
}

impl PendingNotices {
    pub(super) fn new(service_count: usize, certified_count: usize) -> Self {
        Self { told: vec![Vec::new(); service_count], certified_count, ..Self::default() }
    }

    /// Starts over for another observer, which is told the first failure of each kind again.
    pub(super) fn reopen(&mut self, wants_calls: bool) {
        self.wants_calls = wants_calls;
        self.first_failures.clear();
        self.told.iter_mut().for_each(Vec::clear);
        self.working_on = None;
    }

    /// Keeps a call until it is durable.
    pub(super) fn take(&mut self, call: SettledCall<'static>, service: ServiceId) {
        let told = &mut self.told[service.index()];
        if let Some(kind) = FailureKind::of(&call)
            && !told.contains(&kind)
        {
            told.push(kind);
            self.first_failures.push(call.clone());
        }
        if self.wants_calls {
            self.calls.push(call);
        }
    }
}

/// Sends notices to an observer.
pub(super) struct Announcer<'a> {
    observer: &'a mut dyn Observer,
    pub(super) control: &'a Control,
    meter: ProgressMeter,
    overrun_count: u64,
    /// The warnings that were sent: the service and the kind.
    warned: Vec<(String, WarningKind)>,
}

impl<'a> Announcer<'a> {
    pub(super) fn new(run: &Run, control: &'a Control, observer: &'a mut dyn Observer) -> Self {
        Self {
            observer,
            control,
            meter: ProgressMeter::new(run),
            overrun_count: run.work.books().ledger().overrun_count(),
            warned: Vec::new(),
        }
    }

    /// Sends the calls that were settled, and a warning for the first failure of each kind.
    pub(super) fn announce_calls(&mut self, run: &mut Run) {
        for call in run.notices.calls.drain(..) {
            let (verifier, id) = run.work.names(&run.job, call.target);
            self.observer.notice(Notice::Called { id, verifier, call: &call });
        }
        for call in take(&mut run.notices.first_failures) {
            if let Some(text) = failure_text(run, &call) {
                self.observer.notice(Notice::Warning(&text));
            }
        }
    }

    /// Whether the next progress notice is due.
    pub(super) fn is_due(&self) -> bool {
        self.meter.is_due()
    }

    /// Sends what is new, which must be durable.
    pub(super) fn announce(&mut self, run: &mut Run) {
        self.announce_calls(run);
        let (work, told_count) = (&run.work, &mut run.notices.certified_count);
        let books = work.books();
        while let Some(&arm) = books.certified().get(*told_count) {
            let spent_at = work.account.spent_at.get(*told_count).copied();
            *told_count += 1;
            let candidates = &work.subjects.candidates;
            let is_made = arm.index() >= run.job.candidates.len();
            self.observer.notice(Notice::Certified {
                answer: &AnswerView::new(books, &work.account, arm, Some(*told_count)),
                id: candidates.id(arm),
                made: is_made.then(|| candidates.json(arm)),
                spent: spent_at.unwrap_or(books.ledger().settled()),
                answers: AnsweredQuestion::new(books, arm),
            });
        }
        if self.is_due() {
            self.announce_progress(run);
        }
    }

    pub(super) fn close(&mut self, run: &mut Run) {
        self.announce(run);
        self.announce_progress(run);
    }

    fn announce_progress(&mut self, run: &Run) {
        let is_paused = self.control.is_paused();
        for (index, condition) in self.meter.measure(run, is_paused) {
            let verifier = &run.job.service(ServiceId::at(index)).name;
            self.observer.notice(Notice::Verifier { verifier, condition: &condition });
        }
        self.warn(run);
        self.observer.notice(Notice::Progress(&self.meter.progress(run, is_paused)));
    }

    fn warn(&mut self, run: &Run) {
        let ledger = run.work.books().ledger();
        if ledger.overrun_count() > self.overrun_count {
            self.overrun_count = ledger.overrun_count();
            let text = format!(
                "{} above their ceiling, by {} in all: raise the ceiling",
                were(ledger.overrun_count(), "bill"),
                money(ledger.overrun(), run.job.unit())
            );
            self.observer.notice(Notice::Warning(&text));
        }
        for Warning { service, kind, text } in warnings(&run.terms, &run.work.account) {
            // The first failure of these kinds was sent already.
            let is_told = matches!(
                kind,
                WarningKind::BelowLowest
                    | WarningKind::Exhausted
                    | WarningKind::NeverScored
                    | WarningKind::Unscored
            );
            let warned = (service, kind);
            if !is_told && !self.warned.contains(&warned) {
                self.warned.push(warned);
                self.observer.notice(Notice::Warning(&text));
            }
        }
    }
}

/// How fast a run progresses.
pub(super) struct ProgressMeter {
    started: Instant,
    measured: Instant,
    /// The number of calls at the time `measured`.
    call_count: u64,
    spent: f64,
    conditions: Vec<Condition>,
    /// `None` before the first measurement.
    calls_per_second: Option<f64>,
    spent_per_second: f64,
    forecast: f64,
    /// Whether the run will probably end when its money is spent.
    takes_all_money: bool,
    forecast_due: Instant,
}

impl ProgressMeter {
    pub(super) fn new(run: &Run) -> Self {
        let now = Instant::now();
        Self {
            started: now,
            measured: now,
            call_count: run.work.account.call_count(),
            spent: run.work.books().ledger().settled().units(),
            conditions: run.engine.conditions().collect(),
            calls_per_second: None,
            spent_per_second: 0.0,
            forecast: 0.0,
            takes_all_money: false,
            forecast_due: now,
        }
    }

    fn is_due(&self) -> bool {
        self.measured.elapsed() >= PROGRESS_INTERVAL
    }

    /// Measures how fast calls come back and money is spent, recently; at first, since the start. Returns
    /// the services whose condition is of another kind than before.
    fn measure(&mut self, run: &Run, is_paused: bool) -> Vec<(usize, Condition)> {
        let now = Instant::now();
        let seconds = now.duration_since(self.measured).as_secs_f64().max(1e-3);
        self.measured = now;
        let elapsed = self.started.elapsed().as_secs_f64();
        let call_count = run.work.account.call_count();
        let spent = run.work.books().ledger().settled().units();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let calls = (call_count - self.call_count) as f64;
        let smooth = |rate: &mut f64, amount: f64, memory_seconds: f64| {
            let weight = (seconds / elapsed.min(memory_seconds)).min(1.0);
            *rate += weight * (amount / seconds - *rate);
        };
        smooth(self.calls_per_second.get_or_insert(0.0), calls, RATE_MEMORY_SECONDS);
        if !is_paused {
            smooth(&mut self.spent_per_second, spent - self.spent, SPENT_MEMORY_SECONDS);
        }
        (self.call_count, self.spent) = (call_count, spent);
        if now >= self.forecast_due {
            self.forecast = certified_count_forecast(run.work.books());
            self.takes_all_money = takes_all_money(run.work.books());
            // Forecasts take at most a twentieth of the time.
            self.forecast_due = now + (now.elapsed() * 20).max(PROGRESS_INTERVAL);
        }
        let conditions: Vec<Condition> = run.engine.conditions().collect();
        let pairs = conditions.iter().zip(&self.conditions).enumerate();
        let changed =
            pairs.filter(|(_, (now, before))| discriminant(*now) != discriminant(*before));
        let changed = changed.map(|(index, (now, _))| (index, now.clone())).collect();
        self.conditions = conditions;
        changed
    }

    pub(super) fn progress(&self, run: &Run, is_paused: bool) -> Progress {
        let (work, elapsed) = (&run.work, self.measured.duration_since(self.started));
        let mut overview = Overview::new(&run.terms, work.books(), &work.account);
        if let Some(rate) = self.calls_per_second {
            overview.seconds = elapsed.as_secs_f64();
            overview.calls_per_second = Some(rate);
        }
        let names = |target| <[&str; 2]>::from(work.names(&run.job, target)).map(str::to_owned);
        Progress {
            overview,
            failure_count: work.account.failure_count(),
            retry_count: run.engine.retry_count(),
            working_on: run.notices.working_on.map(names),
            forecast: self.forecast,
            seconds_left: self.seconds_left(run),
            conditions: self.conditions.clone(),
            held_by: run.notices.held_by,
            is_paused,
            elapsed,
        }
    }

    /// The time until the money is spent at the recent pace; `None` while a service is not fully there, and if the run
    /// will probably end before, because the moment when nothing is worth a call any more cannot be forecast.
    fn seconds_left(&self, run: &Run) -> Option<f64> {
        let ledger = run.work.books().ledger();
        let left = (ledger.left() + ledger.reserved()).units();
        let is_open = self.conditions.iter().all(|condition| *condition == Condition::Open);
        let is_known =
            is_open && self.started.elapsed() >= PACE_KNOWN_AFTER && self.spent_per_second > 0.0;
        (is_known && self.takes_all_money).then(|| left / self.spent_per_second)
    }
}

/// Kinds of failures of which only the first is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureKind {
    Counted,
    /// Some criterion has no score that counts.
    Partly,
    Blocking(BlockingFailure),
}

impl FailureKind {
    fn of(call: &SettledCall<'_>) -> Option<Self> {
        match call.outcome {
            Outcome::Failed(Failure::Counted(_)) => Some(Self::Counted),
            Outcome::Failed(Failure::Blocking(failure)) => Some(Self::Blocking(failure)),
            Outcome::Scores(_) if !call.note.reason.is_empty() => Some(Self::Partly),
            _ => None,
        }
    }
}

fn failure_text(run: &Run, call: &SettledCall<'_>) -> Option<String> {
    let (verifier, id) = run.work.names(&run.job, call.target);
    let reason = &call.note.reason;
    Some(match FailureKind::of(call)? {
        FailureKind::Counted => {
            let account = &run.work.account;
            let totals = match call.target {
                Target::Question(_, Source::Generator(_)) => {
                    &account.service(run.job.problem.service(call.target)).outcomes
                }
                Target::Arm(_, attribute) | Target::Question(_, Source::Votes(attribute)) => {
                    account.attribute(attribute)
                }
            };
            // A verifier without any score ends the run, so its failures do not count.
            let counts = match call.target {
                _ if totals.score_count() == 0 => "",
                Target::Arm(..) => ", which counts as the lowest score",
                Target::Question(..) => ", which counts as no answer",
            };
            format!(
                "{verifier}: its call on {id} failed{counts}: {reason} (more failures are only counted; trying the job shows whole replies)"
            )
        }
        FailureKind::Partly => format!(
            "{verifier}: its reply on {id} lacks a score, which counts as the lowest one for that criterion alone: {reason} (more such replies are only counted; trying the job shows whole replies)"
        ),
        FailureKind::Blocking(BlockingFailure::BelowLowest) => format!(
            "{verifier}: its {reason}, on {id}: it is not asked about this answer any more, and certificates rest on what it declares (more such scores are only counted)"
        ),
        FailureKind::Blocking(BlockingFailure::Exhausted) => format!(
            "{verifier}: {reason}, on {id}: it is not asked about this answer any more (more such answers are only counted)"
        ),
    })
}

const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
const RATE_MEMORY_SECONDS: f64 = 2.0;
/// Verifiers of different prices take turns, so a few seconds tell little about the spend of an hour.
const SPENT_MEMORY_SECONDS: f64 = 60.0;
const PACE_KNOWN_AFTER: Duration = Duration::from_secs(3);
