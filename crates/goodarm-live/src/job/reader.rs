//! From a job file to what it states: all keys are looked at, and all that is wrong is said at once,
//! with its line.

use std::cell::Cell;
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
    Votes, key_names,
};
use goodarm_record::questions;
use schemars::{JsonSchema, SchemaGenerator};

use super::error::{self, JobError, JobProblem};
use super::questions::{ANSWER_BYTES_MAX, ANSWER_FIELD, CANDIDATES_MAX, QUESTION_FIELD};
use super::{
    CriterionSpec, Job, JobInputs, JobSettings, JobSpec, Origin, Overrides, QuestionSpec,
    ServiceSpec, assemble, in_range,
};
use crate::pricing::Pricing;
use crate::service::{FinalAnswerRule, Service};
use crate::services::rubric;
use crate::services::{KindKeys, ServiceContext, ServiceKind, ServiceKinds, without_keys};

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

/// How files end that hold candidates, and never a job.
const CANDIDATES: [&str; 9] =
    ["jsonl", "ndjson", "json", "csv", "tsv", "parquet", "eval", "gz", "zst"];

/// Reads a job file without what it names: for those who need only the text.
pub fn read_file(path: &Path, text: &str) -> Result<JobFile, JobError> {
    let table = table_of(path, text)?;
    let mut problems = Vec::new();
    let file = read_own(&table, &mut problems);
    match file {
        Some(file) if problems.is_empty() => Ok(file),
        _ => Err(located(path, &table, JobError { problems })),
    }
}

/// The folder that the paths in a job file start from.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The job that a text states.
pub(super) fn parse(
    path: &Path,
    text: String,
    overrides: &Overrides,
    kinds: &ServiceKinds,
    mut given: JobInputs,
) -> Result<Job, JobError> {
    let table = table_of(path, &text)?;
    let mut problems = Vec::new();
    let file = read_own(&table, &mut problems);
    let entries: Vec<Entry<'_>> = table.tables("verifiers").into_iter().map(Entry::new).collect();
    let read: Vec<Option<ReadEntry>> = entries
        .iter()
        .enumerate()
        .map(|(place, entry)| {
            let given = given.verifiers.remove(&entry.name);
            entry.read(place, given, kinds, &mut problems)
        })
        .collect();
    let generators: Vec<Entry<'_>> = generator_tables(&table).into_iter().map(Entry::new).collect();
    let made: Vec<Option<ReadGenerator>> = generators
        .iter()
        .zip(entries.len()..)
        .map(|(entry, place)| entry.read_generator(place, kinds, &mut problems))
        .collect();
    for name in given.verifiers.keys() {
        let message = format!("{name:?} is given and not among them");
        error::extend(&mut problems, None, vec![KeyProblem::new("verifiers", message)]);
    }
    let source = Source { path, text: &text, overrides, candidates: given.candidates };
    let result = match file {
        Some(file) => build(source, &file, read, made, problems),
        None => Err(JobError { problems }),
    };
    result.map_err(|error| located(path, &table, error))
}

fn table_of<'a>(path: &Path, text: &'a str) -> Result<JobTable<'a>, JobError> {
    JobTable::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| 1 + before.matches('\n').count());
        let message = without_keys(error.to_string().trim_end());
        let problem = JobProblem::new(ProblemKind::Syntax, message);
        let file = Some(path.to_owned());
        JobError { problems: vec![JobProblem { file, line, ..problem }] }
    })
}

/// The job's own keys.
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

/// One of `[[verifiers]]`.
struct Entry<'a> {
    table: JobTable<'a>,
    name: String,
}

/// The keys of a service, each in its shape.
struct ReadEntry {
    keys: ServiceKeys,
    own: Box<dyn KindKeys>,
}

/// The keys of a generator, each in its shape.
struct ReadGenerator {
    entry: ReadEntry,
    keys: GeneratorKeys,
    /// Whether its kind does.
    makes_answers: bool,
    max_tokens: Option<usize>,
}

/// `[generator]`, and each of `[[generators]]`.
fn generator_tables<'a>(table: &JobTable<'a>) -> Vec<JobTable<'a>> {
    table.table("generator").into_iter().chain(table.tables("generators")).collect()
}

impl<'a> Entry<'a> {
    fn new(table: JobTable<'a>) -> Self {
        let name = table.text_of("name").unwrap_or_default().to_owned();
        Self { table, name }
    }

