//! Questions from a plan's description: verifiers at their prices and thresholds, and the quality of
//! answers.

use std::collections::BTreeSet;

use goodarm_core::{AttributeId, GeneratorId, Label, QuestionId, ScoredBy, Source};

use crate::random::Random;
use crate::world::ScoreLaw;

/// The description of questions and answers.
#[derive(Clone, Debug)]
pub struct QuestionDescription {
    /// The number of questions.
    pub questions: usize,
    /// The number of answers that each question has from the start; 0 for questions beyond the list.
    pub given: Vec<usize>,
    /// The share of good answers among the given ones.
    pub good: f64,
    /// The share of good answers of each generator.
    pub generators: Vec<f64>,
    /// How much questions differ: the correlation of two answers to the same question.
    pub difficulty: f64,
    /// For each verifier, the mean scores of a good and of a bad answer.
    pub means: Vec<[f64; 2]>,
    /// The standard deviation of means between answers.
    pub spread: f64,
    /// The law of each verifier's scores.
    pub laws: Vec<ScoreLaw>,
    /// Which calls give the scores of each verifier.
    pub scored_by: Vec<ScoredBy>,
}

/// Questions drawn from a description.
///
/// If there are solvers, whose replies vote on all answers to a question, answers are final answers: one is good and
/// frequent, and the wrong ones share the rest. Otherwise all answers are different.
#[derive(Clone, Debug)]
pub(super) struct Described {
    spec: QuestionDescription,
    seed: u64,
    asked: Vec<DrawnQuestion>,
    has_votes: bool,
}

/// One question.
#[derive(Clone, Debug)]
struct DrawnQuestion {
    /// The probability that a given answer is good, then that of an answer of each generator.
    shares: Vec<f64>,
    /// Whether any final answer is good.
    has_good: bool,
    /// The number of wrong final answers.
    wrong_count: u32,
}

impl Described {
    pub(super) fn new(spec: QuestionDescription, seed: u64) -> Self {
        let votes = spec.scored_by.iter().zip(&spec.means);
        let votes: Vec<_> = votes.filter(|(by, _)| matches!(by, ScoredBy::Votes { .. })).collect();
        let proposes = |by: &ScoredBy| matches!(by, ScoredBy::Votes { proposes: true });
        let proposed = votes.iter().find(|(by, _)| proposes(by)).map(|(_, means)| means[0]);
        // A solver that votes for the good answer most of the time also proposes it most of the time: if
        // fewer answers are good on average, some questions have no good answer.
        let reach = proposed.map_or(1.0, |mean| (spec.good / mean.max(SHARE_MIN)).min(1.0));
        let least = |place: usize| votes.iter().map(|(_, it)| it[place]).fold(1.0, f64::min);
        let (right, wrong) = (least(0), least(1));
        let ask = |question: u64| {
            let mut random = Random::at(seed, &[QUESTION, question]);
            let has_good = random.uniform() < reach;
            // One draw for all generators: a question that is hard for one is hard for the others.
            let share = |good: &f64| match has_good {
                true => theta((good / reach).min(1.0), spec.difficulty, &random),
                false => 0.0,
            };
            let shares = [spec.good].iter().chain(&spec.generators).map(share).collect();
            let rest = 1.0 - if has_good { right } else { wrong };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few")]
            let wrong_count = (rest / wrong.max(SHARE_MIN)).ceil().clamp(1.0, WRONG_MAX) as u32;
            DrawnQuestion { shares, has_good, wrong_count }
        };
        let has_votes = !votes.is_empty();
        let asked = (0..spec.questions as u64).map(ask).collect();
        Self { spec, seed, asked, has_votes }
    }

    /// The given answers, without repeated final answers.
    pub(super) fn given(&self) -> Vec<(QuestionId, Label)> {
        let mut given = BTreeSet::new();
        for (question, &count) in (0_u32..).map(QuestionId).zip(&self.spec.given) {
            let label =
                |number: u32| (question, self.made(self.seed, question, 0, u64::from(number)));
            given.extend((0_u32..).take(count).map(label));
        }
        given.into_iter().collect()
    }

