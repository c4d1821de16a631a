//! The command line and its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use goodarm_terminal::completions::CompletionsArguments;

/// The laboratory of goodarm: experiments, the figures of the paper, and the algorithm by hand.
#[derive(Debug, Parser)]
#[command(name = "goodarm-lab", version)]
pub(crate) struct LabCli {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Print shell completions.
    Completions(CompletionsArguments),
    /// Make every figure of the paper, and those beyond it, with the raw trials.
    #[command(long_about = REPRODUCE_LONG)]
    Reproduce(ReproduceArguments),
    /// Run an experiment: worlds × methods × budgets × repetitions, on all cores.
    #[command(long_about = SIMULATE_LONG)]
    Simulate(SimulateArguments),
    /// Replay scores from a file through a policy, one JSON line per pull.
    #[command(long_about = TRACE_LONG, after_long_help = TRACE_FIELDS)]
    Trace(TraceArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    /// The problem file; - reads standard input.
    #[arg(value_name = "PROBLEM.json")]
    pub(crate) problem: PathBuf,
}

/// Recorded answers, and how the work is done.
#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    /// Recorded answers, for worlds that replay them; .gz is unpacked.
    #[arg(long, value_name = "POOLS.jsonl")]
    pub(crate) data: Option<PathBuf>,
    /// Threads; all cores if not given. The result does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Print errors only.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// The experiment file.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub(crate) experiment: PathBuf,
    /// Where to write trials, summary and figures.
    #[arg(long, short, value_name = "FOLDER", default_value = "simulation")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArguments {
    /// Which figures; all if none is named.
    #[arg(value_name = "FIGURE", help = figures_help())]
    pub(crate) figures: Vec<String>,
    /// A minute's worth: a sixth of the repetitions.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where to write the page, figures and trials.
    #[arg(long, short, value_name = "FOLDER", default_value = "reproduction")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) work: WorkArguments,
}

fn figures_help() -> String {
    let names = goodarm_lab::figures::FIGURES.map(|figure| figure.name);
    format!("Which figures; all if none is named: {}", names.join(", "))
}

const REPRODUCE_LONG: &str = include_str!("../help/reproduce.txt").trim_ascii_end();

const SIMULATE_LONG: &str = include_str!("../help/simulate.txt").trim_ascii_end();

const TRACE_LONG: &str = include_str!("../help/trace.txt").trim_ascii_end();

const TRACE_FIELDS: &str = include_str!("../help/trace-fields.txt").trim_ascii_end();
