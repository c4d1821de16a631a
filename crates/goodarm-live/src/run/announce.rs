//! What comes out of a run while it goes on: one stream of notices. Everything in it is durable, or
//! can be made again.

use std::time::Duration;

use goodarm_core::{BlockingFailure, Failure, Outcome, ServiceId, Source, Target};
use goodarm_files::words::{money, were};
use goodarm_record::control::Control;
use goodarm_record::history::SettledCall;
use goodarm_record::notice::{Condition, HeldBy, Notice, Observer, Progress};
use goodarm_record::view::questions::AnsweredQuestion;
use goodarm_record::view::warnings::{Warning, WarningKind, warnings};
use goodarm_record::view::{AnswerView, Overview, Remaining};
use tokio::time::Instant;

use crate::run::Run;

impl Run {
    /// How far it has come, before the first call of this process.
    pub fn progress(&self) -> Progress {
        Progress {
            overview: Overview::new(&self.job.terms, self.session.books(), &self.account),
            failure_count: self.account.failure_count(),
            retry_count: 0,
            working_on: None,
            forecast: 0.0,
            seconds_left: None,
            conditions: self.engine.conditions().collect(),
            held_by: None,
            is_paused: false,
            elapsed: Duration::ZERO,
        }
    }
}

/// What is not told yet, and what was told.
pub(super) struct PendingNotices {
    /// Settled calls, for an observer that wants them.
    calls: Vec<SettledCall<'static>>,
    wants_calls: bool,
    first_failures: Vec<SettledCall<'static>>,
    /// Of each service: which kinds of failures were told.
    told: Vec<Vec<FailureKind>>,
    /// How many certificates were told.
    certified_count: usize,
    /// What the last call that was asked for is about.
    pub(super) working_on: Option<Target>,
    /// What keeps more calls from being in flight.
    pub(super) held_by: Option<HeldBy>,
}

impl PendingNotices {
    pub(super) fn new(service_count: usize, certified_count: usize) -> Self {
        Self {
            calls: Vec::new(),
            wants_calls: false,
            first_failures: Vec::new(),
            told: vec![Vec::new(); service_count],
            certified_count,
            working_on: None,
            held_by: None,
        }
    }

    /// For another observer, who hears again of the first failure of each kind.
    pub(super) fn reopen(&mut self, wants_calls: bool) {
        self.wants_calls = wants_calls;
        self.first_failures.clear();
        self.told.iter_mut().for_each(Vec::clear);
        self.working_on = None;
    }

    /// Takes note of a call, which is told when it is durable.
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

/// Tells an observer what happens, once it may be told.
pub(super) struct Announcer<'a> {
    observer: &'a mut dyn Observer,
    pub(super) control: &'a Control,
    started: Instant,
    looked: Instant,
    call_count_then: u64,
    spent_then: f64,
    conditions: Vec<Condition>,
    calls_per_second: f64,
    spent_per_second: f64,
    forecast: f64,
    remaining: Option<Remaining>,
    forecast_due: Instant,
    overrun_count: u64,
    /// What was already said about verifiers.
    warned: Vec<(usize, WarningKind)>,
}

impl<'a> Announcer<'a> {
    pub(super) fn new(run: &Run, control: &'a Control, observer: &'a mut dyn Observer) -> Self {
        let now = Instant::now();
        Self {
            observer,
            control,
            started: now,
            looked: now,
            call_count_then: run.account.call_count(),
            spent_then: run.session.books().ledger().settled().units(),
            conditions: run.engine.conditions().collect(),
            calls_per_second: 0.0,
            spent_per_second: 0.0,
            forecast: 0.0,
            remaining: None,
            forecast_due: now,
            overrun_count: run.session.books().ledger().overrun_count(),
            warned: Vec::new(),
        }
    }

