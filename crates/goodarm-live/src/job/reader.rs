//! Reads a job file. All keys are checked, and all problems are reported at once, each with its line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use goodarm_core::Cost;
use goodarm_core::problem::design::PROPOSED_ANSWERS_MAX;
use goodarm_data::answer::{ExtractName, Extractor};
use goodarm_data::candidates::{Candidates, CandidatesError};
use goodarm_data::problem::{KeyProblem, ProblemKind, collect};
use goodarm_files::money::AmountInput;
use goodarm_record::job_file::table::{JobTable, unknown_keys};
use goodarm_record::job_file::{
    CriterionKeys, GeneratorKeys, GuaranteeName, JobFile, ServiceKeys, TIMEOUT, VERIFIER_KEYS,
    key_names,
};
use goodarm_record::questions;
use schemars::{JsonSchema, SchemaGenerator};

use super::checks::{JobSource, assemble, folder_of, in_range};
use super::error::{self, JobError, JobProblem};
use super::spec::{ANSWER_BYTES_MAX, ANSWER_FIELD, CANDIDATES_MAX, QUESTION_FIELD};
use super::{
    CriterionSpec, Job, JobInputs, JobSettings, JobSpec, Overrides, QuestionSpec, ServiceSpec,
};
use crate::pricing::Pricing;
use crate::service::{FinalAnswerRule, Service};
use crate::services::rubric;
use crate::services::{ServiceContext, ServiceKinds};

/// The text of a job file.
pub(super) fn text_at(path: &Path) -> Result<String, JobError> {
    let wrong = |kind, reason: String| {
        let problem = JobProblem::new(kind, reason);
        JobError { problems: vec![JobProblem { file: Some(path.to_owned()), ..problem }] }
    };
    let is_of_candidates = |ending: &str| path.extension().is_some_and(|own| own == ending);
    if CANDIDATES.iter().any(|ending| is_of_candidates(ending)) {
        let reason = "a job file is TOML, and this is a file of candidates";
        return Err(wrong(ProblemKind::CandidatesFile, reason.to_owned()));
    }
    fs::read_to_string(path).map_err(|error| wrong(ProblemKind::Unreadable, error.to_string()))
}

/// Extensions of files of candidates, which are never jobs.
const CANDIDATES: [&str; 9] =
    ["jsonl", "ndjson", "json", "csv", "tsv", "parquet", "eval", "gz", "zst"];

/// Reads a job file without the files that it names.
pub fn read_file(path: &Path, text: &str) -> Result<JobFile, JobError> {
    let table = table_of(path, text)?;
    let mut problems = Vec::new();
    let file = read_own(&table, &mut problems);
    match file {
        Some(file) if problems.is_empty() => Ok(file),
        _ => Err(located(path, &table, JobError { problems })),
    }
}

pub(super) fn parse(path: &Path, text: String, mut inputs: JobInputs) -> Result<Job, JobError> {
    let table = table_of(path, &text)?;
    let mut problems = Vec::new();
    let file = read_own(&table, &mut problems);
    let mut read = Vec::new();
    for entry in service_entries(&table) {
        let given = match entry.is_generator {
            true => None,
            false => inputs.verifiers.remove(entry.name()),
        };
        read.extend(entry.read(given, &inputs.kinds, &mut problems));
    }
    for name in inputs.verifiers.keys() {
        let message =
            format!("a function was passed for {name:?}, but the job has no verifier of that name");
        error::extend(&mut problems, None, vec![KeyProblem::new("verifiers", message)]);
    }
    let result = match file {
        Some(file) => {
            let name = file.candidates.as_ref().or(file.questions.as_ref());
            let source = JobSource {
                path: path.to_owned(),
                text: text.clone(),
                candidates_name: name.cloned().unwrap_or_default(),
                places: Vec::new(),
                problems,
            };
            build(source, &file, read, inputs)
        }
        None => Err(JobError { problems }),
    };
    result.map_err(|error| located(path, &table, error))
}

