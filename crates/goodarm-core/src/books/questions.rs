//! Questions: votes on all their answers at once, answers that are born during a run, and at most one
//! certificate for each.

use alloc::vec;
use alloc::vec::Vec;

use crate::books::streams::Place;
use crate::books::{Arm, Books, Change, DispatchError};
use crate::call::{Source, Target};
use crate::cost::Cost;
use crate::evidence::weights::WeightsId;
use crate::prior::Sample;
use crate::problem::design::{PROPOSED_ANSWERS_MAX, Questions};
use crate::problem::{Guarantee, Problem};
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId, GeneratorId, Label, QuestionId};

/// What has become of a question so far.
#[derive(Clone, Debug)]
pub struct QuestionState {
    certified: Option<ArmId>,
    spent_on_votes: Cost,
    spent_on_answers: Cost,
    /// Fresh answers that each generator was asked for, in flight or back.
    asked_counts: Vec<usize>,
    back_counts: Vec<usize>,
    new_count: usize,
    /// Of each attribute with votes.
    votes: Vec<(AttributeId, Votes)>,
    /// Generators that have nothing more to say.
    exhausted: Vec<GeneratorId>,
}

/// The votes of one kind on a question, in dispatch order.
#[derive(Clone, Debug)]
struct Votes {
    history: Vec<Vote>,
    /// How many of them have entered the evidence of all answers.
    absorbed_count: usize,
    back_count: u64,
    /// The weights of all answers' bets, frozen at the first vote.
    weights: WeightsId,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vote {
    Awaited,
    For(Label),
    ForNone,
}

impl Vote {
    fn score(self, label: Label) -> Option<f64> {
        match self {
            Self::Awaited => None,
            Self::For(voted) if voted == label => Some(1.0),
            Self::For(_) | Self::ForNone => Some(0.0),
        }
    }
}

impl Votes {
    const START: Self = Self {
        history: Vec::new(),
        absorbed_count: 0,
        back_count: 0,
        weights: WeightsId::UNSET,
        is_closed: false,
    };
}

impl QuestionState {
    pub(super) fn start(problem: &Problem, questions: &Questions) -> Self {
        let votes = problem.attributes().filter(|&attribute| problem.are_votes(attribute));
        let generator_count = questions.generators().len();
        Self {
            certified: None,
            spent_on_votes: Cost::ZERO,
            spent_on_answers: Cost::ZERO,
            asked_counts: vec![0; generator_count],
            back_counts: vec![0; generator_count],
            new_count: 0,
            votes: votes.map(|attribute| (attribute, Votes::START)).collect(),
            exhausted: Vec::new(),
        }
    }

    /// The answer that is certified.
    pub const fn certified(&self) -> Option<ArmId> {
        self.certified
    }

    /// Whether one of its answers is certified.
    pub const fn is_answered(&self) -> bool {
        self.certified.is_some()
    }

    /// Votes of one kind that are back, or count as failed.
    pub fn votes_back_count(&self, attribute: AttributeId) -> u64 {
        self.votes(attribute).back_count
    }

    /// Votes of one kind that were asked for; those that are to be asked for again do not count.
    pub fn vote_count(&self, attribute: AttributeId) -> u64 {
        self.votes(attribute).history.len() as u64
    }

    fn votes(&self, attribute: AttributeId) -> &Votes {
        let votes = self.votes.iter().find(|(of, _)| *of == attribute);
        &votes.expect("an attribute with votes").1
    }

    fn votes_mut(&mut self, attribute: AttributeId) -> &mut Votes {
        let votes = self.votes.iter_mut().find(|(of, _)| *of == attribute);
        &mut votes.expect("an attribute with votes").1
    }

    /// What a vote that is back says about an answer.
    pub(super) fn vote(&self, attribute: AttributeId, order: u64, label: Label) -> Option<f64> {
        self.votes(attribute).history.get(at(order))?.score(label)
    }

    pub(super) fn ask_fresh(&mut self, generator: GeneratorId) {
        self.asked_counts[generator.index()] += 1;
    }

