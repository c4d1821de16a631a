//! `ARCHITECTURE.md` names only what there is.

use std::fs;
use std::path::Path;

use crate::root;

/// The paths that a page names in backquotes, such as `goodarm-core/src/session.rs`: words with a slash
/// that end in the name of a file or in a slash.
fn named(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| {
        let is_plain = !text.contains([' ', '<', '>', '*', '{', '(', '"']);
        let last = text.rsplit('/').next().unwrap_or_default();
        is_plain
            && text.trim_end_matches('/').contains('/')
            && (last.is_empty() || last.contains('.'))
    };
    quoted.filter(is_path).collect()
}

/// Those that are not below `crates`.
fn missing<'a>(root: &Path, page: &'a str) -> Vec<&'a str> {
    let crates = root.join("crates");
    named(page).into_iter().filter(|path| !crates.join(path).exists()).collect()
}

#[test]
fn the_architecture_page_names_files_that_exist() {
    let root = root();
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page");
    assert_eq!(missing(&root, &page), [""; 0]);
    assert!(named(&page).len() > 50, "paths are found");
}

#[test]
fn a_path_that_is_gone_is_found() {
    let root = root();
    let page = "`goodarm-core/src/lib.rs`, `goodarm-core/src/gone.rs`, `a / b`, `Some/thing`";
    assert_eq!(missing(&root, page), ["goodarm-core/src/gone.rs"]);
}
