//! Verifiers whose one reply scores several criteria.

use std::fs;

use goodarm_live::job::Job;
use goodarm_record::ending::Ending;
use serde_json::{Value, json};

use crate::job_folder::{JobFolder, is_good};
use goodarm_testing::{Action, Request, Server};

/// A judge that is a command, with these criteria.
fn job(reply: &str, criteria: &str, keys: &str) -> String {
    format!(
        "candidates = \"answers.jsonl\"\nbudget = 300\ndelta = 0.1\nconcurrency = 4\n\
         [[verifiers]]\nname = \"answered\"\nkind = \"check\"\ncheck = \"regex\"\npattern = \".\"\n\
         [[verifiers]]\nname = \"judge\"\nkind = \"command\"\n{keys}\n\
         shell = '''read line; echo x >> made; {reply}'''\n{criteria}"
    )
}

fn criterion(name: &str, threshold: f64, pointer: &str) -> String {
    format!(
        "[[verifiers.criteria]]\nname = \"{name}\"\nthreshold = {threshold}\npointer = \"{pointer}\"\n"
    )
}

fn two() -> String {
    criterion("clear", 0.5, "/clear") + &criterion("true", 0.6, "/is/true")
}

/// Good answers are clear and true, bad ones only clear.
const BOTH: &str = r#"case "$line" in *right*) echo '{"clear": 1, "is": {"true": 0.95}}';; *) echo '{"clear": 0.9, "is": {"true": 0.2}}';; esac"#;

fn place(reply: &str, criteria: &str, keys: &str) -> JobFolder {
    let place = JobFolder::new(6);
    place.write("job.toml", &job(reply, criteria, keys));
    place
}

#[test]
fn one_call_scores_every_criterion_and_is_paid_once() {
    let place = place(BOTH, &two(), "");
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    let good = (0..6).filter(|&index| is_good(index)).count();
    assert_eq!(overview.certified, good);
    let names: Vec<&str> = overview.verifiers.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(names, ["answered", "judge/clear", "judge/true"]);
    let made = place.line_count("made") as u64;
    let [answered, clear, is_true] = &overview.verifiers[..] else { panic!("three") };
    assert_eq!((clear.calls, is_true.calls), (made, made));
    assert_eq!(overview.calls, made + answered.calls, "each call is counted once");
    assert_eq!(clear.spent.to_string(), made.to_string());
    assert_eq!(is_true.spent.to_string(), "0");
    assert_eq!(is_true.paid_with.as_deref(), Some("judge/clear"));
    assert_eq!((is_true.mean_price, is_true.mean_latency), (None, None));
    assert_eq!(overview.money.spent, clear.spent.saturating_add(answered.spent));
    let calls = place.json_lines("run/calls.jsonl");
    let judged = calls.iter().find(|call| call["verifier"] == "judge").expect("a call");
    assert!(judged["scores"]["clear"].is_number() && judged["scores"]["true"].is_number());
    assert!(judged["score"].is_null());
    let evidence = &place.json_lines("run/certified.jsonl")[0]["goodarm"]["evidence"];
    assert_eq!(evidence[2]["verifier"], "judge/true");
    assert_eq!(evidence[2]["threshold"], 0.6);
}

/// Books made from the journal again are the same.
#[test]
fn a_run_that_is_resumed_goes_on() {
    let place = place(BOTH, &two(), "");
    let text = place.read("job.toml").replace("budget = 300", "budget = 10");
    place.write("job.toml", &text);
    place.run();
    place.assert_clean();
    place.write("job.toml", &text.replace("budget = 10", "budget = 300"));
    let (_, overview) = place.resume().expect("it continues");
    assert_eq!(overview.certified, 4);
    assert_eq!(overview.verifiers[2].calls, place.line_count("made") as u64);
    place.assert_clean();
    // Another pointer is another verifier.
    place.write("job.toml", &text.replace("/is/true", "/is/really/true"));
    let refused = place.resume().expect_err("another judge").to_string();
    assert!(refused.contains("criteria[true].pointer"), "{refused}");
}

