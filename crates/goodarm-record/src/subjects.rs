//! The subjects of a run's calls: its questions, and its answers, including those made during the run.

use std::collections::BTreeSet;
use std::sync::Arc;

use goodarm_core::{ArmId, Label, Outcome, Problem, QuestionId, Settlement, Target, Ticket};
use goodarm_data::candidates::Candidates;

use crate::folder::Folder;
use crate::history::SettledCall;
use crate::questions::{FinalAnswers, RunQuestions};
use crate::terms::RunTerms;

/// The candidates of a run and their questions. Answers made during the run are in its journal: a replay adds them.
#[derive(Debug)]
pub struct Subjects {
    /// The answers, in the order of their numbers.
    pub candidates: Arc<Candidates>,
    /// Their questions; `None` if the job has none.
    pub questions: Option<Arc<RunQuestions>>,
    /// The first call for which the journal has a wrong number of the final answer.
    pub mislabelled: Option<Ticket>,
    finals: FinalAnswers,
    /// Questions with candidates whose final answers are unknown: numbers of final answers are not checked there.
    unknown: BTreeSet<u32>,
    /// Whether these are the candidates that the run began with: otherwise new answers would get wrong arms.
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

    /// Reads a folder, without the answers made during the run.
    pub fn kept(folder: &Folder, terms: &RunTerms) -> Result<Self, String> {
        let path = folder.candidates();
        let read = || {
            let read = Candidates::read_from_run(&path, &terms.id_field);
            read.map_err(|error| error.to_string())
        };
        let Some(asked) = &terms.questions else {
            return Ok(Self::new(Arc::new(read()?), None, FinalAnswers::default()));
        };
        let candidates = if asked.answers.is_empty() { Candidates::empty(&path) } else { read()? };
        let questions = RunQuestions::kept(folder, terms, asked)?;
        // The folder does not have the final answers of given candidates; only a resumed run can compute the
        // numbers of these final answers again.
        let unknown = asked.answers.iter().map(|(question, _)| *question).collect();
        let finals = FinalAnswers::new(asked.count);
        let is_own = candidates.len() == terms.candidate_count;
        let subjects = Self::new(Arc::new(candidates), Some(Arc::new(questions)), finals);
        Ok(Self { unknown, is_own, ..subjects })
    }

    /// Adds the new answer of a call, if there is one, and checks the number of its final answer.
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

    /// The number of a final answer to a question; a new number for a new final answer.
    pub fn label(&mut self, question: QuestionId, answer: &str) -> Label {
        self.finals.label(question, answer)
    }

    /// The subject of a call: the list of answers or of questions, and the place in it.
    pub fn place(&self, target: Target) -> (&Candidates, ArmId) {
        match (target, &self.questions) {
            (Target::Question(question, _), Some(questions)) => {
                (&questions.list, ArmId(question.0))
            }
            (Target::Question(question, _), None) => (&self.candidates, ArmId(question.0)),
            (Target::Arm(arm, _), _) => (&self.candidates, arm),
        }
    }

    /// The id of a candidate; empty if it is unknown.
    pub fn id(&self, arm: ArmId) -> &str {
        if arm.index() < self.candidates.len() { self.candidates.id(arm) } else { "" }
    }

    /// The id of a question; empty if it is unknown.
    pub fn question_id(&self, question: QuestionId) -> &str {
        match &self.questions {
            Some(questions) if question.index() < questions.list.len() => questions.id(question),
            _ => "",
        }
    }
}