fn table_of<'a>(path: &Path, text: &'a str) -> Result<JobTable<'a>, JobError> {
    JobTable::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| 1 + before.matches('\n').count());
        // The message without the line that it is about, which may contain a secret.
        let problem = JobProblem::new(ProblemKind::Syntax, error.message().to_owned());
        let file = Some(path.to_owned());
        JobError { problems: vec![JobProblem { file, line, ..problem }] }
    })
}

/// Reads the keys of the job itself, not those of its services; `None` if a value is missing or wrong.
fn read_own(table: &JobTable<'_>, problems: &mut Vec<JobProblem>) -> Option<JobFile> {
    let known = keys_of::<JobFile>();
    error::extend(problems, None, unknown_keys(table, &known).collect());
    let mut more = Vec::new();
    if !table.has("candidates") && !table.has("questions") {
        let needed =
            "the file of answers is needed, or `questions` and a [generator] that answers them";
        more.push(KeyProblem::missing("candidates", needed));
    }
    let file = table.read(&mut more);
    if !["verifiers", "generator", "generators"].iter().any(|key| table.has(key)) {
        more.push(KeyProblem::missing("verifiers", "at least one [[verifiers]] is needed"));
    }
    for problem in &mut more {
        if ["generator", "generators"].contains(&problem.key.as_str()) {
            problem.message += ": one is written [generator], several are [[generators]]";
        }
    }
    let is_complete = more.is_empty();
    error::extend(problems, None, more);
    file.filter(|_| is_complete)
}

/// The table of a service: one of `[[verifiers]]`, `[generator]`, or one of `[[generators]]`.
struct ServiceEntry<'a> {
    table: JobTable<'a>,
    place: usize,
    is_generator: bool,
}

/// A service as far as it is read: its keys, and how to build it.
struct ReadService {
    place: usize,
    keys: ServiceKeys,
    own: BuildService,
    generator: Option<ReadGenerator>,
}

/// Builds a service by the keys of its kind.
type BuildService = Box<dyn FnOnce(&ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>>>;

/// The keys that only generators have.
struct ReadGenerator {
    keys: GeneratorKeys,
    /// Whether the kind of the service can make answers.
    makes_answers: bool,
    max_tokens: Option<usize>,
}

/// The tables of the verifiers, then of the generators.
fn service_entries<'a>(table: &JobTable<'a>) -> Vec<ServiceEntry<'a>> {
    let verifiers = table.tables("verifiers").into_iter().map(|it| (it, false));
    let generators = table.table("generator").into_iter().chain(table.tables("generators"));
    let tables = verifiers.chain(generators.map(|it| (it, true))).enumerate();
    tables
        .map(|(place, (table, is_generator))| ServiceEntry { table, place, is_generator })
        .collect()
}

