//! Plain English: turns of phrase that need a second reading, per 1,000 words of comments, messages and pages.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::modules::Modules;
use crate::source::Prose;
use crate::{files_below, packages, root};

/// The highest rate of each crate and of the pages. A limit may only be lowered.
const LIMITS: [(&str, f64); 16] = [
    ("docs", 0.3),
    ("fuzz", 0.3),
    ("goodarm", 0.3),
    ("goodarm-core", 0.3),
    ("goodarm-data", 0.4),
    ("goodarm-files", 0.3),
    ("goodarm-lab", 0.3),
    ("goodarm-live", 0.3),
    ("goodarm-plan", 0.0),
    ("goodarm-plot", 0.3),
    ("goodarm-py", 0.3),
    ("goodarm-record", 0.3),
    ("goodarm-report", 0.3),
    ("goodarm-sim", 0.3),
    ("goodarm-terminal", 0.3),
    ("xtask", 0.3),
];

/// A rate that is lower than its limit by more than this asks for a lower limit.
const SLACK: f64 = 0.3;

/// A pattern, and the words that make it innocent: before it, and as the beginning of what follows.
type Turn = (&'static str, &'static [&'static str], &'static [&'static str]);

const TURNS: [Turn; 29] = [
    (r"\b[Ww]hoever\b", &[], &[]),
    (r"\b[Ww]hatever\b", &[], &[]),
    (r"\b[Hh]owever (many|long|often|much)\b", &[], &[]),
    (r"\b[Ss]o (many|much|often)\b", &[], &[" more", " as"]),
    ("so-many-th", &[], &[]),
    (r"\b[Tt]hose (who|which|whose)\b", &[], &[]),
    (r"\b(is|was|are|were) said\b", &[], &[]),
    (r"\b[Mm]end(s|ed)?\b", &[], &[]),
    (r"\b(take|takes|taken) up\b", &[], &[]),
    (r"\b(goes|go) on\b", &[], &[]),
    (r"\bwhom\b", &[], &[]),
    (r"\b([Nn]obody|[Nn]o one)\b", &[], &[]),
    (r"\b[Nn]one if\b", &[], &[]),
    (r"\ball the same\b", &[], &[]),
    (r"\b(tells? of|told of)\b", &[], &[]),
    (r"\bturned away\b", &[], &[]),
    (r"\bin the place of\b", &[], &[]),
    (r"\banew\b", &[], &[]),
    (r", too[,.;:)]", &[], &[]),
    (r"\bbe it\b", &[], &[]),
    (r"\bdear(er|est)?\b", &[], &[]),
    (r"\b(brings|brought)\b", &[], &[]),
    (r"\bspeaks? (against|for|of)\b", &[], &[]),
    (r"\bheld against\b", &[], &[]),
    (r"\bis at it\b", &[], &[]),
    (r"\bsays? nothing\b", &[], &[]),
    (r"\bis no \b", &["there ", "There "], &["longer", "need"]),
    (r"\bis none\b", &[], &[]),
    (r"\bbehind (it|them|all|the others|those)\b", &[], &[]),
];

/// The turns in texts, with their words counted.
struct Finder {
    turns: Vec<(Regex, Turn)>,
    word_count: usize,
    found: Vec<String>,
}

impl Finder {
    fn new() -> Self {
        let turns = TURNS.map(|turn| (Regex::new(turn.0).expect("a pattern"), turn)).into();
        Self { turns, word_count: 0, found: Vec::new() }
    }

    /// Takes in a text of a file that begins at a line.
    fn read(&mut self, path: &Path, first_line: usize, text: &str) {
        let path = path.strip_prefix(root()).unwrap_or(path);
        for (line, text) in (first_line..).zip(text.lines()) {
            self.word_count += text.split_whitespace().filter(|word| *word != "//").count();
            for (pattern, (_, before, after)) in &self.turns {
                for turn in pattern.find_iter(text) {
                    let is_innocent =
                        before.iter().any(|word| text[..turn.start()].ends_with(word))
                            || after.iter().any(|word| text[turn.end()..].starts_with(word));
                    if !is_innocent {
                        self.found.push(format!("{}:{line}: {}", path.display(), turn.as_str()));
                    }
                }
            }
        }
    }

    fn read_prose<'a>(&mut self, path: &Path, prose: impl IntoIterator<Item = &'a Prose>) {
        for piece in prose {
            self.read(path, piece.line, &piece.text);
        }
    }

    /// Turns per 1,000 words.
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 words")]
    fn rate(&self) -> f64 {
        1000.0 * self.found.len() as f64 / self.word_count.max(1) as f64
    }
}

#[test]
fn comments_messages_and_pages_are_in_plain_english() {
    let mut complaints = Vec::new();
    let mut names: Vec<String> = vec!["docs".to_owned()];
    names.extend(packages().iter().map(|folder| name_of(folder)));
    names.sort();
    assert_eq!(names, LIMITS.map(|(name, _)| name), "each crate has a limit");
    for (name, limit) in LIMITS {
        let finder = if name == "docs" { pages() } else { package(name) };
        let rate = finder.rate();
        if rate > limit {
            let found = finder.found.join("\n");
            complaints.push(format!("{name}: {rate:.2} per 1,000 words, limit {limit}:\n{found}"));
        } else if rate < limit - SLACK {
            complaints
                .push(format!("{name}: {rate:.2} per 1,000 words: lower its limit of {limit}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn name_of(package: &Path) -> String {
    package.file_name().expect("a folder has a name").to_string_lossy().into_owned()
}

/// The comments, literals and help texts of a package, and its Python sources.
fn package(name: &str) -> Finder {
    let folder = packages().into_iter().find(|folder| name_of(folder) == name).expect("a package");
    let mut finder = Finder::new();
    for file in Modules::read(&folder.join("src")).files() {
        finder.read_prose(&file.path, &file.source.prose);
    }
    for path in files_below(&folder, &["txt"]) {
        if !path.starts_with(folder.join("tests")) {
            finder.read(&path, 1, &read(&path));
        }
    }
    for path in files_below(&folder.join("python"), &["py", "pyi"]) {
        finder.read_prose(&path, &python_prose(&read(&path)));
    }
    finder
}

/// The pages that people wrote, without blocks of code.
fn pages() -> Finder {
    let mut finder = Finder::new();
    let mut paths: Vec<PathBuf> = files_below(&root().join("docs"), &["md"]);
    paths.retain(|path| !path.ends_with("python-reference.md"));
    let names = ["README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY"];
    paths.extend(names.map(|name| root().join(name).with_extension("md")));
    for path in paths {
        finder.read(&path, 1, &without_blocks(&read(&path)));
    }
    finder
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A page with empty lines for its blocks of code.
fn without_blocks(page: &str) -> String {
    let mut is_code = false;
    let mut text = String::new();
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if !is_code && !is_fence {
            text.push_str(line);
        }
        text.push('\n');
        is_code ^= is_fence;
    }
    text
}

/// The comments and strings of a Python file.
fn python_prose(text: &str) -> Vec<Prose> {
    let piece = Regex::new(r#"(?s)#[^\n]*|""".*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"#);
    let piece = piece.expect("a pattern");
    let found = piece.find_iter(text).map(|found| Prose {
        line: crate::source::line_of(text, found.start()),
        text: found.as_str().to_owned(),
    });
    found.collect()
}

fn turns(text: &str) -> Vec<String> {
    let mut finder = Finder::new();
    finder.read(Path::new("a"), 1, text);
    finder.found
}

#[test]
fn a_turn_is_found_with_its_line() {
    assert_eq!(
        turns("Plain.\nIt goes on, whoever asks, too."),
        ["a:2: whoever", "a:2: goes on", "a:2: , too.",]
    );
    assert_eq!(turns("This is no file, and there is no other"), ["a:1: is no "]);
    assert!(turns("so much more, so often as that; it is no longer here, is not there").is_empty());
}

#[test]
fn comments_and_literals_are_read_and_code_and_tests_are_not() {
    let source = crate::source::Source::new(
        "/// dear\nfn anew() { say(\"mend\nit\"); 'x' }\n// nobody\n#[cfg(test)]\nmod tests { // whom\n}",
    );
    let mut finder = Finder::new();
    finder.read_prose(Path::new("a"), &source.prose);
    assert_eq!(finder.found, ["a:1: dear", "a:2: mend", "a:4: nobody"]);
    assert!((finder.rate() - 600.0).abs() < 1e-9, "{} of {}", finder.rate(), finder.word_count);
}

#[test]
fn python_and_pages_are_read_without_code() {
    let mut finder = Finder::new();
    finder.read_prose(Path::new("a"), &python_prose("whom = 1  # whom\n\"\"\"Or\nanew\"\"\"\n"));
    finder.read(Path::new("b"), 1, &without_blocks("anew\n```sh\ndear\n```\ndear\n"));
    assert_eq!(finder.found, ["a:1: whom", "a:3: anew", "b:1: anew", "b:5: dear"]);
}
