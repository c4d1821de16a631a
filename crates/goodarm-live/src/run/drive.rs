//! The loop of a run: settle the calls that came back, ask for the next ones, and start the calls whose
//! intents are durable.

use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{ArmStatus, Ask, Event, StopReason, Target, VoidFailure};
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::journal::Record;
use goodarm_record::notice::{HeldBy, Observer};
use goodarm_record::run_error::RunError;
use tokio::time::{Instant, Interval};

use crate::engine;
use crate::run::disk::PendingCall;
use crate::run::notices::Announcer;
use crate::run::settle::Origin;
use crate::run::{Run, subject_of};
use crate::service::{Dispatch, Reply};

impl Run {
    /// Makes calls until there is nothing more to do or `control` stops the run. Blocks the thread and uses a
    /// runtime of its own: in asynchronous code, use [`Run::drive_async`].
    pub fn drive(
        &mut self,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Ending, RunError> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => engine::runtime()
                .map_err(|error| RunError::file(&self.job.settings.output, error))?,
        };
        let result = runtime.block_on(self.drive_async(control, observer));
        // If the run was left with calls in flight, they end with the runtime, not before.
        self.runtime = Some(runtime);
        result
    }

    /// The same as [`Run::drive`] in the tokio runtime of the caller, whose timers and I/O must be enabled.
    pub async fn drive_async(
        &mut self,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Ending, RunError> {
        self.engine.reopen();
        self.notices.reopen(observer.wants_calls());
        let mut announcer = Announcer::new(self, control, observer);
        let mut tick = tokio::time::interval(TICK);
        let mut phase = Phase::Working;
        let ending = loop {
            // A journal frame has a largest size: further replies wait in the engine until it is written.
            while !self.work.disk.is_full()
                && let Some(returned) = self.engine.take()
            {
                self.settle_returned(returned);
            }
            phase = self.next_phase(phase, control);
            let next = match self.settle_people_and_ask(&phase, &mut announcer) {
                Ok(next) => next,
                Err(error) => {
                    // Everything before the error still becomes durable.
                    self.work.disk.commit().await.map_err(RunError::NotDurable)?;
                    return Err(error);
                }
            };
            if let Next::Done(ending) = &next {
                phase = Phase::Draining(ending.clone());
            }
            if phase != Phase::Working {
                self.take_back();
            }
            if matches!(phase, Phase::Draining(_) | Phase::Leaving) {
                self.engine.stop();
            }
            if phase == Phase::Leaving {
                break Ending::Stopped { at_once: true };
            }
            // Calls that wait for people stay open when the run ends.
            let in_flight_count = self.machine_calls_in_flight();
            let is_over = in_flight_count == 0 && matches!(phase, Phase::Draining(_));
            if is_over || announcer.is_due() && !self.work.disk.is_safe() {
                self.work.disk.commit().await.map_err(RunError::NotDurable)?;
            }
            self.work.disk.push(in_flight_count).map_err(RunError::NotDurable)?;
            if phase == Phase::Working {
                self.start_ready();
            }
            if self.work.disk.is_safe() {
                announcer.announce(self);
            }
            if let Phase::Draining(ending) = &phase
                && is_over
            {
                break ending.clone();
            }
            if next == Next::More {
                // Let the calls in flight progress.
                tokio::task::yield_now().await;
            } else {
                self.wait_for_event(in_flight_count, &mut tick).await?;
            }
        };
        self.work.disk.commit().await.map_err(RunError::NotDurable)?;
        announcer.close(self);
        Ok(ending)
    }

    /// Waits for the disk, a reply or the next tick.
    async fn wait_for_event(
        &mut self,
        in_flight_count: usize,
        tick: &mut Interval,
    ) -> Result<(), RunError> {
        tokio::select! {
            biased;
            result = self.work.disk.wait(in_flight_count) => result.map_err(RunError::NotDurable),
            () = self.engine.wait(), if !self.work.disk.is_behind() => Ok(()),
            _ = tick.tick() => Ok(()),
        }
    }

    fn settle_people_and_ask(
        &mut self,
        phase: &Phase,
        announcer: &mut Announcer<'_>,
    ) -> Result<Next, RunError> {
        self.settle_people()?;
        if *phase != Phase::Working || self.work.disk.is_behind() {
            return Ok(Next::Wait);
        }
        self.ask_all(announcer)
    }

    fn next_phase(&self, phase: Phase, control: &Control) -> Phase {
        match phase {
            _ if control.is_leaving() => Phase::Leaving,
            Phase::Draining(ending) => Phase::Draining(ending),
            _ if control.is_stopping() => Phase::Draining(Ending::Stopped { at_once: false }),
            _ => match self.health.ending(&self.job, &self.work.subjects, self.engine.conditions())
            {
                Some(ending) => Phase::Draining(ending),
                None if control.is_paused() => Phase::Paused,
                None => Phase::Working,
            },
        }
    }

    /// Calls in flight, without those that wait for people.
    fn machine_calls_in_flight(&self) -> usize {
        self.work.books().in_flight_count() - self.people.count()
    }

    /// Starts calls whose intents are durable, up to the limit of calls in flight.
    fn start_ready(&mut self) {
        let in_flight_count = self.machine_calls_in_flight();
        let started_count = in_flight_count.saturating_sub(self.work.disk.kept_count());
        for _ in started_count..self.engine.concurrency() {
            let Some(PendingCall { call, task }) = self.work.disk.next_ready() else { break };
            let target = call.target;
            let job = Arc::clone(&self.job);
            let service = job.problem.service(target);
            // Many calls may wait, so a candidate of the job is looked up only when its call begins. Questions and
            // answers generated in this run are not among the job's candidates: they are looked up here.
            let looked_up = match (target, self.work.subjects.place(target)) {
                (Target::Arm(..), (_, arm)) if arm.index() < job.candidates.len() => None,
                (_, (list, place)) => Some(list.get(place)),
            };
            self.engine.start(call, service.index(), async move |throttle| {
                let subject = subject_of(target);
                let throttle = throttle.on_answer(subject);
                throttle.begin().await;
                let subject = looked_up.unwrap_or_else(|| job.candidates.get(subject));
                job.service(service).call(&subject, task, &throttle).await
            });
        }
    }

    /// Settles as void the calls that were not started, so that a crash does not count them as lost.
    fn take_back(&mut self) {
        for PendingCall { call, .. } in self.work.disk.take_back() {
            self.settle(call, Reply::void(VoidFailure::NotConnected), Origin::Unstarted);
        }
    }

    /// Asks the session for calls until it must wait, or for a short time. Quick calls are evaluated at once.
    fn ask_all(&mut self, announcer: &mut Announcer<'_>) -> Result<Next, RunError> {
        let concurrency = self.engine.concurrency();
        let in_flight_max = concurrency + self.work.disk.ahead_count().min(concurrency);
        let calls_max = self.job.calls_max();
        let mut calls_left = calls_max.saturating_sub(self.work.remote_call_count(&self.job));
        let begin = Instant::now();
        for count in 1_u32.. {
            let is_full = self.machine_calls_in_flight() >= in_flight_max;
            if is_full || announcer.control.is_stopping() {
                self.notices.held_by = is_full.then_some(HeldBy::Concurrency);
                return Ok(Next::Wait);
            }
            if calls_left == 0 {
                self.notices.held_by = None;
                let is_last = self.work.books().in_flight_count() == 0;
                let ending = Ending::CallsUsedUp { calls_max };
                return if is_last { Ok(Next::Done(ending)) } else { self.wait() };
            }
            let call = match self.work.ask(self.engine.throttled_counts())? {
                Ask::Call(call) => call,
                Ask::Wait => {
                    let is_held = self.work.session.is_limited_by_budget();
                    self.notices.held_by = is_held.then_some(HeldBy::Money);
                    return self.wait();
                }
                Ask::Done(reason) => return Ok(Next::Done(Ending::Done(reason))),
            };
            self.notices.working_on = Some(call.target);
            let intent = Record::from(Event::from(call));
            let reply = match self.work.dispatch(&self.job, call.target) {
                Some(Dispatch::Now(reply)) => reply,
                Some(Dispatch::Later(task)) => {
                    self.work.disk.append_intent(&intent, PendingCall { call, task });
                    calls_left -= 1;
                    continue;
                }
                None => {
                    self.work.disk.append_awaited(&intent);
                    self.people.ask(call, self.work.names(&self.job, call.target));
                    calls_left -= 1;
                    continue;
                }
            };
            self.work.disk.append(&intent);
            self.settle(call, reply, Origin::Local);
            // A local call can be made again, so it may be announced before it is durable. Replies of
            // others must be durable first.
            if self.work.disk.is_safe() {
                announcer.announce_calls(self);
            }
            let is_check = count.is_multiple_of(LOCAL_CALLS_BETWEEN_CHECKS);
            if is_check && begin.elapsed() > LOCAL_CALLS_TIME {
                break;
            }
        }
        Ok(Next::More)
    }

    /// Returns [`Next::Wait`] in most cases. The run ends if all calls in flight wait for people and either the
    /// run does not wait for people, or all answers are decided: a card that is still open stays unanswered and
    /// unpaid.
    fn wait(&mut self) -> Result<Next, RunError> {
        let books = self.work.books();
        let is_decided =
            books.status_count(ArmStatus::Undecided) == 0 && books.problem().questions().is_none();
        let are_only_people_left = self.machine_calls_in_flight() == 0 && self.people.count() > 0;
        if self.people.are_waited_for && !is_decided
            || !are_only_people_left
            || self.people.has_answers()?
        {
            return Ok(Next::Wait);
        }
        if is_decided {
            let are_certified = self.work.books().status_count(ArmStatus::Rejected) == 0;
            let reason =
                if are_certified { StopReason::AllCertified } else { StopReason::AllDecided };
            return Ok(Next::Done(Ending::Done(reason)));
        }
        Ok(Next::Done(Ending::WaitsForPeople { count: self.people.count() }))
    }
}

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Calls are asked for and started.
    Working,
    /// New calls are held back until the pause ends.
    Paused,
    /// No new calls are asked for. When the calls in flight have returned, the run ends with this ending.
    Draining(Ending),
    /// The run ends now; calls in flight will count as lost.
    Leaving,
}

/// What to do after [`Run::ask_all`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// There is more to ask for.
    More,
    /// Nothing until a call comes back.
    Wait,
    /// The run ends with this ending.
    Done(Ending),
}

const TICK: Duration = Duration::from_millis(100);
/// The number of quick calls between two looks at the clock.
const LOCAL_CALLS_BETWEEN_CHECKS: u32 = 16;
const LOCAL_CALLS_TIME: Duration = Duration::from_millis(2);
