//! Replay of a run's journal from its first entry to its last. All readers of a run use a [`Replay`]: resume,
//! outputs, report, labels, people, recordings, Python and the audit.

use std::path::{Path, PathBuf};

use goodarm_core::{Books, Event, EventError, Problem, Session, Settlement};

use crate::account::Account;
use crate::folder::Folder;
use crate::history::{History, HistoryError, JournalEntry};
use crate::journal::Mark;
use crate::subjects::Subjects;
use crate::terms::RunTerms;

/// Why a replay stopped; `R` is why its follower refused an entry.
#[derive(Debug, thiserror::Error)]
pub enum JournalError<R = EventError> {
    /// The journal cannot be read.
    #[error("{}: {error}", path.display())]
    History {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        error: HistoryError,
    },
    /// The journal has an event that is impossible.
    #[error("{}: {error}; an audit says what else is wrong", path.display())]
    Mismatch {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        error: R,
    },
}

/// Takes each entry of a journal.
pub trait Follower {
    /// Why it cannot take an entry.
    type Refusal;

    /// Takes the next entry.
    fn follow(&mut self, entry: &JournalEntry<'_>) -> Result<(), Self::Refusal>;
}

/// Ignores the entries.
impl Follower for () {
    type Refusal = EventError;

    fn follow(&mut self, _: &JournalEntry<'_>) -> Result<(), EventError> {
        Ok(())
    }
}

/// Goes through a journal, entry by entry.
pub struct Replay<F = Balance> {
    /// The journal, read up to the last entry.
    pub history: History,
    /// What takes the entries.
    pub follower: F,
    path: PathBuf,
}

impl Replay<()> {
    /// Opens a journal; a torn tail is skipped, and later writes are not read.
    pub fn open(journal: &Path) -> Result<Self, JournalError> {
        let told = |error| JournalError::History { path: journal.to_owned(), error };
        Ok(Self::new(History::open(journal).map_err(told)?, journal))
    }

    /// A replay of a journal that was opened already, and is at this path.
    pub fn new(history: History, journal: &Path) -> Self {
        Self { history, follower: (), path: journal.to_owned() }
    }

    /// The problem that the run began with.
    pub fn problem(&self) -> Result<Problem, JournalError> {
        let told = |error| JournalError::History { path: self.path.clone(), error };
        self.history.problem().map_err(told)
    }

    /// The same journal with a follower. The follower must be in the state before the first entry.
    pub fn followed_by<F: Follower>(self, follower: F) -> Replay<F> {
        Replay { history: self.history, follower, path: self.path }
    }
}

impl<F: Follower> Replay<F> {
    /// The next entry, which the follower has taken; `None` at the end.
    pub fn step(&mut self) -> Result<Option<JournalEntry<'_>>, JournalError<F::Refusal>> {
        let path = &self.path;
        let told = |error| JournalError::History { path: path.clone(), error };
        let Some(entry) = self.history.next_entry().map_err(told)? else { return Ok(None) };
        let followed = self.follower.follow(&entry);
        followed.map_err(|error| JournalError::Mismatch { path: path.clone(), error })?;
        Ok(Some(entry))
    }

    /// Replays all entries that are left.
    pub fn run(&mut self) -> Result<(), JournalError<F::Refusal>> {
        while self.step()?.is_some() {}
        Ok(())
    }

    /// How much of the journal was read.
    pub fn mark(&self) -> Result<Mark, JournalError<F::Refusal>> {
        self.history.mark(&self.path).map_err(|error| {
            let (path, error) = (self.path.clone(), HistoryError::Journal(error.into()));
            JournalError::History { path, error }
        })
    }
}

/// Takes events: books, or a session, which checks that its policy asks for the same calls.
pub trait EventSink {
    /// Why it refuses an event.
    type Refusal;

    /// Applies an event.
    fn apply(&mut self, event: &Event) -> Result<Settlement, Self::Refusal>;

    /// The books after all events so far.
    fn books(&self) -> &Books;
}

impl EventSink for Books {
    type Refusal = EventError;

    fn apply(&mut self, event: &Event) -> Result<Settlement, EventError> {
        Self::apply(self, event)
    }

    fn books(&self) -> &Books {
        self
    }
}

impl EventSink for Session {
    type Refusal = goodarm_core::session::ReplayError;

    fn apply(&mut self, event: &Event) -> Result<Settlement, goodarm_core::session::ReplayError> {
        self.replay([event.clone()])
    }

    fn books(&self) -> &Books {
        Self::books(self)
    }
}

/// The state of a run after an entry of its journal.
#[derive(Debug)]
pub struct Balance<B = Books> {
    /// Its books, or the session that has them.
    pub books: B,
    /// Its totals.
    pub account: Account,
    /// Answers and questions, including answers made so far; `None` if they are not needed.
    pub subjects: Option<Subjects>,
}

impl<B: EventSink> Balance<B> {
    /// The state before the first entry.
    pub fn opening(books: B) -> Self {
        Self { account: Account::new(books.books()), books, subjects: None }
    }

    /// Adds the subjects that the run began with.
    #[must_use]
    pub fn with(mut self, subjects: Option<Subjects>) -> Self {
        self.subjects = subjects;
        self
    }

    /// Takes an entry. The books get `event`: the entry's own, or in an audit that of the file of calls.
    pub(crate) fn take(
        &mut self,
        event: &Event,
        entry: &JournalEntry<'_>,
    ) -> Result<(), B::Refusal> {
        let settled = self.books.apply(event)?;
        let books = self.books.books();
        self.account.take(books, entry);
        if let (Some(subjects), Some(call)) = (&mut self.subjects, &entry.call) {
            subjects.take(books.problem(), settled, call);
        }
        Ok(())
    }
}

impl<B: EventSink> Follower for Balance<B> {
    type Refusal = B::Refusal;

    fn follow(&mut self, entry: &JournalEntry<'_>) -> Result<(), B::Refusal> {
        self.take(&entry.event, entry)
    }
}

impl<B> AsRef<Self> for Balance<B> {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Subjects {
    /// Reads a folder, with the answers that were made during the run, as far as its journal can be
    /// followed.
    pub fn read(folder: &Folder, terms: &RunTerms) -> Result<Self, String> {
        let subjects = Self::kept(folder, terms)?;
        if subjects.questions.is_none() {
            return Ok(subjects);
        }
        let journal = folder.journal();
        let history = History::open(&journal).map_err(|error| error.to_string())?;
        let books = Books::new(history.problem().map_err(|error| error.to_string())?);
        let balance = Balance::opening(books).with(Some(subjects));
        let mut replay = Replay::new(history, &journal).followed_by(balance);
        match replay.run() {
            Err(JournalError::History { error, .. }) => return Err(error.to_string()),
            Ok(()) | Err(JournalError::Mismatch { .. }) => {}
        }
        Ok(replay.follower.subjects.expect("it was handed over"))
    }
}
