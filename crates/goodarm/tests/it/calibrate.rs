//! `goodarm calibrate`: thresholds from labels, written into the job, and everything that it refuses.

use std::fs;
use std::process::{Command, Output};

use goodarm_testing::TestFolder;
use serde_json::Value;

use crate::tool::{message, root, text};

fn calibrate(place: &TestFolder, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
    command.current_dir(place.path()).args(["calibrate", "job.toml"]).args(more);
    command.output().expect("the tool starts")
}

const JOB: &str = "\
# Thresholds below are guesses.
candidates = \"answers.jsonl\"
budget = 20000
delta = 0.05

[[verifiers]]
name = \"judge\" # the one that knows
kind = \"command\"
shell = \"echo 1\"
scores = \"binary\"
price = 1
# Nobody remembers why.
  threshold   =  0.05   # a guess

[[verifiers]]
threshold = 0.5
name = \"coin\"
kind = \"command\"
shell = \"echo 0\"
scores = \"binary\"
price = 50
";

/// So many answers, nine of ten right; the judge is nearly always with the truth, the coin never knows.
fn place(answers: usize, labels: usize) -> TestFolder {
    let place = TestFolder::new(&[]);
    let is_right = |index: usize| index % 10 != 3;
    let mut lines = String::new();
    let mut recording = "{\"goodarm_recording\":1,\"unit\":\"calls\"}\n".to_owned();
    let mut table = "id,label\n".to_owned();
    let mut luck = 7_u64;
    let mut draw = || {
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        luck >> 33
    };
    for index in 0..answers {
        lines += &format!("{{\"id\":\"q{index}\"}}\n");
        let judge = |call: usize| match is_right(index) {
            true => u8::from(!(index + call).is_multiple_of(7)),
            false => u8::from((index / 10 + call).is_multiple_of(4)),
        };
        let judge: Vec<u8> = (0..5).map(judge).collect();
        let coin: Vec<u64> = (0..5).map(|_| draw() % 2).collect();
        for (name, scores) in [("judge", format!("{judge:?}")), ("coin", format!("{coin:?}"))] {
            let price = if name == "judge" { 1 } else { 50 };
            let costs = vec![price; 5];
            recording += &format!(
                "{{\"id\":\"q{index}\",\"verifier\":\"{name}\",\"scores\":{scores},\"costs\":{costs:?}}}\n"
            );
        }
        if index < labels {
            table += &format!("q{index},{}\n", if is_right(index) { "right" } else { "wrong" });
        }
    }
    place.write("answers.jsonl", &lines);
    place.write("recording.jsonl", &recording);
    place.write("labels.csv", &table);
    place.write("job.toml", JOB);
    place
}

