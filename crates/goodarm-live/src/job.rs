//! A job that can be run: every key checked, candidates loaded, verifiers ready. It is read from a
//! file ([`Job::read`]) or made in code ([`Job::new`]); both ways go through the same checks.

mod error;
mod questions;
mod reader;
mod requirements;
mod schema;
mod votes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{ArmId, AttributeId, Cost, QuestionId, Role, ServiceId, Source, Target, policy};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_data::problem::{KeyProblem, ProblemKind, collect};
use goodarm_files::Draws;
use goodarm_record::fingerprint::{self, Fingerprint};
use goodarm_record::job_file::{ExpectFile, GuaranteeName, Scores, Unit};
use goodarm_record::questions::{FinalAnswers, RunQuestions};
use goodarm_record::terms::{CriterionTerms, GeneratorTerms, RunTerms, SolverTerms, VerifierTerms};
use serde::Serialize;

pub use self::error::{JobError, JobProblem};
use self::questions::JobSubjects;
pub use self::questions::QuestionSpec;
pub use self::reader::{folder_of, read_file};
use self::requirements::{Requirement, criterion_name};
pub use self::schema::schema;
use crate::pricing::{Pricing, Tariff};
use crate::secrets::{Redactor, Secrets};
use crate::service::{
    AnswerReply, CallContext, CallTask, Dispatch, Reply, Service, ServiceWarning, Usage, Verdict,
};
use crate::services::ServiceKinds;
use crate::throttle::{CallLimits, Throttle};
use crate::transcript::Exchange;

/// A job, ready to run.
pub struct Job {
    /// Where its file is; a name in brackets if it was made in code.
    pub path: PathBuf,
    /// The text that identifies it: its file, or what stands for one.
    pub text: String,
    /// What applies to all of it.
    pub settings: JobSettings,
    /// What is to be certified; what is made during a run is not among them.
    pub candidates: Arc<Candidates>,
    /// What the job calls the candidates.
    pub candidates_name: String,
    /// What the candidates answer; none if each stands for itself.
    pub questions: Option<Arc<RunQuestions>>,
    /// The final answers of the candidates.
    pub(crate) finals: FinalAnswers,
    /// By [`ServiceId`]: the verifiers, in the job's order, then the generators.
    services: Vec<JobService>,
    verifier_count: usize,
    /// What the run promises.
    pub terms: RunTerms,
    /// The same, checked.
    pub problem: goodarm_core::Problem,
}

/// One service of a job, ready to be called.
pub struct JobService {
    /// What reports call it.
    pub name: String,
    /// What is asked.
    pub service: Service,
    /// How its calls are charged.
    pub tariff: Tariff,
    /// When they may be sent.
    pub limits: CallLimits,
    /// What each reply has a score for, by name; none if a reply is one score.
    pub criteria: Vec<String>,
    /// The attribute of the problem that its calls go by: its only one, or its first criterion.
    pub lead: AttributeId,
    /// Strikes the secrets of the whole job out of what it says.
    redactor: Redactor,
}

impl JobService {
    /// A throttle that keeps to its limits, or to these in their place.
    pub(crate) fn throttle(&self, limits: CallLimits) -> Throttle {
        let throttle = Throttle::new(limits).with_addresses(self.service.manifest.address_count);
        throttle.with_redactor(self.redactor.clone())
    }

    /// Makes a call that was dispatched. The reply has no secrets.
    pub(crate) async fn call(
        &self,
        subject: &Candidate,
        task: CallTask,
        throttle: &Throttle,
    ) -> Reply {
        self.cleaned(self.service.call(subject, task, throttle).await)
    }

    /// Dispatches a call; `None` if people answer it later.
    pub(crate) fn dispatch(&self, call: CallContext<'_>) -> Option<Dispatch> {
        Some(match self.service.dispatch(call)? {
            Dispatch::Now(reply) => Dispatch::Now(self.cleaned(reply)),
            later @ Dispatch::Later(_) => later,
        })
    }

