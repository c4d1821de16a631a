//! Verifiers, generators and solvers. A [`Service`] is a [`Manifest`], which is data, and one way to
//! [reach](Reach) it: over the network or in another process, in this process, or later through people.
//!
//! The kinds that a job file can name are in [`crate::services`]; a program that embeds goodarm may hand a
//! service to a job directly ([`crate::job::ServiceSpec`]).

pub mod attempt;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;
use std::time::Duration;

use goodarm_core::{ArmId, AttributeId, CountedFailure};
use goodarm_data::answer::Extractor;
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_files::Draws;
use goodarm_record::card_queue::{CardReply, ReplyForm};
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::job_file::Scores;
use goodarm_record::people::{CardRenderer, verdict};
use goodarm_record::terms::PeopleTerms;
use tokio::sync::Semaphore;

use self::attempt::{Attempt, attempts};
use crate::pricing::{Extent, Pricing};
use crate::secrets::Secrets;
use crate::throttle::Throttle;
pub use goodarm_record::reply::{
    AnswerReply, Contact, Delivery, MeanOver, REPLY_BYTES_MAX, Reply, ServiceWarning, Usage,
    Verdict,
};

/// A verifier, a generator or a solver.
pub struct Service {
    /// Facts about the service.
    pub manifest: Manifest,
    /// How its calls are made.
    pub reach: Reach,
}

/// Facts about a service. The default is a verifier that scores a candidate from 0 to 1.
#[derive(Clone)]
pub struct Manifest {
    /// The fields of a candidate or question that the service needs.
    pub fields: BTreeSet<String>,
    /// The model of its scores, unless the job has another.
    pub scores: Scores,
    /// The threshold, unless the job has another.
    pub threshold: Option<f64>,
    /// The price of a call, unless the job has another. `None` for the default, which is one call, or the seconds of
    /// the call; in other units the job must give a price.
    pub price: Option<Pricing>,
    /// The most time and tokens of a call; [`Remote::input_tokens`] has the part that depends on the candidate.
    pub extent: Extent,
    /// The addresses that requests are spread over, without secrets; [`attempt::attempts_at`] passes the index of the
    /// one to use. Empty for one address.
    pub addresses: Vec<String>,
    /// HTTP statuses that do not depend on the answer, by the word of the job.
    pub void_status: Vec<u16>,
    /// Files and sockets that one request in flight keeps open.
    pub files_per_request: usize,
    /// The number of criteria that each reply scores, by [`Verdict::Scores`]; 0 if a reply is one score.
    pub criteria_count: usize,
    /// Whether it answers questions, by [`Verdict::Answer`]. It is then called with questions instead of
    /// candidates, and a reply to a question is about all answers to that question.
    pub answers_questions: bool,
    /// What its mean score is the mean of.
    pub mean_over: MeanOver,
    /// The recorded replies that it draws from.
    pub draws_from: Option<DrawSource>,
    /// The files that its replies depend on, as they were when it was built. A run is not resumed after they
    /// have changed.
    pub files: Vec<Fingerprint>,
    /// Texts that must be removed from everything it returns.
    pub secrets: Option<Arc<Secrets>>,
    /// A problem that is visible before any call, such as a key that is sent without encryption.
    pub warning: Option<String>,
    /// How to find the final answer, if each reply is one answer to the question.
    pub final_answers: Option<FinalAnswerRule>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            fields: BTreeSet::new(),
            scores: Scores::UNIT,
            threshold: None,
            price: None,
            extent: Extent::default(),
            addresses: Vec::new(),
            void_status: Vec::new(),
            files_per_request: 0,
            criteria_count: 0,
            answers_questions: false,
            mean_over: MeanOver::FreshCalls,
            draws_from: None,
            files: Vec::new(),
            secrets: None,
            warning: None,
            final_answers: None,
        }
    }
}

/// Recorded replies, and how they are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawSource {
    /// The name of the recording and, if it is the folder of a run, of the service in it.
    pub recording: String,
    /// How replies are drawn. In order, each reply is used once, and only by one service of the job.
    pub draws: Draws,
}