impl ServiceEntry<'_> {
    fn name(&self) -> &str {
        let default = if self.is_generator { GENERATOR } else { "" };
        self.table.text_of("name").filter(|name| !name.is_empty()).unwrap_or(default)
    }

    /// Reads the keys that all services have, those that all generators have, and those of the kind. A service that a
    /// program passes in (`given`) has no keys of a kind.
    fn read(
        &self,
        given: Option<Service>,
        kinds: &ServiceKinds,
        problems: &mut Vec<JobProblem>,
    ) -> Option<ReadService> {
        let mut more = Vec::new();
        let mut common = keys_of::<ServiceKeys>();
        let mut table = self.table.with_keys(&common);
        let mut generator = None;
        let mut known = common.clone();
        if self.is_generator {
            common.retain(|key| !VERIFIER_KEYS.contains(&key.as_str()));
            table = self.table.with_keys(&common).with_default("name", GENERATOR);
            known = &common | &keys_of::<GeneratorKeys>();
        }
        let keys = table.read::<ServiceKeys>(&mut more);
        if self.is_generator {
            let keys = self.table.with_keys(&keys_of::<GeneratorKeys>()).read(&mut more);
            generator = keys.map(|keys| self.generator(keys, kinds));
        }
        let own = match given {
            Some(service) => {
                more.extend(unknown_keys(&self.table, &known));
                let own: BuildService = Box::new(move |_| Ok(service));
                Some(own)
            }
            None => self.read_kind_keys(kinds, &known, &mut more),
        };
        error::extend(problems, Some((self.place, self.name())), more);
        let is_complete = generator.is_some() == self.is_generator;
        let (keys, own) = (keys.filter(|_| is_complete)?, own?);
        Some(ReadService { place: self.place, keys, own, generator })
    }

    fn generator(&self, keys: GeneratorKeys, kinds: &ServiceKinds) -> ReadGenerator {
        let kind = self.table.text_of("kind").and_then(|kind| kinds.get(kind));
        let number = |key: &str| usize::try_from(self.table.number_of(key)?).ok();
        ReadGenerator {
            keys,
            makes_answers: kind.is_some_and(|kind| kind.makes_answers),
            max_tokens: number("max_completion_tokens").or_else(|| number("max_tokens")),
        }
    }

    /// Reads the keys of the service's kind, and reports unknown keys. A key that all generators have is not read as
    /// a key of the kind.
    fn read_kind_keys(
        &self,
        kinds: &ServiceKinds,
        known: &BTreeSet<String>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<BuildService> {
        let name = self.table.text_of("kind")?;
        let Some(kind) = kinds.get(name) else {
            problems.push(unknown_kind(name, kinds));
            return None;
        };
        let mut own_names = kind.key_names();
        own_names.retain(|key| !self.is_generator || !known.contains(key));
        let known = known | &own_names;
        let unknown = unknown_keys(&self.table, &known);
        problems.extend(unknown.map(|problem| KeyProblem {
            message: format!("{} (kind {})", problem.message, kind.name),
            ..problem
        }));
        let keys = (kind.read)(&self.table.with_keys(&own_names), problems)?;
        Some(Box::new(move |context| keys.build(context)))
    }
}

/// The names of the keys that are the fields of `K`.
fn keys_of<K: JsonSchema>() -> BTreeSet<String> {
    key_names(&K::json_schema(&mut SchemaGenerator::default()))
}

fn unknown_kind(name: &str, kinds: &ServiceKinds) -> KeyProblem {
    if name == PYTHON {
        return KeyProblem::new("kind", PYTHON_HINT);
    }
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    KeyProblem::new("kind", goodarm_files::none_of(name, &names))
}

/// The default name of a generator.
const GENERATOR: &str = "generator";
/// The kind of functions in jobs that the Python package writes.
const PYTHON: &str = "python";
const PYTHON_HINT: &str =
    "\"python\" works only from Python: goodarm.run(\"job.toml\", verifiers={\"name\": function})";

/// Makes the job from its keys and those of its services.
fn build(
    mut source: JobSource,
    file: &JobFile,
    read: Vec<ReadService>,
    inputs: JobInputs,
) -> Result<Job, JobError> {
    let path = source.path.clone();
    let folder = folder_of(&path);
    let mut more = Vec::new();
    let settings = settings(file, &inputs.overrides, folder, &mut more);
    if file.generator.is_some() && file.generators.is_some() {
        more.push(KeyProblem::new("generators", "either [generator] or [[generators]], not both"));
    }
    error::extend(&mut source.problems, None, more);
    let (candidates, questions) = match read_candidates(file, folder, inputs.candidates) {
        Ok(read) => read,
        Err(error) => {
            error::extend(&mut source.problems, None, settings.problems());
            let problem = JobProblem::new(ProblemKind::Candidates, error.to_string());
            source.problems.push(JobProblem { file: Some(path), ..problem });
            return Err(JobError { problems: source.problems });
        }
    };
    let builder = SpecBuilder { file, folder };
    let (generators, verifiers): (Vec<_>, Vec<_>) =
        read.into_iter().partition(|read| read.generator.is_some());
    let problems = &mut source.problems;
    let mut verifiers = builder.verifiers(verifiers, &candidates, questions.as_ref(), problems);
    let mut generator_places = Vec::new();
    let questions = questions.map(|questions| {
        let (questions, places) =
            builder.generators(generators, questions, &mut verifiers, problems);
        generator_places = places;
        questions
    });
    let (places, verifiers) = verifiers.into_iter().unzip();
    source.places = places;
    source.places.extend(generator_places);
    assemble(JobSpec { settings, candidates, verifiers, questions }, source)
}

