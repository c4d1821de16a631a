//! The arguments of all commands, and their help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{ArgGroup, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use goodarm_data::answer::Extractor;
use goodarm_data::candidates::Format;
use goodarm_report::export::ExportFormat;

use crate::help;
use crate::terminal::completions::CompletionsArguments;

/// Certify as many LLM answers as a verification budget can buy.
#[derive(Debug, Parser)]
#[command(name = "goodarm", version, disable_help_subcommand = true)]
pub(crate) struct ToolArguments {
    #[command(subcommand)]
    pub(crate) command: ToolCommand,
}

impl ToolArguments {
    /// Reads the words of a command line. The first is the name of the program.
    pub(crate) fn read(words: Vec<OsString>) -> Result<Self, clap::Error> {
        let command = help::with_groups(Self::command());
        let mut arguments = Self::from_arg_matches(&command.try_get_matches_from(&words)?)?;
        if let ToolCommand::Run(run) = &mut arguments.command {
            run.typed = words.into_iter().skip(1).collect();
        }
        Ok(arguments)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    /// Compute every certificate and the ledger again from a run's raw calls.
    Audit(AuditArguments),
    /// Choose the thresholds of a job's verifiers by labelled answers.
    #[command(long_about = CALIBRATE_LONG, after_long_help = CALIBRATE_EXITS)]
    Calibrate(CalibrateArguments),
    /// Print shell completions.
    Completions(CompletionsArguments),
    /// Print a page of the book, or its table of contents.
    Docs {
        /// The name of a page, such as job-file.
        page: Option<String>,
    },
    /// Certify answers of a real model, recorded, and compare: everything at once, offline.
    Example {
        /// Where to put it.
        #[arg(value_name = "FOLDER", default_value = "goodarm-example")]
        folder: PathBuf,
    },
    /// Write what a run found for other tools: inspect_ai, Hugging Face, CSV, Parquet.
    #[command(long_about = EXPORT_LONG)]
    Export(ExportArguments),
    /// Print help: of all commands, or of one.
    Help(HelpArguments),
    /// Write a commented starter job for a file of candidates or questions.
    #[command(long_about = INIT_LONG)]
    Init(InitArguments),
    /// Ask people: label certified answers, to show how many are right; or answer a run's calls to people.
    #[command(long_about = LABEL_LONG)]
    Label(LabelArguments),
    /// Compute what a budget will buy, before a cent is spent.
    #[command(long_about = PLAN_LONG)]
    Plan(PlanArguments),
    /// Show what a run found: one self-contained page, or text, JSON and plots.
    #[command(long_about = REPORT_LONG)]
    Report(ReportArguments),
    /// Certify answers: make verifier calls until the budget is spent or nothing is left to do.
    #[command(long_about = RUN_LONG, after_long_help = RUN_EXITS)]
    Run(RunArguments),
    /// Print the JSON Schema of a job file, for editors.
    Schema,
    /// Make one real call of each verifier on a few answers, and show it word for word.
    #[command(long_about = TRY_LONG)]
    Try(TryArguments),
    /// Print the version.
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct HelpArguments {
    /// The command.
    pub(crate) command: Option<String>,
    /// List all commands.
    #[arg(long, conflicts_with = "command")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TryArguments {
    /// The job file.
    pub(crate) job: PathBuf,
    /// Number of answers, spread evenly over the file.
    #[arg(short, value_name = "COUNT", default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) n: usize,
    /// The id of an answer to use instead; may be given several times.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The job file.
    #[arg(value_name = "JOB.toml")]
    pub(crate) job: PathBuf,
    /// Continue a run that was stopped or died; candidates that were added to the file join it.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Begin again; an earlier run in the output folder is moved aside and kept.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) again: bool,
    /// Show what would be asked, what it may cost and what to expect; call nothing. With --resume: where
    /// the run stands, and what it may still spend.
    #[arg(long, conflicts_with = "again")]
    pub(crate) dry_run: bool,
    /// Overrides the file's budget; with --resume it may only grow.
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget: Option<f64>,
    /// Overrides the file's output folder.
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Overrides the file's policy. `fixed` makes a recording: -k calls of each verifier on each answer, and
    /// no certificate; `replay`, `pool`, `calibrate` and `plan` read its folder.
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// With the policy fixed: calls of each verifier on each answer, and answers of each generator and each
    /// solver to each question.
    #[arg(long, short = 'k', value_name = "N")]
    pub(crate) calls_per_pair: Option<u64>,
    /// End when nothing is left to do but to wait for people (kind = "human"); --resume continues when they
    /// have answered.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Print only errors and the result.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print one JSON object a line for every event, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the run in a browser: prints a secret address on this machine.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,
    /// The page's port on 127.0.0.1; any free one if not given.
    #[arg(long, value_name = "PORT", requires = "watch")]
    pub(crate) watch_port: Option<u16>,
    /// All words after the name of the program.
    #[arg(skip)]
    pub(crate) typed: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The candidates: .jsonl, .json, .csv, .tsv, .parquet, or what another tool wrote.
    #[arg(value_name = "CANDIDATES")]
    pub(crate) candidates: PathBuf,
    /// The field that names a candidate; guessed if not given.
    #[arg(long, value_name = "FIELD")]
    pub(crate) id_field: Option<String>,
    /// The format, if neither its name nor its content shows it: jsonl, json, csv, tsv, parquet,
    /// inspect, lm-eval, promptfoo, openai-batch or verifiers (the Python package).
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<Format>,
    /// The file has questions: answers are made during the run, and other fields are not answers.
    #[arg(long)]
    pub(crate) questions: bool,
    /// The job file to write.
    #[arg(long, short, value_name = "FILE", default_value = "job.toml")]
    pub(crate) out: PathBuf,
}

fn export_format() -> impl TypedValueParser<Value = ExportFormat> {
    PossibleValuesParser::new(["inspect", "hf", "csv", "parquet"]).map(|name| match name.as_str() {
        "inspect" => ExportFormat::Inspect,
        "hf" => ExportFormat::HuggingFace,
        "csv" => ExportFormat::Csv,
        _ => ExportFormat::Parquet,
    })
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The folder of a run, finished or not.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// The format: lines that inspect_ai reads as a dataset (inspect), a folder that datasets.load_dataset of
    /// Hugging Face reads (hf), a table with a header row (csv), or the same table as Parquet.
    #[arg(long, value_name = "TOOL", value_parser = export_format())]
    pub(crate) to: ExportFormat,
    /// All answers with their status, and not the certified ones only.
    #[arg(long)]
    pub(crate) all: bool,
    /// Where to write; certified.* or answers.* in the run's folder if not given.
    #[arg(long, short, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// The field with the question, for inspect; guessed if not given.
    #[arg(long, value_name = "FIELD")]
    pub(crate) question: Option<String>,
    /// The field with the answer, for inspect; guessed if not given.
    #[arg(long, value_name = "FIELD")]
    pub(crate) answer: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("way").args(["terminal", "status", "export", "import", "field"]))]
pub(crate) struct LabelArguments {
    /// The folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) folder: PathBuf,
    /// Who labels; your login name if not given, and "gold" with --field.
    #[arg(long, value_name = "NAME", conflicts_with = "status")]
    pub(crate) by: Option<String>,
    /// Ask in the terminal, not on a page.
    #[arg(long)]
    pub(crate) terminal: bool,
    /// The page's port on 127.0.0.1; any free one if not given.
    #[arg(long, value_name = "PORT", conflicts_with = "way")]
    pub(crate) port: Option<u16>,
    /// Label certified answers, even if calls to people are open.
    #[arg(long)]
    pub(crate) claim: bool,
    /// Show the cards of calls to people, even if none is open.
    #[arg(long, conflicts_with_all = ["claim", "labels", "delta", "at_least", "another", "field"])]
    pub(crate) people: bool,
    /// How many people label each answer, which is right if all say so; 1 if not given.
    #[arg(long, value_name = "N")]
    pub(crate) labels: Option<usize>,
    /// The probability with which the claim may ever be false; 0.05 if not given, and half of the last with --another.
    #[arg(long, value_name = "D")]
    pub(crate) delta: Option<f64>,
    /// The share that you hope for, 0.95 if not given: prints about how many more labels it takes.
    #[arg(long, value_name = "SHARE")]
    pub(crate) at_least: Option<f64>,
    /// Begin another claim, about the answers that are certified by now.
    #[arg(long, conflicts_with_all = ["export", "import"], conflicts_with = "status")]
    pub(crate) another: bool,
    /// Print the state, and change nothing.
    #[arg(long)]
    pub(crate) status: bool,
    /// The same as JSON.
    #[arg(long, requires = "status")]
    pub(crate) json: bool,
    /// Write the cards that you have not labelled to a .csv or .jsonl file.
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,
    /// Take the labels of a file: .csv, .tsv, .jsonl or .json with id (or key), label and perhaps by.
    #[arg(long, value_name = "FILE")]
    pub(crate) import: Option<PathBuf>,
    /// The field with the right answer, instead of labels by people.
    #[arg(long, value_name = "FIELD", requires = "equals")]
    pub(crate) field: Option<String>,
    /// The field that is compared with --field; the same final answer means right.
    #[arg(long, value_name = "FIELD", requires = "field")]
    pub(crate) equals: Option<String>,
    /// Where the final answers are, for --field: gsm8k, boxed, last-number, first-word or whole; as in the job if not
    /// given.
    #[arg(long, value_name = "NAME", value_parser = extractor, requires = "field")]
    pub(crate) extract: Option<Extractor>,
    /// Do not show this field of the answers; may be repeated. Fields such as gold or target are hidden anyway.
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["status", "import", "field", "people"])]
    pub(crate) hide: Vec<String>,
    /// Show this field, although its name is that of a right answer; may be repeated.
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["status", "import", "field", "people"])]
    pub(crate) show: Vec<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["labels", "field"]))]
