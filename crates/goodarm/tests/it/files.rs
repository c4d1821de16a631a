//! Files as they come: from `init` to `export`, as a new user types it.

use std::fs;

use goodarm_testing::TestFolder;
use serde_json::{Value, json};

use crate::tool::{goodarm, message, ok};

fn place(name: &str, content: &str) -> TestFolder {
    let place = TestFolder::new(&[]);
    place.write(name, content);
    place
}

/// Writes a job for a file with `init`; what is said, and the job.
fn init(place: &TestFolder, name: &str, more: &[&str]) -> (String, String) {
    let (file, job) = (place.argument(name), place.argument("job.toml"));
    let said = ok(&[&["init", &file, "--out", &job], more].concat());
    (said, place.read("job.toml"))
}

/// Runs, resumes, audits and reports on what `init` has written.
fn run_all(place: &TestFolder) {
    let (job, run) = (place.argument("job.toml"), place.argument("run"));
    ok(&["run", &job, "--dry-run"]);
    ok(&["run", &job, "--quiet"]);
    ok(&["run", &job, "--resume", "--quiet"]);
    ok(&["audit", &run]);
    let report = ok(&["report", &run, "--text"]);
    assert!(!report.contains("texts are not shown"), "{report}");
}

const WITHOUT_IDS: &str = "{\"question\": \"1+1?\", \"answer\": \"1+1 = 2\\n#### 2\"}\n\
    {\"question\": \"2+2?\", \"answer\": \"so\\n#### 4\"}\n{\"question\": \"3+3?\", \"answer\": \"?\"}\n\
    {\"question\": \"4+4?\", \"answer\": \"#### 8\"}\n";

/// Questions without answers, and questions whose answers are references: the job makes answers.
#[test]
fn a_file_of_questions_becomes_a_job_that_makes_answers() {
    let place = place("q.jsonl", "{\"id\": \"a\", \"question\": \"1+1?\"}\n");
    let (said, job) = init(&place, "q.jsonl", &[]);
    assert!(said.contains("for 1 question") && said.contains("these are questions"), "{said}");
    assert!(job.contains("questions = ") && job.contains("[generator]"), "{job}");
    let shown = ok(&["run", &place.argument("job.toml"), "--dry-run"]);
    assert!(shown.contains("1 question"), "{shown}");
    std::fs::remove_file(place.join("job.toml")).expect("it was written");
    place.write("q.jsonl", WITHOUT_IDS);
    let (said, job) = init(&place, "q.jsonl", &["--questions"]);
    assert!(said.contains("for 4 questions") && !said.contains("these are questions"), "{said}");
    assert!(job.contains("answer_field = \"made_answer\""), "{job}");
}

