//! A job that can be run: the file read, every key checked, candidates loaded, verifiers ready.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use goodarm_core::{Cost, Problem, policy};

use crate::candidates::Candidates;
use crate::charter::{Charter, Clause};
use crate::job_file::{JobFile, Kind, ScoresFile, Unit, VerifierFile};
use crate::line::Limits;
use crate::pricing::{Extent, Tariff};
use crate::recording::Recording;
use crate::toml_text;
use crate::verifier::wrong::Wrong;
use crate::verifier::{Remote, check, command, http, llm, replay};

/// A job, ready to run.
pub struct Job {
    /// Where the file is.
    pub path: PathBuf,
    /// What it says.
    pub file: JobFile,
    /// Its text.
    pub text: String,
    /// What is to be certified.
    pub candidates: Candidates,
    /// The verifiers, in the file's order.
    pub verifiers: Vec<Verifier>,
    /// What the run promises.
    pub charter: Charter,
    /// The same, checked.
    pub problem: Problem,
    /// Where everything is written.
    pub output: PathBuf,
}

/// One verifier, ready to be called.
pub struct Verifier {
    /// What reports call it.
    pub name: String,
    /// What it does.
    pub work: Work,
    /// How its calls are charged.
    pub tariff: Tariff,
    /// When they may be sent.
    pub limits: Limits,
}

/// Who does the work.
pub enum Work {
    /// We, at once and always the same.
    Check(check::Check),
    /// A recording; the same again for the same place.
    Replay(replay::Replay),
    /// Somebody else.
    Remote(Remote),
}

impl Work {
    /// Whether a call that was lost can be made again and says the same.
    pub const fn is_reproducible(&self) -> bool {
        matches!(self, Self::Check(_) | Self::Replay(_))
    }
}

/// What a command line may say in place of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The budget.
    pub budget: Option<f64>,
    /// The output folder, relative to the working directory.
    pub output: Option<PathBuf>,
}

/// Everything that is wrong with a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct JobError {
    wrongs: Vec<String>,
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wrongs.join("\n"))
    }
}

impl JobError {
    fn one(wrong: impl fmt::Display) -> Self {
        Self { wrongs: vec![wrong.to_string()] }
    }
}

impl Job {
    /// Reads a job and everything it names.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, JobError> {
        let text = fs::read_to_string(path)
            .map_err(|error| JobError::one(format!("{}: {error}", path.display())))?;
        Self::parse(path, text, overrides)
    }

    /// A job whose text is `text`, at `path`.
    pub fn parse(path: &Path, text: String, overrides: &Overrides) -> Result<Self, JobError> {
        let mut file = read_file(path, &text)?;
        file.budget = overrides.budget.unwrap_or(file.budget);
        let folder = folder_of(path);
        let candidates_path = folder.join(&file.candidates);
        let candidates = Candidates::read(&candidates_path, &file.id_field);
        let wrongs = file_wrongs(&file).into_iter().map(|wrong| located(&text, wrong)).collect();
        let mut report = Report { path, text: &text, wrongs };
        let candidates = match candidates {
            Ok(candidates) => candidates,
            Err(error) => {
                report.wrongs.push(error.to_string());
                // Whatever else is wrong is worth knowing too.
                for (index, verifier) in file.verifiers.iter().enumerate() {
                    report.take(index, verifier, &key_wrongs(verifier));
                }
                return Err(report.error());
            }
        };
        let mut verifiers = Vec::with_capacity(file.verifiers.len());
        let builder = Builder { file: &file, folder, candidates: &candidates };
        for (index, verifier) in file.verifiers.iter().enumerate() {
            match builder.verifier(verifier) {
                Ok(verifier) => verifiers.push(verifier),
                Err(wrongs) => report.take(index, verifier, &wrongs),
            }
        }
        if !report.wrongs.is_empty() {
            return Err(report.error());
        }
        for (index, (verifier, _)) in verifiers.iter().enumerate() {
            report.take_unknown(index, verifier, &candidates);
        }
        if !report.wrongs.is_empty() {
            return Err(report.error());
        }
        let fields = verifiers.iter().flat_map(|(verifier, _)| verifier.fields()).collect();
        candidates.require_fields(&fields).map_err(JobError::one)?;
        let charter = charter(&file, &text, candidates.len(), &verifiers);
        let problem = charter.problem().map_err(|error| report.problem(&error))?;
        let verifiers = verifiers.into_iter().map(|(verifier, _)| verifier).collect();
        let output = overrides.output.clone().unwrap_or_else(|| folder.join(&file.output));
        Ok(Self {
            path: path.to_owned(),
            file,
            text,
            candidates,
            verifiers,
            charter,
            problem,
            output,
        })
    }

    /// What the budget and all prices count.
    pub const fn unit(&self) -> Unit {
        self.file.unit
    }
}

