//! Plans about questions: the description as a simulated world.

use goodarm_core::{GeneratorSpec, ScoredBy};
use goodarm_files::Scores;

use super::{PlanError, PlanGenerator, PlanSpec, PlanVerifier};
use crate::noise;
use crate::num::size;
use crate::questions::described::QuestionDescription;
use crate::questions::world::QuestionWorld;
use crate::theory::Test;
use crate::world::ScoreLaw;
use crate::world_error::PAIRS_MAX;

impl PlanSpec {
    /// All generators, of both keys.
    pub(super) fn makers(&self) -> impl Iterator<Item = &PlanGenerator> {
        self.generator.iter().chain(&self.generators)
    }

    /// The share of good answers: the plan's, or that of the first generator that has one, or the default.
    pub fn good_share(&self) -> f64 {
        let of_maker = self.makers().find_map(|maker| maker.good);
        self.good.or(of_maker).unwrap_or(GOOD_SHARE)
    }

    pub(super) fn check_questions(&self) -> Result<(), PlanError> {
        let wrong = |key: &str, reason: &str| Err(PlanError::key(key, reason));
        let alone = "only with `questions`";
        let is_asked = |verifier: &PlanVerifier| {
            verifier.solver || verifier.good_mean.is_some() || verifier.bad_mean.is_some()
        };
        let Some(count) = self.questions else {
            if self.makers().next().is_some() {
                return wrong("generator", alone);
            }
            if self.given > 0 {
                return wrong("given", alone);
            }
            if self.verifiers.iter().any(is_asked) {
                return wrong("verifiers", "solver, good_mean and bad_mean go with `questions`");
            }
            let others = self.good.is_some() || self.difficulty.is_some() || self.spread.is_some();
            return if others { wrong("good, difficulty, spread", alone) } else { Ok(()) };
        };
        let shares = [self.good, self.difficulty, self.spread];
        let means = self.verifiers.iter().flat_map(|it| [it.good_mean, it.bad_mean]);
        let shares = shares.into_iter().chain(self.makers().map(|maker| maker.good)).chain(means);
        if shares.flatten().any(|share| !(0.0..=1.0).contains(&share)) {
            let keys = "good, difficulty, spread, good_mean, bad_mean";
            return wrong(keys, "all of them are between 0 and 1");
        }
        if self.generator.is_some() && !self.generators.is_empty() {
            return wrong("generators", "either [generator] or [[generators]], not both");
        }
        if !self.answers.is_empty() {
            return wrong("answers", "where there are questions, answers are made or `given`");
        }
        if self.verifiers.iter().any(|it| it.proposes && !it.solver) {
            return wrong("verifiers", "only a solver proposes answers");
        }
        let answers = count.saturating_mul(self.given.max(1));
        match answers.saturating_mul(self.verifiers.len()) > PAIRS_MAX {
            true => Err(PlanError::too_many(answers)),
            false => Ok(()),
        }
    }

    /// The described questions; they depend on the seed.
    pub(super) fn world(
        &self,
        count: usize,
        laws: &[ScoreLaw],
        scored_by: &[ScoredBy],
        [seed, repetition]: [u64; 2],
    ) -> QuestionWorld {
        let good = self.good_share();
        let generator = |it: &PlanGenerator| GeneratorSpec {
            name: it.name.clone(),
            price: it.price,
            expected: it.expected,
        };
        let description = QuestionDescription {
            questions: count,
            given: match self.given_each.is_empty() {
                true => vec![self.given; count],
                false => self.given_each.clone(),
            },
            good,
            generators: self.makers().map(|maker| maker.good.unwrap_or(good)).collect(),
            difficulty: self.difficulty.unwrap_or(DIFFICULTY),
            means: self.verifiers.iter().map(PlanVerifier::question_means).collect(),
            spread: self.spread_factor(repetition) * self.spread.unwrap_or(SPREAD),
            laws: laws.to_vec(),
            scored_by: scored_by.to_vec(),
        };
        QuestionWorld::described(
            self.verifiers.iter().map(PlanVerifier::attribute).collect(),
            self.makers().map(generator).collect(),
            self.candidates_max.unwrap_or(CANDIDATES_MAX),
            description,
            seed,
        )
    }

