//! A run in a few lines.

use goodarm_live::view::Overview;

use crate::words::{amount, printable, printable_note, thousands, unit_name};

/// The end of a run, in a few lines.
pub fn summary_text(summary: &Overview) -> String {
    let unit = unit_name(summary.money.unit);
    let mut text = format!(
        "{} of {} answers certified, {} rejected, {} undecided: {}\n",
        summary.certified,
        summary.candidates,
        summary.rejected,
        summary.undecided,
        summary.ending.as_deref().unwrap_or_default(),
    );
    if summary.added > 0 {
        text += &format!("{} of them were added after the run began\n", summary.added);
    }
    text += &format!(
        "spent {} of {} {unit} in {} calls\n",
        amount(summary.money.spent),
        amount(summary.money.budget),
        thousands(&summary.calls.to_string()),
    );
    let width = summary.verifiers.iter().map(|verifier| verifier.name.chars().count()).max();
    for verifier in &summary.verifiers {
        let failures: u64 = verifier.failures.values().sum();
        let mean = verifier.mean_score.map_or_else(|| "–".into(), |mean| format!("{mean:.3}"));
        text += &format!(
            "  {:width$}  {:>9} calls  {:>10} {unit}  mean score {mean} (threshold {}), {failures} failures\n",
            printable(&verifier.name),
            thousands(&verifier.calls.to_string()),
            amount(verifier.spent),
            verifier.threshold,
            width = width.unwrap_or(0),
        );
    }
    if summary.money.overruns > 0 {
        text += &format!(
            "warning: {} bills were above their ceiling, by {} {unit} in all\n",
            summary.money.overruns,
            amount(summary.money.overrun)
        );
    }
    for note in &summary.notes {
        text += &format!("note: {}\n", printable_note(note));
    }
    text += &format!("{}\n", summary.promise);
    text
}