/// Reads a job file without what it names: for those who need only the text.
pub fn read_file(path: &Path, text: &str) -> Result<JobFile, JobError> {
    toml_text::parse(text).map_err(|reason| JobError::one(format!("{}: {reason}", path.display())))
}

/// The folder that the paths in a job file start from.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What is wrong with the job's own keys.
fn file_wrongs(file: &JobFile) -> Vec<String> {
    let mut wrongs = Vec::new();
    let known = policy::NAMES.iter().copied().filter(|name| *name != "oracle");
    if !known.clone().any(|name| name == file.policy) {
        let list: Vec<&str> = known.clone().collect();
        let hint = toml_text::nearest(&file.policy, known)
            .map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
        let list = list.join(", ");
        wrongs.push(format!("policy: {:?} is none of {list}{hint}", file.policy));
    }
    if !(file.delta > 0.0 && file.delta < 1.0) {
        let value = file.delta;
        wrongs.push(format!("delta: {value} is not strictly between 0 and 1, such as 0.05"));
    }
    if !(file.budget > 0.0 && file.budget.is_finite()) {
        wrongs.push(format!("budget: {} is no amount above 0", file.budget));
    }
    if file.concurrency == 0 || file.concurrency > CONCURRENCY_MAX {
        let value = file.concurrency;
        wrongs.push(format!("concurrency: {value} is not between 1 and {CONCURRENCY_MAX}"));
    }
    if file.verifiers.is_empty() {
        wrongs.push("verifiers: at least one [[verifiers]] is needed".into());
    }
    if let Some(expect) = &file.expect {
        let numbers = [Some(expect.good), expect.good_mean, expect.bad_mean];
        if numbers.iter().flatten().any(|number| !(0.0..=1.0).contains(number)) {
            wrongs.push("expect: all numbers are between 0 and 1".into());
        }
    }
    wrongs
}

/// What is wrong with a key of the job's own, with its line.
fn located(text: &str, wrong: String) -> String {
    let key = wrong.split(':').next().unwrap_or_default();
    let own = text.lines().take_while(|line| !line.trim_start().starts_with('['));
    let is_key = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    match own.into_iter().position(is_key) {
        Some(index) => format!("line {}: {wrong}", index + 1),
        None => wrong,
    }
}

/// Gathers what is wrong, with where it is.
struct Report<'a> {
    path: &'a Path,
    text: &'a str,
    wrongs: Vec<String>,
}

impl Report<'_> {
    fn take(&mut self, index: usize, verifier: &VerifierFile, wrongs: &[Wrong]) {
        for Wrong { key, problem } in wrongs {
            let line = line_of(self.text, index, key);
            let name = &verifier.name;
            self.wrongs.push(format!("line {line}: verifier {name:?}: {key}: {problem}"));
        }
    }

    /// A field that no candidate has is misspelt here, and not in each of them.
    fn take_unknown(&mut self, index: usize, verifier: &Verifier, candidates: &Candidates) {
        for (field, nearest) in candidates.unknown_fields(&verifier.fields()) {
            let line = line_with(self.text, index, &field);
            let name = &verifier.name;
            let hint = nearest.map_or(String::new(), |name| format!("; did you mean {name:?}?"));
            self.wrongs.push(format!(
                "line {line}: verifier {name:?} uses the field {field:?}, which no candidate has{hint}"
            ));
        }
    }

    fn problem(&self, error: &dyn fmt::Display) -> JobError {
        JobError::one(format!("{}: {error}", self.path.display()))
    }

    fn error(self) -> JobError {
        let path = self.path.display();
        let wrongs = self.wrongs.iter().map(|wrong| format!("{path}: {wrong}")).collect();
        JobError { wrongs }
    }
}

