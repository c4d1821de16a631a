//! What is asked: a verifier, a generator or a solver. A [`Service`] is a [`Manifest`], which is data, and one
//! way to [reach](Reach) it: over the network or in another process, in this process, or later through people.
//!
//! The kinds that a job file can name are in [`crate::services`]; a program that embeds goodarm may hand a
//! service to a job directly ([`crate::job::ServiceSpec`]).

pub mod attempt;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use goodarm_core::{ArmId, AttributeId, CountedFailure};
use goodarm_data::answer::Extractor;
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_files::Draws;
use goodarm_record::card_queue::{CardReply, ReplyForm};
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::job_file::{Scores, Unit};
use goodarm_record::people::{CardRenderer, verdict};
use goodarm_record::terms::PeopleTerms;
use tokio::sync::Semaphore;

use self::attempt::{Attempt, attempts};
use crate::pricing::{Extent, Pricing};
use crate::secrets::Secrets;
use crate::throttle::Throttle;
pub use goodarm_record::reply::{
    AnswerReply, MeanOver, REPLY_BYTES_MAX, Reply, ServiceWarning, Usage, Verdict,
};

/// A verifier, a generator or a solver.
pub struct Service {
    /// What is known about it.
    pub manifest: Manifest,
    /// How its calls are made.
    pub reach: Reach,
}

/// Facts about a service. The default is a verifier that scores a candidate from 0 to 1.
#[derive(Clone)]
pub struct Manifest {
    /// The candidate's fields that it needs.
    pub fields: BTreeSet<String>,
    /// What is known of its scores if the job does not say.
    pub scores: Scores,
    /// The mean score to be reached if the job does not say.
    pub threshold: Option<f64>,
    /// What a call costs if the job does not say.
    pub price: DefaultPrice,
    /// The most that a call can take; [`Remote::input_tokens`] has what depends on the candidate.
    pub extent: Extent,
    /// How many addresses its requests are spread over; [`attempt::attempts_at`] says which is next.
    pub address_count: usize,
    /// Files and sockets that one request in flight keeps open.
    pub files_per_request: usize,
    /// How many criteria each reply has a score for, by [`Verdict::Scores`]; 0 if a reply is one score.
    pub criteria_count: usize,
    /// Whether it is asked a question and answers it, by [`Verdict::AnswerReply`]: then it is called with
    /// questions in the place of candidates, and each reply is about all answers to one.
    pub answers_questions: bool,
    /// What its mean score is the mean of.
    pub mean_over: MeanOver,
    /// The recorded replies that it draws from.
    pub draws_from: Option<DrawSource>,
    /// The files that decide what it says, as they were when it was made: a run whose files have
    /// changed is not resumed.
    pub files: Vec<Fingerprint>,
    /// What must not appear in any text that comes of it.
    pub secrets: Option<Arc<Secrets>>,
    /// What looks wrong before any call is made, such as a key that is sent without encryption.
    pub warning: Option<String>,
    /// If each call is one solution of the question: where the final answer is.
    pub final_answers: Option<FinalAnswerRule>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            fields: BTreeSet::new(),
            scores: Scores::UNIT,
            threshold: None,
            price: DefaultPrice::ByUnit,
            extent: Extent::default(),
            address_count: 1,
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

/// What a call costs if the job does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultPrice {
    /// One call, or its seconds; the job must say it in other units.
    ByUnit,
    /// This.
    Is(Pricing),
    /// The job must say it.
    Needed,
}

impl DefaultPrice {
    /// In the unit of a job; `None` if the job must say it.
    pub fn pricing(self, unit: Unit) -> Option<Pricing> {
        match self {
            Self::ByUnit => Pricing::by_unit(unit),
            Self::Is(pricing) => Some(pricing),
            Self::Needed => None,
        }
    }
}

/// Recorded replies, and how they are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawSource {
    /// What of a recording it is.
    pub recording: String,
    /// In order: each is used once, and no other service of the job may see it.
    pub draws: Draws,
}

/// Where the final answers are that a solver or a generator is compared by.
#[derive(Clone, Debug)]
pub struct FinalAnswerRule {
    /// The candidate's field that holds its own answer.
    pub field: String,
    /// Finds the final answer in a text.
    pub extractor: Extractor,
    /// A longer answer counts as failed: prices of those that verify it depend on its length.
    pub bytes_max: usize,
}

impl FinalAnswerRule {
    /// The reply with its final answer, or why there is none. A service may have found it itself.
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

    /// Whether that takes no more than a moment.
    fn is_quick_for(&self, reply: &Reply) -> bool {
        unread(reply)
            .is_none_or(|text| text.len() > self.bytes_max || self.extractor.is_quick_for(text))
    }
}

/// The answer in which nobody has looked for the final answer yet.
fn unread(reply: &Reply) -> Option<&str> {
    match &reply.verdict {
        Verdict::Answer(answer) if answer.last.is_empty() => Some(&answer.text),
        _ => None,
    }
}

/// How a service is reached.
pub enum Reach {
    /// Another process, or a server: each call is a fresh run of it.
    Remote(Arc<dyn Remote>),
    /// This process evaluates it, and says the same again for the same place: a call that was lost can
    /// be made again.
    Local(Box<dyn Local>),
    /// Calls wait in the run's folder until they are answered ([`goodarm_record::people`]).
    Deferred(Box<Deferred>),
}

/// A service that somebody else runs. Each call must be a fresh run of it.
pub trait Remote: Send + Sync {
    /// What a call would send for a candidate, or why it cannot: for people, before anything is
    /// spent.
    fn preview(&self, subject: &Candidate) -> String;

