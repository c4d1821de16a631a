//! Recorded answers to questions, replayed as the paper's three verifiers: a parseable final answer,
//! agreement with one fresh solution, and agreement with the majority of five.
//!
//! Draws with replacement from a fixed pool are independent, as the model requires. They certify the mean
//! of the pool, not of the verifier.

use goodarm_core::{ArmId, AttributeId, AttributeSpec, Cost, Label, Outcome, ScoreModel};
pub use goodarm_files::Draws;
use goodarm_files::{PoolAnswer, PoolLine};
use serde::Deserialize;
use serde_json::Value;

use crate::num::{ratio, size};
use crate::random::Random;
use crate::world::{EXHAUSTED, SimulatedReply, Verifiers, attribute};

/// One question with its candidate and the recorded solutions.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerPool {
    /// The candidate's final answer, if it is readable.
    pub candidate: Option<Label>,
    /// The right final answer, if it was recorded; only for use after the run.
    pub gold: Option<Label>,
    /// The final answer of each solution, if it is readable, and the solution's number of tokens.
    solutions: Vec<(Option<Label>, u32)>,
    /// The number of different final answers, including the candidate's.
    answer_count: u32,
}

/// The cost of a call of the second and third verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolBills {
    /// Always the mean over all recorded solutions: the paper's model of known costs.
    Mean,
    /// The tokens of the drawn solutions; the ceiling is that of the most expensive ones.
    Recorded,
}

/// Recorded questions as verifiers.
#[derive(Clone, Debug)]
pub struct Pools {
    pools: Vec<AnswerPool>,
    bills: PoolBills,
    draws: Draws,
    mean_tokens: f64,
}

/// A line of a pools file that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct PoolError {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

/// Reads `count` questions of a pools file after the first `first` lines.
pub fn read(text: &str, first: usize, count: usize) -> Result<Vec<AnswerPool>, PoolError> {
    let lines = text.lines().enumerate().skip(first).take(count);
    let pools: Vec<AnswerPool> = lines
        .map(|(index, line)| {
            AnswerPool::parse(line).map_err(|reason| PoolError { line: index + 1, reason })
        })
        .collect::<Result<_, _>>()?;
    if pools.is_empty() {
        return Err(PoolError { line: first + 1, reason: "the file holds no question".into() });
    }
    Ok(pools)
}

impl AnswerPool {
    fn parse(text: &str) -> Result<Self, String> {
        let line: PoolLine = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let missing = |field: &str| format!("missing field `{field}`");
        text_of(line.id, "id")?;
        let gold = line.gold.ok_or_else(|| missing("gold"))?;
        let (candidate, _) = recorded(line.candidate.ok_or_else(|| missing("candidate"))?)?;
        let solutions: Vec<(String, u32)> =
            line.solutions.into_iter().map(recorded).collect::<Result<_, _>>()?;
        if solutions.is_empty() {
            return Err("solutions: at least one is needed".into());
        }
        let mut answers: Vec<String> = Vec::new();
        let mut label = |answer: String| {
            let known = answers.iter().position(|known| *known == answer);
            let number = known.unwrap_or(answers.len());
            if answer.is_empty() {
                return None;
            }
            if known.is_none() {
                answers.push(answer);
            }
            u32::try_from(number).ok().map(Label)
        };
        let candidate = label(candidate);
        let solutions =
            solutions.into_iter().map(|(answer, tokens)| (label(answer), tokens)).collect();
        let gold = (0_u32..).map(Label).zip(&answers).find(|(_, answer)| **answer == gold);
        let gold = gold.map(|(label, _)| label);
        let answer_count =
            u32::try_from(answers.len()).map_err(|_| "too many different answers")?;
        Ok(Self { candidate, gold, solutions, answer_count })
    }

    /// Whether the candidate is right; only for use after the run.
    pub fn is_right(&self) -> bool {
        self.candidate.is_some() && self.candidate == self.gold
    }

    /// The mean number of tokens of a recorded solution.
    pub fn mean_tokens(&self) -> f64 {
        let tokens: f64 = self.solutions.iter().map(|(_, tokens)| f64::from(*tokens)).sum();
        tokens / size(self.solutions.len())
    }

    /// All different final answers.
    pub fn labels(&self) -> impl Iterator<Item = Label> + use<> {
        (0..self.answer_count).map(Label)
    }

    /// The share of solutions with this final answer; `None` is an unreadable one.
    pub fn share(&self, answer: Option<Label>) -> f64 {
        let count = self.solutions.iter().filter(|(it, _)| *it == answer).count();
        ratio(count, self.solutions.len())
    }

    /// The share of solutions that agree with the candidate.
    pub fn agreement(&self) -> f64 {
        self.candidate.map_or(0.0, |candidate| self.share(Some(candidate)))
    }

    fn agrees(&self, answer: Option<Label>) -> f64 {
        f64::from(u8::from(answer.is_some() && answer == self.candidate))
    }