/// The line of a verifier's key, or of the verifier if it has no such key.
fn line_of(text: &str, verifier: usize, key: &str) -> usize {
    let mut count = 0;
    let mut start = 1;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("[[verifiers]]") {
            count += 1;
            if count == verifier + 1 {
                start = index + 1;
            }
        }
        let is_key =
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(['=', '.']));
        let is_table = line.trim_end() == format!("[verifiers.{key}]");
        if count == verifier + 1 && (is_key || is_table) {
            return index + 1;
        }
    }
    start
}

/// The first line of a verifier that holds a word, or of the verifier if none does.
fn line_with(text: &str, verifier: usize, word: &str) -> usize {
    let start = line_of(text, verifier, "[[verifiers]]");
    let is_end = |line: &str| line.trim_start().starts_with("[[verifiers]]");
    let own = text.lines().skip(start).take_while(|line| !is_end(line));
    own.enumerate()
        .find(|(_, line)| line.contains(word))
        .map_or(start, |(index, _)| start + index + 1)
}

/// Makes verifiers.
struct Builder<'a> {
    file: &'a JobFile,
    folder: &'a Path,
    candidates: &'a Candidates,
}

impl Builder<'_> {
    fn verifier(&self, file: &VerifierFile) -> Result<(Verifier, Clause), Vec<Wrong>> {
        let mut wrongs = key_wrongs(file);
        let work = match self.work(file) {
            Ok(work) => work,
            Err(more) => {
                // A key of another kind explains most of what is missing.
                wrongs.extend(more);
                return Err(wrongs);
            }
        };
        let threshold = file.threshold.or(matches!(work, Work::Check(_)).then_some(0.5));
        let threshold = threshold.unwrap_or_else(|| {
            wrongs.push(Wrong::new(
                "threshold",
                "the mean score to be reached is needed, such as 0.7",
            ));
            0.5
        });
        if !(threshold > 0.0 && threshold < 1.0) {
            let reason = format!("{threshold} is not strictly between 0 and 1");
            wrongs.push(Wrong::new("threshold", reason));
        }
        let limits = self.limits(file, &mut wrongs);
        let tariff = match self.tariff(file, &work) {
            Ok(tariff) => tariff,
            Err((key, reason)) => {
                wrongs.push(Wrong::new(key, reason));
                return Err(wrongs);
            }
        };
        if Cost::of_budget(self.file.budget).is_ok_and(|budget| tariff.ceiling > budget) {
            let key = if file.metered.is_some() { "metered" } else { "price" };
            let (ceiling, budget) = (tariff.ceiling, self.file.budget);
            let reason =
                format!("a call may cost {ceiling}, more than the whole budget of {budget}");
            wrongs.push(Wrong::new(key, reason));
        }
        if !wrongs.is_empty() {
            return Err(wrongs);
        }
        let clause = Clause {
            name: file.name.clone(),
            kind: file.kind,
            threshold,
            scores: file.scores.unwrap_or_else(|| default_scores(&work)),
            ceiling: tariff.ceiling.to_string().parse().expect("an amount reads as a number"),
            metered: tariff.is_metered(),
        };
        Ok((Verifier { name: file.name.clone(), work, tariff, limits }, clause))
    }

    fn work(&self, file: &VerifierFile) -> Result<Work, Vec<Wrong>> {
        Ok(match file.kind {
            Kind::Check => Work::Check(check::Check::new(file, self.folder)?),
            Kind::Command => {
                Work::Remote(Remote::Command(command::Command::new(file, self.folder)?))
            }
            Kind::Http => Work::Remote(Remote::Http(http::Http::new(file, self.folder)?)),
            Kind::Llm => Work::Remote(Remote::Llm(llm::Llm::new(file, self.folder)?)),
            Kind::Replay => Work::Replay(self.replay(file)?),
        })
    }

    fn replay(&self, file: &VerifierFile) -> Result<replay::Replay, Vec<Wrong>> {
        let Some(path) = &file.recording else {
            let reason = "the path of a recording is needed; `goodarm record` makes one";
            return Err(vec![Wrong::new("recording", reason)]);
        };
        let of = file.of.as_ref().unwrap_or(&file.name);
        let recording = Recording::read(&self.folder.join(path), of).map_err(|wrongs| {
            wrongs.into_iter().map(|wrong| Wrong::new("recording", wrong)).collect::<Vec<_>>()
        })?;
        let draws = file.draws.unwrap_or_default();
        replay::Replay::new(&recording, self.candidates, draws, self.file.seed)
            .map_err(|reason| vec![Wrong::new("recording", reason)])
    }

    fn limits(&self, file: &VerifierFile, wrongs: &mut Vec<Wrong>) -> Limits {
        let concurrency = file.concurrency.unwrap_or(self.file.concurrency);
        if concurrency == 0 {
            wrongs.push(Wrong::new("concurrency", "at least 1"));
        }
        let mut positive = |key, value: Option<f64>| match value {
            Some(value) if !(value > 0.0 && value <= SECONDS_MAX) => {
                wrongs.push(Wrong::new(
                    key,
                    format!("{value} is not more than 0 and at most {SECONDS_MAX:e}"),
                ));
                None
            }
            value => value,
        };
        let _ = positive("timeout", file.timeout);
        let rate = positive("rate", file.rate);
        let patience = positive("patience", file.patience).unwrap_or(PATIENCE_SECONDS);
        Limits {
            concurrency: concurrency.max(1),
            rate,
            retries: file.retries,
            patience: Duration::from_secs_f64(patience),
        }
    }

    fn tariff(&self, file: &VerifierFile, work: &Work) -> Result<Tariff, crate::pricing::Wrong> {
        match (file.price, &file.metered) {
            (Some(_), Some(_)) => Err(("metered", "either price or metered, not both".into())),
            (Some(price), None) => Tariff::fixed(price),
            (None, Some(metered)) => Tariff::metered(metered, self.extent(file, work)),
            (None, None) => self.default_tariff(file, work),
        }
    }

    fn default_tariff(
        &self,
        file: &VerifierFile,
        work: &Work,
    ) -> Result<Tariff, crate::pricing::Wrong> {
        use crate::job_file::MeteredFile;
        match (work, self.file.unit) {
            (Work::Check(_), _) => Tariff::fixed(CHECK_PRICE),
            (Work::Replay(replay), _) => Ok(Tariff::recorded(replay.ceiling())),
            (_, Unit::Calls) => Tariff::fixed(1.0),
            (_, Unit::Seconds) => {
                let metered = MeteredFile { second: Some(1.0), ..MeteredFile::default() };
                Tariff::metered(&metered, self.extent(file, work))
            }
            (Work::Remote(Remote::Llm(_)), Unit::Tokens) => {
                let metered =
                    MeteredFile { input: Some(1.0), output: Some(1.0), ..MeteredFile::default() };
                Tariff::metered(&metered, self.extent(file, work))
            }
            (_, unit) => {
                let unit = format!("{unit:?}").to_lowercase();
                Err(("price", format!("what a call costs, in {unit}, is needed")))
            }
        }
    }

    /// The most that a call can take.
    fn extent(&self, file: &VerifierFile, work: &Work) -> Extent {
        let timeout = file.timeout.filter(|timeout| (0.0..SECONDS_MAX).contains(timeout));
        let timeout = Duration::from_secs_f64(timeout.unwrap_or(TIMEOUT_SECONDS));
        let Work::Remote(Remote::Llm(llm)) = work else {
            return Extent { input_tokens: None, output_tokens: None, timeout };
        };
        let votes = u64::from(llm.votes());
        let needs_ceiling = file.metered.is_none_or(|metered| metered.ceiling.is_none());
        // A token is at least a byte, so no prompt has more tokens than bytes.
        let input_tokens = needs_ceiling.then(|| {
            let bytes = |arm| llm.prompt_bytes(&self.candidates.get(arm)).unwrap_or(0);
            let longest = self.candidates.arms().map(bytes).max().unwrap_or(0);
            votes * (longest as u64 + CHAT_OVERHEAD_TOKENS)
        });
        let output_tokens = llm.max_tokens().map(|tokens| votes * u64::from(tokens));
        Extent { input_tokens, output_tokens, timeout }
    }
}

