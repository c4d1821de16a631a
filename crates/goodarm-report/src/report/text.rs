//! The report as text, for a terminal.

use std::fmt::Write;

use goodarm_core::Cost;
use goodarm_record::job_file::GuaranteeName;
use goodarm_record::view::questions::{GeneratorView, QuestionsView};
use goodarm_record::view::{ClaimView, Overview, VerifierView};

use super::data::ReportData;
use super::spending::SpendingTable;
use crate::words::{
    self, about, about_money, achieved, amount, claimed, confidence, counted, deliveries, duration,
    failures, failures_of_generator, number, percent, printable, printable_note, rate, tried,
};

/// The whole report as text.
pub(crate) fn text(data: &ReportData) -> String {
    let overview = &data.overview;
    let mut text = overview.claim.as_ref().map_or_else(String::new, claim);
    text += &headline(overview);
    text += &coverage(overview);
    text += &spending(overview);
    text += &verifiers(overview);
    text += &money(overview);
    text += &answers(data);
    let _ = write!(text, "\nWhat is certified\n  {}\n", overview.promise);
    if let Some(doubt) = &overview.doubt {
        let _ = writeln!(text, "  {}", printable_note(doubt));
    }
    for note in &overview.notes {
        let _ = write!(text, "\nNote: {}\n", printable_note(note));
    }
    text
}

/// The claim from people's labels, and its conditions.
fn claim(claim: &ClaimView) -> String {
    let mut text = format!("{}\n", claimed(claim));
    for reason in &claim.rests_on {
        let _ = writeln!(text, "  {}", printable_note(reason));
    }
    text + "\n"
}

fn headline(overview: &Overview) -> String {
    let unit = overview.money.unit;
    let bound = match overview.guarantee {
        GuaranteeName::Fdr => {
            format!("on average at most {} of the certificates are wrong", percent(overview.delta))
        }
        _ => format!(
            "with probability at least {} no certificate is wrong",
            confidence(overview.delta)
        ),
    };
    let mut text = match overview.guarantee {
        GuaranteeName::None => format!("{}\n", overview.promise),
        _ => format!("{}: {bound}.\n", achieved(overview)),
    };
    if let Some(doubt) = &overview.doubt {
        let _ = writeln!(text, "{}", printable_note(doubt));
    }
    let _ = writeln!(
        text,
        "Spent {} of {}; {} made{}.",
        amount(overview.money.spent, unit),
        words::money(overview.money.budget, unit),
        counted(overview.calls, "call"),
        pace(overview),
    );
    if let Some(uniform) = &overview.uniform {
        let times =
            uniform.times.map_or_else(String::new, |times| format!(", {times:.1} times as much"));
        let _ = writeln!(
            text,
            "{} alike would have cost about {}{times} (an estimate).",
            if overview.questions.is_some() {
                "Treating all questions"
            } else {
                "Checking all answers"
            },
            about_money(uniform.cost, unit),
        );
    }
    let ending = words::ending(overview).map_or_else(
        || "The run has not ended: it is still running, or was stopped without saving.".to_owned(),
        |ending| format!("Stopped: {}.", sentence(ending)),
    );
    let _ = writeln!(text, "{ending}");
    text
}

fn pace(overview: &Overview) -> String {
    let duration = duration(overview.seconds);
    overview
        .calls_per_second
        .map_or_else(String::new, |calls| format!(", {duration}, {} calls a second", rate(calls)))
}

