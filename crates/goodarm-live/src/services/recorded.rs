//! Services that draw from recorded outcomes or answers. The k-th draw of a service about a subject (a candidate or a
//! question) depends only on the seed, the service, the subject and k. So a lost call can be repeated with the same
//! reply.

use goodarm_core::{ArmId, AttributeId, Cost, CountedFailure};
use goodarm_data::candidates::Candidates;
use goodarm_files::Draws;
use goodarm_files::words::counted;
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::job_file::Scores;
use goodarm_record::reply::{MeanOver, Reply, Usage, Verdict};

use crate::pricing::{Meter, Pricing};
use crate::service::{CallContext, Dispatch, DrawSource, Local, Manifest, Service};

/// One recorded call.
#[derive(Clone, Debug)]
pub(super) struct RecordedDraw {
    /// The verdict of the recorded call; `None` if the call failed.
    pub(super) verdict: Option<Verdict>,
    pub(super) cost: Cost,
}

/// How recorded calls are drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct DrawSettings {
    pub(super) draws: Draws,
    pub(super) seed: u64,
    /// Whether calls are about questions, and their outcomes are answers.
    pub(super) is_about_questions: bool,
    /// The name of the recorded replies, if only one service may draw them in order; `None` if several may.
    pub(super) own: Option<String>,
}

/// Recorded calls, subject by subject.
#[derive(Clone, Debug)]
pub(super) struct RecordedService {
    calls: Vec<RecordedDraw>,
    /// The index of the first call about each subject; the last entry is the number of all calls.
    starts: Vec<usize>,
    manner: DrawSettings,
}

impl RecordedService {
    /// A service with the recorded calls about each of these subjects, which `of` returns for an id. The error has
    /// the number of subjects without calls, and the first of them.
    pub(super) fn service(
        mut of: impl FnMut(&str) -> Vec<RecordedDraw>,
        subjects: &Candidates,
        file: Fingerprint,
        manner: DrawSettings,
    ) -> Result<Service, String> {
        let (mut calls, mut missing) = (Vec::new(), Vec::new());
        let mut starts = Vec::with_capacity(subjects.len() + 1);
        for subject in subjects.arms() {
            starts.push(calls.len());
            let own = of(subjects.id(subject));
            if own.is_empty() {
                missing.push(subjects.id(subject));
            }
            calls.extend(own);
        }
        starts.push(calls.len());
        if let Some(first) = missing.first() {
            let what = if manner.is_about_questions { "question" } else { "candidate" };
            return Err(format!("{}, the first is {first:?}", counted(missing.len(), what)));
        }
        let ceiling = calls.iter().map(|call| call.cost).max().unwrap_or(Cost::ZERO);
        let expected = mean_cost(&calls);
        let recorded = Self { calls, starts, manner };
        let DrawSettings { draws, is_about_questions, ref own, .. } = recorded.manner;
        let meter = Meter { reported: true, ceiling: Some(ceiling), expected, ..Meter::default() };
        let manifest = Manifest {
            scores: recorded.scores(),
            price: Some(Pricing::Metered(meter)),
            answers_questions: is_about_questions,
            mean_over: match draws {
                Draws::WithReplacement => MeanOver::RecordedPool,
                Draws::InOrder => MeanOver::FreshCalls,
            },
            draws_from: own.clone().map(|recording| DrawSource { recording, draws }),
            files: vec![file],
            ..Manifest::default()
        };
        Ok(Service::local(manifest, recorded))
    }

    fn scores(&self) -> Scores {
        let is_binary = |call: &RecordedDraw| match call.verdict {
            Some(Verdict::Score(score)) => [0.0, 1.0].contains(&score),
            Some(_) => false,
            None => true,
        };
        if self.calls.iter().all(is_binary) { Scores::Binary } else { Scores::UNIT }
    }

    /// The noun for what was recorded.
    const fn what(&self) -> &'static str {
        if self.manner.is_about_questions { "answers" } else { "outcomes" }
    }
}

impl Local for RecordedService {
    fn preview(&self) -> String {
        format!("recorded {}", self.what())
    }

    fn answer(&self, call: CallContext<'_>) -> Dispatch {
        let CallContext { arm, attribute, order, .. } = call;
        let calls = &self.calls[self.starts[arm.index()]..self.starts[arm.index() + 1]];
        let size = calls.len() as u64;
        let index = match self.manner.draws {
            Draws::WithReplacement => draw(self.manner.seed, arm, attribute, order) % size,
            Draws::InOrder => order,
        };
        let Some(call) = usize::try_from(index).ok().and_then(|index| calls.get(index)) else {
            let used = format!("all {size} recorded {} are used", self.what());
            return Dispatch::Now(Reply::exhausted(used));
        };
        let failed = || Verdict::Failed(CountedFailure::Unreadable, "recorded as failed".into());
        let verdict = call.verdict.clone().unwrap_or_else(failed);
        let text = match &verdict {
            Verdict::Answer(answer) => answer.text.clone(),
            _ => String::new(),
        };
        let usage = Usage { cost: Some(call.cost), ..Usage::default() };
        Dispatch::Now(Reply::new(verdict, usage, text))
    }
}

/// The mean cost of recorded calls, rounded up; `None` if they cost nothing.
fn mean_cost(calls: &[RecordedDraw]) -> Option<Cost> {
    let sum = calls.iter().map(|call| call.cost).fold(Cost::ZERO, Cost::saturating_add);
    let mean = Cost::from_picos(sum.picos().div_ceil(calls.len().max(1) as u128));
    (mean > Cost::ZERO).then_some(mean)
}

/// A hash of the position of a draw. Its remainder chooses the recorded call, with a bias below 10⁻¹².
fn draw(seed: u64, arm: ArmId, attribute: AttributeId, order: u64) -> u64 {
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
