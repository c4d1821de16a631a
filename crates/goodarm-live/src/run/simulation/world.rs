//! The verifiers, and what really happened: the calls, the replies and the bills, which the run's files are compared
//! with.

use std::collections::BTreeMap;
use std::panic;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use goodarm_core::{Cost, CountedFailure, VoidFailure};
use goodarm_data::answer::{ExtractName, Extractor};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_record::card_queue::ReplyForm;
use goodarm_record::job_file::{FailedCalls, Scores};
use goodarm_record::reply::NOTHING;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::chance::Chance;
use super::plan::{ANSWERS_MAX, Asking, Fate, Life, Plan};
use super::{Figures, Killed, person};
use crate::job::{Job, JobSettings, JobSpec, QuestionSpec, ServiceSpec};
use crate::pricing::{Meter, Pricing};
use crate::service::attempt::{Attempt, attempts};
use crate::service::{
    CallContext, CallFuture, Contact, Deferred, Delivery, Dispatch, FinalAnswerRule, Local,
    Manifest, Remote, Reply, Service, Usage, Verdict,
};
use crate::throttle::Throttle;

pub(super) struct World {
    pub(super) plan: Plan,
    /// A call came at which the process is to be killed.
    pub(super) killed: Notify,
    /// A run does nothing and does not say why.
    pub(super) stuck: Notify,
    truth: Mutex<Truth>,
}

/// What really happened. The run does not see it.
#[derive(Default)]
pub(super) struct Truth {
    /// By answer (or question, see [`QUESTIONS_FROM`]) and by service.
    pub(super) pairs: BTreeMap<(usize, usize), Pair>,
    /// The sum of all bills. A bill above its ceiling counts as the ceiling, because the run does not know the
    /// bill of a lost reply.
    pub(super) billed: Cost,
    /// Calls that are being worked on.
    pub(super) out_count: usize,
    /// When an attempt last began or ended.
    pub(super) moved_at: Option<Instant>,
    /// How long earlier processes lived, with the time between processes.
    before: Duration,
    began: Option<Instant>,
    call_count: u64,
    fatal_call: Option<u64>,
    visit_count: u64,
    pub(super) figures: Figures,
}

/// What happened with one answer at one verifier.
#[derive(Default)]
pub(super) struct Pair {
    pub(super) call_count: u64,
    pub(super) scores: Vec<f64>,
}

impl World {
    pub(super) fn new(plan: Plan) -> Arc<Self> {
        Arc::new(Self {
            plan,
            killed: Notify::new(),
            stuck: Notify::new(),
            truth: Mutex::default(),
        })
    }