/// Makes the specs of services from their keys, each with its place in the job.
struct SpecBuilder<'a> {
    file: &'a JobFile,
    folder: &'a Path,
}

impl SpecBuilder<'_> {
    fn verifiers(
        &self,
        read: Vec<ReadService>,
        candidates: &Candidates,
        asked: Option<&QuestionSpec>,
        problems: &mut Vec<JobProblem>,
    ) -> Vec<(usize, ServiceSpec)> {
        let has_generator = self.file.generator.is_some() || self.file.generators.is_some();
        let makes_answers = asked.filter(|_| has_generator);
        let sample = makes_answers.map(|asked| asked.sample(candidates, &self.file.id_field));
        let shown = sample.as_ref().unwrap_or(candidates);
        let mut verifiers = Vec::new();
        for ReadService { place, keys, own, .. } in read {
            let mut more = rubric::problems(&keys);
            let list = asked.map(|asked| &asked.list);
            let context = self.context(&keys, shown, list, &mut more);
            match own(&context) {
                Ok(service) => {
                    verifiers.push((place, service_spec(context, service, &mut more)));
                }
                Err(own) => more.extend(own),
            }
            error::extend(problems, Some((place, &keys.name)), more);
        }
        verifiers
    }

    /// Adds the generators to the questions, and returns their places. A generator whose answers are votes becomes a
    /// verifier.
    fn generators(
        &self,
        read: Vec<ReadService>,
        mut asked: QuestionSpec,
        verifiers: &mut Vec<(usize, ServiceSpec)>,
        problems: &mut Vec<JobProblem>,
    ) -> (QuestionSpec, Vec<usize>) {
        let mut places = Vec::new();
        for service in read {
            let ReadService { place, keys, own, generator: Some(read) } = service else { continue };
            let mut more = Vec::new();
            let context = self.context(&keys, &asked.list, Some(&asked.list), &mut more);
            let of_solver =
                verifiers.iter().find_map(|(_, it)| it.service.manifest.final_answers.as_ref());
            let extractor = of_solver.map(|finals| finals.extractor.clone());
            let finals = read.final_answers(&keys, &asked.answer_field, extractor, &mut more);
            let service = if read.makes_answers {
                own(&ServiceContext { makes_answers: true, ..context })
            } else {
                let message = "this kind makes no answers; command, http, human, llm and pool do";
                Err(vec![KeyProblem::new("kind", message)])
            };
            let service = service.map_err(|problems| more.extend(problems)).ok();
            if let (Some(finals), Some(service)) = (finals, service) {
                let spec = service_spec(context, service.answering(finals), &mut more);
                if read.keys.vote == Some(true) {
                    verifiers.push((place, ServiceSpec { proposes: true, ..spec }));
                } else {
                    asked.generators.push(spec);
                    places.push(place);
                }
            }
            asked.candidates_max = asked.candidates_max.max(read.candidates_max());
            asked.answer_bytes_max = asked.answer_bytes_max.max(read.answer_bytes_max());
            error::extend(problems, Some((place, &keys.name)), more);
        }
        (asked, places)
    }

    fn context<'k>(
        &'k self,
        keys: &'k ServiceKeys,
        candidates: &'k Candidates,
        questions: Option<&'k Candidates>,
        problems: &mut Vec<KeyProblem>,
    ) -> ServiceContext<'k> {
        let timeout = seconds("timeout", keys.timeout, TIMEOUT, problems);
        let &Self { file, folder } = self;
        let (seed, unit) = (file.seed, file.unit);
        let makes_answers = false;
        ServiceContext { makes_answers, keys, timeout, folder, candidates, questions, seed, unit }
    }
}