    /// A budget that is much more than enough to answer all questions that can be answered. For each question it
    /// makes all answers that may be made, and pays [`ANSWERS_TRIED`] times the calls that a good answer takes.
    pub(super) fn ample_for_questions(&self) -> f64 {
        let count = size(self.questions.unwrap_or(1));
        let log = -libm::log(self.delta) + libm::log(count);
        let calls = |verifier: &PlanVerifier| {
            let law = noise::law(verifier.scores, verifier.deviation).unwrap_or(ScoreLaw::Binary);
            let test = Test { price: verifier.cost(), threshold: verifier.threshold, law };
            let cost = test.complexity(verifier.question_means()[0]) * log;
            if cost.is_finite() { cost + verifier.price } else { verifier.price }
        };
        let checks: f64 = self.verifiers.iter().map(calls).sum();
        let making: f64 = self.makers().map(|maker| maker.price).sum();
        let most = size(self.candidates_max.unwrap_or(CANDIDATES_MAX));
        (count * (most * making + ANSWERS_TRIED * checks)).min(BUDGET_MAX)
    }
}

impl PlanVerifier {
    /// The mean scores of a good and of a bad answer to a question.
    fn question_means(&self) -> [f64; 2] {
        let [good, bad] = guessed_means(self.scores, self.threshold);
        [self.good_mean.unwrap_or(good), self.bad_mean.unwrap_or(bad)]
    }
}

/// The mean scores of a good and of a bad answer, guessed from the verifier's threshold.
pub fn guessed_means(scores: Scores, threshold: f64) -> [f64; 2] {
    match scores {
        // An answer that fails a check costs almost nothing, so a plan need not count it.
        Scores::Exact => [1.0, 1.0],
        _ => [f64::midpoint(threshold, 1.0), 0.5 * threshold],
    }
}

/// The defaults of `good`, `difficulty`, `spread` and `candidates_max`.
const GOOD_SHARE: f64 = 0.6;
const DIFFICULTY: f64 = 0.4;
const SPREAD: f64 = 0.05;
const CANDIDATES_MAX: usize = 8;
/// The cost of a question before it is given up, as a multiple of the cost of certifying a good answer.
const ANSWERS_TRIED: f64 = 12.0;
const BUDGET_MAX: f64 = 1e14;

#[cfg(test)]
mod tests {
    use goodarm_files::toml_text;

    use super::super::{Plan, plan};
    use super::*;

    fn plan_of(text: &str) -> Plan {
        let spec: PlanSpec = toml_text::parse(text).unwrap();
        plan(&spec).unwrap()
    }

    fn median(plan: &Plan) -> f64 {
        plan.purchase.unwrap().realistic.median
    }

    const JUDGED: &str = "delta = 0.05\nbudget = 3000\nquestions = 20\nrepetitions = 12\n\
        generator = { price = 20, good = 0.6 }\n\
        [[verifiers]]\nname = 'judge'\nprice = 10\nthreshold = 0.5\nscores = 'binary'\n";

    #[test]
    fn more_money_answers_more_questions() {
        let plan = plan_of(JUDGED);
        assert_eq!((plan.questions, plan.answers, plan.cut), (Some(20), 0, None));
        let purchase = plan.purchase.unwrap();
        assert!(purchase.theory.is_none() && purchase.spent <= 3000.0, "{purchase:?}");
        let few = median(&plan_of(&JUDGED.replace("3000", "1000")));
        let all = median(&plan_of(&JUDGED.replace("3000", "100000")));
        assert!(few < median(&plan) && median(&plan) < all, "{few} {purchase:?} {all}");
        // In some of the twenty questions a good answer is too rare to be among eight.
        assert!((14.0..20.0).contains(&all), "{all}");
        let expensive = JUDGED.replace("price = 20", "price = 400");
        assert!(median(&plan_of(&expensive)) < median(&plan));
        let medians: Vec<f64> =
            plan.steps.iter().map_while(|it| Some(it.realistic?.median)).collect();
        assert!(medians.len() > 10 && medians.is_sorted(), "{medians:?}");
    }

