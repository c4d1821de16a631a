//! What one call scores, and which arms answer the same question.
//!
//! Without a design every attribute has calls of its own, each about one arm, and every arm is a question of its
//! own.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use thiserror::Error;

use crate::cost::{Cost, CostError};
use crate::problem::{
    ARMS_MAX, ATTRIBUTES_MAX, Amount, Attribute, Guarantee, ProblemSpec, ScoreModel,
    checked_expected,
};
use crate::units::{ArmId, AttributeId, GeneratorId, Label, QuestionId, ServiceId};

/// Votes propose no more answers to a question that has this many. Also the limit of `candidates_max`.
pub const PROPOSED_ANSWERS_MAX: usize = 64;

/// Which calls score which attributes, and which arms answer the same question; unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct Design<M = f64> {
    /// Which calls score each attribute; if empty, each attribute has calls of its own.
    pub scored_by: Vec<ScoredBy>,
    /// Which arms answer the same question.
    pub questions: Option<QuestionsSpec<M>>,
}

impl<M> Default for Design<M> {
    fn default() -> Self {
        Self { scored_by: Vec::new(), questions: None }
    }
}

/// Which calls score an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoredBy {
    /// Calls of its own, each about one arm.
    #[default]
    OwnCalls,
    /// The calls of the earlier attribute with this index: one reply scores both, for the price of the earlier one.
    CallsOf(usize),
    /// Calls of its own, each about a question: the reply is a final answer. It scores every arm of the question, 1
    /// if the arm's final answer is the same and 0 if not.
    Votes {
        /// Whether a reply that no arm agrees with becomes an arm.
        proposes: bool,
    },
}

/// The questions of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionsSpec<M = f64> {
    /// The number of questions.
    pub count: usize,
    /// For each arm, its question and the number of its final answer.
    pub answers: Vec<(QuestionId, Label)>,
    /// The makers of fresh answers; may be empty.
    pub generators: Vec<GeneratorSpec<M>>,
    /// How many fresh answers may be made for a question, duplicates and failures included.
    pub candidates_max: usize,
}

/// A maker of fresh answers.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorSpec<M = f64> {
    /// Its name in reports.
    pub name: String,
    /// The most that one answer may cost.
    pub price: M,
    /// The bill to expect before any is known, more than 0 and at most the price; `None` for the price.
    pub expected: Option<M>,
}

/// What is wrong with a [`Design`].
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DesignError {
    /// There must be one entry for every attribute, or none at all.
    #[error("scored by: {given} entries for {attributes} attributes")]
    ScoredByCount {
        /// How many there are.
        given: usize,
        /// How many there should be.
        attributes: usize,
    },
    /// Calls can be shared only with an earlier attribute that has calls of its own, each about one arm.
    #[error("attribute {attribute}: attribute {with} is not an earlier one with calls of its own")]
    CallsOf {
        /// The attribute without calls.
        attribute: usize,
        /// Whose calls it was to share.
        with: usize,
    },
    /// An exact attribute is asked once, any other again and again.
    #[error("attribute {0}: attributes of one call are all exact, or none of them is")]
    ExactAndNot(usize),
    /// Votes must have binary scores: a reply agrees with an answer or does not.
    #[error("attribute {0}: votes are binary scores")]
    VotesNotBinary(usize),
    /// Votes are about questions.
    #[error("attribute {0}: there are votes, but no questions")]
    VotesWithoutQuestions(usize),
    /// There must be 1 to [`ARMS_MAX`] questions.
    #[error("questions: {0} is not between 1 and {ARMS_MAX}")]
    Questions(usize),
    /// There must be one entry for every arm.
    #[error("questions: {given} answers for {arms} arms")]
    AnswerCount {
        /// How many there are.
        given: usize,
        /// How many there should be.
        arms: usize,
    },
    /// An arm answers an unknown question.
    #[error("arm {arm}: there is no question {question}")]
    NoSuchQuestion {
        /// Which arm.
        arm: usize,
        /// Its question.
        question: QuestionId,
    },
    /// Two arms have the same final answer to a question.
    #[error("arm {arm}: an earlier arm gives the same answer to question {question}")]
    SameAnswer {
        /// The second of the two.
        arm: usize,
        /// Their question.
        question: QuestionId,
    },
    /// Stepping down needs a fixed set of bad arms. But when the good answer to a question is certified, its bad
    /// answers leave with it. See `docs/certificates.md`.
    #[error("questions: the guarantee {0:?} does not hold for answers that share a question")]
    Guarantee(Guarantee),
    /// There can be at most [`ATTRIBUTES_MAX`] generators.
    #[error("generators: {0} is more than {ATTRIBUTES_MAX}")]
    Generators(usize),
    /// A price must be positive and finite.
    #[error("price of generator {generator}: {reason}")]
    GeneratorPrice {
        /// Whose price.
        generator: usize,
        /// Why it is not allowed.
        reason: CostError,
    },
    /// A price must not be zero.
    #[error("price of generator {0}: a price must be more than 0")]
    GeneratorPriceZero(usize),
    /// An expected bill must be more than 0 and at most the price.
    #[error("expected bill of generator {0}: it is not more than 0 and at most the price")]
    GeneratorExpected(usize),
    /// With generators, `candidates_max` must be 1 to [`PROPOSED_ANSWERS_MAX`].
    #[error("candidates max: {0} is not between 1 and {PROPOSED_ANSWERS_MAX}")]
    CandidatesMax(usize),
    /// Without an answer, a vote that proposes one or a generator there is nothing to certify.
    #[error("questions: there is no answer, and nothing that makes one")]
    NothingToCertify,
}