/// A call that was in flight when the process died counts as the lowest score of every criterion.
#[test]
fn a_run_that_is_cut_off_goes_on_and_lost_calls_are_lost_for_all_criteria() {
    let place = place(BOTH, &two(), "");
    place.run();
    let whole = fs::read(place.journal()).expect("a journal");
    let mut lost = 0;
    for part in [40, 50, 60, 70] {
        fs::write(place.journal(), &whole[..whole.len() * part / 100]).expect("the journal");
        fs::remove_file(place.output().summary()).expect("no crash leaves a summary");
        let (_, overview) = place.resume().expect("it continues");
        place.assert_clean();
        assert_eq!(overview.certified, 4, "cut at {part} %");
        let [_, clear, is_true] = &overview.verifiers[..] else { panic!("three") };
        assert_eq!(clear.failures.get("lost"), is_true.failures.get("lost"));
        lost += clear.failures.get("lost").copied().unwrap_or(0);
    }
    assert!(lost > 0, "some call was in flight at one of the cuts");
}

#[test]
fn what_one_reply_lacks_counts_for_that_criterion_alone() {
    // Every fourth reply has no score for truth.
    let reply = r#"n=$(wc -l < made); if [ $((n % 4)) = 0 ]; then echo '{"clear": 1, "is": {}}'; else case "$line" in *right*) echo '{"clear": 1, "is": {"true": 1}}';; *) echo '{"clear": 0.9, "is": {"true": 0.1}}';; esac; fi"#;
    let place = place(reply, &two(), "");
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    let [_, clear, is_true] = &overview.verifiers[..] else { panic!("three") };
    assert!(clear.failures.is_empty(), "{:?}", clear.failures);
    let lacking = is_true.failures["unreadable"];
    assert!(lacking > 0 && lacking < is_true.calls, "{lacking} of {}", is_true.calls);
    assert_eq!(overview.money.spent_on_failures.to_string(), "0", "the call was worth its price");
    let calls = place.json_lines("run/calls.jsonl");
    let is_lacking = |call: &&Value| call["scores"].is_object() && call["scores"]["true"].is_null();
    let call = calls.iter().find(is_lacking).expect("a reply that lacks one");
    assert_eq!(call["reason"], "true: nothing at /is/true of the reply");
    assert!(call["scores"]["clear"].is_number());
}

