//! `goodarm run`: certify real answers with real verifiers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use goodarm_files::words;
use goodarm_live::job::{Job, Overrides};
use goodarm_live::open_files;
use goodarm_live::run::Run;
use goodarm_live::try_calls::suspicions;
use goodarm_record::control::Control;
use goodarm_record::ending::{Ending, EndingView};
use goodarm_record::folder::Folder;
use goodarm_record::notice::{Notice, Observer};
use goodarm_record::view::MoneyView;
use goodarm_report::site::Port;
use goodarm_report::watch::{Watch, WatchedJob};
use goodarm_report::words::printable_note;
use goodarm_report::{FinishedRun, finish_run, report_recovery, summary_text, why_stopped};

use crate::advice;
use crate::cli::RunArguments;
use crate::commands::{CommandError, dry_run, page_failure, tell_notes};
use crate::display::Display;
use crate::shell::label_command;
use crate::terminal::{self, Exit};

pub(crate) fn run(arguments: &RunArguments) -> Result<(), CommandError> {
    let overrides = Overrides {
        budget: arguments.budget,
        output: arguments.output.clone(),
        policy: arguments.policy.clone(),
        calls_per_pair: arguments.calls_per_pair,
    };
    let job = Job::read(&arguments.job, &overrides).map_err(advice::job)?;
    if arguments.dry_run {
        return dry_run::show(&job, arguments.resume);
    }
    let job = Arc::new(job);
    // The port is taken first, because nothing should begin without it.
    let port = arguments.watch.then(|| Port::take(arguments.watch_port.unwrap_or(0)));
    let port = port.transpose().map_err(|error| page_failure(&error, "--watch-port"))?;
    let mut run = take_up(&job, arguments)?;
    run.set_waits_for_people(!arguments.no_wait);
    // A resumed run has printed these notes when it began.
    tell_notes(&job.notes(), arguments.quiet || arguments.resume);
    let control = Arc::new(Control::default());
    let watch = port.map(|port| open(port, &run, &control, arguments)).transpose()?;
    let display = Display::new(&job, arguments.quiet, arguments.json);
    for suspicion in suspicions(&job, &[]) {
        display.say(&format!("warning: {}", printable_note(&suspicion)));
    }
    if let Err(shortage) = open_files::make_room(open_files::needed(&job)) {
        display.say(&format!("warning: {shortage}"));
    }
    report_recovery(&run.recovery()).iter().for_each(|text| display.say(text));
    listen_for_ctrl_c(&control, arguments.quiet || arguments.json)?;
    let mut observers = RunObservers { display, watch };
    let driven = run.drive(&control, &mut observers);
    let RunObservers { display, mut watch } = observers;
    let ending = match driven {
        Ok(ending) => ending,
        Err(error) => {
            // No outputs are written, because the books may have calls that are not durable. The journal has all that
            // counts, and --resume writes the outputs.
            if let Some(watch) = watch {
                watch.end(None, &advice::run(&error).to_string());
            }
            return Err(advice::run(&error));
        }
    };
    drop(display);
    let view = EndingView::new(ending.clone(), job.questions.is_some());
    if let Some(watch) = &mut watch {
        watch.writing(&view);
    }
    let (told, outcome) = finish(&run, &ending, arguments);
    // A second Ctrl-C does not wait for the page.
    if let Some(watch) = watch.filter(|_| ending != Ending::Stopped { at_once: true }) {
        watch.end(Some(view), &told);
    }
    outcome
}

fn take_up(job: &Arc<Job>, arguments: &RunArguments) -> Result<Run, CommandError> {
    let job = Arc::clone(job);
    if arguments.resume {
        return Run::resume(job).map_err(|error| advice::run(&error));
    }
    if !arguments.again {
        return Run::begin(job).map_err(|error| advice::run(&error));
    }
    let (run, aside) = Run::begin_again(job).map_err(|error| advice::run(&error))?;
    if let Some(aside) = aside.filter(|_| !arguments.quiet) {
        terminal::say(&format!("the earlier run is in {} now", aside.display()));
    }
    Ok(run)
}

/// The observers of a run: the terminal and the page.
struct RunObservers<'a> {
    display: Display<'a>,
    watch: Option<Watch>,
}

impl Observer for RunObservers<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        self.display.notice(notice);
        if let Some(watch) = &mut self.watch {
            watch.notice(notice);
        }
    }

    fn wants_calls(&self) -> bool {
        self.display.wants_calls()
    }
}