#[test]
fn a_job_whose_thresholds_were_guesses_gets_better_ones() {
    let place = place(400, 400);
    let output = calibrate(&place, &["--labels", "labels.csv", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    let finding: Value = serde_json::from_str(&text(&output)).expect("JSON");
    let judge = &finding["verifiers"][0];
    let threshold = judge["new_threshold"].as_f64().expect("a threshold");
    assert!(threshold > 0.2 && threshold < 1.0, "{threshold}");
    assert!(judge["auc"].as_f64().expect("a number") > 0.95, "{judge}");
    assert!(finding["verifiers"][1]["auc"].as_f64().expect("a number") < 0.65);
    // Comments, order and blanks are as they were.
    let coin = finding["verifiers"][1]["new_threshold"].as_f64().expect("a threshold");
    let expected = JOB
        .replace(
            "  threshold   =  0.05   # a guess",
            &format!("  threshold   =  {threshold}   # a guess"),
        )
        .replace("threshold = 0.5\n", &format!("threshold = {coin}\n"));
    assert_eq!(place.read("job.toml"), expected);
    // What was written is a job that runs.
    let run = Command::new(env!("CARGO_BIN_EXE_goodarm"))
        .current_dir(place.path())
        .args(["run", "job.toml", "--dry-run"])
        .output()
        .expect("the tool starts");
    assert_eq!(run.status.code(), Some(0), "{}", message(&run));
}

#[test]
fn the_capitals_are_calibrated_by_their_own_right_answers() {
    let place = TestFolder::new(&[]);
    for file in ["job.toml", "answers.jsonl", "recording.jsonl"] {
        fs::copy(root().join("examples/capitals").join(file), place.join(file)).expect("a copy");
    }
    let before = place.read("job.toml");
    let known = ["--field", "gold", "--equals", "answer"];
    let kept = calibrate(&place, &[&known[..], &["--precision", "0.85", "--keep-job"]].concat());
    assert_eq!(kept.status.code(), Some(0), "{}", message(&kept));
    assert_eq!(place.read("job.toml"), before);
    assert!(text(&kept).contains("With confidence 95 % more than 85 % of the answers that pass"));
    let output = calibrate(&place, &[&known[..], &["--precision", "0.85"]].concat());
    assert!(text(&output).contains("one solution 0.3 → 0.28"), "{}", text(&output));
    let after = place.read("job.toml");
    assert!(
        after.starts_with("# Certify answers about capitals") && after.contains("threshold = 0.28")
    );
    assert!(after.contains("# with probability 0.95 no certificate is wrong"));
}

#[test]
fn too_few_labels_change_nothing_and_it_is_said_how_many_it_takes() {
    let place = place(400, 30);
    let output = calibrate(&place, &["--labels", "labels.csv"]);
    assert_eq!(output.status.code(), Some(5), "{}", message(&output));
    assert_eq!(place.read("job.toml"), JOB);
    let said = text(&output);
    assert!(said.contains("30 labels do not show, with confidence 95 %"), "{said}");
    assert!(said.contains("They are too few, even if all are right. It takes "), "{said}");
    assert!(message(&output).contains("job.toml was left as it is"));
    // Nobody is right: no number of labels will do.
    place.write(
        "labels.csv",
        &("id,label\n".to_owned() + &(0..200).map(|i| format!("q{i},skip\n")).collect::<String>()),
    );
    let output = calibrate(&place, &["--labels", "labels.csv"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(text(&output).contains("no number will do"), "{}", text(&output));
}

fn refused(place: &TestFolder, more: &[&str], expected: &str) {
    let output = calibrate(place, more);
    let said = message(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(expected), "{said}");
}

#[test]
fn wrong_input_is_refused_with_its_place() {
    let place = place(60, 60);
    let labels = ["--labels", "labels.csv"];
    refused(&place, &[], "--labels <FILE>");
    refused(&place, &["--labels", "nothing.csv"], "cannot read nothing.csv");
    refused(
        &place,
        &[&labels[..], &["--precision", "1"]].concat(),
        "--precision: 1 is not strictly",
    );
    refused(&place, &[&labels[..], &["--delta", "0"]].concat(), "--delta: 0 is not strictly");
    refused(&place, &[&labels[..], &["--planned-labels", "50"]].concat(), "is not between 60");
    refused(&place, &["--field", "gold"], "has no field \"gold\"");
    place.write("wrong.csv", "id,label\nq1,right\nq777,right\n");
    refused(
        &place,
        &["--labels", "wrong.csv"],
        "wrong.csv, line 3: the job's candidates have no id \"q777\"",
    );
    place.write("twice.csv", "id,label\nq1,right\nq1,wrong\n");
    refused(&place, &["--labels", "twice.csv"], "twice.csv, line 3: id \"q1\" already");
    place.write("word.csv", "id,label\nq1,rigth\n");
    refused(&place, &["--labels", "word.csv"], "word.csv, line 2: expected right, wrong or skip");
    let recording = |name| [&labels[..], &["--recording", name]].concat();
    refused(
        &place,
        &recording("none"),
        "`goodarm run job.toml --policy fixed -k 5 --output none` makes one, for 15,300 calls",
    );
    let head = "{\"goodarm_recording\":1,\"unit\":\"calls\"}\n";
    let row = |id: &str, name: &str| {
        format!("{{\"id\":\"{id}\",\"verifier\":\"{name}\",\"scores\":[1],\"costs\":[1]}}\n")
    };
    place.write("part.jsonl", &(head.to_owned() + &row("q1", "judge") + &row("q1", "coins")));
    refused(&place, &recording("part.jsonl"), "no outcomes of \"coin\"; did you mean \"coins\"?");
    place.write("few.jsonl", &(head.to_owned() + &row("q1", "judge") + &row("q1", "coin")));
    refused(&place, &recording("few.jsonl"), "line 2: \"q0\" has no outcomes of every verifier");
    let dollars = head.replace("calls", "dollars");
    place.write("unit.jsonl", &(dollars + &row("q1", "judge") + &row("q1", "coin")));
    refused(&place, &recording("unit.jsonl"), "the recording counts dollars, and the job calls");
    place.write("job.toml", &JOB.replace("scores = \"binary\"", "scores = \"exact\""));
    refused(&place, &labels, "no threshold to choose: every verifier is exact");
}

#[test]
fn a_job_with_questions_is_refused_with_the_reason() {
    let place = TestFolder::new(&[]);
    for file in ["questions.jsonl", "pools.jsonl"] {
        fs::copy(root().join("examples/capitals").join(file), place.join(file)).expect("a copy");
    }
    fs::copy(root().join("examples/capitals/questions.toml"), place.join("job.toml"))
        .expect("a copy");
    refused(&place, &["--field", "gold"], "the job is about questions");
}

#[test]
fn names_and_ids_of_others_do_nothing_on_the_terminal() {
    let place = place(400, 400);
    let hostile = "<img src=x onerror=alert(1)>\\u001b[31m";
    for name in ["job.toml", "recording.jsonl"] {
        let text = place.read(name).replace("\"coin\"", &format!("\"{hostile}\""));
        place.write(name, &text);
    }
    let output = calibrate(&place, &["--labels", "labels.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(!text(&output).contains('\u{1b}'));
}

#[test]
fn thresholds_are_written_into_inline_tables_and_criteria() {
    let place = place(400, 400);
    let inline = "\
candidates = \"answers.jsonl\"
budget = 20000
delta = 0.05
verifiers = [ # both
  { name = \"judge\", kind = \"command\", shell = \"echo 1\", scores = \"binary\", threshold = 0.05 }, # one
  { name = \"coin\", kind = \"command\", shell = \"echo 1\", scores = \"binary\", threshold = 0.5 },
]
";
    place.write("job.toml", inline);
    let output = calibrate(&place, &["--labels", "labels.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    let after = place.read("job.toml");
    assert!(after.contains("}, # one") && !after.contains("0.05 }"), "{after}");
    let criteria = "\
candidates = \"answers.jsonl\"
budget = 20000
delta = 0.05

[[verifiers]]
name = \"both\"
kind = \"command\"
shell = \"echo 1\"
scores = \"binary\"

[[verifiers.criteria]]
name = \"judge\"
pointer = \"/judge\"
threshold = 0.05 # first

[[verifiers.criteria]]
name = \"coin\"
pointer = \"/coin\"
threshold = 0.5
";
    place.write("job.toml", criteria);
    let output = calibrate(&place, &["--labels", "labels.csv"]);
    assert!(
        message(&output).contains("no outcomes of \"both/judge\"; it has"),
        "{}",
        message(&output)
    );
    let recording = place.read("recording.jsonl");
    let recording =
        recording.replace("\"judge\"", "\"both/judge\"").replace("\"coin\"", "\"both/coin\"");
    place.write("recording.jsonl", &recording);
    let output = calibrate(&place, &["--labels", "labels.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    let after = place.read("job.toml");
    assert!(after.contains(" # first") && !after.contains("threshold = 0.05 "), "{after}");
}

/// A solution is compared by its number, as a check of the job finds it; if nothing agrees, the job stays.
#[test]
fn final_answers_are_compared_with_a_field() {
    let place = TestFolder::new(&[]);
    for file in ["job.toml", "answers.jsonl", "recording.jsonl"] {
        fs::copy(root().join("examples/capitals").join(file), place.join(file)).expect("a copy");
    }
    let known = ["--field", "gold", "--precision", "0.85", "--keep-job"];
    let told = text(&calibrate(&place, &known));
    assert!(
        told.starts_with("australia: gold \"Canberra\", answer \"Sydney\": different\n"),
        "{told}"
    );
    assert_eq!(told.lines().take(3).filter(|line| line.contains(": gold ")).count(), 3, "{told}");
    let answers = place.read("answers.jsonl").replace("\"answer\": \"", "\"answer\": \"It is #");
    place.write("answers.jsonl", &answers);
    let before = place.read("job.toml");
    let refused = calibrate(&place, &known[..4]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    let message = message(&refused);
    assert!(message.contains("none of 48 answers is the same as its gold"), "{message}");
    assert!(message.contains("--extract"), "{message}");
    assert_eq!(place.read("job.toml"), before);
}
