//! Files of other tools.

use std::io::Cursor;

use proptest::prelude::*;
use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;

/// Reads a file; returns its candidates and its only note.
fn read_tool(name: &str, bytes: &[u8]) -> (Vec<Value>, String) {
    let candidates = read(name, bytes).unwrap();
    check_consistent(&candidates);
    let found = arms(&candidates).map(|arm| candidates.get(arm).fields().clone().into()).collect();
    let [note] = candidates.notes() else { panic!("{:?}", candidates.notes()) };
    let note = note.split_once(": ").unwrap().1.to_owned();
    (found, note)
}

fn lines(values: &[Value]) -> Vec<u8> {
    values.iter().map(|value| format!("{value}\n")).collect::<String>().into_bytes()
}

fn sample(id: &Value, epoch: u64, answer: &str, error: &Value) -> Value {
    json!({
        "id": id, "epoch": epoch, "input": [{"role": "user", "content": "2+2?"}], "target": "4",
        "messages": [], "metadata": {"level": 1}, "error": error,
        "output": {
            "model": "m", "completion": answer,
            "choices": [{"message": {"role": "assistant", "content": answer}, "stop_reason": "stop"}],
        },
        "scores": {"match": {"value": "C", "answer": "4", "explanation": null}},
    })
}

fn archive(method: CompressionMethod, files: &[(&str, Value)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, value) in files {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(value.to_string().as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn expected_sample(id: &str, epoch: u64, answer: &str) -> Value {
    json!({
        "id": id, "question": "2+2?", "answer": answer, "target": "4", "model": "m", "epoch": epoch,
        "scores": {"match": "C"}, "metadata": {"level": 1},
    })
}

#[test]
fn inspect_archives_of_every_compression_are_read() {
    let heading =
        json!({"version": 2, "status": "success", "eval": {"model": "openai/m", "task": "t"}});
    let none = Value::Null;
    let failed = json!({"message": "oh", "traceback": ""});
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated, CompressionMethod::Zstd]
    {
        let bytes = archive(
            method,
            &[
                ("_journal/start.json", json!({"version": 2, "eval": {}})),
                ("samples/a_epoch_1.json", sample(&json!("a"), 1, "4", &none)),
                ("samples/a_epoch_2.json", sample(&json!("a"), 2, "5", &none)),
                ("samples/7_epoch_1.json", sample(&json!(7), 1, "four", &none)),
                ("samples/8_epoch_1.json", sample(&json!(8), 1, "", &failed)),
                ("summaries.json", json!([])),
                ("header.json", heading.clone()),
            ],
        );
        let (found, note) = read_tool("log.eval", &bytes);
        let expected = [("a", 1, "4"), ("a#2", 2, "5"), ("7", 1, "four")]
            .map(|(id, n, t)| expected_sample(id, n, t));
        assert_eq!(found, expected);
        assert_eq!(
            note,
            "read as a file of inspect_ai (format = \"inspect\"): 3 answers; left out: 1 that failed"
        );
    }
}

#[test]
fn inspect_documents_are_recognised() {
    let mut second = sample(&json!("b"), 1, "4", &Value::Null);
    second["input"] = json!("3+1?");
    second["output"] = json!({"choices": [
        {"message": {"role": "assistant", "content": [{"type": "text", "text": "4"}]}},
        {"message": {"role": "assistant", "content": "four"}},
    ]});
    let log = json!({
        "version": 2, "status": "success", "eval": {"model": "openai/m"},
        "samples": [sample(&json!("a"), 1, "4", &Value::Null), second],
    });
    let (found, note) =
        read_tool("log.json", serde_json::to_string_pretty(&log).unwrap().as_bytes());
    let ids: Vec<&Value> = found.iter().map(|candidate| &candidate["id"]).collect();
    assert_eq!(ids, ["a", "b", "b.2"]);
    assert_eq!(found[2]["question"], "3+1?");
    assert_eq!(found[2]["answer"], "four");
    assert_eq!(found[2]["model"], "openai/m");
    assert!(note.ends_with("3 answers"), "{note}");
}

#[test]
fn broken_archives_and_bombs_are_refused() {
    let error = read("log.eval", b"{\"id\": 1}").unwrap_err().to_string();
    assert!(error.contains("not an .eval file of inspect_ai"), "{error}");
    let error = read("log.eval", &archive(CompressionMethod::Stored, &[])).unwrap_err().to_string();
    assert!(error.contains("no candidates"), "{error}");
    let bytes = archive(CompressionMethod::Stored, &[("samples/a.json", json!({"id": 1}))]);
    check_faults(
        "log.eval",
        &bytes,
        &[
            "1: not an entry of format \"inspect\": no input; format = \"jsonl\" or \"json\" takes the \
           objects as they are",
        ],
    );
    // A bomb: few bytes that unpack to very many.
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Zstd);
    writer.start_file("samples/a.json", options).unwrap();
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..257 {
        writer.write_all(&zeros).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    assert!(bytes.len() < 1 << 20, "{}", bytes.len());
    let error = read("log.eval", &bytes).unwrap_err().to_string();
    assert!(error.ends_with("it unpacks to more than 128 MiB"), "{error}");
    // Two entries of the directory with the same bytes.
    let mut bytes = archive(
        CompressionMethod::Stored,
        &[("samples/a.json", json!({"id": 1})), ("samples/b.json", json!({"id": 2}))],
    );
    let is_directory = |at: &usize| bytes[*at..].starts_with(b"PK\x01\x02");
    let second = (0..bytes.len()).rfind(is_directory).unwrap();
    bytes[second + 42..second + 46].fill(0);
    let error = read("log.eval", &bytes).unwrap_err().to_string();
    assert!(error.contains("two of its entries overlap"), "{error}");
}

#[test]
fn lm_eval_samples_are_read_once_for_all_filters() {
    let line = |doc: u64, filter: &str, filtered: &Value| {
        json!({
            "doc_id": doc, "doc": {"question": "2+2?", "answer": "#### 4"}, "target": "4",
            "arguments": {"gen_args_0": {"arg_0": "Q: 2+2?\nA:", "arg_1": {"until": []}}},
            "resps": [["It is 4", "5"]], "filtered_resps": filtered, "filter": filter,
            "metrics": ["exact_match"], "doc_hash": "x", "exact_match": 1.0,
        })
    };
    let mut choices = line(2, "strict", &json!([["-1.0", "False"]]));
    choices["resps"] = json!([[["-1.0", "False"]], [["-2.0", "True"]]]);
    let values =
        [line(1, "strict", &json!(["4", "5"])), line(1, "flexible", &json!(["4"])), choices];
    let (found, note) = read_tool("samples_gsm8k_2026.jsonl", &lines(&values));
    let expected = |id: &str, answer: &str, filtered: &str| {
        json!({
            "id": id, "question": "2+2?", "answer": answer, "target": "4", "filtered": filtered,
            "doc": {"question": "2+2?", "answer": "#### 4"},
        })
    };
    assert_eq!(found, [expected("1", "It is 4", "4"), expected("1#2", "5", "5")]);
    assert_eq!(
        note,
        "read as a file of lm-evaluation-harness (format = \"lm-eval\"): 2 answers; left out: \
         1 of other filters than \"strict\", 1 whose answer is not a text"
    );
    let mut old = line(3, "none", &json!(["4"]));
    old["doc"] = json!({"n": 1});
    old["arguments"] = json!([["Q: 2+2?", {}]]);
    old["resps"] = json!([["4"]]);
    let (found, _) = read_tool("samples.jsonl", &lines(&[old]));
    assert_eq!(found[0]["question"], "Q: 2+2?");
    assert_eq!(found[0]["scores"], json!({"exact_match": 1.0}));
}

#[test]
fn promptfoo_results_are_read_from_documents_and_lines() {
    let result = |test: u64, output: &Value, cached: bool, reason: u64| {
        json!({
            "testIdx": test, "promptIdx": 0, "vars": {"question": "2+2?"}, "success": reason == 0,
            "provider": {"id": "openai:gpt", "label": ""}, "prompt": {"raw": "Say 2+2?", "label": "p"},
            "response": {"output": output, "cached": cached}, "score": 1, "failureReason": reason,
            "error": if reason > 0 { json!("Expected 4") } else { Value::Null },
            "gradingResult": {}, "namedScores": {"x": 1}, "testCase": {"metadata": {}},
        })
    };
    let results = [
        result(0, &json!("4"), false, 0),
        result(0, &json!("4"), true, 0),
        result(0, &json!("5"), false, 1),
        result(1, &json!({"a": 1}), true, 0),
        result(2, &Value::Null, false, 2),
    ];
    let document =
        json!({"evalId": "e", "results": {"version": 3, "results": results}, "config": {}});
    // Recognised by its structure alone.
    let nameless = json!({"results": {"results": results}});
    for (name, bytes) in [
        ("results.json", document.to_string().into_bytes()),
        ("nameless.json", nameless.to_string().into_bytes()),
        ("flat.json", json!({"results": results}).to_string().into_bytes()),
        ("results.jsonl", lines(&results)),
    ] {
        let (found, note) = read_tool(name, &bytes);
        let ids: Vec<&Value> = found.iter().map(|candidate| &candidate["id"]).collect();
        assert_eq!(ids, ["0-0-openai:gpt", "0-0-openai:gpt#2", "1-0-openai:gpt"]);
        assert_eq!(found[1]["answer"], "5");
        assert_eq!(found[1]["passed"], false);
        assert_eq!(found[2]["answer"], "{\"a\":1}");
        assert_eq!(found[0]["question"], "2+2?");
        assert!(
            note.ends_with("3 answers; left out: 1 repeated from a cache, 1 that failed"),
            "{note}"
        );
    }
}

#[test]
fn batches_of_all_three_kinds_are_read() {
    let line = |id: &str, body: &Value| json!({"id": "r", "custom_id": id, "response": {"status_code": 200, "body": body}, "error": null});
    let chat = json!({"model": "m", "choices": [
        {"message": {"content": "4"}, "finish_reason": "stop"},
        {"message": {"content": "5"}, "finish_reason": "length"},
    ]});
    let responses = json!({"model": "m", "status": "completed", "output": [
        {"type": "reasoning"},
        {"type": "message", "content": [{"type": "output_text", "text": "six"}]},
    ]});
    let values = [
        line("a", &chat),
        line("b", &json!({"choices": [{"text": "old"}]})),
        line("c", &responses),
        json!({"custom_id": "d", "response": null, "error": {"code": "expired"}}),
        json!({"custom_id": "e", "response": {"status_code": 400, "body": {}}, "error": null}),
    ];
    let (found, note) = read_tool("out.jsonl", &lines(&values));
    let short: Vec<(&str, &str)> = found
        .iter()
        .map(|found| (found["id"].as_str().unwrap(), found["answer"].as_str().unwrap()))
        .collect();
    assert_eq!(short, [("a", "4"), ("a#2", "5"), ("b", "old"), ("c", "six")]);
    assert_eq!(found[1]["finish_reason"], "length");
    assert!(note.ends_with("4 answers; left out: 2 that failed"), "{note}");
}

#[test]
fn verifiers_traces_and_older_results_are_read() {
    let node = |role: &str, text: &str| json!({"message": {"role": role, "content": text}});
    let trace = |id: &str, errors: &Value, is_completed: bool| {
        json!({
            "id": id, "task": {"key": "k", "data": {"prompt": "2+2?", "answer": "4"}},
            "nodes": [node("user", "Please: 2+2?"), node("assistant", "hm"), node("assistant", "4")],
            "rewards": {"right": {"score": 1.0, "weight": 1.0}}, "errors": errors,
            "is_completed": is_completed, "agent": {"config": {"model": "m"}},
        })
    };
    let values = [
        trace("x", &json!([]), true),
        trace("y", &json!([{"type": "E"}]), true),
        trace("z", &json!([]), false),
    ];
    let (found, note) = read_tool("traces.jsonl", &lines(&values));
    let [only] = &found[..] else { panic!("{found:?}") };
    assert_eq!([&only["id"], &only["question"], &only["answer"]], ["x", "2+2?", "4"]);
    assert_eq!(only["scores"], json!({"right": 1.0}));
    assert!(note.ends_with("1 answer; left out: 1 that are not finished, 1 that failed"), "{note}");
    let result = json!({
        "example_id": 3, "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}],
        "completion": [{"role": "assistant", "content": "4"}], "answer": "4", "reward": 1.0,
        "task": "t", "info": {},
    });
    let (found, _) = read_tool("results.jsonl", &lines(&[result.clone(), result]));
    assert_eq!([&found[0]["id"], &found[1]["id"]], ["3", "3#2"]);
    assert_eq!(found[0]["question"], "system: Be brief.\n\nuser: 2+2?");
    assert_eq!(found[0]["target"], "4");
}

#[test]
fn the_error_of_a_file_of_failures_counts_them() {
    let failed = json!({"custom_id": "d", "response": null, "error": {"code": "expired"}});
    let error = read("out.jsonl", &lines(&[failed])).unwrap_err().to_string();
    assert!(error.contains("no candidates\n"), "{error}");
    assert!(error.ends_with("0 answers; left out: 1 that failed"), "{error}");
}

#[test]
fn lines_of_tools_can_be_read_as_plain_objects() {
    let line = json!({"id": "r", "custom_id": "d", "response": {}, "error": null});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    fs::write(&path, lines(&[line])).unwrap();
    let candidates = Candidates::read_as(&path, "custom_id", Some(Format::Jsonl)).unwrap();
    assert_eq!(candidates.id(ArmId(0)), "d");
    assert!(candidates.notes().is_empty());
}

proptest! {
    /// All accepted files can be used.
    #[test]
    fn changed_logs_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        is_ascii in any::<bool>(),
    ) {
        let none = Value::Null;
        let samples = [sample(&json!("a"), 1, "4", &none), sample(&json!(7), 2, "5", &none)];
        let log = json!({"version": 2, "status": "success", "eval": {}, "samples": samples});
        let files = [("samples/a.json", samples[0].clone()), ("samples/b.json", samples[1].clone())];
        let archives = [CompressionMethod::Stored, CompressionMethod::Zstd];
        let archives = archives.map(|method| ("log.eval", archive(method, &files)));
        let texts = [("log.json", log.to_string().into_bytes())];
        for (name, mut bytes) in texts.into_iter().chain(archives) {
            for (index, byte) in &changes {
                *index.get_mut(&mut bytes) = if is_ascii { byte & 0x7F } else { *byte };
            }
            if let Ok(candidates) = read(name, &bytes) {
                check_consistent(&candidates);
            }
        }
    }
}
