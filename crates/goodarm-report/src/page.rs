//! One self-contained HTML page with all figures, their findings and their numbers.

use std::fmt::Write;

use goodarm_sim::summary::{CellSummary, Estimate};

use crate::figures::{Drawn, Entry, Run};

/// Text made safe for HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// The same, with what stands between backticks as code.
fn prose(text: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 {
        1 => format!("<code>{}</code>", escaped(part)),
        _ => escaped(part),
    };
    text.split('`').enumerate().map(part).collect()
}

/// One figure on the page.
pub struct Section<'a> {
    /// Which.
    pub entry: &'a Entry,
    /// Its experiments.
    pub runs: &'a [Run],
    /// What they gave.
    pub drawn: &'a Drawn,
}

/// The whole page.
pub fn html(sections: &[Section<'_>], missing: &[&str], quick: bool) -> String {
    let mut body = String::new();
    let mut contents = String::new();
    for section in sections {
        let (name, title) = (section.entry.name, escaped(section.entry.title));
        let _ = write!(contents, "<li><a href=\"#{name}\">{title}</a></li>");
        body += &figure_html(section);
    }
    let missing: String = missing.iter().map(|note| format!("<p>{}</p>", prose(note))).collect();
    let pace = if quick {
        "<p><strong>Quick run:</strong> few repetitions, so the errors are large.</p>"
    } else {
        ""
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>goodarm: the paper, reproduced</title><style>{STYLE}</style></head>\n\
         <body><header><h1>The paper, reproduced</h1>{INTRODUCTION}{pace}{missing}\
         <nav><ol>{contents}</ol></nav></header>\n<main>{body}</main></body></html>\n"
    )
}

fn figure_html(section: &Section<'_>) -> String {
    let Section { entry, runs, drawn } = section;
    let mut text = format!("<section id=\"{}\"><h2>{}</h2>", entry.name, escaped(entry.title));
    let _ = write!(text, "<figure>{}</figure>", goodarm_plot::svg(&drawn.figure));
    if !drawn.findings.is_empty() {
        text += "<ul>";
        for finding in &drawn.findings {
            let _ = write!(text, "<li>{}</li>", prose(finding));
        }
        text += "</ul>";
    }
    if entry.name == "constant" {
        text += PROOF;
    }
    for (run, (name, _)) in runs.iter().zip(entry.experiments) {
        let spec = &run.experiment.spec;
        let _ = write!(
            text,
            "<p class=\"note\">{} <code>experiments/{name}.toml</code>, seed {}, {} repetitions.</p>",
            prose(spec.note.trim()),
            spec.seed,
            spec.repetitions
        );
        let _ = write!(
            text,
            "<details><summary>All numbers of {name}</summary>{}</details>",
            numbers(&run.summaries)
        );
    }
    text + "</section>\n"
}

fn numbers(summaries: &[CellSummary]) -> String {
    let mut text = String::from(
        "<div class=\"wide\"><table><thead><tr><th>world</th><th>method</th><th>δ</th>\
         <th>budget</th><th>calls out</th><th>trials</th><th>certified good</th>\
         <th>wrong in</th><th>spent</th><th>calls</th><th>branches</th></tr></thead><tbody>",
    );
    for cell in summaries {
        let branches: Vec<String> = cell
            .branch_share
            .iter()
            .map(|(name, share)| format!("{name} {:.4}", share.mean))
            .collect();
        let cells = [
            escaped(&cell.world),
            escaped(&cell.method),
            format!("{:e}", cell.delta),
            cell.budget.to_string(),
            cell.concurrency.to_string(),
            cell.trials.to_string(),
            estimate(cell.certified_good, 2),
            estimate(cell.any_wrong, 3),
            estimate(cell.spent, 0),
            estimate(cell.pulls, 0),
            escaped(&branches.join(", ")),
        ];
        text += "<tr>";
        for value in cells {
            let _ = write!(text, "<td>{value}</td>");
        }
        text += "</tr>";
    }
    text + "</tbody></table></div>"
}

fn estimate(estimate: Estimate, digits: usize) -> String {
    format!("{:.digits$} ± {:.digits$}", estimate.mean, estimate.error)
}

const INTRODUCTION: &str = "\
<p>Every figure of “Test-Time Scaling via Budgeted Multi-Attribute Verification” (BMA-GAI), its three \
methods as printed, and goodarm's default beside them; then figures that the paper does not have. The \
sentences below the figures are computed from the same trials. Raw trials lie beside this page as CSV \
and Parquet.</p>\
<p>The paper does not print its matrices of means; ours are in the experiment files, with the \
reasons.</p>";

const PROOF: &str = "\
<p><strong>Why, in three lines.</strong> A pair is resolved when μ̂ − ξ ≥ √((2/N) log(4DN²/δ)). The \
targeted branch needs an active arm with μ̂ − ξ &gt; √(8 log(t+1)/N) on every attribute. Once (t+1)² ≥ \
4D/δ we have 8 log(t+1) ≥ 2 log(4DN²/δ), since N ≤ t: such an arm would already be certified, so there \
is none. At δ = 0.02 and D = 48 that is from t = 97 on, and costs never enter any decision.</p>";

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#57606a;--rule:#d0d7de}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--soft:#9198a1;--rule:#30363d}}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;\
padding:1.5rem;max-width:75rem}\
h1{font-size:1.8rem}h2{margin-top:3rem;border-top:1px solid var(--rule);padding-top:1.5rem}\
figure{margin:1rem 0;background:#fff;border-radius:6px;overflow-x:auto}\
figure>svg{display:block;max-width:100%;height:auto;min-width:40rem}\
.note{color:var(--soft);font-size:.9rem}.wide{overflow-x:auto}\
table{border-collapse:collapse;font-size:.8rem;font-variant-numeric:tabular-nums}\
td,th{padding:.2rem .6rem;border-bottom:1px solid var(--rule);text-align:left;white-space:nowrap}\
summary{cursor:pointer}a{color:inherit}\
@media print{details{display:none}section{break-inside:avoid}}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escaped("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
        assert_eq!(prose("a `<b>` c"), "a <code>&lt;b&gt;</code> c");
    }
}
