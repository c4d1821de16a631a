//! What to type next. Errors of the libraries state facts; this adds commands and flags.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use goodarm_data::problem::ProblemKind;
use goodarm_live::job::JobError;
use goodarm_plan::calibrate::CalibrateError;
use goodarm_plan::forecast::ForecastError;
use goodarm_record::audit::{self, Resumption};
use goodarm_record::card_queue::gold::GoldError;
use goodarm_record::ending::Ending;
use goodarm_record::run_error::RunError;
use goodarm_report::PageOutcome;
use goodarm_report::words::printable_note;

use crate::cli::RunArguments;
use crate::shell::shell_word;
use crate::terminal::{CommandError, Exit};

/// What to do after a run that stopped; the text is appended to the reason.
pub(crate) fn after(ending: &Ending, arguments: &RunArguments) -> String {
    let again = || run_command(&arguments.typed, "--again");
    match ending {
        Ending::Done(_) | Ending::CallsUsedUp { .. } | Ending::WaitsForPeople { .. } => {
            String::new()
        }
        Ending::Stopped { .. } | Ending::VerifierDown { .. } => {
            format!("; resume it with: {}", run_command(&arguments.typed, "--resume"))
        }
        Ending::NeverScored(_) => format!(
            "\nfix the job, see the replies of its verifiers with: goodarm try {}\nand begin again with: {}",
            shell_word(&arguments.job),
            again()
        ),
        Ending::Mistrusted { .. } => {
            format!(" Fix the verifier, and begin again with: {}", again())
        }
    }
}

/// Why a run cannot begin or continue, and what to type then.
pub(crate) fn run(error: &RunError) -> CommandError {
    let exit = match error {
        RunError::Policy(_) => Exit::Bug,
        _ => Exit::WrongInput,
    };
    CommandError::with_exit(exit, format!("{error}{}", about_run(error)))
}

/// What to do about a run that cannot begin or continue; the text is appended to the reason.
fn about_run(error: &RunError) -> Cow<'static, str> {
    let text = match error {
        RunError::AlreadyBegun(_) => {
            ": continue it with --resume, move it aside and begin again with --again, or choose another output"
        }
        RunError::OutputIsFile(_) => "; --output names another",
        RunError::NothingToResume(_) => ": start it without --resume",
        RunError::NotDurable(_) => ", and continue with --resume",
        RunError::OlderJournal(_) => " with --again or another output",
        RunError::Changed { budget_min: Some(budget), .. } => {
            let text = format!("\nto continue the run, resume it with --budget {budget} or more");
            return Cow::Owned(text + BEGIN_AGAIN);
        }
        RunError::Changed { .. } => BEGIN_AGAIN,
        _ => "",
    };
    Cow::Borrowed(text)
}

const BEGIN_AGAIN: &str =
    "\nto run the job as it is now, begin again with --again, which moves this run aside";

/// What is wrong with a job, and what to do about it.
pub(crate) fn job(error: JobError) -> CommandError {
    CommandError::wrong_input(with_job(&error))
}

fn with_job(error: &JobError) -> String {
    let is_candidates = |kind: &ProblemKind| matches!(kind, ProblemKind::CandidatesFile);
    let mut problems = error.problems.iter();
    let file = problems.find(|it| is_candidates(&it.kind)).and_then(|it| it.file.as_ref());
    match file {
        Some(file) => format!("{error}; a job for it: goodarm init {}", shell_word(file)),
        None => error.to_string(),
    }
}

/// Why there is no forecast, and what to do about it.
pub(crate) fn forecast(error: ForecastError) -> CommandError {
    CommandError::wrong_input(match error {
        ForecastError::Job(error) => with_job(&error),
        ForecastError::RecordingOfQuestions => format!("{error}: leave out --recording"),
        error => error.to_string(),
    })
}

/// Why there are no thresholds, and what to do about it.
pub(crate) fn calibrate(error: CalibrateError) -> CommandError {
    CommandError::wrong_input(match error {
        // The messages begin with the names of the flags.
        CalibrateError::Precision(_)
        | CalibrateError::Delta(_)
        | CalibrateError::Planned { .. } => {
            format!("--{error}")
        }
        CalibrateError::NoRecording { job, path, calls, cost } => format!(
            "{}: there is no recording; `goodarm run {} --policy fixed -k {calls} --output {}` makes one, for {cost} at most",
            path.display(),
            shell_word(&job),
            shell_word(&path)
        ),
        CalibrateError::NothingAgrees(text) => format!("{text}\n{EXTRACT}"),
        error => error.to_string(),
    })
}

/// Why answers cannot be compared with a field, and what to do about it.
pub(crate) fn comparison(error: GoldError) -> CommandError {
    match error {
        GoldError::NothingAgrees(text) => CommandError::wrong_input(format!("{text}\n{EXTRACT}")),
        GoldError::Queue(error) => error.into(),
    }
}

const EXTRACT: &str =
    "--extract says where they are: gsm8k, boxed, last-number, first-word or whole";

/// Hints after an audit: the commands that write the page again or continue the run.
pub(crate) fn about_audit(report: &audit::AuditReport, folder: &Path) -> String {
    let is_of_page = |problem: &audit::AuditProblem| problem.area == audit::Area::Page;
    let mut text = String::new();
    if report.problems.iter().any(is_of_page) {
        text += &format!("hint   goodarm report {} writes the page again\n", shell_word(folder));
    }
    if report.unfinished.is_some() {
        let resume = resume_command(&report.resumption.clone().unwrap_or_default(), folder);
        text += &format!(
            "hint   {} continues the run and writes its results\n",
            printable_note(&resume)
        );
    }
    text
}

/// The command that continues the run in a folder.
fn resume_command(resumption: &Resumption, folder: &Path) -> String {
    let Resumption { job, budget, policy, calls_per_pair } = resumption;
    let mut text = "goodarm run ".to_owned();
    text += &job.as_deref().map_or_else(|| "JOB".to_owned(), shell_word);
    let flags = [
        policy.as_ref().map(|policy| format!(" --policy {}", shell_word(Path::new(policy)))),
        calls_per_pair.map(|calls| format!(" -k {calls}")),
        budget.map(|budget| format!(" --budget {budget}")),
    ];
    text.extend(flags.into_iter().flatten());
    text + &format!(" --output {} --resume", shell_word(folder))
}

/// Where the page of a run is, or how it is made.
pub(crate) fn about_page(page: &PageOutcome, folder: &Path) -> String {
    match page {
        PageOutcome::Written(path) => format!("report: {}\n", path.display()),
        PageOutcome::TooLarge => {
            format!("for the page of a run of this size: goodarm report {}\n", shell_word(folder))
        }
        PageOutcome::Failed(error) => format!("no report: {error}\n"),
    }
}

/// The command that was typed, with this flag instead of `--resume` and `--again`.
pub(crate) fn run_command(typed: &[OsString], flag: &str) -> String {
    let typed = typed.iter().filter(|word| *word != "--resume" && *word != "--again");
    let mut words = vec!["goodarm".to_owned()];
    words.extend(typed.map(|word| shell_word(Path::new(word))));
    words.push(flag.to_owned());
    words.join(" ")
}
