//! What a dry run and a plan say of jobs about questions, and of jobs that would take long to simulate.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use goodarm_testing::TestFolder;
use serde_json::Value;

use crate::tool::{goodarm, message, text};

const POOL: &str = "kind = \"pool\"\npool = \"pools.jsonl\"\n";

/// A folder with so many questions, recorded answers to them, and a job of these lines.
fn place(questions: usize, keys: &str) -> TestFolder {
    let place = TestFolder::new(&[]);
    let (mut list, mut pools) = (String::new(), String::new());
    for index in 0..questions {
        let _ = writeln!(list, "{{\"id\": \"q{index}\", \"question\": \"{index} + 1?\"}}");
        let answer = format!("{{\"answer\": \"{}\", \"cost\": 10}}", index + 1);
        let _ = writeln!(pools, "{{\"id\": \"q{index}\", \"solutions\": [{answer}, {answer}]}}");
    }
    place.write("questions.jsonl", &list);
    place.write("pools.jsonl", &pools);
    let job = format!("questions = \"questions.jsonl\"\nunit = \"tokens\"\ndelta = 0.05\n{keys}");
    place.write("job.toml", &job);
    place
}

fn job(place: &TestFolder) -> String {
    place.join("job.toml").to_str().expect("UTF-8").to_owned()
}

fn dry_run(place: &TestFolder) -> String {
    let output = goodarm(&["run", &job(place), "--dry-run"]);
    assert!(output.status.success(), "{}", message(&output));
    text(&output)
}

fn solver(threshold: f64) -> String {
    format!("[[verifiers]]\nname = \"solver\"\n{POOL}threshold = {threshold}\n")
}

/// The number before these words.
fn number_before(said: &str, words: &str) -> f64 {
    let before = said.split(words).next().unwrap_or_default();
    let last = before.rsplit([' ', '(']).next().unwrap_or_default();
    last.parse().unwrap_or_else(|_| panic!("{last:?} before {words:?}: {said}"))
}