    fn note_back(&mut self, generator: GeneratorId) {
        self.back_counts[generator.index()] += 1;
    }

    pub(super) fn bill(&mut self, source: Source, bill: Cost) {
        let spent = match source {
            Source::Votes(_) => &mut self.spent_on_votes,
            Source::Generator(_) => &mut self.spent_on_answers,
        };
        *spent = spent.saturating_add(bill);
    }

    /// What votes on its answers have cost.
    pub const fn spent_on_votes(&self) -> Cost {
        self.spent_on_votes
    }

    /// What its fresh answers have cost.
    pub const fn spent_on_answers(&self) -> Cost {
        self.spent_on_answers
    }

    /// Fresh answers that were asked for; void calls that are made again count once.
    pub fn asked_count(&self) -> usize {
        self.asked_counts.iter().sum()
    }

    /// Those that this generator was asked for.
    pub fn asked_count_of(&self, generator: GeneratorId) -> u64 {
        self.asked_counts[generator.index()] as u64
    }

    /// Those that this generator was asked for and that are back.
    pub fn back_count_of(&self, generator: GeneratorId) -> u64 {
        self.back_counts[generator.index()] as u64
    }

    /// Fresh answers that are back, failed ones among them.
    pub fn back_count(&self) -> usize {
        self.back_counts.iter().sum()
    }

    /// Fresh answers that no earlier one equalled.
    pub const fn new_count(&self) -> usize {
        self.new_count
    }
}

impl Books {
    /// What has become of a question so far.
    pub fn question(&self, question: QuestionId) -> &QuestionState {
        &self.questions[question.index()]
    }

    pub(super) fn question_mut(&mut self, question: QuestionId) -> &mut QuestionState {
        &mut self.questions[question.index()]
    }

    /// Whether a sibling of the arm was certified, so that the arm is not needed any more.
    pub fn is_superseded(&self, arm: ArmId) -> bool {
        let Some(questions) = self.problem.questions() else { return false };
        self.question(questions.of(arm)).certified.is_some_and(|certified| certified != arm)
    }

    /// Whose answer an arm is, if it was made or proposed during the run.
    pub fn origin(&self, arm: ArmId) -> Option<Source> {
        self.arms[arm.index()].origin
    }

    /// Whether a call of this is in flight, or a vote is to be asked for again.
    pub fn is_awaited(&self, target: Target) -> bool {
        match target {
            Target::Arm(arm, attribute) => self.tally(arm, attribute).pending_count() > 0,
            Target::Question(question, Source::Votes(attribute)) => {
                let votes = self.question(question).votes(attribute);
                votes.back_count < votes.history.len() as u64 || self.streams.owes(target)
            }
            Target::Question(question, Source::Generator(generator)) => {
                let state = self.question(question);
                state.asked_count_of(generator) > state.back_count_of(generator)
            }
        }
    }

    /// What the evidence of an answer that does not exist yet would have to reach.
    pub(crate) fn level_of_fresh(&self) -> f64 {
        // The same for all answers, where nothing is lent.
        self.certifier.level(ArmId(0))
    }

    /// The answers to a question that still take pulls.
    pub fn active_answers(&self, question: QuestionId) -> Vec<ArmId> {
        let Some(questions) = self.problem.questions() else { return Vec::new() };
        let answers = questions.answers(question).iter().copied();
        answers.filter(|&arm| self.is_active(arm)).collect()
    }

    /// Whether this generator may be asked for one more answer, affordable or not.
    pub fn takes_fresh(&self, question: QuestionId, generator: GeneratorId) -> bool {
        let Some(questions) = self.problem.questions() else { return false };
        let state = self.question(question);
        generator.index() < questions.generators().len()
            && state.certified.is_none()
            && state.asked_count() < questions.candidates_max()
            && !state.exhausted.contains(&generator)
    }

    /// Whether a vote of this kind can be asked for, affordable or not.
    pub fn takes_votes(&self, question: QuestionId, attribute: AttributeId) -> bool {
        let is_open = !self.question(question).is_answered()
            && !self.question(question).votes(attribute).is_closed;
        let has_use = || {
            let answers = self.problem.questions().map_or(&[][..], |it| it.answers(question));
            self.problem.votes_propose(attribute) && answers.len() < PROPOSED_ANSWERS_MAX
                || answers.iter().any(|&arm| self.is_active(arm))
        };
        is_open && has_use()
    }

