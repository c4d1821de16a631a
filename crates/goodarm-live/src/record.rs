//! Calling each verifier of a job several times on each candidate, for a recording: the price of one
//! recording buys any number of comparisons of policies on real data.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodarm_core::{ArmId, Cost};

use crate::bounds;
use crate::control::Control;
use crate::engine::{self, Cause, Engine, Finish, GivenUp, Returned};
use crate::job::Job;
use crate::job_file::Scores;
use crate::recording::{self, Outcomes};
use crate::throttle::Throttle;
use crate::verifier::Verdict;

/// Why nothing was recorded, or not all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
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
    /// It might cost more than the budget.
    #[error(
        "recording may cost up to {cost}, and the budget is {budget}: raise it, or record less"
    )]
    TooExpensive {
        /// The worst case.
        cost: Cost,
        /// What there is.
        budget: Cost,
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
}

/// One pair to record.
struct Pair {
    arm: ArmId,
    attribute: usize,
    missing: usize,
}

/// What came back of a pair, all of it or, when stopped, some.
struct Batch {
    attribute: usize,
    outcomes: Outcomes,
    is_whole: bool,
    spent: Cost,
    /// Why the first failed call did.
    reason: Option<String>,
}

/// Rows on their way into the file. Those of a verifier that has yet to give a score wait: if it never
/// does, they say nothing about answers and would stand in the way of a mended job.
struct Rows {
    file: File,
    waiting: Vec<Option<Vec<Outcomes>>>,
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
    let file_error = |error| RecordError::File { path: path.to_owned(), error };
    let done = begun(path)?;
    let pairs = pairs(job, times, &done.counts)?;
    let mut recorded = Recorded { pair_total: pairs.total, ..Recorded::default() };
    recorded.pair_count = pairs.total - pairs.list.len();
    let mut rows = Rows::open(request, &done)?;
    progress(&recorded);
    let runtime = engine::runtime().map_err(file_error)?;
    let throttles = job.verifiers.iter().zip(&rows.waiting).map(|(verifier, waiting)| {
        let throttle = verifier.throttle(verifier.limits);
        if waiting.is_some() { throttle.on_trial() } else { throttle }
    });
    let mut engine: Engine<(), Batch> = Engine::new(throttles, job.settings.concurrency);
    let work = engine.make_all(
        pairs.list,
        control,
        |engine, pair| {
            let job = Arc::clone(job);
            engine.start((), pair.attribute, async move |throttle| {
                call_pair(&job, &throttle, &pair).await
            });
        },
        |Returned { reply, .. }| {
            // A task that died is a bug of ours: its pair is made again the next time.
            let Some(batch) = reply else { return Ok(()) };
            recorded.take(&batch);
            rows.take(batch)?;
            progress(&recorded);
            Ok(())
        },
    );
    let finish = engine::block_on(runtime, work).map_err(file_error)?;
    if matches!(finish, Finish::Stopped | Finish::Left) {
        rows.write_waiting().map_err(file_error)?;
    }
    rows.file.sync_data().map_err(file_error)?;
    let name = |verifier: usize| job.verifiers[verifier].name.clone();
    let (verifier, reason) = match finish {
        Finish::Stopped | Finish::Left => return Ok(recorded),
        Finish::Done => match rows.never_scored() {
            Some(verifier) => (name(verifier), String::new()),
            None => return Ok(recorded),
        },
        Finish::GivenUp(GivenUp { verifier, cause, reason }) => match (name(verifier), cause) {
            (verifier, Cause::Down) => return Err(RecordError::Down { verifier, reason }),
            (verifier, Cause::Mistrusted) => {
                return Err(RecordError::Mistrusted { verifier, reason });
            }
            (verifier, Cause::NeverScored) => (verifier, reason),
        },
    };
    let first = recorded.failures.remove(&verifier).map(|(_, reason)| reason);
    Err(RecordError::NeverScored { verifier, reason: first.unwrap_or(reason) })
}

impl Recorded {
    fn take(&mut self, batch: &Batch) {
        let Outcomes { scores, verifier, .. } = &batch.outcomes;
        self.pair_count += usize::from(batch.is_whole);
        self.call_count += scores.len() as u64;
        self.spent = self.spent.saturating_add(batch.spent);
        if let Some(reason) = &batch.reason {
            let first = || (0, reason.clone());
            let failure_count = scores.iter().filter(|score| score.is_none()).count() as u64;
            self.failures.entry(verifier.clone()).or_insert_with(first).0 += failure_count;
        }
    }
}

impl Rows {
    fn open(request: &Request<'_>, begun: &Begun) -> Result<Self, RecordError> {
        let Request { job, path, note, .. } = *request;
        let file_error = |error| RecordError::File { path: path.to_owned(), error };
        let mut file =
            OpenOptions::new().create(true).append(true).open(path).map_err(file_error)?;
        if file.metadata().map_err(file_error)?.len() == 0 {
            let heading = recording::heading(job.unit().name(), note).map_err(file_error)?;
            writeln!(file, "{heading}").map_err(file_error)?;
        }
        let waiting = job.verifiers.iter().map(|verifier| {
            let has_scored = begun.scored.contains(&verifier.name);
            (!has_scored).then(Vec::new)
        });
        Ok(Self { file, waiting: waiting.collect() })
    }

