//! `goodarm run`: certify real answers with real verifiers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use goodarm_live::job::{Job, Overrides};
use goodarm_live::open_files;
use goodarm_live::run::Run;
use goodarm_live::trial::first_suspicions;
use goodarm_record::control::Control;
use goodarm_record::ending::{Ending, NeverScored, RunError};
use goodarm_record::folder::Folder;
use goodarm_record::notice::{Notice, Observer};
use goodarm_record::view::Overview;
use goodarm_report::site::{Port, SiteError};
use goodarm_report::watch::{Standing, Watch, WatchedJob};
use goodarm_report::words::{counted, printable_note, were};
use goodarm_report::{Report, summary_text};

use crate::cli::RunArguments;
use crate::commands::{Failure, dry_run, tell_notes};
use crate::display::Display;
use crate::shell::{label_command, shell_word};
use crate::terminal::{self, Exit};

pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let overrides = Overrides {
        budget: arguments.budget,
        output: arguments.output.clone(),
        policy: arguments.policy.clone(),
        calls_per_pair: arguments.calls_per_pair,
    };
    let job = Job::read(&arguments.job, &overrides).map_err(Failure::wrong_input)?;
    if arguments.dry_run {
        return dry_run::show(&job, arguments.resume);
    }
    let job = Arc::new(job);
    // First of all, because without its port nothing should begin.
    let port = arguments.watch.then(|| Port::take(arguments.watch_port));
    let port = port.transpose().map_err(watch_failure)?;
    let mut run = take_up(&job, arguments)?;
    run.set_waits_for_people(!arguments.no_wait);
    // Those of a run that is resumed were said when it began.
    tell_notes(&job.notes(), arguments.quiet || arguments.resume);
    let control = Arc::new(Control::default());
    let watch = port.map(|port| open(port, &run, &control, arguments.json)).transpose()?;
    let display = Display::new(&job, arguments.quiet, arguments.json);
    for suspicion in first_suspicions(&job) {
        display.say(&format!("warning: {}", printable_note(&suspicion.to_string())));
    }
    if let Err(shortage) = open_files::make_room(open_files::needed(&job)) {
        display.say(&format!("warning: {shortage}"));
    }
    tell_of_the_past(&run, &display);
    listen_for_ctrl_c(&control, arguments.quiet || arguments.json)?;
    let mut audience = Audience { display, watch };
    let driven = run.drive(&control, &mut audience);
    let Audience { display, mut watch } = audience;
    let ending = match driven {
        Ok(ending) => ending,
        Err(error) => {
            // No outputs: the books may hold what is not durable. The journal has all that counts, and
            // --resume writes them.
            if let Some(watch) = watch {
                watch.end("broken off", &error.to_string());
            }
            return Err(failure(error));
        }
    };
    drop(display);
    let ending_text = ending.to_string();
    if let Some(watch) = &mut watch {
        watch.writing(&ending_text);
    }
    let (told, outcome) = finish(&run, &ending, arguments);
    // On leaving, do not wait for a page.
    if let Some(watch) = watch.filter(|_| ending != Ending::Left) {
        watch.end(&ending_text, &told);
    }
    outcome
}

fn take_up(job: &Arc<Job>, arguments: &RunArguments) -> Result<Run, Failure> {
    let job = Arc::clone(job);
    if arguments.resume {
        return Run::resume(job).map_err(failure);
    }
    if !arguments.again {
        return Run::begin(job).map_err(failure);
    }
    let (run, aside) = Run::begin_again(job).map_err(failure)?;
    if let Some(aside) = aside.filter(|_| !arguments.quiet) {
        terminal::say(&format!("the earlier run is in {} now", aside.display()));
    }
    Ok(run)
}

/// Those who take notice of a run.
struct Audience<'a> {
    display: Display<'a>,
    watch: Option<Watch>,
}

impl Observer for Audience<'_> {
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

/// What a page needs to know of a job.
fn watched(job: &Job) -> WatchedJob {
    WatchedJob {
        path: job.path.clone(),
        output: job.settings.output.clone(),
        id_field: job.settings.id_field.clone(),
        candidates: Arc::clone(&job.candidates),
        questions: job.questions.clone(),
        problem: job.problem.clone(),
        conditions: job.problem.attributes().map(|attribute| job.caller(attribute)).collect(),
        verifier_count: job.verifiers.len(),
    }
}

