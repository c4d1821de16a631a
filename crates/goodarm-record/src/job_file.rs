//! The job file as a person writes it: the keys of the job and those of every verifier. The keys of
//! one kind of verifier are in that kind's file; what the keys mean together is decided in
//! `goodarm_live::job`.

pub mod table;

use std::collections::BTreeSet;
use std::time::Duration;

use goodarm_data::answer::ExtractName;
use goodarm_data::candidates::{Format, ID_FIELD};
use goodarm_files::money::AmountInput;
pub use goodarm_files::{GuaranteeName, Scores, Unit};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A job: which answers to certify, with which verifiers, for how much.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobFile {
    /// The answers to be certified: a .jsonl, .json, .csv, .tsv, .parquet or .eval file. All paths are
    /// relative to the job file. Not needed where a generator answers `questions`.
    #[serde(default)]
    pub candidates: Option<String>,
    /// The questions, if candidates are answers to questions: a file of the same kinds. At most one answer to
    /// each question is certified. Without this file the candidates name their questions, in `question_field`.
    #[serde(default)]
    pub questions: Option<String>,
    /// The field of a candidate that names its question; question_id if not given.
    #[serde(default)]
    pub question_field: Option<String>,
    /// The field of a candidate that holds the answer to its question; answer if not given.
    #[serde(default)]
    pub answer_field: Option<String>,
    /// The service that makes answers to the questions during the run.
    #[serde(default)]
    pub generator: Option<Map<String, Value>>,
    /// Several generators, instead of `generator`: a cheap model and an expensive one, for example.
    #[serde(default)]
    pub generators: Option<Vec<Map<String, Value>>>,
    /// The format of the candidates (without candidates, of the questions), if neither the name of the file nor
    /// its content shows it: jsonl, json, csv, tsv, parquet, inspect, lm-eval, promptfoo, openai-batch or verifiers.
    #[serde(default)]
    pub format: Option<Format>,
    /// The field that names a candidate; names must differ. `meta.id` is the field `id` of the field `meta`.
    /// Without a field `id` ids are made.
    #[serde(default = "id_field")]
    pub id_field: String,
    /// The most that may be spent, in `unit`: a number, or in quotes where a number would lose digits.
    pub budget: AmountInput,
    /// What the budget and all prices count.
    #[serde(default)]
    pub unit: Unit,
    /// With probability 1 − delta no certificate is wrong.
    pub delta: f64,
    /// What delta bounds: `lent`, `holm` and `union` the probability that any certificate is wrong,
    /// `fdr` the expected share of wrong certificates. Without it `lent` with the policy rcb, and
    /// `holm` with the others; with the policy fixed always `none`.
    #[serde(default)]
    pub guarantee: Option<GuaranteeName>,
    /// Which rule chooses the next call: rcb (the default), bma-gai, cb-gai, uniform, round-robin,
    /// hdoc, lucb-g or apt-g. It cannot make a certificate wrong. Or fixed, which makes a recording:
    /// `calls_per_pair` calls of every verifier on every answer, and no certificate.
    #[serde(default = "policy")]
    pub policy: String,
    /// With the policy fixed: how many calls each verifier makes on each answer, and how many answers each
    /// generator and each solver gives to each question.
    #[serde(default)]
    pub calls_per_pair: Option<u64>,
    /// Calls that may be in flight at once, over all verifiers.
    #[serde(default = "concurrency")]
    pub concurrency: usize,
    /// The most calls to other processes, at any price; our own checks and replays do not count. If not given, a
    /// thousand times what the budget pays for at the cheapest ceiling.
    #[serde(default)]
    pub calls_max: Option<u64>,
    /// The seed of everything that is drawn at random: the order in which answers that look alike are
    /// tried, and the draws of `replay` verifiers.
    #[serde(default)]
    pub seed: u64,
    /// The folder for the journal and everything the run writes; relative to the job file.
    #[serde(default = "output")]
    pub output: String,
    /// Stop when no answer has a realistic chance with the money that is left, and keep the money.
    #[serde(default = "yes")]
    pub stop_when_hopeless: bool,
    /// The verifiers; an answer is certified when its mean score reaches every one's threshold.
    #[serde(default)]
    pub verifiers: Vec<Map<String, Value>>,
    /// A guess at the answers, for the forecast of `--dry-run` only.
    pub expect: Option<ExpectFile>,
}

