//! A run's folder: answers, calls, money, labels, audit and report.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{Float64Builder, Int64Builder, LargeStringBuilder};
use goodarm_core::Cost;
use goodarm_data::candidates::KEY;
use goodarm_data::table::TableColumn;
use goodarm_record::audit;
use goodarm_record::card_queue::{Card, CardQueue as _, CardQueueError, CardReply};
use goodarm_record::folder::Folder;
use goodarm_record::labels::{ClaimQueue, ClaimTerms};
use goodarm_record::outputs::calls::CallLine;
use goodarm_record::replay::{JournalError, Replay};
use goodarm_record::subjects::Subjects;
use goodarm_report::{Report, publish_claim};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;

use crate::errors::raised;
use crate::table::PyTable;

/// A run's folder, read from its journal, also during the run or after a crash.
#[pyclass(frozen, name = "Results", module = "goodarm._native")]
pub(crate) struct PyResults {
    path: PathBuf,
}

#[pymethods]
impl PyResults {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        if !Folder::new(&path).journal().is_file() {
            return Err(PyFileNotFoundError::new_err(format!(
                "{} holds no run: there is no journal in it",
                path.display()
            )));
        }
        Ok(Self { path })
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The summary, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let report = self.report()?;
            Ok(serde_json::to_string(report.overview()).expect("plain data with text keys"))
        })
    }

    /// The answers with this status; without a status, all answers.
    #[pyo3(signature = (status = None))]
    fn answers(&self, py: Python<'_>, status: Option<&str>) -> PyResult<PyTable> {
        py.detach(|| {
            let report = self.report()?;
            let table = report.table().map_err(|error| raised("ExportError", &error))?;
            let table = PyTable::new(table.into_columns().into_iter().map(with_amounts).collect());
            let Some(status) = status else { return Ok(table) };
            let mut rows: Vec<(Option<usize>, usize)> = report
                .statuses()
                .enumerate()
                .filter(|(_, (found, _))| found.name() == status)
                .map(|(row, (_, rank))| (rank, row))
                .collect();
            // Certified answers in the order of their certificates.
            rows.sort_unstable();
            Ok(table.with_rows(rows.into_iter().map(|(_, row)| row)))
        })
    }

    /// All finished calls, in the order of their replies.
    fn calls(&self, py: Python<'_>) -> PyResult<PyTable> {
        py.detach(|| self.read_calls()).map_err(|error| match error {
            JournalError::History { error, .. } => raised("HistoryError", &error),
            error => raised("HistoryError", &error),
        })
    }

    /// Computes everything again from the raw calls. Returns what was checked, the problems, their number, and
    /// notes.
    fn audit(&self, py: Python<'_>) -> (Vec<String>, Vec<String>, usize, Vec<String>) {
        let report = py.detach(|| audit::audit(&self.path));
        let wrong = report.problems.iter().map(ToString::to_string);
        // An unfinished run counts as one more problem.
        let count = report.problem_count + usize::from(report.unfinished.is_some());
        let wrong = wrong.chain(report.unfinished).collect();
        let notes = report.notes.into_iter().chain(report.doubt).collect();
        (report.checked, wrong, count, notes)
    }

    /// The next cards for this person, as JSON.
    fn cards(&self, py: Python<'_>, by: &str, most: usize) -> PyResult<String> {
        py.detach(|| {
            let mut queue = self.queue(&ClaimTerms::default())?;
            let cards =
                queue.upcoming(by, most).map_err(|error| raised("CardQueueError", &error))?;
            Ok(serde_json::to_string(&cards).expect("plain data with text keys"))
        })
    }

    /// Records labels for the next cards, or for the named ones; returns how many were recorded.
    fn label(
        &self,
        py: Python<'_>,
        by: &str,
        said: Vec<(Option<String>, Option<bool>)>,
        terms: (Option<f64>, Option<usize>),
    ) -> PyResult<usize> {
        let (delta, labels) = terms;
        let terms = ClaimTerms { delta, labels_per_card: labels, target_share: None };
        py.detach(|| self.take_labels(by, said, &terms))
    }

    /// Writes the report, and returns its path.
    #[pyo3(signature = (out = None))]
    fn write_report(&self, py: Python<'_>, out: Option<PathBuf>) -> PyResult<PathBuf> {
        py.detach(|| {
            let report = Report::read_for_page(&self.path);
            let page = report.and_then(|report| report.write_page(out.as_deref()));
            page.map_err(|error| raised("ReportError", &error))
        })
    }

    /// The report as text.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| Ok(self.report()?.text()))
    }
}

impl PyResults {
    fn report(&self) -> PyResult<Report> {
        Report::read(&self.path).map_err(|error| raised("ReportError", &error))
    }

    fn queue(&self, terms: &ClaimTerms) -> PyResult<ClaimQueue> {
        let queue = ClaimQueue::open(&Folder::new(&self.path), terms);
        queue.map_err(|error| raised("LabelError", &error))
    }