    /// What a person should know about it.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = ServiceWarning> {
        let clean =
            |it: ServiceWarning| ServiceWarning { text: self.redactor.remove(it.text), ..it };
        self.service.warnings().into_iter().map(clean)
    }

    /// What a call would send, for people.
    pub fn preview(&self, candidate: &Candidate) -> String {
        self.redactor.remove(self.service.preview(candidate))
    }

    /// The same word for word.
    pub(crate) fn request(&self, candidate: &Candidate) -> String {
        self.redactor.remove(self.service.request(candidate))
    }

    /// An exchange that was overheard.
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
                let AnswerReply { text, last } = *answer;
                Verdict::answer(self.redactor.remove(text), self.redactor.remove(last))
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

    /// What a call has cost. A verifier that this process evaluates costs what it says itself, or else
    /// the ceiling: it takes neither tokens nor time worth counting.
    pub(crate) fn charge(&self, usage: &Usage) -> Cost {
        if self.service.is_local() && self.tariff.is_metered() {
            return usage.cost.unwrap_or(self.tariff.ceiling);
        }
        self.tariff.charge(usage)
    }
}

/// A job as code states it.
pub struct JobSpec {
    /// What applies to all of it.
    pub settings: JobSettings,
    /// What is to be certified.
    pub candidates: Candidates,
    /// An answer is certified when its mean score reaches the threshold of every one of these.
    pub verifiers: Vec<ServiceSpec>,
    /// What the candidates answer, if one answer to each question is to be certified.
    pub questions: Option<QuestionSpec>,
}

/// What applies to a whole job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSettings {
    /// The most that may be spent.
    pub budget: Cost,
    /// What the budget and all prices count.
    pub unit: Unit,
    /// The error probability.
    pub delta: f64,
    /// What it bounds.
    pub guarantee: GuaranteeName,
    /// Which rule chooses the calls.
    pub policy: String,
    /// Calls that may be in flight at once, over all verifiers.
    pub concurrency: usize,
    /// The most calls that others may be asked to make; see [`Job::calls_max`].
    pub calls_max: Option<u64>,
    /// With the policy fixed, how many calls are made of each kind.
    pub calls_per_pair: Option<u64>,
    /// What random draws depend on.
    pub seed: u64,
    /// Where everything is written.
    pub output: PathBuf,
    /// Stop when no answer has a realistic chance with the money that is left.
    pub stop_when_hopeless: bool,
    /// The field that names a candidate.
    pub id_field: String,
    /// A guess at the answers, for a forecast only.
    pub expect: Option<ExpectFile>,
}

impl JobSettings {
    /// This budget and error probability, and for all else what a job file has if it says nothing.
    pub fn new(budget: Cost, delta: f64) -> Self {
        Self {
            budget,
            unit: Unit::default(),
            delta,
            guarantee: GuaranteeName::default(),
            policy: goodarm_record::job_file::policy(),
            concurrency: goodarm_record::job_file::concurrency(),
            calls_max: None,
            calls_per_pair: None,
            seed: 0,
            output: goodarm_record::job_file::output().into(),
            stop_when_hopeless: true,
            id_field: goodarm_record::job_file::id_field(),
            expect: None,
        }
    }
}

/// One verifier of a job as code states it.
pub struct ServiceSpec {
    /// What reports call it; no two alike.
    pub name: String,
    /// What the run terms call its kind.
    pub kind: String,
    /// What tells it from others of its kind, such as a version or a prompt: a run is not resumed
    /// with another.
    pub identity: String,
    /// The mean score to be reached; some verifiers have a default.
    pub threshold: Option<f64>,
    /// What is known of its scores; every verifier has a default.
    pub scores: Option<Scores>,
    /// What each of its replies has a score for, in the order of [`Verdict::Scores`]; none if a reply is
    /// one score. There is no `threshold` then.
    pub criteria: Vec<CriterionSpec>,
    /// If each call is one draw that agrees with the answer or does not: the sizes of the majorities that
    /// `threshold` is about, 1 for a single draw. None are asked for; single draws imply them.
    pub votes: Option<Vec<u32>>,
    /// If it is asked questions: whether an answer of its own that is new is to be certified, too.
    pub proposes: bool,
    /// What its calls cost; many verifiers have a default.
    pub pricing: Option<Pricing>,
    /// The most requests per second.
    pub rate: Option<f64>,
    /// Calls that may be in flight at once; the job's if not given.
    pub concurrency: Option<usize>,
    /// Void attempts of one call before it counts as the lowest score; without limit if not given.
    pub retries: Option<u32>,
    /// How long it may be down before the run stops, to be resumed.
    pub patience: Duration,
    /// What is asked.
    pub service: Service,
}

