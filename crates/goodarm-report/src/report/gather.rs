//! One pass through the journal: books and account, and the data that only a report needs.

use std::fs;

use goodarm_core::{ArmId, AttributeId, Cost, EventError, Outcome, Source, Target};
use goodarm_record::ending::EndingView;
use goodarm_record::folder::Folder;
use goodarm_record::history::{History, JournalEntry, SettledCall};
use goodarm_record::journal::Mark;
use goodarm_record::replay::{Balance, Follower};
use goodarm_record::view::noise::{ScoreSpread, noise};
use goodarm_record::view::{AnswerView, CoverageStep, Overview};
use serde::Deserialize;

use super::by_question::ByQuestion;
use super::calls::{CallEntry, KeptCalls, REPLY_BYTES_MAX};
use super::cut::LengthCounts;
use super::data::{QuestionLink, ReportAnswer, ReportData};
use super::trail::Trail;

/// The balance of a run, and the data that only a report needs.
pub(super) struct Gatherer {
    pub(super) balance: Balance,
    /// The number of candidates after each addition, with their fingerprint.
    pub(super) added: Vec<(usize, [u8; 32])>,
    /// The scores of each pair, arm by arm; `trails` has the same order.
    scores: Vec<ScoreSpread>,
    trails: Vec<Trail>,
    /// The number of calls about each arm.
    call_counts: Vec<u32>,
    by_question: ByQuestion,
    pub(super) reply_lengths: LengthCounts,
    pub(super) calls: KeptCalls,
    started_millis: Option<u64>,
    pub(super) entry_count: u64,
}

/// A pair that a call scores.
struct ScoredPair {
    arm: ArmId,
    attribute: AttributeId,
    /// The index of the pair among those that the call scores.
    place: usize,
    /// Whether the call added a score to it.
    is_new: bool,
}

impl AsRef<Balance> for Gatherer {
    fn as_ref(&self) -> &Balance {
        &self.balance
    }
}

impl Follower for Gatherer {
    type Refusal = EventError;

    fn follow(&mut self, entry: &JournalEntry<'_>) -> Result<(), EventError> {
        let returned_before = entry.call.as_ref().map_or_else(Vec::new, |call| self.returned(call));
        self.balance.follow(entry)?;
        self.entry_count += 1;
        self.started_millis.get_or_insert(entry.unix_millis);
        let problem = self.balance.books.problem();
        if let Some(fingerprint) = entry.candidates {
            self.added.push((problem.arm_count(), fingerprint));
        }
        if problem.arm_count() > self.call_counts.len() {
            self.scores.resize(problem.pair_count(), ScoreSpread::default());
            self.trails.resize(problem.pair_count(), Trail::default());
            self.call_counts.resize(problem.arm_count(), 0);
        }
        let Some(call) = &entry.call else { return Ok(()) };
        if let Some(arm) = call.arm() {
            self.call_counts[arm.index()] += 1;
        }
        self.by_question.take(problem, call);
        self.reply_lengths.take(call.note.reply.len());
        // An answer that this call has made has no earlier scores.
        let before = returned_before.into_iter().chain(std::iter::repeat(0));
        let returned = before.zip(self.returned(call)).enumerate();
        for ((place, (before, now)), (arm, attribute)) in returned.zip(self.scored_by(call)) {
            let scored = ScoredPair { arm, attribute, place, is_new: now > before };
            self.take_score(call, scored);
        }
        self.keep(call.target, entry);
        Ok(())
    }
}

impl Gatherer {
    /// The state before the first entry of the journal.
    pub(super) fn new(balance: Balance, calls: KeptCalls) -> Self {
        let problem = balance.books.problem();
        let pair_count = problem.pair_count();
        Self {
            added: Vec::new(),
            scores: vec![ScoreSpread::default(); pair_count],
            trails: vec![Trail::default(); pair_count],
            call_counts: vec![0; problem.arm_count()],
            by_question: ByQuestion::new(problem),
            reply_lengths: LengthCounts::new(REPLY_BYTES_MAX),
            calls,
            started_millis: None,
            entry_count: 0,
            balance,
        }
    }

    /// Keeps a call for the page.
    fn keep(&mut self, target: Target, entry: &JournalEntry<'_>) {
        let problem = self.balance.books.problem();
        let row = match (target, problem.questions()) {
            (Target::Question(question, _), _) => question.index(),
            (Target::Arm(arm, _), Some(questions)) => questions.of(arm).index(),
            (Target::Arm(arm, _), None) => arm.index(),
        };
        let started_millis = self.started_millis.unwrap_or(entry.unix_millis);
        let criterion_count = problem.attribute_count();
        let call = CallEntry { entry, row, started_millis, criterion_count };
        self.calls.take(call, &self.reply_lengths);
    }