/// Opens the page of a run, and says where it is.
fn open(port: Port, run: &Run, control: &Arc<Control>, is_json: bool) -> Result<Watch, Failure> {
    let address = port.address();
    let progress = run.progress();
    let standing = Standing {
        progress: &progress,
        books: run.session().books(),
        account: run.account(),
        candidates: run.candidates(),
    };
    let watch = Watch::open(port, watched(run.job()), &standing, control).map_err(watch_failure)?;
    // Even with --quiet: the address cannot be guessed.
    terminal::say(&format!("watch: {address}"));
    if is_json {
        let event = serde_json::json!({"event": "watch", "address": address});
        terminal::print_line(&event.to_string());
    }
    Ok(watch)
}

/// Writes the outputs and says what came out; what is told to the page, and how the command ends.
fn finish(run: &Run, ending: &Ending, arguments: &RunArguments) -> (String, Result<(), Failure>) {
    match write_outputs(run, ending, arguments) {
        Ok(told) => {
            let outcome = outcome(ending, arguments);
            let told = outcome.as_ref().err().map_or(told.clone(), |why| format!("{why}\n{told}"));
            (told, outcome)
        }
        Err(failure) => (failure.to_string(), Err(failure)),
    }
}

/// Writes the outputs and the report; says where the report is.
fn write_outputs(run: &Run, ending: &Ending, arguments: &RunArguments) -> Result<String, Failure> {
    let folder = Folder::new(&run.job().settings.output);
    let summary = run.write_outputs(&ending.to_string()).map_err(Failure::wrong_input)?;
    let report = write_report(&folder, &summary);
    let text = if arguments.json {
        serde_json::json!({"event": "summary", "summary": &summary}).to_string() + "\n"
    } else {
        let people = for_people(run, arguments);
        format!("{}wrote {}\n{report}{people}", summary_text(&summary), folder.path().display())
    };
    terminal::print(&text);
    Ok(report)
}

/// How to go on with a run that has cards for people.
fn for_people(run: &Run, arguments: &RunArguments) -> String {
    if run.waiting_for_people() == 0 {
        return String::new();
    }
    let label = label_command(&run.job().settings.output);
    let resume = run_command(arguments, "--resume");
    format!("for a person: {label}, then: {resume}\n")
}

fn outcome(ending: &Ending, arguments: &RunArguments) -> Result<(), Failure> {
    let resume = format!("resume it with: {}", run_command(arguments, "--resume"));
    match ending {
        Ending::Done(_) | Ending::CallsSpent { .. } | Ending::WaitsForPeople { .. } => Ok(()),
        Ending::Interrupted => {
            Err(Failure::interrupted(format!("stopped, and everything is saved; {resume}")))
        }
        Ending::Left => Err(Failure::interrupted(format!(
            "left; calls in flight, but for those of people, count as spent and as the lowest score; {resume}"
        ))),
        Ending::VerifierDown { verifier, reason } => Err(Failure::with_exit(
            Exit::VerifierDown,
            format!(
                "{verifier} is down ({}), and everything is saved; {resume}",
                printable_note(reason)
            ),
        )),
        Ending::NeverScored(failed) => {
            Err(Failure::with_exit(Exit::VerifierDown, never_scored(failed, arguments)))
        }
        Ending::Mistrusted { verifier, reason } => {
            let (verifier, reason) = (printable_note(verifier), printable_note(reason));
            let again = run_command(arguments, "--again");
            let text = format!(
                "{verifier}: {reason}.\nIts earlier scores may belong to other answers, so the run has stopped: do not \
                 rely on its certificates. Mend the verifier, and begin again with: {again}"
            );
            Err(Failure::with_exit(Exit::VerifierDown, text))
        }
    }
}

/// All that there is to know about a verifier that does not work.
fn never_scored(failed: &NeverScored, arguments: &RunArguments) -> String {
    let NeverScored { verifier, lacks, id, request, reason, reply } = failed;
    let short = lacks.split(' ').next_back().unwrap_or(lacks);
    let mut text = format!(
        "{} has never given {lacks}, so the run has stopped; nothing is held against an answer.\n\
         asked about {}:\n{}why there is no {short}:\n{}",
        printable_note(verifier),
        printable_note(id),
        indented(request),
        indented(reason),
    );
    if !reply.is_empty() && !reason.contains(reply.trim()) {
        text += &format!("it replied:\n{}", indented(reply));
    }
    let job = shell_word(&arguments.job);
    let again = run_command(arguments, "--again");
    text + &format!(
        "mend the job, see what its verifiers say with: goodarm try {job}\nand begin again with: {again}"
    )
}