/// One of the scores in a verifier's replies, as code states it.
#[derive(Clone, Debug, PartialEq)]
pub struct CriterionSpec {
    /// What reports call it, behind the verifier's name; no two of a verifier alike.
    pub name: String,
    /// The mean score to be reached.
    pub threshold: f64,
    /// What is known of its scores; as the verifier says if not given.
    pub scores: Option<Scores>,
}

impl ServiceSpec {
    /// A verifier about which nothing more is said.
    pub fn new(name: impl Into<String>, service: impl Into<Service>) -> Self {
        Self {
            name: name.into(),
            kind: "code".into(),
            identity: String::new(),
            threshold: None,
            scores: None,
            criteria: Vec::new(),
            votes: None,
            proposes: false,
            pricing: None,
            rate: None,
            concurrency: None,
            retries: None,
            patience: PATIENCE,
            service: service.into(),
        }
    }
}

/// What a program gives to a job in the place of what its text names.
#[derive(Default)]
pub struct JobInputs {
    /// The candidates; the key `candidates` is only their name then.
    pub candidates: Option<Candidates>,
    /// Verifiers by name. Such an entry of `[[verifiers]]` has the keys that every verifier has.
    pub verifiers: BTreeMap<String, Service>,
}

/// What a command line may say in place of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The budget.
    pub budget: Option<f64>,
    /// The policy; one that is not fixed takes the file's `calls_per_pair` away.
    pub policy: Option<String>,
    /// How many calls a fixed design makes of each kind.
    pub calls_per_pair: Option<u64>,
    /// The output folder, relative to the working directory.
    pub output: Option<PathBuf>,
}

impl Job {
    /// A job made in code.
    pub fn new(spec: JobSpec) -> Result<Self, JobError> {
        let verifier_count = spec.verifiers.len();
        let generator_count = spec.questions.as_ref().map_or(0, |asked| asked.generators.len());
        let places = (0..verifier_count).collect();
        let generator_places = (verifier_count..verifier_count + generator_count).collect();
        let text = text_of(&spec);
        let path = PathBuf::from("(a job made in code)");
        let candidates_name = "the candidates".into();
        let problems = Vec::new();
        assemble(spec, Origin { path, text, candidates_name, places, generator_places, problems })
    }

    /// Reads a job and everything it names.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, JobError> {
        Self::read_with(path, overrides, &ServiceKinds::default())
    }

    /// Reads a job whose verifiers may be of these kinds.
    pub fn read_with(
        path: &Path,
        overrides: &Overrides,
        kinds: &ServiceKinds,
    ) -> Result<Self, JobError> {
        let text = reader::text_at(path)?;
        reader::parse(path, text, overrides, kinds, JobInputs::default())
    }

    /// A job whose text is `text`, at `path`.
    pub fn parse(path: &Path, text: String, overrides: &Overrides) -> Result<Self, JobError> {
        Self::parse_given(path, text, overrides, JobInputs::default())
    }

    /// The same, with candidates or verifiers that a program has in its hands.
    pub fn parse_given(
        path: &Path,
        text: String,
        overrides: &Overrides,
        given: JobInputs,
    ) -> Result<Self, JobError> {
        reader::parse(path, text, overrides, &ServiceKinds::default(), given)
    }

    /// The most calls that a run may ask others to make, whatever they bill: a budget does not bound the
    /// calls of a verifier whose bills are 0.
    pub fn calls_max(&self) -> u64 {
        let derived = || {
            let ceilings = self.others().map(|verifier| verifier.tariff.ceiling.picos());
            let Some(cheapest) = ceilings.min() else { return u64::MAX };
            let paid_for = (self.settings.budget.picos() / cheapest.max(1)).max(1);
            u64::try_from(paid_for.saturating_mul(CALLS_PER_CEILING)).unwrap_or(u64::MAX)
        };
        self.settings.calls_max.unwrap_or_else(derived)
    }

    /// Everything that is asked: the verifiers, then the generators.
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

    /// What a call of a service is about, but for the answer or the question.
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

    /// What a service is called with: answers, or questions.
    pub fn subjects_of(&self, service: ServiceId) -> &Candidates {
        match &self.questions {
            Some(questions) if self.service(service).service.manifest.answers_questions => {
                &questions.list
            }
            _ => &self.candidates,
        }
    }

    /// Those whose calls others make.
    pub fn others(&self) -> impl Iterator<Item = &JobService> {
        self.services().filter(|service| !service.service.is_local())
    }

    /// What a person should know about how the candidates and the questions were read.
    pub fn notes(&self) -> Vec<String> {
        let asked = self.questions.iter().flat_map(|questions| questions.list.notes());
        self.candidates.notes().iter().chain(asked).cloned().collect()
    }

    /// What the budget and all prices count.
    pub const fn unit(&self) -> Unit {
        self.settings.unit
    }
}

