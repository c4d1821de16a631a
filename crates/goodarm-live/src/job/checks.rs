//! Checks a job, and computes its services, its run terms and its problem.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodarm_core::{AttributeId, Cost};
use goodarm_data::problem::{KeyProblem, ProblemKind, collect};
use goodarm_files::Draws;
use goodarm_record::fingerprint::{self, Fingerprint};
use goodarm_record::job_file::Scores;
use goodarm_record::terms::{
    CallTerms, CriterionTerms, GeneratorTerms, RunTerms, SolverTerms, VerifierTerms,
};

use super::error::{self, JobError, JobProblem};
use super::questions::JobSubjects;
use super::requirements::{self, Requirement, criterion_name};
use super::spec::{JobSettings, JobSpec, ServiceSpec};
use super::{Job, JobService};
use crate::pricing::{Pricing, Tariff};
use crate::secrets::{Redactor, Secrets};
use crate::service::Manifest;
use crate::throttle::CallLimits;

/// The folder that the paths in a job file start from.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Where a job comes from, and the problems that were found so far.
pub(super) struct JobSource {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) candidates_name: String,
    /// The index in the job file of each verifier of the spec, then of each generator. There may be gaps: services
    /// with problems are not in the spec.
    pub(super) places: Vec<usize>,
    pub(super) problems: Vec<JobProblem>,
}

/// Checks a job, and makes its services, terms and problem.
pub(super) fn assemble(spec: JobSpec, source: JobSource) -> Result<Job, JobError> {
    let JobSpec { settings, candidates, verifiers, questions } = spec;
    let JobSource { path, text, candidates_name, places, problems: mut faults } = source;
    let settings = settings.with_recording_defaults();
    let questions = questions.map(|questions| questions.with_recording_defaults(&settings));
    error::extend(&mut faults, None, settings.problems());
    if let Some(questions) = &questions {
        error::extend(&mut faults, None, questions.problems(&settings));
        if faults.is_empty() {
            let nothing = questions.nothing_to_certify(&candidates, &verifiers);
            error::extend(&mut faults, None, nothing.into_iter().collect());
        }
    }
    let name = Path::new(&candidates_name);
    let subjects = JobSubjects::new(questions, candidates, &verifiers, &settings.id_field, name);
    let mut subjects =
        subjects.map_err(|error| JobError::one(ProblemKind::Candidates, error.to_string()))?;
    if verifiers.is_empty() && faults.iter().all(|fault| fault.verifier.is_none()) {
        let needed = KeyProblem::missing("verifiers", "at least one [[verifiers]] is needed");
        error::extend(&mut faults, None, vec![needed]);
    }
    let generators = std::mem::take(&mut subjects.generators);
    let verifier_count = verifiers.len();
    let checker = Checker {
        settings: &settings,
        subjects: &subjects,
        names: BTreeSet::new(),
        problems: faults,
        services: Vec::new(),
        verifier_terms: Vec::new(),
        generator_terms: Vec::new(),
    };
    let Checker { services, verifier_terms, generator_terms, .. } =
        checker.all(&places, verifiers, generators)?;
    let files = services.iter().flat_map(|it| it.service.manifest.files.clone());
    let terms = RunTerms {
        unit: settings.unit,
        budget: settings.budget,
        delta: settings.delta,
        guarantee: settings.guarantee,
        policy: settings.policy.clone(),
        calls_per_pair: settings.calls_per_pair,
        stop_when_hopeless: settings.stop_when_hopeless,
        candidate_count: subjects.candidates.len(),
        verifiers: verifier_terms,
        job: text.clone(),
        id_field: settings.id_field.clone(),
        earlier_runs: 0,
        files: other_files(files, &path, &candidates_name, &settings.output),
        folder: fingerprint::way(&settings.output, folder_of(&path)),
        questions: subjects.terms(generator_terms),
    };
    let problem =
        terms.problem().map_err(|error| JobError::one(ProblemKind::Terms, error.to_string()))?;
    let JobSubjects { candidates, questions, finals, .. } = subjects;
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

/// The files that a resumed run compares as a whole. The job's own file is compared key by key, the
/// candidates one by one, and the outputs are written by the run.
fn other_files(
    files: impl Iterator<Item = Fingerprint>,
    path: &Path,
    candidates_name: &str,
    output: &Path,
) -> BTreeMap<String, String> {
    let folder = folder_of(path);
    let other = files.filter(|file| {
        let place = folder.join(&file.path);
        place != path && place != folder.join(candidates_name) && !place.starts_with(output)
    });
    other.map(|file| (file.path, file.blake3)).collect()
}

/// Checks services one by one, and collects their problems.
struct Checker<'a> {
    settings: &'a JobSettings,
    subjects: &'a JobSubjects,
    /// The names of the services and criteria checked so far.
    names: BTreeSet<String>,
    problems: Vec<JobProblem>,
    /// The services without problems: the verifiers, then the generators.
    services: Vec<JobService>,
    verifier_terms: Vec<VerifierTerms>,
    generator_terms: Vec<GeneratorTerms>,
}

