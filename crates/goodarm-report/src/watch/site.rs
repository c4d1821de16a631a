//! What the live page asks for: the state of the run, a certified answer, a pause.

use std::sync::Arc;

use goodarm_core::ArmId;
use hyper::body::Bytes;
use tokio::sync::Semaphore;

use super::answer;
use super::state::Shared;
use crate::markup::Template;
use crate::report::{STYLE, script};
use crate::site::{Asked, Page, Site};

/// The page: the report's style and scripts, and one more script that asks for the state of the run.
pub(super) fn page() -> Page {
    Page::new(&Template::WATCH, format!("{STYLE}{OWN_STYLE}"), script(&SCRIPTS))
}

/// A run that is watched.
pub(super) struct RunSite {
    shared: Arc<Shared>,
    /// One reader of the journal at a time.
    journal_turn: Arc<Semaphore>,
}

impl RunSite {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), journal_turn: Arc::new(Semaphore::new(1)) }
    }

    /// A certified answer. Its calls are read from the disk, away from this thread.
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

/// What may be asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The state of the run; the page knows the certificates up to this one.
    State { rank_known: usize },
    /// Everything about one answer.
    Answer { arm: u32 },
    /// Make no new calls, or make them again.
    Pause(bool),
}

impl Site for RunSite {
    type Route = Route;

    fn route(asked: &Asked<'_>) -> Option<Route> {
        match (asked.may_change, asked.path, asked.query) {
            (false, "state", query) => {
                let known = query?.strip_prefix("known=")?.parse().ok()?;
                Some(Route::State { rank_known: known })
            }
            (false, path, None) => {
                Some(Route::Answer { arm: path.strip_prefix("answer/")?.parse().ok()? })
            }
            (true, "pause", _) => Some(Route::Pause(true)),
            (true, "resume", _) => Some(Route::Pause(false)),
            _ => None,
        }
    }

    fn body_bytes_max(_: &Route) -> usize {
        0
    }

    async fn answer(self: Arc<Self>, route: Route, _: Bytes) -> Option<String> {
        match route {
            Route::State { rank_known } => Some(self.shared.json(rank_known)),
            Route::Answer { arm } => self.certified(ArmId(arm)).await,
            Route::Pause(is_paused) => {
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

    fn route(may_change: bool, path: &str, query: Option<&str>) -> Option<Route> {
        RunSite::route(&Asked { path, query, may_change })
    }

    #[test]
    fn each_path_is_one_thing_or_nothing() {
        let state = route(false, "state", Some("known=12"));
        assert_eq!(state, Some(Route::State { rank_known: 12 }));
        assert_eq!(route(false, "answer/7", None), Some(Route::Answer { arm: 7 }));
        assert_eq!(route(true, "pause", None), Some(Route::Pause(true)));
        assert_eq!(route(true, "resume", None), Some(Route::Pause(false)));
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
