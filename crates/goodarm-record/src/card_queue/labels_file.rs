//! Labels from a file: a spreadsheet that was filled in, or the output of an annotation tool. All rows are checked
//! before the first label is stored.

use std::collections::HashMap;
use std::path::Path;

use goodarm_data::bounds::packing_of;
use goodarm_data::candidates::{Candidates, CandidatesErrorKind};
use goodarm_data::table::unescape_formula;
use goodarm_files::{did_you_mean, first_of, person};
use serde_json::{Map, Value};

use super::{CardQueue, CardQueueError, CardReply, CardStatus};

/// Counts of the rows of a file of labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Labels that were stored.
    pub taken: usize,
    /// Rows whose label was stored before.
    pub known: usize,
    /// Rows without a label.
    pub empty: usize,
    /// Rows about cards that have all their labels from other people.
    pub settled: usize,
    /// Rows about answers of the run that have no card.
    pub elsewhere: usize,
    /// Rows that were not stored, because an earlier card has no label.
    pub behind: usize,
    /// The id of the first card without a label, if rows were not stored because of it.
    pub gap: Option<String>,
}

/// Stores the labels of a file, all by one person.
pub fn take(
    queue: &mut dyn CardQueue,
    labeller: &str,
    path: &Path,
) -> Result<ImportCounts, CardQueueError> {
    let at = |problem: &str| CardQueueError::Folder(format!("{}: {problem}", path.display()));
    let rows = Candidates::read_rows(path).map_err(|error| match error.kind {
        CandidatesErrorKind::Empty(_) => at("there are no labels in it"),
        _ => CardQueueError::Folder(error.to_string()),
    })?;
    let name = packing_of(path).0;
    let is_table = name.ends_with(".csv") || name.ends_with(".tsv");
    let mut import = LabelImport::new(labeller, is_table, queue.statuses(labeller)?);
    let mut faults = Vec::new();
    for arm in rows.arms() {
        if let Err(fault) = import.take(rows.get(arm).fields(), rows.line(arm), queue) {
            faults.push(format!("{}: {}: {fault}", path.display(), rows.place(arm)));
        }
    }
    if !faults.is_empty() {
        let mut faults = first_of(faults);
        faults.push("no label was taken".to_owned());
        return Err(CardQueueError::Folder(faults.join("\n")));
    }
    import.submit(queue)
}

/// The rows that were read and checked so far.
struct LabelImport<'a> {
    labeller: &'a str,
    /// Whether the file is CSV or TSV, where texts that begin like formulas are escaped.
    is_table: bool,
    cards: Vec<CardStatus>,
    by_key: HashMap<String, usize>,
    by_id: HashMap<String, Vec<usize>>,
    /// The line of each card that the file has named.
    lines: HashMap<usize, u64>,
    /// New labels, by card.
    labels: HashMap<usize, CardReply>,
    counts: ImportCounts,
}

