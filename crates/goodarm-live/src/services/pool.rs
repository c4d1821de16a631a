//! Recorded answers to questions, as a generator or a solver.

use goodarm_data::answer::{ExtractName, Extractor};
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_files::Draws;
use goodarm_record::recording::{RecordedAnswer, RecordedAnswers, name_of};
use goodarm_record::reply::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recorded::{DrawSettings, RecordedDraw, RecordedService};
use super::{KindKeys, ServiceContext};
use crate::service::{FinalAnswerRule, Service};

/// Recorded answers to questions.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolKeys {
    /// The folder of a run, such as one with `policy = "fixed"`; or a file with a line for each question: its
    /// `id`, and `solutions` with an `answer` and a `cost` (or `tokens`) each.
    pub pool: Option<String>,
    /// The name of the generator or solver in the run; this one's name if not given.
    pub of: Option<String>,
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
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        if context.makes_answers {
            return self.recorded(context);
        }
        let mut problems = Vec::new();
        let name = self.extract.unwrap_or(ExtractName::Whole);
        let extractor = Extractor::new(name, self.pattern.as_deref(), self.pointer.as_deref());
        let extractor = collect(extractor, &mut problems);
        let pool = self.recorded(context).map_err(|more| problems.extend(more)).ok();
        match (extractor, pool) {
            (Some(extractor), Some(pool)) => {
                let field = self.field.clone().unwrap_or_else(|| "answer".into());
                Ok(pool.answering(FinalAnswerRule { field, extractor, bytes_max: usize::MAX }))
            }
            _ => Err(problems),
        }
    }
}

impl PoolKeys {
    /// The recorded answers to the questions of the context.
    fn recorded(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        let wrong = |reason: String| vec![KeyProblem::new("pool", reason)];
        let Some(path) = &self.pool else {
            let needed = "the path of recorded answers is needed: the folder of a run with policy = \"fixed\", or a file";
            return Err(vec![KeyProblem::missing("pool", needed)]);
        };
        let Some(questions) = context.questions else {
            let message = "a pool answers questions, and the job has none: `questions` or `question_field` is needed";
            return Err(vec![KeyProblem::new("kind", message)]);
        };
        let of = self.of.as_ref().unwrap_or(&context.keys.name);
        let place = context.folder.join(path);
        let RecordedAnswers { mut file, mut by_question } =
            RecordedAnswers::read(&place, of).map_err(wrong)?;
        file.path = name_of(path, &place);
        // In the folder of a run each service has its own answers; a file is one pool for all services.
        let own = if place.is_dir() { format!("{} of {path}", of) } else { path.clone() };
        let (draws, seed) = (self.draws.unwrap_or_default(), context.seed);
        let manner = DrawSettings { draws, seed, is_about_questions: true, own: Some(own) };
        let drawn = |answer: RecordedAnswer| RecordedDraw {
            verdict: answer.text.map(|text| Verdict::answer(text, String::new())),
            cost: answer.cost,
        };
        let of = |id: &str| by_question.remove(id).into_iter().flatten().map(drawn).collect();
        RecordedService::service(of, questions, file, manner)
            .map_err(|missing| wrong(format!("{path}: no answers to {missing}")))
    }
}
