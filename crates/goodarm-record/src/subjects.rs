//! All answers of a run: those that it began with, and those that were made during it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use goodarm_core::{ArmId, Label, Outcome, Problem, QuestionId, Settlement, Target, Ticket};
use goodarm_data::candidates::Candidates;

use crate::folder::Folder;
use crate::history::SettledCall;
use crate::questions::{FinalAnswers, RunQuestions};
use crate::terms::RunTerms;

/// The candidates of a run, and the questions that they answer. Answers that were made during the run are
/// in its journal: a replay takes them in.
#[derive(Debug)]
pub struct Subjects {
    /// The answers, in the order of their numbers.
    pub candidates: Arc<Candidates>,
    /// What they answer; `None` if each stands for itself.
    pub questions: Option<Arc<RunQuestions>>,
    /// The first call whose answer has another number in the journal than its text asks for.
    pub mislabelled: Option<Ticket>,
    finals: FinalAnswers,
    /// Questions with candidates whose final answers are not known: nothing is mislabelled there.
    unknown: BTreeSet<u32>,
    /// Whether they are the run's: another file has other answers in the places of those that were made.
    is_own: bool,
}

impl Subjects {
    /// Candidates with their final answers, as a job has them.
    pub const fn new(
        candidates: Arc<Candidates>,
        questions: Option<Arc<RunQuestions>>,
        finals: FinalAnswers,
    ) -> Self {
        let unknown = BTreeSet::new();
        Self { candidates, questions, mislabelled: None, finals, unknown, is_own: true }
    }

    /// What a folder keeps; `kept` is the file of candidates, its own if none is named. Answers that were
    /// made during the run are not among them yet.
    pub fn kept(folder: &Folder, terms: &RunTerms, kept: Option<&Path>) -> Result<Self, String> {
        let own = folder.candidates();
        let path = kept.unwrap_or(&own);
        let id_field = terms.id_field.clone();
        let read = || {
            let read = match kept {
                // The file that the job names, or a copy of the one that the folder has lost.
                Some(path) => Candidates::read_as(path, &id_field, terms.format())
                    .or_else(|error| Candidates::read_kept(path, &id_field).map_err(|_| error)),
                None => Candidates::read_kept(path, &id_field),
            };
            read.map_err(|error| error.to_string())
        };
        let Some(asked) = &terms.questions else {
            return Ok(Self::new(Arc::new(read()?), None, FinalAnswers::default()));
        };
        let candidates = if asked.answers.is_empty() { Candidates::none(path) } else { read()? };
        let questions = RunQuestions::kept(folder, terms, asked)?;
        // How final answers were found in candidates that were given is not in the folder: where there are
        // any, a resumed run computes the numbers again, and not this.
        let unknown = asked.answers.iter().map(|(question, _)| *question).collect();
        let finals = FinalAnswers::new(asked.count);
        let is_own = candidates.len() == terms.candidate_count;
        let subjects = Self::new(Arc::new(candidates), Some(Arc::new(questions)), finals);
        Ok(Self { unknown, is_own, ..subjects })
    }

    /// Takes in what a call has brought: the answer that was born by it, and the number of its final answer.
    pub fn take(&mut self, problem: &Problem, settled: Settlement, call: &SettledCall<'_>) {
        let Some(questions) = self.questions.as_ref().filter(|_| self.is_own) else { return };
        if let Some(born) = settled.born {
            questions.take(Arc::make_mut(&mut self.candidates), problem, born, call);
        }
        if let (Target::Question(question, _), Outcome::Answer(label)) =
            (call.target, &call.outcome)
            && Some(self.finals.label(question, &call.note.answer)) != *label
            && !self.unknown.contains(&question.0)
        {
            self.mislabelled.get_or_insert(call.ticket);
        }
    }

    /// The number of a final answer to a question: a new one if it was not given before.
    pub fn label(&mut self, question: QuestionId, answer: &str) -> Label {
        self.finals.label(question, answer)
    }

    /// What a call is about: the list that has it, the answers or the questions, and its place there.
    pub fn place(&self, target: Target) -> (&Candidates, ArmId) {
        match (target, &self.questions) {
            (Target::Question(question, _), Some(questions)) => {
                (&questions.list, ArmId(question.0))
            }
            (Target::Question(question, _), None) => (&self.candidates, ArmId(question.0)),
            (Target::Arm(arm, _), _) => (&self.candidates, arm),
        }
    }

    /// What a candidate is called; empty for one that is not there.
    pub fn id(&self, arm: ArmId) -> &str {
        if arm.index() < self.candidates.len() { self.candidates.id(arm) } else { "" }
    }

    /// What a question is called; empty for one that is not there.
    pub fn question_id(&self, question: QuestionId) -> &str {
        match &self.questions {
            Some(questions) if question.index() < questions.list.len() => questions.id(question),
            _ => "",
        }
    }
}
