//! Calls about questions: a vote scores all answers at once, and an answer that a generator made (a *fresh* answer)
//! or a vote proposed is a new arm.

use alloc::vec::Vec;

use crate::books::questions::VoteState;
use crate::books::streams::StreamPosition;
use crate::books::{Books, Change};
use crate::call::{Source, Target};
use crate::evidence::weights::WeightsId;
use crate::problem::Guarantee;
use crate::problem::design::PROPOSED_ANSWERS_MAX;
use crate::units::{ArmId, AttributeId, GeneratorId, Label, QuestionId};

impl Books {
    /// The answers to a question that still take calls.
    pub fn active_answers(&self, question: QuestionId) -> Vec<ArmId> {
        let answers = self.problem.answers(question).iter().copied();
        answers.filter(|&arm| self.is_active(arm)).collect()
    }

    /// Whether this generator may be asked for one more answer, affordable or not.
    pub fn takes_fresh(&self, question: QuestionId, generator: GeneratorId) -> bool {
        let questions = self.problem.questions();
        questions.is_some_and(|it| self.question(question).takes_fresh(it, generator))
    }

    /// Whether a vote by this attribute can be asked for, affordable or not.
    pub fn takes_votes(&self, question: QuestionId, attribute: AttributeId) -> bool {
        let state = self.question(question);
        let has_use = || {
            let answers = self.problem.answers(question);
            self.problem.votes_propose(attribute) && answers.len() < PROPOSED_ANSWERS_MAX
                || answers.iter().any(|&arm| self.is_active(arm))
        };
        !state.is_answered() && !state.votes(attribute).is_closed && has_use()
    }

    /// Whether this source may be asked about a question, affordable or not.
    pub(super) fn takes_question(&self, question: QuestionId, source: Source) -> bool {
        match source {
            Source::Votes(attribute) => self.takes_votes(question, attribute),
            Source::Generator(generator) => self.takes_fresh(question, generator),
        }
    }

    /// Whether some question could still get another answer.
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

    /// Dispatches a vote at the next position in the streams of all answers.
    pub(super) fn enter_vote(&mut self, question: QuestionId, attribute: AttributeId) -> u64 {
        let answers = self.active_answers(question);
        let votes = self.questions[question.index()].votes_mut(attribute);
        let is_first = votes.history.is_empty();
        if is_first && !matches!(self.problem.guarantee(), Guarantee::Lent | Guarantee::Nothing) {
            let prior = self.learning.prior(attribute);
            votes.weights = self.pairs.freeze_weights(attribute, prior);
        }
        for arm in answers {
            let pair = self.pairs.get_mut(arm, attribute);
            pair.tally.dispatched_count += 1;
            if is_first && votes.weights != WeightsId::UNSET {
                pair.evidence.weights = votes.weights;
            }
            self.arms.touch(arm);
        }
        votes.dispatch()
    }

    /// A vote is back: tallies it for every answer, advances all evidence if possible, and adds the
    /// answer that it proposes.
    pub(super) fn take_vote(
        &mut self,
        (question, attribute): (QuestionId, AttributeId),
        order: u64,
        label: Option<Label>,
    ) -> Option<ArmId> {
        let vote = label.map_or(VoteState::ForNone, VoteState::For);
        self.questions[question.index()].votes_mut(attribute).settle(order, vote);
        let answers = self.active_answers(question);
        for &arm in &answers {
            self.pairs.tally(arm, attribute, vote.score_of(&self.problem, arm));
        }
        // Answers that take no more calls were tried as well.
        let mut tried = self.problem.answers(question).iter();
        let is_known = tried.any(|&arm| vote.score_of(&self.problem, arm) > 0.0);
        self.learning.add_score(attribute, f64::from(u8::from(is_known)));
        self.absorb_votes(question, attribute);
        let born = label
            .filter(|_| self.problem.votes_propose(attribute))
            .filter(|_| self.problem.answers(question).len() < PROPOSED_ANSWERS_MAX)
            .and_then(|label| self.add_answer(question, label, Source::Votes(attribute)));
        // The answer that this vote proposes gets no such change: it did not wait for the vote.
        for arm in answers {
            self.changes.push(Change::Observed(arm, attribute));
        }
        for arm in self.active_answers(question) {
            self.reconsider_after(arm, attribute);
        }
        born
    }

    /// Adds the next votes to the evidence of every answer, up to the first vote that is not back.
    fn absorb_votes(&mut self, question: QuestionId, attribute: AttributeId) {
        let answers = self.active_answers(question);
        for vote in self.questions[question.index()].votes_mut(attribute).take_ready() {
            for &arm in &answers {
                self.absorb(arm, attribute, vote.score_of(&self.problem, arm));
            }
        }
    }

