//! Pages for a browser on this machine only: a port, a secret address, a guard that checks each request, and a
//! server on its own thread. Each page implements `Site` for its requests.

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
use crate::report::{STYLE, policy};
use guard::{Guard, Token};

pub(crate) use guard::SiteRequest;
pub(crate) use server::Server;

/// Why a page cannot be served.
#[derive(Debug, Error)]
pub enum SiteError {
    /// The port belongs to another program, or may not be used.
    #[error("port {port} of 127.0.0.1 cannot be used ({error})")]
    Port {
        /// The port.
        port: u16,
        /// The reason.
        error: io::Error,
    },
    /// The system gives no random numbers for the token.
    #[error("no random numbers: {0}")]
    Random(String),
    /// The server's thread cannot be started.
    #[error(transparent)]
    Server(#[from] io::Error),
}

/// A port of this machine. It is taken first, so that nothing starts if another program has it.
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

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.number, self.token.text())
    }

    /// Starts to serve.
    pub(crate) fn serve(self, page: SitePage, site: Arc<impl Site>) -> Result<Server, SiteError> {
        Ok(server::start(self.listener, Guard::new(self.number, self.token), page, site)?)
    }
}

/// Answers the requests of a page's script.
pub(crate) trait Site: Send + Sync + 'static {
    /// A request.
    type Route: Send;

    /// The request with this path and method; `None` if there is no such request.
    fn route(request: &SiteRequest<'_>) -> Option<Self::Route>;

    /// The largest body of a request; 0: the body is not read.
    fn body_bytes_max(_route: &Self::Route) -> usize {
        0
    }

    /// The response, as JSON; `None` if there is nothing to send. Must not block the server's only thread.
    fn answer(
        self: Arc<Self>,
        route: Self::Route,
        body: Bytes,
    ) -> impl Future<Output = Option<String>> + Send;
}

/// A page, and what its script may do.
pub(crate) struct SitePage {
    html: String,
    /// Its content security policy.
    policy: String,
}

impl SitePage {
    /// The page contains no text of others: the texts of answers come later, as JSON, and are shown as text.
    pub(crate) fn new(template: &PageTemplate, own_style: &str, script: String) -> Self {
        let style = [STYLE, own_style].concat();
        let policy = policy(&script, &style)
            + "; connect-src 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
        let html = template.fill(context! { style => own(style), script => own(script) });
        Self { html, policy }
    }
}
