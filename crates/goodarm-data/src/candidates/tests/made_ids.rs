//! Files without ids.

use super::*;

#[test]
fn ids_are_made_from_place_and_content_with_one_note() {
    let text = "{\"question\":\"1+1?\"}\n\n{\"question\":\"2+2?\"}\n{\"question\":\"2+2?\"}\n{}\n";
    let candidates = read("a.jsonl", text.as_bytes()).unwrap();
    assert!(candidates.are_ids_made());
    let ids: Vec<&str> = arms(&candidates).map(|arm| candidates.id(arm)).collect();
    let places: Vec<&str> = ids.iter().map(|id| id.split_once('-').unwrap().0).collect();
    assert_eq!(places, ["1", "3", "4", "5"]);
    assert_eq!(
        candidates.json(ArmId(0)),
        format!("{{\"id\":\"{}\",\"question\":\"1+1?\"}}", ids[0])
    );
    assert_eq!(candidates.json(ArmId(3)), format!("{{\"id\":\"{}\"}}", ids[3]));
    let [note] = candidates.notes() else { panic!("{:?}", candidates.notes()) };
    assert!(note.contains("no field \"id\": ids such as"), "{note}");
    check_consistent(&candidates);
    // Other content gets another id, the same content the same id.
    let changed = read("a.jsonl", text.replace("1+1", "1+2").as_bytes()).unwrap();
    assert_ne!(changed.id(ArmId(0)), ids[0]);
    assert_eq!(changed.id(ArmId(1)), ids[1]);
    // The candidates in a run's folder keep their ids.
    let kept: Vec<String> = arms(&candidates).map(|arm| candidates.json(arm).to_owned()).collect();
    let kept = Candidates::from_lines(kept.iter().map(String::as_str), "id").unwrap();
    assert_eq!(kept.fingerprint(), candidates.fingerprint());
    assert!(kept.notes().is_empty() && !kept.are_ids_made());
    // More candidates at the end do not change the ids of the others.
    let more = read("a.jsonl", format!("{text}{{\"x\":1}}\n").as_bytes()).unwrap();
    assert!(more.begin_with(candidates.len(), &candidates.fingerprint()));
}

#[test]
fn tables_and_arrays_get_ids() {
    for (name, text, first) in [
        ("a.csv", "question,answer\nx,y\n", "2-"),
        ("a.tsv", "question\tanswer\nx\ty\n", "2-"),
        ("a.json", "[{\"question\":\"x\"}]", "1-"),
    ] {
        let candidates = read(name, text.as_bytes()).unwrap();
        assert!(candidates.id(ArmId(0)).starts_with(first), "{}", candidates.id(ArmId(0)));
        assert_eq!(candidates.get(ArmId(0)).fields()["id"], candidates.id(ArmId(0)));
    }
}

#[test]
fn ids_are_not_made_if_a_field_may_hold_them() {
    // A field that the job names must exist.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, "{\"question\":\"x\"}\n").unwrap();
    let error = Candidates::read(&path, "uuid").unwrap_err().to_string();
    assert!(error.ends_with("line 1: no field \"uuid\", which should hold the id"), "{error}");
    // A field with a similar name is suggested, and one that only some objects have is a fault.
    check_faults(
        "a.jsonl",
        b"{\"Id\":1}\n",
        &["1: no field \"id\", which should hold the id; did you mean \"Id\"?"],
    );
    check_faults(
        "a.jsonl",
        b"{\"a\":1}\n{\"id\":1}\n",
        &[
            "2: a field \"id\", which the first candidate does not have: give every candidate one, or remove it",
        ],
    );
    check_faults(
        "a.jsonl",
        b"{\"id\":1}\n{\"a\":1}\n",
        &["2: no field \"id\", which should hold the id"],
    );
}

#[test]
fn ids_may_be_nested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, "{\"meta\":{\"id\":\"x\"}}\n{\"meta.id\":7,\"meta\":{\"id\":8}}\n").unwrap();
    let candidates = Candidates::read(&path, "meta.id").unwrap();
    assert_eq!([candidates.id(ArmId(0)), candidates.id(ArmId(1))], ["x", "7"]);
    assert_eq!(candidates.json(ArmId(0)), "{\"meta\":{\"id\":\"x\"}}");
    fs::write(&path, "{\"meta\":{\"id\":1.5}}\n{\"meta\":{}}\n{\"meta\":3}\n").unwrap();
    let error = Candidates::read(&path, "meta.id").unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[0].contains("line 1: the id in field \"meta.id\" is neither"), "{error}");
    assert!(lines[1].contains("line 2: no field \"meta.id\""), "{error}");
    assert!(lines[2].contains("line 3: no field \"meta.id\""), "{error}");
}