    /// The same word for word, keys hidden, to be shown if all calls fail.
    fn request(&self, subject: &Candidate) -> String {
        self.preview(subject)
    }

    /// Makes one call, void attempts and their retries included; [`attempt::attempts`] is the loop
    /// for that. A failure that may depend on the candidate counts: it is never void.
    fn call<'a>(&'a self, subject: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a>;

    /// The most input tokens of a call about a candidate, if that is known; asked only if a price depends
    /// on it.
    fn input_tokens(&self, subject: &Candidate) -> Option<u64> {
        let _ = subject;
        None
    }

    /// Something that a person should know, such as signs of a cache; kept with the next call.
    fn warning(&self) -> Option<ServiceWarning> {
        None
    }
}

/// A call on its way.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// A service that this process evaluates.
pub trait Local: Send + Sync {
    /// Where its answers come from, for people.
    fn preview(&self) -> String;

    /// Answers a call.
    fn answer(&self, call: CallContext<'_>) -> Dispatch;
}

/// What becomes of a call that is dispatched to a machine.
pub enum Dispatch {
    /// This process has evaluated it, in about a millisecond.
    Now(Reply),
    /// It has to be made.
    Later(CallTask),
}

/// A call that takes longer than a moment.
pub enum CallTask {
    /// Work of this process, for another thread.
    Local(Work),
    /// A request to others.
    Remote(Arc<dyn Remote>),
}

/// Evaluates a candidate, however long that takes.
pub type Work = Arc<dyn Fn(&Candidate) -> Reply + Send + Sync>;

/// Which call it is: the `order`-th one, counted from 0, of a service on a candidate.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    /// All candidates.
    pub candidates: &'a Candidates,
    /// Which of them.
    pub arm: ArmId,
    /// Which of the job's verifiers.
    pub attribute: AttributeId,
    /// How many calls of this pair came before.
    pub order: u64,
}

impl CallContext<'_> {
    /// The candidate.
    pub fn candidate(&self) -> Candidate {
        self.candidates.get(self.arm)
    }
}

/// A service whose calls are answered by people, in whatever process that finds.
#[derive(Debug)]
pub struct Deferred {
    terms: PeopleTerms,
    wanted: ReplyForm,
    asker: CardRenderer,
}

impl Deferred {
    /// People who are asked on these terms for this.
    pub fn new(terms: PeopleTerms, wanted: ReplyForm) -> Self {
        // The job may call the field of ids otherwise; this is for a preview.
        let asker = CardRenderer::new(&terms, wanted, "id");
        Self { terms, wanted, asker }
    }

    /// How they are asked.
    pub const fn terms(&self) -> &PeopleTerms {
        &self.terms
    }

    /// What a person's words mean.
    fn interpret(&self, said: &CardReply) -> Verdict {
        verdict(self.wanted, self.terms.answer_bytes_max, said)
    }
}

impl<R: Remote + 'static> From<R> for Service {
    fn from(remote: R) -> Self {
        Self::remote(Manifest::default(), remote)
    }
}

impl Service {
    /// A service that somebody else runs.
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

    /// The same as one whose answers to questions are compared by their final answers.
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

    /// Whether this process evaluates it.
    pub const fn is_local(&self) -> bool {
        matches!(self.reach, Reach::Local(_))
    }

    /// How people are asked, if its calls go to them.
    pub const fn people(&self) -> Option<&PeopleTerms> {
        match &self.reach {
            Reach::Deferred(people) => Some(people.terms()),
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

    /// The same word for word.
    pub fn request(&self, subject: &Candidate) -> String {
        match &self.reach {
            Reach::Remote(remote) => remote.request(subject),
            Reach::Local(_) | Reach::Deferred(_) => self.preview(subject),
        }
    }

    /// Something that a person should know.
    pub fn warning(&self) -> Option<ServiceWarning> {
        match &self.reach {
            Reach::Remote(remote) => remote.warning(),
            Reach::Local(_) | Reach::Deferred(_) => None,
        }
    }

    /// The most that a call about one of these can take.
    pub fn extent(&self, subjects: &Candidates) -> Extent {
        let extent = self.manifest.extent;
        let Reach::Remote(remote) = &self.reach else { return extent };
        let most = subjects.arms().filter_map(|arm| remote.input_tokens(&subjects.get(arm))).max();
        Extent { input_tokens: extent.input_tokens.max(most), ..extent }
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

    /// What somebody's words mean; `None` if nobody is asked.
    pub fn interpret(&self, said: &CardReply) -> Option<Verdict> {
        let Reach::Deferred(people) = &self.reach else { return None };
        let (verdict, text) = (people.interpret(said), String::new());
        Some(self.read(Reply { verdict, usage: Usage::default(), text }).verdict)
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

/// The reply of work that takes long, from another thread. Of all such work in this process no more is done at
/// a time than can make use of the processor; what waits for its turn when the run stops is not done.
async fn evaluated(work: Work, subject: &Candidate, throttle: &Throttle) -> Reply {
    let place = PLACES.acquire().await.expect("it is never closed");
    let made = attempts(throttle, || {
        let (work, subject) = (Arc::clone(&work), subject.clone());
        async move { Attempt::Answered(on_blocking_thread(move || work(&subject)).await) }
    });
    let reply = made.await.flatten().unwrap_or_else(|unmade| unmade);
    drop(place);
    reply
}

/// Does work on another thread that may take longer than a moment: a run's own thread must hear when somebody
/// wants to stop it.
pub(crate) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Reply> {
    tokio::task::spawn_blocking(work).await.map_err(|died| {
        Reply::failed(CountedFailure::Crashed, format!("a bug, or the runtime is gone: {died}"))
    })
}

/// For work that takes longer than a moment, in this process.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));
