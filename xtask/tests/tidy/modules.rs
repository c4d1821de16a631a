//! The modules of a package, and which of them name which: by a scan of their text.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// The names from a crate's root to a module.
type Name = Vec<String>;

/// The modules of one package, tests left out.
pub(crate) struct Modules {
    texts: BTreeMap<Name, Text>,
    /// Names that a module imports, and what they stand for.
    imports: BTreeMap<(Name, String), Name>,
}

/// A module's text.
struct Text {
    path: PathBuf,
    /// As it is written.
    written: String,
    /// The same without comments, texts and tests; every line is where it was.
    bare: String,
}

/// Where one module names another.
struct Place {
    path: PathBuf,
    line: usize,
    text: String,
}

impl Modules {
    /// Reads all modules below a folder.
    pub(crate) fn read(source: &Path) -> Self {
        let mut files = Vec::new();
        let mut folders = vec![source.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder of source") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    files.push((path.clone(), fs::read_to_string(&path).expect("source")));
                }
            }
        }
        Self::below(source, files)
    }

    /// Modules with these paths and texts.
    pub(crate) fn new(files: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        Self::below(Path::new(""), files)
    }

    fn below(source: &Path, files: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        let mut texts = BTreeMap::new();
        let mut tests = Vec::new();
        for (path, written) in files {
            let name = name_of(path.strip_prefix(source).expect("below the source"));
            let commentless = without_comments(&written);
            let (bare, own_tests) = without_tests(&commentless);
            tests.extend(own_tests.into_iter().map(|test| child(&name, test)));
            texts.insert(name, Text { path, written, bare });
        }
        texts.retain(|name, _| !tests.iter().any(|test| name.starts_with(test)));
        let mut modules = Self { texts, imports: BTreeMap::new() };
        let mut imports = BTreeMap::new();
        for (name, text) in &modules.texts {
            for (_, path) in paths(&text.bare, true) {
                let Some((path, alias)) = modules.absolute(name, &path) else { continue };
                imports.insert((name.clone(), alias), path);
            }
        }
        modules.imports = imports;
        modules
    }

    /// A path as written in a module from the crate's root on, and the name it has there; `None` if it is
    /// another crate's.
    fn absolute(&self, module: &Name, path: &[String]) -> Option<(Name, String)> {
        let (path, alias) = match path {
            [path @ .., word, alias] if word == "as" => (path, alias),
            path => (path, path.last()?),
        };
        let ups = path.iter().take_while(|part| *part == "super").count();
        let mut found: Name = match path[0].as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module[..module.len().checked_sub(ups)?].to_vec(),
            first if self.texts.contains_key(&child(module, first)) => child(module, first),
            _ => return None,
        };
        found.extend(path[ups.max(1)..].iter().filter(|part| *part != "self").cloned());
        let alias = if alias == "self" { found.last().cloned()? } else { alias.clone() };
        Some((found, alias))
    }

    /// All modules that a path leads through, one way or another.
    fn reached(&self, path: &[String], steps: usize) -> BTreeSet<Name> {
        let mut reached = BTreeSet::new();
        let mut module = Name::new();
        for (index, part) in path.iter().enumerate() {
            let next = child(&module, part);
            if self.texts.contains_key(&next) {
                module = next;
                continue;
            }
            if let Some(real) = self.imports.get(&(module.clone(), part.clone()))
                && steps > 0
            {
                let real: Name = real.iter().chain(&path[index + 1..]).cloned().collect();
                reached.extend(self.reached(&real, steps - 1));
            }
            break;
        }
        reached.insert(module);
        reached
    }

    /// For each two modules with the same parent: where the first, or one below it, names the second.
    fn edges(&self) -> BTreeMap<Name, BTreeMap<Name, Place>> {
        let mut edges: BTreeMap<Name, BTreeMap<Name, Place>> = BTreeMap::new();
        for (from, text) in &self.texts {
            for (at, path) in paths(&text.bare, false) {
                let Some((path, _)) = self.absolute(from, &path) else { continue };
                for to in self.reached(&path, IMPORT_STEPS_MAX) {
                    let shared =
                        from.iter().zip(&to).take_while(|(one, other)| one == other).count();
                    if shared == from.len() || shared == to.len() {
                        continue;
                    }
                    let line = text.bare[..at].matches('\n').count();
                    let written = text.written.lines().nth(line).unwrap_or_default().trim();
                    let place =
                        Place { path: text.path.clone(), line: line + 1, text: written.to_owned() };
                    let from = edges.entry(from[..=shared].to_vec()).or_default();
                    from.entry(to[..=shared].to_vec()).or_insert(place);
                }
            }
        }
        edges
    }

    /// A shortest circle for each module that is in one and in none of those before, with the lines that
    /// make it.
    pub(crate) fn circles(&self) -> Vec<String> {
        let edges = self.edges();
        let mut circles = Vec::new();
        let mut known = BTreeSet::new();
        for first in edges.keys() {
            let Some(circle) = circle(&edges, first) else { continue };
            if circle.iter().any(|module| known.contains(module)) {
                continue;
            }
            known.extend(circle.iter().cloned());
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            let lines = circle.iter().zip(circle.iter().cycle().skip(1)).map(|(from, to)| {
                let Place { path, line, text } = &edges[from][to];
                format!("    {}:{line}: {text}", path.display())
            });
            let lines: Vec<String> = lines.collect();
            circles.push(format!("{}:\n{}", names.join(" -> "), lines.join("\n")));
        }
        circles
    }
}