    /// The probability that the most frequent of five draws is the candidate's answer.
    pub fn majority_agreement(&self) -> f64 {
        // An unreadable answer agrees with nothing.
        let Some(candidate) = self.candidate else { return 0.0 };
        let mut answers = vec![Some(candidate)];
        for (answer, _) in &self.solutions {
            if !answers.contains(answer) {
                answers.push(*answer);
            }
        }
        self.majority(&answers)
    }

    /// For each final answer, the probability that it is the most frequent of five draws.
    pub fn majorities(&self) -> Vec<f64> {
        // Unreadable draws count as one more answer, which is never the wanted one.
        let majority = |asked: Label| {
            let others = self.labels().filter(|it| *it != asked).map(Some);
            let answers: Vec<_> = [Some(asked)].into_iter().chain(others).chain([None]).collect();
            self.majority(&answers)
        };
        self.labels().map(majority).collect()
    }

    /// The probability that the first of these answers is the most frequent of five draws, with ties
    /// decided by the first draw: exact, by enumerating all multisets of five answers.
    fn majority(&self, answers: &[Option<Label>]) -> f64 {
        let shares: Vec<f64> = answers.iter().map(|&answer| self.share(answer)).collect();
        majority(&shares, &mut Vec::new(), VOTES, 1.0)
    }

    pub(crate) fn draw(&self, random: &mut Random) -> Option<Label> {
        self.solutions[random.index(self.solutions.len())].0
    }

    pub(crate) fn majority_of_five(&self, random: &mut Random) -> Option<Label> {
        most_frequent(core::array::from_fn(|_| self.draw(random)))
    }
}

/// The most frequent answer; if there are several, the one that was drawn first.
fn most_frequent(votes: [Option<Label>; VOTES]) -> Option<Label> {
    let support = |answer: Option<Label>| votes.iter().filter(|vote| **vote == answer).count();
    let most = votes.iter().map(|vote| support(*vote)).max().unwrap_or(0);
    votes.into_iter().find(|&answer| support(answer) == most).flatten()
}

/// The probability that the first answer wins: a sum over the numbers of draws of the remaining answers. `drawn` has
/// the numbers of the answers before.
fn majority(shares: &[f64], drawn: &mut Vec<usize>, left: usize, weight: f64) -> f64 {
    let index = drawn.len();
    if index == shares.len() {
        let most = drawn.iter().copied().max().unwrap_or(0);
        let tied = drawn.iter().filter(|&&count| count == most).count();
        let wins = left == 0 && drawn.first() == Some(&most);
        return if wins { weight / size(tied) } else { 0.0 };
    }
    if shares[index] == 0.0 {
        drawn.push(0);
        let sum = majority(shares, drawn, left, weight);
        drawn.pop();
        return sum;
    }
    let mut sum = 0.0;
    let mut term = weight;
    for count in 0..=left {
        drawn.push(count);
        sum += majority(shares, drawn, left - count, term);
        drawn.pop();
        // Multinomial weight, one draw at a time: (left choose count) share^count.
        term *= shares[index] * ratio(left - count, count + 1);
    }
    sum
}