/// The facts about a job that a page shows.
fn watched(job: &Job, resume: String) -> WatchedJob {
    WatchedJob {
        resume,
        output: job.settings.output.clone(),
        id_field: job.settings.id_field.clone(),
        candidates: Arc::clone(&job.candidates),
        questions: job.questions.clone(),
        problem: job.problem.clone(),
        conditions: job.problem.attributes().map(|it| job.problem.service_of(it).index()).collect(),
        verifier_count: job.verifiers().len(),
    }
}

/// Opens the page of a run, and prints its address.
fn open(
    port: Port,
    run: &Run,
    control: &Arc<Control>,
    arguments: &RunArguments,
) -> Result<Watch, CommandError> {
    let address = port.address();
    let folder = Folder::new(&run.job().settings.output);
    let job = watched(run.job(), advice::run_command(&arguments.typed, "--resume"));
    let watch = Watch::open(port, job, &run.state(&folder), &run.progress(), control);
    let watch = watch.map_err(|error| page_failure(&error, "--watch-port"))?;
    // The address is printed even with --quiet, because it cannot be guessed.
    terminal::say(&format!("watch: {address}"));
    if arguments.json {
        let event = serde_json::json!({"event": "watch", "address": address});
        terminal::print_line(&event.to_string());
    }
    Ok(watch)
}

/// Writes the outputs and prints the result; returns the text for the page, and the exit code.
fn finish(
    run: &Run,
    ending: &Ending,
    arguments: &RunArguments,
) -> (String, Result<(), CommandError>) {
    let folder = Folder::new(&run.job().settings.output);
    let FinishedRun { overview, page } = match finish_run(&run.state(&folder), ending) {
        Ok(finished) => finished,
        Err(error) => return (error.to_string(), Err(CommandError::wrong_input(error))),
    };
    let report = advice::about_page(&page, folder.path());
    let text = if arguments.json {
        serde_json::json!({"event": "summary", "summary": &overview}).to_string() + "\n"
    } else {
        let people = for_people(run, arguments);
        format!("{}wrote {}\n{report}{people}", summary_text(&overview), folder.path().display())
    };
    terminal::print(&text);
    match outcome(ending, arguments, &overview.money) {
        Ok(()) => (report, Ok(())),
        Err(failure) => (format!("{failure}\n{report}"), Err(failure)),
    }
}

/// How to continue a run that has cards for people.
fn for_people(run: &Run, arguments: &RunArguments) -> String {
    if run.waiting_for_people() == 0 {
        return String::new();
    }
    let label = label_command(&run.job().settings.output);
    let resume = advice::run_command(&arguments.typed, "--resume");
    format!("for a person: {label}, then: {resume}\n")
}

fn outcome(
    ending: &Ending,
    arguments: &RunArguments,
    money: &MoneyView,
) -> Result<(), CommandError> {
    let Some(why) = why_stopped(ending) else { return overruns(money) };
    let exit = match ending {
        Ending::Stopped { .. } => Exit::Interrupted,
        _ => Exit::VerifierDown,
    };
    Err(CommandError::with_exit(exit, why + &advice::after(ending, arguments)))
}

/// An error if bills were above their ceilings: only then can a run spend more than its budget.
fn overruns(money: &MoneyView) -> Result<(), CommandError> {
    if money.overruns == 0 {
        return Ok(());
    }
    let message = format!(
        "{} above the ceiling, by {} in all, so the run may have spent more than the budget",
        words::were(money.overruns, "bill"),
        words::money(money.overrun, money.unit)
    );
    Err(CommandError::with_exit(Exit::Overrun, message))
}

pub(crate) fn listen_for_ctrl_c(control: &Arc<Control>, quiet: bool) -> Result<(), CommandError> {
    let control = Arc::clone(control);
    let mut last: Option<Instant> = None;
    ctrlc::set_handler(move || {
        if last.is_some_and(|last| last.elapsed() < SAME_SIGNAL) {
            return;
        }
        last = Some(Instant::now());
        if !quiet {
            let text = if control.is_stopping() {
                "calls in flight are abandoned, and count as lost"
            } else {
                "stopping: no new calls; waiting for those in flight (again to abandon them)"
            };
            terminal::say(text);
        }
        control.stop();
    })
    .map_err(|error| CommandError::wrong_input(format!("cannot listen for Ctrl-C: {error}")))
}

/// `timeout -s INT` sends its signal to the process and to its group: that counts as one.
const SAME_SIGNAL: Duration = Duration::from_millis(300);
