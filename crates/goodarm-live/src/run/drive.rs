//! The loop of a run: what came back is settled, what comes next is asked for, and calls whose intents are
//! durable are started.

use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{
    ArmStatus, Ask, AskError, AttributeId, Event, ServiceId, Source, StopReason, Target,
    VoidFailure,
};
use goodarm_record::control::Control;
use goodarm_record::ending::{Ending, RunError};
use goodarm_record::journal::Record;
use goodarm_record::notice::{HeldBy, Observer};
use tokio::time::Instant;

use crate::engine;
use crate::run::announce::Announcer;
use crate::run::settle::Origin;
use crate::run::{Run, place_of};
use crate::service::{CallContext, Dispatch, Reply};

impl Run {
    /// Makes calls until there is nothing more to do, or someone says stop. It blocks and has a
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
        // Calls in flight of a run that was left end with the runtime, not before.
        self.runtime = Some(runtime);
        result
    }

    /// The same in the tokio runtime of the caller, which makes the calls; its timers and I/O must be
    /// enabled.
    pub async fn drive_async(
        &mut self,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Ending, RunError> {
        self.engine.reopen();
        self.news.reopen(observer.wants_calls());
        let mut announcer = Announcer::new(self, control, observer);
        let mut tick = tokio::time::interval(TICK);
        let mut phase = Phase::Working;
        let ending = loop {
            // What the disk has no room for waits where it is: a frame must not grow without end.
            while !self.disk.is_full()
                && let Some(returned) = self.engine.take()
            {
                self.settle_returned(returned);
            }
            phase = self.next_phase(phase, control);
            let next = match self.hear_and_ask(&phase, &mut announcer) {
                Ok(next) => next,
                Err(error) => {
                    // What came before it counts all the same.
                    self.disk.commit().await.map_err(RunError::NotDurable)?;
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
                break Ending::Left;
            }
            // Those of people stand, however the run ends.
            let in_flight_count = self.machines_in_flight();
            let is_over = in_flight_count == 0 && matches!(phase, Phase::Draining(_));
            if is_over || announcer.is_due() && !self.disk.is_safe() {
                self.disk.commit().await.map_err(RunError::NotDurable)?;
            }
            self.disk.push(in_flight_count).map_err(RunError::NotDurable)?;
            if phase == Phase::Working {
                self.start_ready();
            }
            if self.disk.is_safe() {
                announcer.look(self);
            }
            if let Phase::Draining(ending) = &phase
                && is_over
            {
                break ending.clone();
            }
            if next == Next::More {
                // Calls in flight want to be moved, too.
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    biased;
                    result = self.disk.wait(in_flight_count) => {
                        result.map_err(RunError::NotDurable)?;
                    }
                    () = self.engine.wait(), if !self.disk.is_behind() => {}
                    _ = tick.tick() => {}
                }
            }
        };
        self.disk.commit().await.map_err(RunError::NotDurable)?;
        announcer.close(self);
        Ok(ending)
    }

    /// Books what people have said, and asks for what comes next if there is work.
    fn hear_and_ask(
        &mut self,
        phase: &Phase,
        announcer: &mut Announcer<'_>,
    ) -> Result<Next, RunError> {
        self.hear_people()?;
        if *phase != Phase::Working || self.disk.is_behind() {
            return Ok(Next::Wait);
        }
        self.ask_all(announcer)
    }

    fn next_phase(&self, phase: Phase, control: &Control) -> Phase {
        match phase {
            _ if control.is_leaving() => Phase::Leaving,
            Phase::Draining(ending) => Phase::Draining(ending),
            _ if control.is_stopping() => Phase::Draining(Ending::Interrupted),
            _ => match self.health.ending(&self.job, &self.subjects, self.engine.conditions()) {
                Some(ending) => Phase::Draining(ending),
                None if control.is_paused() => Phase::Paused,
                None => Phase::Working,
            },
        }
    }

    /// Starts calls whose intents are durable, as many as may be in flight.
    fn start_ready(&mut self) {
        let in_flight_count = self.machines_in_flight();
        let started_count = in_flight_count.saturating_sub(self.disk.kept_count());
        for _ in started_count..self.engine.concurrency() {
            let Some((call, task)) = self.disk.next_ready() else { break };
            let target = call.target;
            let job = Arc::clone(&self.job);
            let service = job.problem.service(target);
            // One of the job's is looked up when its turn has come: many calls may wait.
            let made = match (target, self.subjects.place(target)) {
                (Target::Arm(..), (_, arm)) if arm.index() < job.candidates.len() => None,
                (_, (list, place)) => Some(list.get(place)),
            };
            self.engine.start(call, service.index(), async move |throttle| {
                let place = place_of(target);
                let throttle = throttle.on_answer(place);
                throttle.begin().await;
                let subject = made.unwrap_or_else(|| job.candidates.get(place));
                job.service(service).call(&subject, task, &throttle).await
            });
        }
    }

    /// Calls that were not started yet are not made now, and not lost should the process die.
    fn take_back(&mut self) {
        for (call, _) in self.disk.take_back() {
            let unmade = Reply::void(VoidFailure::NotConnected);
            self.settle(call, unmade, Origin::Unstarted);
        }
    }

    /// Asks until there is nothing to ask for now; makes our own calls on the spot.
    fn ask_all(&mut self, announcer: &mut Announcer<'_>) -> Result<Next, RunError> {
        let concurrency = self.engine.concurrency();
        let in_flight_max = concurrency + self.disk.ahead_count().min(concurrency);
        let calls_max = self.job.calls_max();
        let mut calls_left = calls_max.saturating_sub(self.others_count());
        let begin = Instant::now();
        for count in 1_u32.. {
            let is_full = self.machines_in_flight() >= in_flight_max;
            if is_full || announcer.control.is_stopping() {
                self.news.held_by = is_full.then_some(HeldBy::Concurrency);
                return Ok(Next::Wait);
            }
            if calls_left == 0 {
                self.news.held_by = None;
                let is_last = self.session.books().in_flight_count() == 0;
                let ending = Ending::CallsSpent { calls_max };
                return if is_last { Ok(Next::Done(ending)) } else { self.wait() };
            }
            let call = match self.ask()? {
                Ask::Call(call) => call,
                Ask::Wait => {
                    self.news.held_by = self.session.is_held_by_money().then_some(HeldBy::Money);
                    return self.wait();
                }
                Ask::Done(reason) => return Ok(Next::Done(Ending::Done(reason))),
            };
            self.news.working_on = Some(call.target);
            let intent = Record::from(Event::from(call));
            let reply = match self.dispatch(call.target) {
                Some(Dispatch::Now(reply)) => reply,
                Some(Dispatch::Later(task)) => {
                    self.disk.append_intent(&intent, call, task);
                    calls_left -= 1;
                    continue;
                }
                None => {
                    self.disk.append_awaited(&intent);
                    self.ask_people(call);
                    calls_left -= 1;
                    continue;
                }
            };
            self.disk.append(&intent);
            self.settle(call, reply, Origin::Own);
            // It can be made again, so it need not be durable to be told. What others have answered
            // must be.
            if self.disk.is_safe() {
                announcer.tell_of_calls(self);
            }
            let is_look = count.is_multiple_of(OWN_CALLS_BETWEEN_LOOKS);
            if is_look && begin.elapsed() > OWN_CALLS_TIME {
                break;
            }
        }
        Ok(Next::More)
    }

    /// Waits for what is in flight, unless that is for people alone, and nobody waits for them or they can add
    /// nothing: all is decided, and a card that is still out stays unanswered and unpaid.
    fn wait(&mut self) -> Result<Next, RunError> {
        let books = self.session.books();
        let is_decided =
            books.status_count(ArmStatus::Undecided) == 0 && books.problem().questions().is_none();
        if self.people.are_waited_for && !is_decided || !self.is_left_to_people()? {
            return Ok(Next::Wait);
        }
        if is_decided {
            let are_certified = self.session.books().status_count(ArmStatus::Rejected) == 0;
            let reason =
                if are_certified { StopReason::AllCertified } else { StopReason::AllDecided };
            return Ok(Next::Done(Ending::Done(reason)));
        }
        let count = self.waiting_for_people();
        Ok(Next::Done(Ending::WaitsForPeople { count }))
    }

    /// Calls that others have made, in whatever process, or are making. One that was taken back, or
    /// found nobody, is not among them: its retry is.
    fn others_count(&self) -> u64 {
        let services = self.job.services().zip(self.account.services());
        let others = services.filter(|(service, _)| !service.service.is_local());
        let made_count: u64 = others.map(|(_, totals)| totals.outcomes.call_count).sum();
        made_count + self.session.books().in_flight_count() as u64
    }

    /// Asks for a call; on another answer if all that a verifier has are turned away, to find out whether
    /// every call is.
    fn ask(&mut self) -> Result<Ask, AskError> {
        let books = self.session.books();
        let mut aside = books.problem().services().zip(self.engine.throttled_counts());
        let hangs = |&(service, count): &(ServiceId, usize)| {
            count > 0 && books.lane(service).in_flight_count() <= count
        };
        match aside.find(hangs) {
            Some((service, _)) => self.session.ask_another(service),
            None => self.session.ask(),
        }
    }

    /// Dispatches a call that is in the books; `None` if people answer it later.
    pub(super) fn dispatch(&self, target: Target) -> Option<Dispatch> {
        let service = self.job.problem.service(target);
        let books = self.session.books();
        let dispatched_count = match target {
            Target::Arm(arm, attribute) => books.tally(arm, attribute).dispatched_count,
            Target::Question(question, Source::Votes(attribute)) => {
                books.question(question).vote_count(attribute)
            }
            Target::Question(question, Source::Generator(generator)) => {
                books.question(question).asked_count_of(generator)
            }
        };
        let (candidates, arm) = self.subjects.place(target);
        self.job.service(service).dispatch(CallContext {
            candidates,
            arm,
            attribute: AttributeId(books.problem().stream_number(service)),
            order: dispatched_count - 1,
        })
    }
}

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Calls are asked for and started.
    Working,
    /// New calls are held back until told otherwise.
    Paused,
    /// No new calls; once those in flight are back, the run ends like this.
    Draining(Ending),
    /// The run ends now; calls in flight will count as lost.
    Leaving,
}

/// What there is to do once all has been asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// There is more to ask for.
    More,
    /// Nothing before something comes back.
    Wait,
    /// Nothing.
    Done(Ending),
}

const TICK: Duration = Duration::from_millis(100);
/// Our own calls take little time; look up now and then all the same.
const OWN_CALLS_BETWEEN_LOOKS: u32 = 16;
const OWN_CALLS_TIME: Duration = Duration::from_millis(2);
