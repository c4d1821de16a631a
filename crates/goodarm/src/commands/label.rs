//! `goodarm label`: labels by people, on a page, in the terminal, or by files.

mod talk;

use std::env;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use goodarm_record::card_queue::hidden::HiddenFields;
use goodarm_record::card_queue::{CardQueue, QueueProgress, cards_file, gold, labels_file};
use goodarm_record::folder::Folder;
use goodarm_record::labels::{ClaimQueue, ClaimTerms, LabelError};
use goodarm_record::people::{self, PeopleQueue};
use goodarm_report::label::{LabelPage, LabelPageInfo};
use goodarm_report::publish_claim;
use goodarm_report::site::Port;
use goodarm_report::words::counted;

use crate::advice;
use crate::cli::LabelArguments;
use crate::commands::{CommandError, page_failure, run_folder};
use crate::shell::label_command;
use crate::terminal;

pub(crate) fn run(arguments: &LabelArguments) -> Result<(), CommandError> {
    let folder = run_folder(&arguments.folder)?;
    let subject = Subject::of(arguments, &folder)?;
    if arguments.status {
        return status(arguments, &folder, subject);
    }
    // The port is taken first, because nothing should begin without it.
    let is_page = !arguments.terminal
        && arguments.export.is_none()
        && arguments.import.is_none()
        && arguments.field.is_none();
    let port = is_page.then(|| Port::take(arguments.port.unwrap_or(0))).transpose();
    let port = port.map_err(|error| page_failure(&error, "--port"))?;
    let queue = subject.open(arguments, &folder)?;
    let by = name(arguments);
    let before = written(&folder);
    let outcome = match port {
        Some(port) => on_page(port, queue, arguments, by),
        None => in_place(queue, arguments, &by),
    };
    // Labels are on the disk, also after an error.
    if subject == Subject::Claim && written(&folder) != before {
        publish(&folder)?;
    }
    outcome
}

/// What people are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Whether certified answers are right.
    Claim,
    /// The calls of the run that wait for people.
    People,
}

impl Subject {
    /// The subject that the arguments name; otherwise the calls that wait for people, if there are any, or the claim.
    fn of(arguments: &LabelArguments, folder: &Folder) -> Result<Self, CommandError> {
        let is_about_claim = arguments.claim
            || arguments.another
            || arguments.field.is_some()
            || arguments.labels.is_some()
            || arguments.delta.is_some()
            || arguments.at_least.is_some()
            || !arguments.hide.is_empty()
            || !arguments.show.is_empty();
        if arguments.people {
            return Ok(Self::People);
        }
        let is_asked = !is_about_claim && people::are_asked(folder)?;
        Ok(if is_asked { Self::People } else { Self::Claim })
    }

    fn open(
        self,
        arguments: &LabelArguments,
        folder: &Folder,
    ) -> Result<Box<dyn CardQueue + Send>, CommandError> {
        Ok(match self {
            Self::People => Box::new(PeopleQueue::open(folder)?),
            Self::Claim => Box::new(claim(arguments, folder).map_err(claim_failure)?),
        })
    }
}

fn terms(arguments: &LabelArguments) -> ClaimTerms {
    ClaimTerms {
        delta: arguments.delta,
        labels_per_card: arguments.labels,
        target_share: arguments.at_least,
    }
}

/// The claim that has begun, or a new one.
fn claim(arguments: &LabelArguments, folder: &Folder) -> Result<ClaimQueue, LabelError> {
    let terms = terms(arguments);
    let mut queue = if arguments.another {
        let mut queue = ClaimQueue::open(folder, &ClaimTerms::default())?;
        queue.start_next_claim(&terms)?;
        queue
    } else {
        ClaimQueue::open(folder, &terms)?
    };
    // A comparison needs the right answers, and shows no cards.
    if arguments.field.is_none() {
        let (hide, show) = (arguments.hide.clone(), arguments.show.clone());
        queue.hide(HiddenFields { hide, show })?;
    }
    Ok(queue)
}

fn claim_failure(error: LabelError) -> CommandError {
    let hint = match error {
        LabelError::OtherTerms { .. } => " with --another",
        _ => "",
    };
    CommandError::wrong_input(format!("{error}{hint}"))
}

/// Writes or reads a file, labels by a field, or asks in the terminal.
fn in_place(
    mut queue: Box<dyn CardQueue + Send>,
    arguments: &LabelArguments,
    by: &str,
) -> Result<(), CommandError> {
    let queue = &mut *queue;
    if let Some(file) = &arguments.export {
        let count = cards_file::write(queue, by, file)?;
        let cards = counted(count, "card");
        terminal::print(&format!("wrote {} with {cards} for {by}\n", file.display()));
        return Ok(());
    }
    if let Some(file) = &arguments.import {
        import(queue, by, file)?;
    } else if let (Some(field), Some(equals)) = (&arguments.field, &arguments.equals) {
        let labels = gold::compare(queue, by, [field, equals], arguments.extract.as_ref());
        let labels = labels.map_err(advice::comparison)?;
        terminal::print(&labels.examples);
        let (right, all) = labels.submit(queue, by, usize::MAX)?;
        let cards = counted(all, "card");
        terminal::print(&format!(
            "{cards} labelled by {by}: {right} right, {} wrong\n",
            all - right
        ));
    } else {
        return Ok(talk::talk(queue, by, &listen(true)?)?);
    }
    terminal::print(&told(&queue.progress()?));
    Ok(())
}

