//! What a call asks, and what comes back: the seam between the runner and the world.
//!
//! A verifier is anything that implements [`Verifier`]. Those that a job file can name are listed in
//! [`KINDS`], one line a kind; a program that embeds goodarm may add kinds of its own
//! ([`Kinds::with`]) or hand a verifier to a job directly ([`crate::job::VerifierSpec`]).

pub mod attempt;
pub mod check;
pub mod command;
mod endpoint;
pub(crate) mod generator;
pub mod http;
pub mod human;
mod kind;
pub mod llm;
pub mod pool;
pub mod problem;
mod recorded;
pub mod replay;
pub(crate) mod rubric;
mod score;
mod untold;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::time::Duration;

use goodarm_core::{ArmId, AttributeId, Cost, CountedFailure, VoidFailure};
use goodarm_files::Draws;
use serde::{Deserialize, Serialize};

pub(crate) use self::endpoint::without_keys;
pub use self::kind::{Kind, KindKeys, Kinds, Setting};
pub(crate) use self::score::{in_short, shorten};
use crate::answer::Extractor;
use crate::candidates::{Candidate, Candidates};
use crate::deck::Said;
use crate::fingerprint::Fingerprint;
use crate::job_file::{Scores, Unit};
use crate::people::PeopleTerms;
use crate::pricing::{Extent, Pricing};
use crate::secrets::Secrets;
use crate::throttle::Throttle;

/// The kinds that a job file can name. The list is open, not an enum, so that others can add to it.
pub const KINDS: &[Kind] = &[
    Kind::new::<check::CheckKeys>("check"),
    Kind::new::<command::CommandKeys>("command").making_answers(),
    Kind::new::<http::HttpKeys>("http").making_answers(),
    Kind::new::<human::HumanKeys>("human").making_answers(),
    Kind::new::<llm::LlmKeys>("llm").making_answers(),
    Kind::new::<pool::PoolKeys>("pool").making_answers(),
    Kind::new::<replay::ReplayKeys>("replay"),
];

/// Something that scores a candidate. Each call must be a fresh run of it.
pub trait Verifier: Send + Sync {
    /// What a call would send for a candidate, or why it cannot: for people, before anything is
    /// spent.
    fn preview(&self, candidate: &Candidate) -> String;

    /// The same word for word, keys hidden, for those whose calls all fail.
    fn request(&self, candidate: &Candidate) -> String {
        self.preview(candidate)
    }

    /// Makes one call, void attempts and their retries included; [`attempt::attempts`] is the loop
    /// for that. A failure that may depend on the candidate counts: it is never void.
    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> Called<'a>;

    /// The candidate's fields that it needs.
    fn fields(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// What is known of its scores if the job does not say.
    fn default_scores(&self) -> Scores {
        Scores::UNIT
    }

    /// The mean score to be reached if the job does not say.
    fn default_threshold(&self) -> Option<f64> {
        None
    }

    /// What a call costs if the job does not say: one call, or its seconds; none if the job must.
    fn default_pricing(&self, unit: Unit) -> Option<Pricing> {
        Pricing::by_unit(unit)
    }

    /// The most that a call can take; asked only if its price depends on that.
    fn extent(&self, candidates: &Candidates) -> Extent {
        let _ = candidates;
        Extent::default()
    }

    /// How many addresses its requests are spread over; [`attempt::attempts_at`] says which is next.
    fn address_count(&self) -> usize {
        1
    }

    /// Files and sockets that one request in flight keeps open.
    fn files_per_request(&self) -> usize {
        0
    }

    /// Whether this process evaluates it, and says the same again for the same place: a call that was
    /// lost can be made again. [`Self::answer_here`] answers then, unless that takes long.
    fn is_reproducible(&self) -> bool {
        false
    }

    /// The answer, if this process evaluates the verifier itself and knows it within about a millisecond:
    /// the run waits for it. All others are called.
    fn answer_here(&self, place: Place<'_>) -> Option<Reply> {
        let _ = place;
        None
    }

    /// How many criteria each reply has a score for, by [`Verdict::Scores`]; 0 if a reply is one score.
    fn criteria_count(&self) -> usize {
        0
    }

    /// Whether it is asked a question and answers it, by [`Verdict::Answer`]: then it is called with
    /// questions in the place of candidates, and each reply is about all answers to one.
    fn answers_questions(&self) -> bool {
        false
    }

    /// If its calls go to people: how they are asked. A run keeps such calls in its folder until somebody
    /// has answered ([`crate::people`]); [`Self::call`] is not for them.
    fn people(&self) -> Option<PeopleTerms> {
        None
    }

    /// What a person's words mean; only for those whose calls go to people.
    fn heard(&self, said: &Said) -> Verdict {
        let _ = said;
        Verdict::Failed(CountedFailure::Unreadable, "nobody was asked".into())
    }

    /// What its mean score is the mean of.
    fn mean_over(&self) -> MeanOver {
        MeanOver::FreshCalls
    }

    /// Which recorded replies it draws, and how: those that it goes through one by one nobody else of the job
    /// may see.
    fn draws_from(&self) -> Option<(&str, Draws)> {
        None
    }

    /// The files that decide what it says, as they were when it was made: a run whose files have
    /// changed is not resumed.
    fn files(&self) -> Vec<Fingerprint> {
        Vec::new()
    }

    /// Something that a person should know, such as signs of a cache; kept with the next call.
    fn remark(&self) -> Option<Remark> {
        None
    }

    /// What must not appear in any text that comes of it.
    fn secrets(&self) -> Option<&Secrets> {
        None
    }

    /// What looks wrong before any call is made, such as a key that is sent without encryption.
    fn suspicion(&self) -> Option<String> {
        None
    }

    /// If each call is one solution of the question: how its final answer is found in the reply.
    fn final_answers(&self) -> Option<FinalAnswers<'_>> {
        None
    }
}