fn indented(text: &str) -> String {
    let lines = text.lines().take(SHOWN_LINES_MAX);
    let shown = |line: &str| {
        let kept: String = line.chars().take(SHOWN_CHARS_MAX).collect();
        let more = if kept.len() < line.len() { " …" } else { "" };
        format!("    {}{more}\n", printable_note(&kept))
    };
    lines.map(shown).collect()
}

/// The command that these arguments came with, and one more word.
fn run_command(arguments: &RunArguments, flag: &str) -> String {
    let mut words = vec!["goodarm".to_owned(), "run".to_owned(), shell_word(&arguments.job)];
    if let Some(output) = &arguments.output {
        words.extend(["--output".to_owned(), shell_word(output)]);
    }
    if let Some(budget) = arguments.budget {
        words.extend(["--budget".to_owned(), budget.to_string()]);
    }
    if let Some(policy) = &arguments.policy {
        words.extend(["--policy".to_owned(), shell_word(policy.as_ref())]);
    }
    if let Some(calls) = arguments.calls_per_pair {
        words.extend(["-k".to_owned(), calls.to_string()]);
    }
    if arguments.no_wait {
        words.push("--no-wait".to_owned());
    }
    words.push(flag.to_owned());
    words.join(" ")
}

/// Writes the page at the end of a run; says where it is.
pub(crate) fn write_report(folder: &Folder, summary: &Overview) -> String {
    if summary.calls > REPORT_CALLS_MAX || summary.candidates > REPORT_CANDIDATES_MAX {
        let path = folder.path().display();
        return format!("for the page of so large a run: goodarm report {path}\n");
    }
    // The run is done and safe: a page that fails is worth a word, not an error.
    match Report::read(folder.path(), None).and_then(|report| report.write_page(None)) {
        Ok(page) => format!("report: {}\n", page.display()),
        Err(error) => format!("no report: {error}\n"),
    }
}

fn tell_of_the_past(run: &Run, display: &Display<'_>) {
    if run.bytes_cut() > 0 {
        let cut = counted(run.bytes_cut(), "byte");
        display.say(&format!("cut {cut} of an unfinished write from the journal"));
    }
    if run.added_count() > 0 {
        display.say(&format!("{} added", were(run.added_count(), "candidate")));
    }
    if run.lost_count() > 0 {
        display.say(&format!(
            "{} in flight when the last process died: lost calls count as spent and as the lowest score",
            were(run.lost_count(), "call")
        ));
    }
}

pub(crate) fn listen_for_ctrl_c(control: &Arc<Control>, quiet: bool) -> Result<(), Failure> {
    let control = Arc::clone(control);
    let mut last: Option<Instant> = None;
    ctrlc::set_handler(move || {
        if last.is_some_and(|last| last.elapsed() < SAME_SIGNAL) {
            return;
        }
        last = Some(Instant::now());
        if !quiet {
            let text = if control.is_stopping() {
                "leaving; calls in flight count as lost"
            } else {
                "stopping: no new calls; waiting for those in flight (again to leave now)"
            };
            terminal::say(text);
        }
        control.stop();
    })
    .map_err(|error| Failure::wrong_input(format!("cannot listen for Ctrl-C: {error}")))
}

fn watch_failure(error: SiteError) -> Failure {
    let hint = match error {
        SiteError::Port { .. } => {
            ": choose another with --watch-port, or leave it out for a free one"
        }
        _ => "",
    };
    Failure::wrong_input(format!("--watch: {error}{hint}"))
}

pub(crate) fn failure(error: RunError) -> Failure {
    match error {
        RunError::Policy(_) => Failure::with_exit(Exit::Bug, error.to_string()),
        error => Failure::wrong_input(error),
    }
}

const SHOWN_LINES_MAX: usize = 40;
/// Of each.
const SHOWN_CHARS_MAX: usize = 2000;
/// `timeout -s INT` sends its signal to the process and to its group: that is one wish to stop.
const SAME_SIGNAL: Duration = Duration::from_millis(300);
/// Larger runs end without a page, which would take longer than a person waits.
const REPORT_CALLS_MAX: u64 = 2_000_000;
const REPORT_CANDIDATES_MAX: usize = 200_000;
