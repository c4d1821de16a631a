//! A job defined in code, and what a program adds to a job file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use goodarm_core::{Cost, policy};
use goodarm_data::candidates::Candidates;
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::{self, ExpectFile, FailedCalls, GuaranteeName, Scores, Unit};

use crate::pricing::Pricing;
use crate::service::Service;
use crate::services::ServiceKinds;

/// A job made in code.
pub struct JobSpec {
    /// The settings of the whole job.
    pub settings: JobSettings,
    /// The answers to certify.
    pub candidates: Candidates,
    /// An answer is certified when its mean score reaches the threshold of every one of these.
    pub verifiers: Vec<ServiceSpec>,
    /// The questions, if one answer to each is to be certified.
    pub questions: Option<QuestionSpec>,
}

/// The settings of a whole job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSettings {
    /// The most that may be spent.
    pub budget: Cost,
    /// The unit of the budget and of all prices.
    pub unit: Unit,
    /// The error probability.
    pub delta: f64,
    /// What `delta` bounds.
    pub guarantee: GuaranteeName,
    /// The rule that chooses the calls.
    pub policy: String,
    /// Calls that may be in flight at once, over all verifiers.
    pub concurrency: usize,
    /// The most calls to other processes and people; see [`super::Job::calls_max`].
    pub calls_max: Option<u64>,
    /// With the policy `fixed`: the number of calls of each verifier on each answer.
    pub calls_per_pair: Option<u64>,
    /// The seed of random draws.
    pub seed: u64,
    /// The folder of the run.
    pub output: PathBuf,
    /// Whether to stop when no answer has a realistic chance to be certified with the money that is left.
    pub stop_when_hopeless: bool,
    /// The field that names a candidate.
    pub id_field: String,
    /// A guess at how many answers are good and how they score; used for a forecast only.
    pub expect: Option<ExpectFile>,
}

impl JobSettings {
    /// The defaults of a job file, with this budget and error probability.
    pub fn new(budget: Cost, delta: f64) -> Self {
        Self {
            budget,
            unit: Unit::default(),
            delta,
            guarantee: GuaranteeName::default(),
            policy: job_file::policy(),
            concurrency: job_file::concurrency(),
            calls_max: None,
            calls_per_pair: None,
            seed: 0,
            output: job_file::output().into(),
            stop_when_hopeless: true,
            id_field: job_file::id_field(),
            expect: None,
        }
    }
}

/// A verifier or a generator of a job made in code.
pub struct ServiceSpec {
    /// Its name in reports; unique.
    pub name: String,
    /// Its kind in the run terms.
    pub kind: String,
    /// What distinguishes it from other services of its kind, such as a version or a prompt. A run is not resumed if
    /// this has changed.
    pub identity: String,
    /// The mean score that an answer must reach; some verifiers have a default.
    pub threshold: Option<f64>,
    /// What is known of its scores; every verifier has a default.
    pub scores: Option<Scores>,
    /// The scores in each of its replies, in the order of [`crate::service::Verdict::Scores`]; empty if a
    /// reply is one score. With criteria there is no `threshold`.
    pub criteria: Vec<CriterionSpec>,
    /// If it answers questions: whether its own new answers become candidates.
    pub proposes: bool,
    /// What its calls cost; many verifiers have a default.
    pub pricing: Option<Pricing>,
    /// What a failed call costs if its reply does not say; `None` for the default of the unit.
    pub failed: Option<FailedCalls>,
    /// The most requests per second.
    pub rate: Option<f64>,
    /// Calls that may be in flight at once; `None` for the `concurrency` of the job.
    pub concurrency: Option<usize>,
    /// Retries of one call after failed attempts (429, 503, no connection) before it is given up and counts as the
    /// lowest score. With `None`, retries are unlimited during an outage, and five while other calls get replies (up
    /// to twenty if the server is busy).
    pub retries: Option<u32>,
    /// How long the service may be down before the run stops; the run can be resumed later.
    pub patience: Duration,
    /// How it is called.
    pub service: Service,
}