    /// The `call`-th answer of a source to a question.
    pub(super) fn answer(
        &self,
        seed: u64,
        question: QuestionId,
        source: Source,
        call: u64,
    ) -> Label {
        match source {
            Source::Generator(GeneratorId(generator)) => {
                self.made(seed, question, generator as usize + 1, call)
            }
            Source::Votes(attribute) => {
                let path = [VOTE, u64::from(question.0), u64::from(attribute.0), call];
                let mut random = Random::at(seed, &path);
                let right = self.mean((question, Label(0)), attribute);
                match random.uniform() < right {
                    true => Label(0),
                    false => self.wrong(question, &mut random),
                }
            }
        }
    }

    /// An answer to a question. Source 0 is the given answers, source i the i-th generator.
    fn made(&self, seed: u64, question: QuestionId, source: usize, call: u64) -> Label {
        let asked = &self.asked[question.index()];
        if self.has_votes {
            let path = [MADE, u64::from(question.0), source as u64, call];
            let mut random = Random::at(seed, &path);
            return match random.uniform() < asked.shares[source] {
                true => Label(0),
                false => self.wrong(question, &mut random),
            };
        }
        // All answers are different: their number decides whether they are good.
        let number = call.saturating_mul(asked.shares.len() as u64).saturating_add(source as u64);
        Label(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn wrong(&self, question: QuestionId, random: &mut Random) -> Label {
        let count = u64::from(self.asked[question.index()].wrong_count);
        Label(u32::try_from(1 + random.below(count)).unwrap_or(1))
    }

    fn is_good(&self, question: QuestionId, label: Label) -> bool {
        let asked = &self.asked[question.index()];
        if self.has_votes {
            return asked.has_good && label == Label(0);
        }
        let share = asked.shares[label.0 as usize % asked.shares.len()];
        let path = [MADE, u64::from(question.0), u64::from(label.0)];
        Random::at(self.seed, &path).uniform() < share
    }

    /// The true mean of an answer by an attribute.
    pub(super) fn mean(
        &self,
        (question, label): (QuestionId, Label),
        attribute: AttributeId,
    ) -> f64 {
        let index = attribute.index();
        let [good, bad] = self.spec.means[index];
        let is_good = self.is_good(question, label);
        if self.law(attribute) == ScoreLaw::Exact {
            return if is_good { good } else { bad };
        }
        let drawn = |mean: f64, label: u64| {
            let path = [MEAN, u64::from(question.0), label, u64::from(attribute.0)];
            let luck = Random::at(self.seed, &path).normal();
            (mean + self.spec.spread * luck).clamp(0.0, 1.0)
        };
        match self.spec.scored_by.get(index) {
            // The final answers share the votes.
            Some(ScoredBy::Votes { .. }) => {
                let asked = &self.asked[question.index()];
                let right = drawn(if asked.has_good { good } else { bad }, 0);
                match label {
                    Label(0) => right,
                    _ => (1.0 - right) / f64::from(asked.wrong_count),
                }
            }
            _ => drawn(if is_good { good } else { bad }, u64::from(label.0)),
        }
    }

    /// The law of an attribute's scores.
    pub(super) fn law(&self, attribute: AttributeId) -> ScoreLaw {
        self.spec.laws[attribute.index()]
    }

    /// The probability that a fresh answer of a source is good.
    pub(super) fn theta(&self, question: QuestionId, source: Source) -> f64 {
        let asked = &self.asked[question.index()];
        match source {
            Source::Generator(generator) => {
                asked.shares.get(generator.index() + 1).copied().unwrap_or(0.0)
            }
            Source::Votes(_) if !asked.has_good => 0.0,
            Source::Votes(attribute) => self.mean((question, Label(0)), attribute),
        }
    }

    /// Whether answers of a generator may be good; without generators, whether given answers may be.
    pub(super) fn is_answerable(&self, question: QuestionId) -> bool {
        let shares = &self.asked[question.index()].shares;
        let first = usize::from(!self.spec.generators.is_empty());
        shares[first..].iter().any(|share| *share > 0.0)
    }
}

/// The probability that an answer to a question is good: Beta with this mean, and such that two answers to
/// the same question have this correlation.
fn theta(good: f64, difficulty: f64, random: &Random) -> f64 {
    let mut random = random.clone();
    if good <= 0.0 || good >= 1.0 || difficulty <= 0.0 {
        return good.clamp(0.0, 1.0);
    }
    if difficulty >= 1.0 {
        return f64::from(u8::from(random.uniform() < good));
    }
    let concentration = (1.0 - difficulty) / difficulty;
    let theta = random.beta(concentration * good, concentration * (1.0 - good));
    // The ratio of two tiny numbers may be undefined.
    if theta.is_finite() { theta } else { good }
}

/// Prefixes of the paths of random streams, different from each other and from those of scores.
const QUESTION: u64 = 1 << 33;
const MADE: u64 = 2 << 33;
const MEAN: u64 = 3 << 33;
const VOTE: u64 = 4 << 33;
/// The most wrong final answers of a question.
const WRONG_MAX: f64 = 32.0;
const SHARE_MIN: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;

    fn described(votes: Option<bool>) -> Described {
        let by = votes.map_or(ScoredBy::OwnCalls, |proposes| ScoredBy::Votes { proposes });
        let spec = QuestionDescription {
            questions: 4000,
            given: vec![2; 4000],
            good: 0.45,
            generators: vec![0.45, 0.9],
            difficulty: 0.3,
            means: vec![[0.75, 0.2]],
            spread: 0.0,
            laws: vec![ScoreLaw::Binary],
            scored_by: vec![by],
        };
        Described::new(spec, 5)
    }

    fn questions() -> impl Iterator<Item = QuestionId> {
        (0..4000).map(QuestionId)
    }

    fn share(count: usize) -> f64 {
        f64::from(u32::try_from(count).unwrap()) / 4000.0
    }

    /// A standard error is below 0.01.
    #[test]
    fn the_share_of_good_answers_is_as_described() {
        for votes in [None, Some(false), Some(true)] {
            let world = described(votes);
            for (generator, good) in [(0, 0.45), (1, 0.9)] {
                let source = Source::Generator(GeneratorId(generator));
                let is_good =
                    |it: &QuestionId, call| world.is_good(*it, world.answer(9, *it, source, call));
                let first = questions().filter(|it| is_good(it, 0)).count();
                let good = if votes == Some(true) { f64::min(good, 0.6) } else { good };
                assert!((share(first) - good).abs() < 0.04, "{votes:?} {generator}: {first}");
                let both = questions().filter(|it| is_good(it, 0) && is_good(it, 1)).count();
                // Answers to the same question are correlated: P(both) = θ̄² + ρ θ̄ (1 − θ̄).
                let alike = good * good + 0.3 * good * (1.0 - good);
                assert!(
                    votes == Some(true) || (share(both) - alike).abs() < 0.04,
                    "{both} {alike}"
                );
            }
        }
        let votes = described(Some(true));
        let source = Source::Votes(AttributeId(0));
        let good =
            questions().filter(|&it| votes.is_good(it, votes.answer(9, it, source, 0))).count();
        assert!((share(good) - 0.45).abs() < 0.04, "{good}");
    }

    #[test]
    fn final_answers_share_the_votes_as_described() {
        for proposes in [false, true] {
            let world = described(Some(proposes));
            for question in questions().take(100) {
                let labels = 0..=world.asked[question.index()].wrong_count;
                let mean = |label| world.mean((question, Label(label)), AttributeId(0));
                let sum: f64 = labels.clone().map(mean).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{sum}");
                assert!(labels.skip(1).all(|label| mean(label) <= 0.2 + 1e-9));
            }
        }
    }

    #[test]
    fn repeated_final_answers_are_given_once() {
        assert_eq!(described(None).given().len(), 8000);
        let merged = described(Some(false)).given();
        assert!((4000..7000).contains(&merged.len()), "{}", merged.len());
    }
}