    /// Takes the answer of a generator, and adds it as an arm if it is new.
    pub(super) fn take_fresh(
        &mut self,
        question: QuestionId,
        generator: GeneratorId,
        label: Option<Label>,
    ) -> Option<ArmId> {
        self.questions[question.index()].count_back(generator, false);
        let arm = self.add_answer(question, label?, Source::Generator(generator))?;
        self.questions[question.index()].new_count += 1;
        // Earlier votes may have proved it already.
        self.reconsider(arm);
        Some(arm)
    }

    /// Adds an answer, unless it is known or the question is answered. Every earlier vote scores the new answer as
    /// well. This is valid: where δ is lent, scores before the loan prove nothing; where it is not, the union is
    /// over all answers that votes could name.
    fn add_answer(&mut self, question: QuestionId, label: Label, origin: Source) -> Option<ArmId> {
        let is_known = self.problem.questions()?.find(question, label).is_some();
        if is_known || self.question(question).is_answered() {
            return None;
        }
        let arm = self.problem.add_answer(question, label);
        self.arms.add_answer(origin);
        self.pairs.add_arms(1);
        for attribute in self.problem.attributes() {
            if !self.problem.are_votes(attribute) {
                continue;
            }
            let votes = self.questions[question.index()].votes(attribute);
            let pair = self.pairs.get_mut(arm, attribute);
            pair.evidence.weights = votes.weights;
            pair.evidence.closed = votes.is_closed;
            pair.tally.dispatched_count = votes.history.len() as u64;
            for score in votes.history.iter().filter_map(|vote| vote.score(label)) {
                pair.tally.returned_count += 1;
                pair.tally.sum += score;
            }
            if !votes.history.is_empty() {
                self.arms.touch(arm);
            }
            let absorbed = votes.history[..votes.absorbed_count].iter();
            let scores: Vec<f64> = absorbed.filter_map(|vote| vote.score(label)).collect();
            for score in scores {
                self.absorb(arm, attribute, score);
            }
        }
        self.changes.push(Change::Added(arm));
        Some(arm)
    }

    /// Removes a void vote from its stream; the retry comes last. Calls of generators have no order.
    pub(super) fn forget_on_question(&mut self, target: Target, order: u64) {
        let Target::Question(question, Source::Votes(attribute)) = target else { return };
        self.questions[question.index()].votes_mut(attribute).forget(order);
        self.streams.move_up_after(StreamPosition { target, order });
        for arm in self.active_answers(question) {
            self.pairs.get_mut(arm, attribute).tally.dispatched_count -= 1;
            self.pairs.forget(arm, attribute, order);
        }
        self.absorb_votes(question, attribute);
        for arm in self.active_answers(question) {
            self.reconsider_after(arm, attribute);
        }
    }

    /// Whether a retry of a void call about a question would be useful.
    pub(super) fn may_retry(&self, question: QuestionId, source: Source) -> bool {
        match source {
            Source::Votes(attribute) => self.takes_votes(question, attribute),
            Source::Generator(_) => !self.question(question).is_answered(),
        }
    }

    /// Drops votes to be retried that are not useful any more.
    pub(super) fn drop_useless_retries(&mut self, question: QuestionId) {
        let votes = self.problem.attributes().filter(|&it| self.problem.are_votes(it));
        let useless = votes.map(Source::Votes).filter(|&it| !self.may_retry(question, it));
        let useless: Vec<Target> = useless.map(|it| Target::Question(question, it)).collect();
        self.drop_retries(|target| useless.contains(&target));
    }

    /// Settles a failed call about a question. A failed vote counts as a vote for no answer; a blocking failure
    /// ends the stream of votes. A failed call of a generator adds no arm.
    pub(super) fn fail_on_question(
        &mut self,
        (question, source): (QuestionId, Source),
        order: u64,
        blocks: bool,
    ) {
        match source {
            Source::Votes(attribute) if blocks => {
                self.questions[question.index()].votes_mut(attribute).is_closed = true;
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
                self.questions[question.index()].count_back(generator, blocks);
            }
        }
    }

    /// An answer is certified: the other answers leave, and their shares come back as far as their
    /// evidence allows.
    pub(super) fn close_question_of(&mut self, certified: ArmId) {
        let Some(questions) = self.problem.questions() else { return };
        let question = questions.of(certified);
        self.questions[question.index()].certified = Some(certified);
        for sibling in self.active_answers(question) {
            if self.share(sibling).is_some() {
                self.take_share_back(sibling);
            }
            self.leave(sibling);
        }
        self.drop_retries(|target| matches!(target, Target::Question(of, _) if of == question));
        self.changes.push(Change::Question(question));
    }
}