    fn take(&mut self, Batch { attribute, outcomes, .. }: Batch) -> io::Result<()> {
        if outcomes.scores.is_empty() {
            return Ok(());
        }
        match &mut self.waiting[attribute] {
            Some(waiting) if outcomes.scores.iter().all(Option::is_none) => {
                waiting.push(outcomes);
                Ok(())
            }
            waiting => {
                let mut rows = waiting.take().unwrap_or_default();
                rows.push(outcomes);
                self.write(&rows)
            }
        }
    }

    /// Whoever stops a recording has not called its verifiers broken.
    fn write_waiting(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().flatten().try_for_each(|rows| self.write(&rows))
    }

    fn write(&mut self, rows: &[Outcomes]) -> io::Result<()> {
        rows.iter().try_for_each(|row| {
            let text = serde_json::to_string(row)?;
            writeln!(self.file, "{text}")
        })
    }

    /// A verifier that was called and gave no score.
    fn never_scored(&self) -> Option<usize> {
        self.waiting.iter().position(|rows| rows.as_ref().is_some_and(|rows| !rows.is_empty()))
    }
}

/// What a file has already.
#[derive(Default)]
struct Begun {
    /// How many outcomes of each pair.
    counts: BTreeMap<(String, String), usize>,
    /// Verifiers that have given a score.
    scored: BTreeSet<String>,
}

fn begun(path: &Path) -> Result<Begun, RecordError> {
    let mut begun = Begun::default();
    let Ok(file) = File::open(path) else { return Ok(begun) };
    for (index, line) in bounds::lines(BufReader::new(file)).enumerate().skip(1) {
        let wrong =
            |reason: String| RecordError::Begun { path: path.to_owned(), line: index + 1, reason };
        let line = line.map_err(|error| wrong(error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let outcomes: Outcomes =
            serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        if outcomes.scores.iter().any(Option::is_some) {
            begun.scored.insert(outcomes.verifier.clone());
        }
        *begun.counts.entry((outcomes.id, outcomes.verifier)).or_insert(0) += outcomes.scores.len();
    }
    Ok(begun)
}

struct Pairs {
    list: VecDeque<Pair>,
    total: usize,
}

fn pairs(
    job: &Job,
    times: usize,
    done: &BTreeMap<(String, String), usize>,
) -> Result<Pairs, RecordError> {
    let mut pairs = Pairs { list: VecDeque::new(), total: 0 };
    let mut cost = Cost::ZERO;
    for arm in job.candidates.arms() {
        for (attribute, verifier) in job.verifiers.iter().enumerate() {
            let is_exact = verifier.verifier.default_scores() == Scores::Exact;
            let wanted = match (verifier.verifier.is_reproducible(), is_exact) {
                // It always says the same.
                (true, true) => 1,
                // It is drawn from a recording.
                (true, false) => continue,
                (false, _) => times,
            };
            let key = (job.candidates.id(arm).to_owned(), verifier.name.clone());
            let missing = wanted.saturating_sub(done.get(&key).copied().unwrap_or(0));
            pairs.total += 1;
            if missing > 0 {
                let ceiling = verifier.tariff.ceiling.picos().saturating_mul(missing as u128);
                cost = cost.saturating_add(Cost::from_picos(ceiling));
                pairs.list.push_back(Pair { arm, attribute, missing });
            }
        }
    }
    if pairs.total == 0 {
        return Err(RecordError::NothingToRecord);
    }
    let budget = job.problem.budget();
    if cost > budget {
        return Err(RecordError::TooExpensive { cost, budget });
    }
    Ok(pairs)
}

async fn call_pair(job: &Job, throttle: &Throttle, pair: &Pair) -> Batch {
    let verifier = &job.verifiers[pair.attribute];
    let candidate = job.candidates.get(pair.arm);
    let solver = verifier.verifier.final_answers();
    let mut batch = Batch {
        outcomes: Outcomes {
            id: candidate.id.clone(),
            verifier: verifier.name.clone(),
            scores: Vec::with_capacity(pair.missing),
            costs: Vec::with_capacity(pair.missing),
            answers: Vec::new(),
        },
        attribute: pair.attribute,
        is_whole: true,
        spent: Cost::ZERO,
        reason: None,
    };
    let throttle = &throttle.on_answer(pair.arm);
    for _ in 0..pair.missing {
        throttle.begin().await;
        let reply = verifier.verifier.call(&candidate, throttle).await;
        let score = match reply.verdict {
            Verdict::Score(score) => {
                throttle.scored();
                Some(score)
            }
            Verdict::Known(score) => {
                throttle.unmade();
                Some(score)
            }
            Verdict::Failed(_, reason) => {
                throttle.unscored(&reason);
                batch.reason.get_or_insert(reason);
                None
            }
            Verdict::Exhausted(_) => {
                throttle.unmade();
                break;
            }
            // The recording is stopping.
            Verdict::Void(_) => {
                throttle.unmade();
                batch.is_whole = false;
                break;
            }
        };
        let cost = verifier.charge(&reply.usage);
        batch.spent = batch.spent.saturating_add(cost);
        batch.outcomes.scores.push(score);
        batch.outcomes.costs.push(cost);
        if let Some(solver) = &solver {
            batch.outcomes.answers.push(solver.extractor.extract(&reply.text).unwrap_or_default());
        }
    }
    batch
}
