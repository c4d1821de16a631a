//! A job that can be run: every key checked, candidates loaded, verifiers ready. It is read from a
//! file ([`Job::read`]) or made in code ([`Job::new`]); both ways go through the same checks.

mod checks;
mod code_text;
mod error;
mod questions;
mod reader;
mod requirements;
mod schema;
mod spec;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodarm_core::{ArmId, AttributeId, Bill, Cost, QuestionId, Role, ServiceId, Source, Target};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_record::job_file::Unit;
use goodarm_record::questions::{FinalAnswers, RunQuestions};
use goodarm_record::terms::RunTerms;

use self::checks::JobSource;
pub use self::checks::folder_of;
pub use self::error::{JobError, JobProblem};
pub use self::reader::read_file;
pub use self::schema::schema;
pub use self::spec::{
    CriterionSpec, JobInputs, JobSettings, JobSpec, Overrides, QuestionSpec, ServiceSpec,
};
use crate::pricing::Tariff;
use crate::secrets::Redactor;
use crate::service::{
    AnswerReply, CallContext, CallTask, Contact, Dispatch, Reply, Service, ServiceWarning, Usage,
    Verdict,
};
use crate::throttle::{CallLimits, Throttle};
use crate::transcript::Exchange;

/// A job, ready to run.
pub struct Job {
    /// The path of the job file; `(a job made in code)` if there is no file.
    pub path: PathBuf,
    /// The text of the job file; for a job made in code, an equivalent text.
    pub text: String,
    /// The settings of the whole job.
    pub settings: JobSettings,
    /// The answers to certify, without those that are made during a run.
    pub candidates: Arc<Candidates>,
    /// The name of the candidates in messages.
    pub candidates_name: String,
    /// The questions; `None` if the candidates do not answer any.
    pub questions: Option<Arc<RunQuestions>>,
    /// The final answers of the candidates.
    pub(crate) finals: FinalAnswers,
    /// By [`ServiceId`]: the verifiers, in the job's order, then the generators.
    services: Vec<JobService>,
    verifier_count: usize,
    /// The terms of a run of this job.
    pub terms: RunTerms,
    /// The core's problem, computed from the terms.
    pub problem: goodarm_core::Problem,
}

/// One service of a job, ready to be called.
pub struct JobService {
    /// Its name in reports.
    pub name: String,
    /// How it is called.
    pub service: Service,
    /// How its calls are charged.
    pub tariff: Tariff,
    /// When its calls may be sent.
    pub limits: CallLimits,
    /// The names of the scores in a reply; empty if a reply is one score.
    pub criteria: Vec<String>,
    /// The attribute in the targets of a verifier's calls: its only one, or its first criterion.
    pub lead: AttributeId,
    /// The index of the service in the job file, where generators come after all verifiers.
    place: usize,
    /// Removes the secrets of the whole job from the texts of this service.
    redactor: Redactor,
}

impl JobService {
    /// A throttle for this service with these limits.
    pub(crate) fn throttle(&self, limits: CallLimits) -> Throttle {
        let address_count = self.service.manifest.addresses.len();
        let throttle = Throttle::new(limits).with_addresses(address_count);
        throttle.with_redactor(self.redactor.clone())
    }

    /// Makes a call that was dispatched. The reply has no secrets.
    pub(crate) async fn call(
        &self,
        subject: &Candidate,
        task: CallTask,
        throttle: &Throttle,
    ) -> Reply {
        let reply = self.service.call(subject, task, throttle).await;
        let delivery = throttle.delivery(reply.delivery);
        self.cleaned(Reply { delivery, ..reply })
    }

    /// Dispatches a call; `None` if people answer it later.
    pub(crate) fn dispatch(&self, call: CallContext<'_>) -> Option<Dispatch> {
        Some(match self.service.dispatch(call)? {
            Dispatch::Now(reply) => Dispatch::Now(self.cleaned(reply)),
            later @ Dispatch::Later(_) => later,
        })
    }

    /// Warnings for people.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = ServiceWarning> {
        let clean =
            |it: ServiceWarning| ServiceWarning { text: self.redactor.remove(it.text), ..it };
        self.service.warnings().into_iter().map(clean)
    }

    /// What a call would send, shortened for people.
    pub fn preview(&self, candidate: &Candidate) -> String {
        self.redactor.remove(self.service.preview(candidate))
    }

    /// What a call would send, word for word.
    pub(crate) fn request(&self, candidate: &Candidate) -> String {
        self.redactor.remove(self.service.request(candidate))
    }

    /// An exchange without secrets.
    pub(crate) fn exchange(&self, Exchange { sent, received }: Exchange) -> Exchange {
        let (sent, received) = (self.redactor.remove(sent), self.redactor.remove(received));
        Exchange { sent, received }
    }

    fn cleaned(&self, reply: Reply) -> Reply {
        let verdict = match reply.verdict {
            Verdict::Failed(failure, reason) => {
                Verdict::Failed(failure, self.redactor.remove(reason))
            }
            Verdict::Exhausted(reason) => Verdict::Exhausted(self.redactor.remove(reason)),
            Verdict::Answer(answer) => {
                let AnswerReply { text, final_answer } = *answer;
                Verdict::answer(self.redactor.remove(text), self.redactor.remove(final_answer))
            }
            Verdict::Scores(scores) => {
                let clean = |score: Result<f64, String>| {
                    score.map_err(|reason| self.redactor.remove(reason))
                };
                Verdict::Scores(scores.into_iter().map(clean).collect())
            }
            verdict @ (Verdict::Score(_) | Verdict::Known(_) | Verdict::Void(_)) => verdict,
        };
        Reply { verdict, text: self.redactor.remove(reply.text), ..reply }
    }

    /// The bill of a call with this ceiling. `typical` is the mean of the service's bills so far. If this process
    /// evaluates a metered service, the cost is the reported one, or else the ceiling: such a call uses no tokens and
    /// hardly any time.
    pub(crate) fn bill(
        &self,
        (usage, contact): (&Usage, Contact),
        is_failed: bool,
        [typical, ceiling]: [Cost; 2],
    ) -> Bill {
        if self.service.is_local() && self.tariff.is_metered() {
            return usage.cost.unwrap_or(self.tariff.ceiling).into();
        }
        let unknown = || self.tariff.unknown_bill(typical, ceiling, is_failed);
        self.tariff.charge(usage, contact).map_or_else(unknown, Bill::known)
    }
}