    /// Records labels. Labels with ids are taken in the order of the queue, up to the first card without a label.
    fn take_labels(
        &self,
        by: &str,
        said: Vec<(Option<String>, Option<bool>)>,
        terms: &ClaimTerms,
    ) -> PyResult<usize> {
        let wrong = |error: CardQueueError| raised("CardQueueError", &error);
        let mut queue = self.queue(terms)?;
        let is_any = !said.is_empty();
        let cards = queue.preview(by, said.len()).map_err(wrong)?;
        let verdict = |said: Option<bool>| match said {
            Some(true) => CardReply::Right,
            Some(false) => CardReply::Wrong,
            None => CardReply::Skip,
        };
        let labels: Vec<(String, CardReply)> = if said.iter().any(|(id, _)| id.is_some()) {
            let by_id: HashMap<String, CardReply> =
                said.into_iter().filter_map(|(id, said)| Some((id?, verdict(said)))).collect();
            if let Some(id) = by_id.keys().filter(|id| !queue.is_about(id)).min() {
                return Err(wrong(CardQueueError::Unknown(id.clone())));
            }
            let label = |card: Card| Some((by_id.get(&card.key)?.clone(), card.key));
            cards.into_iter().map_while(label).map(|(said, key)| (key, said)).collect()
        } else if said.len() > cards.len() {
            let text = format!("{} labels, but {} cards wait", said.len(), cards.len());
            return Err(wrong(CardQueueError::Unfit(text)));
        } else {
            let said = said.into_iter().map(|(_, said)| verdict(said));
            cards.into_iter().map(|card| card.key).zip(said).collect()
        };
        if is_any && labels.is_empty() {
            // That none is taken depends on the order.
            queue.begin().map_err(wrong)?;
        }
        let count = labels.len();
        queue.submit_all(by, labels).map_err(wrong)?;
        drop(queue);
        publish_claim(&Folder::new(&self.path)).map_err(|error| raised("ReportError", &error))?;
        Ok(count)
    }

    fn read_calls(&self) -> Result<PyTable, JournalError> {
        let folder = Folder::new(&self.path);
        let mut replay = Replay::open(&folder.journal())?;
        let terms = replay.history.terms.clone();
        let subjects = Subjects::read(&folder, &terms).ok();
        let mut columns = Columns::new();
        while let Some(entry) = replay.step()? {
            let id = |arm| subjects.as_ref().map_or("", |subjects| subjects.id(arm));
            let question =
                |about| subjects.as_ref().map_or("", |subjects| subjects.question_id(about));
            if let Some(line) = CallLine::new(&entry, id, question, &terms) {
                columns.push(&line);
            }
        }
        Ok(columns.finish())
    }
}

/// Turns a column of amounts into numbers: files have exact decimals, as text.
fn with_amounts((name, column): (String, TableColumn)) -> (String, TableColumn) {
    match column {
        TableColumn::Texts(texts)
            if name.starts_with(&format!("{KEY}.")) && name.ends_with(".spent") =>
        {
            let amount = |text: Option<String>| text?.parse::<Cost>().ok().map(Cost::units);
            (name, TableColumn::Reals(texts.into_iter().map(amount).collect()))
        }
        column => (name, column),
    }
}

/// Calls as columns; the names are those of `calls.jsonl`.
struct Columns([(&'static str, Builder); 17]);

/// A column that is being filled, and the function that takes its value from a call.
enum Builder {
    Texts(LargeStringBuilder, for<'a> fn(&'a CallLine<'_>) -> Option<Cow<'a, str>>),
    Reals(Float64Builder, fn(&CallLine<'_>) -> Option<f64>),
    Integers(Int64Builder, fn(&CallLine<'_>) -> Option<i64>),
}

impl Columns {
    fn new() -> Self {
        const SIGNED: fn(u64) -> Option<i64> =
            |number| i64::try_from(number).ok().or(Some(i64::MAX));
        let texts = |of| Builder::Texts(LargeStringBuilder::new(), of);
        let reals = |of| Builder::Reals(Float64Builder::new(), of);
        let integers = |of| Builder::Integers(Int64Builder::new(), of);
        Self([
            ("call", integers(|line| SIGNED(line.call))),
            ("id", texts(|line| Some(line.id.as_ref().into()))),
            ("question", texts(|line| some(&line.question))),
            ("verifier", texts(|line| Some(line.verifier.as_ref().into()))),
            ("score", reals(|line| line.score)),
            ("answer", texts(|line| some(&line.answer))),
            // The number of the final answer, not a person's label.
            ("label", integers(|line| line.label.map(i64::from))),
            (
                "scores",
                texts(|line| serde_json::to_string(line.scores.as_ref()?).ok().map(Cow::from)),
            ),
            ("failure", texts(|line| line.failure.as_deref().map(Cow::from))),
            ("reason", texts(|line| Some(line.reason.as_ref().into()))),
            ("lent", reals(|line| line.lent)),
            ("cost", reals(|line| Some(line.cost.units()))),
            ("latency", reals(|line| Some(line.latency))),
            ("unix_millis", integers(|line| SIGNED(line.unix_millis))),
            ("asked", integers(|line| SIGNED(line.asked))),
            ("answered", integers(|line| SIGNED(line.answered))),
            ("reply", texts(|line| Some(line.reply.as_ref().into()))),
        ])
    }

    fn push(&mut self, line: &CallLine<'_>) {
        for (_, column) in &mut self.0 {
            match column {
                Builder::Texts(values, of) => values.append_option(of(line)),
                Builder::Reals(values, of) => values.append_option(of(line)),
                Builder::Integers(values, of) => values.append_option(of(line)),
            }
        }
    }

    fn finish(self) -> PyTable {
        let array = |column| -> ArrayRef {
            match column {
                Builder::Texts(mut values, _) => Arc::new(values.finish()),
                Builder::Reals(mut values, _) => Arc::new(values.finish()),
                Builder::Integers(mut values, _) => Arc::new(values.finish()),
            }
        };
        let columns = self.0.into_iter();
        PyTable::of_arrays(columns.map(|(name, column)| (name.to_owned(), array(column))).collect())
    }
}

/// The text; `None` if it is empty.
fn some(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(text.into())
}