pub(crate) struct CalibrateArguments {
    /// The job whose thresholds are chosen, and written into it.
    #[arg(value_name = "JOB.toml")]
    pub(crate) job: PathBuf,
    /// Labelled answers: id and label (right, wrong or skip), as .csv, .tsv, .jsonl or .json.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// The candidates' field with the right answer, if it is known, instead of labels.
    #[arg(long, value_name = "FIELD", conflicts_with = "labels")]
    pub(crate) field: Option<String>,
    /// The candidates' field with the answer, for --field.
    #[arg(long, value_name = "FIELD", default_value = "answer", requires = "field")]
    pub(crate) equals: String,
    /// Where the final answers are, for --field: gsm8k, boxed, last-number, first-word or whole; as in the job if not
    /// given.
    #[arg(long, value_name = "NAME", value_parser = extractor, requires = "field")]
    pub(crate) extract: Option<Extractor>,
    /// The folder of a run with the policy fixed, or a file; `pilot` beside the job if not given, or
    /// recording.jsonl if that is there.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) recording: Option<PathBuf>,
    /// The share of right answers to prove among the answers that pass.
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub(crate) precision: f64,
    /// The probability that the proven share is not reached.
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.05)]
    pub(crate) delta: f64,
    /// The final number of labels you plan to collect. Give the same number in every calibration: then the error
    /// probability of all of them together is --delta.
    #[arg(long, value_name = "COUNT")]
    pub(crate) planned_labels: Option<u64>,
    /// Leave the job as it is.
    #[arg(long)]
    pub(crate) keep_job: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// The folder of a run.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The folder of a run, finished or not.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Where to write the page; report.html in the run's folder if not given.
    #[arg(long, short, value_name = "FILE.html", conflicts_with_all = ["text", "json"])]
    pub(crate) out: Option<PathBuf>,
    /// Print the report as text.
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,
    /// Print the report as JSON: the totals, and every answer with its evidence.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the plots as .svg files.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plots: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// A plan file or a job file.
    #[arg(value_name = "FILE")]
    pub(crate) plan: PathBuf,
    /// Take the answers' mean scores from this recording of the same verifiers.
    #[arg(long, value_name = "RECORDING")]
    pub(crate) recording: Option<PathBuf>,
    /// The error probability; overrides the file's.
    #[arg(long)]
    pub(crate) delta: Option<f64>,
    /// The budget; overrides the file's.
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget: Option<f64>,
    /// JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also draw it: a .svg file.
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

