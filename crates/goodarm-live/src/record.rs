//! Calling each verifier of a job several times on each candidate, for a recording: the price of one
//! recording buys any number of comparisons of policies on real data.
//!
//! Money is spent as in a run: a call's ceiling is reserved and its intent is durable before it starts.
//! The budget is for the whole recording, in however many processes it is made.

mod begun;
mod pending;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodarm_core::ledger::Ledger;
use goodarm_core::{
    ArmId, AttributeId, BlockingFailure, Cost, CountedFailure, Event, Failure, Ticket,
};
use goodarm_record::control::Control;
use goodarm_record::failure::is_free;
use goodarm_record::job_file::Scores;
use goodarm_record::journal::{FileStorage, Journal, LockError, Note, Record};
use goodarm_record::recording;

use crate::engine::{self, Cause, Engine, Finish, GivenUp, Returned, Work};
use crate::job::{Job, JobService};
use crate::record::begun::Begun;
use crate::record::pending::{Amount, Pending, Terms, Unscored, VerifierTerms};
use crate::service::{Answered, Place, Reply, Verdict};
use crate::throttle::Throttle;

/// Why nothing was recorded, or not all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file, or the journal beside it.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// Another process is at it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A verifier is a person.
    #[error(
        "{0} is a person, and people are asked during a run and not for a recording: take it out of the job that is recorded"
    )]
    Person(String),
    /// A line of a recording that was begun before.
    #[error("{} line {line}: {reason}", path.display())]
    Begun {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The recording is not what the journal beside it was begun for.
    #[error(
        "{0} was changed, and {1} has calls that are paid for and are yet to be written into it: put {0} back as it was, or remove {1} to lose those calls",
        recording.display(), journal.display()
    )]
    Changed {
        /// The recording.
        recording: PathBuf,
        /// The journal beside it.
        journal: PathBuf,
    },
    /// It might cost more than the budget.
    #[error(
        "recording may cost up to {cost}, and the budget is {budget}{}: raise it, or record less",
        if *spent > Cost::ZERO { format!(", of which {spent} is spent") } else { String::new() }
    )]
    TooExpensive {
        /// The worst case of what is missing.
        cost: Cost,
        /// What there is for the whole recording.
        budget: Cost,
        /// What the calls of its verifiers have cost so far.
        spent: Cost,
    },
    /// A verifier was down for longer than its patience.
    #[error("{verifier} is down ({reason}); the same command goes on where it stopped")]
    Down {
        /// Which.
        verifier: String,
        /// What went wrong last.
        reason: String,
    },
    /// A verifier has never given a score: nothing of it is in the recording.
    #[error(
        "{verifier} has never given a score ({reason}), and nothing of it was recorded: mend the job, see with `goodarm try` what it says, and give the same command"
    )]
    NeverScored {
        /// Which.
        verifier: String,
        /// What went wrong first.
        reason: String,
    },
    /// A verifier said something that it was not asked: nobody knows what its scores belong to.
    #[error(
        "{verifier}: {reason}; what was recorded of it may belong to other answers: mend it, and record anew into another file"
    )]
    Mistrusted {
        /// Which.
        verifier: String,
        /// What it did.
        reason: String,
    },
    /// Only replay verifiers, which are recorded already.
    #[error("the job has no verifier to record: replay verifiers are recorded already")]
    NothingToRecord,
    /// A recording has one score a call.
    #[error(
        "{0} has criteria, and a recording has one score a call: record a verifier for each of them"
    )]
    Criteria(String),
    /// A recording is of calls on candidates.
    #[error(
        "the job has questions, and a recording is of calls on answers that are there: record a job with candidates alone; a file of answers is replayed by kind = \"pool\""
    )]
    Questions,
}

impl RecordError {
    fn file(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.to_owned(), error }
    }
}

/// How far a recording is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Pairs of candidate and verifier that are complete.
    pub pair_count: usize,
    /// Of so many.
    pub pair_total: usize,
    /// Calls made now.
    pub call_count: u64,
    /// Paid now.
    pub spent: Cost,
    /// How often each verifier failed now, and why it did so first.
    pub failures: BTreeMap<String, (u64, String)>,
    /// Calls that were in flight when this process or an earlier one ended: paid, and recorded as failed.
    pub lost_count: u64,
    /// Bytes of an unfinished line that were cut from the end of the recording.
    pub bytes_cut: u64,
}

/// What to record.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The job whose verifiers are called.
    pub job: &'a Arc<Job>,
    /// Calls of each verifier on each candidate.
    pub times: usize,
    /// The recording; what it has already is not made again.
    pub path: &'a Path,
    /// A word about where the outcomes come from.
    pub note: &'a str,
}

