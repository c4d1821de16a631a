use crate::candidates::Candidate;
use crate::job::{Verifier, Work};
use crate::line::Line;
use crate::run::Run;
use crate::verifier::{Remote, Reply, Usage};
use goodarm_core::Pull;

impl Verifier {
    pub(crate) fn is_reproducible(&self) -> bool {
        self.work.is_reproducible()
    }
    pub(crate) fn warning(&self) -> Option<String> {
        match &self.work {
            Work::Remote(Remote::Llm(llm)) => llm.repeats().map(|repeats| repeats.to_string()),
            _ => None,
        }
    }
    pub(crate) async fn call(&self, candidate: &Candidate, throttle: &Line) -> Reply {
        match &self.work {
            Work::Remote(remote) => remote.call(candidate, throttle).await,
            _ => unreachable!(),
        }
    }
}
impl Run {
    pub(super) fn own_reply(&self, pull: &Pull) -> Option<Reply> {
        let (arm, attribute) = (pull.arm, pull.attribute);
        match &self.job.verifiers[attribute.index()].work {
            Work::Check(check) => Some(check.check(&self.job.candidates.get(arm))),
            Work::Replay(replay) => {
                let order = self.session.books().tally(arm, attribute).dispatched_count - 1;
                let (reply, cost) = replay.call(arm, attribute, order);
                let usage = Usage { cost: Some(cost.units()), ..reply.usage };
                Some(Reply { usage, ..reply })
            }
            Work::Remote(_) => None,
        }
    }
}
