//! Labels from a file: a spreadsheet that was filled in, or the output of an annotation tool. All rows are checked
//! before the first label is stored.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use goodarm_data::candidates::{Candidates, CandidatesErrorKind, Format};
use goodarm_files::{PROBLEMS_MAX, did_you_mean};
use serde_json::{Map, Value};

use super::cards_file::cell;
use super::{CardQueue, CardQueueError, CardReply, CardStatus};

/// Counts of the rows of a file of labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Labels that were stored.
    pub taken: usize,
    /// Rows whose label was there before.
    pub known: usize,
    /// Rows without a label.
    pub empty: usize,
    /// Rows about cards that have all their labels from other people.
    pub settled: usize,
    /// Rows that were not stored, because an earlier card has no label.
    pub behind: usize,
    /// The ids of these cards, each with the person who has not labelled it.
    pub gaps: Vec<(String, String)>,
}

/// Stores the labels of a file. Rows without a `by` belong to `labeller`.
pub fn take(
    queue: &mut dyn CardQueue,
    labeller: &str,
    path: &Path,
) -> Result<ImportCounts, CardQueueError> {
    let at = |problem: &str| CardQueueError::Folder(format!("{}: {problem}", path.display()));
    let format = Format::of_table(path).ok_or_else(|| at(UNKNOWN_FORMAT))?;
    let rows = Candidates::read_rows(path, format).map_err(|error| match error.kind {
        CandidatesErrorKind::Empty(_) => at("there are no labels in it"),
        _ => CardQueueError::Folder(error.to_string()),
    })?;
    let mut checked =
        LabelImport { labeller, people: BTreeMap::new(), imported: ImportCounts::default() };
    let mut faults = Vec::new();
    for arm in rows.arms() {
        if let Err(fault) = checked.take(queue, rows.get(arm).fields(), rows.line(arm))? {
            faults.push(format!("{}: {}: {fault}", path.display(), rows.place(arm)));
        }
        if faults.len() == PROBLEMS_MAX {
            faults.push("and perhaps more".to_owned());
            break;
        }
    }
    if !faults.is_empty() {
        faults.push("no label was taken".to_owned());
        return Err(CardQueueError::Folder(faults.join("\n")));
    }
    checked.say(queue)
}

/// The rows that were read and checked so far.
struct LabelImport<'a> {
    labeller: &'a str,
    people: BTreeMap<String, Person>,
    imported: ImportCounts,
}

/// One person's cards, with their labels in the file.
struct Person {
    places: Vec<CardStatus>,
    by_key: HashMap<String, usize>,
    by_id: HashMap<String, Vec<usize>>,
    /// The line of each card that the file has named.
    lines: HashMap<usize, u64>,
    /// New labels, by the cards' keys.
    labels: HashMap<String, CardReply>,
}

impl LabelImport<'_> {
    /// Checks one row; the inner error is a fault of the row.
    fn take(
        &mut self,
        queue: &mut dyn CardQueue,
        row: &Map<String, Value>,
        line: u64,
    ) -> Result<Result<(), String>, CardQueueError> {
        let by = column(row, "by").filter(|by| !by.is_empty());
        let by = by.unwrap_or_else(|| self.labeller.to_owned());
        if !self.people.contains_key(&by) {
            let people = self.people.len();
            let places = queue.statuses(&by)?;
            if people > 0 && (people + 1) * places.len() > PLACES_MAX {
                return Ok(Err(format!(
                    "more than {people} names in the column by, for {} cards: import them in several files",
                    places.len()
                )));
            }
            self.people.insert(by.clone(), Person::new(places));
        }
        let person = self.people.get_mut(&by).expect("it was just put there");
        Ok(person.take(row, line, &by).map(|became| match became {
            RowResult::New => {}
            RowResult::Known => self.imported.known += 1,
            RowResult::Empty => self.imported.empty += 1,
        }))
    }

    /// Submits the labels, each person's in the queue's order up to the first card without one. Repeats while any
    /// are accepted: one person's label may open a card for another.
    fn say(mut self, queue: &mut dyn CardQueue) -> Result<ImportCounts, CardQueueError> {
        loop {
            let before = self.imported.taken;
            for (by, person) in &mut self.people {
                self.imported.taken += person.say(queue, by)?;
            }
            if self.imported.taken == before {
                break;
            }
        }
        for (by, person) in &self.people {
            self.imported.settle(queue, by, person)?;
        }
        Ok(self.imported)
    }
}