/// The spending at a tenth, a quarter, … of the certificates.
fn coverage(overview: &Overview) -> String {
    let coverage = overview.coverage.as_deref().unwrap_or_default();
    let count = coverage.len();
    if count == 0 {
        return String::new();
    }
    let unit = overview.money.unit;
    let what = if overview.questions.is_some() { "Questions answered" } else { "Certified" };
    let mut text = format!("\n{what} over spend\n");
    let mut before = 0;
    for share in [1, 10, 25, 50, 75, 90, 100] {
        let wanted = (count * share).div_ceil(100);
        if wanted == before {
            continue;
        }
        before = wanted;
        let step = coverage[wanted - 1];
        let bar = "█".repeat((BAR_CHARS * wanted).div_ceil(count));
        let spent = about(step.spent, unit);
        let _ = writeln!(text, "  {:>7}  after {spent:>10} {unit}  {bar}", step.certified);
    }
    text
}

fn spending(overview: &Overview) -> String {
    let SpendingTable { statuses, services, sums } = SpendingTable::new(overview);
    let shown = |cost: Cost| amount(cost, overview.money.unit);
    let title = |status: &&str| match &overview.questions {
        Some(_) => format!("{status} questions"),
        None => (*status).to_owned(),
    };
    let row = |name: &str, parts: Vec<String>, all: String| {
        [vec![name.to_owned()], parts, vec![all]].concat()
    };
    let mut titles = vec!["Where the money went".to_owned()];
    titles.extend(statuses.iter().map(title).chain(["all".to_owned()]));
    let rows = services.into_iter().map(|service| match service.is_free {
        true => row(&service.name, vec!["–".to_owned(); statuses.len()], "free".to_owned()),
        false => {
            let parts = service.parts.into_iter().map(shown).collect();
            row(&service.name, parts, shown(service.all))
        }
    });
    let sum = row("all", sums.into_iter().map(shown).collect(), shown(overview.money.spent));
    table(&titles, rows.chain([sum]))
}

fn verifiers(overview: &Overview) -> String {
    let titles =
        ["Verifiers", "calls", "failed", "mean score", "threshold", "disagreement", "mean s"];
    let row = |verifier: &VerifierView| {
        vec![
            printable(&verifier.name),
            number(verifier.calls),
            number(verifier.failures.values().sum()),
            decimal(verifier.mean_score),
            format!("{:.3}", verifier.threshold),
            verifier.noise.map_or_else(|| "–".into(), |noise| percent(noise.disagreement)),
            decimal(verifier.mean_latency),
        ]
    };
    let mut text = table(&titles, overview.verifiers.iter().map(row));
    overview.verifiers.iter().for_each(|verifier| text += &noise_line(verifier));
    let failed = overview.verifiers.iter().map(|it| {
        let came = deliveries(&it.addresses, it.throttled);
        (&it.name, [failures(it), came].concat())
    });
    text += &failure_lines(failed);
    text + &overview.questions.as_ref().map_or_else(String::new, generators)
}

fn generators(questions: &QuestionsView) -> String {
    let generators = &questions.generators;
    if generators.is_empty() {
        return String::new();
    }
    let titles = ["Generators", "calls", "failed", "new answers", "certified", "mean s"];
    let row = |generator: &GeneratorView| {
        vec![
            printable(&generator.name),
            number(generator.calls),
            number(generator.failures.values().sum()),
            number(generator.new as u64),
            number(generator.certified as u64),
            decimal(generator.mean_latency),
        ]
    };
    let failed = generators.iter().map(|it| {
        let came = deliveries(&it.addresses, it.throttled);
        (&it.name, [failures_of_generator(it), came].concat())
    });
    table(&titles, generators.iter().map(row)) + &failure_lines(failed)
}

fn failure_lines<'a>(services: impl Iterator<Item = (&'a String, Vec<String>)>) -> String {
    let lines = services.flat_map(|(name, failures)| {
        failures.into_iter().map(move |failure| format!("  {}: {failure}\n", printable(name)))
    });
    lines.collect()
}

fn noise_line(verifier: &VerifierView) -> String {
    verifier.noise.map_or_else(String::new, |noise| {
        format!(
            "  {} gave mixed verdicts on {} of the {} that it saw more than once\n",
            printable(&verifier.name),
            noise.mixed,
            counted(noise.answers, "answer")
        )
    })
}

