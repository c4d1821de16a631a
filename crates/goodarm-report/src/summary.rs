//! The end of a run in a few lines.

use goodarm_core::Cost;
use goodarm_files::GuaranteeName;
use goodarm_record::view::Overview;

use crate::words::{
    achieved, amount, claimed, counted, ending, failures, failures_of_generator, is_free, made_by,
    money, printable, printable_note, tried, were,
};

/// Result, spending, services and notes.
pub fn summary_text(summary: &Overview) -> String {
    let unit = summary.money.unit;
    let ending = ending(summary).unwrap_or_default();
    let mut text = summary.claim.as_ref().map_or_else(String::new, |claim| claimed(claim) + "\n");
    text += &match &summary.questions {
        _ if summary.guarantee == GuaranteeName::None => {
            format!("{ending}\n{}\n", summary.promise)
        }
        Some(questions) => {
            format!("{}; {}: {ending}\n", achieved(summary), tried(summary, questions))
        }
        None => format!(
            "{}, {} rejected, {} undecided: {ending}\n",
            achieved(summary),
            summary.rejected,
            summary.undecided,
        ),
    };
    if summary.added > 0 && summary.questions.is_none() {
        text += &format!("{} of them were added after the run began\n", summary.added);
    }
    let uncertain = match summary.money.unknown_bills {
        0 => String::new(),
        count => {
            let possible = amount(summary.money.possible, unit);
            format!(" (at most {possible}: {} not known)", were(count, "bill"))
        }
    };
    text += &format!(
        "spent {}{uncertain} of {}; {} made\n",
        amount(summary.money.spent, unit),
        money(summary.money.budget, unit),
        counted(summary.calls, "call"),
    );
    if let Some(note) = &summary.failures_note {
        text += &format!("{note}\n");
    }
    if summary.for_people > 0 {
        let wait = if summary.for_people == 1 { "call waits" } else { "calls wait" };
        let reserved = money(summary.money.reserved, unit);
        text += &format!("{} {wait} for a person, with {reserved} set aside\n", summary.for_people);
    }
    text += &services(summary);
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

/// The services, a line each: verifiers, then generators.
fn services(summary: &Overview) -> String {
    let unit = summary.money.unit;
    let paid = |spent: Cost, ceiling: Cost| match ceiling {
        free if is_free(free) => "free".to_owned(),
        _ => money(spent, unit),
    };
    let of_verifiers = summary.verifiers.iter().map(|verifier| {
        let spent = match &verifier.paid_with {
            Some(_) => "the same calls".to_owned(),
            None => paid(verifier.spent, verifier.ceiling),
        };
        let mean = verifier.mean_score.map_or_else(|| "–".into(), |mean| format!("{mean:.3}"));
        let result = match verifier.votes {
            true => format!("{mean} of its votes are for an answer that was tried"),
            false => format!("mean score {mean}"),
        };
        let result = format!("{result} (threshold {})", verifier.threshold);
        (&verifier.name, verifier.calls, spent, result, failures(verifier))
    });
    let generators = summary.questions.iter().flat_map(|questions| &questions.generators);
    let of_generators = generators.map(|generator| {
        let spent = paid(generator.spent, generator.ceiling);
        let failed = failures_of_generator(generator);
        (&generator.name, generator.calls, spent, made_by(generator), failed)
    });
    let all: Vec<_> = of_verifiers.chain(of_generators).collect();
    let width = all.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, calls, spent, result, failed) in all {
        let (name, calls) = (printable(name), counted(calls, "call"));
        text += &format!("  {name:width$}  {calls:>15}  {spent:>18}  {result}\n");
        for failed in failed {
            text += &format!("  {:width$}  {failed}\n", "");
        }
    }
    text
}