/// The text of a recorded answer, and its number of tokens.
fn recorded(PoolAnswer { answer, tokens, .. }: PoolAnswer) -> Result<(String, u32), String> {
    let tokens = tokens.ok_or("missing field `tokens`")?;
    if tokens.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&tokens) {
        return Err(format!("tokens: {tokens} is not a count"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let tokens = tokens as u32;
    Ok((text_of(answer, "answer")?, tokens))
}

fn text_of(value: Value, field: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Err(format!("missing field `{field}`")),
        other => Err(format!("{field}: {other} is not a text")),
    }
}

impl Pools {
    /// Reads the first `questions` lines of a pools file.
    pub fn parse(
        text: &str,
        questions: usize,
        bills: PoolBills,
        draws: Draws,
    ) -> Result<Self, PoolError> {
        let pools = read(text, 0, questions)?;
        let solutions = || pools.iter().flat_map(|pool| &pool.solutions);
        let tokens: f64 = solutions().map(|(_, tokens)| f64::from(*tokens)).sum();
        let mean_tokens = tokens / size(solutions().count());
        Ok(Self { pools, bills, draws, mean_tokens })
    }

    /// The questions.
    pub fn pools(&self) -> &[AnswerPool] {
        &self.pools
    }

    /// The three verifiers, with their prices.
    pub fn attributes(&self) -> Vec<AttributeSpec> {
        let most =
            self.pools.iter().flat_map(|pool| &pool.solutions).map(|(_, tokens)| *tokens).max();
        let one = match self.bills {
            PoolBills::Mean => self.mean_tokens,
            PoolBills::Recorded => f64::from(most.unwrap_or(1)),
        };
        [("parseable", 1.0), ("one solution", one), ("majority of five", 5.0 * one)]
            .map(|(name, price)| attribute(name, price, ScoreModel::Binary))
            .to_vec()
    }

    /// The means of the three verifiers for each question.
    pub fn means(&self) -> Vec<Vec<f64>> {
        self.pools
            .iter()
            .map(|pool| {
                let parseable = f64::from(u8::from(pool.candidate.is_some()));
                vec![parseable, pool.agreement(), pool.majority_agreement()]
            })
            .collect()
    }

    /// One draw; `None` if all solutions are used.
    fn draw(
        &self,
        pool: &AnswerPool,
        random: &mut Random,
        at: u64,
    ) -> Option<(Option<Label>, u32)> {
        let index = match self.draws {
            Draws::WithReplacement => random.below(pool.solutions.len() as u64),
            Draws::InOrder => at,
        };
        pool.solutions.get(usize::try_from(index).ok()?).copied()
    }

    fn vote(&self, pool: &AnswerPool, random: &mut Random, call: u64) -> Option<(f64, u32)> {
        let mut votes = [(None, 0); VOTES];
        for (vote, at) in votes.iter_mut().zip(call * VOTES as u64..) {
            *vote = self.draw(pool, random, at)?;
        }
        let winner = most_frequent(votes.map(|vote| vote.0));
        Some((pool.agrees(winner), votes.iter().map(|vote| vote.1).sum()))
    }
}

impl Verifiers for Pools {
    fn reply(&self, seed: u64, arm: ArmId, attribute: AttributeId, call: u64) -> SimulatedReply {
        let path = [u64::from(arm.0), u64::from(attribute.0), call];
        let mut random = Random::at(seed, &path);
        let pool = &self.pools[arm.index()];
        let drawn = match attribute.0 {
            0 => Some((f64::from(u8::from(pool.candidate.is_some())), 1, 1.0)),
            1 => self
                .draw(pool, &mut random, call)
                .map(|(answer, tokens)| (pool.agrees(answer), tokens, self.mean_tokens)),
            _ => self
                .vote(pool, &mut random, call)
                .map(|(score, tokens)| (score, tokens, 5.0 * self.mean_tokens)),
        };
        let Some((score, tokens, mean)) = drawn else {
            let outcome = EXHAUSTED;
            return SimulatedReply { outcome, bill: Cost::ZERO, latency_mean: 1.0, clock: random };
        };
        let bill = match self.bills {
            PoolBills::Recorded => Cost::from_units(u64::from(tokens)),
            PoolBills::Mean => Cost::of_price(mean).expect("a mean of token counts"),
        };
        SimulatedReply { outcome: Outcome::Score(score), bill, latency_mean: 1.0, clock: random }
    }
}

const VOTES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(draws: Draws) -> Pools {
        let line = r#"{"id":"q1","question":"?","gold":"7","candidate":{"text":"7","answer":"7","tokens":9},
            "solutions":[{"answer":"7","tokens":10},{"answer":"8","tokens":30},{"answer":"7","tokens":20},{"answer":"","tokens":40}]}"#
            .replace('\n', " ");
        Pools::parse(&line, 10, PoolBills::Recorded, draws).unwrap()
    }

    #[test]
    fn simulated_votes_have_the_exact_majority() {
        let pools = pools(Draws::WithReplacement);
        let exact = pools.pools()[0].majority_agreement();
        let count = 100_000_u32;
        let wins: f64 = (0..u64::from(count))
            .map(|call| match pools.reply(1, ArmId(0), AttributeId(2), call).outcome {
                Outcome::Score(score) => score,
                _ => panic!("a score"),
            })
            .sum();
        assert!((wins / f64::from(count) - exact).abs() < 0.006, "{wins} {exact}");
        assert!((pools.pools()[0].agreement() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn draws_in_order_use_each_solution_once() {
        let pools = pools(Draws::InOrder);
        let reply = |attribute, call| pools.reply(1, ArmId(0), AttributeId(attribute), call);
        let bills: Vec<Cost> = (0..6).map(|call| reply(1, call).bill).collect();
        assert_eq!(bills, [10, 30, 20, 40, 0, 0].map(Cost::from_units));
        assert_eq!(reply(1, 4).outcome, EXHAUSTED);
        assert_eq!(reply(2, 0).outcome, EXHAUSTED, "four solutions are fewer than five votes");
    }

    #[test]
    fn an_unreadable_candidate_agrees_with_nothing() {
        let line = r#"{"id":"q","gold":"7","candidate":{"answer":"","tokens":9},"solutions":[{"answer":"","tokens":1}]}"#;
        let pools = Pools::parse(line, 1, PoolBills::Mean, Draws::InOrder).unwrap();
        assert!(pools.means()[0].iter().all(|&mean| mean == 0.0), "{:?}", pools.means());
    }

    #[test]
    fn the_error_names_a_broken_line() {
        let error = Pools::parse("{}\n", 1, PoolBills::Mean, Draws::InOrder).unwrap_err();
        assert_eq!(error.line, 1);
        assert!(error.reason.contains("id"), "{error}");
    }
}
