//! A calibration as one page.

use goodarm_plot::Figure;
use minijinja::context;

use super::report::{CalibrationReport, StepReport, StepStatus};
use super::text::{
    adds_nothing, asked, bought, caution, contradicts, moved, outcome, priced, separates,
};
use goodarm_report::markup::{PageTemplate, SHEET_STYLE, own};
use goodarm_report::words::percent;

/// The whole page.
pub(super) fn page(report: &CalibrationReport, figures: &[(&'static str, Figure)]) -> String {
    let chosen = report.chosen;
    let verifiers = report.verifiers.iter().map(|it| {
        context! {
            name => it.name.clone(),
            threshold => moved(it),
            why => it.stays,
            auc => separates(it),
            noise => contradicts(it),
            price => priced(report, it.price),
            calls => it.calls,
            failed => it.failed,
        }
    });
    let names = report.verifiers.iter().map(|it| it.name.clone());
    let steps = report.steps.iter().enumerate().map(|(place, step)| {
        context! {
            is_chosen => chosen == Some(place),
            thresholds => step.thresholds.iter().map(ToString::to_string).collect::<Vec<_>>(),
            passing => step.passing,
            share => percent(step.share_kept),
            right => step.right,
            wrong => step.wrong,
            evidence => evidence(step),
            shown => percent(step.shown_precision),
            standing => status_text(step.status),
        }
    });
    let offers = report.offers.iter().map(|offer| {
        context! {
            precision => percent(offer.precision),
            is_shown => offer.thresholds.is_some(),
            kept => offer.kept,
            certified => bought(offer),
        }
    });
    PAGE.fill(context! {
        style => own(format!("{SHEET_STYLE}{STYLE}")),
        is_chosen => chosen.is_some(),
        asked => asked(report),
        outcome => outcome(report),
        caution => caution(report),
        needed => format!("{:.0}", report.log_evidence_needed.exp()),
        omissions => report.omissions.iter().map(|it| adds_nothing(report, it)).collect::<Vec<_>>(),
        verifiers => verifiers.collect::<Vec<_>>(),
        names => names.collect::<Vec<_>>(),
        steps => steps.collect::<Vec<_>>(),
        offers => offers.collect::<Vec<_>>(),
        // The plots escape their texts.
        figures => figures.iter().map(|(_, figure)| own(goodarm_plot::svg(figure))).collect::<Vec<_>>(),
    })
}

/// The evidence, rounded.
fn evidence(step: &StepReport) -> String {
    let evidence = step.log_evidence.exp();
    if evidence >= 1e4 { format!("{evidence:.1e}") } else { format!("{evidence:.2}") }
}

const fn status_text(status: StepStatus) -> &'static str {
    match status {
        StepStatus::TooFewLabels => "too few labels",
        StepStatus::Shown => "shown",
        StepStatus::NotShown => "not shown: a search ends here",
        StepStatus::NotReached => "not reached",
    }
}

const PAGE: PageTemplate = PageTemplate(include_str!("../../web/calibration/page.html"));
const STYLE: &str = include_str!("../../web/calibration/style.css");
