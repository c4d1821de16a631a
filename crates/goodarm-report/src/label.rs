//! `goodarm label`: a page on which people label cards, one at a time.
//!
//! Several people may have it open at once. Each request names the person, and the queue handles one request at
//! a time, not on the server's thread. A label that the page reports as kept is on disk.

mod site;

use std::sync::Arc;

use goodarm_record::card_queue::CardQueue;
use serde::Serialize;

use crate::site::{Port, Server, SiteError};
use site::LabelSite;

/// Texts of the page.
#[derive(Clone, Debug, Serialize)]
pub struct LabelPageInfo {
    /// The run's folder.
    pub folder: String,
    /// The name that is suggested to a new labeller.
    pub by: String,
    /// The command that starts the page again.
    pub command: String,
}

/// A page that serves the cards of a queue until it is closed.
pub struct LabelPage {
    site: Arc<LabelSite>,
    _server: Server,
}

impl LabelPage {
    /// Starts to serve.
    pub fn open(
        port: Port,
        queue: Box<dyn CardQueue + Send>,
        about: LabelPageInfo,
    ) -> Result<Self, SiteError> {
        let site = Arc::new(LabelSite::new(queue, about));
        let server = port.serve(site::page(), Arc::clone(&site))?;
        Ok(Self { site, _server: server })
    }

    /// Waits for a label that is being written, accepts no more, and returns the queue; `None` if the queue panicked.
    pub fn close(self) -> Option<Box<dyn CardQueue + Send>> {
        self.site.close()
    }
}
