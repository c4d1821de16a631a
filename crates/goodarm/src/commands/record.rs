//! `goodarm record`: each verifier of a job several times on each candidate, for replays.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use goodarm_files::words::were;
use goodarm_live::job::{Job, Overrides};
use goodarm_live::open_files;
use goodarm_live::pools;
use goodarm_live::record::{self, RecordError};
use goodarm_report::words::{counted, money, printable, printable_note};

use crate::cli::RecordArguments;
use crate::commands::run::listen_for_ctrl_c;
use crate::commands::{Failure, make_room, tell_notes};
use crate::terminal::Progress;
use crate::terminal::{self, Exit};

pub(crate) fn run(arguments: &RecordArguments) -> Result<(), Failure> {
    let overrides = Overrides { budget: arguments.budget, output: None };
    let job = Arc::new(Job::read(&arguments.job, &overrides).map_err(Failure::wrong_input)?);
    tell_notes(job.candidates.notes(), arguments.quiet);
    make_room(open_files::needed(&job), arguments.quiet);
    let control = Arc::default();
    listen_for_ctrl_c(&control, arguments.quiet)?;
    let mut bar = None;
    let request = record::Request {
        job: &job,
        times: arguments.times,
        path: &arguments.out,
        note: arguments.note.as_deref().unwrap_or_default(),
    };
    let recorded = record::record(&request, &control, |recorded| {
        let bar = bar.get_or_insert_with(|| {
            Progress::new("recorded pairs", recorded.pair_total, arguments.quiet)
        });
        bar.set(recorded.pair_count);
    })
    .map_err(|error| match error {
        RecordError::Down { .. } | RecordError::NeverScored { .. } => {
            Failure::with_exit(Exit::VerifierDown, error)
        }
        error => Failure::wrong_input(error),
    })?;
    if let Some(bar) = bar {
        bar.finish();
    }
    let text = format!(
        "{} of {} recorded; {} now, for {}\n",
        recorded.pair_count,
        counted(recorded.pair_total, "pair"),
        counted(recorded.call_count, "call"),
        money(recorded.spent, job.unit())
    );
    terminal::print(&text);
    if recorded.lost_count > 0 {
        let calls = were(recorded.lost_count, "call");
        terminal::print(&format!(
            "{calls} in flight when a process ended: paid, and recorded as failed unless the verifier is exact\n"
        ));
    }
    if recorded.bytes_cut > 0 {
        let bytes = were(recorded.bytes_cut, "byte");
        terminal::print(&format!("the last line was not whole: {bytes} cut\n"));
    }
    for (verifier, (count, reason)) in &recorded.failures {
        let calls = counted(*count, "call");
        let text =
            format!("{}: {calls} failed, first: {}", printable(verifier), printable_note(reason));
        terminal::print_line(&text);
    }
    if recorded.pair_count < recorded.pair_total {
        let again = "everything is saved; the same command goes on";
        return Err(Failure::interrupted(format!("stopped: {again}")));
    }
    if let Some(path) = &arguments.pools {
        let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
        let mut file = BufWriter::new(file);
        let count = pools::write(&job, &arguments.out, &arguments.gold, &mut file)
            .map_err(Failure::wrong_input)?;
        terminal::print_line(&format!("{} in {}", counted(count, "pool"), path.display()));
    }
    Ok(())
}