/// How to find the final answers by which answers to a question are compared.
#[derive(Clone, Debug)]
pub struct FinalAnswerRule {
    /// The field of a candidate that has the text of its answer.
    pub field: String,
    /// Finds the final answer in a text.
    pub extractor: Extractor,
    /// The most bytes of an answer. A longer one counts as failed: the cost of verifying it depends on its length.
    pub bytes_max: usize,
}

impl FinalAnswerRule {
    /// Finds the final answer in a reply that is an answer; without one, the reply becomes a failure. Other replies,
    /// and answers whose final answer the service has found, are returned as they are.
    fn read(&self, reply: Reply) -> Reply {
        let Some(text) = unread(&reply) else { return reply };
        let failed = |reason| Verdict::Failed(CountedFailure::Unreadable, reason);
        let (length, bytes_max) = (text.len(), self.bytes_max);
        let verdict = if length > bytes_max {
            failed(format!("an answer of {length} bytes, and answer_bytes_max is {bytes_max}"))
        } else {
            match self.extractor.find(text) {
                Ok(last) => Verdict::answer(text.to_owned(), last),
                Err(reason) => failed(format!("{reason} in the answer")),
            }
        };
        Reply { verdict, ..reply }
    }

    /// Whether `read` takes no more than a moment.
    fn is_quick_for(&self, reply: &Reply) -> bool {
        unread(reply)
            .is_none_or(|text| text.len() > self.bytes_max || self.extractor.is_quick_for(text))
    }
}

/// The text of an answer whose final answer is not found yet; `None` for other replies.
fn unread(reply: &Reply) -> Option<&str> {
    match &reply.verdict {
        Verdict::Answer(answer) if answer.final_answer.is_empty() => Some(&answer.text),
        _ => None,
    }
}

/// How a service is reached.
pub enum Reach {
    /// Another process, or a server. Each call is a fresh run of the service.
    Remote(Arc<dyn Remote>),
    /// This process. The same call always gets the same reply, so a lost call can be repeated.
    Local(Box<dyn Local>),
    /// People. Calls wait in the run's folder until they are answered ([`goodarm_record::people`]).
    Deferred(Box<Deferred>),
}

/// A service in another process or on a server. Each call must be a fresh run of the service.
pub trait Remote: Send + Sync {
    /// What a call would send for a candidate, or why it cannot. Shown to people before anything is spent.
    fn preview(&self, subject: &Candidate) -> String;

    /// The exact request without keys. Shown if all calls fail.
    fn request(&self, subject: &Candidate) -> String {
        self.preview(subject)
    }

    /// Makes one call, with retries of void attempts; [`attempt::attempts`] is the loop for that. A failure that
    /// may depend on the candidate counts: it is never void.
    fn call<'a>(&'a self, subject: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a>;

    /// The most input tokens of a call about a candidate, if known. Used only if a price depends on it.
    fn input_tokens(&self, subject: &Candidate) -> Option<u64> {
        let _ = subject;
        None
    }

    /// What a call about a candidate typically uses: a guess, for the expected bill. Used only if a price depends
    /// on it.
    fn typical_usage(&self, subject: &Candidate) -> Usage {
        let _ = subject;
        Usage { worked: TYPICAL_TIME, ..Usage::default() }
    }

    /// What people should know about the service so far, such as signs of a cache. Each warning is recorded once,
    /// with the next call.
    fn warnings(&self) -> Vec<ServiceWarning> {
        Vec::new()
    }
}

/// A call in flight.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// A service that this process evaluates.
pub trait Local: Send + Sync {
    /// Where the replies come from, for people.
    fn preview(&self) -> String;