    /// Whether some question could still get an answer that it does not have.
    pub(crate) fn may_get_answers(&self) -> bool {
        let Some(questions) = self.problem.questions() else { return false };
        let proposing = || {
            let attributes = self.problem.attributes();
            attributes.filter(|&attribute| self.problem.votes_propose(attribute))
        };
        questions.ids().any(|question| {
            let mut generators = questions.generator_ids();
            generators.any(|generator| self.takes_fresh(question, generator))
                || proposing().any(|attribute| self.takes_votes(question, attribute))
        })
    }

    pub(super) fn check_question_dispatch(
        &self,
        question: QuestionId,
        source: Source,
    ) -> Result<(), DispatchError> {
        let target = Target::Question(question, source);
        let is_known = match source {
            Source::Votes(attribute) => self.is_asked_of_questions(attribute),
            Source::Generator(_) => self.problem.has(target.role()),
        };
        if question.index() >= self.questions.len() || !is_known {
            return Err(DispatchError::NoSuchQuestion(question));
        }
        let (takes, not_affordable) = match source {
            Source::Votes(attribute) => {
                (self.takes_votes(question, attribute), DispatchError::NotAffordable(attribute))
            }
            Source::Generator(generator) => {
                (self.takes_fresh(question, generator), DispatchError::NoFreshAnswer(generator))
            }
        };
        if !takes {
            Err(DispatchError::QuestionClosed(question))
        } else if !self.lane(self.problem.service(target)).is_affordable() {
            Err(not_affordable)
        } else {
            Ok(())
        }
    }

    /// A vote is dispatched, and takes the next place in the streams of all answers.
    pub(super) fn enter_vote(&mut self, question: QuestionId, attribute: AttributeId) -> u64 {
        let is_first = self.question(question).votes(attribute).history.is_empty();
        if is_first && !matches!(self.problem.guarantee(), Guarantee::Lent | Guarantee::Nothing) {
            let weights = self.freeze_weights(attribute);
            self.question_mut(question).votes_mut(attribute).weights = weights;
        }
        let weights = self.question(question).votes(attribute).weights;
        for arm in self.active_answers(question) {
            self.pairs.get_mut(arm, attribute).tally.dispatched_count += 1;
            if is_first && weights != WeightsId::UNSET {
                self.pairs.get_mut(arm, attribute).evidence.weights = weights;
            }
            self.arms[arm.index()].touched = true;
        }
        let history = &mut self.question_mut(question).votes_mut(attribute).history;
        history.push(Vote::Awaited);
        history.len() as u64 - 1
    }

    /// A vote is back: tally it for every answer, let all evidence advance if it can, and take the
    /// answer that it proposes.
    pub(super) fn take_vote(
        &mut self,
        (question, attribute): (QuestionId, AttributeId),
        order: u64,
        label: Option<Label>,
    ) -> Option<ArmId> {
        let vote = label.map_or(Vote::ForNone, Vote::For);
        let votes = self.question_mut(question).votes_mut(attribute);
        votes.history[at(order)] = vote;
        votes.back_count += 1;
        let mut is_known = false;
        for arm in self.active_answers(question) {
            let score = self.vote_for(vote, arm);
            let tally = &mut self.pairs.get_mut(arm, attribute).tally;
            tally.returned_count += 1;
            tally.sum += score;
            is_known |= score > 0.0;
        }
        let score = f64::from(u8::from(is_known));
        self.attributes[attribute.index()].totals.take(score);
        self.absorb_votes(question, attribute);
        // One that is born by this vote did not wait for it.
        let voted_on = self.active_answers(question);
        let born = label.and_then(|label| self.propose((question, attribute), label));
        for arm in voted_on {
            self.changes.push(Change::Observed(arm, attribute));
        }
        for arm in self.active_answers(question) {
            self.reconsider_after(arm, attribute);
        }
        born
    }

