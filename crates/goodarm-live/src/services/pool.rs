//! Recorded answers to questions, in the place of whoever gave them: a generator or a solver that can be
//! tried without either. The k-th answer to a question depends on the seed, the question and k alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use goodarm_core::Cost;
use goodarm_data::answer::{ExtractName, Extractor};
use goodarm_data::bounds;
use goodarm_data::candidates::{Candidates, text_of};
use goodarm_data::problem::{Problem, collect};
use goodarm_files::words::counted;
use goodarm_record::fingerprint::{Fingerprint, Fingerprinted};
use goodarm_record::reply::{Reply, Usage, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::replay::{Draws, draw, recorded_price};
use super::{KindKeys, Setting};
use crate::service::{Answered, FinalAnswers, Local, Manifest, Place, Service};

/// Recorded answers to questions.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolKeys {
    /// A file with a line for each question: its `id`, and `solutions` with an `answer` and a `cost` (or
    /// `tokens`) each. `goodarm record --pools` writes one.
    pub pool: Option<String>,
    /// with-replacement (the default) or in-order.
    pub draws: Option<Draws>,
    /// Where the final answer is in a recorded one; whole if not given.
    pub extract: Option<ExtractName>,
    /// A regular expression for the final answer.
    pub pattern: Option<String>,
    /// A JSON pointer to the final answer.
    pub pointer: Option<String>,
    /// The candidate's field that is compared; answer if not given.
    pub field: Option<String>,
}

impl KindKeys for PoolKeys {
    fn build(&self, setting: &Setting<'_>) -> Result<Service, Vec<Problem>> {
        if setting.makes_answers {
            return self.pool(setting);
        }
        let mut problems = Vec::new();
        let name = self.extract.unwrap_or(ExtractName::Whole);
        let extractor = Extractor::new(name, self.pattern.as_deref(), self.pointer.as_deref());
        let extractor = collect(extractor, &mut problems);
        let pool = self.pool(setting).map_err(|more| problems.extend(more)).ok();
        match (extractor, pool) {
            (Some(extractor), Some(pool)) => {
                let field = self.field.clone().unwrap_or_else(|| "answer".into());
                Ok(pool.answering(FinalAnswers { field, extractor, bytes_max: usize::MAX }))
            }
            _ => Err(problems),
        }
    }
}

impl PoolKeys {
    /// The recorded answers to the questions of the setting.
    fn pool(&self, setting: &Setting<'_>) -> Result<Service, Vec<Problem>> {
        let wrong = |reason: String| vec![Problem::new("pool", reason)];
        let Some(path) = &self.pool else {
            let needed = "the path of a file of recorded answers is needed; `goodarm record --pools` writes one";
            return Err(vec![Problem::missing("pool", needed)]);
        };
        let Some(questions) = setting.questions else {
            let message = "a pool answers questions, and the job has none: `questions` or `question_field` is needed";
            return Err(vec![Problem::new("kind", message)]);
        };
        let (by_question, mut file) = read(&setting.folder.join(path)).map_err(wrong)?;
        file.path.clone_from(path);
        let pool = Pool::new(by_question, questions, self.draws.unwrap_or_default(), setting.seed);
        let pool = pool.map_err(|reason| wrong(format!("{path}: {reason}")))?;
        let pool = Pool { file, ..pool };
        Ok(Service::local(pool.manifest(), pool))
    }
}

/// One line of the file.
#[derive(Deserialize)]
struct Line {
    id: Value,
    solutions: Vec<Solution>,
}

/// One recorded answer.
#[derive(Clone, Debug, Deserialize)]
struct Solution {
    /// All of it; the final answer alone if that is all there is.
    #[serde(default)]
    text: Option<Value>,
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    cost: Option<f64>,
    #[serde(default)]
    tokens: Option<f64>,
}