/// The candidates of a job, and the questions if it has any.
fn read_candidates(
    file: &JobFile,
    folder: &Path,
    given: Option<Candidates>,
) -> Result<(Candidates, Option<QuestionSpec>), CandidatesError> {
    let name = PathBuf::from(file.candidates.as_deref().unwrap_or("candidates"));
    let candidates = match (given, &file.candidates) {
        (Some(given), _) => given,
        (None, Some(path)) => Candidates::read_as(&folder.join(path), &file.id_field, file.format)?,
        (None, None) => Candidates::empty(&name),
    };
    let has_generator = file.generator.is_some() || file.generators.is_some();
    if file.questions.is_none() && file.question_field.is_none() && !has_generator {
        return Ok((candidates, None));
    }
    let question_field = file.question_field.clone().unwrap_or_else(|| QUESTION_FIELD.into());
    let answer_field = file.answer_field.clone().unwrap_or_else(|| ANSWER_FIELD.into());
    let mut list = match &file.questions {
        Some(path) => {
            let format = file.format.filter(|_| file.candidates.is_none());
            Candidates::read_as(&folder.join(path), &file.id_field, format)?
        }
        None => {
            let fields = [file.id_field.as_str(), answer_field.as_str()];
            questions::of_candidates(&candidates, &question_field, fields, &name)?
        }
    };
    if list.fields_of_all().contains(&answer_field) {
        list.note(format!(
            "{}: the questions have a field {answer_field:?}: it would be overwritten; set answer_field to another name",
            file.questions.as_deref().unwrap_or_default()
        ));
    }
    let candidates = questions::joined(&candidates, &list, &question_field, &file.id_field);
    let spec = QuestionSpec { question_field, answer_field, ..QuestionSpec::new(list) };
    Ok((candidates, Some(QuestionSpec { candidates_max: 0, answer_bytes_max: 0, ..spec })))
}

