//! The questions of a job, its generators, and the inputs that its services get.

use std::path::Path;

use goodarm_core::problem::design::PROPOSED_ANSWERS_MAX;
use goodarm_core::{QuestionId, ServiceId};
use goodarm_data::candidates::{Candidate, Candidates, CandidatesError, KEY};
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::GuaranteeName;
use goodarm_record::questions::{
    self, FinalAnswers, MadeAnswer, RunQuestions, SortedCandidates, hex,
};
use goodarm_record::terms::{GeneratorTerms, QuestionTerms};

use super::{Job, JobSettings, QuestionSpec, ServiceSpec};
use crate::pricing::Extent;
use crate::service::{Service, Usage};

impl QuestionSpec {
    /// A sample of what verifiers get during a run: the given candidates, and a placeholder answer for each question.
    pub(super) fn sample(&self, given: &Candidates, id_field: &str) -> Candidates {
        let (list, id_field) = (self.list.clone(), id_field.to_owned());
        let (question_field, answer_field) =
            (self.question_field.clone(), self.answer_field.clone());
        RunQuestions { list, question_field, answer_field, id_field }.sample(given, PLACEHOLDER)
    }

    /// The problem of a job that has no answers and no service that makes them; `None` for other jobs.
    pub(super) fn nothing_to_certify(
        &self,
        candidates: &Candidates,
        verifiers: &[ServiceSpec],
    ) -> Option<KeyProblem> {
        let makes = !self.generators.is_empty() || verifiers.iter().any(|it| it.proposes);
        (candidates.is_empty() && !makes).then(|| {
            let message = "there are no answers and no generator: add a [generator], or candidates = \"answers.jsonl\"";
            KeyProblem::missing("generator", message)
        })
    }

    /// Sets `candidates_max` for a recording, in which each generator makes `calls_per_pair` answers to a question.
    pub(super) fn with_recording_defaults(self, settings: &JobSettings) -> Self {
        let calls = settings.calls_per_pair.filter(|_| !self.generators.is_empty());
        let Some(calls) = calls else { return self };
        let candidates_max = usize::try_from(calls).unwrap_or(usize::MAX);
        Self { candidates_max: candidates_max.saturating_mul(self.generators.len()), ..self }
    }

    pub(super) fn problems(&self, settings: &JobSettings) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        let is_sound = matches!(settings.guarantee, GuaranteeName::Lent | GuaranteeName::Union)
            || settings.is_recording();
        if !is_sound {
            let message = format!(
                "{:?}{} cannot be used when several answers belong to one question: its error bound is not valid there (the page \"certificates\" of the book has the proofs). Use \"lent\" or \"union\".",
                settings.guarantee.to_string(),
                match settings.policy.as_str() {
                    RCB => String::new(),
                    policy => format!(", the default with policy = {policy:?},"),
                }
            );
            problems.push(KeyProblem::new("guarantee", message));
        }
        let fields = [
            ("id_field", settings.id_field.as_str()),
            ("question_field", self.question_field.as_str()),
            ("answer_field", self.answer_field.as_str()),
        ];
        for (place, (key, field)) in fields.iter().enumerate() {
            let taken = fields[..place].iter().find(|(_, other)| other == field);
            let message = match taken {
                Some((other, _)) => {
                    format!("{field:?} is {other} already: each needs a field of its own")
                }
                None if field.is_empty() => "a name is needed".to_owned(),
                None if *field == KEY => format!("{KEY:?} is where a run writes its findings"),
                None => continue,
            };
            problems.push(KeyProblem::new(*key, message));
        }
        if !self.generators.is_empty() && settings.policy != RCB && !settings.is_recording() {
            let message = format!(
                "{:?} never asks for an answer that is not there yet: with a generator, {RCB:?} is needed, or \"fixed\" for a recording",
                settings.policy
            );
            problems.push(KeyProblem::new("policy", message));
        }
        if settings.is_recording() && self.candidates_max > PROPOSED_ANSWERS_MAX {
            let message = format!(
                "{} answers would be made for each question, and {PROPOSED_ANSWERS_MAX} are the most",
                self.candidates_max
            );
            problems.push(KeyProblem::new("calls_per_pair", message));
        }
        problems
    }
}

impl Job {
    /// The first input of a service: an answer or a question. If there is no answer yet, this is a made-up answer to
    /// the first question.
    pub fn first_subject(&self, service: ServiceId) -> Option<Candidate> {
        let subjects = self.subjects_of(service);
        if let Some(first) = subjects.arms().next() {
            return Some(subjects.get(first));
        }
        let questions = self.questions.as_ref()?;
        let first = questions.list.arms().next()?;
        let mut made_up = Candidates::empty(Path::new("answers"));
        questions.add(
            &mut made_up,
            QuestionId(first.0),
            1,
            MadeAnswer { text: MADE_UP, final_answer: MADE_UP },
        );
        made_up.arms().next().map(|arm| made_up.get(arm))
    }
}

/// The inputs of a job's services: candidates and questions.
pub(super) struct JobSubjects {
    pub(super) candidates: Candidates,
    pub(super) questions: Option<RunQuestions>,
    pub(super) finals: FinalAnswers,
    pub(super) generators: Vec<ServiceSpec>,
    answers: Vec<(u32, u32)>,
    candidates_max: usize,
    answer_bytes_max: usize,
    /// The candidates, and a placeholder answer for each question; `None` if no answers will be made.
    sample: Option<Candidates>,
}

