//! A name of a type stands for one type: how many public types share their name with another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::modules::Modules;
use crate::packages;
use crate::source::{Source, line_of};

/// The highest share of types with a shared name, in percent. It may only be lowered.
const LIMIT: f64 = 1.0;

/// A share that is lower than the limit by more than this asks for a lower limit.
const SLACK: f64 = 1.0;

/// Public types, also those of one crate only, with the places where they are declared.
#[derive(Default)]
struct Types(BTreeMap<String, Vec<String>>);

impl Types {
    fn read(&mut self, path: &Path, source: &Source) {
        let declaration = r"\bpub(?:\([^)]*\))?\s+(?:struct|enum|trait|type)\s+([A-Z]\w+)";
        let declaration = Regex::new(declaration).expect("a pattern");
        for found in declaration.captures_iter(&source.code) {
            let name = found.get(1).expect("a name");
            let line = line_of(&source.code, name.start());
            let declared = self.0.entry(name.as_str().to_owned()).or_default();
            declared.push(format!("{}:{line}", path.display()));
        }
    }

    fn shared(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        self.0.iter().filter(|(_, declared)| declared.len() > 1)
    }

    /// The share of types with a shared name, in percent.
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 types")]
    fn shared_percent(&self) -> f64 {
        let all: usize = self.0.values().map(Vec::len).sum();
        let shared: usize = self.shared().map(|(_, declared)| declared.len()).sum();
        100.0 * shared as f64 / all.max(1) as f64
    }
}

#[test]
fn few_public_types_share_a_name() {
    let mut types = Types::default();
    for folder in packages() {
        for file in Modules::read(&folder.join("src")).files() {
            types.read(&file.path, &file.source);
        }
    }
    let percent = types.shared_percent();
    let shared = types.shared().map(|(name, declared)| format!("{name}: {}", declared.join(", ")));
    let shared: Vec<String> = shared.collect();
    assert!(percent <= LIMIT, "{percent:.1} %, limit {LIMIT} %:\n{}", shared.join("\n"));
    assert!(percent >= LIMIT - SLACK, "{percent:.1} %: lower the limit of {LIMIT} %");
}

#[test]
fn types_with_one_name_are_found() {
    let mut types = Types::default();
    types.read(
        &PathBuf::from("a"),
        &Source::new("pub struct One;\n// pub struct Two\npub enum Two {}"),
    );
    types.read(&PathBuf::from("b"), &Source::new("struct Two;\n\npub(crate) type One = u8;"));
    let shared: Vec<_> = types.shared().collect();
    assert_eq!(shared, [(&"One".to_owned(), &vec!["a:1".to_owned(), "b:3".to_owned()])]);
    assert!((types.shared_percent() - 200.0 / 3.0).abs() < 1e-9);
}
