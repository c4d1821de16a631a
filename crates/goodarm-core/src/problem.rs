//! The problem: as written ([`ProblemSpec`]), and checked ([`Problem`]).

pub mod design;

use alloc::string::String;
use alloc::vec::Vec;

use thiserror::Error;

use crate::call::{Role, Source, Target};
use crate::cost::{Cost, CostError};
use crate::problem::design::{CallLayout, Design, DesignError, GeneratorSpec, Questions};
use crate::units::{ArmId, AttributeId, ErrorRate, GeneratorId, Label, QuestionId, ServiceId};

/// More arms than this are refused.
pub const ARMS_MAX: usize = 1 << 28;
/// More attributes than this are refused.
pub const ATTRIBUTES_MAX: usize = 1 << 10;
/// Scores and σ are at most this, so that no sum of 10⁹ scores overflows.
pub const SCORE_ABS_MAX: f64 = 1e9;
/// The smallest σ, and the smallest width of a range, that is accepted.
pub const SIGMA_MIN: f64 = 1e-6;

/// An unchecked problem; money is a number as written, or already a [`Cost`].
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemSpec<M = f64> {
    /// How many candidate answers there are; Q in the paper.
    pub arms: usize,
    /// The attributes; M of them in the paper.
    pub attributes: Vec<AttributeSpec<M>>,
    /// The most that may be spent; B in the paper.
    pub budget: M,
    /// The error probability; δ in the paper.
    pub delta: f64,
    /// What δ bounds, and with which evidence.
    pub guarantee: Guarantee,
}

/// An unchecked attribute: one kind of score, with a threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeSpec<M = f64> {
    /// Its name in reports; unique within a problem.
    pub name: String,
    /// The most that one call may cost; c in the paper, where every call costs just that.
    pub price: M,
    /// The bill to expect before any is known, more than 0 and at most the price; `None` for the price.
    pub expected: Option<M>,
    /// The mean score that an arm must reach; ξ in the paper.
    pub threshold: f64,
    /// What is known about the scores before any is seen.
    pub scores: ScoreModel,
}

/// An amount of money as a [`ProblemSpec`] may state it.
pub trait Amount {
    /// The amount as a price, the most that one call may cost: rounded up.
    fn to_price(&self) -> Result<Cost, CostError>;
    /// The amount as a budget, the most that may be spent: rounded down.
    fn to_budget(&self) -> Result<Cost, CostError>;
}

impl Amount for f64 {
    fn to_price(&self) -> Result<Cost, CostError> {
        Cost::of_price(*self)
    }

    fn to_budget(&self) -> Result<Cost, CostError> {
        Cost::of_budget(*self)
    }
}

impl Amount for Cost {
    fn to_price(&self) -> Result<Cost, CostError> {
        self.checked()
    }

    fn to_budget(&self) -> Result<Cost, CostError> {
        self.checked()
    }
}

/// An expected bill, if one is given; the outer `None` if it is not more than 0 and at most the price.
fn checked_expected<M: Amount>(expected: Option<&M>, price: Cost) -> Option<Option<Cost>> {
    let Some(expected) = expected else { return Some(None) };
    let expected = expected.to_price().ok()?;
    (expected > Cost::ZERO && expected <= price).then_some(Some(expected))
}

/// What is known about an attribute's scores before any is seen. It is declared, never estimated:
/// a σ that is too small makes certificates wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreModel {
    /// Deviations from the mean are σ-sub-Gaussian, as in the paper with σ = 1.
    SubGaussian {
        /// An upper bound on the noise.
        sigma: f64,
        /// The lowest score there can be, which a failed call then counts as. Without it a failed
        /// call blocks its stream, since any number we put in its place might be too high.
        lowest: Option<f64>,
    },
    /// Anything in a range, such as [`ScoreModel::UNIT`].
    Bounded {
        /// The lowest score there can be, which a failed call counts as.
        lowest: f64,
        /// The highest score there can be; a higher one counts as this.
        highest: f64,
    },
    /// 0 or 1.
    Binary,
    /// The score of an answer never changes: one call shows the mean.
    Exact,
}