    #[test]
    fn given_answers_need_not_be_made() {
        let expensive = JUDGED.replace("price = 20", "price = 150");
        let given = plan_of(&expensive.replace("questions = 20", "questions = 20\ngiven = 1"));
        assert_eq!(given.answers, 20);
        assert!((5..19).contains(&given.good), "{}", given.good);
        let made = plan_of(&expensive);
        assert!(
            given.purchase.unwrap().mean > made.purchase.unwrap().mean + 0.7,
            "{:?} {:?}",
            given.purchase,
            made.purchase
        );
        let alone =
            expensive.replace("generator = { price = 150, good = 0.6 }", "given = 1\ngood = 0.6");
        let alone = plan_of(&alone.replace("3000", "100000"));
        assert!((8.0..16.0).contains(&median(&alone)), "{alone:?}");
    }

    #[test]
    fn a_solver_that_proposes_answers_needs_no_generator() {
        let solver = "delta = 0.05\nbudget = 100000\nquestions = 20\nrepetitions = 12\ngood = 0.35\n\
            [[verifiers]]\nname = 'solver'\nprice = 10\nthreshold = 0.4\nscores = 'binary'\nsolver = true\n";
        let proposed = plan_of(&format!("{solver}proposes = true\n"));
        // Good answers have mean 0.7, so half of the questions have one.
        assert!((6.0..14.0).contains(&median(&proposed)), "{proposed:?}");
        let wrong: PlanSpec = toml_text::parse(solver).unwrap();
        assert!(plan(&wrong).unwrap_err().to_string().contains("nothing that makes one"));
    }

    #[test]
    fn a_better_second_generator_helps() {
        let two = |good: f64| {
            let generators = format!(
                "generators = [{{ name = 'a', price = 20, good = 0.1 }}, {{ name = 'b', price = 21, good = {good} }}]"
            );
            let text = JUDGED.replace("generator = { price = 20, good = 0.6 }", &generators);
            median(&plan_of(&text))
        };
        assert!(two(0.9) > two(0.1) + 1.5, "{} {}", two(0.9), two(0.1));
    }

    #[test]
    fn a_plan_reports_stopped_sessions() {
        let cut = plan_of(&format!("calls_max = 1200\n{JUDGED}"));
        let found = cut.cut.unwrap();
        assert_eq!((found.calls, found.of_steps), (100, 12));
        assert!(found.of_purchase > 6 && median(&cut) < median(&plan_of(JUDGED)), "{cut:?}");
        assert!(cut.purchase.unwrap().spent <= 100.0 * 20.0);
    }

    #[test]
    fn keys_of_questions_are_refused_without_them() {
        for (line, named) in [
            ("generator = { price = 1 }", "generator"),
            ("given = 2", "given"),
            ("good = 0.5", "good"),
            ("questions = 3\nanswers = [{ count = 1, means = [0.5] }]", "answers"),
            ("questions = 3\ngood = 1.5", "good"),
            ("questions = 0\ngiven = 1", "questions: 0"),
            ("questions = 1000000000\ngiven = 1", "1000000000"),
        ] {
            let verifiers =
                "[[verifiers]]\nname = 'a'\nprice = 1\nthreshold = 0.5\nscores = 'binary'\n";
            let spec: PlanSpec =
                toml_text::parse(&format!("delta = 0.1\n{line}\n{verifiers}")).unwrap();
            let error = plan(&spec).unwrap_err().to_string();
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
