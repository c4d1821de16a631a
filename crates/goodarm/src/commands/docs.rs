//! `goodarm docs`: the pages of the book, which are in the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use flate2::read::DeflateDecoder;
use goodarm_files::did_you_mean;

use crate::commands::CommandError;
use crate::terminal;

pub(crate) fn run(page: Option<&str>) -> Result<(), CommandError> {
    let mut book = String::new();
    DeflateDecoder::new(PACKED).read_to_string(&mut book)?;
    let pages = pages(&book);
    let text = match page {
        Some(page) => find(&pages, page)?.to_owned(),
        None => contents(&pages),
    };
    let _ = terminal::own_text().write_all(text.as_bytes());
    Ok(())
}

/// The texts by the names of their pages.
fn pages(book: &str) -> BTreeMap<&str, &str> {
    let mut pieces = book.split_terminator('\0');
    std::iter::from_fn(|| pieces.next().zip(pieces.next())).collect()
}

/// The name of a page from its name or its path.
fn name_of(path: &str) -> &str {
    let path = path.strip_suffix(".md").unwrap_or(path);
    let path = path.strip_suffix("/README").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

fn find<'a>(pages: &BTreeMap<&str, &'a str>, page: &str) -> Result<&'a str, CommandError> {
    let name = name_of(page);
    pages.get(name).copied().ok_or_else(|| {
        let hint = did_you_mean(name, pages.keys().copied());
        CommandError::wrong_input(format!(
            "the book has no page {page:?}{hint}\n`goodarm docs` lists all pages"
        ))
    })
}

/// The table of contents with the names of the pages.
fn contents(pages: &BTreeMap<&str, &str>) -> String {
    let mut text = "The goodarm book. `goodarm docs PAGE` prints a page.\n".to_owned();
    let width = pages.keys().map(|name| name.len()).max().unwrap_or_default();
    for line in pages.get("README").unwrap_or(&"").lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let _ = writeln!(text, "\n{heading}");
        }
        let Some(entry) = line.strip_prefix("- ") else { continue };
        let (whole, links) = links(entry);
        let is_one = links.len() == 1;
        // Other links lead out of the book.
        let links = links.into_iter().map(|(title, path)| (title, name_of(path)));
        for (title, name) in links.filter(|(_, name)| pages.contains_key(name)) {
            let title = if is_one { &whole } else { title };
            let _ = writeln!(text, "  {name:width$}  {title}");
        }
    }
    text
}

/// A line of Markdown without the targets of its links, and the titles and targets.
fn links(line: &str) -> (String, Vec<(&str, &str)>) {
    let (mut plain, mut links, mut rest) = (String::new(), Vec::new(), line);
    while let Some((before, link)) = rest.split_once('[')
        && let Some((title, link)) = link.split_once("](")
        && let Some((target, after)) = link.split_once(')')
    {
        plain += before;
        plain += title;
        links.push((title, target));
        rest = after;
    }
    (plain + rest, links)
}

/// The pages, packed by the build script.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/book"));