impl ScoreModel {
    /// Anything in [0, 1].
    pub const UNIT: Self = Self::Bounded { lowest: 0.0, highest: 1.0 };

    /// The lower and upper limit of a threshold.
    const fn range(self) -> (f64, f64) {
        match self {
            Self::Bounded { lowest, highest } => (lowest, highest),
            Self::SubGaussian { .. } | Self::Binary | Self::Exact => (0.0, 1.0),
        }
    }
}

/// What δ bounds, and with which evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guarantee {
    /// P(any certificate is wrong) ≤ δ by the paper's lower certificates; Eq. (track-certificate).
    Paper,
    /// P(any certificate is wrong) ≤ δ: e-processes, each arm at δ/Q.
    Union,
    /// P(any certificate is wrong) ≤ δ: e-processes, each arm at δ/(Q − certified), certified one at a time.
    Holm,
    /// P(any certificate is wrong) ≤ δ: e-processes, shares of δ lent to the arms that are worked on.
    #[default]
    Lent,
    /// E(share of wrong certificates) ≤ δ: closed e-BH on present e-values.
    FalseDiscovery,
    /// Nothing is certified, and no arm leaves early: for recordings.
    Nothing,
}

/// What is wrong with a [`ProblemSpec`].
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There must be 1 to [`ARMS_MAX`] arms.
    #[error("arms: {0} is not between 1 and {ARMS_MAX}")]
    Arms(usize),
    /// There must be 1 to [`ATTRIBUTES_MAX`] attributes.
    #[error("attributes: {0} is not between 1 and {ATTRIBUTES_MAX}")]
    Attributes(usize),
    /// Two attributes have one name.
    #[error("attribute {attribute}: the name {name:?} is taken by an earlier attribute")]
    NameTaken {
        /// The second of the two.
        attribute: usize,
        /// The name.
        name: String,
    },
    /// A price must be positive and finite.
    #[error("price of attribute {attribute}: {reason}")]
    Price {
        /// Whose price.
        attribute: usize,
        /// Why it is not allowed.
        reason: CostError,
    },
    /// A price must not be zero.
    #[error("price of attribute {attribute}: a price must be more than 0")]
    PriceZero {
        /// Whose price.
        attribute: usize,
    },
    /// An expected bill must be more than 0 and at most the price.
    #[error("expected bill of attribute {attribute}: it is not more than 0 and at most the price")]
    Expected {
        /// Whose bill.
        attribute: usize,
    },
    /// A threshold must be strictly between 0 and 1, or within the declared range.
    #[error(
        "threshold of attribute {attribute}: {value} is not strictly between {lowest} and {highest}"
    )]
    Threshold {
        /// Whose threshold.
        attribute: usize,
        /// What was given.
        value: f64,
        /// What it must exceed.
        lowest: f64,
        /// What it must stay below.
        highest: f64,
    },
    /// A range must be at least [`SIGMA_MIN`] wide, between numbers of at most [`SCORE_ABS_MAX`].
    #[error(
        "range of attribute {attribute}: {lowest} to {highest} is not from one number of at most {SCORE_ABS_MAX:e} to a higher one"
    )]
    Range {
        /// Whose range.
        attribute: usize,
        /// The lowest score.
        lowest: f64,
        /// The highest score.
        highest: f64,
    },
    /// σ must lie between [`SIGMA_MIN`] and [`SCORE_ABS_MAX`].
    #[error(
        "sigma of attribute {attribute}: {value} is not between {SIGMA_MIN:e} and {SCORE_ABS_MAX:e}"
    )]
    Sigma {
        /// Whose σ.
        attribute: usize,
        /// What was given.
        value: f64,
    },
    /// The lowest score must lie below the threshold, or a failed call would count in favour.
    #[error(
        "lowest score of attribute {attribute}: {value} is not a number from -{SCORE_ABS_MAX:e} up to, but below, the threshold"
    )]
    Lowest {
        /// Whose lowest score.
        attribute: usize,
        /// What was given.
        value: f64,
    },
    /// δ must be strictly between 0 and 1.
    #[error("delta: {0} is not strictly between 0 and 1")]
    Delta(f64),
    /// The budget must be positive and finite.
    #[error("budget: {0}")]
    Budget(CostError),
    /// The budget must not be zero.
    #[error("budget: a budget must be more than 0")]
    BudgetZero,
    /// The design is wrong.
    #[error("{0}")]
    Design(#[from] DesignError),
}

