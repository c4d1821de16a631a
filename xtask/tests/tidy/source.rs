//! A Rust file in two parts: its code, and its comments and string literals. Tests are in neither.

use std::ops::Range;

/// A source file, scanned.
pub(crate) struct Source {
    /// The code, with a space for each character of comments, literals and tests. Lines keep their numbers.
    pub(crate) code: String,
    /// Comments and string literals.
    pub(crate) prose: Vec<Prose>,
    /// The names of modules in other files that only tests compile.
    pub(crate) test_modules: Vec<String>,
}

/// A comment or a string literal, as it is written.
pub(crate) struct Prose {
    /// Its first line, counted from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Prose {
    pub(crate) fn is_comment(&self) -> bool {
        self.text.starts_with('/')
    }
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        let (code, hidden) = without_hidden(text);
        let (tests, test_modules) = test_items(&code);
        let is_tested = |at: usize| tests.iter().any(|range| range.contains(&at));
        let prose =
            hidden.into_iter().filter(|(at, text)| !is_tested(*at) && !text.starts_with('\''));
        let prose =
            prose.map(|(at, text)| Prose { line: line_of(&code, at), text: text.to_owned() });
        let prose = prose.collect();
        let mut bare = code;
        for range in tests {
            let blank = blank(&bare[range.clone()]);
            bare.replace_range(range, &blank);
        }
        Self { code: bare, prose, test_modules }
    }
}

/// The number of the line at a position, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn blank(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

/// A text with spaces in place of comments and literals, and these with their positions in it.
fn without_hidden(text: &str) -> (String, Vec<(usize, &str)>) {
    let mut code = String::with_capacity(text.len());
    let mut hidden = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let is_within_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = hidden_length(rest, is_within_word);
        if length > 0 {
            hidden.push((code.len(), &rest[..length]));
            code.push_str(&blank(&rest[..length]));
            at += length;
        } else {
            let c = rest.chars().next().expect("there is a rest");
            code.push(if c.is_ascii() { c } else { '_' });
            at += c.len_utf8();
        }
    }
    (code, hidden)
}

/// The length of the comment or literal that a text begins with; 0 if it begins with neither.
fn hidden_length(text: &str, is_within_word: bool) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    let raw = text.strip_prefix(['b', 'c']).unwrap_or(text);
    if let Some(raw) = raw.strip_prefix('r').filter(|_| !is_within_word) {
        let marks = raw.len() - raw.trim_start_matches('#').len();
        if let Some(content) = raw[marks..].strip_prefix('"') {
            let end = format!("\"{}", "#".repeat(marks));
            let length = content.find(&end).map_or(content.len(), |at| at + end.len());
            return text.len() - content.len() + length;
        }
    }
    if let Some(content) = text.strip_prefix('"') {
        let mut is_escaped = false;
        let end = content.find(|c: char| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        return end.map_or(text.len(), |end| end + 2);
    }
    let Some(content) = text.strip_prefix('\'') else { return 0 };
    let mut chars = content.chars();
    match chars.next() {
        Some('\\') => content[2..].find('\'').map_or(0, |end| end + 4),
        // Without the second quote it is a lifetime.
        Some(c) if chars.next() == Some('\'') => c.len_utf8() + 2,
        _ => 0,
    }
}

/// Where the items are that only tests compile, and the names of modules in other files among them.
fn test_items(code: &str) -> (Vec<Range<usize>>, Vec<String>) {
    let mut items = Vec::new();
    let mut modules = Vec::new();
    let mut at = 0;
    while let Some(found) = code[at..].find("#[cfg(test)]") {
        let begin = at + found;
        let item = &code[begin..];
        let end = item.find(['{', ';']).unwrap_or(item.len());
        let length = if item[end..].starts_with('{') {
            end + block_length(&item[end..])
        } else {
            modules.extend(item[..end].rsplit_once("mod ").map(|(_, name)| name.trim().to_owned()));
            (end + 1).min(item.len())
        };
        at = begin + length;
        items.push(begin..at);
    }
    (items, modules)
}

/// The length of the block that a text begins with.
fn block_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let end = text.find(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(text.len(), |end| end + 1)
}
