//! Everything about one certified answer: its fields from memory, its calls from the journal file, without
//! the run's thread.

use std::fs;
use std::path::Path;

use goodarm_core::{Failure, Outcome, Source, Target};
use goodarm_record::history::{JournalEntry, SettledCall};
use goodarm_record::replay::{JournalError, Replay};
use serde::Serialize;

use super::WatchedJob;
use super::snapshot::WatchedCertificate;
use crate::report::Trail;
use crate::report::rows::{self, AnswerDetail, CallRow, call_row};

/// An answer as JSON.
pub(super) fn json(job: &WatchedJob, journal: &Path, certificate: &WatchedCertificate) -> String {
    let fields = certificate.fields(job, FIELD_BYTES_MAX);
    // If the journal cannot be read, the answer is shown without calls.
    let calls = AnswerCalls::read(job, journal, certificate).unwrap_or_default();
    let mut view = certificate.answer.clone();
    let mut trails = vec![Trail::default(); view.evidence.len()];
    for ((pair, trail), running) in view.evidence.iter_mut().zip(&mut trails).zip(calls.means) {
        // Calls that were in flight at the time of the certificate may be settled now. If the journal on disk has
        // fewer calls instead, its means are not complete.
        if running.count >= pair.calls {
            pair.calls = running.count;
            pair.mean = running.mean();
            *trail = running.trail;
        }
    }
    rows::json(&AnswerPage {
        detail: AnswerDetail::new(fields, &view, &trails).without_shares(),
        calls: calls.rows,
        call_count: calls.count,
    })
}

#[derive(Serialize)]
struct AnswerPage {
    detail: AnswerDetail,
    calls: Vec<CallRow>,
    /// The number of all calls; `calls` has only the first ones.
    call_count: u64,
}

/// The calls about one answer, and about its question.
#[derive(Default)]
struct AnswerCalls {
    /// The first calls.
    rows: Vec<CallRow>,
    count: u64,
    /// The mean of each verifier.
    means: Vec<RunningMean>,
}

/// A verifier's mean after each call. The evidence is not here: only the books have it.
#[derive(Clone, Default)]
struct RunningMean {
    sum: f64,
    count: u64,
    trail: Trail,
}

impl RunningMean {
    fn take(&mut self, score: f64) {
        self.sum += score;
        self.count += 1;
        self.trail.push(self.mean().unwrap_or_default(), 0.0);
    }

    fn mean(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl AnswerCalls {
    fn read(
        job: &WatchedJob,
        journal: &Path,
        certificate: &WatchedCertificate,
    ) -> Result<Self, JournalError> {
        let is_long = fs::metadata(journal).map_or(0, |file| file.len()) > JOURNAL_BYTES_MAX;
        if is_long {
            return Ok(Self::default());
        }
        let mut replay = Replay::open(journal)?;
        let mut calls = Self {
            means: vec![RunningMean::default(); job.problem.attribute_count()],
            ..Self::default()
        };
        let mut started_millis = None;
        while let Some(entry) = replay.step()? {
            let started_millis = *started_millis.get_or_insert(entry.unix_millis);
            if entry.call.as_ref().is_some_and(|call| is_about(call, certificate)) {
                calls.take(job, &entry, started_millis, certificate);
            }
        }
        Ok(calls)
    }

    fn take(
        &mut self,
        job: &WatchedJob,
        entry: &JournalEntry<'_>,
        started_millis: u64,
        certificate: &WatchedCertificate,
    ) {
        let Some(call) = &entry.call else { return };
        self.count += 1;
        if self.rows.len() < CALLS_MAX {
            self.rows.extend(call_row(
                entry,
                job.problem.attribute_count(),
                started_millis,
                REPLY_BYTES_MAX,
            ));
        }
        let lead = match call.target {
            Target::Arm(_, lead) => lead,
            Target::Question(_, Source::Votes(attribute)) => {
                if let Some(score) = vote(call, certificate) {
                    self.means[attribute.index()].take(score);
                }
                return;
            }
            Target::Question(_, Source::Generator(_)) => return,
        };
        for (criterion, &attribute) in job.problem.members(lead).iter().enumerate() {
            let declared = job.problem.attribute(attribute);
            let score = match call.outcome_for(criterion, declared) {
                Ok(score) => Some(score),
                Err(Failure::Counted(_)) => declared.lowest_score(),
                Err(Failure::Void(_) | Failure::Blocking(_)) => None,
            };
            if let Some(score) = score {
                self.means[attribute.index()].take(score);
            }
        }
    }
}

/// Whether a call is about the answer, or about its question.
fn is_about(call: &SettledCall<'_>, certificate: &WatchedCertificate) -> bool {
    match call.target {
        Target::Arm(arm, _) => arm == certificate.answer.arm,
        Target::Question(question, _) => {
            certificate.question.is_some_and(|it| it.question == question)
        }
    }
}

/// The score that a vote gives the answer: 0 for a failed vote, `None` for a void one.
fn vote(call: &SettledCall<'_>, certificate: &WatchedCertificate) -> Option<f64> {
    match &call.outcome {
        Outcome::Answer(label) => {
            let is_for = certificate.question.is_some_and(|it| Some(it.label) == *label);
            Some(f64::from(u8::from(is_for)))
        }
        Outcome::Failed(Failure::Counted(_)) => Some(0.0),
        _ => None,
    }
}

const FIELD_BYTES_MAX: usize = 20_000;
const REPLY_BYTES_MAX: usize = 4_000;
const CALLS_MAX: usize = 1_000;
/// Reading more than this takes longer than a person waits.
const JOURNAL_BYTES_MAX: u64 = 256 << 20;
