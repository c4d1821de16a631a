//! The libraries say what is the case. What to type is known to the front ends alone, so no text of a
//! library names a flag or a command of the command line.

use std::fs;
use std::path::{Path, PathBuf};

/// The front ends are goodarm, goodarm-py and the laboratory.
const LIBRARIES: [&str; 7] = [
    "goodarm-core",
    "goodarm-data",
    "goodarm-files",
    "goodarm-live",
    "goodarm-plan",
    "goodarm-record",
    "goodarm-report",
];

const COMMANDS: [&str; 13] = [
    "audit",
    "calibrate",
    "example",
    "export",
    "generate",
    "init",
    "label",
    "plan",
    "record",
    "report",
    "run",
    "schema",
    "try",
];

#[test]
fn no_text_of_a_library_names_a_flag_or_a_command() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut files = Vec::new();
    for library in LIBRARIES {
        collect(&crates.join(library).join("src"), &mut files);
    }
    assert!(files.len() > 100, "only {} files were found", files.len());
    let mut found = Vec::new();
    for path in files {
        let source = fs::read_to_string(&path).expect("a source file");
        for (line, text) in literals(&source) {
            if let Some(word) = command_word(&text) {
                found.push(format!("{}:{line}: {word}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_test_can_fail() {
    let source = r##"
        // "--comment" and 'a' do not count, nor does "goodarm {VERSION}".
        fn text<'a>(it: &'a str) { call("continue it \"now\" with --resume"); }
        const RAW: &str = r#"see `goodarm try` "there""#;
        const PLAIN: [&str; 3] = ["a -- b", "----", "goodarm reads format 2"];
        #[cfg(test)]
        mod tests { const HERE: &str = "--again"; }
    "##;
    let words: Vec<String> =
        literals(source).iter().filter_map(|(_, text)| command_word(text)).collect();
    assert_eq!(words, ["--resume", "`goodarm try"]);
}

/// All source files below a folder, but for tests.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_left_out = ["tests", "tests.rs", "simulation", "simulation.rs"].contains(&name);
        if path.is_dir() && !is_left_out {
            collect(&path, files);
        } else if name.ends_with(".rs") && !is_left_out {
            files.push(path);
        }
    }
}

/// The first flag in a text, or the first command in backquotes or behind a colon.
fn command_word(text: &str) -> Option<String> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    let taken = |from: usize, skip: usize| -> String {
        let rest = text[from + skip..].chars().take_while(|c| is_letter(*c) || *c == '-');
        text[from..from + skip].chars().chain(rest).collect()
    };
    for (index, _) in text.match_indices("--") {
        let is_inside = text[..index].ends_with(|c: char| c == '-' || c.is_alphanumeric());
        if !is_inside && text[index + 2..].starts_with(is_letter) {
            return Some(taken(index, 2));
        }
    }
    for start in ["`goodarm ", ": goodarm ", "in goodarm "] {
        for (index, _) in text.match_indices(start) {
            let found = taken(index, start.len());
            if COMMANDS.contains(&&found[start.len()..]) {
                return Some(found);
            }
        }
    }
    None
}

/// The string literals of a source file with their lines, before its unit tests and without comments.
fn literals(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]\n").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let rest = &source[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some((opening, closing)) = opening(rest) {
            let line = source[..at].matches('\n').count() + 1;
            let inner = &rest[opening..];
            let len = match closing.len() {
                1 => plain_len(inner),
                _ => inner.find(&closing).unwrap_or(inner.len()),
            };
            found.push((line, inner[..len].to_owned()));
            at += (opening + len + closing.len()).min(rest.len());
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            at += rest.find("\"'").map_or(1, |len| len + 2);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// The length of what opens a literal here, and what closes it.
fn opening(rest: &str) -> Option<(usize, String)> {
    if rest.starts_with('"') {
        return Some((1, "\"".to_owned()));
    }
    let hashes = rest.strip_prefix('r')?;
    let count = hashes.len() - hashes.trim_start_matches('#').len();
    let is_raw = count > 0 && hashes[count..].starts_with('"');
    is_raw.then(|| (count + 2, format!("\"{}", "#".repeat(count))))
}

/// Up to the quote that no backslash escapes.
fn plain_len(inner: &str) -> usize {
    let mut is_escaped = false;
    let end = inner.char_indices().find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(inner.len(), |(index, _)| index)
}