/// Keys that belong to another kind.
fn key_wrongs(file: &VerifierFile) -> Vec<Wrong> {
    let known = keys_of(file.kind);
    let given = serde_json::to_value(file).unwrap_or_default();
    let foreign: BTreeSet<&'static str> = KINDS
        .into_iter()
        .flat_map(|kind| keys_of(kind).iter().copied())
        .filter(|key| !known.contains(key) && !given[key].is_null())
        .collect();
    foreign
        .into_iter()
        .map(|key| {
            let kind = format!("{:?}", file.kind).to_lowercase();
            let known = known.join(", ");
            Wrong::new(key, format!("a verifier of kind {kind} has no such key; it has {known}"))
        })
        .collect()
}

const fn keys_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Check => check::Check::KEYS,
        Kind::Command => command::Command::KEYS,
        Kind::Http => http::Http::KEYS,
        Kind::Llm => llm::Llm::KEYS,
        Kind::Replay => replay::Replay::KEYS,
    }
}

const KINDS: [Kind; 5] = [Kind::Check, Kind::Command, Kind::Http, Kind::Llm, Kind::Replay];

fn default_scores(work: &Work) -> ScoresFile {
    match work {
        Work::Check(_) => ScoresFile::Exact,
        Work::Replay(replay) if replay.is_binary() => ScoresFile::Binary,
        Work::Replay(_) => ScoresFile::Bounded,
        Work::Remote(Remote::Command(command)) => command.default_scores(),
        Work::Remote(Remote::Http(http)) => http.default_scores(),
        Work::Remote(Remote::Llm(llm)) => llm.default_scores(),
    }
}

