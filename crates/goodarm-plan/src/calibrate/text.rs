//! A calibration for a terminal.

use std::fmt::Write as _;

use super::report::{CalibrationReport, PRICE_MIN, Shortfall, VerifierReport};
use goodarm_report::words::{about_money, counted, number, percent, printable};

/// The result in words.
pub fn text(report: &CalibrationReport) -> String {
    let mut text = format!("{}{}\n\n", report.compared, asked(report));
    text += &table(report);
    let _ = writeln!(text, "\n{}", outcome(report));
    let _ = writeln!(text, "\n{}", caution(report));
    text
}

/// The data in words.
fn asked(report: &CalibrationReport) -> String {
    let settings = &report.settings;
    let calls = match settings.calls {
        (fewest, most) if fewest == most => counted(most, "call"),
        (fewest, most) => format!("{fewest} to {most} calls"),
    };
    let mut text = format!(
        "{} with {calls} of each noisy verifier; {} labelled, {} of them right.",
        counted(settings.answers, "recorded answer"),
        number(settings.labels as u64),
        number(settings.right as u64)
    );
    if settings.left_out > 0 {
        let left_out = counted(settings.left_out, "candidate");
        let _ = write!(text, " {left_out} without outcomes of every verifier left out.");
    }
    text
}

/// The conclusion.
fn outcome(report: &CalibrationReport) -> String {
    let settings = &report.settings;
    let (confidence, wanted) = (percent(1.0 - settings.delta), percent(settings.precision));
    if let Some(chosen) = report.chosen {
        let step = &report.steps[chosen];
        return format!(
            "With confidence {confidence} more than {wanted} of the answers that pass these thresholds are right. \
             {} of {} pass ({}); of those {} are labelled, {} right and {} wrong.",
            number(step.passing as u64),
            counted(settings.answers, "answer"),
            percent(step.share_kept),
            number(step.right + step.wrong),
            number(step.right),
            number(step.wrong),
        );
    }
    let shortfall = report.shortfall.as_ref();
    let mut text = format!(
        "No thresholds: {} do not show, with confidence {confidence}, that more than {wanted} of the answers that pass are right.",
        counted(settings.labels, "label")
    );
    shortfall.into_iter().for_each(|shortfall| text += &takes(shortfall, settings.labels));
    text
}

/// The labels that are missing, in words.
fn takes(shortfall: &Shortfall, labels: usize) -> String {
    let mut text = String::new();
    if let Some(count) = shortfall.labels_if_right {
        let why =
            if shortfall.is_untestable { "They are too few, even if all are right. " } else { "" };
        let more = count.saturating_sub(labels as u64);
        let _ = write!(
            text,
            " {why}It takes {} in all, {} more, if from now on all that pass are right",
            counted(usize::try_from(count).unwrap_or(usize::MAX), "label"),
            number(more)
        );
        text += &match shortfall.labels_at_rate {
            Some(count) => format!("; about {} if as many are right as up to now.", number(count)),
            None => "; if as many are right as up to now, no number will do.".to_owned(),
        };
    }
    text += &match shortfall.reached {
        Some(reached) => {
            format!(" These labels show {}: a precision of {reached}.", percent(reached))
        }
        None => String::new(),
    };
    text
}

/// What these thresholds do not prove.
fn caution(report: &CalibrationReport) -> String {
    let (fewest, most) = report.settings.calls;
    let calls = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    format!(
        "Passing means the mean of {calls} recorded calls. A run certifies the mean over all fresh calls, which noise moves across a \
         threshold in both directions: labels on the certified answers tell what share of them is right. \
         The claim takes labelled answers that were drawn at random, and one precision, chosen before."
    )
}

fn table(report: &CalibrationReport) -> String {
    let names = report.verifiers.iter().map(|it| printable(&it.name).chars().count());
    let width = names.max().unwrap_or(0).max("verifier".len());
    let mut text = format!(
        "{:<width$}  threshold        tells right from wrong  disagreement        price of a call\n",
        "verifier"
    );
    for verifier in &report.verifiers {
        let name = printable(&verifier.name);
        let gap = " ".repeat(width - name.chars().count());
        let _ = writeln!(
            text,
            "{name}{gap}  {:<15}  {:<22}  {:<18}  {}",
            moved(verifier),
            separates(verifier),
            contradicts(verifier),
            priced(report, verifier.price)
        );
    }
    text
}

/// The old and the new threshold, such as 0.3 → 0.36.
fn moved(verifier: &VerifierReport) -> String {
    let old = verifier.old_threshold;
    match (verifier.new_threshold, verifier.stays) {
        (Some(new), _) => format!("{old} → {new}"),
        (None, Some(_)) => format!("{old} (stays)"),
        (None, None) => old.to_string(),
    }
}

/// The place of the first digit: 2 for 155.
#[expect(clippy::cast_possible_truncation, reason = "a double has at most 308 places")]
fn magnitude(price: f64) -> i32 {
    libm::floor(libm::log10(price)) as i32
}

/// What a call costs on average, with three digits.
fn priced(report: &CalibrationReport, price: f64) -> String {
    if price <= PRICE_MIN {
        return "free".to_owned();
    }
    let digits = 10_f64.powi(2 - magnitude(price));
    about_money((price * digits).round() / digits, report.settings.unit)
}

fn separates(verifier: &VerifierReport) -> String {
    verifier.auc.map_or_else(|| "–".to_owned(), |auc| format!("AUC {auc:.2}"))
}

fn contradicts(verifier: &VerifierReport) -> String {
    match (&verifier.noise, verifier.is_exact) {
        (Some(noise), false) => format!("{:.0} % of pairs", 100.0 * noise.disagreement),
        _ => "–".to_owned(),
    }
}
