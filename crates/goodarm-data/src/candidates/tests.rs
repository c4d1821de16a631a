//! Files of all formats, right and wrong.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

mod csv_files;
mod json_files;
mod made_ids;
mod parquet_files;
mod tool_files;

/// Reads a file of this name and content, whose ids are in the field `id`.
fn read(name: &str, bytes: &[u8]) -> Result<Candidates, CandidatesError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    Candidates::read(&path, "id")
}

/// The ids and objects of a file.
fn check(name: &str, content: &str, expected: &[(&str, &str)]) {
    let candidates = read(name, content.as_bytes()).unwrap();
    let found: Vec<(&str, &str)> =
        arms(&candidates).map(|arm| (candidates.id(arm), candidates.json(arm))).collect();
    assert_eq!(found, expected);
    check_consistent(&candidates);
}

/// Properties of candidates from any file.
fn check_consistent(candidates: &Candidates) {
    assert!(!candidates.is_empty());
    for arm in arms(candidates) {
        let candidate = candidates.get(arm);
        assert_eq!(candidate.id, candidates.id(arm));
        assert_eq!(candidate.json, candidates.json(arm));
        assert!(!candidate.json.contains(['\n', '\r']), "one line");
        assert_eq!(candidates.arm_of(&candidate.id), Some(arm));
        let fields = candidate.fields().keys().cloned().collect();
        candidates.require_fields(&BTreeSet::from(["id".to_owned()])).unwrap();
        if candidates.len() == 1 {
            candidates.require_fields(&fields).unwrap();
        }
    }
    assert_eq!(candidates.arm_of("no such id"), None);
}

fn arms(candidates: &Candidates) -> impl Iterator<Item = ArmId> {
    (0..u32::try_from(candidates.len()).unwrap()).map(ArmId)
}

/// The faults of a file, each as `line: fault`.
fn check_faults(name: &str, content: &[u8], expected: &[&str]) {
    match read(name, content).unwrap_err() {
        CandidatesError { kind: CandidatesErrorKind::Faults(list), .. } => {
            assert_eq!(list.more, 0);
            let faults = list.faults.iter();
            let found: Vec<String> =
                faults.map(|fault| format!("{}: {}", fault.line, fault.kind)).collect();
            assert_eq!(found, expected);
        }
        other => panic!("{other}"),
    }
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd_packed(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 0).unwrap()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_name_decides_the_format() {
    let lines = b"{\"id\": 1}\n";
    for name in ["a.jsonl", "a.ndjson", "A.JSONL", "a.b.jsonl"] {
        assert_eq!(read(name, lines).unwrap().len(), 1);
        assert_eq!(read(&format!("{name}.gz"), &gzipped(lines)).unwrap().len(), 1);
    }
    assert_eq!(read("a.csv.gz", &gzipped(b"id\n1\n")).unwrap().len(), 1);
    for name in ["a.jsonl.zst", "a.ndjson.zstd", "a.JSON.zst"] {
        assert_eq!(read(name, &zstd_packed(lines)).unwrap().len(), 1);
    }
    for name in ["a.txt", "a", "jsonl", "a.parquet.gz", "a.eval.zst", "a.jsonl.zip"] {
        let error = read(name, lines).unwrap_err();
        assert!(matches!(error.kind, CandidatesErrorKind::UnknownFormat), "{error}");
    }
}

#[test]
fn the_error_names_a_missing_file() {
    let error = Candidates::read(Path::new("no/such/file.jsonl"), "id").unwrap_err();
    assert!(error.to_string().starts_with("cannot read no/such/file.jsonl: "), "{error}");
}

#[test]
fn a_broken_gzip_file_is_refused() {
    let whole = gzipped("{\"id\": 1}\n".repeat(100).as_bytes());
    for bytes in [&whole[..whole.len() / 2], b"{\"id\": 1}\n"] {
        let error = read("a.jsonl.gz", bytes).unwrap_err();
        assert!(matches!(error.kind, CandidatesErrorKind::Read(_)), "{error}");
    }
}

#[test]
fn a_broken_zstd_file_is_refused() {
    let whole = zstd_packed("{\"id\": 1}\n".repeat(100).as_bytes());
    for bytes in [&whole[..whole.len() / 2], b"{\"id\": 1}\n"] {
        let error = read("a.jsonl.zst", bytes).unwrap_err();
        assert!(matches!(error.kind, CandidatesErrorKind::Read(_)), "{error}");
    }
}

#[test]
fn the_format_of_the_job_overrides_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let read_as = |name: &str, content: &str, format| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        Candidates::read_as(&path, "id", Some(format))
    };
    assert_eq!(read_as("a.txt", "id\tb\n1\tx\n", Format::Tsv).unwrap().len(), 1);
    assert_eq!(read_as("answers", "{\"id\":1}\n{\"id\":2}", Format::Jsonl).unwrap().len(), 2);
    assert_eq!(read_as("b.csv", "[{\"id\":1},{\"id\":2}]", Format::Json).unwrap().len(), 2);
    let error = read_as("a.jsonl", "{\"id\":1}\n", Format::LmEval).unwrap_err().to_string();
    assert!(error.contains("line 1: not an entry of format \"lm-eval\": no doc_id"), "{error}");
}

#[test]
fn nested_fields_are_found_by_their_path() {
    let text = r#"{"id":1,"a.b":1,"a":{"b":2,"c":[{"d":3},{"d":4}]}}"#;
    let candidates = read("a.jsonl", text.as_bytes()).unwrap();
    let candidate = candidates.get(ArmId(0));
    for (path, expected) in [
        ("a.b", Some(1)),
        ("a.c.0.d", Some(3)),
        ("a.c.-1.d", Some(4)),
        ("a.c.-3.d", None),
        ("a.c.2.d", None),
        ("a.x", None),
        ("x.b", None),
        ("id.b", None),
    ] {
        assert_eq!(candidate.field(path), expected.map(Value::from).as_ref(), "{path}");
        let wanted = names(&[path]);
        assert_eq!(candidates.unknown_fields(&wanted).is_empty(), expected.is_some(), "{path}");
        assert_eq!(candidates.require_fields(&wanted).is_ok(), expected.is_some(), "{path}");
    }
}