    /// All keys, those of every verifier and those of its kind; one that a program gives has none of a kind.
    fn read(
        &self,
        place: usize,
        given: Option<Service>,
        kinds: &ServiceKinds,
        problems: &mut Vec<JobProblem>,
    ) -> Option<ReadEntry> {
        let mut more = Vec::new();
        let known = keys_of::<ServiceKeys>();
        let keys = self.table.with_keys(&known).read::<ServiceKeys>(&mut more);
        let own = match given {
            Some(service) => {
                more.extend(unknown_keys(&self.table, &known));
                let own: Box<dyn KindKeys> = Box::new(GivenService(Cell::new(Some(service))));
                Some(own)
            }
            None => self.read_own_keys(kinds, &known, &BTreeSet::new(), &mut more),
        };
        error::extend(problems, Some((place, &self.name)), more);
        Some(ReadEntry { keys: keys?, own: own? })
    }

    /// All keys of a generator, those of every one and those of its kind.
    fn read_generator(
        &self,
        place: usize,
        kinds: &ServiceKinds,
        problems: &mut Vec<JobProblem>,
    ) -> Option<ReadGenerator> {
        let mut more = Vec::new();
        let (common, of_generators) = (generators_service_keys(), keys_of::<GeneratorKeys>());
        let known = &common | &of_generators;
        let named = self.table.with_keys(&common).with_default("name", GENERATOR);
        let service = named.read::<ServiceKeys>(&mut more);
        let keys = self.table.with_keys(&of_generators).read::<GeneratorKeys>(&mut more);
        let own = self.read_own_keys(kinds, &known, &known, &mut more);
        error::extend(problems, Some((place, self.generator_name())), more);
        let (entry, max_tokens) = (ReadEntry { keys: service?, own: own? }, self.max_tokens());
        let makes_answers = kinds.get(&entry.keys.kind).is_some_and(|kind| kind.makes_answers);
        Some(ReadGenerator { entry, keys: keys?, makes_answers, max_tokens })
    }

    /// The keys of its kind but for these, and what is wrong with those that nobody knows.
    fn read_own_keys(
        &self,
        kinds: &ServiceKinds,
        known: &BTreeSet<String>,
        but: &BTreeSet<String>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<Box<dyn KindKeys>> {
        let name = self.table.text_of("kind")?;
        let Some(kind) = kinds.get(name) else {
            problems.push(unknown_kind(name, kinds));
            return None;
        };
        let own_names = &kind.key_names() - but;
        problems.extend(foreign_keys(&self.table, kind, &(known | &own_names)));
        kind.read(&self.table.with_keys(&own_names), problems)
    }

    fn generator_name(&self) -> &str {
        if self.name.is_empty() { GENERATOR } else { &self.name }
    }

    /// The most tokens of a reply, for kinds that have such a key.
    fn max_tokens(&self) -> Option<usize> {
        let number = |key: &str| usize::try_from(self.table.number_of(key)?).ok();
        number("max_completion_tokens").or_else(|| number("max_tokens"))
    }
}

/// A service that is there already.
struct GivenService(Cell<Option<Service>>);

impl KindKeys for GivenService {
    fn build(&self, _: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        Ok(self.0.take().expect("an entry is built once"))
    }
}

/// The names of the keys that are the fields of `K`.
fn keys_of<K: JsonSchema>() -> BTreeSet<String> {
    key_names(&K::json_schema(&mut SchemaGenerator::default()))
}

/// The keys of every service that a generator has.
fn generators_service_keys() -> BTreeSet<String> {
    let is_meant = |key: &String| !VERIFIER_KEYS.contains(&key.as_str());
    keys_of::<ServiceKeys>().into_iter().filter(is_meant).collect()
}

fn unknown_kind(name: &str, kinds: &ServiceKinds) -> KeyProblem {
    if name == PYTHON {
        return KeyProblem::new("kind", PYTHON_HINT);
    }
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    KeyProblem::new("kind", goodarm_files::none_of(name, &names))
}

/// What a generator is called if the job does not say.
const GENERATOR: &str = "generator";
/// What the Python package calls its functions in the jobs that it writes.
const PYTHON: &str = "python";
const PYTHON_HINT: &str = "a function of Python's is given from there: goodarm.run(\"job.toml\", verifiers={\"name\": function})";

/// Keys that a kind does not have.
fn foreign_keys(
    table: &JobTable<'_>,
    kind: &ServiceKind,
    known: &BTreeSet<String>,
) -> Vec<KeyProblem> {
    unknown_keys(table, known)
        .map(|problem| KeyProblem {
            message: format!("{} (kind {})", problem.message, kind.name),
            ..problem
        })
        .collect()
}

/// Where a job comes from.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
    overrides: &'a Overrides,
    /// Those that a program gives.
    candidates: Option<Candidates>,
}

