//! A run in a few lines.

use goodarm_live::view::Overview;

use crate::words::{
    amount, counted, failures, is_free, money, printable, printable_note, remaining, were,
};

/// The end of a run, in a few lines.
pub fn summary_text(summary: &Overview) -> String {
    let unit = summary.money.unit;
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
        "spent {} of {} in {}\n",
        amount(summary.money.spent, unit),
        money(summary.money.budget, unit),
        counted(summary.calls, "call"),
    );
    let remaining = remaining(summary);
    if !remaining.is_empty() {
        text += &format!("{remaining}\n");
    }
    let width = summary.verifiers.iter().map(|verifier| verifier.name.chars().count()).max();
    for verifier in &summary.verifiers {
        let spent = match &verifier.paid_with {
            Some(_) => "the same calls".to_owned(),
            None if is_free(verifier.ceiling) => "free".to_owned(),
            None => money(verifier.spent, unit),
        };
        let mean = verifier.mean_score.map_or_else(|| "–".into(), |mean| format!("{mean:.3}"));
        text += &format!(
            "  {:width$}  {:>15}  {spent:>18}  mean score {mean} (threshold {})\n",
            printable(&verifier.name),
            counted(verifier.calls, "call"),
            verifier.threshold,
            width = width.unwrap_or(0),
        );
        for failed in failures(verifier) {
            text += &format!("  {:width$}  {failed}\n", "", width = width.unwrap_or(0));
        }
    }
    if summary.money.overruns > 0 {
        text += &format!(
            "warning: {} above their ceiling, by {} in all\n",
            were(summary.money.overruns, "bill"),
            money(summary.money.overrun, unit)
        );
    }
    for note in &summary.notes {
        text += &format!("note: {}\n", printable_note(note));
    }
    if summary.certified > 0 {
        text += &format!("{}\n", summary.promise);
        if let Some(doubt) = &summary.doubt {
            text += &format!("{}\n", printable_note(doubt));
        }
    }
    text
}
