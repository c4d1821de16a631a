//! `docs/paper-map.md` and `docs/notation.md` name only what exists.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether some function of that name is defined in the file.
fn defines(file: &str, function: &str) -> bool {
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    [format!("fn {function}("), format!("fn {function}<")].iter().any(|found| text.contains(found))
}

#[test]
fn every_function_and_test_in_the_map_exists() {
    let map = std::fs::read_to_string(root().join("docs/paper-map.md")).unwrap();
    let rows: Vec<Vec<&str>> = map
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(rows.len() > 15, "the table is there");
    for row in rows {
        let [statement, file, function, test] = row[..] else { panic!("four columns: {row:?}") };
        assert!(defines(file, function), "{statement}: no fn {function} in {file}");
        let (test_file, test) = test.split_once(": ").expect("file: test");
        assert!(defines(test_file, test), "{statement}: no fn {test} in {test_file}");
    }
}

/// All source text below a folder.
fn source(folder: &Path) -> String {
    let read = |path: PathBuf| {
        if path.is_dir() { source(&path) } else { std::fs::read_to_string(path).expect("UTF-8") }
    };
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    entries.map(|entry| read(entry.expect("an entry").path())).collect()
}

#[test]
fn every_identifier_of_the_notation_exists() {
    let page = std::fs::read_to_string(root().join("docs/notation.md")).unwrap();
    let crates = ["goodarm-core", "goodarm-record", "goodarm-live", "goodarm-sim"];
    let text: String =
        crates.iter().map(|name| source(&root().join("crates").join(name).join("src"))).collect();
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words: std::collections::BTreeSet<&str> = text.split(|c| !is_name(c)).collect();
    let identifiers = page.split('`').skip(1).step_by(2).flat_map(|path| path.split("::"));
    for identifier in identifiers.filter(|identifier| !identifier.is_empty()) {
        assert!(words.contains(identifier), "{identifier}");
    }
}

/// What `docs/certificates.md` links to is there, and so are the tests that it names by their beginnings.
#[test]
fn every_test_and_twin_of_the_certificates_exists() {
    let page = std::fs::read_to_string(root().join("docs/certificates.md")).unwrap();
    let linked = page.split("](../").skip(1).map(|rest| rest.split(')').next().unwrap_or(rest));
    for path in linked {
        assert!(root().join(path).exists(), "{path}");
    }
    let crates = root().join("crates");
    let folders = ["goodarm-core/tests/it", "goodarm-core/src", "goodarm-record/src/claims"];
    let tests: String = folders.iter().map(|folder| source(&crates.join(folder))).collect();
    let names = page.split('`').skip(1).step_by(2).filter_map(|name| name.strip_suffix('…'));
    let mut name_count = 0;
    for name in names {
        assert!(tests.contains(&format!("fn {name}")), "{name}");
        name_count += 1;
    }
    assert!(name_count >= 9, "{name_count}");
}