impl Checker<'_> {
    /// Checks all services. Returns the checker with them, or all of their problems. `places` are the places of the
    /// verifiers, then of the generators.
    fn all(
        mut self,
        places: &[usize],
        verifiers: Vec<ServiceSpec>,
        generators: Vec<ServiceSpec>,
    ) -> Result<Self, JobError> {
        let (verifier_places, generator_places) = places.split_at(verifiers.len());
        self.take_all(verifier_places, verifiers, false);
        self.take_all(generator_places, generators, true);
        JobError::check(std::mem::take(&mut self.problems))?;
        check_fields(self.subjects, &self.services)?;
        check_draws(&self.services)?;
        let secrets = self.services.iter().filter_map(|it| it.service.manifest.secrets.as_deref());
        let redactor = Secrets::united(secrets);
        self.services.iter_mut().for_each(|it| it.redactor = redactor.clone());
        Ok(self)
    }

    /// Keeps the services without problems, and collects the problems of the others. `places` has the place of each.
    fn take_all(&mut self, places: &[usize], specs: Vec<ServiceSpec>, makes_answers: bool) {
        for (&place, spec) in places.iter().zip(specs) {
            let name = spec.name.clone();
            let criteria = spec.criteria.iter().map(|it| criterion_name(&name, &it.name));
            self.take_names(place, &name, criteria.chain([name.clone()]).collect());
            if let Err(more) = self.take(place, spec, makes_answers) {
                error::extend(&mut self.problems, Some((place, &name)), more);
            }
        }
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

    /// Keeps a verifier, or a generator if `makes_answers`; returns its problems if it has any.
    fn take(
        &mut self,
        place: usize,
        spec: ServiceSpec,
        makes_answers: bool,
    ) -> Result<(), Vec<KeyProblem>> {
        let mut problems = Vec::new();
        let requirements =
            if makes_answers { Some(Vec::new()) } else { requirements::of(&spec, &mut problems) };
        let limits = limits(&spec, self.settings, &mut problems);
        let tariff = collect(self.tariff(&spec), &mut problems);
        problems.extend(self.wrong_role(&spec, makes_answers));
        let (Some(requirements), Some(tariff), true) = (requirements, tariff, problems.is_empty())
        else {
            return Err(problems);
        };
        let first = if makes_answers { 0 } else { self.verifier_terms.len() };
        if makes_answers {
            self.generator_terms.push(generator_terms(&spec, tariff));
        } else {
            let terms = requirements.iter().map(|it| verifier_terms(&spec, tariff, it, first));
            self.verifier_terms.extend(terms);
        }
        let criteria = requirements.into_iter().filter_map(|it| it.criterion).collect();
        let ServiceSpec { name, service, .. } = spec;
        let lead = AttributeId(u32::try_from(first).expect("there are fewer than 2^32"));
        let redactor = Redactor::default();
        let service = JobService { name, service, tariff, limits, criteria, lead, place, redactor };
        self.services.push(service);
        Ok(())
    }

    /// Why a service cannot be a generator (`makes_answers`) or a verifier.
    fn wrong_role(&self, spec: &ServiceSpec, makes_answers: bool) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        match (makes_answers, spec.service.manifest.answers_questions) {
            (false, true) => {
                if spec.scores.is_some_and(|it| it != Scores::Binary) {
                    let message = "must be \"binary\" or omitted for a solver";
                    problems.push(KeyProblem::new("scores", message));
                }
                if self.subjects.questions.is_none() {
                    let message = "it answers questions, and the job has none: `questions` or `question_field` is needed";
                    problems.push(KeyProblem::new("kind", message));
                }
            }
            (true, false) => problems.push(KeyProblem::new("kind", "it does not answer questions")),
            (false, false) | (true, true) => {}
        }
        problems
    }

    fn tariff(&self, spec: &ServiceSpec) -> Result<Tariff, KeyProblem> {
        let &JobSettings { unit, budget, .. } = self.settings;
        let pricing = spec.pricing.or(spec.service.manifest.price);
        let pricing = pricing.or_else(|| Pricing::by_unit(unit));
        let pricing = pricing.ok_or_else(|| {
            let unit = format!("{unit:?}").to_lowercase();
            KeyProblem::missing(
                "price",
                format!(
                    "missing; give the price of a call in {unit}, or metered to be billed by usage"
                ),
            )
        })?;
        let failed = spec.failed.unwrap_or_else(|| Pricing::failed_by_unit(unit));
        let tariff = Tariff::new(&pricing, failed, || self.subjects.extent(&spec.service))?;
        let tariff = tariff.expecting(|| self.subjects.typical_usage(&spec.service));
        if budget != Cost::ZERO && tariff.ceiling > budget {
            let key = spec.pricing.map_or("price", |pricing| pricing.key());
            let ceiling = tariff.ceiling;
            let message =
                format!("a call may cost {ceiling}, more than the whole budget of {budget}");
            return Err(KeyProblem::new(key, message));
        }
        Ok(tariff)
    }
}

