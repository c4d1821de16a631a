use std::fs;

use serde::Deserialize;

use super::*;

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Word {
    word: String,
}

fn words(texts: &[&str]) -> Vec<Word> {
    texts.iter().map(|text| Word { word: (*text).to_owned() }).collect()
}

fn written(texts: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("words.jsonl");
    let (mut writer, none) = SealedWriter::open::<Word>(&path).unwrap();
    assert_eq!(none, []);
    words(texts).iter().for_each(|word| writer.append(word).unwrap());
    (folder, path)
}

#[test]
fn what_was_written_is_read_and_added_to() {
    let (_folder, path) = written(&["one", "two,\"crc\":\"", "three"]);
    let mut reader = SealedReader::<Word>::new(&path);
    assert_eq!(reader.read_on().unwrap(), words(&["one", "two,\"crc\":\"", "three"]));
    let (mut writer, lines) = SealedWriter::open::<Word>(&path).unwrap();
    assert_eq!(lines.len(), 3);
    assert!(matches!(SealedWriter::open::<Word>(&path), Err(SealedError::Busy(_))));
    writer.append(&words(&["four"])[0]).unwrap();
    assert_eq!(reader.read_on().unwrap(), words(&["four"]));
    assert_eq!(reader.read_on().unwrap(), []);
}

#[test]
fn a_file_that_is_cut_off_anywhere_has_its_whole_lines_and_goes_on() {
    let (_folder, path) = written(&["one", "two", "three"]);
    let bytes = fs::read(&path).unwrap();
    for len in 0..bytes.len() {
        for zeros in [0, 7] {
            let whole = bytes[..len].iter().filter(|byte| **byte == b'\n').count();
            let tail = [&bytes[..len], &vec![0; zeros]].concat();
            fs::write(&path, tail).unwrap();
            let (mut writer, lines) = SealedWriter::open::<Word>(&path).unwrap();
            assert_eq!(lines, words(&["one", "two", "three"][..whole]), "{len} bytes");
            writer.append(&words(&["more"])[0]).unwrap();
            assert_eq!(SealedReader::<Word>::new(&path).read_on().unwrap().len(), whole + 1);
        }
    }
}

#[test]
fn no_change_goes_unseen() {
    let (_folder, path) = written(&["one", "two", "three"]);
    let bytes = fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let changed = String::from_utf8_lossy(&bytes).replace("two", "ten").into_bytes();
    let swapped = [lines[1], lines[0], lines[2]].concat();
    let left_out = [lines[0], lines[2]].concat();
    let doubled = [lines[0], lines[0], lines[1]].concat();
    let in_the_middle = [lines[0], &lines[1][..4], b"\n", lines[2]].concat();
    for (bytes, at) in [(changed, 2), (swapped, 1), (left_out, 2), (doubled, 2), (in_the_middle, 2)]
    {
        fs::write(&path, bytes).unwrap();
        let read = SealedReader::<Word>::new(&path).read_on();
        assert!(matches!(read, Err(SealedError::Damaged { line, .. }) if line == at), "{read:?}");
        assert!(SealedWriter::open::<Word>(&path).is_err());
    }
}

#[test]
fn nothing_is_written_behind_a_write_that_failed() {
    let (_folder, path) = written(&["one"]);
    let (mut writer, _) = SealedWriter::open::<Word>(&path).unwrap();
    // Somebody else has written to it: no line is set behind that.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
    assert!(writer.append(&words(&["two"])[0]).is_err());
    fs::write(&path, &bytes).unwrap();
    assert!(writer.append(&words(&["three"])[0]).is_err(), "it is poisoned");
    drop(writer);
    let (mut writer, lines) = SealedWriter::open::<Word>(&path).unwrap();
    assert_eq!(lines, words(&["one"]));
    writer.append(&words(&["two"])[0]).unwrap();
}