fn money(overview: &Overview) -> String {
    let money = &overview.money;
    let unit = money.unit;
    let mut text = String::from("\nMoney\n");
    let mut line = |name: &str, cost: Cost, words: &str| {
        let _ = writeln!(text, "  {name:12} {:>12} {unit}{words}", amount(cost, unit));
    };
    line("budget", money.budget, "");
    let unknown = match money.unknown_bills {
        0 => String::new(),
        count => format!(
            ", with the expected cost of {} whose bills are not known",
            counted(count, "call")
        ),
    };
    line("spent", money.spent, &unknown);
    let out = match overview.in_flight {
        0 if money.reserved > Cost::ZERO => ", for calls that a resumed run would make".to_owned(),
        0 => ": no call is in flight".to_owned(),
        count => format!(", for {} in flight", counted(count, "call")),
    };
    line("reserved", money.reserved, &out);
    if money.unknown_bills > 0 {
        line(
            "at most",
            money.possible,
            ", if these calls cost their ceilings, and with what is reserved",
        );
    }
    line("left", money.left, "");
    line("failed calls", money.spent_on_failures, ", paid without a score");
    if money.overruns > 0 {
        line(
            "overrun",
            money.overrun,
            &format!(", on {} above their ceiling", counted(money.overruns, "bill")),
        );
    }
    if let Some(note) = &overview.failures_note {
        let _ = writeln!(text, "  {note}");
    }
    if money.budgets.len() > 1 {
        let budgets: Vec<String> =
            money.budgets.iter().map(|&budget| amount(budget, unit)).collect();
        let _ = writeln!(text, "  the budget was raised: {}", budgets.join(" → "));
    }
    text
}

fn answers(data: &ReportData) -> String {
    let overview = &data.overview;
    let mut text = match &overview.questions {
        Some(questions) => format!(
            "\nQuestions\n  {} answered, {} open\n  {}\n",
            number(questions.answered as u64),
            number(questions.count.saturating_sub(questions.answered) as u64),
            tried(overview, questions)
        ),
        None => format!(
            "\nAnswers\n  {} certified, {} undecided, {} rejected\n",
            overview.certified, overview.undecided, overview.rejected
        ),
    };
    if overview.added > 0 && overview.questions.is_none() {
        let _ = writeln!(text, "  {} of them were added after the run began", overview.added);
    }
    if let Some(shares) = &overview.shares {
        let loans = || data.answers.iter().filter_map(|answer| answer.view.loan);
        let count = loans().map(|loan| loan.counted).sum::<u64>();
        let looks = loans().map(|loan| loan.looks).sum::<u64>();
        let _ = writeln!(
            text,
            "  error probability δ: {} lent, {} of δ free; {} since the loans (evidence), {} before (no evidence)",
            counted(shares.out, "share"),
            percent(shares.left),
            counted(count, "score"),
            counted(looks, "look"),
        );
    }
    text
}

/// Columns as wide as their texts: the first aligned left, the others right.
fn table(titles: &[impl ToString], rows: impl Iterator<Item = Vec<String>>) -> String {
    let titles = titles.iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> = std::iter::once(titles).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..rows[0].len()).filter_map(width).collect();
    let mut text = String::from("\n");
    for (index, row) in rows.iter().enumerate() {
        let indent = if index == 0 { "" } else { "  " };
        let first = widths[0] + 2 - indent.len();
        let mut line = format!("{indent}{:first$}", row[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(line, "  {cell:>width$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Three digits after the point.
fn decimal(number: Option<f64>) -> String {
    number.map_or_else(|| "–".into(), |number| format!("{number:.3}"))
}

/// A sentence that may contain text of others: each word is made printable and cut.
fn sentence(text: &str) -> String {
    text.split_whitespace().map(printable).collect::<Vec<_>>().join(" ")
}

const BAR_CHARS: usize = 30;