/// Which attributes are scored together, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallLayout {
    /// For each attribute, its lead: the attribute whose calls score it.
    pub(super) leads: Vec<AttributeId>,
    /// For each attribute, the attributes that its calls score, itself first; empty without calls of its own.
    pub(super) members: Vec<Vec<AttributeId>>,
    /// The attributes with calls of their own: the first attribute of each verifier.
    pub(super) verifiers: Vec<AttributeId>,
    /// For each attribute, the verifier that scores it.
    pub(super) services: Vec<ServiceId>,
    scored_by: Vec<ScoredBy>,
}

impl CallLayout {
    pub(super) fn new(
        scored_by: &[ScoredBy],
        attributes: &[Attribute],
        has_questions: bool,
    ) -> Result<Self, DesignError> {
        let own = vec![ScoredBy::OwnCalls; attributes.len()];
        let scored_by = if scored_by.is_empty() { &own } else { scored_by };
        if scored_by.len() != attributes.len() {
            let (given, attributes) = (scored_by.len(), attributes.len());
            return Err(DesignError::ScoredByCount { given, attributes });
        }
        let mut calls = Self {
            leads: (0..attributes.len()).map(AttributeId::at).collect(),
            members: (0..attributes.len()).map(|index| vec![AttributeId::at(index)]).collect(),
            verifiers: Vec::new(),
            services: Vec::new(),
            scored_by: scored_by.to_vec(),
        };
        for (attribute, by) in scored_by.iter().enumerate() {
            match *by {
                ScoredBy::CallsOf(with) => {
                    if with >= attribute || scored_by[with] != ScoredBy::OwnCalls {
                        return Err(DesignError::CallsOf { attribute, with });
                    }
                    if attributes[with].is_exact() != attributes[attribute].is_exact() {
                        return Err(DesignError::ExactAndNot(attribute));
                    }
                    calls.leads[attribute] = AttributeId::at(with);
                    calls.members[with].push(AttributeId::at(attribute));
                    calls.members[attribute].clear();
                }
                ScoredBy::Votes { .. } if !has_questions => {
                    return Err(DesignError::VotesWithoutQuestions(attribute));
                }
                ScoredBy::Votes { .. } if attributes[attribute].scores != ScoreModel::Binary => {
                    return Err(DesignError::VotesNotBinary(attribute));
                }
                ScoredBy::OwnCalls | ScoredBy::Votes { .. } => {}
            }
        }
        for (attribute, &lead) in calls.leads.iter().enumerate() {
            let is_lead = lead.index() == attribute;
            if is_lead {
                calls.verifiers.push(lead);
            }
            let service = if is_lead {
                ServiceId::at(calls.verifiers.len() - 1)
            } else {
                calls.services[lead.index()]
            };
            calls.services.push(service);
        }
        Ok(calls)
    }

    pub(super) fn are_votes(&self, attribute: AttributeId) -> bool {
        matches!(self.scored_by.get(attribute.index()), Some(ScoredBy::Votes { .. }))
    }

    pub(super) fn propose(&self, attribute: AttributeId) -> bool {
        self.scored_by[attribute.index()] == ScoredBy::Votes { proposes: true }
    }
}

/// The checked questions of a problem, with the arms that answer them.
#[derive(Clone, Debug, PartialEq)]
pub struct Questions {
    /// For each arm, its question; `labels` has the number of its final answer.
    answered: Vec<QuestionId>,
    labels: Vec<Label>,
    /// For each question, its arms in the order in which they came.
    answers: Vec<Vec<ArmId>>,
    generators: Vec<GeneratorSpec<Cost>>,
    candidates_max: usize,
    answers_max: usize,
}

