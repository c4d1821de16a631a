//! Questions: answers are made, sorted and checked in one run, and one of each is certified.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::sync::Mutex;

use goodarm_core::{ArmId, Cost, Event, Label, Outcome};
use goodarm_live::job::Job;
use goodarm_live::open_files;
use goodarm_live::run::Run;
use goodarm_record::ending::Ending;
use goodarm_record::journal::{self, FileStorage, Journal, OpenedJournal, Record};
use goodarm_record::run_error::RunError;
use serde_json::{Value, json};

use crate::job_folder::JobFolder;
use goodarm_testing::{Action, Request, Server};

/// Questions whose right answer is their number.
fn place(count: usize) -> JobFolder {
    let place = JobFolder::new(1);
    let mut questions = String::new();
    for index in 0..count {
        let _ = writeln!(
            questions,
            r#"{{"id": "q{index}", "question": "Q{index}?", "right": "{index}"}}"#
        );
    }
    place.write("questions.jsonl", &questions);
    place
}

/// Recorded solutions: of easy questions most are right, every third question is hard.
fn write_pool(place: &JobFolder, count: usize) {
    let mut text = String::new();
    for index in 0..count {
        let solution = |draw: usize| {
            let is_right =
                if index % 3 == 2 { draw.is_multiple_of(5) } else { !draw.is_multiple_of(10) };
            let answer = if is_right { index } else { 100 + draw % 4 };
            json!({"answer": format!("It is {answer}."), "cost": 10 + draw % 3})
        };
        let solutions: Vec<Value> = (0..20).map(solution).collect();
        let _ = writeln!(text, "{}", json!({"id": format!("q{index}"), "solutions": solutions}));
    }
    place.write("pool.jsonl", &text);
}

const POOLS: &str = r#"
questions = "questions.jsonl"
budget = 6000
unit = "tokens"
delta = 0.1
seed = 3
[generator]
kind = "pool"
pool = "pool.jsonl"
extract = "last-number"
candidates_max = 4
[[verifiers]]
name = "says a number"
kind = "check"
check = "regex"
pattern = "[0-9]"
[[verifiers]]
name = "solver"
kind = "pool"
pool = "pool.jsonl"
extract = "last-number"
threshold = 0.5
"#;

pub(crate) fn pools(count: usize) -> JobFolder {
    let place = place(count);
    write_pool(&place, count);
    place.write("job.toml", POOLS);
    place
}

/// A program makes the answers, and judges them: `generate` and `judge` are what the shell does with the
/// object in `line`. Each call leaves a line in a file.
fn commands(generate: &str, judge: &str, keys: &str) -> String {
    format!(
        "questions = \"questions.jsonl\"\nbudget = 400\ndelta = 0.1\nconcurrency = 4\n\
         [generator]\nkind = \"command\"\nextract = \"last-number\"\n{keys}\n\
         shell = '''read line; echo x >> generated; {generate}'''\n\
         [[verifiers]]\nname = \"judge\"\nkind = \"command\"\nthreshold = 0.5\nscores = \"binary\"\n\
         shell = '''read line; echo x >> judged; {judge}'''\n"
    )
}

/// Four calls of each at once, and a program has three pipes.
#[test]
fn open_files_are_counted_for_generators_as_well() {
    let place = place(1);
    place.write("job.toml", &commands("echo 1", "echo 1", ""));
    assert_eq!(open_files::needed(&place.good_job()), open_files::OTHERS + 2 * 4 * 3);
}

/// Right in two of three, by the number of calls so far.
const OFTEN_RIGHT: &str = r#"n=$(wc -l < generated); right=$(echo "$line" | sed 's/.*"right": *"\([0-9]*\)".*/\1/'); if [ $((n % 3)) = 0 ]; then echo "It is 999."; else echo "It is $right."; fi"#;
/// Says whether the answer is the right one.
const KNOWS: &str = r#"right=$(echo "$line" | sed 's/.*"right": *"\([0-9]*\)".*/\1/'); case "$line" in *"It is $right."*) echo 1;; *) echo 0;; esac"#;

