//! A run in numbers: what the text, the JSON and the page say.

use std::collections::BTreeMap;

use goodarm_core::Cost;
use goodarm_live::job_file::{GuaranteeName, Kind, Unit};
use serde::{Serialize, Serializer};

use super::noise::Noise;
use super::trail::Trail;
use super::uniform::Uniform;

/// Everything that is known about a run except the texts of its answers and calls.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Data {
    #[serde(flatten)]
    pub(crate) overview: Overview,
    /// In the order of the candidates file.
    pub(crate) answers: Vec<Answer>,
}

/// The run as a whole.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Overview {
    /// The version that began the run.
    pub(crate) goodarm: String,
    /// The run's folder.
    pub(crate) folder: String,
    /// How the run ended; none if it is still going, or was stopped without saving.
    pub(crate) ending: Option<String>,
    /// What delta covers, and what it does not.
    pub(crate) promise: String,
    pub(crate) delta: f64,
    pub(crate) guarantee: GuaranteeName,
    pub(crate) policy: String,
    pub(crate) candidates: usize,
    pub(crate) certified: usize,
    pub(crate) rejected: usize,
    pub(crate) undecided: usize,
    /// Calls that came back.
    pub(crate) calls: u64,
    /// Calls in flight, now or when the process died.
    pub(crate) out: u64,
    /// Milliseconds since 1970 of the first and the last event.
    pub(crate) span_millis: [u64; 2],
    /// Seconds between them.
    pub(crate) seconds: f64,
    pub(crate) calls_per_second: Option<f64>,
    pub(crate) money: Money,
    /// What checking every answer alike would have cost: an estimate.
    pub(crate) uniform: Option<Uniform>,
    /// How many answers were certified at which spend, one entry a certificate.
    pub(crate) coverage: Vec<Step>,
    pub(crate) verifiers: Vec<VerifierData>,
    /// What a reader of this report should know about it.
    pub(crate) notes: Vec<String>,
}

/// Where the money is: exact decimals.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Money {
    pub(crate) unit: Unit,
    /// The hard limit.
    #[serde(serialize_with = "exact")]
    pub(crate) budget: Cost,
    /// Paid.
    #[serde(serialize_with = "exact")]
    pub(crate) spent: Cost,
    /// Set aside for calls in flight.
    #[serde(serialize_with = "exact")]
    pub(crate) reserved: Cost,
    /// Neither spent nor reserved.
    #[serde(serialize_with = "exact")]
    pub(crate) left: Cost,
    /// Paid for calls that brought no score.
    #[serde(serialize_with = "exact")]
    pub(crate) stranded: Cost,
    /// The part of `stranded` that was charged at the ceiling because the bill is not known.
    #[serde(serialize_with = "exact")]
    pub(crate) stranded_at_ceiling: Cost,
    /// Bills above their ceiling.
    pub(crate) overruns: u64,
    /// By how much in total.
    #[serde(serialize_with = "exact")]
    pub(crate) overrun: Cost,
    /// The budget at the start, and what it was raised to.
    #[serde(serialize_with = "exact_list")]
    pub(crate) budgets: Vec<Cost>,
}

/// One certificate: so many answers were certified when so much was spent.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) spent: f64,
    pub(crate) certified: usize,
}

/// One verifier over all answers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct VerifierData {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// It always gives the same score, so one call is enough.
    pub(crate) exact: bool,
    pub(crate) threshold: f64,
    /// The most that a call may cost.
    pub(crate) ceiling: f64,
    pub(crate) calls: u64,
    pub(crate) failures: BTreeMap<&'static str, u64>,
    #[serde(serialize_with = "exact")]
    pub(crate) spent: Cost,
    /// Paid for certified, undecided and rejected answers.
    #[serde(serialize_with = "exact_list")]
    pub(crate) spent_by_status: [Cost; 3],
    #[serde(serialize_with = "exact")]
    pub(crate) spent_on_failures: Cost,
    pub(crate) mean_score: Option<f64>,
    /// What a call cost on average.
    pub(crate) mean_price: Option<f64>,
    /// Seconds: the median of all calls, and their 95th percentile.
    pub(crate) latency_median: Option<f64>,
    pub(crate) latency_p95: Option<f64>,
    /// How often it contradicts itself.
    pub(crate) noise: Option<Noise>,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    Certified,
    Undecided,
    Rejected,
}

impl Status {
    pub(crate) const ALL: [Self; 3] = [Self::Certified, Self::Undecided, Self::Rejected];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::Undecided => "undecided",
            Self::Rejected => "rejected",
        }
    }
}

/// One answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) status: Status,
    /// 1 for the first certificate, 2 for the second, and so on.
    pub(crate) rank: Option<usize>,
    /// Calls that came back, void ones among them.
    pub(crate) calls: u64,
    #[serde(serialize_with = "exact")]
    pub(crate) spent: Cost,
    /// What each verifier has said.
    pub(crate) evidence: Vec<Pair>,
}

/// One verifier on one answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pair {
    /// Scores that came back, failed calls that count among them.
    pub(crate) calls: u64,
    pub(crate) mean: Option<f64>,
    /// ln E; none if an exact verifier has spoken.
    pub(crate) evidence: Option<f64>,
    /// What it must reach.
    pub(crate) needed: Option<f64>,
    pub(crate) met: bool,
    #[serde(serialize_with = "exact")]
    pub(crate) spent: Cost,
    /// Mean and evidence from call to call, for the small charts.
    #[serde(skip)]
    pub(crate) trail: Trail,
}

/// Money as text: a JSON number would lose digits in many readers.
fn exact<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(cost)
}

fn exact_list<S: Serializer>(costs: &[Cost], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(costs.iter().map(ToString::to_string))
}
