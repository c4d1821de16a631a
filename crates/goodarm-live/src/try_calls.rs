//! Tries a job's services on a few answers, outside of any run: what is sent, what comes back, how it is read,
//! and what looks suspicious.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{
    ArmId, Attribute, Cost, CountedFailure, Failure, Label, Outcome, QuestionId, Role, ServiceId,
};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_files::Scores as Declared;
use goodarm_record::control::Control;
use goodarm_record::notice::Condition;
use goodarm_record::outputs::calls::CriterionScores;
use goodarm_record::questions::MadeAnswer;
use goodarm_record::view::warnings::high_ceiling;
use serde::Serialize;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use crate::engine;
use crate::job::{Job, JobService};
use crate::run::{of_answer, outcome};
use crate::service::{CallContext, Dispatch, Reply};
use crate::throttle::{CallLimits, Throttle};
use crate::transcript::{Exchange, Transcript};

/// One call of a trial, and how its reply was read.
#[derive(Clone, Debug, Serialize)]
pub struct TryCall {
    /// The verifier or generator.
    #[serde(skip)]
    pub service: ServiceId,
    /// The name of the service.
    pub verifier: String,
    /// The id of the candidate, or of the question if the service answers questions.
    pub id: String,
    /// What was sent and received, word for word; several for a call of several requests.
    pub exchanges: Vec<Exchange>,
    /// The score, if there is one.
    pub score: Option<f64>,
    /// The scores of the criteria, if the verifier has criteria and the reply has a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<CriterionScores>,
    /// The final answer, if the service answers questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Why scores are missing.
    pub reason: Option<String>,
    /// The text of the reply.
    pub reply: String,
    /// What the call would cost in a run.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub cost: Cost,
    /// The most that the call could cost.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub ceiling: Cost,
    /// How long the service worked on the call.
    pub seconds: f64,
    /// The answer that the service made, if it would become a candidate in a run.
    #[serde(skip)]
    pub made: Option<String>,
    /// Whether the call was not made, for example because the service was not reached.
    #[serde(skip)]
    pub is_unmade: bool,
    /// Whether the service asked for a pause.
    #[serde(skip)]
    pub is_busy: bool,
}

impl TryCall {
    /// Whether the call gave an answer, or a score for at least one criterion.
    pub fn has_scored(&self) -> bool {
        self.score.is_some() || self.scores.is_some() || self.answer.is_some()
    }

    fn criterion(&self, index: usize) -> Option<f64> {
        self.scores.as_ref()?.0.get(index)?.1
    }
}

/// Calls each verifier of a job once on each of these candidates, and each generator once on their questions.
/// If the job has no candidates, `arms` are questions, and the answers to them are verified. Returns first the
/// calls of generators, then of solvers, then of other verifiers, each in the order of the job; fewer calls if
/// `control` stops the trial, or if a service asks for a long pause.
pub fn try_out(job: &Arc<Job>, arms: &[ArmId], control: &Control) -> io::Result<Vec<TryCall>> {
    let runtime = engine::runtime()?;
    let mut trials = runtime.block_on(try_all(job, arms, control));
    // Do not wait for DNS lookups that are still running.
    runtime.shutdown_background();
    // First the services that make the answers which the others verify. The calls of one service are in order
    // already.
    let stage = |trial: &TryCall| {
        let service = job.terms.service(job.target_of(trial.service));
        (!service.is_generator, !service.answers_questions)
    };
    trials.sort_by_key(|trial| (stage(trial), trial.service));
    Ok(trials)
}

