//! `goodarm-lab trace`: one JSON line per call, to check a policy against the paper by hand.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use goodarm_core::{ArmId, Ask, Call, Cost, Outcome, Session};
use goodarm_lab::lab_error::LabError;

use crate::problem_file::ProblemFile;
use crate::terminal::{self, CommandError, Exit};

/// Why a trace cannot be continued.
enum TraceError {
    /// The lines cannot be written.
    Write(io::Error),
    /// A policy chose a call that is not allowed, or a checked score was refused.
    Bug(Box<dyn std::error::Error>),
}

/// Traces the problem in a file, or on standard input if the path is `-`.
pub(crate) fn run(path: &Path) -> Result<(), CommandError> {
    let from_stdin = path == Path::new("-");
    let from = if from_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let read = if from_stdin { read_stdin() } else { fs::read(path) };
    let unreadable = |error| LabError(format!("{from}: cannot be read: {error}"));
    let file = ProblemFile::parse(&read.map_err(unreadable)?)
        .map_err(|error| LabError::about(&from, error))?;
    let mut out = BufWriter::with_capacity(OUT_BYTES, terminal::own_text());
    let traced = trace(file, &mut out);
    match traced.and(out.flush().map_err(TraceError::Write)) {
        // The reader has closed the pipe, as `head` does.
        Err(TraceError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(TraceError::Write(error)) => {
            Err(LabError(format!("standard output: cannot be written: {error}")).into())
        }
        Err(TraceError::Bug(error)) => {
            Err(CommandError::with_exit(Exit::Bug, format!("a bug in goodarm: {error}")))
        }
        Ok(()) => Ok(()),
    }
}

fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn trace(file: ProblemFile, out: &mut impl Write) -> Result<(), TraceError> {
    let ProblemFile { problem, policy, options, mut observations, pulls_max } = file;
    let mut session = Session::with_options(problem, policy, options)
        .expect("the in-flight share is the default one");
    let mut certified = CertifiedText::default();
    for time in 1..=pulls_max.unwrap_or(u64::MAX) {
        let call = match session.ask().map_err(|error| TraceError::Bug(error.into()))? {
            Ask::Call(call) => call,
            Ask::Wait | Ask::Done(_) => break,
        };
        let (arm, attribute) = call.pair().expect("the file has no questions");
        let score = observations.next(arm, attribute);
        let Call { ticket, ceiling, branch, loan, .. } = call;
        // Each call costs its price, as in the paper.
        let settled = session.settle(ticket, &Outcome::Score(score), ceiling);
        settled.map_err(|error| TraceError::Bug(error.into()))?;
        certified.extend(session.certified());
        let spent = Money(session.books().ledger().settled());
        let lent = loan.map(|(_, loan)| format!("\"lent\":{:?},", loan.share.fraction()));
        let lent = lent.unwrap_or_default();
        // {:?} writes the shortest decimal that parses to the same number, which is valid JSON.
        writeln!(
            out,
            "{{\"t\":{time},\"branch\":\"{branch}\",\"arm\":{arm},\"attribute\":{attribute},{lent}\
             \"score\":{score:?},\"spent\":{spent},\"certified\":[{}]}}",
            certified.text
        )
        .map_err(TraceError::Write)?;
    }
    Ok(())
}

/// An exact amount as a JSON number, with a decimal point even if it is whole.
struct Money(Cost);

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let end = if text.contains('.') { "" } else { ".0" };
        write!(f, "{text}{end}")
    }
}

/// The certified arms as text. It only grows, so each number is formatted once.
#[derive(Default)]
struct CertifiedText {
    count: usize,
    text: String,
}

impl CertifiedText {
    fn extend(&mut self, certified: &[ArmId]) {
        for arm in &certified[self.count..] {
            let comma = if self.text.is_empty() { "" } else { "," };
            self.text += &format!("{comma}{arm}");
        }
        self.count = certified.len();
    }
}

const OUT_BYTES: usize = 1 << 16;