/// A score that its model does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// NaN, an infinity, or beyond [`SCORE_ABS_MAX`].
    #[error("not a number of at most {SCORE_ABS_MAX:e}")]
    NotANumber,
    /// A binary score is 0 or 1.
    #[error("neither 0 nor 1")]
    NotBinary,
    /// Below the lowest score that the attribute declares, 0 for most.
    #[error("below {0}, the lowest there can be")]
    BelowLowest(f64),
}

const BINARY_SCORES: [f64; 2] = [0.0, 1.0];

/// A checked problem. It changes only when arms are added.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    arm_count: usize,
    attributes: Vec<Attribute>,
    budget: Cost,
    delta: ErrorRate,
    guarantee: Guarantee,
    calls: CallLayout,
    questions: Option<Questions>,
}

/// An attribute of a [`Problem`], checked.
pub type Attribute = AttributeSpec<Cost>;

impl Attribute {
    /// The score that a failed call counts as; `None` if no number is surely low enough.
    pub const fn lowest_score(&self) -> Option<f64> {
        match self.scores {
            ScoreModel::SubGaussian { lowest, .. } => lowest,
            ScoreModel::Bounded { lowest, .. } => Some(lowest),
            ScoreModel::Binary | ScoreModel::Exact => Some(0.0),
        }
    }

    /// How far apart scores can be: 1, if no other range is declared.
    pub(crate) fn width(&self) -> f64 {
        let (lowest, highest) = self.scores.range();
        highest - lowest
    }

    /// The most by which a mean is expected to exceed ξ.
    pub(crate) fn room(&self) -> f64 {
        self.scores.range().1 - self.threshold
    }

    /// Whether the score of an answer never changes, so that one call shows the mean.
    pub fn is_exact(&self) -> bool {
        self.scores == ScoreModel::Exact
    }

    /// Whether a score is below the declared lowest one. An exact verifier declares none.
    pub fn is_below_lowest(&self, score: f64) -> bool {
        !self.is_exact() && self.lowest_score().is_some_and(|lowest| score < lowest)
    }

    /// The score as it will count, or why its model does not allow it.
    pub fn checked_score(&self, score: f64) -> Result<f64, ScoreError> {
        if !(score.is_finite() && libm::fabs(score) <= SCORE_ABS_MAX) {
            return Err(ScoreError::NotANumber);
        }
        match self.scores {
            ScoreModel::Binary if !BINARY_SCORES.contains(&score) => Err(ScoreError::NotBinary),
            ScoreModel::Bounded { lowest, .. }
            | ScoreModel::SubGaussian { lowest: Some(lowest), .. }
                if score < lowest =>
            {
                Err(ScoreError::BelowLowest(lowest))
            }
            // Clipping a score that is too high makes evidence smaller; clipping a low score up would make it
            // larger.
            ScoreModel::Bounded { highest, .. } => Ok(score.min(highest)),
            ScoreModel::SubGaussian { .. } | ScoreModel::Binary | ScoreModel::Exact => Ok(score),
        }
    }