/// Something that a person should know about a verifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Whether certificates may be wrong more often than promised, because calls are not fresh.
    pub is_doubt: bool,
    /// In words.
    pub text: String,
}

/// What a mean score is the mean of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeanOver {
    /// Fresh calls: it is the verifier's mean.
    FreshCalls,
    /// Recorded outcomes that calls draw from with replacement: it is the mean of the recording.
    RecordedPool,
}

/// A call on its way.
pub type Called<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// Which call it is: the `order`-th one, counted from 0, of a verifier on a candidate.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// All candidates.
    pub candidates: &'a Candidates,
    /// Which of them.
    pub arm: ArmId,
    /// Which of the job's verifiers.
    pub attribute: AttributeId,
    /// How many calls of this pair came before.
    pub order: u64,
}

impl Place<'_> {
    /// The candidate.
    pub fn candidate(&self) -> Candidate {
        self.candidates.get(self.arm)
    }
}

/// How a solver's final answers are found.
#[derive(Clone, Copy, Debug)]
pub struct FinalAnswers<'a> {
    /// The candidate's field that holds its own answer.
    pub field: &'a str,
    /// Finds the final answer in a text.
    pub extractor: &'a Extractor,
}

/// What came back from a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What it means.
    pub verdict: Verdict,
    /// What it says about its cost.
    pub usage: Usage,
    /// What was answered, for people: at most [`REPLY_BYTES_MAX`] bytes of it.
    pub text: String,
}

/// What a call means for the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A score; whether its model allows it is checked later.
    Score(f64),
    /// A score for each criterion of the verifier, or why the reply lacks it; at least one is there.
    Scores(Vec<Result<f64, String>>),
    /// A score that needed no call, and says nothing about whether the verifier works.
    Known(f64),
    /// An answer to the question that it was asked.
    Answer(Box<Answer>),
    /// The verifier never began to work, and the run is stopping: to be tried again on resume.
    Void(VoidFailure),
    /// It counts as the lowest score.
    Failed(CountedFailure, String),
    /// There is nothing more to say about the candidate, and why: the pair takes no more calls. This
    /// must not depend on the scores that came before.
    Exhausted(String),
}

impl Verdict {
    /// An answer to the question, and the final answer in it.
    pub fn answer(text: String, last: String) -> Self {
        Self::Answer(Box::new(Answer { text, last }))
    }
}

/// An answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// All of it.
    pub text: String,
    /// The final answer in it: answers with the same one are the same.
    pub last: String,
}

/// What a call took, as far as the reply says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
    /// The cost that the reply itself states.
    pub cost: Option<Cost>,
    /// How long the verifier worked, without waiting for its turn.
    pub worked: Duration,
}

impl Reply {
    /// A score, for a call that took nothing worth counting.
    pub const fn score(score: f64) -> Self {
        Self { verdict: Verdict::Score(score), usage: score::NOTHING, text: String::new() }
    }

    /// A call that failed in a way that may depend on the answer.
    pub fn failed(failure: CountedFailure, reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Failed(failure, reason.into()),
            usage: Usage::default(),
            text: String::new(),
        }
    }

    /// A call that there is no reply for any more; it costs nothing.
    pub fn exhausted(reason: impl Into<String>) -> Self {
        let verdict = Verdict::Exhausted(reason.into());
        Self { verdict, usage: score::NOTHING, text: String::new() }
    }

    /// A call that never began.
    pub const fn void(failure: VoidFailure) -> Self {
        Self {
            verdict: Verdict::Void(failure),
            usage: Usage {
                input_tokens: None,
                output_tokens: None,
                cost: None,
                worked: Duration::ZERO,
            },
            text: String::new(),
        }
    }
}

/// Does work on another thread that may take longer than a moment: a run's own thread hears those who
/// want to stop it.
pub(crate) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Reply> {
    tokio::task::spawn_blocking(work).await.map_err(|died| {
        Reply::failed(CountedFailure::Crashed, format!("a bug, or the runtime is gone: {died}"))
    })
}

/// More of a reply is not kept.
pub const REPLY_BYTES_MAX: usize = 16 << 10;
/// A larger body is cut off, and the call counts as failed.
pub const BODY_BYTES_MAX: usize = 4 << 20;
