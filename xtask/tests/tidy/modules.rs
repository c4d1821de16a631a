//! The modules of a package, and which of them name which: by a scan of their text.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::files_below;
use crate::source::{Source, line_of};

/// The names from a crate's root to a module.
type Name = Vec<String>;

/// The modules of one package, tests left out.
pub(crate) struct Modules {
    files: BTreeMap<Name, ModuleFile>,
    /// Names that a module imports, and what they stand for.
    imports: BTreeMap<(Name, String), Name>,
}

/// The file of a module.
pub(crate) struct ModuleFile {
    pub(crate) path: PathBuf,
    /// As it is written.
    text: String,
    pub(crate) source: Source,
}

/// A line in which one module names another.
struct Mention {
    path: PathBuf,
    line: usize,
    text: String,
}

impl Modules {
    /// Reads all modules below a folder.
    pub(crate) fn read(source: &Path) -> Self {
        let files = files_below(source, &["rs"]).into_iter();
        let files = files.map(|path| (path.clone(), fs::read_to_string(path).expect("source")));
        Self::below(source, files)
    }

    /// The files of all modules.
    pub(crate) fn files(&self) -> impl Iterator<Item = &ModuleFile> {
        self.files.values()
    }

    /// Modules with these paths and texts.
    pub(crate) fn new(files: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        Self::below(Path::new(""), files)
    }

    fn below(folder: &Path, files: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        let mut files_by_name = BTreeMap::new();
        let mut tests = Vec::new();
        for (path, text) in files {
            let name = name_of(path.strip_prefix(folder).expect("below the folder"));
            let source = Source::new(&text);
            tests.extend(source.test_modules.iter().map(|test| child(&name, test)));
            files_by_name.insert(name, ModuleFile { path, text, source });
        }
        files_by_name.retain(|name, _| !tests.iter().any(|test| name.starts_with(test)));
        let mut modules = Self { files: files_by_name, imports: BTreeMap::new() };
        let mut imports = BTreeMap::new();
        for (name, file) in &modules.files {
            for (_, path) in paths(&file.source.code, true) {
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
            first if self.files.contains_key(&child(module, first)) => child(module, first),
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
            if self.files.contains_key(&next) {
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
    fn edges(&self) -> BTreeMap<Name, BTreeMap<Name, Mention>> {
        let mut edges: BTreeMap<Name, BTreeMap<Name, Mention>> = BTreeMap::new();
        for (from, file) in &self.files {
            for (at, path) in paths(&file.source.code, false) {
                let Some((path, _)) = self.absolute(from, &path) else { continue };
                for to in self.reached(&path, IMPORT_STEPS_MAX) {
                    let shared =
                        from.iter().zip(&to).take_while(|(one, other)| one == other).count();
                    if shared == from.len() || shared == to.len() {
                        continue;
                    }
                    let line = line_of(&file.source.code, at);
                    let text = file.text.lines().nth(line - 1).unwrap_or_default().trim();
                    let mention = Mention { path: file.path.clone(), line, text: text.to_owned() };
                    let from = edges.entry(from[..=shared].to_vec()).or_default();
                    from.entry(to[..=shared].to_vec()).or_insert(mention);
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
                let Mention { path, line, text } = &edges[from][to];
                format!("    {}:{line}: {text}", path.display())
            });
            let lines: Vec<String> = lines.collect();
            circles.push(format!("{}:\n{}", names.join(" -> "), lines.join("\n")));
        }
        circles
    }
}

/// The shortest way from a module back to it, without the last step.
fn circle(edges: &BTreeMap<Name, BTreeMap<Name, Mention>>, first: &Name) -> Option<Vec<Name>> {
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

/// How often a name may be passed on.
const IMPORT_STEPS_MAX: usize = 8;
