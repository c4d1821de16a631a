//! `goodarm example`: a whole run, offline, on recorded calls of a real model.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use goodarm_live::job::{Job, JobInputs, Overrides};
use goodarm_live::run::Run;
use goodarm_record::card_queue::{CardQueue as _, gold};
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::folder::Folder;
use goodarm_record::labels::{ClaimQueue, ClaimTerms};
use goodarm_record::view::Overview;
use goodarm_report::words::amount;
use goodarm_report::{FinishedRun, finish_run, publish_claim, summary_text};

use crate::advice;
use crate::commands::CommandError;
use crate::terminal;

pub(crate) fn run(folder: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(folder).map_err(|error| CommandError::file(folder, &error))?;
    for (name, content) in FILES {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|error| CommandError::file(&path, &error))?;
    }
    let job = folder.join("job.toml");
    let (run, ending) = certify(&job, JOB, "run")?;
    let folder = Folder::new(&run.job().settings.output);
    let finished = finish_run(&run.state(&folder), &ending)?;
    let FinishedRun { overview: summary, page } = finished;
    // The run holds the lock of the folder, and labels are about to be published there.
    drop(run);
    let run = folder;
    let mut text = format!("{}wrote {}\n", summary_text(&summary), run.path().display());
    text += &advice::about_page(&page, run.path());
    let _ = writeln!(text, "\n{FAILURES}");
    text += &comparison(&job, &summary)?;
    text += &labelled(&run)?;
    let _ = write!(
        text,
        "\nLook at {0}/report.html and {0}/certified.jsonl, or try it yourself:\n  \
         goodarm label {0}\n  goodarm audit {0}\n  goodarm run {1} --output again\n",
        run.path().display(),
        job.display()
    );
    terminal::print(&text);
    Ok(())
}

/// Other policies on the same answers, money and recording.
fn comparison(job: &Path, ours: &Overview) -> Result<String, CommandError> {
    let unit = ours.money.unit;
    let mut text = format!(
        "\nThe same recording, the same budget, other ways to spend it:\n  {:<34} {:>9} {:>12}\n",
        "",
        "certified",
        unit.name()
    );
    let mut row = |name: &str, summary: &Overview| {
        let spent = amount(summary.money.spent, unit);
        let _ = writeln!(text, "  {name:<34} {:>9} {spent:>12}", summary.certified);
    };
    row("goodarm", ours);
    for (name, policy, guarantee) in OTHERS {
        let keys = format!("policy = \"{policy}\"\nguarantee = \"{guarantee}\"");
        let source = JOB.replace("policy = \"rcb\"", &keys);
        let output = format!("compare/{policy}-{guarantee}");
        let (run, ending) = certify(job, &source, &output)?;
        row(name, &run.write_outputs(&ending)?);
    }
    Ok(text)
}

/// What share of the certified answers is right. They are labelled as people would do it, with the right answers of
/// the file, in the order of the claim, until the claim reaches its aim. The other labels are left to the user.
fn labelled(run: &Folder) -> Result<String, CommandError> {
    let mut queue = ClaimQueue::open(
        run,
        &ClaimTerms { target_share: Some(HOPED_FOR), ..ClaimTerms::default() },
    )?;
    while queue.claim().share < HOPED_FOR {
        let labels = gold::compare(&mut queue, "gold", ["gold", "answer"], None);
        let labels = labels.map_err(advice::comparison)?;
        let (_, count) = labels.submit(&mut queue, "gold", 1)?;
        if count == 0 {
            break;
        }
    }
    publish_claim(run)?;
    let statement = queue.progress()?.statement;
    Ok(format!(
        "\nAre they right? The verifiers never saw the right answers. Used as labels, they show:\n  {statement}\n"
    ))
}

fn certify(path: &Path, source: &str, output: &str) -> Result<(Run, Ending), CommandError> {
    let output = path.parent().unwrap_or(Path::new(".")).join(output);
    if output.join("journal").exists() {
        // An earlier example: the same recording gives the same run.
        fs::remove_dir_all(&output).map_err(|error| CommandError::file(&output, &error))?;
    }
    let overrides = Overrides { output: Some(output), ..Overrides::default() };
    let inputs = JobInputs { overrides, ..JobInputs::default() };
    let job = Job::parse(path, source.to_owned(), inputs);
    let job = job.map_err(advice::job)?;
    let mut run = Run::begin(Arc::new(job)).map_err(|error| advice::run(&error))?;
    let driven = run.drive(&Control::default(), &mut ());
    Ok((run, driven.map_err(|error| advice::run(&error))?))
}

const HOPED_FOR: f64 = 0.9;
/// Why the recording has failures.
const FAILURES: &str = "The failed calls are real: the small model was cut off after its 12 tokens, or gave no \
    answer in them.\nNo call is left out because of how it ended, so they count against the answer.";
const JOB: &str = include_str!("../../../../examples/capitals/job.toml");
const FILES: [(&str, &[u8]); 3] = [
    ("job.toml", JOB.as_bytes()),
    ("answers.jsonl", include_bytes!("../../../../examples/capitals/answers.jsonl")),
    ("recording.jsonl", include_bytes!("../../../../examples/capitals/recording.jsonl")),
];
const OTHERS: [(&str, &str, &str); 4] = [
    ("uniform, the same promise", "uniform", "holm"),
    ("round-robin, the same promise", "round-robin", "holm"),
    ("uniform, the paper's certificates", "uniform", "paper"),
    ("BMA-GAI as printed", "bma-gai", "paper"),
];