const INIT_LONG: &str = include_str!("../help/init.txt").trim_ascii_end();

const EXPORT_LONG: &str = include_str!("../help/export.txt").trim_ascii_end();

/// A way to find final answers. One that needs more keys is only in jobs.
fn extractor(name: &str) -> Result<Extractor, String> {
    let name = serde_json::from_value(name.into()).map_err(|error| error.to_string())?;
    Extractor::new(name, None, None)
        .map_err(|_| "only in a job, with its pattern or pointer".into())
}

const LABEL_LONG: &str = include_str!("../help/label.txt").trim_ascii_end();

const CALIBRATE_LONG: &str = include_str!("../help/calibrate.txt").trim_ascii_end();

const CALIBRATE_EXITS: &str = "\
Exit codes:
  0  done
  1  a bug in goodarm
  2  wrong input (the message names the file and the line), or a file that cannot be written
  5  the labels do not show the precision: the job is left as it is; the message has the number of labels it takes";

const RUN_LONG: &str = include_str!("../help/run.txt").trim_ascii_end();

const RUN_EXITS: &str = include_str!("../help/run-exits.txt").trim_ascii_end();

const TRY_LONG: &str = include_str!("../help/try.txt").trim_ascii_end();

const REPORT_LONG: &str = include_str!("../help/report.txt").trim_ascii_end();

const PLAN_LONG: &str = include_str!("../help/plan.txt").trim_ascii_end();