impl Verifier {
    fn fields(&self) -> BTreeSet<String> {
        match &self.work {
            Work::Check(check) => check.fields(),
            Work::Replay(_) => BTreeSet::new(),
            Work::Remote(Remote::Command(command)) => command.fields(),
            Work::Remote(Remote::Http(http)) => http.fields(),
            Work::Remote(Remote::Llm(llm)) => llm.fields(),
        }
    }
}

fn charter(
    file: &JobFile,
    text: &str,
    candidate_count: usize,
    verifiers: &[(Verifier, Clause)],
) -> Charter {
    Charter {
        unit: file.unit,
        budget: file.budget,
        delta: file.delta,
        guarantee: file.guarantee,
        policy: file.policy.clone(),
        stop_when_hopeless: file.stop_when_hopeless,
        candidate_count,
        verifiers: verifiers.iter().map(|(_, clause)| clause.clone()).collect(),
        job: text.to_owned(),
    }
}

/// More calls out than this help nobody.
const CONCURRENCY_MAX: usize = 4096;
const SECONDS_MAX: f64 = 1e6;
const PATIENCE_SECONDS: f64 = 300.0;
/// Without a timeout in the file.
pub const TIMEOUT_SECONDS: f64 = 60.0;
/// A check runs here and costs nothing worth counting, but a price must be more than 0.
const CHECK_PRICE: f64 = 1e-9;
/// What a chat template adds to a prompt, and more.
const CHAT_OVERHEAD_TOKENS: u64 = 256;