#[test]
fn a_file_without_ids_runs_and_the_ids_are_said_once() {
    let place = place("gsm8k.jsonl", WITHOUT_IDS);
    let (said, job) = init(&place, "gsm8k.jsonl", &[]);
    assert_eq!(said.matches("ids such as").count(), 1, "{said}");
    assert!(job.contains("extract = \"gsm8k\"") && !job.contains("\nid_field"), "{job}");
    let job = place.argument("job.toml");
    let shown = ok(&["run", &job, "--dry-run"]);
    assert_eq!(shown.matches("ids such as").count(), 1, "{shown}");
    let output = goodarm(&["run", &job]);
    assert_eq!(message(&output).matches("ids such as").count(), 1, "{}", message(&output));
    let resumed = goodarm(&["run", &job, "--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", message(&resumed));
    assert!(!message(&resumed).contains("ids such as"), "{}", message(&resumed));
    ok(&["audit", &place.argument("run")]);
    let certified = place.read("run/certified.jsonl");
    let ids = certified.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["id"].as_str().and_then(|id| id.split_once('-')).expect("a made id").0.to_owned()
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    assert_eq!(ids, ["1", "2", "4"]);
    // A line before the others moves them: no run goes on with that.
    place.write("gsm8k.jsonl", &format!("{{\"question\":\"0?\",\"answer\":\"0\"}}\n{WITHOUT_IDS}"));
    let moved = goodarm(&["run", &job, "--resume"]);
    assert_eq!(moved.status.code(), Some(2), "{}", message(&moved));
}

#[test]
fn names_are_guessed_whatever_the_case_of_their_letters() {
    let place = place("a.csv", "ID,Question,Response\na,1?,one 1\nb,2?,two 2\n");
    let (_, job) = init(&place, "a.csv", &[]);
    for line in ["id_field = \"ID\"", "field = \"Response\"", "{{ Question }}", "{{ Response }}"] {
        assert!(job.contains(line), "{line}: {job}");
    }
    run_all(&place);
    let place = self::place("a.jsonl", "{\"idx\": 4, \"answer\": \"1\"}\n");
    let (_, job) = init(&place, "a.jsonl", &[]);
    assert!(job.contains("id_field = \"idx\""), "{job}");
}

#[test]
fn a_field_can_be_named_and_may_be_nested() {
    let text = "[{\"meta\": {\"id\": 7}, \"messages\": [{\"role\": \"user\", \"content\": \"2+2?\"}, \
        {\"role\": \"assistant\", \"content\": \"4\"}]}]";
    let place = place("a.json", text);
    let (_, job) = init(&place, "a.json", &["--id-field", "meta.id"]);
    for line in
        ["id_field = \"meta.id\"", "field = \"messages.-1.content\"", "{{ messages[-1].content }}"]
    {
        assert!(job.contains(line), "{line}: {job}");
    }
    run_all(&place);
    let certified: Value =
        serde_json::from_str(&place.read("run/certified.jsonl")).expect("one line");
    assert_eq!(certified["meta"]["id"], 7);
    let calls = place.read("run/calls.jsonl");
    assert!(calls.contains("\"id\":\"7\""), "{calls}");
    let missing = goodarm(&["init", &place.argument("a.json"), "--id-field", "meta.idd"]);
    assert!(message(&missing).contains("no field \"meta.idd\""), "{}", message(&missing));
}

#[test]
fn templates_see_nested_fields() {
    let text = "{\"id\": 1, \"messages\": [{\"content\": \"2+2?\"}, {\"content\": \"4\"}]}\n";
    let place = place("a.jsonl", text);
    let job = "candidates = \"a.jsonl\"\nbudget = 9\ndelta = 0.05\n[[verifiers]]\nname = \"judge\"\n\
        kind = \"llm\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\nmax_tokens = 5\nthreshold = 0.5\n\
        price = 1\nprompt = \"Q {{ messages[0].content }} A {{ messages[-1].content }}\"\n";
    place.write("job.toml", job);
    let shown = ok(&["run", &place.argument("job.toml"), "--dry-run"]);
    assert!(shown.contains("Q 2+2? A 4"), "{shown}");
}

#[test]
fn logs_of_other_tools_run_as_they_are() {
    let samples: Vec<Value> = (0..3)
        .map(|index| {
            json!({"id": index, "epoch": 1, "input": format!("{index}+1?"), "target": "x",
                "output": {"completion": format!("It is {}", index + 1), "model": "m"}})
        })
        .collect();
    let log =
        json!({"version": 2, "status": "success", "eval": {"model": "m"}, "samples": samples});
    let place = place("log.json", &log.to_string());
    let (said, _) = init(&place, "log.json", &[]);
    assert!(said.contains("read as a file of inspect_ai"), "{said}");
    run_all(&place);
    // The run keeps what it has read, not what it was read from.
    let kept = place.read("run/candidates.jsonl");
    assert!(
        kept.starts_with("{\"id\":\"0\",\"question\":\"0+1?\",\"answer\":\"It is 1\""),
        "{kept}"
    );
    let results: Vec<Value> = (0..2)
        .map(|index| {
            json!({"testIdx": index, "promptIdx": 0, "vars": {"question": "1+1?"},
                "provider": {"id": "p"}, "response": {"output": "2"}, "success": true})
        })
        .collect();
    let eval = json!({"evalId": "e", "results": {"results": results}});
    let place = self::place("results.json", &eval.to_string());
    let (said, _) = init(&place, "results.json", &["--format", "promptfoo"]);
    assert!(said.contains("2 answers"), "{said}");
    assert!(place.read("job.toml").contains("\nformat = \"promptfoo\"\n"));
    run_all(&place);
}

#[test]
fn a_format_that_there_is_not_gets_the_nearest_spelling() {
    let place = place("a.jsonl", "{\"id\":1,\"answer\":\"1\"}\n");
    let file = place.argument("a.jsonl");
    let output = goodarm(&["init", &file, "--format", "lmeval"]);
    assert!(message(&output).contains("did you mean \"lm-eval\"?"), "{}", message(&output));
    init(&place, "a.jsonl", &[]);
    let job = place.read("job.toml").replace("delta =", "format = \"open-ai-batch\"\ndelta =");
    place.write("job.toml", &job);
    let output = goodarm(&["run", &place.argument("job.toml")]);
    let told = message(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("line 7: format: ") && told.contains("did you mean `openai-batch`?"),
        "{told}"
    );
    // A run that began with one format does not go on with another.
    let job = place.argument("job.toml");
    place.write("job.toml", &place.read("job.toml").replace("open-ai-batch", "jsonl"));
    ok(&["run", &job, "--quiet"]);
    place.write("job.toml", &place.read("job.toml").replace("\"jsonl\"\ndelta", "\"json\"\ndelta"));
    let told = message(&goodarm(&["run", &job, "--resume"]));
    assert!(told.contains("format: \"jsonl\" → \"json\""), "{told}");
}

#[test]
fn nothing_in_an_exported_csv_file_is_a_formula() {
    let answers = r#"{"id": "=1+1", "answer": "=cmd|' /C calc'!A0", "@field": "+2+3"}
{"id": "-x", "answer": "-7", "@field": "\t=3"}
"#;
    let place = place("a.jsonl", answers);
    init(&place, "a.jsonl", &[]);
    place.write("job.toml", &place.read("job.toml").replace("\"well formed\"", "\"=formed\""));
    run_all(&place);
    ok(&["export", &place.argument("run"), "--to", "csv", "--all"]);
    let csv = place.read("run/answers.csv");
    let cells: Vec<&str> = csv.lines().flat_map(|line| line.split(',')).collect();
    assert!(
        ["'@field", "'=1+1", "'-x", "\"'=cmd|' /C calc'!A0\"", "-7"]
            .iter()
            .all(|it| cells.contains(it)),
        "{csv}"
    );
    let is_formula =
        |cell: &&str| cell.starts_with(['=', '+', '@', '\t']) || cell.starts_with("-x");
    assert!(!cells.iter().any(|cell| is_formula(&cell.trim_matches('"'))), "{csv}");
}

#[test]
fn results_are_exported_for_other_tools() {
    let place = place("gsm8k.jsonl", WITHOUT_IDS);
    init(&place, "gsm8k.jsonl", &[]);
    run_all(&place);
    let run = place.argument("run");
    assert!(ok(&["export", &run, "--to", "csv"]).contains("certified.csv with 3 answers"));
    let csv = place.read("run/certified.csv");
    assert!(
        csv.starts_with(
            "answer,id,question,goodarm.status,goodarm.rank,goodarm.well formed.threshold,"
        ),
        "{csv}"
    );
    let all = ok(&["export", &run, "--to", "csv", "--all"]);
    assert!(all.contains("answers.csv with 4 answers"), "{all}");
    assert!(place.read("run/answers.csv").contains(",rejected,"));
    // What is exported can be read again.
    let again = place.argument("again.parquet");
    ok(&["export", &run, "--to", "parquet", "--out", &again]);
    let (said, _) = {
        fs::remove_file(place.join("job.toml")).expect("a job");
        init(&place, "again.parquet", &[])
    };
    assert!(said.contains("for 3 answers"), "{said}");
    let dataset = place.argument("dataset");
    ok(&["export", &run, "--to", "hf", "--out", &dataset]);
    assert!(place.join("dataset/data/train-00000-of-00001.parquet").exists());
    assert!(place.read("dataset/README.md").starts_with("---\nconfigs:\n"));
    ok(&["export", &run, "--to", "inspect"]);
    let lines = place.read("run/certified.inspect.jsonl");
    let line = lines.lines().find(|line| line.contains("1+1?")).expect("the first answer");
    let sample: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!([&sample["input"], &sample["target"]], ["1+1?", "1+1 = 2\n#### 2"]);
    assert_eq!(sample["metadata"]["goodarm"]["status"], "certified");
    let told = message(&goodarm(&["export", &run, "--to", "excel"]));
    assert!(told.contains("inspect, hf, csv, parquet"), "{told}");
}

/// The Parquet library panics at an offset below 0.
#[test]
fn a_damaged_parquet_file_is_an_error_and_no_panic_is_printed() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/candidates-parquet");
    let output = goodarm(&["init", &format!("{corpus}/negative-offset.parquet")]);
    let told = message(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("broken or unsupported Parquet: the reader gave up on it"), "{told}");
    assert!(!told.contains("panicked"), "{told}");
}