#[test]
fn one_answer_to_each_question_is_certified_and_its_siblings_leave() {
    let place = pools(9);
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    let questions = overview.questions.as_ref().expect("there are questions");
    assert_eq!((questions.count, questions.given), (9, 0));
    assert_eq!(questions.answered, overview.certified);
    assert!(questions.answered >= 6, "the easy ones, {}", questions.answered);
    let certified = place.json_lines("run/certified.jsonl");
    let answered: BTreeSet<&str> =
        certified.iter().map(|line| line["question_id"].as_str().expect("its question")).collect();
    assert_eq!(answered.len(), certified.len(), "one for each question");
    for line in &certified {
        // The question's own fields, with an answer and an id of its own.
        assert_eq!(line["answer"], format!("It is {}.", line["right"].as_str().expect("kept")));
        assert!(
            line["id"].as_str().expect("an id").starts_with(line["question_id"].as_str().unwrap())
        );
    }
    // What became of each question.
    let outcomes = place.json_lines("run/answers.jsonl");
    assert_eq!(outcomes.len(), 9);
    for outcome in &outcomes {
        let (id, found) = (outcome["id"].as_str().unwrap(), &outcome["goodarm"]);
        let is_answered = answered.contains(id);
        assert_eq!(found["status"], if is_answered { "answered" } else { "open" });
        let tried = found["tried"].as_array().expect("answers");
        let siblings = tried.iter().filter(|it| it["status"] != "certified");
        for sibling in siblings {
            let why = sibling["why"].as_str().expect("a reason");
            assert_eq!(why == "another answer to the question is certified", is_answered, "{why}");
        }
        // Duplicates are one answer, and no more are made than may be.
        assert!(tried.len() <= 4 && found["asked"].as_u64() <= Some(4), "{found}");
    }
    // After its certificate, nothing more is spent on a question.
    let calls = place.json_lines("run/calls.jsonl");
    let cost = |call: &Value| call["cost"].as_str().expect("a cost").parse::<Cost>().expect("one");
    let spent = calls.iter().map(cost).fold(Cost::ZERO, Cost::saturating_add);
    assert_eq!(spent, overview.money.spent);
    let generated = calls.iter().filter(|call| call["verifier"] == "generator").count() as u64;
    assert_eq!(generated, questions.generators[0].calls);
    assert!(calls.iter().all(|call| (call["id"] == "") == call["question"].is_string()));
}

/// Everything that a run says, but for times.
fn told(place: &JobFolder) -> [String; 3] {
    let calls = place.json_lines("run/calls.jsonl").into_iter().map(|mut call| {
        call["unix_millis"] = Value::Null;
        call.to_string()
    });
    [calls.collect(), place.read("run/certified.jsonl"), place.read("run/answers.jsonl")]
}

#[test]
fn a_run_that_is_cut_at_any_byte_ends_like_one_that_was_not() {
    let place = pools(5);
    place.write("job.toml", &POOLS.replace("budget = 6000", "budget = 1500"));
    let before = Run::begin(place.good_job()).expect("a run");
    drop(before);
    let beginning = fs::read(place.journal()).expect("a journal").len();
    place.resume().expect("it continues");
    let expected = told(&place);
    let whole = fs::read(place.journal()).expect("a journal");
    for cut in (beginning..whole.len()).filter(|cut| cut % 23 == 0 || cut + 20 > whole.len()) {
        fs::write(place.journal(), &whole[..cut]).expect("the journal");
        let _ = fs::remove_file(place.output().summary());
        place.resume().unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(told(&place), expected, "cut at {cut}");
    }
    place.assert_clean();
}

#[test]
fn answers_that_were_on_their_way_are_paid_and_not_made_again() {
    let place = place(6);
    place.write("job.toml", &commands(OFTEN_RIGHT, KNOWS, ""));
    drop(Run::begin(place.good_job()).expect("a run"));
    let beginning = fs::read(place.journal()).expect("a journal").len();
    let (ending, overview) = place.resume().expect("it continues");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    assert_eq!(overview.certified, 6);
    let generator = &overview.questions.as_ref().expect("questions").generators[0];
    assert_eq!(generator.calls, place.line_count("generated") as u64);
    let whole = fs::read(place.journal()).expect("a journal");
    let mut lost = 0;
    for part in [30, 45, 60, 75] {
        let cut = beginning + (whole.len() - beginning) * part / 100;
        fs::write(place.journal(), &whole[..cut]).expect("the journal");
        fs::remove_file(place.output().summary()).expect("no crash leaves a summary");
        let (_, overview) = place.resume().expect("it continues");
        place.assert_clean();
        assert_eq!(overview.certified, 6, "cut at {part} %");
        let generators = &overview.questions.as_ref().expect("questions").generators;
        assert!(overview.money.spent <= overview.money.budget);
        lost += generators[0].failures.get("lost").copied().unwrap_or(0);
        lost += overview.verifiers[0].failures.get("lost").copied().unwrap_or(0);
    }
    assert!(lost > 0, "some call was in flight at one of the cuts");
}

