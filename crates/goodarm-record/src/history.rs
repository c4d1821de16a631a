//! A run's journal, event by event: the source of all outputs, reports and audits.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use goodarm_core::{
    ArmId, Attribute, Bill, BlockingFailure, CountedFailure, DECISIONS, Event, Failure, Loan,
    Outcome, Problem, QuestionId, Source, Target, Ticket,
};

use crate::folder::Folder;
use crate::journal::VERSION;
use crate::journal::{
    self, Header, JournalEnd, Mark, Note, OpenError, OpenedJournal, Reader, Record,
};
use crate::terms::{RunTerms, TermsError};

/// A call that came back.
#[derive(Clone, Debug, PartialEq)]
pub struct SettledCall<'a> {
    /// Its number.
    pub ticket: Ticket,
    /// The candidate or question, and the service that was asked: a generator or a verifier. A verifier with
    /// criteria is named by its first criterion.
    pub target: Target,
    /// The outcome of the call.
    pub outcome: Outcome,
    /// What it cost.
    pub bill: Bill,
    /// Latency, reply and reason.
    pub note: Note<'a>,
}

impl SettledCall<'_> {
    /// Its candidate; `None` for a call about a question.
    pub const fn arm(&self) -> Option<ArmId> {
        match self.target {
            Target::Arm(arm, _) => Some(arm),
            Target::Question(..) => None,
        }
    }

    /// The event for the books.
    pub fn event(&self) -> Event {
        Event::Settled { ticket: self.ticket, outcome: self.outcome.clone(), bill: self.bill }
    }

    /// How it failed, if it did.
    pub const fn failure(&self) -> Option<Failure> {
        self.outcome.failure()
    }

    /// The score for criterion number `criterion` of the verifier (0 without criteria), or the failure in its place;
    /// `declared` is the criterion's attribute.
    pub fn outcome_for(&self, criterion: usize, declared: &Attribute) -> Result<f64, Failure> {
        match (self.failure(), self.outcome.score(criterion)) {
            (Some(failure), _) => Err(failure),
            (None, Some(score)) if declared.is_below_lowest(score) => {
                Err(Failure::Blocking(BlockingFailure::BelowLowest))
            }
            (None, Some(score)) => Ok(score),
            (None, None) => Err(Failure::Counted(CountedFailure::Unreadable)),
        }
    }
}

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry<'a> {
    /// Its place in the order of all events.
    pub index: u64,
    /// When it was written, in milliseconds since 1970.
    pub unix_millis: u64,
    /// What happened.
    pub event: Event,
    /// The call that came back, if one did.
    pub call: Option<SettledCall<'a>>,
    /// The index of the entry that asked for that call; without a call, of this entry.
    pub asked: u64,
    /// The answer that was lent a share of δ when the call was asked for, and its loan. Both the entry that asks for
    /// the call and the one that settles it have this.
    pub loan: Option<(ArmId, Loan)>,
    /// If candidates were added: the fingerprint of all candidates.
    pub candidates: Option<[u8; 32]>,
}

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The file cannot be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The run terms, in the journal's first record, cannot be used.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// Header and run terms have different numbers of arms or attributes.
    #[error("the journal's header and its run terms do not agree")]
    Inconsistent,
    /// The run never began.
    #[error("the journal holds nothing: the run never began")]
    NeverBegun,
    /// The run was begun by a version that decides differently: its books cannot be made again.
    #[error(
        "goodarm {version} began this run and decides by rules {theirs}; this is goodarm {VERSION}, which decides by rules {DECISIONS}: use goodarm {version} for it"
    )]
    Decisions {
        /// The version that began it.
        version: String,
        /// The number of its rules.
        theirs: u32,
    },
    /// More candidates or questions than their file can hold.
    #[error("the journal has {0} candidates or questions, more than the run's folder can hold")]
    TooManyCandidates(u64),
    /// A call that the run cannot have made, and why.
    #[error("call {} {}", .0.0, .1)]
    Call(Ticket, &'static str),
}