/// Makes the job of what was read.
fn build(
    source: Source<'_>,
    file: &JobFile,
    read: Vec<Option<ReadEntry>>,
    made: Vec<Option<ReadGenerator>>,
    mut problems: Vec<JobProblem>,
) -> Result<Job, JobError> {
    let Source { path, text, overrides, candidates } = source;
    let folder = folder_of(path);
    let mut more = Vec::new();
    let settings = settings(file, overrides, folder, &mut more);
    if file.generator.is_some() && file.generators.is_some() {
        more.push(KeyProblem::new("generators", "either [generator] or [[generators]], not both"));
    }
    error::extend(&mut problems, None, more);
    let verifier_count = read.len();
    let (candidates, asked) = match read_candidates(file, folder, candidates) {
        Ok(read) => read,
        Err(error) => {
            // Whatever else is wrong is worth knowing too.
            error::extend(&mut problems, None, settings.problems());
            let problem = JobProblem::new(ProblemKind::Candidates, error.to_string());
            problems.push(JobProblem { file: Some(path.to_owned()), ..problem });
            return Err(JobError { problems });
        }
    };
    let builder = Builder { file, folder };
    let mut verifiers = builder.verifiers(read, &candidates, asked.as_ref(), &mut problems);
    let made = (verifier_count..).zip(made).collect();
    let (questions, generator_places) = match asked {
        Some(asked) => {
            let (asked, places) = builder.generators(made, asked, &mut verifiers, &mut problems);
            (Some(asked), places)
        }
        None => (None, Vec::new()),
    };
    let (places, verifiers) = verifiers.into_iter().unzip();
    let (path, text) = (path.to_owned(), text.to_owned());
    let name = file.candidates.as_ref().or(file.questions.as_ref());
    let candidates_name = name.cloned().unwrap_or_default();
    let origin = Origin { path, text, candidates_name, places, generator_places, problems };
    assemble(JobSpec { settings, candidates, verifiers, questions }, origin)
}

/// Makes verifiers and generators of their keys, each with its place in the job.
struct Builder<'a> {
    file: &'a JobFile,
    folder: &'a Path,
}

