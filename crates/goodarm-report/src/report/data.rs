//! A run in numbers: what the text, the JSON and the page say.

use goodarm_core::{ArmStatus, Cost};
use goodarm_live::view::{LoanView, Overview, PairView};
use serde::{Serialize, Serializer};

use super::trail::Trail;

/// Everything that is known about a run but the texts of its answers and calls.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Data {
    #[serde(flatten)]
    pub(crate) overview: Overview,
    /// In the order of the candidates file.
    pub(crate) answers: Vec<Answer>,
}

/// One answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    pub(crate) id: String,
    #[serde(serialize_with = "status_name")]
    pub(crate) status: ArmStatus,
    /// Which certificate it is, counted from 1.
    pub(crate) rank: Option<usize>,
    /// Calls that came back, void ones among them.
    pub(crate) calls: u64,
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub(crate) spent: Cost,
    /// How it stands with δ, where shares of it are lent.
    #[serde(flatten)]
    pub(crate) loan: Option<LoanView>,
    /// What each verifier has said.
    pub(crate) evidence: Vec<Pair>,
}

/// One verifier on one answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pair {
    #[serde(flatten)]
    pub(crate) view: PairView,
    /// How mean and evidence went from call to call: for the pictures.
    #[serde(skip)]
    pub(crate) trail: Trail,
}

fn status_name<S: Serializer>(status: &ArmStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.name())
}