/// Tries first the services that answer questions, then the services that verify answers.
async fn try_all(job: &Arc<Job>, arms: &[ArmId], control: &Control) -> Vec<TryCall> {
    let Some(questions) = &job.questions else {
        return try_some(job, &job.candidates, arms, false, control).await;
    };
    let asked: Vec<ArmId> = if job.candidates.is_empty() {
        arms.to_owned()
    } else {
        let of = job.problem.questions();
        let asked = arms.iter().filter_map(|&arm| Some(ArmId(of?.of(arm).0)));
        asked.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let list = Arc::new(questions.list.clone());
    let mut trials = try_some(job, &list, &asked, true, control).await;
    let (mut candidates, mut arms) = ((*job.candidates).clone(), arms.to_owned());
    if job.candidates.is_empty() {
        arms.clear();
        for trial in &trials {
            let (Some(text), Some(arm)) = (&trial.made, list.arm_of(&trial.id)) else { continue };
            let final_answer = trial.answer.as_deref().unwrap_or_default();
            questions.add(&mut candidates, QuestionId(arm.0), 1, MadeAnswer { text, final_answer });
            arms.extend(candidates.arms().last());
        }
    }
    trials.extend(try_some(job, &Arc::new(candidates), &arms, false, control).await);
    trials
}

/// Calls concurrently all services that answer questions, or all other services. Each service gets one call at
/// a time, so that every exchange in its transcript belongs to that call.
async fn try_some(
    job: &Arc<Job>,
    subjects: &Arc<Candidates>,
    arms: &[ArmId],
    are_questions: bool,
    control: &Control,
) -> Vec<TryCall> {
    let (sender, mut receiver) = unbounded_channel();
    let mut tasks = JoinSet::new();
    for service in job.problem.services() {
        let called = job.service(service);
        if called.service.manifest.answers_questions != are_questions {
            continue;
        }
        let patience = called.limits.patience.max(SILENCE_MAX);
        let limits =
            CallLimits { concurrency: 1, retries: Some(RETRIES), patience, ..called.limits };
        let throttle = called.throttle(limits).with_transcript(Transcript::kept());
        let (job, arms, sender) = (Arc::clone(job), arms.to_owned(), sender.clone());
        let subjects = Arc::clone(subjects);
        tasks.spawn(async move {
            for arm in arms {
                let trial = one(&job, service, &subjects, arm, &throttle).await;
                // The send fails if the trial was stopped.
                drop(sender.send(trial));
                if throttle.long_pause(SILENCE_MAX).is_some() {
                    return;
                }
            }
        });
    }
    drop(sender);
    let mut trials = Vec::new();
    let mut tick = tokio::time::interval(LOOK_INTERVAL);
    while !control.is_stopping() {
        tokio::select! {
            trial = receiver.recv() => match trial {
                Some(trial) => trials.push(trial),
                None => break,
            },
            _ = tick.tick() => {}
        }
    }
    trials
}

async fn one(
    job: &Job,
    service: ServiceId,
    subjects: &Candidates,
    arm: ArmId,
    throttle: &Throttle,
) -> TryCall {
    let verifier = job.service(service);
    let candidate = subjects.get(arm);
    let attribute = verifier.lead;
    let call = CallContext { candidates: subjects, arm, attribute, order: 0 };
    let reply = match verifier.dispatch(call) {
        Some(Dispatch::Now(reply)) => reply,
        Some(Dispatch::Later(task)) => tokio::select! {
            biased;
            reply = verifier.call(&candidate, task, throttle) => reply,
            reason = long_pause(throttle) => Reply::failed(CountedFailure::GivenUp, reason),
        },
        None => Reply::failed(CountedFailure::GivenUp, NOT_ASKED),
    };
    let Reply { verdict, usage, text, contact, .. } = reply;
    let members = job.problem.members(attribute).iter();
    let declared: Vec<&Attribute> = members.map(|it| job.problem.attribute(*it)).collect();
    let (mut answer, mut made) = (None, None);
    let (outcome, mut reason) = if verifier.service.manifest.answers_questions {
        match of_answer(verdict) {
            Ok(found) => {
                (answer, made) = (Some(found.final_answer), Some(found.text));
                (Outcome::Answer(Some(Label(0))), String::new())
            }
            Err((failure, reason)) => (Outcome::Failed(failure), reason),
        }
    } else {
        outcome(&declared, verdict)
    };
    if matches!(outcome, Outcome::Failed(Failure::Void(_))) {
        reason.clone_from(&text);
    }
    // A call that was given up has never begun.
    let is_unmade = outcome.failure().is_some_and(|failure| {
        failure == Failure::Counted(CountedFailure::GivenUp) || failure.is_free()
    });
    let ceiling = verifier.tariff.ceiling;
    let bill = verifier.bill((&usage, contact), outcome.is_failed(), [ceiling; 2]);
    let cost = if is_unmade { Cost::ZERO } else { bill.possible() };
    let exchanges = exchanges(verifier, &candidate, throttle, &text);
    let (score, scores) = scores_of(verifier, &outcome);
    let is_generator = matches!(job.problem.role(service), Some(Role::Generator(_)));
    TryCall {
        service,
        answer,
        made: made.filter(|_| is_generator || job.problem.votes_propose(attribute)),
        verifier: verifier.name.clone(),
        id: candidate.id,
        exchanges,
        score,
        scores,
        reason: (outcome.is_failed() || !reason.is_empty()).then_some(reason),
        reply: text,
        cost,
        ceiling: verifier.tariff.ceiling,
        seconds: usage.worked.as_secs_f64(),
        is_unmade,
        is_busy: matches!(throttle.condition(), Condition::BackingOff { .. }),
    }
}

/// Waits for a pause that is too long for a trial; returns why the service is paused. During a pause no request is in
/// flight, since a trial sends one at a time.
async fn long_pause(throttle: &Throttle) -> String {
    loop {
        if let Some(reason) = throttle.long_pause(SILENCE_MAX) {
            return format!("given up before a long pause: {reason}");
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// The requests and replies of a call; for a service without a transcript, its input and the text of its reply.
fn exchanges(
    verifier: &JobService,
    candidate: &Candidate,
    throttle: &Throttle,
    text: &str,
) -> Vec<Exchange> {
    let transcript = throttle.transcript().take().into_iter();
    let mut exchanges: Vec<Exchange> = transcript.map(|it| verifier.exchange(it)).collect();
    if exchanges.is_empty() {
        let sent = verifier.request(candidate);
        exchanges.push(Exchange { sent, received: text.to_owned() });
    }
    exchanges
}

/// The score of an outcome, or the scores of its criteria.
fn scores_of(verifier: &JobService, outcome: &Outcome) -> (Option<f64>, Option<CriterionScores>) {
    match outcome {
        Outcome::Score(score) => (Some(*score), None),
        Outcome::Scores(each) => {
            let named = verifier.criteria.iter().cloned().zip(each.iter().copied());
            (None, Some(CriterionScores(named.collect())))
        }
        Outcome::Answer(_) | Outcome::Failed(_) => (None, None),
    }
}

/// The mean bills of metered services in these calls; only calls with a score or an answer count.
pub fn mean_bills(job: &Job, trials: &[TryCall]) -> Vec<(ServiceId, Cost)> {
    let of_service = |service: ServiceId| {
        let own = trials.iter().filter(|it| it.service == service && it.has_scored());
        let bills: Vec<Cost> = own.map(|trial| trial.cost).collect();
        let sum = bills.iter().copied().fold(Cost::ZERO, Cost::saturating_add);
        let mean = Cost::from_picos(sum.picos().div_ceil(bills.len().max(1) as u128));
        let is_known = job.service(service).tariff.is_metered() && mean > Cost::ZERO;
        is_known.then_some((service, mean))
    };
    job.problem.services().filter_map(of_service).collect()
}

/// What looks wrong about the services, after these calls: texts that begin with the name of the service.
pub fn suspicions(job: &Job, trials: &[TryCall]) -> Vec<String> {
    let of_service = |service: ServiceId| {
        let own: Vec<&TryCall> = trials.iter().filter(|it| it.service == service).collect();
        let texts = suspicions_of(job, service, &own);
        let verifier = &job.service(service).name;
        texts.into_iter().map(move |text| format!("{verifier} {text}"))
    };
    job.problem.services().flat_map(of_service).collect()
}

fn suspicions_of(job: &Job, service: ServiceId, trials: &[&TryCall]) -> Vec<String> {
    let verifier = job.service(service);
    let answers_questions = verifier.service.manifest.answers_questions;
    let terms = job.terms.service(job.target_of(service));
    // People are asked only in a run.
    if terms.people.is_some() {
        return before_any_call(job, service);
    }
    let declared = job.terms.verifiers.get(verifier.lead.index()).filter(|_| !terms.is_generator);
    let mut texts = Vec::new();
    let scores: Vec<f64> = trials.iter().filter_map(|trial| trial.score).collect();
    let silent = verifier.criteria.iter().enumerate().filter(|(index, _)| {
        let is_silent = |trial: &&TryCall| trial.criterion(*index).is_none();
        trials.iter().any(|trial| trial.scores.is_some()) && trials.iter().all(is_silent)
    });
    texts.extend(
        silent.map(|(_, name)| {
            format!("gave no score for {name}: a run would stop after a few calls")
        }),
    );
    if !trials.is_empty() && trials.iter().all(|trial| trial.is_unmade) {
        let patience = verifier.limits.patience.as_secs();
        texts.push(if trials.iter().all(|trial| trial.is_busy) {
            format!("asks for a pause: a run would wait for it, up to {patience} s")
        } else {
            "was not reached: a run would stop after a few attempts".to_owned()
        });
    } else if !trials.is_empty() && !trials.iter().any(|trial| trial.has_scored()) {
        let lacks = if answers_questions { "answer" } else { "score" };
        texts.push(format!("gave no {lacks}: a run would stop after a few calls"));
    }
    let is_alike = |values: BTreeSet<&str>| trials.len() > 1 && values.len() == 1;
    let replies: BTreeSet<&str> = trials.iter().map(|trial| trial.reply.as_str()).collect();
    let is_long = trials.iter().any(|trial| trial.reply.len() > SHORT_REPLY_BYTES);
    if is_alike(replies)
        && is_long
        && !answers_questions
        && trials.iter().any(|trial| trial.has_scored())
    {
        texts.push("gave the same reply for every answer: does it see the answer?".to_owned());
    } else if scores.len() > 1
        && scores.iter().all(|score| score.to_bits() == scores[0].to_bits())
        && !verifier.service.is_local()
    {
        let score = scores[0];
        let is_good = declared.is_some_and(|declared| score > declared.threshold);
        let other = if is_good { "bad" } else { "good" };
        texts.push(format!(
            "gave the same score, {score}, for every answer: try one that you know to be {other}"
        ));
    }
    let is_coarse = scores.len() > 1 && scores.iter().all(|score| [0.0, 1.0].contains(score));
    if is_coarse && declared.is_some_and(|declared| declared.scores == Declared::UNIT) {
        let text = "gave only 0 and 1: if it never says anything else, scores = \"binary\" needs fewer calls";
        texts.push(text.to_owned());
    }
    texts.extend(before_any_call(job, service));
    let paid: Vec<&TryCall> =
        trials.iter().copied().filter(|trial| terms.metered && trial.has_scored()).collect();
    let most = paid.iter().map(|trial| trial.cost).max().unwrap_or(Cost::ZERO);
    if !paid.is_empty() && paid.iter().all(|trial| trial.cost == trial.ceiling) {
        texts.push("does not say what its calls take: their bills are not known, and the budget keeps their ceilings".to_owned());
    } else if most > Cost::ZERO {
        texts.extend(high_ceiling(terms.ceiling, most.units(), job.settings.budget));
    }
    texts
}

fn before_any_call(job: &Job, service: ServiceId) -> Vec<String> {
    let called = job.service(service);
    let fields = &called.service.manifest.fields;
    let mut texts: Vec<String> = called.service.manifest.warning.iter().cloned().collect();
    if called.service.manifest.answers_questions {
        return texts;
    }
    let first = job.candidates.arms().next().map(|arm| job.candidates.get(arm));
    let has_answer = first.is_some_and(|first| first.fields().contains_key(ANSWER));
    let sees_answer = fields.iter().any(|field| field.split('.').next() == Some(ANSWER));
    let is_llm = job.terms.service(job.target_of(service)).kind == "llm";
    if is_llm && has_answer && !fields.is_empty() && !sees_answer {
        texts.push(
            "does not see the field `answer`: {{ answer }} puts it into the prompt".to_owned(),
        );
    }
    texts
}

const NOT_ASKED: &str = "a person is asked only during a run";
/// Few, because a person waits for the result.
const RETRIES: u32 = 2;
/// How long a trial waits for the first reply of a service that throttles its calls or is not reached.
const SILENCE_MAX: Duration = Duration::from_secs(20);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Equal replies are not suspicious if they are this short: verdicts of a word or two are often the same.
const SHORT_REPLY_BYTES: usize = 20;
/// The default field of a candidate's answer.
const ANSWER: &str = "answer";