    /// Replies to a call at once, or returns the work that the call takes.
    fn answer(&self, call: CallContext<'_>) -> Dispatch;
}

/// The result of dispatching a call that people do not answer.
pub enum Dispatch {
    /// The reply: this process has evaluated the call, in about a millisecond.
    Now(Reply),
    /// The call takes longer, and is still to be made.
    Later(CallTask),
}

/// A call that takes longer than about a millisecond.
pub enum CallTask {
    /// Work of this process, for another thread.
    Local(Work),
    /// A request to another process or a server.
    Remote(Arc<dyn Remote>),
}

/// A function that evaluates a candidate. It may take long.
pub type Work = Arc<dyn Fn(&Candidate) -> Reply + Send + Sync>;

/// Identifies a call: the `order`-th one, counted from 0, of a service about a candidate or a question.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    /// All candidates; all questions if the service answers questions.
    pub candidates: &'a Candidates,
    /// The candidate or question of the call.
    pub arm: ArmId,
    /// The service. In a run: the first attribute of a verifier, or for a generator a number after all attributes.
    pub attribute: AttributeId,
    /// The number of earlier calls of the service about this candidate or question.
    pub order: u64,
}

impl CallContext<'_> {
    /// The candidate or question of the call.
    pub fn candidate(&self) -> Candidate {
        self.candidates.get(self.arm)
    }
}

/// A service whose calls are answered by people, in any process.
#[derive(Debug)]
pub struct Deferred {
    terms: PeopleTerms,
    wanted: ReplyForm,
    asker: CardRenderer,
}

impl Deferred {
    /// People who are asked on these terms.
    pub fn new(terms: PeopleTerms, wanted: ReplyForm) -> Self {
        // Only for previews, where the name of the id field does not matter.
        let asker = CardRenderer::new(&terms, wanted, "id");
        Self { terms, wanted, asker }
    }
}

impl<R: Remote + 'static> From<R> for Service {
    fn from(remote: R) -> Self {
        Self::remote(Manifest::default(), remote)
    }
}

impl Service {
    /// A service in another process or on a server.
    pub fn remote(manifest: Manifest, remote: impl Remote + 'static) -> Self {
        Self { manifest, reach: Reach::Remote(Arc::new(remote)) }
    }

    /// A service that this process evaluates.
    pub fn local(manifest: Manifest, local: impl Local + 'static) -> Self {
        Self { manifest, reach: Reach::Local(Box::new(local)) }
    }

    /// A service whose calls people answer.
    pub fn deferred(manifest: Manifest, people: Deferred) -> Self {
        Self { manifest, reach: Reach::Deferred(Box::new(people)) }
    }

    /// Turns a service into one that answers questions, whose answers are compared by their final answers.
    #[must_use]
    pub(crate) fn answering(mut self, final_answers: FinalAnswerRule) -> Self {
        if let Reach::Deferred(people) = &mut self.reach {
            people.terms.answer_bytes_max = Some(final_answers.bytes_max);
        }
        self.manifest.scores = Scores::Binary;
        self.manifest.answers_questions = true;
        self.manifest.final_answers = Some(final_answers);
        self
    }

    /// Whether this process evaluates the service.
    pub const fn is_local(&self) -> bool {
        matches!(self.reach, Reach::Local(_))
    }

    /// How people are asked; `None` if the service does not ask people.
    pub const fn people(&self) -> Option<&PeopleTerms> {
        match &self.reach {
            Reach::Deferred(people) => Some(&people.terms),
            Reach::Remote(_) | Reach::Local(_) => None,
        }
    }

    /// What a call would send, for people.
    pub fn preview(&self, subject: &Candidate) -> String {
        match &self.reach {
            Reach::Remote(remote) => remote.preview(subject),
            Reach::Local(local) => local.preview(),
            Reach::Deferred(people) => people.asker.text(subject),
        }
    }

    /// What a call would send, word for word and without secrets.
    pub fn request(&self, subject: &Candidate) -> String {
        match &self.reach {
            Reach::Remote(remote) => remote.request(subject),
            Reach::Local(_) | Reach::Deferred(_) => self.preview(subject),
        }
    }

    /// What people should know about the service so far.
    pub fn warnings(&self) -> Vec<ServiceWarning> {
        match &self.reach {
            Reach::Remote(remote) => remote.warnings(),
            Reach::Local(_) | Reach::Deferred(_) => Vec::new(),
        }
    }

    /// The most time and tokens of a call about one of these candidates or questions.
    pub fn extent(&self, subjects: &Candidates) -> Extent {
        let extent = self.manifest.extent;
        let Reach::Remote(remote) = &self.reach else { return extent };
        let most = subjects.arms().filter_map(|arm| remote.input_tokens(&subjects.get(arm))).max();
        Extent { input_tokens: extent.input_tokens.max(most), ..extent }
    }

