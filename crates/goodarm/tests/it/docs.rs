//! `goodarm docs`: the book without a network.

use std::fs;

use crate::tool::{goodarm, message, ok, root, text};

#[test]
fn a_page_is_printed_as_it_is() {
    let page = |path: &str| fs::read_to_string(root().join("docs").join(path)).unwrap();
    assert_eq!(ok(&["docs", "job-file"]), page("job-file.md"));
    assert_eq!(ok(&["docs", "decisions"]), page("decisions/README.md"));
    for name in ["questions", "how-to/questions", "docs/how-to/questions.md"] {
        assert_eq!(ok(&["docs", name]), page("how-to/questions.md"));
    }
}

#[test]
fn the_contents_list_the_pages_of_the_book() {
    let contents = ok(&["docs"]);
    assert!(contents.contains("\nReference\n  job-file "), "{contents}");
    assert!(contents.contains("  The job file: every key\n"), "{contents}");
    // Two links of one line are two pages.
    assert!(contents.contains("\n  watch ") && contents.contains("  the same during a run\n"));
    let names = contents.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 40, "{names:?}");
    for name in &names {
        assert!(ok(&["docs", name]).starts_with("# "), "{name}");
    }
    for folder in ["", "how-to", "explanation"] {
        for entry in fs::read_dir(root().join("docs").join(folder)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let Some(name) = file.strip_suffix(".md").filter(|name| *name != "README") else {
                continue;
            };
            assert!(names.contains(&name), "{name} is not in the contents");
        }
    }
}

#[test]
fn a_wrong_page_has_its_nearest() {
    for (wrong, meant) in [("job-fiel", "job-file"), ("how-to/question", "questions")] {
        let output = goodarm(&["docs", wrong]);
        assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
        let said = message(&output);
        assert!(said.contains(&format!("did you mean \"{meant}\"?")), "{said}");
        assert!(said.contains("`goodarm docs` lists all pages"), "{said}");
    }
}

/// Messages, help and starter jobs name pages in the way that prints them.
#[test]
fn no_text_of_the_tool_names_a_file_of_the_book() {
    let mut texts: Vec<String> = Vec::new();
    for folder in ["goodarm/help", "goodarm-lab/help", "goodarm/src/commands/init"] {
        for entry in fs::read_dir(root().join("crates").join(folder)).unwrap() {
            texts.push(fs::read_to_string(entry.unwrap().path()).unwrap());
        }
    }
    for page in texts.iter().flat_map(|text| text.split("`goodarm docs ").skip(1)) {
        let name = page.split('`').next().unwrap();
        ok(&["docs", name]);
    }
    assert!(texts.iter().any(|text| text.contains("`goodarm docs job-file`")));
    assert!(texts.iter().all(|text| !text.contains("docs/")));
}