/// One of the scores in a verifier's replies.
#[derive(Clone, Debug, PartialEq)]
pub struct CriterionSpec {
    /// Its name in reports, after the verifier's; unique for a verifier.
    pub name: String,
    /// The mean score that an answer must reach.
    pub threshold: f64,
    /// What is known of its scores; `None` for the `scores` of the verifier.
    pub scores: Option<Scores>,
}

impl ServiceSpec {
    /// A service with defaults for everything else.
    pub fn new(name: impl Into<String>, service: impl Into<Service>) -> Self {
        Self {
            name: name.into(),
            kind: "code".into(),
            identity: String::new(),
            threshold: None,
            scores: None,
            criteria: Vec::new(),
            proposes: false,
            pricing: None,
            failed: None,
            rate: None,
            concurrency: None,
            retries: None,
            patience: PATIENCE,
            service: service.into(),
        }
    }
}

/// What a program adds to the text of a job.
#[derive(Default)]
pub struct JobInputs {
    /// Settings that replace those of the text.
    pub overrides: Overrides,
    /// The kinds that the services of the job may have.
    pub kinds: ServiceKinds,
    /// Candidates to use instead of the file at the key `candidates`, which is then only their name.
    pub candidates: Option<Candidates>,
    /// Verifiers of the program, by name. Their tables in `[[verifiers]]` have only the keys that all verifiers have.
    pub verifiers: BTreeMap<String, Service>,
}

/// What a command line may set in place of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The budget.
    pub budget: Option<f64>,
    /// The policy. If it is not the file's, the file's `calls_per_pair` is ignored.
    pub policy: Option<String>,
    /// The number of calls of each verifier on each answer, with the policy `fixed`.
    pub calls_per_pair: Option<u64>,
    /// The output folder, relative to the working directory.
    pub output: Option<PathBuf>,
}

impl JobSettings {
    /// Whether a fixed number of calls is recorded and nothing is certified.
    pub fn is_recording(&self) -> bool {
        self.policy == FIXED
    }

    /// The settings, with those that a recording implies. A recording certifies nothing, so it has no guarantee and
    /// does not stop because it is hopeless.
    pub(super) fn with_recording_defaults(self) -> Self {
        if !self.is_recording() {
            return self;
        }
        Self { guarantee: GuaranteeName::None, stop_when_hopeless: false, ..self }
    }

    pub(super) fn problems(&self) -> Vec<KeyProblem> {
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
                let message = format!("only for policy = {FIXED:?}, not {:?}", self.policy);
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
}

/// The most calls in flight. It is more than the sockets of one process, and it bounds the calls that a crash loses
/// (except for a few that a run decides ahead while the disk writes).
const CONCURRENCY_MAX: usize = 65_536;
const FIXED: &str = "fixed";
const PATIENCE: Duration = Duration::from_secs(300);

/// The questions of a job made in code.
pub struct QuestionSpec {
    /// The questions: the objects that generators and solvers get.
    pub list: Candidates,
    /// The field of an answer that names its question.
    pub question_field: String,
    /// The field of an answer that holds its text.
    pub answer_field: String,
    /// The services that make answers during a run; their replies are
    /// [`goodarm_record::reply::Verdict::Answer`]. They have no threshold.
    pub generators: Vec<ServiceSpec>,
    /// The most answers that are made for a question, including duplicates and failures.
    pub candidates_max: usize,
    /// The most bytes of an answer that is made; they bound the cost of verifying it.
    pub answer_bytes_max: usize,
}

impl QuestionSpec {
    /// Questions without generators; the answers to them are in the field `answer`.
    pub fn new(list: Candidates) -> Self {
        Self {
            list,
            question_field: QUESTION_FIELD.into(),
            answer_field: ANSWER_FIELD.into(),
            generators: Vec::new(),
            candidates_max: CANDIDATES_MAX,
            answer_bytes_max: ANSWER_BYTES_MAX,
        }
    }
}

/// Default values of the fields of a [`QuestionSpec`].
pub(super) const QUESTION_FIELD: &str = "question_id";
pub(super) const ANSWER_FIELD: &str = "answer";
pub(super) const CANDIDATES_MAX: usize = 8;
pub(super) const ANSWER_BYTES_MAX: usize = 16 << 10;
