//! Links between the pages lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::root;

#[test]
fn every_link_leads_somewhere() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path =
                if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(path.exists(), "{}: {target} is not there", page.display());
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(&path).unwrap());
                assert!(anchors.contains(anchor), "{}: {target}: {anchors:?}", page.display());
            }
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

#[test]
fn anchors_are_made_as_on_github() {
    let page =
        "# One, two: `three`\n```sh\n# no\n```\n## What δ bounds\n## Same\n## Same\n## [a](b) c\n";
    let expected = ["a-c", "one-two-three", "same", "same-1", "what-δ-bounds"];
    assert_eq!(anchors(page), expected.map(str::to_owned).into());
}

fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![root().join("docs"), root().join("examples/capitals")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    let own = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    pages.extend(own.iter().map(|name| root().join(Path::new(name))));
    pages
}

/// The lines that are not code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// What `[text](target)` leads to.
fn targets(page: &str) -> Vec<String> {
    let prose: Vec<&str> = prose(page).collect();
    let mut targets = Vec::new();
    for part in prose.join(" ").split("](").skip(1) {
        targets.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
    }
    targets
}

fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(page).filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim();
        let slug = slug(heading);
        let number = (1..).map(|number| format!("{slug}-{number}"));
        let free = std::iter::once(slug.clone()).chain(number).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// Lower case, without marks, hyphens for spaces; of a link its text.
fn slug(heading: &str) -> String {
    let mut slug = String::new();
    let mut in_target = false;
    let mut last = ' ';
    for character in heading.to_lowercase().chars() {
        in_target |= last == ']' && character == '(';
        if !in_target && (character.is_alphanumeric() || "-_ ".contains(character)) {
            slug.push(if character == ' ' { '-' } else { character });
        }
        in_target &= character != ')';
        last = character;
    }
    slug
}