    /// Votes without a gap before them become evidence of every answer.
    fn absorb_votes(&mut self, question: QuestionId, attribute: AttributeId) {
        loop {
            let votes = self.question_mut(question).votes_mut(attribute);
            match votes.history.get(votes.absorbed_count) {
                None | Some(Vote::Awaited) => return,
                Some(&vote) => {
                    votes.absorbed_count += 1;
                    for arm in self.active_answers(question) {
                        self.absorb(arm, attribute, self.vote_for(vote, arm));
                    }
                }
            }
        }
    }

    fn vote_for(&self, vote: Vote, arm: ArmId) -> f64 {
        let questions = self.problem.questions().expect("votes are about questions");
        vote.score(questions.label(arm)).expect("the vote is back")
    }

    fn propose(
        &mut self,
        (question, attribute): (QuestionId, AttributeId),
        label: Label,
    ) -> Option<ArmId> {
        let questions = self.problem.questions()?;
        let is_new = questions.find(question, label).is_none();
        let has_room = questions.answers(question).len() < PROPOSED_ANSWERS_MAX;
        let is_open =
            !self.question(question).is_answered() && self.problem.votes_propose(attribute);
        let source = Source::Votes(attribute);
        (is_new && has_room && is_open).then(|| self.bear(question, label, source))
    }

    /// A fresh answer is back.
    pub(super) fn take_fresh(
        &mut self,
        question: QuestionId,
        generator: GeneratorId,
        label: Option<Label>,
    ) -> Option<ArmId> {
        self.question_mut(question).note_back(generator);
        let label = label?;
        let questions = self.problem.questions()?;
        if questions.find(question, label).is_some() || self.question(question).is_answered() {
            return None;
        }
        self.question_mut(question).new_count += 1;
        let arm = self.bear(question, label, Source::Generator(generator));
        // Votes may have proved it before it was there.
        self.reconsider(arm);
        Some(arm)
    }

    /// One answer more. Every vote there was counts for it or against it, as if it had been there: no
    /// score before a loan proves anything, and where nothing is lent the union is over all answers
    /// that votes could name.
    fn bear(&mut self, question: QuestionId, label: Label, origin: Source) -> ArmId {
        let arm = self.problem.add_answer(question, label);
        self.arms.push(Arm { origin: Some(origin), ..Arm::START });
        self.pairs.add_arms(1, &self.attributes, self.problem.guarantee());
        if let Some(lent) = self.certifier.lent_mut() {
            lent.add_arms(1);
        }
        for attribute in self.problem.attributes() {
            if !self.problem.are_votes(attribute) {
                continue;
            }
            let votes = self.question(question).votes(attribute);
            let (history, absorbed_count) = (votes.history.clone(), votes.absorbed_count);
            let (weights, is_closed) = (votes.weights, votes.is_closed);
            let pair = self.pairs.get_mut(arm, attribute);
            pair.evidence.weights = weights;
            pair.evidence.closed = is_closed;
            for score in history.iter().filter_map(|vote| vote.score(label)) {
                pair.tally.returned_count += 1;
                pair.tally.sum += score;
            }
            pair.tally.dispatched_count = history.len() as u64;
            self.arms[arm.index()].touched |= !history.is_empty();
            for &vote in &history[..absorbed_count] {
                self.absorb(arm, attribute, self.vote_for(vote, arm));
            }
        }
        self.changes.push(Change::Born(arm));
        arm
    }

    /// A call about a question that never began leaves no trace; its retry is the last.
    pub(super) fn forget_on_question(&mut self, question: QuestionId, source: Source, order: u64) {
        let Source::Votes(attribute) = source else { return };
        self.question_mut(question).votes_mut(attribute).history.remove(at(order));
        self.streams.move_up_after(Place { target: Target::Question(question, source), order });
        for arm in self.active_answers(question) {
            self.pairs.get_mut(arm, attribute).tally.dispatched_count -= 1;
            self.forget_in_evidence(arm, attribute, order);
        }
        self.absorb_votes(question, attribute);
        for arm in self.active_answers(question) {
            self.reconsider_after(arm, attribute);
        }
    }

