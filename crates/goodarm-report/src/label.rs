//! `goodarm label`: a page on which people say what they think of cards, one at a time.
//!
//! Several may have it open at once: whoever asks says who they are, and the queue is asked by one at a time,
//! away from the server's thread. What the page is told to be kept is on the disk.

mod site;

use std::sync::Arc;

use goodarm_record::card_queue::CardQueue;

use crate::site::{Port, Server, SiteError};
use site::LabelSite;

/// What the page tells about itself.
#[derive(Clone, Debug)]
pub struct LabelPageInfo {
    /// The run's folder.
    pub folder: String,
    /// The name that a new labeller is offered.
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
    /// Begins to serve.
    pub fn open(
        port: Port,
        queue: Box<dyn CardQueue + Send>,
        about: LabelPageInfo,
    ) -> Result<Self, SiteError> {
        let site = Arc::new(LabelSite::new(queue, about));
        let server = port.serve(site::page(), Arc::clone(&site))?;
        Ok(Self { site, _server: server })
    }

    /// Waits for what is being kept, takes nothing more, and hands the queue back; nothing if it broke.
    pub fn close(self) -> Option<Box<dyn CardQueue + Send>> {
        self.site.close()
    }
}
