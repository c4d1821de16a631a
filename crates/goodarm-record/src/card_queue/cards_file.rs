//! Cards as a CSV file for a spreadsheet or an annotation tool: a row for each, in the queue's order, with an empty
//! column for the label.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use goodarm_data::table::{Table, TableColumn};

use super::{Card, CardQueue, CardQueueError};

/// Writes the cards that wait for a person, and returns their number. A file that cannot be made begins nothing.
pub fn write(
    queue: &mut dyn CardQueue,
    labeller: &str,
    path: &Path,
) -> Result<usize, CardQueueError> {
    let failed =
        |error: &dyn fmt::Display| CardQueueError::Folder(format!("{}: {error}", path.display()));
    if path.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("csv")) {
        return Err(failed(&"the name must end in .csv"));
    }
    table(&waiting(queue, labeller)?)?;
    let file = File::options().write(true).create_new(true).open(path);
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CardQueueError::Folder(format!(
            "{} is there already, and may hold labels: name another file",
            path.display()
        )),
        _ => failed(&error),
    })?;
    queue.begin().inspect_err(|_| drop(fs::remove_file(path)))?;
    let rows = waiting(queue, labeller)?;
    let text = table(&rows)?.csv();
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| failed(&error))?;
    Ok(rows.len())
}

/// The cards that wait for a person, with their places in the order, counted from 1.
fn waiting(queue: &mut dyn CardQueue, labeller: &str) -> Result<Vec<(u64, Card)>, CardQueueError> {
    let statuses = queue.statuses(labeller)?.into_iter().zip(1_u64..);
    let places = statuses.filter(|(status, _)| status.waits).map(|(_, place)| place);
    Ok(places.zip(queue.preview(labeller, usize::MAX)?).collect())
}

fn table(rows: &[(u64, Card)]) -> Result<Table, CardQueueError> {
    let texts = |of: fn(&Card) -> &str| {
        TableColumn::texts(rows.iter().map(|(_, card)| of(card).to_owned()))
    };
    let mut table = Table::default();
    table.push("place", TableColumn::texts(rows.iter().map(|(place, _)| place.to_string())));
    table.push("id", texts(|card| &card.id));
    if rows.iter().any(|(_, card)| card.key != card.id) {
        table.push("key", texts(|card| &card.key));
    }
    table.push("asks", texts(|card| &card.asks));
    for name in field_names(rows)? {
        let text = |(_, card): &(u64, Card)| {
            let field = card.fields.iter().find(|field| field.name == name)?;
            Some(field.text.clone())
        };
        table.push(column_name(name), TableColumn::Texts(rows.iter().map(text).collect()));
    }
    table.push("label", TableColumn::texts(rows.iter().map(|_| String::new())));
    Ok(table)
}

/// The names of the fields of all cards, in the order in which they first come.
fn field_names(rows: &[(u64, Card)]) -> Result<Vec<&str>, CardQueueError> {
    let mut seen = HashSet::new();
    let all = rows.iter().flat_map(|(_, card)| &card.fields).map(|field| field.name.as_str());
    let names: Vec<&str> = all.filter(|name| seen.insert(*name)).collect();
    if names.len() > COLUMNS_MAX {
        let count = names.len();
        return Err(CardQueueError::Folder(format!(
            "the cards have {count} fields of different names, more than {COLUMNS_MAX}"
        )));
    }
    Ok(names)
}

/// The column of a field; renamed if an import would read it as one of our own columns.
fn column_name(field: &str) -> String {
    let is_taken = OWN_COLUMNS.iter().any(|own| own.eq_ignore_ascii_case(field.trim()));
    if is_taken { format!("field.{field}") } else { field.to_owned() }
}

/// The columns that are ours, in an export or an import.
const OWN_COLUMNS: [&str; 6] = ["place", "id", "key", "asks", "label", "by"];
const COLUMNS_MAX: usize = 1000;