    /// Whether it is of any use to make a void call about a question again.
    pub(super) fn may_retry(&self, question: QuestionId, source: Source) -> bool {
        match source {
            Source::Votes(attribute) => self.takes_votes(question, attribute),
            Source::Generator(_) => !self.question(question).is_answered(),
        }
    }

    /// Gives back what was kept for retries that are of no use any more.
    pub(super) fn drop_useless_retries(&mut self, question: QuestionId) {
        let votes = self.problem.attributes().filter(|&it| self.problem.are_votes(it));
        let useless = votes.map(Source::Votes).filter(|&it| !self.may_retry(question, it));
        let useless: Vec<Target> = useless.map(|it| Target::Question(question, it)).collect();
        self.drop_owed(|target| useless.contains(&target));
    }

    /// A vote that failed is for no answer; one that no number can stand for ends its kind. A fresh
    /// answer that failed is none.
    pub(super) fn fail_on_question(
        &mut self,
        (question, source): (QuestionId, Source),
        order: u64,
        blocks: bool,
    ) {
        match source {
            Source::Votes(attribute) if blocks => {
                self.question_mut(question).votes_mut(attribute).is_closed = true;
                for arm in self.active_answers(question) {
                    self.pairs.get_mut(arm, attribute).evidence.closed = true;
                    self.changes.push(Change::Observed(arm, attribute));
                }
                self.drop_useless_retries(question);
            }
            Source::Votes(attribute) => {
                self.take_vote((question, attribute), order, None);
                self.after_observation();
            }
            Source::Generator(generator) => {
                let state = self.question_mut(question);
                state.note_back(generator);
                if blocks {
                    state.exhausted.push(generator);
                }
            }
        }
    }

    /// An answer is certified: its siblings are not needed any more, and what they were lent comes
    /// back as far as their evidence allows.
    pub(super) fn close_question_of(&mut self, certified: ArmId) {
        let Some(questions) = self.problem.questions() else { return };
        let question = questions.of(certified);
        self.question_mut(question).certified = Some(certified);
        for sibling in self.active_answers(question) {
            if self.share(sibling).is_some() {
                self.take_share_back(sibling);
            }
            self.leave(sibling);
        }
        self.drop_owed(|target| matches!(target, Target::Question(of, _) if of == question));
        self.changes.push(Change::Question(question));
    }

    /// What is known of an answer by an attribute, without the vote that proposed it: that one was bound to
    /// be for it.
    pub(crate) fn unproposed(&self, arm: ArmId, attribute: AttributeId) -> Tally {
        let mut tally = *self.tally(arm, attribute);
        if self.origin(arm) == Some(Source::Votes(attribute)) && tally.returned_count > 0 {
            tally.returned_count -= 1;
            tally.sum -= 1.0;
        }
        tally
    }

    /// Of the answers to a question the one with the most votes is to be believed in, so that only these
    /// tell what to expect.
    pub(super) fn refresh_prior_of_votes(&mut self, attribute: AttributeId) {
        let Some(questions) = self.problem.questions() else { return };
        let leader = |question| {
            let answers = questions.answers(question).iter().copied();
            let votes = |&arm: &ArmId| self.tally(arm, attribute).sum;
            let leader = answers.max_by(|a, b| votes(a).total_cmp(&votes(b)))?;
            Some(self.unproposed(leader, attribute))
        };
        let leaders: Vec<Tally> = questions.ids().filter_map(leader).collect();
        let declared = self.problem.attribute(attribute);
        let sample = leaders.iter().map(Sample::of);
        let mut prior = self.prior(attribute).refreshed(declared, sample);
        prior.gap_sd = prior.gap_sd.max(GAP_SD_OF_VOTES_MIN);
        self.attributes[attribute.index()].prior = prior;
    }
}

/// Questions are easy or hard: which one it is must be seen, not believed.
const GAP_SD_OF_VOTES_MIN: f64 = 0.316;

fn at(order: u64) -> usize {
    usize::try_from(order).expect("votes are kept in memory")
}