/// Where a job comes from, and what is known to be wrong with it already.
struct Origin {
    path: PathBuf,
    text: String,
    candidates_name: String,
    /// Which place among the job's verifiers each of the spec's has: some may have failed before.
    places: Vec<usize>,
    /// The same of its generators, behind all verifiers.
    generator_places: Vec<usize>,
    problems: Vec<JobProblem>,
}

/// Checks everything there is to check.
fn assemble(spec: JobSpec, origin: Origin) -> Result<Job, JobError> {
    let JobSpec { settings, candidates, verifiers, questions } = spec;
    let settings = settings.in_force();
    let questions = questions.map(|questions| questions.in_force(&settings));
    let mut problems = origin.problems;
    error::extend(&mut problems, None, settings.problems());
    if let Some(questions) = &questions {
        error::extend(&mut problems, None, questions.problems(&settings));
        if problems.is_empty() {
            let nothing = questions.nothing_to_certify(&candidates, &verifiers);
            error::extend(&mut problems, None, nothing.into_iter().collect());
        }
    }
    let name = Path::new(&origin.candidates_name);
    let asked = JobSubjects::new(questions, candidates, &verifiers, &settings.id_field, name);
    let mut asked =
        asked.map_err(|error| JobError::one(ProblemKind::Candidates, error.to_string()))?;
    if verifiers.is_empty() && problems.iter().all(|problem| problem.verifier.is_none()) {
        let needed = KeyProblem::missing("verifiers", "at least one [[verifiers]] is needed");
        error::extend(&mut problems, None, vec![needed]);
    }
    let specs = std::mem::take(&mut asked.generators);
    let mut checker =
        Checker { settings: &settings, asked: &asked, names: BTreeSet::new(), problems };
    let ready = checker.services(&origin.places, verifiers, false);
    let generators = checker.services(&origin.generator_places, specs, true);
    JobError::check(checker.problems)?;
    let verifier_count = ready.len();
    let (mut services, verifier_terms) = placed(ready);
    let generator_terms = generators.iter().map(Ready::generator_terms).collect();
    services.extend(generators.into_iter().map(|it| it.service));
    let places = origin.places.iter().chain(&origin.generator_places).copied();
    check_fields(&asked, services.iter().zip(places.clone()))?;
    check_used_up(services.iter().zip(places))?;
    let manifests = services.iter().map(|it| &it.service.manifest);
    let redactor = Secrets::united(manifests.clone().filter_map(|it| it.secrets.as_deref()));
    let files: Vec<Fingerprint> = manifests.flat_map(|it| it.files.clone()).collect();
    services.iter_mut().for_each(|it| it.redactor = redactor.clone());
    let folder = folder_of(&origin.path);
    // The job's own file is compared key by key, the candidates one by one, and a run writes its outputs.
    let is_other = |file: &Fingerprint| {
        let place = folder.join(&file.path);
        place != origin.path
            && place != folder.join(&origin.candidates_name)
            && !place.starts_with(&settings.output)
    };
    let files = files.into_iter().filter(is_other);
    let terms = RunTerms {
        files: files.map(|file| (file.path, file.blake3)).collect(),
        folder: fingerprint::way(&settings.output, folder),
        questions: asked.terms(generator_terms),
        ..settings.terms(asked.candidates.len(), verifier_terms, origin.text.clone())
    };
    let problem =
        terms.problem().map_err(|error| JobError::one(ProblemKind::Terms, error.to_string()))?;
    let Origin { path, text, candidates_name, .. } = origin;
    let JobSubjects { candidates, questions, finals, .. } = asked;
    Ok(Job {
        path,
        text,
        settings,
        candidates: Arc::new(candidates),
        candidates_name,
        questions: questions.map(Arc::new),
        finals,
        services,
        verifier_count,
        terms,
        problem,
    })
}