/// Calls each verifier several times on each candidate and appends what came back to the recording.
pub fn record(
    request: &Request<'_>,
    control: &Control,
    mut progress: impl FnMut(&Recorded),
) -> Result<Recorded, RecordError> {
    let Request { job, times, path, .. } = *request;
    let file_error = |error| RecordError::file(path, error);
    if let Some(person) = job.verifiers.iter().find(|it| it.service.people().is_some()) {
        return Err(RecordError::Person(person.name.clone()));
    }
    let pending = Pending::take(path)?;
    let merged = pending.merge(Unscored::Kept)?;
    let begun = Begun::read(path, job)?;
    let (pairs, pair_total) = pairs(job, times, &begun.counts)?;
    let spent_before = spent(job, &begun, &merged.beyond);
    affordable(job, &pairs, spent_before)?;
    let recorded = Recorded {
        pair_count: pair_total - pairs.len(),
        pair_total,
        lost_count: merged.lost_count,
        bytes_cut: begun.bytes_cut,
        ..Recorded::default()
    };
    progress(&recorded);
    if pairs.is_empty() {
        return Ok(recorded);
    }
    let terms = terms(request, &begun, merged.beyond).map_err(file_error)?;
    let throttles = job.verifiers.iter().zip(&terms.verifiers).map(|(verifier, terms)| {
        let throttle = verifier.throttle(verifier.limits);
        if terms.has_scored { throttle } else { throttle.on_trial() }
    });
    let mut engine = Engine::new(throttles, job.settings.concurrency);
    let mut calls = Calls {
        job,
        journal: pending.begin(&terms)?,
        ledger: Ledger::new(job.problem.budget().saturating_sub(spent_before)),
        has_scored: terms.verifiers.iter().map(|terms| terms.has_scored).collect(),
        pairs,
        current: 0,
        ticket_next: Ticket(0),
        recorded,
        progress: &mut progress,
    };
    let runtime = engine::runtime().map_err(file_error)?;
    let finish = engine::block_on(runtime, engine.make_all(&mut calls, control));
    let finish = finish.and_then(|finish| calls.journal.commit().map(|()| finish));
    let finish = finish.map_err(file_error)?;
    let is_stopped = matches!(finish, Finish::Stopped | Finish::Left);
    let merged = pending.merge(if is_stopped { Unscored::Kept } else { Unscored::LeftOut })?;
    calls.recorded.lost_count += merged.lost_count;
    let lost = calls.ledger.reserved();
    calls.recorded.spent = calls.recorded.spent.saturating_add(lost);
    match finish {
        Finish::Stopped | Finish::Left => {}
        Finish::GivenUp(given_up) => return Err(calls.given_up(given_up)),
        Finish::Done => {
            if let Some(error) = calls.never_scored() {
                return Err(error);
            }
            // Bills above their ceilings may have used up what the rest was to cost.
            affordable(job, &calls.pairs, spent_before.saturating_add(calls.ledger.settled()))?;
        }
    }
    Ok(calls.recorded)
}

/// The calls of a recording.
struct Calls<'a> {
    job: &'a Arc<Job>,
    journal: Journal<FileStorage>,
    /// Of what earlier processes have left of the budget.
    ledger: Ledger,
    /// Which verifiers have, in this process or before.
    has_scored: Vec<bool>,
    pairs: Vec<Pair>,
    /// Which of them is asked about.
    current: usize,
    ticket_next: Ticket,
    recorded: Recorded,
    progress: &'a mut dyn FnMut(&Recorded),
}

/// One pair to record.
struct Pair {
    arm: ArmId,
    attribute: AttributeId,
    /// Outcomes that are to be asked for.
    unasked_count: usize,
    /// Outcomes that are not there.
    missing_count: usize,
}

/// A call in flight.
#[derive(Clone, Copy)]
struct Tag {
    ticket: Ticket,
    pair: usize,
}