    pub(super) fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().expect("not poisoned")
    }

    /// A process begins.
    pub(super) fn begin(&self, fate: Fate) {
        let mut truth = self.truth();
        let now = Instant::now();
        (truth.began, truth.moved_at, truth.call_count, truth.out_count) =
            (Some(now), Some(now), 0, 0);
        truth.fatal_call = match fate {
            Fate::KilledAtCall(count) => Some(count),
            _ => None,
        };
    }

    /// A process ends.
    pub(super) fn end(&self, lived: Duration) {
        self.truth().before += lived + BETWEEN_PROCESSES;
    }

    pub(super) fn job(self: &Arc<Self>, folder: &Path, life: &Life) -> Arc<Job> {
        let (candidates, questions) = match &self.plan.questions {
            Some(asking) => self.questions(asking),
            None => {
                let line = |arm| format!(r#"{{"id": "{arm}", "answer": "the answer {arm}"}}"#);
                (candidates_of((0..life.arm_count).map(line)), None)
            }
        };
        let verifiers = (0..self.plan.verifiers.len()).map(|index| self.spec(index)).collect();
        let settings = JobSettings {
            output: folder.to_owned(),
            guarantee: self.plan.guarantee,
            policy: self.plan.policy.to_owned(),
            concurrency: life.concurrency,
            seed: self.plan.seed,
            ..JobSettings::new(life.budget, DELTA)
        };
        Arc::new(Job::new(JobSpec { settings, candidates, verifiers, questions }).expect("a job"))
    }

    /// The questions. Every second one has an answer if the plan gives answers at the beginning.
    fn questions(self: &Arc<Self>, asking: &Asking) -> (Candidates, Option<QuestionSpec>) {
        let list =
            candidates_of((0..asking.count).map(|number| format!(r#"{{"id": "{number}"}}"#)));
        let given = (0..asking.count).filter(|number| asking.has_given && number % 2 == 0);
        let given = given.map(|number| {
            let answer = usize::from(number % 4 == 0);
            format!(r#"{{"id": "given {number}", "question_id": "{number}", "answer": "answer {answer}"}}"#)
        });
        let given: Vec<String> = given.collect();
        let candidates = if given.is_empty() {
            Candidates::empty(Path::new("answers"))
        } else {
            candidates_of(given.into_iter())
        };
        let spec = QuestionSpec {
            generators: vec![self.spec(self.plan.verifiers.len())],
            candidates_max: asking.candidates_max,
            answer_bytes_max: 100,
            ..QuestionSpec::new(list)
        };
        (candidates, Some(spec))
    }

    fn spec(self: &Arc<Self>, index: usize) -> ServiceSpec {
        let nature = self.plan.nature(index);
        let pricing = if nature.is_metered && !nature.is_ours {
            let ceiling = Some(nature.ceiling);
            Pricing::Metered(Meter { reported: true, ceiling, ..Meter::default() })
        } else {
            Pricing::Fixed(nature.ceiling)
        };
        ServiceSpec {
            threshold: (index < self.plan.verifiers.len()).then_some(nature.threshold),
            pricing: Some(pricing),
            failed: Some(nature.failed),
            rate: nature.rate,
            concurrency: nature.concurrency,
            patience: PATIENCE,
            ..ServiceSpec::new(format!("verifier {index}"), self.service(index))
        }
    }
}

impl World {
    fn service(self: &Arc<Self>, index: usize) -> Service {
        let (plan, nature) = (&self.plan, self.plan.nature(index));
        let answers_questions = plan.answers_questions(index);
        let scores = match (nature.is_ours, nature.is_coin) {
            _ if answers_questions => Scores::Binary,
            (true, _) => Scores::Exact,
            (false, true) => Scores::Binary,
            (false, false) => Scores::UNIT,
        };
        let finals = || {
            let (field, extractor) = ("answer".to_owned(), LAST_NUMBER.clone());
            FinalAnswerRule { field, extractor, bytes_max: usize::MAX }
        };
        let fields = (!answers_questions).then(|| "answer".to_owned()).into_iter().collect();
        let final_answers = answers_questions.then(finals);
        let manifest =
            Manifest { fields, scores, answers_questions, final_answers, ..Manifest::default() };
        let verifier = SimVerifier { world: Arc::clone(self), index };
        if nature.is_person {
            let people = Deferred::new(person::terms(plan.seed), ReplyForm::Verdict);
            return Service::deferred(manifest, people);
        }
        if nature.is_ours {
            return Service::local(manifest, verifier);
        }
        Service::remote(manifest, verifier)
    }
}

impl Truth {
    pub(super) fn count(&mut self, what: &'static str) {
        self.figures.add(what, 1);
    }

    /// The number of the next visit of somebody who answers cards.
    pub(super) fn next_visit(&mut self) -> u64 {
        self.visit_count += 1;
        self.visit_count
    }

    /// Seconds since the first process began.
    fn seconds(&self) -> f64 {
        let lived = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        (self.before + lived).as_secs_f64()
    }
}

/// A call that is being worked on, until it ends or its process does.
struct Work(Arc<World>);

impl Drop for Work {
    fn drop(&mut self) {
        let mut truth = self.0.truth();
        truth.out_count = truth.out_count.saturating_sub(1);
        truth.moved_at = Some(Instant::now());
    }
}

struct SimVerifier {
    world: Arc<World>,
    index: usize,
}

impl SimVerifier {
    /// Counts a call. Returns its number among the calls of its pair, from 1.
    fn begin(&self, arm: usize) -> u64 {
        let mut truth = self.world.truth();
        truth.moved_at = Some(Instant::now());
        let is_fatal = truth.fatal_call == Some(truth.call_count);
        truth.call_count += 1;
        let pair = truth.pairs.entry((arm, self.index)).or_default();
        pair.call_count += 1;
        let order = pair.call_count;
        if is_fatal {
            self.world.killed.notify_one();
        }
        order
    }

    async fn attempt(&self, arm: usize, mut chance: Chance) -> Attempt<Reply> {
        let nature = self.world.plan.nature(self.index);
        let faults = &nature.faults;
        let [low, high] = nature.latency_seconds;
        let latency = Duration::from_secs_f64(chance.magnitude(low, high * 1.001));
        let work = {
            let mut truth = self.world.truth();
            truth.out_count += 1;
            truth.moved_at = Some(Instant::now());
            Work(Arc::clone(&self.world))
        };
        let is_away = {
            let now = self.world.truth().seconds();
            faults.outage.is_some_and(|[from, to]| (from..to).contains(&now))
        };
        let subject = arm.checked_sub(QUESTIONS_FROM).unwrap_or(arm);
        let is_refused = faults.refused_arms.contains(&subject) || chance.is(faults.refused);
        if is_away || is_refused {
            self.world.truth().count(if is_away { "not reached" } else { "refused" });
            sleep(latency / 10).await;
            // A refused key is like an absent server.
            let is_unreached = is_away || chance.is(0.3);
            let failure =
                if is_unreached { VoidFailure::NotConnected } else { VoidFailure::RateLimited };
            let retry_after = (is_refused && chance.is(0.5))
                .then(|| Duration::from_secs_f64(chance.magnitude(0.1, 20.0)));
            return Attempt::Void { failure, retry_after, reason: "not now".into() };
        }
        let is_error = chance.is(faults.error);
        let bill = self.bill(&mut chance, is_error);
        let is_slow = chance.is(faults.slow);
        if is_slow {
            self.world.truth().count("slow replies");
        }
        sleep(if is_slow { (latency * 50).min(TIMEOUT) } else { latency }).await;
        let usage = Usage { cost: Some(bill), worked: latency, ..Usage::default() };
        if is_error {
            self.world.truth().count("errors");
            let failed = Reply::failed(CountedFailure::Crashed, "status 500");
            let delivery = Delivery { status: Some(500), ..Delivery::default() };
            let contact = Contact::Error;
            return Attempt::Broke(Reply { usage: NOTHING, delivery, contact, ..failed });
        }
        let attempt = self.answer(arm, &mut chance).await;
        drop(work);
        match attempt {
            Attempt::Answered(reply) => Attempt::Answered(Reply { usage, ..reply }),
            // It does not say what it cost.
            Attempt::Broke(reply) => Attempt::Broke(reply),
            other => other,
        }
    }

    /// The bill of a call. It is owed even if the reply is lost, because work begins. An error is billed only if the
    /// job says so.
    fn bill(&self, chance: &mut Chance, is_error: bool) -> Cost {
        let nature = self.world.plan.nature(self.index);
        let ceiling = nature.ceiling;
        let mut truth = self.world.truth();
        let bill = match nature.is_metered {
            _ if is_error && nature.failed != FailedCalls::Ceiling => Cost::ZERO,
            true if chance.is(nature.faults.dearer) => {
                truth.count("bills above their ceiling");
                Cost::from_picos(ceiling.picos() * 2)
            }
            true => Cost::from_picos(ceiling.picos() / 10 * u128::from(chance.below(11))),
            false => ceiling,
        };
        truth.billed = truth.billed.saturating_add(bill.min(ceiling));
        bill
    }

    async fn answer(&self, arm: usize, chance: &mut Chance) -> Attempt<Reply> {
        let plan = &self.world.plan;
        let faults = &plan.nature(self.index).faults;
        let broke = |failure, reason: &str| Attempt::Broke(Reply::failed(failure, reason));
        if chance.is(faults.lost) {
            self.world.truth().count("lost replies");
            sleep(TIMEOUT).await;
            return broke(CountedFailure::TimedOut, "no reply in time");
        }
        if chance.is(faults.broken) {
            self.world.truth().count("broken replies");
            return broke(CountedFailure::Crashed, "it broke");
        }
        if chance.is(faults.dies) {
            self.world.truth().count("tasks that died");
            panic::resume_unwind(Box::new(Killed));
        }
        if chance.is(faults.unreadable) {
            self.world.truth().count("unreadable replies");
            return Attempt::Answered(Reply::failed(CountedFailure::Unreadable, "no score in it"));
        }
        if chance.is(faults.off_scale) {
            self.world.truth().count("scores off their scale");
            return Attempt::Answered(Reply::score(7.0));
        }
        if plan.answers_questions(self.index) {
            return self.answer_question(arm, chance);
        }
        let mean = plan.mean(arm, self.index);
        let score = if plan.verifiers[self.index].is_coin {
            f64::from(u8::from(chance.is(mean)))
        } else {
            // No two scores are equal, so that a score that is counted twice is found.
            let width = mean.min(1.0 - mean);
            chance.between(mean - width, mean + width)
        };
        let mut truth = self.world.truth();
        truth.count("scores");
        truth.pairs.entry((arm, self.index)).or_default().scores.push(score);
        Attempt::Answered(Reply::score(score))
    }
}

impl SimVerifier {
    /// Answers a question. The solver is right with the probability in the plan, the generator two times of
    /// three.
    fn answer_question(&self, place: usize, chance: &mut Chance) -> Attempt<Reply> {
        let plan = &self.world.plan;
        let is_solver = self.index < plan.verifiers.len();
        let first = if is_solver { plan.first_answer(place - QUESTIONS_FROM) } else { 0.66 };
        let answer = if chance.is(first) { 0 } else { 1 + chance.below(4) };
        let mut truth = self.world.truth();
        truth.count("answers");
        let number = f64::from(u32::try_from(answer).expect("one of few"));
        truth.pairs.entry((place, self.index)).or_default().scores.push(number);
        let verdict = Verdict::answer(format!("answer {answer}"), answer.to_string());
        Attempt::Answered(Reply { verdict, ..Reply::score(0.0) })
    }
}

impl Remote for SimVerifier {
    fn preview(&self, candidate: &Candidate) -> String {
        candidate.id.clone()
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async move {
            let arm = if self.world.plan.answers_questions(self.index) {
                QUESTIONS_FROM + candidate.id.parse::<usize>().expect("ids are numbers")
            } else {
                arm_of(candidate)
            };
            let order = self.begin(arm);
            let attempt_count = AtomicU64::new(0);
            let attempt = || {
                let count = attempt_count.fetch_add(1, Ordering::Relaxed);
                let place = [self.world.plan.seed, 4, arm as u64, self.index as u64, order, count];
                self.attempt(arm, Chance::at(&place))
            };
            attempts(throttle, attempt).await.unwrap_or_else(|reply| reply)
        })
    }
}

impl Local for SimVerifier {
    fn preview(&self) -> String {
        String::new()
    }

    fn answer(&self, call: CallContext<'_>) -> Dispatch {
        let mean = self.world.plan.mean(arm_of(&call.candidate()), self.index);
        Dispatch::Now(Reply::score(mean))
    }
}

/// The number of an answer: its id or, for an answer to a question, made from the numbers of both.
pub(super) fn arm_of(candidate: &Candidate) -> usize {
    let number = |text: &str| -> usize {
        text.trim_start_matches("answer ").parse().expect("ids and answers end in numbers")
    };
    let text = |field: &str| candidate.field(field).and_then(Value::as_str);
    match (text("question_id"), text("answer")) {
        (Some(question), Some(answer)) => number(question) * ANSWERS_MAX + number(answer),
        _ => number(&candidate.id),
    }
}

fn candidates_of(lines: impl Iterator<Item = String>) -> Candidates {
    let lines: Vec<String> = lines.collect();
    Candidates::from_lines(lines.iter().map(String::as_str), "id").expect("candidates")
}

static LAST_NUMBER: LazyLock<Extractor> = LazyLock::new(|| {
    Extractor::new(ExtractName::LastNumber, None, None).expect("it needs nothing more")
});

/// In place of an answer's number, a question has this number plus its own.
pub(super) const QUESTIONS_FROM: usize = 1_000_000;

pub(super) const DELTA: f64 = 0.1;
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
const TIMEOUT: Duration = Duration::from_secs(15);
const BETWEEN_PROCESSES: Duration = Duration::from_secs(10);
