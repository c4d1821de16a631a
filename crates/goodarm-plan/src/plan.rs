//! What a budget will buy, as text and as a figure.

use std::fmt::Write as _;

use goodarm_data::table::{Table, TableColumn};
use goodarm_files::Unit;
use goodarm_plot::{Axis, Figure, Look, Panel, Point, Series, SeriesKind};
use goodarm_sim::plan::{Plan, PlanStep, Purchase, Spread, StepTheory, Truncation};

use goodarm_report::words::{about, counted};

/// The plan, for a terminal.
pub fn text(plan: &Plan) -> String {
    let mut text = format!("{}\n\n", subject(plan));
    if let Some(purchase) = &plan.purchase {
        text += &bought(plan, purchase);
    }
    if let Some(cut) = &plan.cut {
        let _ = write!(text, "{}\n\n", cut_off(cut, plan));
    }
    text += match plan.questions {
        Some(_) => "answered     realistic (8 of 10 sessions)\n",
        None => {
            "certified          h_q         T*    asymptotic     realistic (8 of 10 sessions)\n"
        }
    };
    for step in some_of(&plan.steps) {
        let realistic = step.realistic.map_or("most sessions do not get there".into(), |spread| {
            let Spread { low, median, high } = spread;
            let high =
                if high.is_finite() { format!("to {}", shown(high)) } else { "or more".into() };
            format!("{:>13} ({} {high})", shown(median), shown(low))
        });
        let Some(theory) = step.theory else {
            let _ = writeln!(text, "{:>8} {realistic}", step.certified);
            continue;
        };
        let _ = writeln!(
            text,
            "{:>9} {:>12} {:>10} {:>13} {realistic}",
            step.certified,
            shown(theory.complexity),
            shown(theory.characteristic),
            shown(theory.asymptotic)
        );
    }
    text
}

/// The numbers of answers and questions.
fn subject(plan: &Plan) -> String {
    let (delta, sessions) = (plan.delta, counted(plan.repetitions, "simulated session"));
    let answers = counted(plan.answers, "answer");
    match plan.questions {
        Some(count) if plan.answers == 0 => {
            format!("{}; δ = {delta}; {sessions}", counted(count, "question"))
        }
        Some(count) => {
            let questions = counted(count, "question");
            let good = plan.good;
            format!(
                "{questions} with {answers} given, {good} of them good; δ = {delta}; {sessions}"
            )
        }
        None => format!("{answers}, {} of them good; δ = {delta}; {sessions}", plan.good),
    }
}

/// What the budget buys.
fn bought(plan: &Plan, purchase: &Purchase) -> String {
    let Spread { low, median, high } = purchase.realistic;
    let (budget, mean) = (shown(purchase.budget), purchase.mean);
    let spent = {
        let Spread { low, median, high } = purchase.spending;
        format!("{} ({} to {})", shown(median), shown(low), shown(high))
    };
    let range = format!("({low} to {high} in eight of ten sessions, {mean:.1} on average)");
    let about = if plan.cut.is_some_and(|cut| cut.of_purchase > 0) { "at least" } else { "about" };
    let Some(theory) = &purchase.theory else {
        let all = plan.questions.unwrap_or(0);
        return format!(
            "A budget of {budget} answers {about} {median} of {} {range}, and spends {spent}.\n\n",
            counted(all, "question")
        );
    };
    format!(
        "A budget of {budget} certifies {about} {} {range}, and spends {spent}.\n\
         As δ → 0 (b = {}): K(b) = {}; at least {} are reached and no reliable policy \
         exceeds {}.\n\n",
        answers_about(median),
        shown(theory.normalized),
        theory.asymptotic,
        theory.asymptotic_lower,
        theory.asymptotic_upper
    )
}

/// A note that simulated sessions were cut off.
pub fn cut_off(cut: &Truncation, plan: &Plan) -> String {
    let Truncation { calls, of_steps, of_purchase } = *cut;
    let sessions = counted(plan.repetitions, "session");
    let calls = counted(calls, "call");
    let mut parts = Vec::new();
    if of_purchase > 0 {
        parts.push(format!(
            "{of_purchase} of {sessions} with the budget: they would have gone on, and certified more"
        ));
    }
    if of_steps > 0 {
        parts.push(format!(
            "{of_steps} of {sessions} without a limit on money: what the last certificates cost is not known"
        ));
    }
    format!("To keep this short, sessions were cut off after {calls} each: {}.", parts.join("; "))
}

/// An amount in the unit of the prices.
fn shown(units: f64) -> String {
    about(units, Unit::default())
}

/// A number of answers: 1 answer, 2.5 answers.
fn answers_about(median: f64) -> String {
    format!("{median} {}", if (median - 1.0).abs() < f64::EPSILON { "answer" } else { "answers" })
}