/// The shortest way from a module back to it, without the last step.
fn circle(edges: &BTreeMap<Name, BTreeMap<Name, Place>>, first: &Name) -> Option<Vec<Name>> {
    let mut ways = VecDeque::from([vec![first.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in edges.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            if next == first {
                return Some(way);
            }
            if seen.insert(next.clone()) {
                ways.push_back(way.iter().chain([next]).cloned().collect());
            }
        }
    }
    None
}

/// The module in a file.
fn name_of(path: &Path) -> Name {
    let mut name: Name =
        path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let is_parent = |part: &String| ["lib", "main", "mod"].contains(&part.as_str());
    if name.last().is_some_and(is_parent) {
        name.pop();
    }
    name
}

fn child(parent: &[String], name: &str) -> Name {
    parent.iter().cloned().chain([name.to_owned()]).collect()
}

/// Every path of two parts or more with its place, trees of imports in single branches; or only imports.
fn paths(text: &str, only_imports: bool) -> Vec<(usize, Name)> {
    let mut paths = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let length = word_length(&text[at..]);
        if length == 0 {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let is_import = &text[at..at + length] == "use";
        if is_import {
            at += length;
            at += space_length(&text[at..]);
        }
        if is_import || (!only_imports && text[at + length..].starts_with("::")) {
            at = tree(text, at, &Name::new(), &mut paths).max(at + 1);
        } else {
            at += length;
        }
    }
    paths
}

/// Reads a path, or a tree of them, behind a prefix; returns where it ends.
fn tree(text: &str, begin: usize, prefix: &[String], paths: &mut Vec<(usize, Name)>) -> usize {
    let (mut at, mut path) = (begin, prefix.to_vec());
    loop {
        at += space_length(&text[at..]);
        let length = word_length(&text[at..]);
        if length > 0 {
            path.push(text[at..at + length].to_owned());
            at += length;
        } else if text[at..].starts_with('{') && at > begin.max(1) - 1 {
            at += 1;
            loop {
                at += space_length(&text[at..]);
                match text[at..].chars().next() {
                    None => return at,
                    Some('}') => return at + 1,
                    Some(',') => at += 1,
                    Some(_) => at = tree(text, at, &path, paths).max(at + 1),
                }
            }
        } else {
            break;
        }
        if text[at..].starts_with("::") {
            at += 2;
            continue;
        }
        // `a as b`
        let gap = space_length(&text[at..]);
        if gap > 0 && text[at + gap..].starts_with("as ") {
            path.push("as".into());
            at += gap + 2;
            continue;
        }
        break;
    }
    paths.push((begin, path));
    at
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn space_length(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// A text with spaces in place of comments, texts and characters.
fn without_comments(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let is_within_word = bare.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = hidden_length(rest, is_within_word);
        if length > 0 {
            bare.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            at += length;
        } else {
            let c = rest.chars().next().expect("there is a rest");
            // One byte each, so that places stay what they are.
            bare.push(if c.is_ascii() { c } else { '_' });
            at += c.len_utf8();
        }
    }
    bare
}

/// The length of the comment, text or character that a text begins with; 0 if it begins with none.
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

/// A text without what only tests see, and the names of modules in other files that are such.
fn without_tests(text: &str) -> (String, Vec<&str>) {
    let mut bare = String::with_capacity(text.len());
    let mut tests = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find("#[cfg(test)]") {
        bare.push_str(&rest[..begin]);
        let item = &rest[begin..];
        let end = item.find(['{', ';']).unwrap_or(item.len());
        let length = if item[end..].starts_with('{') {
            end + block_length(&item[end..])
        } else {
            tests.extend(item[..end].rsplit_once("mod ").map(|(_, name)| name.trim()));
            (end + 1).min(item.len())
        };
        bare.extend(item[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &item[length..];
    }
    bare.push_str(rest);
    (bare, tests)
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

/// How often a name may be passed on.
const IMPORT_STEPS_MAX: usize = 8;
