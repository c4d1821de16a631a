//! Recorded outcomes as a verifier.

use goodarm_data::problem::KeyProblem;
use goodarm_files::Draws;
use goodarm_record::recording::{RecordedOutcome, Recording, name_of};
use goodarm_record::reply::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recorded::{DrawSettings, RecordedDraw, RecordedService};
use super::{KindKeys, ServiceContext};
use crate::service::Service;

/// Recorded outcomes.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayKeys {
    /// The folder of a run, such as one with `policy = "fixed"`; or a file of recorded outcomes.
    pub recording: Option<String>,
    /// The verifier's name in the recording; this one's name if not given.
    pub of: Option<String>,
    /// with-replacement (the default) or in-order.
    pub draws: Option<Draws>,
}

impl KindKeys for ReplayKeys {
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        let wrong = |reason: String| vec![KeyProblem::new("recording", reason)];
        let Some(path) = &self.recording else {
            let needed = "the path of a recording is needed: the folder of a run with policy = \"fixed\", or a file";
            return Err(vec![KeyProblem::missing("recording", needed)]);
        };
        let of = self.of.as_ref().unwrap_or(&context.keys.name);
        let place = context.folder.join(path);
        let mut recording = Recording::read(&place, of).map_err(wrong)?;
        recording.file.path = name_of(path, &place);
        let (theirs, ours) = (&recording.unit, context.unit.name());
        if theirs != ours {
            let reason = format!("{path}: its costs are in {theirs:?}, and the job's in {ours:?}");
            return Err(wrong(reason));
        }
        let drawn = |outcome: &RecordedOutcome| RecordedDraw {
            verdict: outcome.score.map(Verdict::Score),
            cost: outcome.cost,
        };
        let of = |id: &str| recording.of(id).into_iter().flatten().map(drawn).collect();
        let draws = self.draws.unwrap_or_default();
        let manner = DrawSettings { draws, seed: context.seed, ..DrawSettings::default() };
        RecordedService::service(of, context.candidates, recording.file.clone(), manner)
            .map_err(|missing| wrong(format!("no outcomes for {missing}")))
    }
}