impl ImportCounts {
    /// Submits a person's labels after a gap: a queue without a fixed order accepts them.
    fn settle(
        &mut self,
        queue: &mut dyn CardQueue,
        by: &str,
        person: &Person,
    ) -> Result<(), CardQueueError> {
        let places = queue.statuses(by)?;
        let left =
            |place: &CardStatus| Some((place.key.clone(), person.labels.get(&place.key)?.clone()));
        let waiting = || places.iter().filter(|place| place.waits);
        let behind: Vec<(String, CardReply)> = waiting().filter_map(left).collect();
        let count = behind.len();
        self.settled += person.labels.len() - count;
        if count == 0 {
            return Ok(());
        }
        match queue.submit_all(by, behind) {
            Ok(()) => self.taken += count,
            Err(CardQueueError::OutOfOrder { .. }) => {
                self.behind += count;
                self.gaps.extend(waiting().next().map(|gap| (gap.id.clone(), by.to_owned())));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The result of checking a row.
enum RowResult {
    New,
    Known,
    Empty,
}

impl Person {
    fn new(places: Vec<CardStatus>) -> Self {
        let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, place) in places.iter().enumerate() {
            by_id.entry(place.id.clone()).or_default().push(index);
        }
        let by_key = places.iter().map(|place| place.key.clone()).zip(0..).collect();
        Self { places, by_key, by_id, lines: HashMap::new(), labels: HashMap::new() }
    }

    fn take(&mut self, row: &Map<String, Value>, line: u64, by: &str) -> Result<RowResult, String> {
        let index = self.find(row)?;
        let place = &self.places[index];
        if let Some(first) = self.lines.insert(index, line) {
            return Err(format!("{:?} was named on line {first} already", place.id));
        }
        let text = column(row, "label").ok_or_else(|| no_column(row, "label"))?;
        let said =
            CardReply::read(&text, place.wanted).map_err(|fault| format!("label: {fault}"))?;
        match (said, &place.said) {
            (None, _) => Ok(RowResult::Empty),
            (Some(said), Some(stands)) if said == *stands => Ok(RowResult::Known),
            (Some(said), Some(stands)) => Err(format!(
                "{by:?} has said {} about {:?}, and this says {}: what stands is changed by undo",
                shown(stands),
                place.id,
                shown(&said)
            )),
            (Some(said), None) => {
                self.labels.insert(place.key.clone(), said);
                Ok(RowResult::New)
            }
        }
    }

    /// Which card a row is about.
    fn find(&self, row: &Map<String, Value>) -> Result<usize, String> {
        let name = |text: &str| if text.is_empty() { None } else { Some(text.to_owned()) };
        if let Some(key) = column(row, "key").as_deref().and_then(name) {
            let found = unmarked(&key).find_map(|key| self.by_key.get(key));
            return found.copied().ok_or_else(|| unknown("key", &key, self.by_key.keys()));
        }
        let id = column(row, "id").ok_or_else(|| no_column(row, "id"))?;
        let id = name(&id).ok_or("the id is empty")?;
        match unmarked(&id).find_map(|id| self.by_id.get(id)).map(Vec::as_slice) {
            Some([index]) => Ok(*index),
            Some(_) => Err(format!("{id:?} is on several cards: give their key, as in the export")),
            None => Err(unknown("id", &id, self.by_id.keys())),
        }
    }

    /// Submits labels in order and returns their number. Batches double in size: if people take turns card by card,
    /// not all cards are rendered each time.
    fn say(&mut self, queue: &mut dyn CardQueue, by: &str) -> Result<usize, CardQueueError> {
        let (mut taken, mut most) = (0, 1);
        while !self.labels.is_empty() {
            let cards = queue.upcoming(by, most)?;
            let next = cards.iter().map_while(|card| self.labels.get_key_value(&card.key));
            let said: Vec<_> = next.map(|(key, said)| (key.clone(), said.clone())).collect();
            let is_all = said.len() == most;
            if said.is_empty() {
                break;
            }
            let keys: Vec<String> = said.iter().map(|(key, _)| key.clone()).collect();
            queue.submit_all(by, said)?;
            keys.iter().for_each(|key| drop(self.labels.remove(key)));
            taken += keys.len();
            if !is_all {
                break;
            }
            most *= 2;
        }
        Ok(taken)
    }
}

/// A value of a row as text; the case of the column's name does not matter.
fn column(row: &Map<String, Value>, name: &str) -> Option<String> {
    let is_it = |found: &str| found.trim().eq_ignore_ascii_case(name);
    let value = row.get(name).or_else(|| row.iter().find(|(it, _)| is_it(it)).map(|(_, it)| it))?;
    Some(match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => String::new(),
        value => value.to_string(),
    })
}

/// An id as it is, and without the apostrophe that the export puts before formulas.
fn unmarked(id: &str) -> impl Iterator<Item = &str> {
    let plain = id.strip_prefix('\'').filter(|plain| cell(plain) == id);
    std::iter::once(id).chain(plain)
}

fn no_column(row: &Map<String, Value>, name: &str) -> String {
    let hint = did_you_mean(name, row.keys().map(String::as_str));
    format!("no column {name:?}{hint}")
}

fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a String>) -> String {
    let hint = did_you_mean(name, names.map(String::as_str));
    format!("no card has the {what} {name:?}{hint}")
}

/// A reply, in an error.
fn shown(said: &CardReply) -> String {
    match said {
        CardReply::Answer(_) => "something else".to_owned(),
        said => said.words(),
    }
}

const UNKNOWN_FORMAT: &str =
    "the name must end in .csv, .tsv, .jsonl, .ndjson or .json, each also with .gz or .zst";
/// Each person has a list of all cards; 1,000,000 entries take about 400 MB.
const PLACES_MAX: usize = 1_000_000;
