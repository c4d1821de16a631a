//! Pages for a browser on this machine, and for no one else: a port, an address that nobody can guess, a
//! guard that decides who is answered, and a server on a thread of its own. What there is to ask for is
//! a `Site`'s own.

mod guard;
mod server;

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use hyper::body::Bytes;
use minijinja::context;
use thiserror::Error;

use crate::markup::{PageTemplate, own};
use crate::report::policy;
use guard::{Guard, Token};

pub(crate) use guard::SiteRequest;
pub(crate) use server::Server;

/// Why there is no page.
#[derive(Debug, Error)]
pub enum SiteError {
    /// The port belongs to another program, or may not be used.
    #[error("port {port} of 127.0.0.1 cannot be had ({error})")]
    Port {
        /// The port.
        port: u16,
        /// What the system says.
        error: io::Error,
    },
    /// The system gives no random numbers for the token.
    #[error("no randomness: {0}")]
    Random(String),
    /// The server's thread cannot be started.
    #[error(transparent)]
    Server(#[from] io::Error),
}

/// A port of this machine, taken before anything begins: if another program has it, nothing begins.
pub struct Port {
    listener: TcpListener,
    number: u16,
    token: Token,
}

impl Port {
    /// Takes a port; 0 takes any that is free.
    pub fn take(port: u16) -> Result<Self, SiteError> {
        let refused = |error| SiteError::Port { port, error };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        let number = listener.local_addr().map_err(refused)?.port();
        let token = Token::random().map_err(|error| SiteError::Random(error.to_string()))?;
        Ok(Self { listener, number, token })
    }

    /// Where the page will be.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.number, self.token.text())
    }

    /// Begins to serve.
    pub(crate) fn serve(self, page: SitePage, site: Arc<impl Site>) -> Result<Server, SiteError> {
        Ok(server::start(self.listener, Guard::new(self.number, self.token), page, site)?)
    }
}

/// What the script of a page may ask for.
pub(crate) trait Site: Send + Sync + 'static {
    /// A request that is known by its path.
    type Route: Send;

    /// Which one it is; nothing if there is none.
    fn route(asked: &SiteRequest<'_>) -> Option<Self::Route>;

    /// How much of the body of such a request is read.
    fn body_bytes_max(route: &Self::Route) -> usize;

    /// What it is answered with, as JSON; nothing if there is no answer. Must not hold up the server's only thread.
    fn answer(
        self: Arc<Self>,
        route: Self::Route,
        body: Bytes,
    ) -> impl Future<Output = Option<String>> + Send;
}

/// A page, and what it may do.
pub(crate) struct SitePage {
    html: String,
    /// Its content security policy.
    policy: String,
}

impl SitePage {
    /// All of it is ours: the texts of answers come later, as JSON, and are shown as text.
    pub(crate) fn new(template: &PageTemplate, style: String, script: String) -> Self {
        let policy = policy(&script, &style)
            + "; connect-src 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
        let html = template.fill(context! { style => own(style), script => own(script) });
        Self { html, policy }
    }
}