/// The terms of one requirement of a verifier. `first` is the index of the verifier's first requirement in the terms
/// of all verifiers.
fn verifier_terms(
    spec: &ServiceSpec,
    tariff: Tariff,
    Requirement { criterion, threshold, scores }: &Requirement,
    first: usize,
) -> VerifierTerms {
    let ServiceSpec { name, kind, service, proposes, .. } = spec;
    let criterion = criterion.as_ref();
    let answers_questions = service.manifest.answers_questions;
    VerifierTerms {
        name: criterion.map_or_else(|| name.clone(), |it| criterion_name(name, it)),
        kind: kind.clone(),
        threshold: *threshold,
        scores: *scores,
        ceiling: tariff.ceiling,
        expected: expected(tariff),
        metered: tariff.is_metered(),
        calls: call_terms(spec, tariff),
        mean_over: service.manifest.mean_over,
        solves: answers_questions.then_some(SolverTerms { proposes: *proposes }),
        people: service.people().cloned(),
        criterion: criterion.map(|it| CriterionTerms {
            verifier: name.clone(),
            name: it.clone(),
            first,
        }),
    }
}

fn call_terms(spec: &ServiceSpec, tariff: Tariff) -> CallTerms {
    let Manifest { addresses, void_status, .. } = &spec.service.manifest;
    CallTerms {
        failed: tariff.failed,
        void_status: void_status.clone(),
        addresses: addresses.clone(),
    }
}

fn generator_terms(spec: &ServiceSpec, tariff: Tariff) -> GeneratorTerms {
    GeneratorTerms {
        name: spec.name.clone(),
        kind: spec.kind.clone(),
        ceiling: tariff.ceiling,
        expected: expected(tariff),
        metered: tariff.is_metered(),
        calls: call_terms(spec, tariff),
        people: spec.service.people().cloned(),
    }
}

/// The expected bill, if it is not the ceiling.
fn expected(tariff: Tariff) -> Option<Cost> {
    (tariff.expected != tariff.ceiling).then_some(tariff.expected)
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

/// Checks a number of seconds, or of requests per second: it must be above 0 and at most [`NUMBER_MAX`].
pub(super) fn in_range(key: &str, value: f64) -> Result<f64, KeyProblem> {
    if value > 0.0 && value <= NUMBER_MAX {
        return Ok(value);
    }
    let message = format!("{value} is not more than 0 and at most {NUMBER_MAX:e}");
    Err(KeyProblem::new(key, message))
}

/// Checks that each service finds the fields that it needs in its inputs.
fn check_fields(subjects: &JobSubjects, services: &[JobService]) -> Result<(), JobError> {
    let unknown = services.iter().flat_map(|service| {
        let fields = subjects.shown_to(&service.service);
        let fields = fields.unknown_fields(&service.service.manifest.fields);
        fields.into_iter().map(|(field, nearest)| {
            JobProblem::unknown_field(service.place, &service.name, field, nearest)
        })
    });
    JobError::check(unknown.collect())?;
    for answers_questions in [false, true] {
        let manifests = services.iter().map(|service| &service.service.manifest);
        let with = manifests.filter(|manifest| manifest.answers_questions == answers_questions);
        let needed: BTreeSet<String> = with.flat_map(|it| it.fields.iter().cloned()).collect();
        let missing = subjects.shown(answers_questions).require_fields(&needed);
        missing.map_err(|error| JobError::one(ProblemKind::Candidates, error.to_string()))?;
    }
    Ok(())
}

/// Checks that services which draw in order share no recording: a reply that one has seen is not fresh for
/// another.
fn check_draws(services: &[JobService]) -> Result<(), JobError> {
    let mut problems = Vec::new();
    for service in services {
        let drawn = service.service.manifest.draws_from.as_ref();
        let Some(drawn) = drawn.filter(|it| it.draws == Draws::InOrder) else { continue };
        let path = &drawn.recording;
        let mut others = services.iter().filter(|other| other.place != service.place);
        let other = others.find(|other| {
            let theirs = other.service.manifest.draws_from.as_ref();
            theirs.is_some_and(|theirs| theirs.recording == *path)
        });
        if let Some(other) = other {
            let message = format!(
                "in-order, but {:?} draws from {path} also: a reply that both see is not fresh; use with-replacement, or a file for each",
                other.name
            );
            let problem = KeyProblem::new("draws", message);
            error::extend(&mut problems, Some((service.place, &service.name)), vec![problem]);
        }
    }
    JobError::check(problems)
}

const NUMBER_MAX: f64 = 1e6;