/// Reads a journal, entry by entry.
pub struct History {
    /// The terms of the run.
    pub terms: RunTerms,
    reader: Reader,
    in_flight: BTreeMap<Ticket, Asked>,
    /// The number of candidates so far.
    candidate_count: u64,
    /// The most that the file of candidates can hold.
    candidate_max: u64,
    /// The most that the file of questions can hold.
    question_max: u64,
    index_next: u64,
    started_millis: Option<u64>,
    ended_millis: u64,
}

/// A call in flight.
struct Asked {
    target: Target,
    index: u64,
    loan: Option<(ArmId, Loan)>,
}

impl History {
    /// Opens a journal; a torn tail is skipped.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        match journal::open(path)? {
            OpenedJournal::Begun(reader) => {
                let folder = Folder::new(path.parent().unwrap_or(Path::new("")));
                let kept = folder.candidates().metadata();
                let most = kept.map_or(u64::MAX, |kept| kept.len() / CANDIDATE_BYTES_MIN);
                let kept = folder.questions().metadata();
                let question_max = kept.map_or(u64::MAX, |kept| kept.len() / CANDIDATE_BYTES_MIN);
                Ok(Self { candidate_max: most, question_max, ..Self::new(reader)? })
            }
            OpenedJournal::NeverBegun { .. } => Err(HistoryError::NeverBegun),
        }
    }

    /// A history that begins with the first entry of a journal.
    pub fn new(reader: Reader) -> Result<Self, HistoryError> {
        let header = reader.header();
        let terms = RunTerms::read(&header.terms)?;
        // Readers use the numbers of arms and attributes as indices.
        let counts = (terms.candidate_count as u64, terms.verifiers.len() as u64);
        if counts != (header.arm_count, header.attribute_count) {
            return Err(HistoryError::Inconsistent);
        }
        Ok(Self {
            candidate_count: header.arm_count,
            candidate_max: u64::MAX,
            question_max: u64::MAX,
            terms,
            reader,
            in_flight: BTreeMap::new(),
            index_next: 0,
            started_millis: None,
            ended_millis: 0,
        })
    }

    /// The journal's first record.
    pub const fn header(&self) -> &Header {
        self.reader.header()
    }

    /// The problem that the run began with. Refused if the run began under other decision rules than ours: recomputed
    /// books would differ, and look like damage.
    pub fn problem(&self) -> Result<Problem, HistoryError> {
        let Header { version, decisions, .. } = self.header();
        if *decisions != DECISIONS {
            let (version, theirs) = (version.clone(), *decisions);
            return Err(HistoryError::Decisions { version, theirs });
        }
        // Books allocate memory for all candidates at once.
        if self.candidate_count > self.candidate_max {
            return Err(HistoryError::TooManyCandidates(self.candidate_count));
        }
        let question_count = self.terms.questions.as_ref().map_or(0, |asked| asked.count) as u64;
        if question_count > self.question_max {
            return Err(HistoryError::TooManyCandidates(question_count));
        }
        Ok(self.terms.problem()?)
    }

    /// The next entry; `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<JournalEntry<'_>>, HistoryError> {
        let (terms, reader) = (&self.terms, &mut self.reader);
        let Some((position, Record { event, note })) = reader.next_record()? else {
            return Ok(None);
        };
        let (index, unix_millis) = (self.index_next, position.unix_millis);
        self.index_next += 1;
        self.started_millis.get_or_insert(unix_millis);
        self.ended_millis = unix_millis;
        let mut entry = JournalEntry {
            index,
            unix_millis,
            event,
            call: None,
            asked: index,
            loan: None,
            candidates: None,
        };
        let (ticket, outcome, bill) = match &entry.event {
            Event::Settled { ticket, outcome, bill } => (*ticket, outcome.clone(), *bill),
            &Event::Asked { ticket, target, loan } => {
                check_asked(terms, ticket, target)?;
                self.in_flight.insert(ticket, Asked { target, index, loan });
                return Ok(Some(JournalEntry { loan, ..entry }));
            }
            Event::ArmsAdded { count } => {
                self.candidate_count += u64::from(*count);
                if self.candidate_count > self.candidate_max {
                    return Err(HistoryError::TooManyCandidates(self.candidate_count));
                }
                return Ok(Some(JournalEntry { candidates: Some(note.candidates), ..entry }));
            }
            Event::BudgetRaised { .. } | Event::Released { .. } => return Ok(Some(entry)),
        };
        if outcome == Outcome::Answer(None) {
            return Err(HistoryError::Call(ticket, OTHER_SCORES));
        }
        let asked =
            self.in_flight.remove(&ticket).ok_or(HistoryError::Call(ticket, NEVER_ASKED))?;
        let Asked { target, index, loan } = asked;
        if !is_expected(terms, target, &outcome) {
            return Err(HistoryError::Call(ticket, OTHER_SCORES));
        }
        (entry.asked, entry.loan) = (index, loan);
        entry.call = Some(SettledCall { ticket, target, outcome, bill, note });
        Ok(Some(entry))
    }

    /// The number of runs that made calls in this run's folder: those that came before, and this one if it did.
    pub fn run_count(mut self) -> u32 {
        let earlier = self.terms.earlier_runs;
        loop {
            match self.next_entry() {
                Ok(Some(entry)) if entry.call.is_some() => return earlier.saturating_add(1),
                Ok(Some(_)) => {}
                Ok(None) => return earlier.saturating_add(u32::from(!self.in_flight.is_empty())),
                Err(_) => return earlier.saturating_add(1),
            }
        }
    }

    /// Calls in flight at the end of what was read.
    pub fn in_flight(&self) -> impl Iterator<Item = (Ticket, Target)> + '_ {
        self.in_flight.iter().map(|(&ticket, asked)| (ticket, asked.target))
    }

    /// When the first and the last event were written, in milliseconds since 1970.
    pub fn span_millis(&self) -> [u64; 2] {
        [self.started_millis.unwrap_or(self.ended_millis), self.ended_millis]
    }

    /// The length of the whole frames up to and including the last entry.
    pub(crate) const fn len_read(&self) -> u64 {
        self.reader.len_valid()
    }

    /// The mark of what was read so far; `path` is the path of this journal.
    pub fn mark(&self, path: &Path) -> io::Result<Mark> {
        Mark::of(path, self.reader.len_valid())
    }

    /// The end of the journal, where writing continues.
    pub fn finish(self) -> Result<JournalEnd, HistoryError> {
        Ok(self.reader.finish()?)
    }
}