    pub(super) fn tell_of_calls(&mut self, run: &mut Run) {
        let names = |call: &SettledCall<'_>| {
            let (list, place) = run.subjects.place(call.target);
            (list.id(place), run.job.service_of(call.target).name.as_str())
        };
        for call in run.news.calls.drain(..) {
            let (id, verifier) = names(&call);
            self.observer.notice(Notice::Called { id, verifier, call: &call });
        }
        for call in run.news.first_failures.drain(..) {
            let (id, verifier) = names(&call);
            let Some(kind) = FailureKind::of(&call) else { continue };
            let reason = &call.note.reason;
            let text = match kind {
                FailureKind::Counted => {
                    // Of one that never gives a score nothing is held against an answer.
                    let totals = match call.target {
                        Target::Question(_, Source::Generator(_)) => {
                            &run.account.service(run.job.problem.service(call.target)).outcomes
                        }
                        Target::Arm(_, attribute)
                        | Target::Question(_, Source::Votes(attribute)) => {
                            run.account.attribute(attribute)
                        }
                    };
                    let has_scored = totals.score_count() > 0;
                    let counts = match call.target {
                        _ if !has_scored => "",
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
            };
            self.observer.notice(Notice::Warning(&text));
        }
    }

    /// Whether people should see again how far the run has come.
    pub(super) fn is_due(&self) -> bool {
        self.looked.elapsed() >= LOOK_INTERVAL
    }

    /// Says what is new; called after it is durable.
    pub(super) fn look(&mut self, run: &mut Run) {
        self.tell_of_calls(run);
        let books = run.session.books();
        while let Some(&arm) = books.certified().get(run.news.certified_count) {
            let spent_at = run.account.spent_at.get(run.news.certified_count).copied();
            let spent = spent_at.unwrap_or(books.ledger().settled());
            run.news.certified_count += 1;
            let rank = Some(run.news.certified_count);
            self.observer.notice(Notice::Certified {
                answer: &AnswerView::new(books, &run.account, arm, rank),
                id: run.subjects.candidates.id(arm),
                made: run.made(arm),
                spent,
                answers: AnsweredQuestion::new(books, arm),
            });
        }
        if self.is_due() {
            self.look_closely(run);
        }
    }

    pub(super) fn close(&mut self, run: &mut Run) {
        self.look(run);
        self.look_closely(run);
    }

    fn look_closely(&mut self, run: &Run) {
        let now = Instant::now();
        let seconds = now.duration_since(self.looked).as_secs_f64().max(1e-3);
        self.measure(run, seconds);
        self.looked = now;
        if now >= self.forecast_due {
            self.forecast = run.session.books().certified_count_forecast();
            self.remaining = Some(Remaining::new(run.session.books()));
            // Guessing must not take more than a twentieth of the time.
            self.forecast_due = now + (now.elapsed() * 20).max(LOOK_INTERVAL);
        }
        self.compare_conditions(run);
        self.warn(run);
        let progress = self.progress(run);
        self.observer.notice(Notice::Progress(&progress));
    }

    /// How fast calls come back and money goes, of late; in the beginning, since the beginning.
    fn measure(&mut self, run: &Run, seconds: f64) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let call_count = run.account.call_count();
        let spent = run.session.books().ledger().settled().units();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let calls = (call_count - self.call_count_then) as f64;
        let recall = |rate: &mut f64, amount: f64, memory_seconds: f64| {
            let weight = (seconds / elapsed.min(memory_seconds)).min(1.0);
            *rate += weight * (amount / seconds - *rate);
        };
        recall(&mut self.calls_per_second, calls, RATE_MEMORY_SECONDS);
        if !self.control.is_paused() {
            recall(&mut self.spent_per_second, spent - self.spent_then, PACE_MEMORY_SECONDS);
        }
        (self.call_count_then, self.spent_then) = (call_count, spent);
    }

    fn seconds_left(&self, run: &Run) -> Option<f64> {
        let ledger = run.session.books().ledger();
        // What those that look good would still take is a guess, and jumps: this is a bound.
        let left = (ledger.left() + ledger.reserved()).units();
        let is_known = self.started.elapsed() >= PACE_KNOWN_AFTER && self.spent_per_second > 0.0;
        is_known.then(|| left / self.spent_per_second)
    }

    fn compare_conditions(&mut self, run: &Run) {
        for (index, condition) in run.engine.conditions().enumerate() {
            let before = &mut self.conditions[index];
            if std::mem::discriminant(before) != std::mem::discriminant(&condition) {
                let verifier = &run.job.service(ServiceId::at(index)).name;
                self.observer.notice(Notice::Verifier { verifier, condition: &condition });
            }
            *before = condition;
        }
    }

    fn warn(&mut self, run: &Run) {
        let ledger = run.session.books().ledger();
        if ledger.overrun_count() > self.overrun_count {
            self.overrun_count = ledger.overrun_count();
            let text = format!(
                "{} above their ceiling, by {} in all: raise the ceiling",
                were(ledger.overrun_count(), "bill"),
                money(ledger.overrun(), run.job.unit())
            );
            self.observer.notice(Notice::Warning(&text));
        }
        for Warning { verifier, kind, text } in warnings(&run.job.terms, &run.account) {
            // Of failures the first one was told.
            let is_told = matches!(
                kind,
                WarningKind::BelowLowest
                    | WarningKind::Exhausted
                    | WarningKind::NeverScored
                    | WarningKind::Unscored
            );
            if !is_told && !self.warned.contains(&(verifier, kind)) {
                self.warned.push((verifier, kind));
                self.observer.notice(Notice::Warning(&text));
            }
        }
    }

    fn progress(&self, run: &Run) -> Progress {
        let mut overview = Overview::new(&run.job.terms, run.session.books(), &run.account);
        overview.seconds = self.started.elapsed().as_secs_f64();
        overview.calls_per_second = Some(self.calls_per_second);
        overview.remaining = self.remaining;
        Progress {
            overview,
            failure_count: run.account.failure_count(),
            retry_count: run.engine.retry_count(),
            working_on: run.news.working_on.map(|target| {
                let (list, place) = run.subjects.place(target);
                [run.job.service_of(target).name.clone(), list.id(place).to_owned()]
            }),
            forecast: self.forecast,
            seconds_left: self.seconds_left(run),
            conditions: self.conditions.clone(),
            held_by: run.news.held_by,
            is_paused: self.control.is_paused(),
            elapsed: self.started.elapsed(),
        }
    }
}

/// What a person is told of once.
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
            // Only of what is lacking there is something to say.
            Outcome::Scores(_) if !call.note.reason.is_empty() => Some(Self::Partly),
            _ => None,
        }
    }
}

const LOOK_INTERVAL: Duration = Duration::from_millis(200);
const RATE_MEMORY_SECONDS: f64 = 2.0;
/// Verifiers of different price take turns: a few seconds say little about the money of an hour.
const PACE_MEMORY_SECONDS: f64 = 60.0;
const PACE_KNOWN_AFTER: Duration = Duration::from_secs(3);
