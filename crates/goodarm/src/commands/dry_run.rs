//! `goodarm run --dry-run`: what would be asked, what it may cost at most, and what to expect.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use goodarm_core::{ArmId, Cost};
use goodarm_live::job::Job;
use goodarm_report::words::{amount, printable, unit_name};
use goodarm_sim::plan::{Spread, plan};

use crate::commands::{Failure, notes};
use crate::forecast::{self, Forecast};

pub(crate) fn show(job: &Job) -> Result<(), Failure> {
    let unit = unit_name(job.unit());
    let mut text = format!(
        "{}: {} candidates, {} verifiers, δ = {}; nothing is called and nothing is written.\n\n",
        job.path.display(),
        job.candidates.len(),
        job.verifiers.len(),
        job.settings.delta
    );
    let told = notes(&job.candidates);
    if !told.is_empty() {
        text += &told;
        text.push('\n');
    }
    let first = job.candidates.get(ArmId(0));
    for (verifier, terms) in job.verifiers.iter().zip(&job.charter.verifiers) {
        let price = if terms.metered { "at most " } else { "" };
        let _ = writeln!(
            text,
            "{} ({}): threshold {}, {price}{} {unit} a call",
            verifier.name,
            terms.kind,
            terms.threshold,
            amount(verifier.tariff.ceiling)
        );
        let preview = verifier.verifier.preview(&first);
        for line in preview.lines().take(PREVIEW_LINES_MAX) {
            let _ = writeln!(text, "    {}", printable(line));
        }
    }
    let _ = writeln!(
        text,
        "\nIt will spend at most {} {unit}: a call starts only if its ceiling still fits.",
        amount(job.settings.budget)
    );
    text += &forecast(job, unit)?;
    let _ = io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}

fn forecast(job: &Job, unit: &str) -> Result<String, Failure> {
    let Forecast { spec, scale } = forecast::of_job(job, REPETITIONS);
    let plan = plan(&spec).map_err(Failure::wrong_input)?;
    let Some(purchase) = plan.purchase else { return Ok(String::new()) };
    let Spread { low, median, high } = purchase.realistic;
    let implied = plan.implied.as_ref().map_or_else(String::new, |omission| {
        format!(
            "In this guess \"{}\" takes {:.0} % of that, and all that pass \"{}\" pass it, too. If that is \
             so, about {:.0} would be certified without it, by certificates that say nothing of it; the \
             report of a run says whether it was so.\n",
            printable(&omission.verifier),
            100.0 * omission.share,
            printable(&omission.by),
            omission.realistic.median * scale,
        )
    });
    Ok(format!(
        "If {:.0} % of the answers are good, with mean scores like {:?}, and the others like {:?}, \
         about {:.0} will be certified ({:.0} to {:.0} in eight of ten simulated runs), for {} {unit} \
         at full price. Say what you expect in [expect], or ask `goodarm plan` for more.\n{implied}",
        100.0 * forecast::good_share(job),
        forecast::means(job, true),
        forecast::means(job, false),
        median * scale,
        low * scale,
        high * scale,
        Cost::of_budget(purchase.spent * scale).map_or_else(|_| "?".into(), amount),
    ))
}

const PREVIEW_LINES_MAX: usize = 12;
const REPETITIONS: u64 = 20;