/// Checks all who are called, and puts aside what is wrong with them.
struct Checker<'a> {
    settings: &'a JobSettings,
    asked: &'a JobSubjects,
    /// Those that are taken.
    names: BTreeSet<String>,
    problems: Vec<JobProblem>,
}

impl Checker<'_> {
    /// Those of these services in which nothing is wrong, each of which has its place in the job.
    fn services(
        &mut self,
        places: &[usize],
        specs: Vec<ServiceSpec>,
        makes_answers: bool,
    ) -> Vec<Ready> {
        let mut ready = Vec::with_capacity(specs.len());
        for (place, spec) in places.iter().zip(specs) {
            let name = spec.name.clone();
            let criteria = spec.criteria.iter().map(|it| criterion_name(&name, &it.name));
            self.take_names(*place, &name, criteria.chain([name.clone()]).collect());
            match Ready::new(spec, makes_answers, self.settings, self.asked) {
                Ok(service) => ready.push(service),
                Err(more) => error::extend(&mut self.problems, Some((*place, &name)), more),
            }
        }
        ready
    }

    fn take_names(&mut self, place: usize, name: &str, own: BTreeSet<String>) {
        let is_taken = !self.names.is_disjoint(&own);
        self.names.extend(own);
        if is_taken {
            let message = "an earlier verifier has this name: each needs one of its own, such as";
            let taken = KeyProblem::new("name", format!("{message} {:?}", format!("{name} 2")));
            error::extend(&mut self.problems, Some((place, name)), vec![taken]);
        }
    }
}

/// Everyone must find the fields that it needs in what it is called with; each has its place in the job.
fn check_fields<'a>(
    asked: &JobSubjects,
    called: impl Iterator<Item = (&'a JobService, usize)> + Clone,
) -> Result<(), JobError> {
    let unknown = called.clone().flat_map(|(called, place)| {
        let manifest = &called.service.manifest;
        let fields = asked.shown_to(&called.service).unknown_fields(&manifest.fields);
        fields.into_iter().map(move |(field, nearest)| {
            JobProblem::unknown_field(place, &called.name, field, nearest)
        })
    });
    JobError::check(unknown.collect())?;
    let mut needed: BTreeMap<bool, BTreeSet<String>> = BTreeMap::new();
    for (called, _) in called.clone() {
        let manifest = &called.service.manifest;
        let fields = needed.entry(manifest.answers_questions).or_default();
        fields.extend(manifest.fields.iter().cloned());
    }
    for (answers_questions, fields) in needed {
        let lacking = asked.shown(answers_questions).require_fields(&fields);
        lacking.map_err(|error| JobError::one(ProblemKind::Candidates, error.to_string()))?;
    }
    Ok(())
}

/// A recorded reply that one has seen is not fresh for another.
fn check_used_up<'a>(
    called: impl Iterator<Item = (&'a JobService, usize)> + Clone,
) -> Result<(), JobError> {
    let shared = called.clone().enumerate().filter_map(|(index, (one, place))| {
        let drawn = one.service.manifest.draws_from.as_ref();
        let path = &drawn.filter(|it| it.draws == Draws::InOrder)?.recording;
        let is_read = |other: &JobService| {
            let theirs = other.service.manifest.draws_from.as_ref();
            theirs.is_some_and(|theirs| theirs.recording == *path)
        };
        let mut others = called.clone().enumerate().filter(|(other, _)| *other != index);
        let (_, (other, _)) = others.find(|(_, (other, _))| is_read(other))?;
        let message = format!(
            "in-order, and {:?} draws from {path}, too: a reply that both see is not fresh; use with-replacement, or a file for each",
            other.name
        );
        Some((place, one.name.clone(), KeyProblem::new("draws", message)))
    });
    let mut problems = Vec::new();
    for (place, name, problem) in shared {
        error::extend(&mut problems, Some((place, &name)), vec![problem]);
    }
    JobError::check(problems)
}

