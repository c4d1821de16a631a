//! The page: one self-contained file. Texts of answers and verifiers are escaped, or in JSON blocks, which are never
//! executed. The content security policy in the page's head allows only our script.

use std::io::{self, Write};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use goodarm_record::view::{CoverageStep, Overview};
use minijinja::context;
use ring::digest::{SHA256, digest};
use serde::Serialize;

use super::calls::PageLimits;
use super::cut::{beginning, script_safe};
use super::details::Details;
use super::rows::{json, rounded};
use super::{Report, ReportData, text};
use crate::markup::{PageTemplate, own};
use crate::words::achieved;

/// Writes the page, up to its seal.
pub(super) fn write(
    report: &Report,
    details: &Details<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let script = script(&[START]);
    let page = PageTemplate::REPORT.fill(context! {
        policy => own(policy(&script, STYLE)),
        title => achieved(&report.data.overview),
        style => own(STYLE),
        text => text::text(&report.data),
        overview => own(script_safe(&overview(report, details))),
        script => own(script),
    });
    out.write_all(page.as_bytes())?;
    // One block at a time, because there may be many answers.
    rows(report, details, out)
}

/// The script of a page about a run: the common parts, then its own.
pub(crate) fn script(own: &[&str]) -> String {
    enclosed(&[&SCRIPTS, own].concat())
}

/// The script of a page that shows no run: what all pages need, then its own parts.
pub(crate) fn plain_script(own: &[&str]) -> String {
    enclosed(&[&[BASE, WORDS], own].concat())
}

fn enclosed(parts: &[&str]) -> String {
    format!("(() => {{\n\"use strict\";\n{}}})();\n", parts.concat())
}

/// Forbids loading and sending, and allows only our script and style.
pub(crate) fn policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; \
         base-uri 'none'; form-action 'none'",
        sha256(script),
        sha256(style)
    )
}

/// The hash in the form of a content security policy.
fn sha256(text: &str) -> String {
    BASE64_STANDARD.encode(digest(&SHA256, text.as_bytes()))
}

/// The data of the page, without the answers.
#[derive(Serialize)]
struct PageOverview {
    #[serde(flatten)]
    overview: Overview,
    limits: PageLimits,
    shown: usize,
}

fn overview(report: &Report, details: &Details<'_>) -> String {
    let overview = &report.data.overview;
    let page = PageOverview {
        overview: Overview {
            coverage: overview.coverage.as_deref().map(thinned),
            ..overview.clone()
        },
        limits: details.limits,
        shown: details.shown.len(),
    };
    json(&page)
}

/// At most as many steps as a screen has pixels.
fn thinned(steps: &[CoverageStep]) -> Vec<CoverageStep> {
    let stride = steps.len().div_ceil(STEPS_MAX).max(1);
    let is_kept = |index: usize| (index + 1).is_multiple_of(stride) || index + 1 == steps.len();
    let kept = steps.iter().enumerate().filter(|(index, _)| is_kept(*index));
    kept.map(|(_, step)| *step).collect()
}

/// The table's columns.
#[derive(Default, Serialize)]
struct Columns {
    ids: Vec<String>,
    /// The first letter of each status: c, u or r; for questions a or o.
    status: String,
    /// The rank of each certificate; 0 if the answer is not certified.
    rank: Vec<usize>,
    calls: Vec<u64>,
    spent: Vec<f64>,
    /// The mean scores of each verifier; empty with questions.
    means: Vec<Vec<Option<f64>>>,
    /// The number of answers to each question; empty without questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tried: Vec<usize>,
    /// The first row of each block.
    starts: Vec<usize>,
}

impl Columns {
    fn new(data: &ReportData) -> Self {
        let means =
            if data.overview.questions.is_some() { 0 } else { data.overview.verifiers.len() };
        Self { means: vec![Vec::new(); means], ..Self::default() }
    }

    /// Adds a row.
    fn push(&mut self, data: &ReportData, row: usize) {
        let question = data.by_question.get(row);
        let answer = match question {
            None => data.answers.get(row),
            Some(question) => question.certified.and_then(|arm| data.answers.get(arm as usize)),
        };
        let (id, status, calls, spent) = match (question, answer) {
            (Some(it), _) => (&it.id, it.status, it.calls, it.spent),
            (None, Some(it)) => (&it.id, it.view.status.name(), it.calls, it.spent),
            (None, None) => return,
        };
        self.ids.push(beginning(id, ID_BYTES_MAX).to_owned());
        self.status.push_str(&status[..1]);
        self.rank.push(answer.and_then(|answer| answer.view.rank).unwrap_or(0));
        self.calls.push(calls);
        self.spent.push(spent.units());
        self.tried.extend(question.map(|question| question.tried.len()));
        for (means, pair) in
            self.means.iter_mut().zip(answer.iter().flat_map(|it| &it.view.evidence))
        {
            means.push(pair.mean.map(|mean| rounded(mean, 1e4)));
        }
    }
}

/// All answers, or all questions: details in blocks, then the columns that sorting and filtering need.
fn rows(report: &Report, details: &Details<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut columns = Columns::new(&report.data);
    let mut blocks = [("block", String::new()), ("calls", String::new())];
    for (place, &row) in details.shown.iter().enumerate() {
        columns.push(&report.data, row as usize);
        if blocks[0].1.is_empty() {
            columns.starts.push(place);
        }
        let parts = [details.row_json(place), details.calls_json(place)];
        for ((_, json), part) in blocks.iter_mut().zip(&parts) {
            json.push(if json.is_empty() { '[' } else { ',' });
            json.push_str(part);
        }
        let is_last = place + 1 == details.shown.len();
        if is_last || blocks.iter().any(|(_, json)| json.len() >= BLOCK_BYTES) {
            for (name, json) in &mut blocks {
                json.push(']');
                block(out, &format!("{name}-{}", columns.starts.len() - 1), json)?;
                json.clear();
            }
        }
    }
    block(out, "columns", &serde_json::to_string(&columns)?)
}

fn block(out: &mut impl Write, id: &str, json: &str) -> io::Result<()> {
    let json = script_safe(json);
    writeln!(out, "<script type=\"application/json\" id=\"{id}\">{json}</script>")
}

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("../../web/report/style.css");
/// The common scripts of the report and the live page, in this order.
const SCRIPTS: [&str; 8] = [
    BASE,
    include_str!("../../web/report/charts.js"),
    WORDS,
    include_str!("../../web/report/overview.js"),
    include_str!("../../web/report/answers.js"),
    include_str!("../../web/report/answer.js"),
    include_str!("../../web/report/questions.js"),
    include_str!("../../web/report/address.js"),
];
const BASE: &str = include_str!("../../web/report/base.js");
const WORDS: &str = include_str!("../../web/report/words.js");
const START: &str = include_str!("../../web/report/start.js");

const STEPS_MAX: usize = 1_500;
const ID_BYTES_MAX: usize = 300;
/// The size from which a block is written.
const BLOCK_BYTES: usize = 200_000;
