//! A child process in its own process group. All its children end with it.

use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{io, mem};

use goodarm_core::CountedFailure;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::tracker::{self, ProcessTracker};
use super::{ProcessOutcome, Program};
use crate::services::BODY_BYTES_MAX;

/// A running program. Dropping this kills the program and its children, even if only children are left.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    /// The number of the process group that the program leads.
    group: Option<u32>,
    /// Finds children that have left the group; `None` after the kill.
    tracker: Option<ProcessTracker>,
    is_killed: bool,
}

/// The three pipes of a process.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl ChildProcess {
    /// Starts a program. After an error, no process was started.
    pub(super) fn start(program: &Program) -> io::Result<Self> {
        let tracker = ProcessTracker::new();
        let mut command = tokio::process::Command::new(&program.path);
        command
            .args(&program.arguments)
            .env_clear()
            .envs(program.environment.iter())
            .env(tracker::NAME, &tracker.tag)
            .current_dir(&program.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Ctrl-C at the terminal goes only to goodarm, so that calls in flight can finish.
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Self { group: child.id(), tracker: Some(tracker), child, is_killed: false })
    }

    /// Takes the pipes of the process; `None` if they were taken before.
    pub(super) fn pipes(&mut self) -> Option<Pipes> {
        let stdin = self.child.stdin.take()?;
        let stdout = self.child.stdout.take()?;
        let stderr = self.child.stderr.take()?;
        Some(Pipes { stdin, stdout, stderr })
    }

    /// Writes the input and waits for the end of the program.
    pub(super) async fn finish(&mut self, input: &str) -> ProcessOutcome {
        let Some(Pipes { mut stdin, mut stdout, mut stderr }) = self.pipes() else {
            return ProcessOutcome::crashed("its pipes are gone".into(), Vec::new());
        };
        let mut output = Vec::new();
        let mut complaint = StderrTail::default();
        let ended = {
            let mut listen = pin!(async {
                let feed = async {
                    // A program need not read its input.
                    drop(stdin.write_all(input.as_bytes()).await);
                    drop(stdin);
                    Ok(())
                };
                let follow = async {
                    StderrTail::follow(&mut stderr, |bytes| complaint.push(bytes)).await;
                    Ok(())
                };
                let listen = read_all(&mut stdout, &mut output);
                tokio::try_join!(feed, follow, listen).map(|_| ())
            });
            tokio::select! {
                biased;
                listened = &mut listen => match listened {
                    Ok(()) => Ok(self.child.wait().await),
                    Err(reason) => Err(reason),
                },
                // The program has ended. Its children may hold the pipes open, so they are killed.
                status = self.child.wait() => {
                    self.kill_group();
                    match tokio::time::timeout(LAST_BYTES, listen).await {
                        Ok(Err(reason)) => Err(reason),
                        Ok(Ok(())) | Err(_) => Ok(status),
                    }
                }
            }
        };
        self.kill();
        match ended {
            Ok(Ok(status)) if status.success() => ProcessOutcome::Answered(output),
            Ok(Ok(status)) => ProcessOutcome::crashed(ending(status, &complaint), output),
            Ok(Err(error)) => ProcessOutcome::crashed(error.to_string(), output),
            Err(reason) => ProcessOutcome::truncated(reason, output),
        }
    }

    /// Waits until the program ends, then kills its children, which may hold its pipes open.
    pub(super) async fn end(&mut self) {
        drop(self.child.wait().await);
        self.kill_group();
    }

    /// Waits up to `moment` for the program to end by itself.
    pub(super) async fn settle(&mut self, moment: Duration) {
        drop(tokio::time::timeout(moment, self.child.wait()).await);
    }

    /// How the program ended, or that it closed its output; with the last lines of standard error.
    pub(super) fn ending(&mut self, complaint: &StderrTail) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => ending(status, complaint),
            _ => complaint.said("it closed its output"),
        }
    }

    /// Kills the program and all its children.
    pub(super) fn kill(&mut self) {
        if !mem::replace(&mut self.is_killed, true) {
            self.kill_group();
            drop(self.child.start_kill());
            self.tracker = None;
        }
    }

    /// Kills the process group. Its number is not reused while the group has a member. Later, another process can
    /// have this number only after all other numbers have been used.
    fn kill_group(&self) {
        #[cfg(unix)]
        if let Some(group) = self
            .group
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw)
        {
            // Fails if all processes of the group have ended already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

impl ProcessOutcome {
    pub(super) const fn crashed(reason: String, output: Vec<u8>) -> Self {
        Self::Failed { failure: CountedFailure::Crashed, reason, output }
    }

    pub(super) const fn truncated(reason: String, output: Vec<u8>) -> Self {
        Self::Failed { failure: CountedFailure::Truncated, reason, output }
    }
}

/// The last part of what a program wrote to standard error.
#[derive(Debug, Default)]
pub(super) struct StderrTail {
    bytes: Vec<u8>,
    /// Whether earlier output was dropped.
    is_cut: bool,
}

impl StderrTail {
    /// Reads standard error to its end, and gives all bytes to `take`.
    pub(super) async fn follow(stderr: &mut ChildStderr, mut take: impl FnMut(&[u8])) {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            take(&buffer[..count]);
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * TAIL_BYTES {
            self.bytes.drain(..self.bytes.len() - TAIL_BYTES);
            self.is_cut = true;
        }
    }

    /// The text `what`, followed by the last lines of standard error.
    fn said(&self, what: &str) -> String {
        let said = String::from_utf8_lossy(&self.bytes);
        // Half a word may be half a secret, which would not be found and removed.
        let from = if self.is_cut { said.find(char::is_whitespace) } else { Some(0) };
        let said = &said[from.unwrap_or(said.len())..];
        let lines: Vec<&str> =
            said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        if last.is_empty() { what.to_owned() } else { format!("{what}: {}", last.join(" ")) }
    }
}

fn ending(status: ExitStatus, complaint: &StderrTail) -> String {
    complaint.said(&status.to_string())
}

async fn read_all(
    stdout: &mut (impl AsyncRead + Unpin),
    output: &mut Vec<u8>,
) -> Result<(), String> {
    let mut buffer = [0; 4096];
    loop {
        match stdout.read(&mut buffer).await {
            Ok(0) => return Ok(()),
            Ok(count) if output.len() + count > BODY_BYTES_MAX => {
                return Err(format!("it wrote more than {BODY_BYTES_MAX} bytes"));
            }
            Ok(count) => output.extend_from_slice(&buffer[..count]),
            Err(error) => return Err(format!("its output could not be read: {error}")),
        }
    }
}

/// How long to read the output of a program that has ended; normally all of it is available at once.
const LAST_BYTES: Duration = Duration::from_millis(500);
const TAIL_BYTES: usize = 2048;
const TAIL_LINES: usize = 3;