    /// What a call typically uses, on average over a sample of these candidates or questions.
    pub fn typical_usage(&self, subjects: &Candidates) -> Usage {
        let worked = TYPICAL_TIME.min(self.manifest.extent.timeout);
        let Reach::Remote(remote) = &self.reach else {
            return Usage { worked, ..Usage::default() };
        };
        let step = subjects.len().div_ceil(TYPICAL_SAMPLE).max(1);
        let sample =
            subjects.arms().step_by(step).map(|arm| remote.typical_usage(&subjects.get(arm)));
        let sample: Vec<Usage> = sample.collect();
        let mean = |of: fn(&Usage) -> Option<u64>| {
            let sum: u64 = sample.iter().map(of).sum::<Option<u64>>()?;
            Some(sum.div_ceil(sample.len().max(1) as u64))
        };
        Usage {
            input_tokens: mean(|usage| usage.input_tokens),
            output_tokens: mean(|usage| usage.output_tokens),
            cost: None,
            worked,
        }
    }

    /// Dispatches a call; `None` if people answer it later.
    pub fn dispatch(&self, call: CallContext<'_>) -> Option<Dispatch> {
        match &self.reach {
            Reach::Remote(remote) => Some(Dispatch::Later(CallTask::Remote(Arc::clone(remote)))),
            Reach::Local(local) => Some(match local.answer(call) {
                Dispatch::Now(reply) => Dispatch::Now(self.read(reply)),
                later @ Dispatch::Later(_) => later,
            }),
            Reach::Deferred(_) => None,
        }
    }

    /// The verdict of a person's reply; `None` if the service does not ask people.
    pub fn interpret(&self, said: &CardReply) -> Option<Verdict> {
        let Reach::Deferred(people) = &self.reach else { return None };
        let verdict = verdict(people.wanted, people.terms.answer_bytes_max, said);
        let text = String::new();
        Some(self.read(Reply::new(verdict, Usage::default(), text)).verdict)
    }

    /// Makes a call that was dispatched.
    pub async fn call(&self, subject: &Candidate, task: CallTask, throttle: &Throttle) -> Reply {
        let reply = match task {
            CallTask::Local(work) => evaluated(work, subject, throttle).await,
            CallTask::Remote(remote) => remote.call(subject, throttle).await,
        };
        match &self.manifest.final_answers {
            Some(finals) if !finals.is_quick_for(&reply) => {
                let finals = finals.clone();
                on_blocking_thread(move || finals.read(reply)).await.unwrap_or_else(|died| died)
            }
            _ => self.read(reply),
        }
    }

    fn read(&self, reply: Reply) -> Reply {
        match &self.manifest.final_answers {
            Some(finals) => finals.read(reply),
            None => reply,
        }
    }
}

/// Does long work on another thread, with at most one task per processor core at a time. Tasks that still wait when
/// the run stops are not done.
async fn evaluated(work: Work, subject: &Candidate, throttle: &Throttle) -> Reply {
    let slot = WORK_SLOTS.acquire().await.expect("it is never closed");
    let made = attempts(throttle, || {
        let (work, subject) = (Arc::clone(&work), subject.clone());
        async move { Attempt::Answered(on_blocking_thread(move || work(&subject)).await) }
    });
    let reply = made.await.flatten().unwrap_or_else(|unmade| unmade);
    drop(slot);
    reply
}

/// Does work that may take long on another thread, so that the run's own thread can react to a stop. The error is
/// the reply of a call whose work did not finish.
pub(crate) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Reply> {
    tokio::task::spawn_blocking(work).await.map_err(|died| {
        Reply::failed(CountedFailure::Crashed, format!("a bug, or the runtime is gone: {died}"))
    })
}

/// A guess at the time of a call.
pub(crate) const TYPICAL_TIME: Duration = Duration::from_secs(2);
/// The most subjects that a typical usage is the mean of.
const TYPICAL_SAMPLE: usize = 200;
/// One slot per processor core for long work in this process.
static WORK_SLOTS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));