    fn of<M: Amount>(spec: &AttributeSpec<M>, attribute: usize) -> Result<Self, SpecError> {
        let price = spec.price.to_price();
        let price = price.map_err(|reason| SpecError::Price { attribute, reason })?;
        if price == Cost::ZERO {
            return Err(SpecError::PriceZero { attribute });
        }
        let expected = checked_expected(spec.expected.as_ref(), price);
        let expected = expected.ok_or(SpecError::Expected { attribute })?;
        let (lowest, highest) = spec.scores.range();
        let allowed = -SCORE_ABS_MAX..=SCORE_ABS_MAX;
        let is_range = allowed.contains(&lowest) && allowed.contains(&highest);
        if !(is_range && highest - lowest >= SIGMA_MIN) {
            return Err(SpecError::Range { attribute, lowest, highest });
        }
        let threshold = spec.threshold;
        if !(threshold > lowest && threshold < highest) {
            return Err(SpecError::Threshold { attribute, value: threshold, lowest, highest });
        }
        if let ScoreModel::SubGaussian { sigma, lowest } = spec.scores {
            if !(SIGMA_MIN..=SCORE_ABS_MAX).contains(&sigma) {
                return Err(SpecError::Sigma { attribute, value: sigma });
            }
            if let Some(value) = lowest
                && !(-SCORE_ABS_MAX..threshold).contains(&value)
            {
                return Err(SpecError::Lowest { attribute, value });
            }
        }
        Ok(Self { name: spec.name.clone(), price, expected, threshold, scores: spec.scores })
    }
}

impl Problem {
    /// Checks a problem.
    pub fn new<M: Amount>(spec: ProblemSpec<M>) -> Result<Self, SpecError> {
        Self::designed(spec, Design::default())
    }

    /// Checks a problem where calls score several attributes, or arms answer the same question.
    pub fn designed<M: Amount>(spec: ProblemSpec<M>, design: Design<M>) -> Result<Self, SpecError> {
        // The answers to questions may all be made later.
        let arms_min = usize::from(design.questions.is_none());
        if spec.arms < arms_min || spec.arms > ARMS_MAX {
            return Err(SpecError::Arms(spec.arms));
        }
        if spec.attributes.is_empty() || spec.attributes.len() > ATTRIBUTES_MAX {
            return Err(SpecError::Attributes(spec.attributes.len()));
        }
        let mut attributes: Vec<Attribute> = Vec::with_capacity(spec.attributes.len());
        for (index, attribute) in spec.attributes.iter().enumerate() {
            let attribute = Attribute::of(attribute, index)?;
            if attributes.iter().any(|earlier| earlier.name == attribute.name) {
                return Err(SpecError::NameTaken { attribute: index, name: attribute.name });
            }
            attributes.push(attribute);
        }
        let delta = ErrorRate::new(spec.delta).map_err(|error| SpecError::Delta(error.0))?;
        let budget = spec.budget.to_budget().map_err(SpecError::Budget)?;
        if budget == Cost::ZERO {
            return Err(SpecError::BudgetZero);
        }
        let calls = CallLayout::new(&design.scored_by, &attributes, design.questions.is_some())?;
        for index in 0..attributes.len() {
            let lead = calls.leads[index];
            attributes[index].price = attributes[lead.index()].price;
            attributes[index].expected = attributes[lead.index()].expected;
        }
        let proposes = (0..attributes.len()).any(|index| calls.propose(AttributeId::at(index)));
        let questions = design.questions.map(|it| Questions::new(it, &spec, proposes));
        Ok(Self {
            calls,
            questions: questions.transpose()?,
            arm_count: spec.arms,
            attributes,
            budget,
            delta,
            guarantee: spec.guarantee,
        })
    }

    /// The number of arms; Q in the paper.
    pub const fn arm_count(&self) -> usize {
        self.arm_count
    }

    pub(crate) const fn add_arms(&mut self, count: usize) {
        self.arm_count += count;
    }

    pub(crate) fn add_answer(&mut self, question: QuestionId, label: Label) -> ArmId {
        let questions = self.questions.as_mut().expect("an answer has a question");
        questions.add(question, label);
        self.arm_count += 1;
        ArmId::at(self.arm_count - 1)
    }

