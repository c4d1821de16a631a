//! The requests of the live page: the state of the run, a certified answer, a pause.

use std::sync::Arc;

use goodarm_core::ArmId;
use hyper::body::Bytes;
use tokio::sync::Semaphore;

use super::answer;
use super::state::SharedState;
use crate::markup::PageTemplate;
use crate::report::script;
use crate::site::{Site, SitePage, SiteRequest};

/// The page: the report's style and scripts, and scripts that poll the state of the run.
pub(super) fn page() -> SitePage {
    SitePage::new(&PageTemplate::WATCH, OWN_STYLE, script(&SCRIPTS))
}

/// Answers the requests about a run.
pub(super) struct WatchSite {
    shared: Arc<SharedState>,
    /// Held by the reader of the journal: there is one at a time.
    journal_turn: Arc<Semaphore>,
}

impl WatchSite {
    pub(super) fn new(shared: &Arc<SharedState>) -> Self {
        Self { shared: Arc::clone(shared), journal_turn: Arc::new(Semaphore::new(1)) }
    }

    /// A certified answer. Its calls are read from disk on another thread.
    async fn certified(&self, arm: ArmId) -> Option<String> {
        let certificate = self.shared.snapshot().certificate(arm)?;
        let turn = Arc::clone(&self.journal_turn).acquire_owned().await.ok()?;
        let shared = Arc::clone(&self.shared);
        let reading = tokio::task::spawn_blocking(move || {
            let json = answer::json(&shared.job, &shared.journal(), &certificate);
            drop(turn);
            json
        });
        reading.await.ok()
    }
}

/// A request of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchRoute {
    /// The state of the run; the page has the certificates up to this rank.
    State { rank_known: usize },
    /// Everything about one answer.
    Answer { arm: u32 },
    /// Stop making new calls (true), or make them again (false).
    Pause(bool),
}

impl Site for WatchSite {
    type Route = WatchRoute;

    fn route(request: &SiteRequest<'_>) -> Option<WatchRoute> {
        match (request.may_change, request.path, request.query) {
            (false, "state", query) => {
                let known = query?.strip_prefix("known=")?.parse().ok()?;
                Some(WatchRoute::State { rank_known: known })
            }
            (false, path, None) => {
                Some(WatchRoute::Answer { arm: path.strip_prefix("answer/")?.parse().ok()? })
            }
            (true, "pause", _) => Some(WatchRoute::Pause(true)),
            (true, "resume", _) => Some(WatchRoute::Pause(false)),
            _ => None,
        }
    }

    async fn answer(self: Arc<Self>, route: WatchRoute, _: Bytes) -> Option<String> {
        match route {
            WatchRoute::State { rank_known } => Some(self.shared.json(rank_known)),
            WatchRoute::Answer { arm } => self.certified(ArmId(arm)).await,
            WatchRoute::Pause(is_paused) => {
                self.shared.control.set_paused(is_paused);
                Some("{}".to_owned())
            }
        }
    }
}

const OWN_STYLE: &str = include_str!("../../web/watch/style.css");
const SCRIPTS: [&str; 3] = [
    include_str!("../../web/watch/live.js"),
    include_str!("../../web/watch/answers.js"),
    include_str!("../../web/watch/start.js"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn route(may_change: bool, path: &str, query: Option<&str>) -> Option<WatchRoute> {
        WatchSite::route(&SiteRequest { path, query, may_change })
    }

    #[test]
    fn each_path_is_one_request_or_refused() {
        let state = route(false, "state", Some("known=12"));
        assert_eq!(state, Some(WatchRoute::State { rank_known: 12 }));
        assert_eq!(route(false, "answer/7", None), Some(WatchRoute::Answer { arm: 7 }));
        assert_eq!(route(true, "pause", None), Some(WatchRoute::Pause(true)));
        assert_eq!(route(true, "resume", None), Some(WatchRoute::Pause(false)));
        for (may_change, path, query) in [
            (false, "pause", None),
            (false, "state", None),
            (false, "state", Some("known=-1")),
            (false, "answer/4294967296", None),
            (false, "answer/../../etc/passwd", None),
            (false, "answer/1", Some("x")),
            (true, "", None),
            (true, "state", Some("known=0")),
            (true, "answer/1", None),
        ] {
            assert_eq!(route(may_change, path, query), None, "{may_change} {path} {query:?}");
        }
    }
}