impl Calls<'_> {
    fn ceiling(&self, pair: usize) -> Cost {
        self.job.verifiers[self.pairs[pair].attribute.index()].tariff.ceiling
    }

    /// The next call, with its ceiling reserved, if it is affordable.
    fn next_call(&mut self) -> Option<Tag> {
        while self.pairs.get(self.current)?.unasked_count == 0 {
            self.current += 1;
        }
        let ceiling = self.ceiling(self.current);
        if !self.ledger.fits(ceiling) {
            return None;
        }
        self.ledger.reserve(ceiling);
        self.pairs[self.current].unasked_count -= 1;
        let ticket = self.ticket_next;
        self.ticket_next = Ticket(ticket.0 + 1);
        Some(Tag { ticket, pair: self.current })
    }

    fn given_up(&mut self, GivenUp { verifier, cause, reason }: GivenUp) -> RecordError {
        let verifier = self.job.verifiers[verifier].name.clone();
        match cause {
            Cause::Down => RecordError::Down { verifier, reason },
            Cause::Mistrusted => RecordError::Mistrusted { verifier, reason },
            Cause::NeverScored => {
                let first = self.recorded.failures.remove(&verifier).map(|(_, first)| first);
                RecordError::NeverScored { verifier, reason: first.unwrap_or(reason) }
            }
        }
    }

    /// A verifier that was called and gave no score.
    fn never_scored(&mut self) -> Option<RecordError> {
        let verifiers = self.job.verifiers.iter().zip(&self.has_scored);
        let mut unscored = verifiers.filter(|(_, has_scored)| !**has_scored);
        unscored.find_map(|(verifier, _)| {
            let verifier = verifier.name.clone();
            let (_, reason) = self.recorded.failures.remove(&verifier)?;
            Some(RecordError::NeverScored { verifier, reason })
        })
    }
}

impl Work<Tag, Reply> for Calls<'_> {
    fn start(&mut self, engine: &mut Engine<Tag, Reply>, room: usize) -> io::Result<()> {
        let mut tags = Vec::new();
        while tags.len() < room
            && let Some(tag) = self.next_call()
        {
            let Pair { arm, attribute, .. } = self.pairs[tag.pair];
            let asked = Event::Asked { ticket: tag.ticket, arm, attribute, loan: None };
            self.journal.append(&asked.into());
            tags.push(tag);
        }
        self.journal.commit()?;
        for tag in tags {
            let Pair { arm, attribute, .. } = self.pairs[tag.pair];
            let job = Arc::clone(self.job);
            engine.start(tag, attribute.index(), async move |throttle| {
                call(&job, arm, attribute, &throttle).await
            });
        }
        Ok(())
    }

    fn settle(&mut self, Returned { tag, reply }: Returned<Tag, Reply>) -> io::Result<()> {
        let ceiling = self.ceiling(tag.pair);
        let pair = &mut self.pairs[tag.pair];
        let verifier = &self.job.verifiers[pair.attribute.index()];
        let solver = verifier.service.manifest.final_answers.as_ref();
        let charged = reply.as_ref().map_or(ceiling, |reply| verifier.charge(&reply.usage));
        let reply = reply.unwrap_or_else(|| {
            Reply::failed(CountedFailure::Crashed, "the task that made the call died: a bug")
        });
        let answer = solver.and_then(|solver| solver.extractor.extract(&reply.text));
        let (outcome, reason) = outcome(reply.verdict);
        let cost = if outcome.is_err_and(is_free) { Cost::ZERO } else { charged };
        let note = Note {
            latency: reply.usage.worked,
            reply: answer.unwrap_or_default().into(),
            reason: reason.as_str().into(),
            ..Note::default()
        };
        let event = Event::of_outcome(tag.ticket, outcome, cost);
        self.journal.append(&Record { event, note });
        // A kill does not lose it; the next intents take it to the disk.
        self.journal.write()?;
        self.ledger.settle(ceiling, cost);
        let recorded = &mut self.recorded;
        recorded.spent = recorded.spent.saturating_add(cost);
        if !matches!(outcome, Err(Failure::Void(_))) {
            pair.missing_count -= 1;
            recorded.pair_count += usize::from(pair.missing_count == 0);
        }
        match outcome {
            Ok(_) => self.has_scored[pair.attribute.index()] = true,
            Err(Failure::Counted(_)) => {
                let first = || (0, reason);
                recorded.failures.entry(verifier.name.clone()).or_insert_with(first).0 += 1;
            }
            Err(Failure::Void(_) | Failure::Blocking(_)) => return Ok(()),
        }
        recorded.call_count += 1;
        (self.progress)(recorded);
        Ok(())
    }
}

/// What a verdict counts as. A score is kept as it is: whether its model allows it is for those to say
/// who read the recording.
fn outcome(verdict: Verdict) -> (Result<f64, Failure>, String) {
    match verdict {
        Verdict::Score(score) | Verdict::Known(score) if score.is_finite() => {
            (Ok(score), String::new())
        }
        Verdict::Score(score) | Verdict::Known(score) => {
            let reason = format!("score {score} is no number");
            (Err(Failure::Counted(CountedFailure::Unreadable)), reason)
        }
        Verdict::Failed(failure, reason) => (Err(Failure::Counted(failure)), reason),
        Verdict::Exhausted(reason) => (Err(Failure::Blocking(BlockingFailure::Exhausted)), reason),
        Verdict::Scores(_) => unreachable!("verifiers with criteria are refused"),
        Verdict::Answer(_) => unreachable!("jobs with questions are refused"),
        // The recording is stopping.
        Verdict::Void(failure) => (Err(Failure::Void(failure)), String::new()),
    }
}