#[test]
fn a_generator_that_repeats_itself_makes_one_answer() {
    let place = place(3);
    place.write(
        "job.toml",
        &commands(r#"echo "It is 999."; sleep 0.01"#, KNOWS, "candidates_max = 5"),
    );
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    let questions = overview.questions.as_ref().expect("questions");
    assert_eq!((overview.certified, questions.made), (0, 3), "one for each question");
    assert!(questions.generators[0].calls <= 15, "{}", questions.generators[0].calls);
}

#[test]
fn a_generator_that_repeats_a_rejected_answer_adds_nothing() {
    let place = place(2);
    place.write(
        "answers.jsonl",
        "{\"id\": \"a\", \"question_id\": \"q0\", \"answer\": \"I say 999.0\"}\n{\"id\": \"b\", \"question_id\": \"q1\", \"right\": \"1\", \"answer\": \"It is 1.\"}\n",
    );
    let job = commands(r#"echo "It is 999.""#, KNOWS, "candidates_max = 3");
    place.write("job.toml", &format!("candidates = \"answers.jsonl\"\n{job}"));
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!(overview.questions.as_ref().expect("questions").given, 2);
    // 999 and 999.0 are one number.
    let outcome = &place.json_lines("run/answers.jsonl")[0]["goodarm"];
    assert_eq!(outcome["tried"].as_array().map(Vec::len), Some(1), "{outcome}");
    assert!(outcome["asked"].as_u64() > Some(0), "{outcome}");
    let certified = place.json_lines("run/certified.jsonl");
    assert_eq!(certified.len(), 1);
    assert_eq!(certified[0]["id"], "b");
}

#[test]
fn a_generator_that_says_nothing_ends_the_run_and_now_and_then_counts_as_failed() {
    let silent = place(3);
    silent.write("job.toml", &commands("true", KNOWS, ""));
    let (ending, overview) = silent.run();
    let Ending::NeverScored(never) = ending else { panic!("{ending:?}") };
    assert_eq!((never.verifier.as_str(), never.id.starts_with('q')), ("generator", true));
    assert!(never.reason.contains("wrote nothing"), "{}", never.reason);
    assert_eq!(overview.candidates, 0);
    assert!(
        overview.notes.iter().any(|note| note.contains("never given an answer")),
        "{:?}",
        overview.notes
    );

    let lazy = place(4);
    let often = format!(
        r#"n=$(wc -l < generated); if [ $((n % 2)) = 0 ]; then echo "I do not know."; else {OFTEN_RIGHT}; fi"#
    );
    lazy.write("job.toml", &commands(&often, KNOWS, "candidates_max = 12"));
    let (_, overview) = lazy.run();
    lazy.assert_clean();
    let generator = &overview.questions.as_ref().expect("questions").generators[0];
    assert!(generator.failures["unreadable"] > 0, "{:?}", generator.failures);
    assert_eq!(overview.certified, 4);
    let calls = lazy.json_lines("run/calls.jsonl");
    let failed = calls.iter().find(|call| call["failure"] == "unreadable").expect("one");
    assert_eq!(failed["reason"], "no number in the answer");
}

#[test]
fn an_answer_that_is_too_long_is_none() {
    // Ten megabytes now and then, and answers that are longer than was agreed.
    let long = format!(
        r#"n=$(wc -l < generated); case $((n % 4)) in 0) head -c 10000000 /dev/zero | tr '\0' 7;; 1) printf '%0300d It is 7.' 0;; *) {OFTEN_RIGHT};; esac"#
    );
    let place = place(3);
    let job = commands(&long, KNOWS, "answer_bytes_max = 200\ncandidates_max = 20");
    // One at a time, so that the program counts its calls as they come.
    place.write("job.toml", &job.replace("concurrency = 4", "concurrency = 1"));
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    let failures = &overview.questions.as_ref().expect("questions").generators[0].failures;
    assert!(failures["truncated"] > 0 && failures["unreadable"] > 0, "{failures:?}");
    let calls = place.read("run/calls.jsonl");
    assert!(calls.contains("and answer_bytes_max is 200"), "{failures:?}");
    assert!(calls.len() < 1_000_000, "{}", calls.len());
    assert_eq!(overview.certified, 3);
}

#[test]
fn a_generator_that_is_not_there_stops_the_run_and_loses_nothing() {
    let place = place(2);
    let job = commands("true", KNOWS, "patience = 0.2");
    let job = job.replacen(
        "shell = '''read line; echo x >> generated; true'''",
        "command = [\"./not-there\"]",
        1,
    );
    place.write("job.toml", &job);
    let error = place.job().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("generator") && error.contains("not-there"), "{error}");
}

#[test]
fn candidates_of_a_question_are_siblings_and_the_same_answer_is_one() {
    let place = place(2);
    place.write(
        "answers.jsonl",
        "{\"id\": \"a\", \"question_id\": \"q0\", \"answer\": \"It is 0.\"}\n\
         {\"id\": \"b\", \"question_id\": \"q0\", \"answer\": \"I say 0.0\"}\n\
         {\"id\": \"c\", \"question_id\": \"q0\", \"answer\": \"5\"}\n\
         {\"id\": \"d\", \"question_id\": \"q1\", \"answer\": \"It is 1.\"}\n",
    );
    write_pool(&place, 2);
    let job = "candidates = \"answers.jsonl\"\nquestion_field = \"question_id\"\nbudget = 2000\nunit = \"tokens\"\ndelta = 0.1\n\
        [[verifiers]]\nname = \"solver\"\nkind = \"pool\"\npool = \"pool.jsonl\"\nextract = \"last-number\"\nthreshold = 0.5\n";
    place.write("job.toml", job);
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!((overview.candidates, overview.certified), (3, 2));
    let ids: Vec<String> =
        place.json_lines("run/certified.jsonl").iter().map(|it| it["id"].to_string()).collect();
    assert!(ids.contains(&"\"a\"".to_owned()) && ids.contains(&"\"d\"".to_owned()), "{ids:?}");
    let job_read = place.good_job();
    assert!(
        job_read.candidates.notes().iter().any(|note| note.contains("\"b\" as \"a\"")),
        "{:?}",
        job_read.candidates.notes()
    );
    // An answer that was given has the fields of its question, and its final answer.
    place.write("job.toml", &format!("questions = \"questions.jsonl\"\n{job}"));
    let given: Value = serde_json::from_str(place.good_job().candidates.json(ArmId(0))).unwrap();
    assert_eq!((&given["question"], &given["final_answer"]), (&json!("Q0?"), &json!("0")));
    // A question that is not in the list, and a missing name.
    let message = |answers: &str| {
        place.write("answers.jsonl", answers);
        place.write("job.toml", &format!("questions = \"questions.jsonl\"\n{job}"));
        place.job().err().map(|error| error.to_string()).unwrap_or_default()
    };
    let error = message("{\"id\": \"a\", \"question_id\": \"q7\", \"answer\": \"1\"}\n");
    assert!(error.contains("line 1: question_id is \"q7\", which no question has"), "{error}");
    let error = message("{\"id\": \"a\", \"answer\": \"1\"}\n");
    assert!(error.contains("no text or whole number in the field \"question_id\""), "{error}");
}

#[test]
fn a_run_with_questions_is_resumed_with_the_same_questions_and_candidates_only() {
    let place = pools(3);
    let job =
        format!("candidates = \"answers.jsonl\"\n{POOLS}").replace("budget = 6000", "budget = 300");
    place.write("job.toml", &job);
    let given = "{\"id\": \"a\", \"question_id\": \"q0\", \"answer\": \"5\"}\n";
    place.write("answers.jsonl", given);
    place.run();
    let refused = |place: &JobFolder| place.resume().expect_err("refused").to_string();
    place.write(
        "answers.jsonl",
        &format!("{given}{{\"id\": \"b\", \"question_id\": \"q1\", \"answer\": \"1\"}}\n"),
    );
    let error = refused(&place);
    assert!(error.contains("takes answers only from its generators"), "{error}");
    place.write("answers.jsonl", given);
    let questions = place.read("questions.jsonl");
    place.write("questions.jsonl", &questions.replace("Q1?", "Q1!"));
    let error = refused(&place);
    assert!(error.contains("the content of the questions"), "{error}");
    place.write("questions.jsonl", &questions);
    place.write("job.toml", &job.replace("budget = 300", "budget = 6000"));
    place.resume().expect("it continues");
    place.assert_clean();
    // A pool that was swapped is another generator.
    place.write("pool.jsonl", &place.read("pool.jsonl").replace("It is 100.", "It is 0."));
    assert!(matches!(place.resume(), Err(RunError::Changed { .. })));
}

/// A text that looks like the hash of a long answer is not that answer.
#[test]
fn a_hash_is_not_the_answer_that_it_is_of() {
    let place = place(1);
    let long = "x".repeat(300);
    let hash = format!("BLAKE3 {}", blake3::hash(long.as_bytes()));
    let solutions: Vec<Value> =
        [long, hash].into_iter().map(|it| json!({"answer": it, "cost": 1})).collect();
    place.write("pool.jsonl", &format!("{}\n", json!({"id": "q0", "solutions": solutions})));
    place.write(
        "job.toml",
        "questions = \"questions.jsonl\"\nbudget = 300\nunit = \"tokens\"\ndelta = 0.1\n\
         [generator]\nname = \"solver\"\nkind = \"pool\"\npool = \"pool.jsonl\"\nvote = true\nthreshold = 0.7\n",
    );
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!((overview.candidates, overview.certified), (2, 0));
}

/// A journal in which an answer has the number of another one is found out, even with valid checksums.
#[test]
fn an_answer_that_counts_for_another_is_found_out() {
    let place = pools(6);
    place.run();
    let mut reader = match journal::open(&place.journal()).expect("a journal") {
        OpenedJournal::Begun(reader) => reader,
        OpenedJournal::NeverBegun { .. } => panic!("it has begun"),
    };
    let header = reader.header().clone();
    let mut records = Vec::new();
    while let Some((_, Record { event, note })) = reader.next_record().expect("a record") {
        records.push(Record { event, note: note.into_owned() });
    }
    let is_later = |label: Option<Label>| label.is_some_and(|label| label.0 > 0);
    let forged = records.iter_mut().rev().find_map(|record| match &mut record.event {
        Event::Settled { outcome: Outcome::Answer(label), .. } if is_later(*label) => Some(label),
        _ => None,
    });
    *forged.expect("an answer that is not the first") = Some(Label(0));
    fs::remove_file(place.journal()).expect("a journal");
    let mut forged =
        Journal::create(FileStorage::create(&place.journal()).expect("a file"), &header)
            .expect("a journal");
    records.iter().for_each(|record| forged.append(record));
    forged.commit().expect("a journal");
    drop(forged);
    // As if it were killed before it wrote them.
    for file in [place.output().summary(), place.output().calls()] {
        fs::remove_file(file).expect("it was written");
    }
    let report = place.audit();
    let found = report.problems.iter().any(|it| it.text.contains("wrong answer number"));
    assert!(found, "{:#?}", report.problems);
    assert!(matches!(place.resume(), Err(RunError::Diverged(_))));
}

/// Each reply is an answer and a vote: certified self-consistency.
#[test]
fn answers_that_are_votes_certify_what_is_said_most() {
    let place = pools(6);
    let job = "questions = \"questions.jsonl\"\nbudget = 6000\nunit = \"tokens\"\ndelta = 0.1\n\
        [generator]\nname = \"solver\"\nkind = \"pool\"\npool = \"pool.jsonl\"\nextract = \"last-number\"\nvote = true\nthreshold = 0.5\n";
    place.write("job.toml", job);
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    let certified = place.json_lines("run/certified.jsonl");
    assert_eq!(certified.len(), 4, "the easy ones");
    assert_eq!(overview.verifiers.len(), 1);
    for line in certified {
        assert_eq!(line["answer"], format!("It is {}.", line["right"].as_str().expect("kept")));
    }
    for guarantee in ["union", "lent"] {
        let other = pools(6);
        other.write("job.toml", &format!("guarantee = \"{guarantee}\"\n{job}"));
        let (_, overview) = other.run();
        other.assert_clean();
        assert_eq!(overview.certified, 4, "{guarantee}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let place = pools(2);
    let complaint = |job: &str| {
        place.write("job.toml", job);
        place.job().err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (from, to, expected) in [
        (
            "seed = 3",
            "guarantee = \"holm\"",
            "guarantee: \"holm\" cannot be used when several answers belong to one question",
        ),
        ("seed = 3", "guarantee = \"fdr\"", "guarantee: \"fdr\" cannot be used"),
        (
            "seed = 3",
            "policy = \"uniform\"\nguarantee = \"union\"",
            "policy: \"uniform\" never asks for an answer",
        ),
        ("candidates_max = 4", "candidates_max = 0", "candidates_max: 0 is not between 1 and 64"),
        ("candidates_max = 4", "threshold = 0.5", "threshold: only where answers are votes"),
        ("seed = 3", "answer_field = \"id\"", "answer_field: \"id\" is id_field already"),
        ("seed = 3", "question_field = \"goodarm\"", "is where a run writes its findings"),
        (
            "threshold = 0.5",
            "threshold = 0.5\nscores = \"exact\"",
            "scores: must be \"binary\" or omitted for a solver",
        ),
        ("candidates_max = 4", "candidate_max = 4", "did you mean `candidates_max`?"),
        ("candidates_max = 4", "vote = true", "threshold: missing (needed with vote = true)"),
        (
            "candidates_max = 4",
            "candidates_max = 4\nvote = true\nthreshold = 0.5",
            "candidates_max: not with vote = true",
        ),
        (
            "candidates_max = 4",
            "answer_bytes_max = 9999999",
            "answer_bytes_max: 9999999 is not between",
        ),
        (
            "extract = \"last-number\"",
            "extract = \"regex\"",
            "pattern: a regular expression is needed",
        ),
        (
            "kind = \"pool\"\npool = \"pool.jsonl\"\nextract",
            "kind = \"check\"\nextract",
            "this kind makes no answers",
        ),
        ("pool = \"pool.jsonl\"\nextract", "pool = \"none.jsonl\"\nextract", "none.jsonl"),
        ("questions = \"questions.jsonl\"", "", "candidates: the file of answers is needed"),
    ] {
        let error = complaint(&POOLS.replacen(from, to, 1));
        assert!(error.contains(expected), "{from} → {to}: {error}");
    }
    let in_order = POOLS.replacen("candidates_max = 4", "draws = \"in-order\"", 1);
    let error = complaint(&in_order);
    assert!(
        error.contains("draws: in-order, but \"solver\" draws from pool.jsonl also"),
        "{error}"
    );
    let both = format!("{POOLS}[[generators]]\nkind = \"pool\"\npool = \"pool.jsonl\"\n");
    assert!(complaint(&both).contains("either [generator] or [[generators]]"));
    let none = POOLS.replace("questions = \"questions.jsonl\"", "candidates = \"answers.jsonl\"");
    let none = none.replace("[generator]\nkind = \"pool\"\npool = \"pool.jsonl\"\nextract = \"last-number\"\ncandidates_max = 4\n", "");
    let error = complaint(&none);
    assert!(error.contains("a pool answers questions, and the job has none"), "{error}");
}

#[test]
fn a_pool_that_cannot_be_read_is_refused_with_its_line() {
    let place = pools(2);
    let complaint = |job: &str| {
        place.write("job.toml", job);
        place.job().err().map(|error| error.to_string()).unwrap_or_default()
    };
    place.write(
        "pool.jsonl",
        "{\"id\": \"q0\", \"solutions\": [{\"answer\": \"1\", \"cost\": -1}]}\n",
    );
    let error = complaint(POOLS);
    assert!(error.contains("pool.jsonl: line 1: a cost of -1"), "{error}");
    place.write("pool.jsonl", "{\"id\": \"q0\", \"solutions\": [{\"answer\": \"1\"}]}\n");
    let error = complaint(POOLS);
    assert!(error.contains("no answers to 1 question, the first is \"q1\""), "{error}");
}

#[test]
fn a_cheap_generator_and_a_expensive_one_compete() {
    let place = pools(6);
    let job = POOLS.replace(
        "[generator]\nkind = \"pool\"\npool = \"pool.jsonl\"\n",
        "[[generators]]\nname = \"expensive\"\nkind = \"pool\"\npool = \"expensive.jsonl\"\nextract = \"last-number\"\n\
         [[generators]]\nname = \"cheap\"\nkind = \"pool\"\npool = \"pool.jsonl\"\n",
    );
    place.write("expensive.jsonl", &place.read("pool.jsonl").replace("\"cost\":1", "\"cost\":90"));
    place.write("job.toml", &job);
    let (_, overview) = place.run();
    place.assert_clean();
    let generators = &overview.questions.as_ref().expect("questions").generators;
    let calls: Vec<(&str, u64)> =
        generators.iter().map(|it| (it.name.as_str(), it.calls)).collect();
    assert!(calls[1].1 > calls[0].1, "as good, and nine times as cheap: {calls:?}");
}

/// One that was not asked yet is not taken to be as bad as the one that was.
#[test]
fn a_expensive_generator_is_found_out_beside_a_cheap_one_that_is_bad() {
    let place = pools(8);
    let job = POOLS.replace(
        "[generator]\nkind = \"pool\"\npool = \"pool.jsonl\"\n",
        "[[generators]]\nname = \"expensive\"\nkind = \"pool\"\npool = \"expensive.jsonl\"\nextract = \"last-number\"\n\
         [[generators]]\nname = \"cheap\"\nkind = \"pool\"\npool = \"cheap.jsonl\"\n",
    );
    let pool = |place: &JobFolder, name: &str, cost: u32, is_right: bool| {
        let mut text = String::new();
        for index in 0..8 {
            let answer = if is_right { index } else { 300 + index };
            let solutions = [json!({"answer": answer.to_string(), "cost": cost})];
            let _ =
                writeln!(text, "{}", json!({"id": format!("q{index}"), "solutions": solutions}));
        }
        place.write(name, &text);
    };
    pool(&place, "cheap.jsonl", 10, false);
    pool(&place, "expensive.jsonl", 50, true);
    place.write("job.toml", &job.replace("budget = 6000", "budget = 12000"));
    let (_, overview) = place.run();
    place.assert_clean();
    let generators = &overview.questions.as_ref().expect("questions").generators;
    let calls: Vec<(&str, u64)> =
        generators.iter().map(|it| (it.name.as_str(), it.calls)).collect();
    assert!(calls[0].1 > 0 && overview.certified >= 5, "{} with {calls:?}", overview.certified);
}

/// A model answers, a model solves: each solution scores all answers to its question.
#[test]
fn models_answer_and_solve_over_http() {
    // Every fourth reply to a prompt is wrong, in any order of calls.
    let counts = Mutex::new(BTreeMap::<String, usize>::new());
    let server = Server::with(move |seen: &Request| {
        let body = seen.json();
        let prompt = body["messages"][0]["content"].as_str().unwrap_or_default();
        let number: String = prompt.chars().filter(char::is_ascii_digit).collect();
        let is_wrong = {
            let mut counts = counts.lock().expect("no thread panics with it");
            let count = counts.entry(prompt.to_owned()).or_default();
            *count += 1;
            count.is_multiple_of(4)
        };
        let said = if is_wrong { "#### 77".into() } else { format!("Thinking.\n#### {number}") };
        Action::Json(json!({
            "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 5},
        }))
    });
    let place = place(4);
    let url = server.url("/v1");
    place.write(
        "job.toml",
        &format!(
            "questions = \"questions.jsonl\"\nbudget = 200000\nunit = \"tokens\"\ndelta = 0.1\nconcurrency = 4\n\
             [generator]\nkind = \"llm\"\nurl = \"{url}\"\nmodel = \"m\"\nprompt = \"{{{{ question }}}} Make.\"\nextract = \"gsm8k\"\nmax_tokens = 50\n\
             [[verifiers]]\nname = \"solver\"\nkind = \"llm\"\nrole = \"solver\"\nurl = \"{url}\"\nmodel = \"m\"\nprompt = \"{{{{ question }}}} Solve.\"\nextract = \"gsm8k\"\nmax_tokens = 50\nthreshold = 0.4\n\
             [[verifiers]]\nname = \"judge\"\nkind = \"llm\"\nurl = \"{url}\"\nmodel = \"m\"\nprompt = \"{{{{ answer }}}}\"\nparse = \"number\"\nrange = [0, 77]\nmax_tokens = 50\nthreshold = 0.001\n"
        ),
    );
    let job = place.good_job();
    // The ceiling of a judge has room for the longest answer that counts.
    let ceiling = |job: &Job, place: usize| job.terms.verifiers[place].ceiling.units();
    assert!(ceiling(&job, 1) >= 8.0 * 50.0 + 50.0, "{}", ceiling(&job, 1));
    assert!(ceiling(&job, 0) < ceiling(&job, 1), "a solver does not see the answer");
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}: {:?}", overview.notes);
    place.assert_clean();
    assert_eq!(overview.certified, 4, "{:?}", overview.notes);
    assert_eq!(overview.money.overruns, 0);
}