#[test]
fn a_dry_run_says_who_makes_answers_and_how_many_questions_will_be_answered() {
    let keys = |budget| format!("budget = {budget}\n[generator]\n{POOL}{}", solver(0.3));
    let said = dry_run(&place(30, &keys(20_000)));
    for words in [
        "30 questions, no given answers, 1 generator, 1 verifier, δ = 0.05",
        "generator (pool): makes answers, at most 8 for each question, at most 10 tokens a call",
        "solver (pool): threshold 0.3, asked the question: a reply is a vote on all of its answers, at most 10",
        "If 60 % of the fresh answers are good, with mean scores by verifier [0.65]",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let answered = number_before(&said, " of 30 questions will be answered");
    assert!((22.0..=30.0).contains(&answered), "{said}");
    let few = dry_run(&place(30, &keys(3000)));
    let fewer = number_before(&few, " of 30 questions will be answered");
    assert!(fewer > 0.0 && fewer < answered, "{few}");
    let bad = dry_run(&place(30, &format!("{}[expect]\ngood = 0.1\n", keys(20_000))));
    assert!(number_before(&bad, " of 30 questions will be answered") < answered - 5.0, "{bad}");
}

#[test]
fn verifiers_of_answers_that_are_not_made_yet_are_shown_with_one_in_their_place() {
    let judge = "[[verifiers]]\nname = \"judge\"\nkind = \"llm\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n\
        prompt = \"{{ question }} {{ answer }}\"\nparse = \"yes-no\"\nmax_tokens = 5\nthreshold = 0.6\n";
    let two = "[[generators]]\nname = \"cheap\"\nkind = \"llm\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n\
        prompt = \"Say {{ question }}\"\nmax_tokens = 9\n\
        [[generators]]\nname = \"dear\"\nkind = \"pool\"\npool = \"pools.jsonl\"\ncandidates_max = 12\n";
    let said = dry_run(&place(3, &format!("budget = 900000\nguarantee = \"union\"\n{two}{judge}")));
    for words in [
        "3 questions, no given answers, 2 generators, 1 verifier",
        "cheap (llm): makes answers, at most 12 for each question",
        "Say 0 + 1?",
        "judge (llm): threshold 0.6, asked about one answer at a time",
        "0 + 1? (an answer that is not made yet)",
        " of 3 questions will be answered",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn answers_that_are_votes_are_shown_as_both() {
    let vote = format!("budget = 9000\n[generator]\n{POOL}vote = true\nthreshold = 0.4\n");
    let check = "[[verifiers]]\nname = \"c\"\nkind = \"check\"\ncheck = \"regex\"\npattern = '.'\n";
    let said = dry_run(&place(1, &format!("{vote}{check}")));
    assert!(said.contains("1 question, no given answers, 2 verifiers"), "{said}");
    assert!(
        said.contains("a vote on all of its answers, and an answer itself if it is new"),
        "{said}"
    );
    assert!(said.contains(" of 1 question will be answered"), "{said}");
}

#[test]
fn of_many_questions_some_are_simulated_and_that_is_said() {
    let keys = format!("budget = 60000000\n[generator]\n{POOL}{}", solver(0.3));
    let said = dry_run(&place(100_000, &keys));
    assert!(said.contains("500 of 100,000 questions are simulated, with their share"), "{said}");
    let answered = number_before(&said, " of 100,000 questions will be answered");
    assert!((60_000.0..=100_000.0).contains(&answered), "{said}");
}

#[test]
fn a_plan_of_a_job_about_questions_has_a_curve_of_answered_questions() {
    let place = place(12, &format!("budget = 5000\n[generator]\n{POOL}{}", solver(0.3)));
    let output = goodarm(&["plan", &job(&place), "--json"]);
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&plan["questions"], &plan["purchase"]["budget"]), (&12.into(), &5000.0.into()));
    assert!(plan["steps"].as_array().is_some_and(|steps| steps.len() > 6), "{plan}");
    assert!(plan["steps"][0].get("asymptotic").is_none(), "{plan}");
    let plot = place.join("plan.svg");
    let output = goodarm(&["plan", &job(&place), "--plot", plot.to_str().expect("UTF-8")]);
    assert!(text(&output).contains("A budget of 5,000 answers about "), "{}", text(&output));
    assert!(fs::read_to_string(plot).expect("drawn").contains("answered questions"));
    let output = goodarm(&["plan", &job(&place), "--recording", "recording.jsonl"]);
    assert!(message(&output).contains("leave out --recording"), "{}", message(&output));
}

/// Without a bound this takes minutes: a certificate would be a million calls.
#[test]
fn a_dry_run_is_not_simulated_to_its_end_if_that_takes_long() {
    let place = TestFolder::new(&[]);
    let answers: String = (0..40).map(|index| format!("{{\"id\": \"{index}\"}}\n")).collect();
    place.write("answers.jsonl", &answers);
    let keys = "candidates = \"answers.jsonl\"\nbudget = 20000\ndelta = 0.05\n[[verifiers]]\nname = \"judge\"\n\
        kind = \"command\"\ncommand = [\"true\"]\nthreshold = 0.99999\nscores = \"binary\"\n";
    place.write("job.toml", keys);
    let begun = Instant::now();
    let said = dry_run(&place);
    assert!(said.contains("sessions were cut off after 100,000 calls each: 40 of 40"), "{said}");
    assert!(said.contains("the first certificate alone takes more than"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
}

/// Three criteria in one call of 4, or three calls of 4 each.
#[test]
fn a_reply_with_several_scores_is_paid_once_in_the_forecast() {
    let place = TestFolder::new(&[]);
    let answers: String = (0..20).map(|index| format!("{{\"id\": \"{index}\"}}\n")).collect();
    place.write("answers.jsonl", &answers);
    let certified = |verifiers: &str| {
        let keys =
            format!("candidates = \"answers.jsonl\"\nbudget = 1500\ndelta = 0.05\n{verifiers}");
        place.write("job.toml", &keys);
        number_before(&dry_run(&place), " will be certified")
    };
    let command = "kind = \"command\"\ncommand = [\"true\"]\nprice = 4\n";
    let judge = format!("[[verifiers]]\nname = \"judge\"\n{command}");
    let criterion = |(name, threshold): (&str, f64)| {
        format!(
            "[[verifiers.criteria]]\nname = \"{name}\"\npointer = \"/{name}\"\nthreshold = {threshold}\n"
        )
    };
    let hard = [("a", 0.8), ("b", 0.1), ("c", 0.1)];
    let shared = certified(&(judge.clone() + &hard.map(criterion).concat()));
    let alone = certified(&format!("{judge}threshold = 0.8\n"));
    // The two easy criteria need fewer calls than the hard one, and those are its own.
    assert!((shared - alone).abs() <= 1.0 && alone > 2.0, "{shared} {alone}");
}

#[test]
fn a_plan_answers_what_a_budget_buys() {
    let place = TestFolder::new(&[]);
    let folder = place.path();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plan.toml");
    let plot = folder.join("plan.svg");
    let output = goodarm(&["plan", example, "--plot", plot.to_str().unwrap()]);
    assert!(output.status.success(), "{}", message(&output));
    let said = text(&output);
    assert!(said.contains("A budget of 200,000 certifies about"), "{said}");
    assert!(fs::read_to_string(&plot).unwrap().contains("<svg"));
    let output = goodarm(&["plan", example, "--budget", "400000", "--json"]);
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let median = |plan: &serde_json::Value| plan["purchase"]["realistic"]["median"].as_f64();
    assert!(median(&plan).unwrap() > 15.0, "{plan}");
    assert_eq!(plan["steps"].as_array().unwrap().len() as u64, plan["good"].as_u64().unwrap());
    let file = folder.join("wrong.toml");
    fs::write(&file, fs::read_to_string(example).unwrap().replace("spread", "spred")).unwrap();
    let output = goodarm(&["plan", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("did you mean `spread`?"), "{}", message(&output));
}

#[test]
fn a_plan_is_drawn_as_svg_and_as_nothing_else() {
    let place = TestFolder::new(&[]);
    for name in ["plan.png", "plan", "plan.pdf"] {
        let plot = place.join(name);
        let output = goodarm(&["plan", "examples/plan.toml", "--plot", plot.to_str().unwrap()]);
        assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()), "{name}");
        let words = "goodarm writes SVG; give the file a name that ends in .svg";
        assert!(message(&output).contains(words), "{}", message(&output));
        assert!(!plot.exists());
    }
}

/// What the Python package gives is compared with the same file: `UPDATE_PYTHON=1` writes it again.
#[test]
fn the_plan_that_python_is_compared_with_is_ours() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../goodarm-py/tests/plan.json");
    let output = goodarm(&["plan", "examples/plan.toml", "--json"]);
    assert!(output.status.success(), "{}", message(&output));
    if std::env::var_os("UPDATE_PYTHON").is_some() {
        fs::write(kept, &output.stdout).unwrap();
    }
    assert!(fs::read(kept).unwrap() == output.stdout, "plan.json differs");
}