#[test]
fn a_file_without_candidates_is_refused() {
    for (name, content) in [
        ("a.jsonl", ""),
        ("a.jsonl", "\n \r\n"),
        ("a.jsonl", "\u{feff}"),
        ("a.csv", ""),
        ("a.csv", "id\n"),
        ("a.json", ""),
        ("a.json", " [ ] "),
    ] {
        let error = read(name, content.as_bytes()).unwrap_err();
        assert!(matches!(error.kind, CandidatesErrorKind::Empty(_)), "{name} {content:?}: {error}");
    }
}

#[test]
fn the_first_faults_are_shown_and_all_are_counted() {
    let content = "{\"id\": \"\"}\n".repeat(50);
    let error = read("a.jsonl", content.as_bytes()).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 21);
    assert!(lines[19].ends_with("a.jsonl, line 20: the id is empty"), "{error}");
    assert_eq!(lines[20], "and 30 more");
}

#[test]
fn different_files_have_different_fingerprints() {
    let fingerprint = |content: &str| read("a.jsonl", content.as_bytes()).unwrap().fingerprint();
    let reference = fingerprint("{\"id\":1}\n{\"id\":2}\n");
    assert_eq!(fingerprint("\u{feff}\n{\"id\":1}\r\n\n  {\"id\":2}"), reference);
    for other in [
        "{\"id\":2}\n{\"id\":1}\n",
        "{\"id\":1}\n{\"id\":3}\n",
        "{\"id\":\"1\"}\n{\"id\":2}\n",
        "{\"id\":1}\n",
        "{\"id\":1, \"a\":0}\n{\"id\":2}\n",
    ] {
        assert_ne!(fingerprint(other), reference, "{other}");
    }
    // The same text, split at another byte.
    assert_ne!(
        fingerprint("{\"a\":0,\"id\":\"xy\"}\n{\"a\":0,\"id\":\"z\"}\n"),
        fingerprint("{\"a\":0,\"id\":\"x\"}\n{\"a\":0,\"id\":\"yz\"}\n")
    );
    let csv = read("a.csv", b"id\n1\n2\n").unwrap();
    assert_eq!(csv.fingerprint(), fingerprint("{\"id\":\"1\"}\n{\"id\":\"2\"}\n"));
}

#[test]
fn a_hundred_thousand_ids_are_found_again() {
    let content: String = (0..100_000).map(|id| format!("{{\"id\":{}}}\n", id * 7)).collect();
    let candidates = read("a.jsonl", content.as_bytes()).unwrap();
    for arm in arms(&candidates) {
        assert_eq!(candidates.arm_of(&(arm.0 * 7).to_string()), Some(arm));
    }
    assert_eq!(candidates.arm_of("1"), None);
}

/// A small packed file may hold an endless line.
#[test]
fn an_endless_packed_line_is_an_error_with_its_place() {
    let mut bomb = b"id,answer\na,\"".to_vec();
    bomb.resize(66 << 20, b' ');
    let rows = gzipped(&bomb);
    let lines = zstd::encode_all(&bomb[..], 1).unwrap();
    drop(bomb);
    for (name, bytes) in [("a.csv.gz", rows), ("a.jsonl.zst", lines)] {
        assert!(bytes.len() < 10 << 20);
        let error = read(name, &bytes).unwrap_err().to_string();
        assert!(error.contains(name) && error.ends_with("line 2: longer than 64 MiB"), "{error}");
    }
}

/// A file in which all rows repeat one text unpacks to far more than its length.
#[test]
fn the_text_of_all_candidates_has_a_limit() {
    let path = Path::new("a.jsonl");
    let text = "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n";
    let read = |bytes_max| {
        let mut builder = Builder::new(path, EntryUnit::Line, "id");
        builder.bytes_max = bytes_max;
        json_text::read_lines(text.as_bytes(), Intake::new(builder, Some(Format::Jsonl)))
    };
    assert_eq!(read(27).unwrap().len(), 3);
    let error = CandidatesError::new(path, read(26).unwrap_err()).to_string();
    assert!(error.starts_with("a.jsonl: line 3: with it the candidates take more"), "{error}");
}

/// A file of a few hundred bytes may hold values that take all memory.
#[test]
fn values_that_would_take_far_more_memory_than_the_file_are_not_built() {
    let objects = "{},".repeat(1_500_000);
    let line = format!(r#"{{"id":"a","answer":[{objects}0]}}"#);
    let inspect = format!(r#"{{"eval":{{}},"status":"","version":2,"samples":[{objects}0]}}"#);
    let lines = format!("{{\"id\":\"b\"}}\n{line}\n");
    for (name, bytes, place) in [
        ("a.jsonl", lines.clone().into_bytes(), "line 2"),
        ("a.jsonl.gz", gzipped(lines.as_bytes()), "line 2"),
        ("a.json.zst", zstd_packed(inspect.as_bytes()), "entry 1"),
    ] {
        let error = read(name, &bytes).unwrap_err().to_string();
        assert!(error.contains(&format!("{name}, {place}: about 3,0")), "{error}");
        assert!(error.contains("MiB of memory; at most 1,024 MiB are allowed"), "{error}");
    }
    let commas = format!("id{}\n", ",".repeat(1 << 20));
    let error = read("a.csv", commas.as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with("line 1: more than 1048576 columns"), "{error}");
}