/// A judge whose replies cannot be read must not look like bad answers, nor must one criterion with a
/// wrong pointer among others that work.
#[test]
fn a_criterion_that_never_has_a_score_ends_the_run() {
    for (reply, reason) in [
        ("echo '{}'", "clear: nothing at /clear"),
        (r#"echo '{"clear": 1}'"#, "true: nothing at /is/true"),
        (r#"echo '{"clear": 7, "is": {"true": 8}}'"#, "scores are from 0 to 1"),
    ] {
        let place = place(reply, &two(), "");
        let (ending, _) = place.run();
        let Ending::NeverScored(never) = ending else { panic!("{reply}: {ending:?}") };
        assert_eq!(never.verifier, "judge");
        assert!(never.reason.contains(reason), "{}", never.reason);
        assert!(place.line_count("made") <= 8, "{reply}");
    }
}

#[test]
fn a_score_on_another_scale_is_lacking_and_said() {
    let reply = r#"case "$line" in *q0*) echo '{"clear": 9, "is": {"true": 1}}';; *) echo '{"clear": 1, "is": {"true": 1}}';; esac"#;
    let place = place(reply, &two(), "");
    let (_, overview) = place.run();
    place.assert_clean();
    let notes = overview.notes.join("\n");
    assert!(notes.contains("another scale"), "{notes}");
    assert!(overview.verifiers[1].failures["unreadable"] > 0);
    assert!(overview.verifiers[2].failures.is_empty());
}

#[test]
fn a_score_below_the_lowest_blocks_that_criterion_alone() {
    let reply = r#"case "$line" in *q0*) echo '{"clear": -1, "is": {"true": 1}}';; *) echo '{"clear": 1, "is": {"true": 1}}';; esac"#;
    let place = place(reply, &two(), "");
    let (_, overview) = place.run();
    place.assert_clean();
    let [_, clear, is_true] = &overview.verifiers[..] else { panic!("three") };
    assert_eq!(clear.blocked.get("below-lowest"), Some(&1), "{:?}", clear.blocked);
    assert!(is_true.blocked.is_empty());
    assert_eq!(overview.certified, 5, "all but the first");
}

#[test]
fn a_worker_and_a_server_have_criteria_as_well() {
    let worker = r#"while read line; do case "$line" in *right*) echo '{"clear": 1, "is": {"true": 1}}';; *) echo '{"clear": 1, "is": {"true": 0}}';; esac; done"#;
    let server = Server::with(|seen: &Request| {
        let is_true = u8::from(seen.body.contains("right"));
        Action::Json(json!({"clear": true, "is": {"true": is_true}}))
    });
    let kinds = [
        format!("kind = \"command\"\nworker = true\nshell = '''{worker}'''\n"),
        format!("kind = \"http\"\nurl = \"{}\"\n", server.url("/")),
    ];
    for keys in kinds {
        let place = JobFolder::new(6);
        let head = "candidates = \"answers.jsonl\"\nbudget = 300\ndelta = 0.1\n[[verifiers]]\nname = \"judge\"\nscores = \"binary\"\n";
        place.write("job.toml", &format!("{head}{keys}{}", two()));
        let (_, overview) = place.run();
        assert_eq!(overview.certified, 4, "{keys}");
        place.assert_clean();
    }
}

/// A model writes JSON into its prose, on a scale of its own.
#[test]
fn a_judge_that_is_a_model_has_criteria() {
    let server = Server::with(|seen: &Request| {
        let truth = if seen.body.contains("right") { 10 } else { 2 };
        let text = format!("Well. ```json\n{{\"clear\": 9, \"is\": {{\"true\": {truth}}}}}\n```");
        Action::Json(json!({
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 12},
        }))
    });
    let place = JobFolder::new(6);
    let keys = format!(
        "candidates = \"answers.jsonl\"\nbudget = 300\ndelta = 0.1\n[[verifiers]]\nname = \"judge\"\nkind = \"llm\"\n\
         url = \"{}\"\nmodel = \"m\"\nprompt = \"{{{{ answer }}}}\"\nrange = [0, 10]\n",
        server.url("/v1")
    );
    place.write("job.toml", &format!("{keys}{}", two()));
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(overview.certified, 4);
    let mean = overview.verifiers[0].mean_score.expect("scores");
    assert!((mean - 0.9).abs() < 1e-9, "{mean}");
    place.assert_clean();
    for (wrong, expected) in [
        ("parse = \"number\"", "with criteria a reply is JSON"),
        ("pointer = \"/score\"", "each of them has its own"),
        ("role = \"solver\"", "its calls have one score each"),
    ] {
        let keys = keys.replace("range = [0, 10]\n", "");
        place.write("job.toml", &format!("{keys}{wrong}\n{}", two()));
        let error = place.job().map(|_: Job| ()).expect_err(wrong).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn criteria_that_make_no_sense_are_refused() {
    for (criteria, keys, expected) in [
        (two() + &criterion("clear", 0.5, "/c"), "", "\"clear\" is there twice"),
        (two(), "threshold = 0.5", "each criterion has its own"),
        (
            criterion("clear", 0.5, "clear"),
            "",
            "criteria[1].pointer: a JSON pointer begins with /: \"/clear\"?",
        ),
        (
            criterion("clear", 1.5, "/clear"),
            "",
            "criteria[1].threshold: 1.5 is not strictly between",
        ),
        (String::new(), "criteria = []", "at least one is needed"),
        (criterion("", 0.5, "/clear"), "", "each needs a name"),
        ("[[verifiers.criteria]]\nname = \"a\"\nthreshold = 0.5\n".into(), "", "pointer"),
    ] {
        let place = place(BOTH, &criteria, keys);
        let error = place.job().map(|_: Job| ()).expect_err("it is wrong").to_string();
        assert!(error.contains(expected), "{error}");
    }
    // A check has one score.
    let place = JobFolder::new(3);
    let check = "candidates = \"answers.jsonl\"\nbudget = 30\ndelta = 0.1\n[[verifiers]]\nname = \"check\"\nkind = \"check\"\ncheck = \"regex\"\npattern = \".\"\n";
    place.write("job.toml", &format!("{check}{}", two()));
    let error = place.job().map(|_: Job| ()).expect_err("a check").to_string();
    assert!(error.contains("its calls have one score each"), "{error}");
}

/// An answer that an exact judge says half of what it should about is neither good nor bad.
#[test]
fn an_exact_reply_that_lacks_a_score_decides_nothing() {
    let reply = r#"case "$line" in *q0*) echo '{"clear": 1, "is": {}}';; *right*) echo '{"clear": 1, "is": {"true": 1}}';; *) echo '{"clear": 1, "is": {"true": 0}}';; esac"#;
    let place = place(reply, &two(), "scores = \"exact\"");
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!((overview.certified, overview.rejected, overview.undecided), (3, 2, 1));
    assert_eq!(place.line_count("made"), 6, "one call tells all");
}

/// Two verifiers with three criteria each; the third criterion of the second one has these lines.
fn with_third(criterion: &str) -> String {
    let good = |name: &str| {
        format!(
            "[[verifiers.criteria]]\nname = \"{name}\"\nthreshold = 0.5\npointer = \"/{name}\"\n"
        )
    };
    let verifier = |name: &str, third: &str| {
        format!(
            "[[verifiers]]\nname = \"{name}\"\nkind = \"command\"\nshell = 'echo 1'\n{}{}{third}",
            good("clear"),
            good("true")
        )
    };
    let head = "candidates = \"answers.jsonl\"\nbudget = 100\ndelta = 0.1\n";
    let third = format!("[[verifiers.criteria]]\n{criterion}");
    format!("{head}{}{}", verifier("first", &good("short")), verifier("second", &third))
}

#[test]
fn a_problem_of_a_criterion_has_its_own_line() {
    let place = place(BOTH, &two(), "");
    for (line, others, expected) in [
        ("treshold = 0.5", "name = \"x\"\npointer = \"/x\"\n", "did you mean `threshold`?"),
        ("threshold = \"high\"", "name = \"x\"\npointer = \"/x\"\n", "criteria[3].threshold: "),
        (
            "threshold = 1.5",
            "name = \"x\"\npointer = \"/x\"\n",
            "criteria[3].threshold: 1.5 is not",
        ),
        (
            "name = \"clear\"",
            "threshold = 0.5\npointer = \"/x\"\n",
            "criteria[3].name: \"clear\" is there twice",
        ),
        (
            "name = \"\"",
            "threshold = 0.5\npointer = \"/x\"\n",
            "criteria[3].name: each needs a name",
        ),
        (
            "pointer = \"x\"",
            "threshold = 0.5\nname = \"x\"\n",
            "criteria[3].pointer: a JSON pointer begins with /",
        ),
        (
            "scores = \"exact\"",
            "threshold = 0.5\nname = \"x\"\npointer = \"/x\"\n",
            "criteria[3].scores: one call",
        ),
        ("[[verifiers.criteria]]", "name = \"x\"\npointer = \"/x\"\n", "threshold"),
    ] {
        let own =
            if line.starts_with('[') { others.to_owned() } else { format!("{others}{line}\n") };
        let job = with_third(&own);
        let number =
            1 + job.lines().collect::<Vec<_>>().iter().rposition(|it| *it == line).expect(line);
        place.write("job.toml", &job);
        let refused = place.job().err().unwrap_or_else(|| panic!("{job}")).to_string();
        assert!(refused.contains(&format!("line {number}: verifier \"second\": ")), "{refused}");
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
}
