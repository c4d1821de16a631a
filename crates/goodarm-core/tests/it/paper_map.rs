//! `docs/paper-map.md` names only what there is.

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