/// The keys that every service has: a verifier all of them, a generator all but [`VERIFIER_KEYS`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceKeys {
    /// Its name in reports; names must differ. A generator without a name is called generator.
    pub name: String,
    /// The kind of the service, such as llm or command.
    pub kind: String,
    /// The mean score that an answer must reach, between 0 and 1; a generator has it only with `vote`.
    /// Checks have 0.5 if none is given.
    pub threshold: Option<f64>,
    /// What is known of the scores before any is seen; each kind has a default.
    pub scores: Option<Scores>,
    /// What every call costs, in the job's unit.
    pub price: Option<f64>,
    /// Prices for what a call uses, such as tokens, instead of a fixed `price`.
    pub metered: Option<MeteredFile>,
    /// What a failed call costs if its reply does not say. "free" (the default, except in calls): an HTTP error
    /// costs nothing, and a call without a reply probably the mean of all bills, at most the ceiling. "mean": a
    /// call without a reply costs the mean, also at most. "ceiling": every failed call costs its ceiling.
    pub failed: Option<FailedCalls>,
    /// Seconds until a call counts as failed; 60 if not given.
    pub timeout: Option<f64>,
    /// The most requests that are sent per second.
    pub rate: Option<f64>,
    /// Its calls that may be in flight at once; the job's concurrency if not given.
    pub concurrency: Option<usize>,
    /// How often a call that never reached it, or was throttled, is sent again before it counts as the
    /// lowest score. If not given: without limit while the service answers no calls, and five times while
    /// it answers others.
    pub retries: Option<u32>,
    /// Seconds that it may be down before the run stops, to be resumed; 300 if not given.
    pub patience: Option<f64>,
    /// The criteria that each reply of a command, a server or an LLM judge has scores for, each with a
    /// threshold of its own.
    pub criteria: Option<Vec<CriterionKeys>>,
}

/// Keys of [`ServiceKeys`] that only verifiers have.
pub const VERIFIER_KEYS: [&str; 2] = ["scores", "criteria"];

/// The keys that every generator has beside those of every service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorKeys {
    /// Where the final answer is: answers with equal final answers are one answer. If not given, where the
    /// first solver among the verifiers looks, or else the whole answer.
    pub extract: Option<ExtractName>,
    /// A regular expression for the final answer.
    pub pattern: Option<String>,
    /// A JSON pointer to the final answer.
    pub pointer: Option<String>,
    /// How many answers may be made for a question, including duplicates and failures; 8 if not given.
    pub candidates_max: Option<usize>,
    /// The most bytes of an answer; a longer one counts as failed. If not given 8 times max_tokens, or 16384.
    pub answer_bytes_max: Option<usize>,
    /// true: each answer is also a vote for itself, and `threshold` the share of votes that an answer
    /// must reach.
    pub vote: Option<bool>,
}

/// One of the scores in a reply.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionKeys {
    /// Its name in reports, after the verifier's name; the criteria of a verifier have different names.
    pub name: String,
    /// The mean score that an answer must reach.
    pub threshold: f64,
    /// A JSON pointer to the score in the reply, such as /clarity.
    pub pointer: String,
    /// What is known of its scores before any is seen; if not given, that of the verifier.
    pub scores: Option<Scores>,
}

/// Prices for what a call uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeteredFile {
    /// The price of `per` tokens of the prompt.
    pub input: Option<f64>,
    /// The price of `per` tokens of the reply.
    pub output: Option<f64>,
    /// How many tokens `input` and `output` pay for; vendors' lists have 1000000. Needed in
    /// dollars; elsewhere 1 if not given.
    pub per: Option<f64>,
    /// The price of each second that a call takes.
    pub second: Option<f64>,
    /// true: the reply of a command or http verifier says what it cost, in its field `cost`.
    pub reported: Option<bool>,
    /// The most that a call may cost: reserved before it starts, and kept if the cost is not known.
    pub ceiling: Option<f64>,
    /// What a call is expected to cost: for forecasts, and for the order of the first calls. A guess from
    /// the prompts if not given.
    pub expected: Option<f64>,
}

/// A guess at the answers.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectFile {
    /// The share of good answers.
    pub good: f64,
    /// The mean score of a good answer on a noisy verifier; half-way from the threshold to 1 if not
    /// given.
    pub good_mean: Option<f64>,
    /// The mean score of a bad answer; half the threshold if not given.
    pub bad_mean: Option<f64>,
}

/// What is charged for a failed call whose reply does not say what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailedCalls {
    /// An HTTP error costs nothing. For a call without a reply, the mean of the service's bills is settled, and the
    /// ceiling is possible.
    #[default]
    Free,
    /// An HTTP error costs nothing. A call without a reply costs the mean of the service's bills.
    Mean,
    /// The ceiling.
    Ceiling,
}

/// The names of all keys of an object.
pub fn key_names(schema: &Schema) -> BTreeSet<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(key, _)| key.clone()).collect()
}

/// The policy if a job does not say another.
pub fn policy() -> String {
    "rcb".into()
}

/// The most calls in flight if a job does not give another number.
pub const fn concurrency() -> usize {
    8
}

/// The output folder if a job does not say another.
pub fn output() -> String {
    "run".into()
}

/// The time until a call counts as failed, if the job does not give another.
pub const TIMEOUT: Duration = Duration::from_secs(60);

const fn yes() -> bool {
    true
}

/// The field that names a candidate if a job does not say another.
pub fn id_field() -> String {
    ID_FIELD.into()
}