impl Job {
    /// Checks a job made in code.
    pub fn new(spec: JobSpec) -> Result<Self, JobError> {
        let generator_count = spec.questions.as_ref().map_or(0, |it| it.generators.len());
        let source = JobSource {
            path: PathBuf::from("(a job made in code)"),
            text: code_text::text_of(&spec),
            candidates_name: "the candidates".into(),
            places: (0..spec.verifiers.len() + generator_count).collect(),
            problems: Vec::new(),
        };
        checks::assemble(spec, source)
    }

    /// Reads a job and everything it names.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, JobError> {
        let overrides = overrides.clone();
        Self::read_with(path, JobInputs { overrides, ..JobInputs::default() })
    }

    /// Reads a job together with `inputs`, which a program adds to the file.
    pub fn read_with(path: &Path, inputs: JobInputs) -> Result<Self, JobError> {
        Self::parse(path, reader::text_at(path)?, inputs)
    }

    /// Reads a job from its text. `path` is the job file, which need not exist; paths in the job start at its folder.
    pub fn parse(path: &Path, text: String, inputs: JobInputs) -> Result<Self, JobError> {
        reader::parse(path, text, inputs)
    }

    /// The most calls of a run to other processes and people: from the job, or computed from the budget and the
    /// lowest ceiling. The budget alone does not bound the calls of a verifier whose bills are 0.
    pub fn calls_max(&self) -> u64 {
        let derived = || {
            let ceilings = self.others().map(|service| service.tariff.ceiling.picos());
            let Some(cheapest) = ceilings.min() else { return u64::MAX };
            let paid_for = (self.settings.budget.picos() / cheapest.max(1)).max(1);
            u64::try_from(paid_for.saturating_mul(CALLS_PER_CEILING)).unwrap_or(u64::MAX)
        };
        self.settings.calls_max.unwrap_or_else(derived)
    }

    /// All services: the verifiers, then the generators.
    pub fn services(&self) -> impl Iterator<Item = &JobService> + Clone {
        self.services.iter()
    }

    /// One of [`Self::services`].
    pub fn service(&self, service: ServiceId) -> &JobService {
        &self.services[service.index()]
    }

    /// The services that verify, in the job's order.
    pub fn verifiers(&self) -> &[JobService] {
        &self.services[..self.verifier_count]
    }

    /// The services that make answers during a run.
    pub fn generators(&self) -> &[JobService] {
        &self.services[self.verifier_count..]
    }

    /// The service that a call is made to.
    pub fn service_of(&self, target: Target) -> &JobService {
        self.service(self.problem.service(target))
    }

    /// The target of a call to a service about the first answer or question.
    pub(crate) fn target_of(&self, service: ServiceId) -> Target {
        match self.problem.role(service).expect("a service of this job") {
            Role::Generator(generator) => {
                Target::Question(QuestionId(0), Source::Generator(generator))
            }
            Role::Verifier(lead) if self.service(service).service.manifest.answers_questions => {
                Target::Question(QuestionId(0), Source::Votes(lead))
            }
            Role::Verifier(lead) => Target::Arm(ArmId(0), lead),
        }
    }

    /// The inputs of a service: answers, or questions.
    pub fn subjects_of(&self, service: ServiceId) -> &Candidates {
        match &self.questions {
            Some(questions) if self.service(service).service.manifest.answers_questions => {
                &questions.list
            }
            _ => &self.candidates,
        }
    }

    /// The services whose calls other processes or people answer.
    pub fn others(&self) -> impl Iterator<Item = &JobService> {
        self.services().filter(|service| !service.service.is_local())
    }

    /// Notes for people about how the candidates and the questions were read.
    pub fn notes(&self) -> Vec<String> {
        let asked = self.questions.iter().flat_map(|questions| questions.list.notes());
        self.candidates.notes().iter().chain(asked).cloned().collect()
    }

    /// The unit of the budget and of all prices.
    pub const fn unit(&self) -> Unit {
        self.settings.unit
    }
}

/// The computed [`Job::calls_max`] assumes that a bill is, on average, at least its ceiling divided by this number.
const CALLS_PER_CEILING: u128 = 1000;