/// All verifiers, and all terms: a verifier has as many as criteria.
fn placed(ready: Vec<Ready>) -> (Vec<JobService>, Vec<VerifierTerms>) {
    let (mut verifiers, mut terms) = (Vec::new(), Vec::new());
    for ready in ready {
        let lead = AttributeId(u32::try_from(terms.len()).expect("there are fewer than 2^32"));
        terms.extend(ready.verifier_terms(lead));
        verifiers.push(JobService { lead, ..ready.service });
    }
    (verifiers, terms)
}

impl JobSettings {
    /// Whether a fixed number of calls is recorded, and nothing certified.
    pub fn is_recording(&self) -> bool {
        self.policy == FIXED
    }

    /// What holds, whatever else is said: a recording certifies nothing, and so has no hope to lose.
    fn in_force(self) -> Self {
        if !self.is_recording() {
            return self;
        }
        Self { guarantee: GuaranteeName::None, stop_when_hopeless: false, ..self }
    }

    /// What is wrong with them.
    fn problems(&self) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        let mut wrong = |key: &str, message| problems.push(KeyProblem::new(key, message));
        let known = policy::NAMES.iter().copied().filter(|name| *name != "oracle");
        if !known.clone().any(|name| name == self.policy) {
            let known: Vec<&str> = known.collect();
            wrong("policy", goodarm_files::none_of(&self.policy, &known));
        }
        match self.calls_per_pair {
            None if self.is_recording() => {
                let needed = "how many calls of each verifier on each answer is needed";
                problems.push(KeyProblem::missing("calls_per_pair", needed));
            }
            Some(0) => wrong("calls_per_pair", "0 is not a number of calls above 0".into()),
            Some(_) if !self.is_recording() => {
                let message =
                    format!("only policy = {FIXED:?} makes so many, and not {:?}", self.policy);
                wrong("calls_per_pair", message);
            }
            _ => {}
        }
        let mut wrong = |key: &str, message| problems.push(KeyProblem::new(key, message));
        if self.guarantee == GuaranteeName::None && !self.is_recording() {
            wrong(
                "guarantee",
                format!("\"none\" is for policy = {FIXED:?}, which certifies nothing"),
            );
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            let value = self.delta;
            wrong("delta", format!("{value} is not strictly between 0 and 1, such as 0.05"));
        }
        if self.budget.units() > Cost::UNITS_MAX {
            wrong("budget", format!("{} is more than 10^15", self.budget));
        }
        if self.budget == Cost::ZERO {
            wrong("budget", format!("{} is not an amount above 0", self.budget));
        }
        if self.concurrency == 0 || self.concurrency > CONCURRENCY_MAX {
            let value = self.concurrency;
            wrong("concurrency", format!("{value} is not between 1 and {CONCURRENCY_MAX}"));
        }
        if self.calls_max == Some(0) {
            wrong("calls_max", "0 is not a number of calls above 0".into());
        }
        if let Some(expect) = &self.expect {
            let numbers = [Some(expect.good), expect.good_mean, expect.bad_mean];
            if numbers.iter().flatten().any(|number| !(0.0..=1.0).contains(number)) {
                wrong("expect", "all numbers are between 0 and 1".into());
            }
        }
        problems
    }

    fn terms(
        &self,
        candidate_count: usize,
        verifiers: Vec<VerifierTerms>,
        job: String,
    ) -> RunTerms {
        RunTerms {
            unit: self.unit,
            budget: self.budget,
            delta: self.delta,
            guarantee: self.guarantee,
            policy: self.policy.clone(),
            calls_per_pair: self.calls_per_pair,
            stop_when_hopeless: self.stop_when_hopeless,
            candidate_count,
            verifiers,
            job,
            id_field: self.id_field.clone(),
            files: BTreeMap::new(),
            folder: None,
            questions: None,
        }
    }
}

/// A service that is ready, with what the run terms say of it.
struct Ready {
    service: JobService,
    /// What it claims; empty if it makes answers.
    claims: Vec<Requirement>,
    kind: String,
    proposes: bool,
}

