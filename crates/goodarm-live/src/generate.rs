//! One fixed answer for each question, from a chat endpoint: the beginning of a job.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::ArmId;
use goodarm_data::bounds;
use goodarm_data::candidates::{Candidates, CandidatesError, lookup};
use goodarm_data::problem::Problem;
use goodarm_record::control::Control;
use goodarm_record::journal::{FolderLock, LockError};
use goodarm_record::reply::{Reply, Verdict};

use crate::engine::{self, Engine, Finish, Returned, Work};
use crate::line_file::mend_last_line;
use crate::services::llm::{LlmKeys, Model};
use crate::throttle::{Limits, Throttle};

/// What to generate, and how.
pub struct Request<'a> {
    /// The questions.
    pub questions: &'a Path,
    /// The field that names a question.
    pub id_field: &'a str,
    /// The endpoint, whose prompt is sent and whose reply is the answer. Nothing is scored, so any
    /// temperature will do.
    pub model: &'a LlmKeys,
    /// Until a request counts as failed.
    pub timeout: Duration,
    /// The field that gets the answer.
    pub answer_field: &'a str,
    /// The answers; what is there already is not made again.
    pub out: &'a Path,
    /// Requests at once.
    pub concurrency: usize,
}

/// Why there are no answers, or not all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The questions.
    #[error(transparent)]
    Questions(#[from] CandidatesError),
    /// The answers that are there already.
    #[error("{}: {error}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// Another process writes answers into the same file.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The endpoint does not answer.
    #[error("the endpoint is down ({0}); the same command goes on where it stopped")]
    Down(String),
    /// The endpoint's keys.
    #[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
    Model(Vec<Problem>),
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// Questions with an answer.
    pub answer_count: usize,
    /// Of so many.
    pub question_count: usize,
    /// Questions whose request failed; the next time they are tried again.
    pub failure_count: usize,
}

/// Makes one answer for each question and appends them to the file.
pub fn generate(
    request: &Request<'_>,
    control: &Control,
    mut progress: impl FnMut(Generated, Option<&str>),
) -> Result<Generated, GenerateError> {
    let file_error = |error| GenerateError::File { path: request.out.to_owned(), error };
    let questions = Candidates::read(request.questions, request.id_field)?;
    let model = Model::new(request.model, request.timeout).map_err(GenerateError::Model)?;
    questions.require_fields(
        &model.fields().into_iter().filter(|field| field != request.answer_field).collect(),
    )?;
    let misfits = model.misfits(&questions);
    if !misfits.is_empty() {
        return Err(GenerateError::Model(misfits));
    }
    let _lock = FolderLock::beside(request.out)?;
    mend_last_line(request.out, is_line).map_err(file_error)?;
    let wanted: VecDeque<ArmId> = missing(request, &questions).map_err(file_error)?;
    let generated = Generated {
        question_count: questions.len(),
        answer_count: questions.len() - wanted.len(),
        failure_count: 0,
    };
    progress(generated, None);
    let file =
        OpenOptions::new().create(true).append(true).open(request.out).map_err(file_error)?;
    let runtime = engine::runtime().map_err(file_error)?;
    let limits =
        Limits { concurrency: request.concurrency, rate: None, retries: None, patience: PATIENCE };
    let throttle = Throttle::new(limits).among(model.address_count()).on_trial();
    let mut engine = Engine::new([throttle].into_iter(), request.concurrency);
    let mut answers = Answers {
        wanted,
        questions: &questions,
        model: &Arc::new(model),
        field: request.answer_field,
        file,
        generated,
        progress: &mut progress,
    };
    let work = engine.make_all(&mut answers, control);
    match engine::block_on(runtime, work).map_err(file_error)? {
        Finish::GivenUp(given_up) => Err(GenerateError::Down(given_up.reason)),
        Finish::Done | Finish::Stopped | Finish::Left => Ok(answers.generated),
    }
}

/// Answers on their way into the file.
struct Answers<'a> {
    /// Questions that were not asked yet.
    wanted: VecDeque<ArmId>,
    questions: &'a Candidates,
    model: &'a Arc<Model>,
    field: &'a str,
    file: File,
    generated: Generated,
    progress: &'a mut dyn FnMut(Generated, Option<&str>),
}

impl Work<ArmId, Result<String, String>> for Answers<'_> {
    fn start(
        &mut self,
        engine: &mut Engine<ArmId, Result<String, String>>,
        room: usize,
    ) -> io::Result<()> {
        for arm in self.wanted.drain(..room.min(self.wanted.len())) {
            let (model, question) = (Arc::clone(self.model), self.questions.get(arm));
            engine.start(arm, 0, async move |throttle| {
                throttle.begin().await;
                match model.ask(&question, &throttle).await {
                    Ok(reply) => {
                        throttle.scored();
                        Ok(reply.text)
                    }
                    Err(Reply { verdict: Verdict::Failed(_, reason), .. }) => {
                        throttle.unscored(&reason);
                        Err(reason)
                    }
                    Err(_) => {
                        throttle.unmade();
                        Err("stopped".into())
                    }
                }
            });
        }
        Ok(())
    }

    fn settle(
        &mut self,
        Returned { tag: arm, reply }: Returned<ArmId, Result<String, String>>,
    ) -> io::Result<()> {
        match reply.unwrap_or_else(|| Err("goodarm failed: please report it".into())) {
            Ok(text) => {
                let json = with_answer(self.questions.json(arm), self.field, &text);
                // In one piece, so that a kill does not tear it.
                self.file.write_all((json + "\n").as_bytes())?;
                self.generated.answer_count += 1;
                (self.progress)(self.generated, None);
            }
            Err(reason) => {
                self.generated.failure_count += 1;
                (self.progress)(self.generated, Some(&reason));
            }
        }
        Ok(())
    }
}

/// Whether a line of the answers is whole.
fn is_line(line: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
}

/// Questions that have no answer yet.
fn missing(request: &Request<'_>, questions: &Candidates) -> io::Result<VecDeque<ArmId>> {
    let mut wanted: Vec<bool> = vec![true; questions.len()];
    if let Ok(file) = File::open(request.out) {
        let memory_max = bounds::memory_max(bounds::length_of(request.out));
        let lines = bounds::json_lines(BufReader::new(file), memory_max);
        for (line, number) in lines.zip(1..) {
            let at = |problem: &dyn std::fmt::Display| {
                io::Error::other(format!("line {number}: {problem}"))
            };
            let line = line.map_err(|error| at(&error))?;
            let fields: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(&line).map_err(|error| at(&error))?;
            let Some(id) = lookup(&fields, request.id_field) else { continue };
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            if let Some(arm) = questions.arm_of(&id) {
                wanted[arm.index()] = false;
            }
        }
    }
    Ok(questions.arms().filter(|arm| wanted[arm.index()]).collect())
}

/// A question's line with one more field, in place of an earlier one of that name.
fn with_answer(json: &str, field: &str, text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    value[field] = text.into();
    value.to_string()
}

/// Someone sits and waits.
const PATIENCE: Duration = Duration::from_secs(30);