/// Takes the labels of a file, and prints the result for its rows.
fn import(queue: &mut dyn CardQueue, by: &str, file: &Path) -> Result<(), CommandError> {
    let imported = labels_file::take(queue, by, file)?;
    let mut text = format!("{} taken", counted(imported.taken, "label"));
    let others = [
        (imported.known, "known before"),
        (imported.empty, "not filled in"),
        (imported.settled, "about cards that have all their labels"),
        (imported.elsewhere, "about answers of the run that have no card"),
        (imported.behind, "not taken"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {} {what}", counted(count, "row"));
    }
    if let Some(id) = &imported.gap {
        text += &format!("\nthe rows behind {id:?} are not taken: {by} has not labelled it yet");
    }
    terminal::print(&format!("{text}\n"));
    Ok(())
}

/// Serves the page until Ctrl-C.
fn on_page(
    port: Port,
    queue: Box<dyn CardQueue + Send>,
    arguments: &LabelArguments,
    by: String,
) -> Result<(), CommandError> {
    let input = listen(false)?;
    let address = port.address();
    let about = LabelPageInfo {
        folder: arguments.folder.display().to_string(),
        by,
        command: label_command(&arguments.folder),
    };
    let page = LabelPage::open(port, queue, about);
    let page = page.map_err(|error| page_failure(&error, "--port"))?;
    terminal::say(&format!("label: {address}\nopen it in a browser; Ctrl-C ends it"));
    // `recv` fails only if Ctrl-C can no longer be noticed.
    let _ = input.recv();
    let queue = page.close();
    let mut queue = queue.ok_or_else(|| {
        CommandError::wrong_input("the page broke; all labels that it has confirmed are kept")
    })?;
    terminal::print(&told(&queue.progress()?));
    Ok(())
}

/// Listens for Ctrl-C, and for lines of input if `to_lines`. What is received is a line, or `None` for Ctrl-C and for
/// the end of the input.
fn listen(to_lines: bool) -> Result<Receiver<Option<String>>, CommandError> {
    let (sender, input) = channel();
    ctrl_c(sender.clone())?;
    if to_lines {
        thread::spawn(move || read_lines(&sender));
    }
    Ok(input)
}

fn ctrl_c(sender: Sender<Option<String>>) -> Result<(), CommandError> {
    ctrlc::set_handler(move || drop(sender.send(None)))
        .map_err(|error| CommandError::wrong_input(format!("cannot listen for Ctrl-C: {error}")))
}

fn read_lines(sender: &Sender<Option<String>>) {
    let mut input = io::stdin().lock();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        if !matches!(read, Ok(1..)) {
            let _ = sender.send(None);
            return;
        }
        let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
        if sender.send(Some(line)).is_err() {
            return;
        }
    }
}

/// The state of labelling, without a change.
fn status(
    arguments: &LabelArguments,
    folder: &Folder,
    subject: Subject,
) -> Result<(), CommandError> {
    let queue: Option<Box<dyn CardQueue + Send>> = match subject {
        Subject::People => Some(subject.open(arguments, folder)?),
        Subject::Claim => {
            let queue =
                ClaimQueue::open_read_only(folder, &terms(arguments)).map_err(claim_failure)?;
            queue.map(|queue| Box::new(queue) as Box<dyn CardQueue + Send>)
        }
    };
    let standing = match queue {
        Some(mut queue) => queue.progress()?,
        None => QueueProgress {
            statement: "there are no labels yet".into(),
            ..QueueProgress::default()
        },
    };
    let json = serde_json::to_string(&standing).expect("plain data with text keys");
    terminal::print(&if arguments.json { format!("{json}\n") } else { told(&standing) });
    Ok(())
}

/// The state of labelling, in a line or two.
fn told(standing: &QueueProgress) -> String {
    let QueueProgress { statement, outlook, .. } = standing;
    let more = if outlook.is_empty() { String::new() } else { format!("{outlook}\n") };
    format!("{statement}\n{more}")
}

/// Writes the summary and the report again, and prints the path of the report.
fn publish(folder: &Folder) -> Result<(), CommandError> {
    let report = folder.report();
    match publish_claim(folder)? {
        Some(_) if report.exists() => terminal::print(&format!("report: {}\n", report.display())),
        Some(_) => {}
        None => terminal::print("the run has not ended: when it has, its summary has the claim\n"),
    }
    Ok(())
}

/// The length of the file of labels, which grows with each label.
fn written(folder: &Folder) -> u64 {
    std::fs::metadata(folder.labels()).map_or(0, |file| file.len())
}

fn name(arguments: &LabelArguments) -> String {
    let login = || ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| env::var(name).ok());
    let default = || match arguments.field {
        Some(_) => "gold".to_owned(),
        None => login().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "me".to_owned()),
    };
    arguments.by.clone().unwrap_or_else(default).trim().to_owned()
}

/// The longest line of input, which may be an answer.
const LINE_BYTES_MAX: u64 = 2 << 20;