/// Recorded answers, question by question.
#[derive(Clone, Debug)]
struct Pool {
    solutions: Vec<Recorded>,
    /// Where each question's begin, and where the last one's end.
    starts: Vec<usize>,
    draws: Draws,
    seed: u64,
    ceiling: Cost,
    file: Fingerprint,
}

#[derive(Clone, Debug)]
struct Recorded {
    text: String,
    cost: Cost,
}

impl Pool {
    fn new(
        mut by_question: BTreeMap<String, Vec<Recorded>>,
        questions: &Candidates,
        draws: Draws,
        seed: u64,
    ) -> Result<Self, String> {
        let (mut solutions, mut starts, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for arm in questions.arms() {
            starts.push(solutions.len());
            let recorded = by_question.remove(questions.id(arm)).unwrap_or_default();
            if recorded.is_empty() {
                missing.push(questions.id(arm));
            }
            solutions.extend(recorded);
        }
        starts.push(solutions.len());
        if let Some(first) = missing.first() {
            let count = counted(missing.len(), "question");
            return Err(format!("no answers to {count}, the first is {first:?}"));
        }
        let ceiling = solutions.iter().map(|it: &Recorded| it.cost).max().unwrap_or(Cost::ZERO);
        Ok(Self { solutions, starts, draws, seed, ceiling, file: Fingerprint::default() })
    }

    fn manifest(&self) -> Manifest {
        Manifest {
            price: recorded_price(self.ceiling),
            answers_questions: true,
            mean_over: self.draws.mean_over(),
            used_up: (self.draws == Draws::InOrder).then(|| self.file.path.clone()),
            files: vec![self.file.clone()],
            ..Manifest::default()
        }
    }
}

/// Reads all answers; .gz is unpacked.
fn read(path: &Path) -> Result<(BTreeMap<String, Vec<Recorded>>, Fingerprint), String> {
    let at = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
    let mut file = Fingerprinted::new(File::open(path).map_err(|error| at(&error))?);
    let memory_max = bounds::memory_max(bounds::length_of(path));
    let mut by_question: BTreeMap<String, Vec<Recorded>> = BTreeMap::new();
    for (line, number) in bounds::json_lines(bounds::unpacked(path, &mut file), memory_max).zip(1..)
    {
        let on_line = |problem: &dyn std::fmt::Display| at(&format!("line {number}: {problem}"));
        let line = line.map_err(|error| on_line(&error))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).map_err(|error| on_line(&error))?;
        let pool = by_question.entry(text_of(&line.id).into_owned()).or_default();
        for solution in line.solutions {
            let cost = solution.cost.or(solution.tokens).unwrap_or(0.0);
            let cost = Cost::of_price(cost)
                .map_err(|error| on_line(&format!("a cost of {cost}: {error}")))?;
            let text = solution.text.as_ref().unwrap_or(&solution.answer);
            pool.push(Recorded { text: text_of(text).into_owned(), cost });
        }
    }
    let file = file.finish(&path.display().to_string()).map_err(|error| at(&error))?;
    Ok((by_question, file))
}

impl Local for Pool {
    fn preview(&self) -> String {
        "recorded answers".into()
    }

    fn answer(&self, place: Place<'_>) -> Answered {
        let Place { arm, attribute, order, .. } = place;
        let pool = &self.solutions[self.starts[arm.index()]..self.starts[arm.index() + 1]];
        let size = pool.len() as u64;
        let index = match self.draws {
            Draws::WithReplacement => draw(self.seed, arm, attribute, order) % size,
            Draws::InOrder => order,
        };
        let Some(drawn) = usize::try_from(index).ok().and_then(|index| pool.get(index)) else {
            let used = format!("all {size} recorded answers are used");
            return Answered::Now(Reply::exhausted(used));
        };
        let usage = Usage { cost: Some(drawn.cost), ..Usage::default() };
        let verdict = Verdict::answer(drawn.text.clone(), String::new());
        Answered::Now(Reply { verdict, usage, text: drawn.text.clone() })
    }
}