impl<'a> LabelImport<'a> {
    fn new(labeller: &'a str, is_table: bool, cards: Vec<CardStatus>) -> Self {
        let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, card) in cards.iter().enumerate() {
            by_id.entry(card.id.clone()).or_default().push(index);
        }
        Self {
            labeller,
            is_table,
            by_key: cards.iter().map(|card| card.key.clone()).zip(0..).collect(),
            by_id,
            cards,
            lines: HashMap::new(),
            labels: HashMap::new(),
            counts: ImportCounts::default(),
        }
    }

    /// Checks one row.
    fn take(
        &mut self,
        row: &Map<String, Value>,
        line: u64,
        queue: &dyn CardQueue,
    ) -> Result<(), String> {
        let labeller = self.labeller;
        let is_other = |by: &String| !by.is_empty() && person(by) != person(labeller);
        if let Some(by) = column(row, "by").filter(is_other) {
            return Err(format!(
                "a label by {by:?}, but this import is by {labeller:?}: a file has the labels of one person"
            ));
        }
        let Some(index) = self.find(row, queue)? else {
            self.counts.elsewhere += 1;
            return Ok(());
        };
        let card = &self.cards[index];
        if let Some(first) = self.lines.insert(index, line) {
            return Err(format!("{:?} was named on line {first} already", card.id));
        }
        let text = column(row, "label").ok_or_else(|| no_column(row, "label"))?;
        let said =
            CardReply::read(&text, card.wanted).map_err(|fault| format!("label: {fault}"))?;
        match (said, &card.said) {
            (None, _) => self.counts.empty += 1,
            (Some(said), Some(stands)) if said == *stands => self.counts.known += 1,
            (Some(said), Some(stands)) => {
                return Err(format!(
                    "{labeller:?} has said {} about {:?}, and this says {}: what stands is changed by undo",
                    shown(stands),
                    card.id,
                    shown(&said)
                ));
            }
            (Some(said), None) => {
                self.labels.insert(index, said);
            }
        }
        Ok(())
    }

    /// Which card a row is about; `None` if it is about an answer of the run without a card.
    fn find(
        &self,
        row: &Map<String, Value>,
        queue: &dyn CardQueue,
    ) -> Result<Option<usize>, String> {
        let name = |text: &str| (!text.trim().is_empty()).then(|| text.to_owned());
        if let Some(key) = text_of(row, "key").as_deref().and_then(name) {
            let found = readings(&key, self.is_table).find_map(|key| self.by_key.get(key));
            let found = found.copied().map(Some);
            return found.ok_or_else(|| unknown("key", &key, self.by_key.keys()));
        }
        let id = text_of(row, "id").ok_or_else(|| no_column(row, "id"))?;
        let id = name(&id).ok_or("the id is empty")?;
        match readings(&id, self.is_table).find_map(|id| self.by_id.get(id)).map(Vec::as_slice) {
            Some([index]) => Ok(Some(*index)),
            Some(_) => Err(format!("{id:?} is on several cards: give their key, as in the export")),
            None if readings(&id, self.is_table).any(|id| queue.is_of_run(id)) => Ok(None),
            None => Err(unknown("id", &id, self.by_id.keys())),
        }
    }

    /// Submits all labels. A queue with a fixed order takes only those before the first card without a label.
    fn submit(self, queue: &mut dyn CardQueue) -> Result<ImportCounts, CardQueueError> {
        let Self { labeller, labels, mut counts, .. } = self;
        if labels.is_empty() {
            return Ok(counts);
        }
        // How many labels are taken depends on the order.
        queue.begin()?;
        let cards = queue.statuses(labeller)?;
        let waiting: Vec<usize> = (0..cards.len()).filter(|&index| cards[index].waits).collect();
        let label = |index: &usize| Some((cards[*index].key.clone(), labels.get(index)?.clone()));
        let all: Vec<(String, CardReply)> = waiting.iter().filter_map(label).collect();
        counts.taken = all.len();
        counts.settled = labels.len() - all.len();
        match queue.submit_all(labeller, all) {
            Err(CardQueueError::OutOfOrder { .. }) => {}
            submitted => return submitted.map(|()| counts),
        }
        let in_turn: Vec<(String, CardReply)> = waiting.iter().map_while(label).collect();
        counts.behind = counts.taken - in_turn.len();
        counts.taken = in_turn.len();
        counts.gap = waiting.get(in_turn.len()).map(|&index| cards[index].id.clone());
        queue.submit_all(labeller, in_turn)?;
        Ok(counts)
    }
}

/// A value of a row as text, without blanks around it.
pub(super) fn column(row: &Map<String, Value>, name: &str) -> Option<String> {
    text_of(row, name).map(|text| text.trim().to_owned())
}

/// A value of a row as text; the case of the column's name does not matter.
fn text_of(row: &Map<String, Value>, name: &str) -> Option<String> {
    let is_it = |found: &str| found.trim().eq_ignore_ascii_case(name);
    let value = row.get(name).or_else(|| row.iter().find(|(it, _)| is_it(it)).map(|(_, it)| it))?;
    Some(match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    })
}

/// What the text of an id or a key may stand for, the most likely first. In a table it is as the export wrote it; a
/// spreadsheet may have removed the apostrophe, and blanks may have been added.
fn readings(text: &str, is_table: bool) -> impl Iterator<Item = &str> {
    let exact = if is_table { unescape_formula(text) } else { text };
    [exact, text, unescape_formula(text.trim()), text.trim()].into_iter()
}

fn no_column(row: &Map<String, Value>, name: &str) -> String {
    let hint = did_you_mean(name, row.keys().map(String::as_str));
    format!("no column {name:?}{hint}")
}

fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a String>) -> String {
    // Another number is another answer, however similar the rest is.
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let near = names.map(String::as_str).filter(|it| digits(it) == digits(name));
    let hint = did_you_mean(name, near);
    format!("no card has the {what} {name:?}{hint}")
}

/// A reply, in an error.
fn shown(said: &CardReply) -> String {
    match said {
        CardReply::Answer(_) => "something else".to_owned(),
        said => said.words(),
    }
}