async fn call(job: &Job, arm: ArmId, attribute: AttributeId, throttle: &Throttle) -> Reply {
    let throttle = &throttle.on_answer(arm);
    throttle.begin().await;
    let candidates = &*job.candidates;
    let verifier = &job.verifiers[attribute.index()];
    let reply = match verifier.answer(Place { candidates, arm, attribute, order: 0 }) {
        Some(Answered::Now(reply)) => reply,
        Some(Answered::Later(work)) => {
            verifier.call(&candidates.get(arm), Some(work), throttle).await
        }
        None => verifier.call(&candidates.get(arm), None, throttle).await,
    };
    match &reply.verdict {
        Verdict::Score(_) | Verdict::Scores(_) | Verdict::Answer(_) => throttle.scored(),
        Verdict::Failed(CountedFailure::GivenUp, _) if throttle.is_refused() => {
            throttle.unmade();
        }
        Verdict::Failed(_, reason) => {
            throttle.unscored(reason);
        }
        Verdict::Known(_) | Verdict::Exhausted(_) | Verdict::Void(_) => {
            throttle.unmade();
        }
    }
    reply
}

/// What the journal of a recording begins with.
fn terms(
    Request { job, note, .. }: &Request<'_>,
    begun: &Begun,
    beyond: BTreeMap<String, Amount>,
) -> io::Result<Terms> {
    let verifiers = job.verifiers.iter().zip(job.problem.attributes());
    let verifiers = verifiers.map(|(verifier, attribute)| VerifierTerms {
        name: verifier.name.clone(),
        ceiling: Amount(verifier.tariff.ceiling),
        is_exact: job.problem.attribute(attribute).is_exact(),
        is_solver: verifier.service.manifest.final_answers.is_some(),
        has_scored: begun.scored.contains(&verifier.name),
    });
    Ok(Terms {
        recording_bytes: Some(begun.bytes),
        heading: recording::heading(job.unit().name(), note)?,
        ids: job.candidates.arms().map(|arm| job.candidates.id(arm).to_owned()).collect(),
        verifiers: verifiers.collect(),
        beyond,
    })
}

/// What the calls of the job's verifiers have cost so far.
fn spent(job: &Job, begun: &Begun, beyond: &BTreeMap<String, Amount>) -> Cost {
    let amounts = job.verifiers.iter().flat_map(|JobService { name, .. }| {
        [begun.spent.get(name).copied(), beyond.get(name).map(|amount| amount.0)]
    });
    amounts.flatten().fold(Cost::ZERO, Cost::saturating_add)
}

/// Whether what is yet to be asked for fits the budget, whatever it comes to.
fn affordable(job: &Job, pairs: &[Pair], spent: Cost) -> Result<(), RecordError> {
    let worst = pairs.iter().map(|pair| {
        let ceiling = job.verifiers[pair.attribute.index()].tariff.ceiling;
        Cost::from_picos(ceiling.picos().saturating_mul(pair.unasked_count as u128))
    });
    let cost = worst.fold(Cost::ZERO, Cost::saturating_add);
    let budget = job.problem.budget();
    if cost > Cost::ZERO && spent.saturating_add(cost) > budget {
        return Err(RecordError::TooExpensive { cost, budget, spent });
    }
    Ok(())
}

/// The pairs that are not complete, and how many there are in all.
fn pairs(
    job: &Job,
    times: usize,
    done: &BTreeMap<(String, String), usize>,
) -> Result<(Vec<Pair>, usize), RecordError> {
    let (mut pairs, mut pair_total) = (Vec::new(), 0);
    if job.questions.is_some() {
        return Err(RecordError::Questions);
    }
    if let Some(verifier) = job.verifiers.iter().find(|it| !it.criteria.is_empty()) {
        return Err(RecordError::Criteria(verifier.name.clone()));
    }
    for arm in job.candidates.arms() {
        for (verifier, attribute) in job.verifiers.iter().zip(job.problem.attributes()) {
            let is_exact = verifier.service.manifest.scores == Scores::Exact;
            let wanted = match (verifier.service.is_local(), is_exact) {
                // It always says the same.
                (true, true) => 1,
                // It is drawn from a recording.
                (true, false) => continue,
                (false, _) => times,
            };
            let key = (job.candidates.id(arm).to_owned(), verifier.name.clone());
            let missing_count = wanted.saturating_sub(done.get(&key).copied().unwrap_or(0));
            pair_total += 1;
            if missing_count > 0 {
                pairs.push(Pair { arm, attribute, unasked_count: missing_count, missing_count });
            }
        }
    }
    if pair_total == 0 { Err(RecordError::NothingToRecord) } else { Ok((pairs, pair_total)) }
}
