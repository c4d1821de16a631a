//! Calling each verifier of a job several times on each candidate, for a recording: the price of one
//! recording buys any number of comparisons of policies on real data.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use goodarm_core::{ArmId, Cost};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

use crate::job::Job;
use crate::job_file::ScoresFile;
use crate::line::Line;
use crate::recording::{self, Outcomes};
use crate::run::Control;
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
    /// Only replay verifiers, which are recorded already.
    #[error("the job has no verifier to record: replay verifiers are recorded already")]
    NothingToRecord,
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Pairs of candidate and verifier that are complete.
    pub pair_count: usize,
    /// Of so many.
    pub pair_total: usize,
    /// Calls made now.
    pub call_count: u64,
    /// Paid now.
    pub spent: Cost,
}

/// One pair to record.
struct Pair {
    arm: ArmId,
    attribute: usize,
    missing: usize,
}

/// What came back of a pair, all of it or, when stopped, some.
struct Batch {
    outcomes: Outcomes,
    is_whole: bool,
    spent: Cost,
}

/// Calls each verifier `times` times on each candidate and appends to the file at `path`; what the
/// file has already is not made again.
pub fn record(
    job: &Arc<Job>,
    times: usize,
    (path, note): (&Path, &str),
    control: &Control,
    mut progress: impl FnMut(Recorded),
) -> Result<Recorded, RecordError> {
    let file_error = |error| RecordError::File { path: path.to_owned(), error };
    let done = begun(path)?;
    let pairs = pairs(job, times, &done)?;
    let mut recorded = Recorded { pair_total: pairs.total, ..Recorded::default() };
    recorded.pair_count = pairs.total - pairs.list.len();
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(file_error)?;
    if file.metadata().map_err(file_error)?.len() == 0 {
        let unit = format!("{:?}", job.unit()).to_lowercase();
        let heading = recording::heading(&unit, note).map_err(file_error)?;
        writeln!(file, "{heading}").map_err(file_error)?;
    }
    progress(recorded);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(file_error)?;
    let (sender, receiver) = channel();
    let lines: Arc<Vec<Line>> =
        Arc::new(job.verifiers.iter().map(|verifier| Line::new(verifier.limits)).collect());
    runtime.spawn(send_all(Arc::clone(job), Arc::clone(&lines), pairs.list, sender));
    loop {
        if control.is_stopping() {
            lines.iter().for_each(Line::stop);
        }
        match receiver.recv_timeout(TICK) {
            Ok(batch) => {
                let text = serde_json::to_string(&batch.outcomes).map_err(io::Error::from);
                writeln!(file, "{}", text.map_err(file_error)?).map_err(file_error)?;
                recorded.pair_count += usize::from(batch.is_whole);
                recorded.call_count += batch.outcomes.scores.len() as u64;
                recorded.spent = recorded.spent.saturating_add(batch.spent);
                progress(recorded);
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    file.sync_data().map_err(file_error)?;
    runtime.shutdown_background();
    Ok(recorded)
}

/// How many outcomes a file has of each pair already.
fn begun(path: &Path) -> Result<BTreeMap<(String, String), usize>, RecordError> {
    let mut counts = BTreeMap::new();
    let Ok(file) = File::open(path) else { return Ok(counts) };
    for (index, line) in BufReader::new(file).lines().enumerate().skip(1) {
        let wrong =
            |reason: String| RecordError::Begun { path: path.to_owned(), line: index + 1, reason };
        let line = line.map_err(|error| wrong(error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let outcomes: Outcomes =
            serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        *counts.entry((outcomes.id, outcomes.verifier)).or_insert(0) += outcomes.scores.len();
    }
    Ok(counts)
}

struct Pairs {
    list: Vec<Pair>,
    total: usize,
}

fn pairs(
    job: &Job,
    times: usize,
    done: &BTreeMap<(String, String), usize>,
) -> Result<Pairs, RecordError> {
    let mut pairs = Pairs { list: Vec::new(), total: 0 };
    let mut cost = Cost::ZERO;
    for arm in job.candidates.arms() {
        for (attribute, verifier) in job.verifiers.iter().enumerate() {
            let is_exact = verifier.verifier.default_scores() == ScoresFile::Exact;
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
                pairs.list.push(Pair { arm, attribute, missing });
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

async fn send_all(job: Arc<Job>, lines: Arc<Vec<Line>>, pairs: Vec<Pair>, sender: Sender<Batch>) {
    let places = Arc::new(Semaphore::new(job.settings.concurrency));
    for pair in pairs {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (job, lines, sender) = (Arc::clone(&job), Arc::clone(&lines), sender.clone());
        tokio::spawn(async move {
            let batch = call_pair(&job, &lines[pair.attribute], &pair).await;
            // Nobody listens any more when the recording was left.
            let _ = sender.send(batch);
            drop(place);
        });
    }
}

async fn call_pair(job: &Job, line: &Line, pair: &Pair) -> Batch {
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
        is_whole: true,
        spent: Cost::ZERO,
    };
    for _ in 0..pair.missing {
        let reply = verifier.verifier.call(&candidate, line).await;
        let score = match reply.verdict {
            Verdict::Score(score) => Some(score),
            Verdict::Failed(..) => None,
            Verdict::Void(_) => {
                batch.is_whole = false;
                break;
            }
        };
        let cost = verifier.tariff.charge(&reply.usage);
        batch.spent = batch.spent.saturating_add(cost);
        batch.outcomes.scores.push(score);
        batch.outcomes.costs.push(cost.to_string().parse().unwrap_or(f64::MAX));
        if let Some(solver) = &solver {
            batch.outcomes.answers.push(solver.extractor.extract(&reply.text).unwrap_or_default());
        }
    }
    batch
}

const TICK: Duration = Duration::from_millis(100);
