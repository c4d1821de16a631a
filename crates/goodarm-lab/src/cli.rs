//! What was typed, and the help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use goodarm_terminal::completions::CompletionsArguments;

/// The laboratory of goodarm: experiments, the figures of the paper, and the algorithm by hand.
#[derive(Debug, Parser)]
#[command(name = "goodarm-lab", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print shell completions, or the man page.
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

/// How the work is done, which the result does not depend on, and what it may read.
#[derive(Debug, Args)]
pub(crate) struct WorkArguments {
    /// Recorded answers, for worlds that replay them; .gz is unpacked.
    #[arg(long, value_name = "POOLS.jsonl")]
    pub(crate) data: Option<PathBuf>,
    /// Threads; all cores if not given. The result does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Say nothing but errors.
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
    /// Which figures; all if none is named: synthetic, allocation, interaction, gsm8k, capitals, constant,
    /// ablation, delta, error-rates, concurrency, held-out, instances.
    #[arg(value_name = "FIGURE")]
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

const REPRODUCE_LONG: &str = "\
Make every figure of the paper, and those beyond it, with the raw trials.

  goodarm-lab reproduce --quick                 all figures, a minute's worth
  goodarm-lab reproduce synthetic allocation    two of them, in full
  goodarm-lab reproduce --data pools.jsonl.gz   all, with recorded GSM8K answers

writes index.html (one self-contained page), each figure as .svg and .png, and for each experiment its
.toml, its trials as .csv and .parquet and its summary as .json. The experiments are those of the folder
experiments/, built in.";

const SIMULATE_LONG: &str = "\
Run an experiment: worlds × methods × budgets × repetitions, on all cores.

The same file gives the same bytes, whatever the number of threads. All methods have the same luck:
the k-th call of a verifier on an answer brings the same score in each. Ctrl-C keeps what is done.

  title = \"Uniform against goodarm\"
  seed = 1
  repetitions = 30
  deltas = [0.02]
  budgets = { normalized = [0.5, 1, 2, 4] }   # × T*(μ) log(1/δ); or { absolute = [90000] }

  [[worlds]]
  name = \"decoys\"
  means = { expensive-decoys = { prices = [1, 2, 4, 25], scale = 1.0, hard_cheap = true } }

  [[methods]]
  name = \"Uniform\"
  policy = \"uniform\"
  guarantee = \"paper\"         # or union, holm, fdr; lent is the default of rcb

  [[methods]]
  name = \"goodarm\"
  policy = \"rcb\"

writes trials.csv and trials.parquet (one row for each trial), summary.json (means with standard
errors) and coverage.svg and .png. docs/experiments.md lists every key.";

const TRACE_LONG: &str = "\
Replay scores from a file through a policy, one JSON line per pull.

The file states a problem and the scores that its pulls will see, so every decision can be checked
by hand. Two answers (arms), two verifiers (attributes), the paper's Algorithm 1:

  {\"arms\": 2, \"budget\": 9, \"delta\": 1e-10,
   \"verifiers\": [{\"name\": \"tests\", \"price\": 1, \"threshold\": 0.5},
                 {\"name\": \"judge\", \"price\": 0.5, \"threshold\": 0.6}],
   \"policy\": \"bma-gai\", \"guarantee\": \"paper\",
   \"observations\": [[[4.5, 5.0, 4.0], [4.75, 3.5]], [[0.2], [0.9, 0.4]]]}

observations[arm][attribute] are the scores of that pair, taken in order, and from the start again
when they run out. Each pull costs its attribute's price. The first lines are

  {\"t\":1,\"branch\":\"explore\",\"arm\":0,\"attribute\":0,\"score\":4.5,\"spent\":1.0,\"certified\":[]}
  {\"t\":2,\"branch\":\"explore\",\"arm\":0,\"attribute\":1,\"score\":4.75,\"spent\":1.5,\"certified\":[]}

t counts pulls from 1; arms and attributes count from 0; branch is the rule of the policy that chose
the pull (bma-gai: explore, fallback, target); spent is the exact sum of the prices so far; certified
lists the certified arms after this pull, in the order in which they were certified. Where shares of
delta are lent, a pull has \"lent\" if its arm was lent a share just before.";

const TRACE_FIELDS: &str = "\
Fields that must be there:
  arms           how many answers
  verifiers      for each attribute {\"name\", \"price\", \"threshold\"} and, if wanted, \"scores\"
  budget         the most that may be spent
  delta          the error probability
  observations   the scores to replay

Fields that may be there:
  policy               rcb (default), bma-gai, cb-gai, uniform, round-robin, hdoc, lucb-g, apt-g, oracle
  guarantee            lent (default with rcb), holm (with the others), union or fdr: what delta bounds;
                       paper: the paper's certificates
  prior_weights        how likely each arm is to be good, up to a common factor
  means                the true means[arm][attribute]; the policy oracle needs them
  allocation_constant  the paper's 8 in sqrt(8 log(t+1)/N); bma-gai and cb-gai only
  unresolved_only      true: never spend on a pair that is already proved; bma-gai, cb-gai, uniform
                       and round-robin only
  stop_when_hopeless   true: stop when no arm has a realistic chance with the money that is left
  pulls_max            stop after so many pulls

Scores are \"sub-gaussian\" (default, sigma 1), {\"sub-gaussian\": {\"sigma\": 0.5, \"lowest\": 0}}, \"bounded\"
(0 to 1), \"binary\" (0 or 1) or \"exact\" (always the same).

Exit codes:
  0  done, or the reader of the output went away
  1  a bug in goodarm
  2  wrong input (the message names the field), or a file that cannot be read or written";
