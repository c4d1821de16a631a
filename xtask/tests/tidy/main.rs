//! Rules for the source of every crate: modules do not import each other in a circle, libraries name no flags,
//! comments are in plain English, public types have names of their own, and the page about the architecture
//! names files that exist.

mod english;
mod flags;
mod modules;
mod names;
mod paths;
mod source;

use std::path::{Path, PathBuf};

use modules::Modules;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_owned()
}

/// The folders of all packages.
fn packages() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root().join("crates")).expect("the crates");
    let mut packages: Vec<PathBuf> = crates.map(|entry| entry.expect("an entry").path()).collect();
    packages.extend([root().join("fuzz"), root().join("xtask")]);
    packages.sort();
    packages
}

/// All files below a folder with one of some extensions; none if there is no such folder.
fn files_below(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if extension.is_some_and(|extension| extensions.contains(&extension)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for folder in packages() {
        circles.extend(Modules::read(&folder.join("src")).circles());
    }
    assert!(circles.is_empty(), "modules in circles:\n{}", circles.join("\n"));
}

/// The circles among modules with these texts.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    Modules::new(files.iter().map(|(path, text)| ((*path).into(), (*text).to_owned()))).circles()
}

#[test]
fn a_circle_of_two_is_found_with_both_lines() {
    let found = circles(&[
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "//! About `crate::b`.\n\nuse crate::b::{self, B};\n"),
        ("b.rs", "use std::fmt;\n\nfn f() -> crate::a::A {}\n"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("a.rs:3: use crate::b::{self, B};"), "{found:?}");
    assert!(found[0].contains("b.rs:3: fn f() -> crate::a::A {}"), "{found:?}");
}

#[test]
fn a_circle_of_three_over_super_and_a_submodule_is_found() {
    let found = circles(&[
        ("a.rs", "mod deep;\n"),
        ("a/deep.rs", "use super::super::b::B;\n"),
        ("b.rs", "pub use super::{c::C, std};\n"),
        ("c.rs", "use crate::{\n    x::{X, Y},\n    a::A,\n};\n"),
        ("x.rs", ""),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    for line in ["a/deep.rs:1:", "b.rs:1:", "c.rs:3:"] {
        assert!(found[0].contains(line), "{line}: {found:?}");
    }
}

#[test]
fn a_circle_among_submodules_is_found() {
    let found = circles(&[
        ("a.rs", "mod x;\nmod y;\n"),
        ("a/x.rs", "use super::y::Y;\n"),
        ("a/y.rs", "use crate::a::x::X;\n"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_circle_through_a_name_that_another_module_passes_on_is_found() {
    let found = circles(&[
        ("lib.rs", "mod a;\nmod b;\npub use crate::b::{B, C as D};\npub use self::a::A;\n"),
        ("a.rs", "use crate::D;\n"),
        ("b.rs", "use crate::A;\n"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn tests_comments_texts_and_parents_make_no_circle() {
    let found = circles(&[
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::B;\nmod part;\nuse self::part::Part;\n"),
        ("a/part.rs", "use super::A;\n"),
        (
            "b.rs",
            "/* use crate::a::A; */\nconst TEXT: &str = \"crate::a::A\";\nconst C: char = '\"';\nconst RAW: &str = r#\"crate::a\"#;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n#[cfg(test)]\nmod more;\n",
        ),
        ("b/more.rs", "use crate::a::A;\n"),
    ]);
    assert_eq!(found, Vec::<String>::new());
}