impl Ready {
    /// A verifier, or a generator if it makes answers; or everything that is wrong with it.
    fn new(
        spec: ServiceSpec,
        makes_answers: bool,
        settings: &JobSettings,
        asked: &JobSubjects,
    ) -> Result<Self, Vec<KeyProblem>> {
        let mut problems = Vec::new();
        let claims =
            if makes_answers { Some(Vec::new()) } else { requirements::of(&spec, &mut problems) };
        let limits = limits(&spec, settings, &mut problems);
        let tariff = collect(tariff(&spec, settings, asked), &mut problems);
        problems.extend(misused(&spec, makes_answers, asked));
        match (claims, tariff) {
            (Some(claims), Some(tariff)) if problems.is_empty() => {
                let ServiceSpec { name, kind, service, proposes, .. } = spec;
                let criteria = claims.iter().filter_map(|claim| claim.criterion.clone()).collect();
                let (redactor, lead) = (Redactor::default(), AttributeId(0));
                let service =
                    JobService { name, service, tariff, limits, criteria, lead, redactor };
                Ok(Self { service, claims, kind, proposes })
            }
            _ => Err(problems),
        }
    }

    /// What the run terms say of it as a verifier whose first attribute is this one: terms for each claim.
    fn verifier_terms(&self, lead: AttributeId) -> impl Iterator<Item = VerifierTerms> {
        let JobService { name, service, tariff, .. } = &self.service;
        let manifest = &service.manifest;
        self.claims.iter().map(move |Requirement { criterion, threshold, scores, votes }| {
            VerifierTerms {
                name: criterion
                    .as_ref()
                    .map_or_else(|| name.clone(), |it| criterion_name(name, it)),
                kind: self.kind.clone(),
                threshold: *threshold,
                scores: *scores,
                ceiling: tariff.ceiling,
                metered: tariff.is_metered(),
                mean_over: manifest.mean_over,
                votes: votes.clone(),
                solves: manifest
                    .answers_questions
                    .then_some(SolverTerms { proposes: self.proposes }),
                people: service.people().cloned(),
                criterion: criterion.as_ref().map(|it| CriterionTerms {
                    verifier: name.clone(),
                    name: it.clone(),
                    first: lead.index(),
                }),
            }
        })
    }

    /// What the run terms say of it as a generator.
    fn generator_terms(&self) -> GeneratorTerms {
        let JobService { name, service, tariff, .. } = &self.service;
        GeneratorTerms {
            name: name.clone(),
            kind: self.kind.clone(),
            ceiling: tariff.ceiling,
            metered: tariff.is_metered(),
            people: service.people().cloned(),
        }
    }
}

/// What a service cannot do as a generator or as a verifier.
fn misused(spec: &ServiceSpec, makes_answers: bool, asked: &JobSubjects) -> Vec<KeyProblem> {
    let mut problems = Vec::new();
    match (makes_answers, spec.service.manifest.answers_questions) {
        (false, true) => {
            if spec.scores.is_some_and(|it| it != Scores::Binary) {
                let message = "a reply agrees with an answer or does not: \"binary\", or nothing";
                problems.push(KeyProblem::new("scores", message));
            }
            if asked.questions.is_none() {
                let message = "it answers questions, and the job has none: `questions` or `question_field` is needed";
                problems.push(KeyProblem::new("kind", message));
            }
        }
        (true, false) => problems.push(KeyProblem::new("kind", "it does not answer questions")),
        (false, false) | (true, true) => {}
    }
    problems
}

fn limits(
    spec: &ServiceSpec,
    settings: &JobSettings,
    problems: &mut Vec<KeyProblem>,
) -> CallLimits {
    let concurrency = spec.concurrency.unwrap_or(settings.concurrency);
    if spec.concurrency == Some(0) {
        problems.push(KeyProblem::new("concurrency", "at least 1"));
    }
    if let Some(rate) = spec.rate {
        collect(in_range("rate", rate), problems);
    }
    CallLimits {
        concurrency: concurrency.max(1),
        rate: spec.rate,
        retries: spec.retries,
        patience: spec.patience,
    }
}

/// A number of seconds, or of requests per second.
fn in_range(key: &str, value: f64) -> Result<f64, KeyProblem> {
    if value > 0.0 && value <= NUMBER_MAX {
        return Ok(value);
    }
    let message = format!("{value} is not more than 0 and at most {NUMBER_MAX:e}");
    Err(KeyProblem::new(key, message))
}

