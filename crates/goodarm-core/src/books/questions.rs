//! The state of a question: votes in dispatch order, fresh answers, and at most one certificate.

use alloc::vec;
use alloc::vec::Vec;

use crate::call::Source;
use crate::cost::Cost;
use crate::evidence::weights::WeightsId;
use crate::problem::Problem;
use crate::problem::design::Questions;
use crate::units::{ArmId, AttributeId, GeneratorId, Label};

/// The state of a question.
#[derive(Clone, Debug)]
pub struct QuestionState {
    /// The certified answer, if there is one.
    pub certified: Option<ArmId>,
    /// The cost of votes on its answers.
    pub spent_on_votes: Cost,
    /// The cost of its fresh answers.
    pub spent_on_answers: Cost,
    fresh: Vec<FreshCounts>,
    /// Fresh answers that differ from all earlier ones.
    pub new_count: usize,
    /// One entry for each attribute with votes.
    votes: Vec<(AttributeId, VoteHistory)>,
}

/// Fresh answers of one generator.
#[derive(Clone, Copy, Debug, Default)]
struct FreshCounts {
    /// In flight or back.
    asked: usize,
    back: usize,
    /// The generator has no more answers.
    is_exhausted: bool,
}

/// The votes of one attribute on a question, in dispatch order.
#[derive(Clone, Debug)]
pub(super) struct VoteHistory {
    pub(super) history: Vec<VoteState>,
    /// How many of them have entered the evidence of all answers.
    pub(super) absorbed_count: usize,
    back_count: u64,
    /// The weights of all answers' bets, frozen at the first vote; unset where δ is lent.
    pub(super) weights: WeightsId,
    pub(super) is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VoteState {
    Awaited,
    For(Label),
    ForNone,
}

impl VoteState {
    /// The score that the vote gives to the final answer with this number; `None` if the vote is not back.
    pub(super) fn score(self, label: Label) -> Option<f64> {
        match self {
            Self::Awaited => None,
            Self::For(voted) if voted == label => Some(1.0),
            Self::For(_) | Self::ForNone => Some(0.0),
        }
    }

    /// The score of an arm by a vote on its question that is back.
    pub(super) fn score_of(self, problem: &Problem, arm: ArmId) -> f64 {
        let questions = problem.questions().expect("votes are about questions");
        self.score(questions.label(arm)).expect("the vote is back")
    }
}

impl VoteHistory {
    const START: Self = Self {
        history: Vec::new(),
        absorbed_count: 0,
        back_count: 0,
        weights: WeightsId::UNSET,
        is_closed: false,
    };

    /// A vote is dispatched; returns its position.
    pub(super) fn dispatch(&mut self) -> u64 {
        self.history.push(VoteState::Awaited);
        self.history.len() as u64 - 1
    }

    /// Records a vote that is back.
    pub(super) fn settle(&mut self, order: u64, vote: VoteState) {
        self.history[at(order)] = vote;
        self.back_count += 1;
    }

    /// Removes a vote whose call was void.
    pub(super) fn forget(&mut self, order: u64) {
        self.history.remove(at(order));
    }

    /// Returns the next votes for the evidence, up to the first that is not back, and counts them as absorbed.
    pub(super) fn take_ready(&mut self) -> Vec<VoteState> {
        let waiting = self.history[self.absorbed_count..].iter().copied();
        let ready: Vec<VoteState> =
            waiting.take_while(|vote| *vote != VoteState::Awaited).collect();
        self.absorbed_count += ready.len();
        ready
    }

    /// The score of an answer by the vote at this position, if that vote is back.
    pub(super) fn score(&self, order: u64, label: Label) -> Option<f64> {
        self.history.get(at(order))?.score(label)
    }
}

fn at(order: u64) -> usize {
    usize::try_from(order).expect("votes are kept in memory")
}

impl QuestionState {
    pub(super) fn start(problem: &Problem, questions: &Questions) -> Self {
        let votes = problem.attributes().filter(|&attribute| problem.are_votes(attribute));
        Self {
            certified: None,
            spent_on_votes: Cost::ZERO,
            spent_on_answers: Cost::ZERO,
            fresh: vec![FreshCounts::default(); questions.generators().len()],
            new_count: 0,
            votes: votes.map(|attribute| (attribute, VoteHistory::START)).collect(),
        }
    }

    /// Whether one of its answers is certified.
    pub const fn is_answered(&self) -> bool {
        self.certified.is_some()
    }

    /// Votes by one attribute that are back, failed ones included.
    pub fn votes_returned_count(&self, attribute: AttributeId) -> u64 {
        self.votes(attribute).back_count
    }

    /// Votes by one attribute that were asked for, without those to be retried.
    pub fn vote_count(&self, attribute: AttributeId) -> u64 {
        self.votes(attribute).history.len() as u64
    }

    pub(super) fn votes(&self, attribute: AttributeId) -> &VoteHistory {
        let votes = self.votes.iter().find(|(of, _)| *of == attribute);
        &votes.expect("an attribute with votes").1
    }

    pub(super) fn votes_mut(&mut self, attribute: AttributeId) -> &mut VoteHistory {
        let votes = self.votes.iter_mut().find(|(of, _)| *of == attribute);
        &mut votes.expect("an attribute with votes").1
    }

    /// Whether this generator may be asked for one more answer.
    pub(super) fn takes_fresh(&self, questions: &Questions, generator: GeneratorId) -> bool {
        !self.is_answered()
            && self.asked_count() < questions.candidates_max()
            && self.fresh.get(generator.index()).is_some_and(|fresh| !fresh.is_exhausted)
    }

    pub(super) fn ask_fresh(&mut self, generator: GeneratorId) {
        self.fresh[generator.index()].asked += 1;
    }

    /// Counts a call of this generator that is back, with an answer or failed.
    pub(super) fn count_back(&mut self, generator: GeneratorId, is_exhausted: bool) {
        let fresh = &mut self.fresh[generator.index()];
        fresh.back += 1;
        fresh.is_exhausted |= is_exhausted;
    }

    pub(super) fn bill(&mut self, source: Source, bill: Cost) {
        let spent = match source {
            Source::Votes(_) => &mut self.spent_on_votes,
            Source::Generator(_) => &mut self.spent_on_answers,
        };
        *spent = spent.saturating_add(bill);
    }

    /// Fresh answers that were asked for; a void call and its retries count once.
    pub fn asked_count(&self) -> usize {
        self.fresh.iter().map(|fresh| fresh.asked).sum()
    }

    /// Fresh answers that this generator was asked for.
    pub fn asked_count_of(&self, generator: GeneratorId) -> u64 {
        self.fresh[generator.index()].asked as u64
    }

    /// Fresh answers of this generator that are back.
    pub fn back_count_of(&self, generator: GeneratorId) -> u64 {
        self.fresh[generator.index()].back as u64
    }

    /// Fresh answers that are back, failed ones included.
    pub fn back_count(&self) -> usize {
        self.fresh.iter().map(|fresh| fresh.back).sum()
    }
}