impl ReadGenerator {
    /// How final answers are found in the generator's replies. `service` has the keys that all services have;
    /// `of_solver` is the default extractor.
    fn final_answers(
        &self,
        service: &ServiceKeys,
        field: &str,
        of_solver: Option<Extractor>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<FinalAnswerRule> {
        let GeneratorKeys { extract, pattern, pointer, vote, .. } = &self.keys;
        let is_vote = *vote == Some(true);
        if service.threshold.is_none() && is_vote {
            let message = "missing (needed with vote = true), such as 0.5";
            problems.push(KeyProblem::missing("threshold", message));
        }
        if service.threshold.is_some() && !is_vote {
            let message = "only where answers are votes: vote = true";
            problems.push(KeyProblem::new("threshold", message));
        }
        if self.keys.candidates_max.is_some() && is_vote {
            let message = format!(
                "not with vote = true: every reply is a vote, and up to {PROPOSED_ANSWERS_MAX} different answers to a question become candidates"
            );
            problems.push(KeyProblem::new("candidates_max", message));
        }
        let limits = [
            ("candidates_max", self.candidates_max(), PROPOSED_ANSWERS_MAX),
            ("answer_bytes_max", self.answer_bytes_max(), ANSWER_BYTES_LIMIT),
        ];
        for (key, number, most) in limits {
            if !(1..=most).contains(&number) {
                let message = format!("{number} is not between 1 and {most}");
                problems.push(KeyProblem::new(key, message));
            }
        }
        let extractor = match (extract, of_solver) {
            (None, Some(extractor)) if pattern.is_none() && pointer.is_none() => Ok(extractor),
            _ => {
                let extract = extract.unwrap_or(ExtractName::Whole);
                Extractor::new(extract, pattern.as_deref(), pointer.as_deref())
            }
        };
        let (field, bytes_max) = (field.to_owned(), self.answer_bytes_max());
        let extractor = collect(extractor, problems)?;
        Some(FinalAnswerRule { field, extractor, bytes_max })
    }

    fn candidates_max(&self) -> usize {
        self.keys.candidates_max.unwrap_or(CANDIDATES_MAX)
    }

    fn answer_bytes_max(&self) -> usize {
        let of_tokens = || Some(self.max_tokens?.saturating_mul(BYTES_PER_TOKEN));
        let default =
            || of_tokens().map_or(ANSWER_BYTES_MAX, |bytes| bytes.min(ANSWER_BYTES_LIMIT));
        self.keys.answer_bytes_max.unwrap_or_else(default)
    }
}

fn settings(
    file: &JobFile,
    overrides: &Overrides,
    folder: &Path,
    problems: &mut Vec<KeyProblem>,
) -> JobSettings {
    let written = overrides.budget.map_or_else(|| file.budget.clone(), AmountInput::Number);
    let message = || KeyProblem::new("budget", format!("{written} is not an amount above 0"));
    let budget = collect(written.budget().map_err(|_| message()), problems);
    let policy = overrides.policy.as_ref().unwrap_or(&file.policy);
    let is_replaced = overrides.policy.as_ref().is_some_and(|policy| *policy != file.policy);
    let calls_per_pair = file.calls_per_pair.filter(|_| !is_replaced);
    JobSettings {
        budget: budget.unwrap_or(Cost::ZERO),
        unit: file.unit,
        delta: file.delta,
        guarantee: file.guarantee.unwrap_or_else(|| GuaranteeName::natural(policy)),
        policy: policy.clone(),
        calls_per_pair: overrides.calls_per_pair.or(calls_per_pair),
        concurrency: file.concurrency,
        calls_max: file.calls_max,
        seed: file.seed,
        output: overrides.output.clone().unwrap_or_else(|| folder.join(&file.output)),
        stop_when_hopeless: file.stop_when_hopeless,
        id_field: file.id_field.clone(),
        expect: file.expect,
    }
}

fn service_spec(
    ServiceContext { keys, unit, .. }: ServiceContext<'_>,
    service: Service,
    problems: &mut Vec<KeyProblem>,
) -> ServiceSpec {
    let spec = ServiceSpec::new(&keys.name, service);
    let criteria = keys.criteria.iter().flatten();
    let criterion = |keys: &CriterionKeys| CriterionSpec {
        name: keys.name.clone(),
        threshold: keys.threshold,
        scores: keys.scores,
    };
    let pricing = collect(Pricing::of_keys(keys.price, keys.metered.as_ref(), unit), problems);
    ServiceSpec {
        kind: keys.kind.clone(),
        threshold: keys.threshold,
        scores: keys.scores,
        criteria: criteria.map(criterion).collect(),
        // Stands for a wrong price, which must not also be reported as missing.
        pricing: pricing.unwrap_or(Some(Pricing::Fixed(Cost::from_picos(1)))),
        failed: keys.failed,
        rate: keys.rate,
        concurrency: keys.concurrency,
        retries: keys.retries,
        patience: seconds("patience", keys.patience, spec.patience, problems),
        ..spec
    }
}

fn seconds(
    key: &str,
    given: Option<f64>,
    default: Duration,
    problems: &mut Vec<KeyProblem>,
) -> Duration {
    let given = given.and_then(|seconds| collect(in_range(key, seconds), problems));
    given.map_or(default, Duration::from_secs_f64)
}

/// The bytes that a token is assumed to have at most; longer tokens are rare.
const BYTES_PER_TOKEN: usize = 8;
/// The largest `answer_bytes_max`, since answers are kept in memory and in the journal.
const ANSWER_BYTES_LIMIT: usize = 1 << 20;

/// Adds to each problem the job file and the line.
fn located(path: &Path, table: &JobTable<'_>, mut error: JobError) -> JobError {
    let services = service_entries(table);
    for problem in &mut error.problems {
        let service = problem.verifier.as_ref().and_then(|(place, _)| services.get(*place));
        problem.is_generator = service.is_some_and(|service| service.is_generator);
        // The message of such a problem names the file itself.
        if problem.file.is_some() || problem.kind == ProblemKind::Candidates {
            continue;
        }
        problem.file = Some(path.to_owned());
        let service = service.map(|service| &service.table);
        problem.line = match (service, &problem.key, &problem.kind) {
            (Some(service), _, ProblemKind::UnknownField(field)) => Some(service.line_with(field)),
            (Some(service), Some(key), _) => Some(service.line_of(key)),
            (Some(service), None, _) => Some(service.line_of("")),
            (None, Some(key), _) if table.has(key) => Some(table.line_of(key)),
            (None, ..) => None,
        };
    }
    error.problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
    error
}
