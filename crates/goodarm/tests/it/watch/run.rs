//! What the page is told of a run, and how it holds it back.

use serde_json::Value;

use super::watch_folder::WatchFolder;
use crate::tool::{message, text};

#[test]
fn a_paused_run_makes_no_calls_until_it_is_resumed() {
    let place = WatchFolder::ordinary();
    place.go();
    let watched = place.watch(&[]);
    watched.state_when(|state| state["calls"].as_u64() > Some(5));
    watched.post("pause");
    let paused = watched.state_when(|state| state["phase"] == "paused" && state["out"] == 0);
    assert!(paused["calls"].as_u64() < Some(150), "{paused}");
    let made_count = place.line_count("made");
    let mut seconds = paused["seconds"].as_f64();
    for _ in 0..3 {
        // The run has looked for something to do again.
        let state = watched.state_when(|state| state["seconds"].as_f64() > seconds);
        assert_eq!((&state["phase"], &state["out"]), (&paused["phase"], &paused["out"]));
        seconds = state["seconds"].as_f64();
    }
    assert_eq!(place.line_count("made"), made_count, "no new calls");
    watched.post("resume");
    watched.state_when(|state| state["phase"] != "paused");
    let output = watched.end();
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(text(&output).contains("9 of 12 answers certified"), "{}", text(&output));
    assert!(place.line_count("made") > made_count);
}

/// Everything that the page shows survives a stop, and agrees with the summary.
#[test]
fn a_resumed_run_shows_what_was_before() {
    let place = WatchFolder::ordinary();
    place.go_slowly();
    let watched = place.watch(&[]);
    watched.state_when(|state| state["certified"].as_u64() >= Some(2));
    watched.post("pause");
    watched.state_when(|state| state["phase"] == "paused" && state["out"] == 0);
    let before = watched.state();
    std::fs::remove_file(place.join("go")).expect("it was there");
    watched.interrupt();
    let output = watched.end();
    assert_eq!(output.status.code(), Some(130), "{}", message(&output));

    // Its verifier waits, so this is how it stands before the first new call.
    let watched = place.watch(&["--resume"]);
    let after = watched.state_when(|state| state["out"] == 1);
    for key in ["certified", "calls", "coverage", "verifiers", "failures"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    let ranks = |state: &Value| -> Vec<[Value; 3]> {
        let lines = state["certificates"].as_array().expect("certificates").iter();
        lines.map(|line| ["id", "rank", "by_then"].map(|key| line[key].clone())).collect()
    };
    assert_eq!(ranks(&after), ranks(&before));
    assert_eq!(after["money"]["spent"], before["money"]["spent"]);
    place.go();
    let output = watched.end();
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    let summary: Value = serde_json::from_str(&place.read("run/summary.json")).expect("JSON");
    assert_eq!(summary["certified"], 9);
}

#[test]
fn an_answer_has_its_fields_and_calls_once_it_is_certified() {
    let answers: Vec<Value> = ["first", "second", "hold"]
        .map(|id| serde_json::json!({"id": id, "question": "why?", "answer": "because"}))
        .into();
    let place = WatchFolder::new(&answers, "judge", 3);
    place.go();
    let watched = place.watch(&["--json"]);
    let state = watched.state_when(|state| state["certified"] == 2);
    let lines = state["certificates"].as_array().expect("certificates");
    assert_eq!(lines.len(), 2);
    for (line, rank) in lines.iter().zip(1..) {
        assert_eq!(line["rank"], rank);
        let answer = watched.get(&format!("answer/{}", line["arm"])).expect("it is certified");
        assert_eq!(answer["detail"]["f"][0], serde_json::json!(["answer", "because"]));
        assert_eq!(answer["call_count"], line["calls"]);
        let call_count = answer["calls"].as_array().expect("calls").len();
        assert_eq!(answer["call_count"], call_count);
        assert_eq!(answer["detail"]["p"][0][4], 1, "the evidence is enough");
    }
    assert!(watched.get("answer/2").is_none(), "not certified");
    assert!(watched.get("answer/99").is_none(), "there is no such answer");
    let known = watched.get("state?known=1").expect("a state");
    assert_eq!(known["certificates"].as_array().map(Vec::len), Some(1), "only what is new");
    let address = watched.address.clone();
    place.write("end", "");
    let output = watched.end();
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    let event =
        text(&output).lines().next().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(event, Some(serde_json::json!({"event": "watch", "address": address})));
}