    /// The questions that arms answer; `None` where each arm is a question of its own.
    pub const fn questions(&self) -> Option<&Questions> {
        self.questions.as_ref()
    }

    /// The arms that answer a question.
    pub(crate) fn answers(&self, question: QuestionId) -> &[ArmId] {
        self.questions.as_ref().map_or(&[], |it| it.answers(question))
    }

    /// The most certificates there can be: one for each question, or for each arm if there are no questions.
    pub const fn certificates_max(&self) -> usize {
        match &self.questions {
            Some(questions) => questions.count(),
            None => self.arm_count,
        }
    }

    /// The *lead* of an attribute: the attribute whose calls score it. Mostly this is the attribute itself.
    pub fn lead(&self, attribute: AttributeId) -> AttributeId {
        self.calls.leads[attribute.index()]
    }

    /// The attributes that a call of this one scores, itself first; empty if calls of another attribute score it.
    pub fn members(&self, lead: AttributeId) -> &[AttributeId] {
        &self.calls.members[lead.index()]
    }

    fn generators(&self) -> &[GeneratorSpec<Cost>] {
        self.questions.as_ref().map_or(&[], |questions| questions.generators())
    }

    /// All services: the verifiers in the order of their first attribute, then the generators.
    pub fn services(&self) -> impl ExactSizeIterator<Item = ServiceId> + use<> {
        (0..self.service_count()).map(ServiceId::at)
    }

    /// How many services there are.
    pub fn service_count(&self) -> usize {
        self.calls.verifiers.len() + self.generators().len()
    }

    /// Which service a call is made to.
    pub fn service(&self, target: Target) -> ServiceId {
        match target.role() {
            Role::Verifier(attribute) => self.service_of(attribute),
            Role::Generator(generator) => self.generator_service(generator),
        }
    }

    /// Whether there is such an attribute or generator.
    pub(crate) fn has(&self, role: Role) -> bool {
        match role {
            Role::Verifier(attribute) => attribute.index() < self.attributes.len(),
            Role::Generator(generator) => generator.index() < self.generators().len(),
        }
    }

    /// The stream of a target that may name an unknown arm or attribute; `None` if it does.
    pub(crate) fn known_stream_of(&self, target: Target) -> Option<Target> {
        let is_known = target.pair().is_none_or(|(arm, attribute)| self.has_pair(arm, attribute));
        is_known.then(|| self.stream_of(target))
    }

    /// Whether an arm is the arm of a stream, or an answer to its question.
    pub(crate) fn is_about(&self, stream: Target, arm: ArmId) -> bool {
        match stream {
            Target::Arm(of, _) => of == arm,
            Target::Question(question, _) => {
                let questions = self.questions.as_ref();
                arm.index() < self.arm_count && questions.is_some_and(|it| it.of(arm) == question)
            }
        }
    }

    pub(crate) fn has_pair(&self, arm: ArmId, attribute: AttributeId) -> bool {
        arm.index() < self.arm_count && attribute.index() < self.attributes.len()
    }

    /// The stream that a call belongs to: calls that score several pairs have one stream.
    pub(crate) fn stream_of(&self, target: Target) -> Target {
        match target {
            Target::Arm(arm, attribute) if self.are_votes(attribute) => {
                let questions = self.questions.as_ref().expect("votes are about questions");
                Target::Question(questions.of(arm), Source::Votes(attribute))
            }
            Target::Arm(arm, attribute) => Target::Arm(arm, self.lead(attribute)),
            Target::Question(..) => target,
        }
    }

    /// The service whose calls score an attribute.
    #[inline]
    pub fn service_of(&self, attribute: AttributeId) -> ServiceId {
        self.calls.services[attribute.index()]
    }

    /// The service of a generator.
    pub fn generator_service(&self, generator: GeneratorId) -> ServiceId {
        ServiceId::at(self.calls.verifiers.len() + generator.index())
    }