    /// The pairs that a call scores: one for each criterion of its verifier, or one for each answer to its
    /// question.
    fn scored_by(&self, call: &SettledCall<'_>) -> Vec<(ArmId, AttributeId)> {
        let problem = self.balance.books.problem();
        match call.target {
            Target::Arm(arm, lead) => problem.members(lead).iter().map(|&it| (arm, it)).collect(),
            Target::Question(question, Source::Votes(attribute)) => {
                let answers = problem.questions().map_or(&[][..], |it| it.answers(question));
                answers.iter().map(|&arm| (arm, attribute)).collect()
            }
            Target::Question(_, Source::Generator(_)) => Vec::new(),
        }
    }

    /// The number of scores of each pair that the call scores.
    fn returned(&self, call: &SettledCall<'_>) -> Vec<u64> {
        let pairs = self.scored_by(call).into_iter();
        pairs
            .map(|(arm, attribute)| self.balance.books.tally(arm, attribute).returned_count)
            .collect()
    }

    /// Adds the score that a call gives to one of its pairs.
    fn take_score(&mut self, call: &SettledCall<'_>, scored: ScoredPair) {
        let ScoredPair { arm, attribute, place, is_new } = scored;
        let problem = self.balance.books.problem();
        let declared = problem.attribute(attribute);
        let pair = problem.pair_index(arm, attribute);
        let score = match (&call.outcome, problem.questions()) {
            (Outcome::Answer(Some(label)), Some(questions)) => {
                Some(f64::from(u8::from(questions.label(arm) == *label)))
            }
            _ => call.outcome_for(place, declared).ok(),
        };
        if let Some(score) = score {
            self.scores[pair].take(score, declared.threshold);
        }
        if is_new {
            let level = self.balance.books.level(arm, attribute);
            let share = self.balance.books.evidence(arm, attribute) / level;
            let tally = self.balance.books.tally(arm, attribute);
            self.trails[pair].push_until(tally.returned_count, tally.mean(), share);
        }
    }

    /// The data of the report, at the end of the journal. The ids are filled in later.
    pub(super) fn data(&mut self, history: &History, mark: Mark, folder: &Folder) -> ReportData {
        let Balance { books, account, .. } = &self.balance;
        let mut overview = Overview::in_full(&history.terms, books, account);
        overview.goodarm.clone_from(&history.header().version);
        overview.folder = folder.path().display().to_string();
        overview.ending = ending(folder, overview.calls);
        overview.set_span(history.span_millis());
        overview.journal = Some(mark);
        overview.notes.extend(folder.check_journal_age().err().map(|older| older.to_string()));
        let step =
            |(spent, certified): (&Cost, usize)| CoverageStep { spent: spent.units(), certified };
        overview.coverage = Some(self.balance.account.spent_at.iter().zip(1..).map(step).collect());
        let stride = overview.verifiers.len();
        for (index, verifier) in overview.verifiers.iter_mut().enumerate() {
            verifier.noise = noise(self.scores.iter().skip(index).step_by(stride));
        }
        self.by_question.fill_in(&self.balance.books, &mut overview);
        let by_question = self.by_question.sums(&self.balance.books);
        ReportData { overview, by_question, answers: self.answers() }
    }

    fn answers(&mut self) -> Vec<ReportAnswer> {
        let mut trails = std::mem::take(&mut self.trails).into_iter();
        let books = &self.balance.books;
        let answer = |view: AnswerView| ReportAnswer {
            id: String::new(),
            calls: u64::from(self.call_counts[view.arm.index()]),
            spent: view
                .evidence
                .iter()
                .map(|pair| pair.spent)
                .fold(Cost::ZERO, Cost::saturating_add),
            link: QuestionLink::new(books, view.arm),
            trails: trails.by_ref().take(view.evidence.len()).collect(),
            view,
        };
        AnswerView::all(books, &self.balance.account).map(answer).collect()
    }
}

/// How the run ended, from its summary. `None` if the summary has another number of calls: it is from an earlier
/// stop.
fn ending(folder: &Folder, calls: u64) -> Option<EndingView> {
    #[derive(Deserialize)]
    struct Summary {
        ending: EndingView,
        calls: u64,
    }
    let text = fs::read_to_string(folder.summary()).ok()?;
    let summary: Summary = serde_json::from_str(&text).ok()?;
    (summary.calls == calls).then_some(summary.ending)
}
