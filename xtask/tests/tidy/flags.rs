//! Errors of the libraries state facts, and the front ends add advice: no text of a library names a flag or
//! a command of the command line.

use crate::modules::Modules;
use crate::root;
use crate::source::Source;

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

const COMMANDS: [&str; 17] = [
    "audit",
    "calibrate",
    "completions",
    "docs",
    "example",
    "export",
    "generate",
    "help",
    "init",
    "label",
    "plan",
    "record",
    "report",
    "run",
    "schema",
    "try",
    "version",
];

#[test]
fn no_text_of_a_library_names_a_flag_or_a_command() {
    let mut found = Vec::new();
    for library in LIBRARIES {
        let folder = root().join("crates").join(library).join("src");
        for file in Modules::read(&folder).files() {
            for (line, word) in command_words(&file.source) {
                found.push(format!("{}:{line}: {word}", file.path.display()));
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
    let words = command_words(&Source::new(source));
    assert_eq!(words, [(3, "--resume".to_owned()), (4, "`goodarm try".to_owned())]);
}

/// The flags and commands in string literals, with their lines.
fn command_words(source: &Source) -> Vec<(usize, String)> {
    let literals = source.prose.iter().filter(|piece| !piece.is_comment());
    let words = literals.filter_map(|piece| Some((piece.line, command_word(&piece.text)?)));
    words.collect()
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