    /// What a service does; `None` if there is no such service.
    pub fn role(&self, service: ServiceId) -> Option<Role> {
        let verifiers = &self.calls.verifiers;
        if let Some(lead) = verifiers.get(service.index()) {
            return Some(Role::Verifier(*lead));
        }
        let generator = service.index() - verifiers.len();
        (generator < self.generators().len()).then(|| Role::Generator(GeneratorId::at(generator)))
    }

    /// The most that one call of a service may cost. Panics on an unknown service, as an index out of range
    /// does.
    pub fn price(&self, service: ServiceId) -> Cost {
        match self.role(service).expect("a service of this problem") {
            Role::Verifier(lead) => self.attribute(lead).price,
            Role::Generator(generator) => self.generators()[generator.index()].price,
        }
    }

    /// The bill to expect of a service before any is known. Panics on an unknown service.
    pub fn expected_bill(&self, service: ServiceId) -> Cost {
        let expected = match self.role(service).expect("a service of this problem") {
            Role::Verifier(lead) => self.attribute(lead).expected,
            Role::Generator(generator) => self.generators()[generator.index()].expected,
        };
        expected.unwrap_or_else(|| self.price(service))
    }

    /// The number that seeds recorded draws of a service: the index of its first attribute, or the number
    /// of attributes plus the index of a generator. Draws of a generator are never those of a verifier.
    pub fn stream_number(&self, service: ServiceId) -> u32 {
        match self.role(service).expect("a service of this problem") {
            Role::Verifier(lead) => lead.0,
            Role::Generator(generator) => AttributeId::at(self.attributes.len()).0 + generator.0,
        }
    }

    /// Whether there is such an attribute and its calls are votes on the answers of a question.
    pub fn are_votes(&self, attribute: AttributeId) -> bool {
        self.calls.are_votes(attribute)
    }

    /// Whether the calls of any attribute are votes.
    pub(crate) fn has_votes(&self) -> bool {
        self.attributes().any(|attribute| self.are_votes(attribute))
    }

    /// Whether the votes of this attribute also propose answers.
    pub fn votes_propose(&self, attribute: AttributeId) -> bool {
        self.calls.propose(attribute)
    }

    /// The number of attributes; M in the paper.
    pub const fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    /// The number of pairs; D = QM in the paper.
    pub const fn pair_count(&self) -> usize {
        self.arm_count * self.attributes.len()
    }

    /// Every arm, the smallest first.
    pub fn arms(&self) -> impl ExactSizeIterator<Item = ArmId> + use<> {
        (0..self.arm_count).map(ArmId::at)
    }

    /// Every attribute, the smallest first.
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = AttributeId> + use<> {
        (0..self.attributes.len()).map(AttributeId::at)
    }

    /// The attributes whose mean takes more than one call.
    pub(crate) fn inexact(&self) -> Vec<AttributeId> {
        self.attributes().filter(|&attribute| !self.attribute(attribute).is_exact()).collect()
    }

    /// One attribute.
    pub fn attribute(&self, attribute: AttributeId) -> &Attribute {
        &self.attributes[attribute.index()]
    }

    /// The budget when the problem was stated; B in the paper. The ledger has the present one.
    pub const fn budget(&self) -> Cost {
        self.budget
    }

    /// The error probability; δ in the paper.
    pub const fn delta(&self) -> ErrorRate {
        self.delta
    }

    /// What δ bounds.
    pub const fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// The index of a pair in arrays with one entry for each pair, arm by arm. Panics on an unknown arm or
    /// attribute, as an index out of range does.
    #[inline]
    pub fn pair_index(&self, arm: ArmId, attribute: AttributeId) -> usize {
        assert!(attribute.index() < self.attributes.len(), "there is no attribute {attribute}");
        assert!(arm.index() < self.arm_count, "there is no arm {arm}");
        arm.index() * self.attributes.len() + attribute.index()
    }
}