/// The cost of each number of certificates, one row each; docs/plan.md describes the columns.
pub fn table(plan: &Plan) -> Table {
    let theory = |of: fn(StepTheory) -> f64| {
        TableColumn::Reals(plan.steps.iter().map(|step| step.theory.map(of)).collect())
    };
    let realistic = |of: fn(Spread) -> f64| {
        TableColumn::Reals(plan.steps.iter().map(|step| step.realistic.map(of)).collect())
    };
    let counts = plan.steps.iter().map(|step| i64::try_from(step.certified).unwrap_or(i64::MAX));
    let mut table = Table::default();
    table.push("certified", TableColumn::integers(counts));
    if plan.questions.is_none() {
        table.push("complexity", theory(|theory| theory.complexity));
        table.push("characteristic", theory(|theory| theory.characteristic));
        table.push("asymptotic", theory(|theory| theory.asymptotic));
    }
    table.push("realistic_low", realistic(|spread| spread.low));
    table.push("realistic_median", realistic(|spread| spread.median));
    table.push("realistic_high", realistic(|spread| spread.high));
    table
}

/// All steps if they are few, else about twenty of them.
fn some_of(steps: &[PlanStep]) -> impl Iterator<Item = &PlanStep> {
    let stride = steps.len().div_ceil(20).max(1);
    let last = steps.len();
    steps.iter().filter(move |step| {
        step.certified == 1 || step.certified % stride == 0 || step.certified == last
    })
}

/// Certified answers, or answered questions, over the budget.
pub fn figure(plan: &Plan) -> Figure {
    let count = |step: &PlanStep| f64::from(u32::try_from(step.certified).unwrap_or(u32::MAX));
    let realistic = |name: &str, look: usize, of: fn(Spread) -> f64| {
        let steps = plan.steps.iter();
        let points = steps.filter_map(|step| Some(Point::new(of(step.realistic?), count(step))));
        Series::new(name, Look(look), SeriesKind::Step, points.filter(|point| point.x.is_finite()))
    };
    let asymptotic = |step: &PlanStep| Some(Point::new(step.theory?.asymptotic, count(step)));
    let asymptotic = plan.steps.iter().filter_map(asymptotic);
    let mut series = vec![
        realistic("median session", 3, |spread| spread.median),
        realistic("one in ten costs less", 4, |spread| spread.low),
        realistic("one in ten costs more", 2, |spread| spread.high),
    ];
    if plan.questions.is_none() {
        series.push(Series::new(
            "asymptotic, T* log(1/δ)",
            Look(7),
            SeriesKind::Reference,
            asymptotic,
        ));
    }
    let certified = match plan.questions {
        Some(_) => "answered questions",
        None => "certified answers",
    };
    let (x, y) = (Axis::linear("budget"), Axis::linear(certified));
    Figure::new(
        "What the budget buys",
        format!("{}.", subject(plan)),
        vec![Panel::lines("", x, y, series)],
    )
}

#[cfg(test)]
mod tests {
    use goodarm_plot::PanelContent;

    use super::*;

    fn step(certified: usize, high: f64) -> PlanStep {
        let realistic = Some(Spread { low: 900.0, median: 1000.0, high });
        PlanStep { certified, theory: None, realistic }
    }

    fn questions() -> Plan {
        Plan {
            delta: 0.05,
            questions: Some(48),
            answers: 0,
            good: 0,
            steps: vec![step(1, 1100.0), step(2, f64::INFINITY)],
            purchase: Some(Purchase {
                budget: 5000.0,
                theory: None,
                realistic: Spread { low: 20.0, median: 29.0, high: 33.0 },
                mean: 28.5,
                spent: 4990.0,
                spending: Spread { low: 4980.0, median: 4991.0, high: 5000.0 },
            }),
            repetitions: 40,
            cut: None,
        }
    }

    #[test]
    fn a_plan_of_questions_counts_answered_questions() {
        let said = text(&questions());
        assert!(said.starts_with("48 questions; δ = 0.05; 40 simulated sessions\n"), "{said}");
        assert!(
            said.contains("A budget of 5,000 answers about 29 of 48 questions (20 to 33 in"),
            "{said}"
        );
        assert!(said.contains("and spends 4,991 (4,980 to 5,000).\n"), "{said}");
        assert!(!said.contains("K(b)") && !said.contains("T*"), "{said}");
        assert!(said.contains("(900 to 1,100)") && said.contains("(900 or more)"), "{said}");
        let names: Vec<String> =
            table(&questions()).into_columns().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names[..2], ["certified", "realistic_low"]);
        let PanelContent::Lines(chart) = &figure(&questions()).panels[0].content else { panic!() };
        assert_eq!((chart.y.label.as_str(), chart.series.len()), ("answered questions", 3));
    }

    #[test]
    fn a_plan_that_was_cut_off_claims_no_more_than_was_seen() {
        let cut = Some(Truncation { calls: 5000, of_steps: 40, of_purchase: 3 });
        let said = text(&Plan { cut, ..questions() });
        assert!(said.contains("answers at least 29 of 48 questions"), "{said}");
        assert!(
            said.contains("cut off after 5,000 calls each: 3 of 40 sessions with the budget"),
            "{said}"
        );
    }
}