/// Whether a call to `target` may have this outcome: readers index into its scores.
fn is_expected(terms: &RunTerms, target: Target, outcome: &Outcome) -> bool {
    let criteria_count = match target {
        _ if outcome.is_failed() => return true,
        Target::Arm(..) => terms.criteria(target).len(),
        Target::Question(..) => return matches!(outcome, Outcome::Answer(_)),
    };
    match outcome {
        Outcome::Score(_) => criteria_count == 0,
        Outcome::Scores(scores) => scores.len() == criteria_count && criteria_count > 0,
        Outcome::Answer(_) | Outcome::Failed(_) => false,
    }
}

/// Refuses a call to a target that this run cannot have asked.
fn check_asked(terms: &RunTerms, ticket: Ticket, target: Target) -> Result<(), HistoryError> {
    match target {
        Target::Arm(_, attribute) if !terms.is_called(attribute.index()) => {
            Err(HistoryError::Call(ticket, "is not by the first criterion of its verifier"))
        }
        Target::Question(question, source) if !is_asked(terms, question, source) => {
            Err(HistoryError::Call(ticket, "is about a question that no service is asked"))
        }
        Target::Arm(..) | Target::Question(..) => Ok(()),
    }
}

/// Whether the run has this question, and asks `source` about questions.
fn is_asked(terms: &RunTerms, question: QuestionId, source: Source) -> bool {
    let Some(questions) = &terms.questions else { return false };
    let is_there = match source {
        Source::Votes(attribute) => terms.are_votes(attribute.index()),
        Source::Generator(generator) => generator.index() < questions.generators.len(),
    };
    question.index() < questions.count && is_there
}

/// The length of the shortest line: `{"id":"0"}` and the end of the line.
const CANDIDATE_BYTES_MIN: u64 = 11;
const NEVER_ASKED: &str = "is answered but was never asked";
const OTHER_SCORES: &str = "does not have the scores that it was asked for";