impl JobSubjects {
    /// Candidates that do not answer questions.
    fn without_questions(candidates: Candidates) -> Self {
        Self {
            candidates,
            questions: None,
            finals: FinalAnswers::default(),
            generators: Vec::new(),
            answers: Vec::new(),
            candidates_max: 0,
            answer_bytes_max: 0,
            sample: None,
        }
    }

    pub(super) fn new(
        spec: Option<QuestionSpec>,
        candidates: Candidates,
        verifiers: &[ServiceSpec],
        id_field: &str,
        name: &Path,
    ) -> Result<Self, CandidatesError> {
        let Some(spec) = spec else { return Ok(Self::without_questions(candidates)) };
        let QuestionSpec { list, question_field, answer_field, generators, .. } = spec;
        let id_field = id_field.to_owned();
        let questions = RunQuestions { list, question_field, answer_field, id_field };
        let candidates = questions::joined(
            &candidates,
            &questions.list,
            &questions.question_field,
            &questions.id_field,
        );
        let mut solvers = generators.iter().chain(verifiers);
        let finals = solvers.find_map(|solver| solver.service.manifest.final_answers.as_ref());
        let extractor = finals.map(|finals| finals.extractor.clone());
        let SortedCandidates { candidates, answers, finals } =
            questions::sort(&questions, candidates, extractor.as_ref(), name)?;
        let makes = !generators.is_empty() || verifiers.iter().any(|verifier| verifier.proposes);
        Ok(Self {
            sample: makes.then(|| questions.sample(&candidates, PLACEHOLDER)),
            candidates,
            questions: Some(questions),
            finals,
            generators,
            answers: answers.into_iter().map(|(question, label)| (question.0, label.0)).collect(),
            candidates_max: spec.candidates_max,
            answer_bytes_max: spec.answer_bytes_max,
        })
    }

    /// The inputs of a service: questions, or candidates with placeholders for answers that will be made.
    pub(super) fn shown_to(&self, service: &Service) -> &Candidates {
        self.shown(service.manifest.answers_questions)
    }

    /// The inputs of the services that answer questions, or of those that do not.
    pub(super) fn shown(&self, answers_questions: bool) -> &Candidates {
        match &self.questions {
            Some(questions) if answers_questions => &questions.list,
            _ => self.sample.as_ref().unwrap_or(&self.candidates),
        }
    }

    /// The most that a call of this service can use, for any input and for the longest answer that may be made.
    pub(super) fn extent(&self, service: &Service) -> Extent {
        let most = service.extent(self.shown_to(service));
        let Some(questions) = self.questions.as_ref().filter(|_| self.sample.is_some()) else {
            return most;
        };
        if service.manifest.answers_questions {
            return most;
        }
        // This character has one byte, and its escape in JSON is as long as that of any other.
        let longest = "\u{1}".repeat(self.answer_bytes_max);
        let none = Candidates::empty(Path::new("answers"));
        let ids: Vec<QuestionId> = questions.list.arms().map(|arm| QuestionId(arm.0)).collect();
        let of_some = ids.chunks(QUESTIONS_AT_ONCE).map(|some| {
            let mut answers = none.clone();
            let answer = MadeAnswer { text: &longest, final_answer: &longest };
            some.iter().for_each(|it| questions.add(&mut answers, *it, 1, answer));
            service.extent(&answers)
        });
        of_some.fold(most, |most, some| Extent {
            input_tokens: most.input_tokens.max(some.input_tokens),
            output_tokens: most.output_tokens.max(some.output_tokens),
            timeout: most.timeout,
        })
    }

    /// What a call of this service typically uses. Answers that will be made are as long as typical replies of their
    /// generator, if there are no given ones.
    pub(super) fn typical_usage(&self, service: &Service) -> Usage {
        let is_made = self.sample.is_some() && self.candidates.is_empty();
        let questions = self.questions.as_ref().filter(|_| is_made);
        let Some(questions) = questions.filter(|_| !service.manifest.answers_questions) else {
            let is_given = self.sample.is_some() && !service.manifest.answers_questions;
            let subjects = if is_given { &self.candidates } else { self.shown_to(service) };
            return service.typical_usage(subjects);
        };
        let text = "a".repeat((self.answer_bytes_max / TYPICAL_ANSWER_SHARE).max(1));
        let mut answers = Candidates::empty(Path::new("answers"));
        let step = questions.list.len().div_ceil(QUESTIONS_AT_ONCE).max(1);
        for question in questions.list.arms().step_by(step) {
            let answer = MadeAnswer { text: &text, final_answer: &text };
            questions.add(&mut answers, QuestionId(question.0), 1, answer);
        }
        service.typical_usage(&answers)
    }

    /// The part of the run terms that is about questions; `None` if there are none.
    pub(super) fn terms(&self, generators: Vec<GeneratorTerms>) -> Option<QuestionTerms> {
        let questions = self.questions.as_ref()?;
        Some(QuestionTerms {
            count: questions.list.len(),
            blake3: hex(&questions.list.fingerprint()),
            question_field: questions.question_field.clone(),
            answer_field: questions.answer_field.clone(),
            answers: self.answers.clone(),
            generators,
            candidates_max: self.candidates_max,
        })
    }
}

const RCB: &str = "rcb";
/// `answer_bytes_max` allows eight bytes for each of `max_tokens`; a typical reply has a third of these tokens, and a
/// token four bytes.
const TYPICAL_ANSWER_SHARE: usize = 6;
/// The text of a placeholder for an answer that is not made yet.
const PLACEHOLDER: &str = "1";
/// The same placeholder for people to read.
const MADE_UP: &str = "(an answer that is not made yet)";
const QUESTIONS_AT_ONCE: usize = 64;