#[test]
fn a_job_can_be_planned_with_a_recording() {
    let answers: String = (0..9)
        .map(|index| format!("{{\"id\": \"q{index}\", \"answer\": \"{index}\"}}\n"))
        .collect();
    let place = place("answers.jsonl", &answers);
    let mut recording = String::from("{\"goodarm_recording\":1,\"unit\":\"calls\"}\n");
    for index in 0..9 {
        let good = u8::from(index < 6);
        recording += &format!(
            "{{\"id\":\"q{index}\",\"verifier\":\"judge\",\"scores\":[{good},{good},1,{good}],\
             \"costs\":[\"1\",\"2\",\"1\",\"2\"]}}\n"
        );
    }
    place.write("recording.jsonl", &recording);
    let job_text = "candidates = \"answers.jsonl\"\nbudget = 300\ndelta = 0.1\n[expect]\ngood = 1\n\
        [[verifiers]]\nname = \"judge\"\nkind = \"command\"\ncommand = [\"true\"]\nthreshold = 0.5\nprice = 2\n\
        scores = \"binary\"\n";
    place.write("job.toml", job_text);
    let (job, recording) = (place.argument("job.toml"), place.argument("recording.jsonl"));
    let plan = |arguments: &[&str]| -> Value {
        serde_json::from_str(&ok(&[&["plan", "--json"], arguments].concat())).expect("JSON")
    };
    let of_job = plan(&[&job]);
    assert_eq!(
        [&of_job["answers"], &of_job["good"], &of_job["delta"]],
        [&json!(9), &json!(9), &json!(0.1)]
    );
    assert_eq!(of_job["purchase"]["budget"], 300.0);
    assert_eq!(plan(&[&job, "--budget", "50"])["purchase"]["budget"], 50.0);
    let both = plan(&[&job, "--recording", &recording]);
    assert_eq!([&both["good"], &both["purchase"]["budget"]], [&json!(6), &json!(300.0)]);
    // Three of the answers are exactly there.
    place.write("quarter.toml", &job_text.replace("0.5", "0.25"));
    assert_eq!(plan(&[&place.argument("quarter.toml"), "--recording", &recording])["good"], 6);
    place.write("fifth.toml", &job_text.replace("0.5", "0.2"));
    assert_eq!(plan(&[&place.argument("fifth.toml"), "--recording", &recording])["good"], 9);
    place.write("job.toml", &place.read("job.toml").replace("\"judge\"", "\"jugde\""));
    let told = message(&goodarm(&["plan", &job, "--recording", &recording]));
    assert!(told.contains("no outcomes of a verifier \"jugde\"; it has judge"), "{told}");
}
