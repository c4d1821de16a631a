//! `goodarm run --watch`: a page that shows a run while it goes on, on this machine only.
//!
//! The run hands over small snapshots, a few times a second, and never waits for a reader: a server
//! on a thread of its own answers requests from them. Whatever happens to that thread, the run goes
//! on.

mod answer;
mod guard;
mod page;
mod server;
mod snapshot_builder;
mod state;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use goodarm_live::run::{Control, Notice, Observer, Run};
use thiserror::Error;

use guard::{Guard, Token};
use server::Server;
use snapshot_builder::SnapshotBuilder;
use state::{Phase, Shared};

/// Why a run cannot be watched.
#[derive(Debug, Error)]
pub enum WatchError {
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

/// A port of this machine, taken before the run begins: if it is taken, nothing begins.
pub struct WatchPort {
    listener: TcpListener,
    port: u16,
    token: Token,
}

impl WatchPort {
    /// Takes a port; 0 takes any that is free.
    pub fn take(port: u16) -> Result<Self, WatchError> {
        let refused = |error| WatchError::Port { port, error };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let token = Token::random().map_err(|error| WatchError::Random(error.to_string()))?;
        Ok(Self { listener, port, token })
    }

    /// Where the page will be.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token.text())
    }

    /// Begins to serve the page of a run.
    pub fn open(self, run: &Run, control: &Arc<Control>) -> Result<Watch, WatchError> {
        let builder = SnapshotBuilder::new(run);
        let shared = Arc::new(Shared::new(run.job(), control, builder.snapshot()));
        let guard = Guard::new(self.port, self.token);
        let server = server::start(self.listener, guard, Arc::clone(&shared))?;
        Ok(Watch { shared, builder, _server: server })
    }
}

/// Shows on a page what happens in a run.
pub struct Watch {
    shared: Arc<Shared>,
    builder: SnapshotBuilder,
    /// Serves until it is dropped.
    _server: Server,
}

impl Watch {
    /// No more calls are made; the outputs are being written.
    pub fn writing(&mut self, ending: &str) {
        self.builder.phase = Phase::Writing { ending: ending.to_owned() };
        self.shared.publish(self.builder.snapshot());
    }

    /// Everything is written. Waits for a moment if a page is open, so that it can show the end.
    pub fn end(mut self, ending: &str, told: &str) {
        self.builder.phase = Phase::Ended { ending: ending.to_owned(), told: told.to_owned() };
        self.shared.publish(self.builder.snapshot());
        let ended = Instant::now();
        let is_page_open = self.shared.polled().is_some_and(|polled| polled.elapsed() < OPEN_TIME);
        while is_page_open && ended.elapsed() < LINGER_MAX {
            // Each open page asks once in this time, so all of them have seen the end.
            let is_seen = self.shared.polled().is_some_and(|polled| polled > ended);
            if is_seen && ended.elapsed() > LINGER {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Observer for Watch {
    fn notice(&mut self, notice: Notice<'_>) {
        if self.builder.take(notice) {
            self.shared.publish(self.builder.snapshot());
        }
    }
}

/// A browser that has asked for the state within this time has the page open.
const OPEN_TIME: Duration = Duration::from_secs(3);
/// Longer than an open page waits between two questions.
const LINGER: Duration = Duration::from_millis(1200);
/// For slow browsers.
const LINGER_MAX: Duration = Duration::from_secs(3);
