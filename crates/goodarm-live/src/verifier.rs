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
mod recorded;
pub mod replay;
pub(crate) mod rubric;
mod score;
mod untold;

use std::collections::BTreeSet;
use std::pin::Pin;

use goodarm_core::{ArmId, AttributeId, CountedFailure};
use goodarm_data::answer::Extractor;
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_files::Draws;
use goodarm_record::charter::PeopleTerms;
use goodarm_record::deck::Said;
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::job_file::{Scores, Unit};

pub(crate) use self::endpoint::without_keys;
pub use self::kind::{Kind, KindKeys, Kinds, Setting};
use crate::pricing::{Extent, Pricing};
use crate::secrets::Secrets;
use crate::throttle::Throttle;
pub use goodarm_record::reply::{Answer, MeanOver, REPLY_BYTES_MAX, Remark, Reply, Usage, Verdict};

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
    /// has answered ([`goodarm_record::people`]); [`Self::call`] is not for them.
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

/// Does work on another thread that may take longer than a moment: a run's own thread hears those who
/// want to stop it.
pub(crate) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Reply> {
    tokio::task::spawn_blocking(work).await.map_err(|died| {
        Reply::failed(CountedFailure::Crashed, format!("a bug, or the runtime is gone: {died}"))
    })
}

/// A larger body is cut off, and the call counts as failed.
pub const BODY_BYTES_MAX: usize = 4 << 20;
