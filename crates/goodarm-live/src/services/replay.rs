//! Recorded outcomes as a verifier. The outcome of a pair's k-th call depends on the seed, the pair
//! and k alone, so a call that was lost can be made again and says the same.

use goodarm_core::{ArmId, AttributeId, Cost, CountedFailure};
use goodarm_data::candidates::Candidates;
use goodarm_data::problem::Problem;
use goodarm_files::words::counted;
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::job_file::Scores;
use goodarm_record::recording::{Outcome, Recording};
use goodarm_record::reply::{MeanOver, Reply, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{KindKeys, Setting};
use crate::pricing::{Meter, Pricing};
use crate::service::{Answered, DefaultPrice, Local, Manifest, Place, Service};

/// Recorded outcomes.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayKeys {
    /// The recording that `goodarm record` made.
    pub recording: Option<String>,
    /// The verifier's name in the recording; this one's name if not given.
    pub of: Option<String>,
    /// with-replacement (the default) or in-order.
    pub draws: Option<Draws>,
}

/// How recorded outcomes are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draws {
    /// Independent draws: certifies the mean of the recording.
    #[default]
    WithReplacement,
    /// Each outcome once: certifies the verifier's mean. A pair ends where its outcomes do.
    InOrder,
}

impl Draws {
    /// What a mean over such draws is the mean of.
    pub(super) const fn mean_over(self) -> MeanOver {
        match self {
            Self::WithReplacement => MeanOver::RecordedPool,
            Self::InOrder => MeanOver::FreshCalls,
        }
    }
}

impl KindKeys for ReplayKeys {
    fn build(&self, setting: &Setting<'_>) -> Result<Service, Vec<Problem>> {
        let Some(path) = &self.recording else {
            let needed = "the path of a recording is needed; `goodarm record` makes one";
            return Err(vec![Problem::missing("recording", needed)]);
        };
        let of = self.of.as_ref().unwrap_or(&setting.keys.name);
        let mut recording = Recording::read(&setting.folder.join(path), of).map_err(|reasons| {
            let problem = |reason| Problem::new("recording", reason);
            reasons.into_iter().map(problem).collect::<Vec<_>>()
        })?;
        recording.file.path.clone_from(path);
        let (theirs, ours) = (&recording.unit, setting.unit.name());
        if theirs != ours {
            let reason = format!("{path}: its costs are in {theirs:?}, and the job's in {ours:?}");
            return Err(vec![Problem::new("recording", reason)]);
        }
        let draws = self.draws.unwrap_or_default();
        let replay = Replay::new(&recording, setting.candidates, draws, setting.seed);
        let replay = replay.map_err(|reason| vec![Problem::new("recording", reason)])?;
        Ok(Service::local(replay.manifest(), replay))
    }
}

/// Recorded outcomes, arm by arm.
#[derive(Clone, Debug)]
pub struct Replay {
    outcomes: Vec<Outcome>,
    /// Where each arm's outcomes begin, and where the last one's end.
    starts: Vec<usize>,
    draws: Draws,
    seed: u64,
    ceiling: Cost,
    file: Fingerprint,
}

impl Replay {
    /// The outcomes for each candidate; the ids without any are an error.
    pub fn new(
        recording: &Recording,
        candidates: &Candidates,
        draws: Draws,
        seed: u64,
    ) -> Result<Self, String> {
        let mut outcomes = Vec::new();
        let mut starts = Vec::with_capacity(candidates.len() + 1);
        let mut missing = Vec::new();
        for arm in candidates.arms() {
            starts.push(outcomes.len());
            match recording.of(candidates.id(arm)) {
                Some(recorded) => outcomes.extend_from_slice(recorded),
                None => missing.push(candidates.id(arm)),
            }
        }
        starts.push(outcomes.len());
        if let Some(first) = missing.first() {
            let count = missing.len();
            let count = counted(count, "candidate");
            return Err(format!("no outcomes for {count}, the first is {first:?}"));
        }
        let ceiling = outcomes.iter().map(|outcome| outcome.cost).max().unwrap_or(Cost::ZERO);
        let file = recording.file.clone();
        Ok(Self { outcomes, starts, draws, seed, ceiling, file })
    }

    /// Whether all scores are 0 or 1.
    fn is_binary(&self) -> bool {
        let is_binary =
            |outcome: &Outcome| outcome.score.is_none_or(|score| [0.0, 1.0].contains(&score));
        self.outcomes.iter().all(is_binary)
    }

    fn manifest(&self) -> Manifest {
        Manifest {
            scores: if self.is_binary() { Scores::Binary } else { Scores::UNIT },
            price: recorded_price(self.ceiling),
            mean_over: self.draws.mean_over(),
            files: vec![self.file.clone()],
            ..Manifest::default()
        }
    }

    /// The outcome of a call, with what it cost.
    fn outcome(&self, place: Place<'_>) -> Reply {
        let Place { arm, attribute, order, .. } = place;
        let pool = &self.outcomes[self.starts[arm.index()]..self.starts[arm.index() + 1]];
        let size = pool.len() as u64;
        let index = match self.draws {
            Draws::WithReplacement => draw(self.seed, arm, attribute, order) % size,
            Draws::InOrder => order,
        };
        let Some(outcome) = usize::try_from(index).ok().and_then(|index| pool.get(index)) else {
            return Reply::exhausted(format!("all {size} recorded outcomes are used"));
        };
        let reply = match outcome.score {
            Some(score) => Reply::score(score),
            None => Reply::failed(CountedFailure::Unreadable, "recorded as failed"),
        };
        costing(outcome.cost, reply)
    }
}

impl Local for Replay {
    fn preview(&self) -> String {
        "recorded outcomes".into()
    }

    fn answer(&self, place: Place<'_>) -> Answered {
        Answered::Now(self.outcome(place))
    }
}

/// Each call costs what was recorded.
pub(super) fn recorded_price(ceiling: Cost) -> DefaultPrice {
    let ceiling = Some(ceiling);
    DefaultPrice::Is(Pricing::Metered(Meter { reported: true, ceiling, ..Meter::default() }))
}

fn costing(cost: Cost, reply: Reply) -> Reply {
    Reply { usage: Usage { cost: Some(cost), ..Usage::default() }, ..reply }
}

/// A hash of where the draw is made: its low bits choose, with a bias below 10⁻¹².
pub(super) fn draw(seed: u64, arm: ArmId, attribute: AttributeId, order: u64) -> u64 {
    let mut state = seed;
    for word in [u64::from(arm.0), u64::from(attribute.0), order] {
        state = mix(state ^ mix(word.wrapping_add(GOLDEN)));
    }
    state
}

/// The finalizer of SplitMix64.
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
