//! The folder of a run as a recording: its journal has every call.

use std::collections::BTreeMap;
use std::path::Path;

use goodarm_core::{
    ArmId, AttributeId, BlockingFailure, Books, Failure, GeneratorId, Label, QuestionId, Source,
    Target, Ticket,
};

use super::{RecordedAnswer, RecordedAnswers, RecordedOutcome, Recording, nothing_of};
use crate::fingerprint::Fingerprint;
use crate::folder::Folder;
use crate::history::SettledCall;
use crate::replay::{Balance, Replay};
use crate::subjects::Subjects;

/// Settled calls, in dispatch order.
type Calls<K, V> = BTreeMap<K, BTreeMap<Ticket, V>>;

/// A run's folder, opened as a recording.
struct Kept {
    replay: Replay<()>,
    subjects: Subjects,
    file: Fingerprint,
}

impl Kept {
    fn open(path: &Path) -> Result<Self, String> {
        let folder = Folder::new(path);
        if !folder.journal().exists() {
            return Err(NO_RUN.to_owned());
        }
        let replay = Replay::open(&folder.journal()).map_err(|error| error.to_string())?;
        let subjects = Subjects::read(&folder, &replay.history.terms);
        let subjects = subjects.map_err(|error| error.to_string())?;
        let file = Fingerprint::read(&folder.journal().display().to_string(), &folder.journal())
            .map_err(|error| error.to_string())?;
        Ok(Self { replay, subjects, file })
    }
}

/// The names of a run's verifiers.
pub(super) fn verifiers(path: &Path) -> Result<Vec<String>, String> {
    let Kept { replay, .. } = Kept::open(path)?;
    Ok(replay.history.terms.verifiers.into_iter().map(|it| it.name).collect())
}

/// The outcomes of one verifier, or of one criterion.
pub(super) fn outcomes(path: &Path, verifier: &str) -> Result<Recording, String> {
    let Kept { replay, subjects, file } = Kept::open(path)?;
    let terms = &replay.history.terms;
    let names: Vec<String> = terms.verifiers.iter().map(|it| it.name.clone()).collect();
    let place = names.iter().position(|name| name == verifier);
    let nothing = || nothing_of("verifier", verifier, &names);
    let place = place.ok_or_else(nothing)?;
    let first = terms.verifiers[place].criterion.as_ref().map_or(place, |it| it.first);
    let [place, lead] = [place, first].map(attribute_at);
    let problem = replay.problem().map_err(|error| error.to_string())?;
    let declared = problem.attribute(place).clone();
    let mut replay = replay.followed_by(Balance::opening(Books::new(problem)));
    let mut on_arms: Calls<ArmId, RecordedOutcome> = BTreeMap::new();
    let mut votes: Calls<QuestionId, (Option<Label>, RecordedOutcome)> = BTreeMap::new();
    while let Some(entry) = replay.step().map_err(|error| error.to_string())? {
        let Some(call) = entry.call.filter(counts) else { continue };
        let score = call.outcome_for(place.index() - lead.index(), &declared).ok();
        let outcome = RecordedOutcome { score, cost: call.bill.settled() };
        match call.target {
            Target::Arm(arm, by) if by == lead => {
                on_arms.entry(arm).or_default().insert(call.ticket, outcome);
            }
            Target::Question(question, Source::Votes(by)) if by == place => {
                let vote = (label(&call), outcome);
                votes.entry(question).or_default().insert(call.ticket, vote);
            }
            _ => {}
        }
    }
    let Balance { books, .. } = replay.follower;
    let mut by_candidate = BTreeMap::new();
    for arm in books.problem().arms() {
        let voted = || {
            let questions = books.problem().questions()?;
            let votes = votes.get(&questions.of(arm))?.values();
            let own = questions.label(arm);
            let score = |label: Option<Label>| label.map(|it| f64::from(u8::from(it == own)));
            Some(votes.map(|&(label, it)| RecordedOutcome { score: score(label), ..it }).collect())
        };
        let called = on_arms.remove(&arm).map(|calls| calls.into_values().collect::<Vec<_>>());
        if let Some(outcomes) = called.or_else(voted) {
            by_candidate.insert(subjects.id(arm).to_owned(), outcomes);
        }
    }
    if by_candidate.is_empty() {
        return Err(nothing());
    }
    Ok(Recording { unit: replay.history.terms.unit.name().to_owned(), file, by_candidate })
}

/// The answers of one generator or solver.
pub(super) fn answers(path: &Path, of: &str) -> Result<RecordedAnswers, String> {
    let Kept { mut replay, subjects, file } = Kept::open(path)?;
    let terms = &replay.history.terms;
    let solvers = (0..).zip(&terms.verifiers).filter(|(_, it)| it.solves.is_some());
    let solvers = solvers.map(|(at, it)| (&it.name, Source::Votes(AttributeId(at))));
    let generators = (0..).zip(terms.generators());
    let generators = generators.map(|(at, it)| (&it.name, Source::Generator(GeneratorId(at))));
    let sources: Vec<(String, Source)> =
        solvers.chain(generators).map(|(name, source)| (name.clone(), source)).collect();
    let names: Vec<String> = sources.iter().map(|(name, _)| name.clone()).collect();
    let nothing = || nothing_of("generator or solver", of, &names);
    let (_, wanted) = sources.iter().find(|(name, _)| name == of).ok_or_else(nothing)?;
    let mut calls: Calls<QuestionId, RecordedAnswer> = BTreeMap::new();
    while let Some(entry) = replay.step().map_err(|error| error.to_string())? {
        let Some(call) = entry.call.filter(counts) else { continue };
        if let Target::Question(question, source) = call.target
            && source == *wanted
        {
            let text = label(&call).map(|_| match source {
                // A solver's reply may be stored in part; its final answer is what counts.
                Source::Votes(_) => call.note.answer.to_string(),
                Source::Generator(_) => call.note.reply.to_string(),
            });
            let answer = RecordedAnswer { text, cost: call.bill.settled() };
            calls.entry(question).or_default().insert(call.ticket, answer);
        }
    }
    if calls.is_empty() {
        return Err(nothing());
    }
    let by_question = calls.into_iter().map(|(question, calls)| {
        (subjects.question_id(question).to_owned(), calls.into_values().collect())
    });
    Ok(RecordedAnswers { file, by_question: by_question.collect() })
}

/// Whether a call belongs to the recording, as failures that count do. Void calls do not, as they were made again,
/// nor does the end of another recording, which is not an outcome.
fn counts(call: &SettledCall<'_>) -> bool {
    !matches!(
        call.failure(),
        Some(Failure::Void(_) | Failure::Blocking(BlockingFailure::Exhausted))
    )
}

fn label(call: &SettledCall<'_>) -> Option<Label> {
    match call.outcome {
        goodarm_core::Outcome::Answer(label) => label,
        _ => None,
    }
}

fn attribute_at(place: usize) -> AttributeId {
    AttributeId(u32::try_from(place).expect("there are fewer than 2^32 verifiers"))
}

const NO_RUN: &str =
    "there is no run in this folder, and a recording is the folder of a run, or a file";