fn tariff(
    spec: &ServiceSpec,
    settings: &JobSettings,
    asked: &JobSubjects,
) -> Result<Tariff, KeyProblem> {
    let pricing = spec.pricing.or_else(|| spec.service.manifest.price.pricing(settings.unit));
    let pricing = pricing.ok_or_else(|| {
        let unit = format!("{:?}", settings.unit).to_lowercase();
        KeyProblem::missing("price", format!("what a call costs, in {unit}, is needed (or metered, for what it turns out to take)"))
    })?;
    let tariff = Tariff::new(&pricing, || asked.extent(&spec.service))?;
    if settings.budget != Cost::ZERO && tariff.ceiling > settings.budget {
        let key = spec.pricing.map_or("price", |pricing| pricing.key());
        let (ceiling, budget) = (tariff.ceiling, settings.budget);
        let message = format!("a call may cost {ceiling}, more than the whole budget of {budget}");
        return Err(KeyProblem::new(key, message));
    }
    Ok(tariff)
}

/// What stands for the file of a job made in code: in the form of one, so that whatever compares or
/// shows the file of a run can do the same with it.
fn text_of(spec: &JobSpec) -> String {
    let JobSpec { settings, verifiers, questions, .. } = spec;
    let mut text = format!(
        "# A job made in code.\ncandidates = \"(in memory)\"\nid_field = {}\nbudget = {}\nunit = {}\n\
         delta = {}\nguarantee = {}\npolicy = {}\nseed = {}\nstop_when_hopeless = {}\n",
        toml_of(&settings.id_field),
        settings.budget,
        toml_of(&settings.unit),
        settings.delta,
        toml_of(&settings.guarantee),
        toml_of(&settings.policy),
        settings.seed,
        settings.stop_when_hopeless,
    );
    if let Some(calls) = settings.calls_per_pair {
        let _ = writeln!(text, "calls_per_pair = {calls}");
    }
    if let Some(questions) = questions {
        let _ = writeln!(
            text,
            "questions = \"(in memory)\"\nquestion_field = {}\nanswer_field = {}",
            toml_of(&questions.question_field),
            toml_of(&questions.answer_field)
        );
    }
    let generators = questions.iter().flat_map(|questions| &questions.generators);
    let generators = generators.map(|generator| ("generators", generator));
    for (list, verifier) in generators.chain(verifiers.iter().map(|it| ("verifiers", it))) {
        let _ = writeln!(text, "\n[[{list}]]");
        let lines = [
            Some(format!("name = {}", toml_of(&verifier.name))),
            Some(format!("kind = {}", toml_of(&verifier.kind))),
            Some(format!("identity = {}", toml_of(&verifier.identity))),
            verifier.threshold.map(|threshold| format!("threshold = {threshold}")),
            verifier.scores.map(|scores| format!("scores = {}", toml_of(&scores))),
            verifier.votes.as_ref().map(|sizes| format!("votes = {}", toml_of(sizes))),
            verifier.pricing.map(|pricing| pricing.to_string()),
            verifier.retries.map(|retries| format!("retries = {retries}")),
        ];
        for line in lines.into_iter().flatten() {
            let _ = writeln!(text, "{line}");
        }
        for CriterionSpec { name, threshold, scores } in &verifier.criteria {
            let _ = writeln!(text, "\n[[verifiers.criteria]]\nname = {}", toml_of(name));
            let _ = writeln!(text, "threshold = {threshold}");
            if let Some(scores) = scores {
                let _ = writeln!(text, "scores = {}", toml_of(scores));
            }
        }
    }
    text
}

fn toml_of(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|_| "\"\"".into(), |value| value.to_string())
}

/// A bill is seldom so much less than its ceiling.
const CALLS_PER_CEILING: u128 = 1000;
/// One process cannot have many more sockets, and a crash loses no more calls than this and those ahead.
const CONCURRENCY_MAX: usize = 65_536;
const NUMBER_MAX: f64 = 1e6;
const FIXED: &str = "fixed";
const PATIENCE: Duration = Duration::from_secs(300);