impl Builder<'_> {
    fn verifiers(
        &self,
        read: Vec<Option<ReadEntry>>,
        candidates: &Candidates,
        asked: Option<&QuestionSpec>,
        problems: &mut Vec<JobProblem>,
    ) -> Vec<(usize, ServiceSpec)> {
        let has_generator = self.file.generator.is_some() || self.file.generators.is_some();
        let makes_answers = asked.filter(|_| has_generator);
        let sample = makes_answers.map(|asked| asked.sample(candidates, &self.file.id_field));
        let shown = sample.as_ref().unwrap_or(candidates);
        let mut verifiers = Vec::new();
        for (place, entry) in read.into_iter().enumerate() {
            let Some(ReadEntry { keys, own }) = entry else { continue };
            let mut more = rubric::problems(&keys);
            if matches!(keys.votes, Some(Votes::Number(_))) && keys.kind != "llm" {
                let message = "only an llm solver makes several draws a call: a list such as [1, 5] says what single ones imply";
                more.push(KeyProblem::new("votes", message));
            }
            let list = asked.map(|asked| &asked.list);
            let context = self.context(&keys, shown, list, &mut more);
            match own.build(&context) {
                Ok(service) => {
                    verifiers.push((place, service_spec(context, service, &mut more)));
                }
                Err(own) => more.extend(own),
            }
            error::extend(problems, Some((place, &keys.name)), more);
        }
        verifiers
    }

    /// The questions with those who make answers to them; whose answers are votes is a verifier.
    fn generators(
        &self,
        made: Vec<(usize, Option<ReadGenerator>)>,
        mut asked: QuestionSpec,
        verifiers: &mut Vec<(usize, ServiceSpec)>,
        problems: &mut Vec<JobProblem>,
    ) -> (QuestionSpec, Vec<usize>) {
        let mut places = Vec::new();
        for (place, entry) in made {
            let Some(read) = entry else { continue };
            let keys = &read.entry.keys;
            let mut more = Vec::new();
            let context = self.context(keys, &asked.list, Some(&asked.list), &mut more);
            let of_solver =
                verifiers.iter().find_map(|(_, it)| it.service.manifest.final_answers.as_ref());
            let extractor = of_solver.map(|finals| finals.extractor.clone());
            match generator(&read, context, &asked.answer_field, extractor, &mut more) {
                Some(spec) if read.keys.vote == Some(true) => {
                    verifiers.push((place, ServiceSpec { proposes: true, ..spec }));
                }
                Some(spec) => {
                    asked.generators.push(spec);
                    places.push(place);
                }
                None => {}
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

/// The candidates of a job, and what they answer if that is asked for.
fn read_candidates(
    file: &JobFile,
    folder: &Path,
    given: Option<Candidates>,
) -> Result<(Candidates, Option<QuestionSpec>), CandidatesError> {
    let name = PathBuf::from(file.candidates.as_deref().unwrap_or("candidates"));
    let candidates = match (given, &file.candidates) {
        (Some(given), _) => given,
        (None, Some(path)) => Candidates::read_as(&folder.join(path), &file.id_field, file.format)?,
        (None, None) => Candidates::none(&name),
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
            "{}: the questions have a field {answer_field:?}, whose place the answers take; answer_field names another",
            file.questions.as_deref().unwrap_or_default()
        ));
    }
    let candidates = questions::joined(&candidates, &list, &question_field, &file.id_field);
    let spec = QuestionSpec { question_field, answer_field, ..QuestionSpec::new(list) };
    Ok((candidates, Some(QuestionSpec { candidates_max: 0, answer_bytes_max: 0, ..spec })))
}

/// A generator as its keys describe it.
fn generator(
    read: &ReadGenerator,
    context: ServiceContext<'_>,
    field: &str,
    of_solver: Option<Extractor>,
    problems: &mut Vec<KeyProblem>,
) -> Option<ServiceSpec> {
    let GeneratorKeys { extract, pattern, pointer, vote, .. } = &read.keys;
    let threshold = read.entry.keys.threshold;
    if threshold.is_none() && *vote == Some(true) {
        let message = "with vote = true: how often a reply must agree with an answer, such as 0.5";
        problems.push(KeyProblem::missing("threshold", message));
    }
    if threshold.is_some() && *vote != Some(true) {
        problems.push(KeyProblem::new("threshold", "only where answers are votes: vote = true"));
    }
    if read.keys.candidates_max.is_some() && *vote == Some(true) {
        let message = format!(
            "not with vote = true: there every reply is a vote, and up to {PROPOSED_ANSWERS_MAX} different answers to a question are taken up"
        );
        problems.push(KeyProblem::new("candidates_max", message));
    }
    let limits = [
        ("candidates_max", read.candidates_max(), PROPOSED_ANSWERS_MAX),
        ("answer_bytes_max", read.answer_bytes_max(), ANSWER_BYTES_LIMIT),
    ];
    for (key, number, most) in limits {
        if !(1..=most).contains(&number) {
            problems.push(KeyProblem::new(key, format!("{number} is not between 1 and {most}")));
        }
    }
    let extractor = match (extract, of_solver) {
        (None, Some(extractor)) if pattern.is_none() && pointer.is_none() => Ok(extractor),
        _ => Extractor::new(
            extract.unwrap_or(ExtractName::Whole),
            pattern.as_deref(),
            pointer.as_deref(),
        ),
    };
    let extractor = collect(extractor, problems);
    let service = if read.makes_answers {
        read.entry.own.build(&ServiceContext { makes_answers: true, ..context })
    } else {
        let message = "this kind makes no answers; command, http, human, llm and pool do";
        Err(vec![KeyProblem::new("kind", message)])
    };
    let service = service.map_err(|more| problems.extend(more)).ok();
    let (extractor, service) = (extractor?, service?);
    let (field, bytes_max) = (field.to_owned(), read.answer_bytes_max());
    let service = service.answering(FinalAnswerRule { field, extractor, bytes_max });
    Some(service_spec(context, service, problems))
}

impl ReadGenerator {
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
        votes: match &keys.votes {
            Some(Votes::Implied(sizes)) => Some(sizes.clone()),
            Some(Votes::Number(_)) | None => None,
        },
        // A price that is wrong is not missing as well.
        pricing: pricing.unwrap_or(Some(Pricing::Fixed(Cost::from_picos(1)))),
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

/// Few tokens are longer.
const BYTES_PER_TOKEN: usize = 8;
/// Answers are kept in memory and in the journal.
const ANSWER_BYTES_LIMIT: usize = 1 << 20;

/// The same problems, with where they are.
fn located(path: &Path, table: &JobTable<'_>, mut error: JobError) -> JobError {
    let mut verifiers = table.tables("verifiers");
    let verifier_count = verifiers.len();
    verifiers.extend(generator_tables(table));
    for problem in &mut error.problems {
        problem.is_generator =
            problem.verifier.as_ref().is_some_and(|(place, _)| *place >= verifier_count);
        // The candidates are in a file of their own, which the message names.
        if problem.file.is_some() || problem.kind == ProblemKind::Candidates {
            continue;
        }
        problem.file = Some(path.to_owned());
        let place = problem.verifier.as_ref().and_then(|(place, _)| verifiers.get(*place));
        problem.line = match (place, &problem.key, &problem.kind) {
            (Some(verifier), _, ProblemKind::UnknownField(field)) => {
                Some(verifier.line_with(field))
            }
            (Some(verifier), Some(key), _) => Some(verifier.line_of(key)),
            (Some(verifier), None, _) => Some(verifier.line_of("")),
            (None, Some(key), _) if table.has(key) => Some(table.line_of(key)),
            (None, ..) => None,
        };
    }
    error.problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
    error
}