impl Questions {
    pub(super) fn new<M: Amount>(
        spec: QuestionsSpec<M>,
        problem: &ProblemSpec<M>,
        proposes: bool,
    ) -> Result<Self, DesignError> {
        let QuestionsSpec { count, answers: given, generators, candidates_max } = spec;
        if !matches!(problem.guarantee, Guarantee::Lent | Guarantee::Union | Guarantee::Nothing) {
            return Err(DesignError::Guarantee(problem.guarantee));
        }
        if count == 0 || count > ARMS_MAX {
            return Err(DesignError::Questions(count));
        }
        if given.len() != problem.arms {
            return Err(DesignError::AnswerCount { given: given.len(), arms: problem.arms });
        }
        if given.is_empty() && generators.is_empty() && !proposes {
            return Err(DesignError::NothingToCertify);
        }
        if generators.len() > ATTRIBUTES_MAX {
            return Err(DesignError::Generators(generators.len()));
        }
        if !generators.is_empty() && !(1..=PROPOSED_ANSWERS_MAX).contains(&candidates_max) {
            return Err(DesignError::CandidatesMax(candidates_max));
        }
        let mut seen = BTreeSet::new();
        let mut answers = vec![Vec::new(); count];
        for (arm, &(question, label)) in given.iter().enumerate() {
            if question.index() >= count {
                return Err(DesignError::NoSuchQuestion { arm, question });
            }
            if !seen.insert((question, label)) {
                return Err(DesignError::SameAnswer { arm, question });
            }
            answers[question.index()].push(ArmId::at(arm));
        }
        let made_max = if generators.is_empty() { 0 } else { candidates_max };
        let given_max = answers.iter().map(Vec::len).max().unwrap_or(0);
        let proposed_max = if proposes { PROPOSED_ANSWERS_MAX } else { 0 };
        let checked = |(index, spec): (usize, GeneratorSpec<M>)| {
            let failed = |reason| DesignError::GeneratorPrice { generator: index, reason };
            match spec.price.to_price().map_err(failed)? {
                Cost::ZERO => Err(DesignError::GeneratorPriceZero(index)),
                price => {
                    let expected = checked_expected(spec.expected.as_ref(), price);
                    let expected = expected.ok_or(DesignError::GeneratorExpected(index))?;
                    Ok(GeneratorSpec { name: spec.name, price, expected })
                }
            }
        };
        Ok(Self {
            answered: given.iter().map(|&(question, _)| question).collect(),
            labels: given.iter().map(|&(_, label)| label).collect(),
            answers,
            generators: generators
                .into_iter()
                .enumerate()
                .map(checked)
                .collect::<Result<_, _>>()?,
            candidates_max: made_max,
            answers_max: given_max + made_max + proposed_max,
        })
    }

    /// The number of questions.
    pub const fn count(&self) -> usize {
        self.answers.len()
    }

    /// Every question, the smallest first.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = QuestionId> + use<> {
        (0..self.answers.len()).map(QuestionId::at)
    }

    /// Which question an arm answers.
    pub fn of(&self, arm: ArmId) -> QuestionId {
        self.answered[arm.index()]
    }

    /// The number of an arm's final answer.
    pub fn label(&self, arm: ArmId) -> Label {
        self.labels[arm.index()]
    }

    /// The arms that answer a question, in the order in which they came.
    pub fn answers(&self, question: QuestionId) -> &[ArmId] {
        &self.answers[question.index()]
    }

    /// The arm with this final answer.
    pub fn find(&self, question: QuestionId, label: Label) -> Option<ArmId> {
        self.answers(question).iter().copied().find(|&arm| self.label(arm) == label)
    }

    /// The makers of fresh answers.
    pub fn generators(&self) -> &[GeneratorSpec<Cost>] {
        &self.generators
    }

    /// Every generator, the smallest first.
    pub fn generator_ids(&self) -> impl ExactSizeIterator<Item = GeneratorId> + use<> {
        (0..self.generators.len()).map(GeneratorId::at)
    }

    /// How many fresh answers may be made for a question.
    pub const fn candidates_max(&self) -> usize {
        self.candidates_max
    }

    /// No question ever has more arms than this.
    pub const fn answers_max(&self) -> usize {
        self.answers_max
    }

    pub(crate) fn add(&mut self, question: QuestionId, label: Label) {
        self.answers[question.index()].push(ArmId::at(self.answered.len()));
        self.answered.push(question);
        self.labels.push(label);
    }
}
