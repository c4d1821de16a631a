//! Runs that answer questions: their text, their JSON and their page.

use serde_json::Value;

use super::json;
use super::run::Run;
use crate::tool::text;

const COUNT: u64 = 12;

fn amount(value: &Value) -> f64 {
    value.as_str().expect("an exact amount").parse().expect("a number")
}

/// Some are answered and some are not, or the other tests would say little.
fn answered(report: &Value) -> u64 {
    let answered = report["questions"]["answered"].as_u64().expect("a count");
    assert!((2..=8).contains(&answered), "{report}");
    answered
}

#[test]
fn a_run_speaks_of_its_questions() {
    let run = Run::questions("questions-text", 12);
    let told = run.go(&["--again"]);
    let report = json(&run);
    let answered = answered(&report);
    let made = report["questions"]["made"].as_u64().expect("a count");
    let headline = format!("{answered} of {COUNT} questions answered with a certified answer");
    let [certified, rejected, undecided] =
        ["certified", "rejected", "undecided"].map(|key| report[key].as_u64().expect("a count"));
    let tried = format!(
        "{made} answers made ({certified} certified, {rejected} rejected, {undecided} undecided)"
    );
    assert!(told.contains(&format!("{headline}; {tried}: ")), "{told}");
    assert!(told.contains(&format!(", {answered} of {COUNT} questions, about ")), "{told}");
    let generator = &report["questions"]["generators"][0];
    let maker = told.lines().find(|line| line.trim().starts_with("maker ")).expect("its line");
    let new = format!("{} new answers, {} certified", generator["new"], generator["certified"]);
    let calls = format!(" {} calls", generator["calls"]);
    assert!(maker.contains(&calls) && maker.ends_with(&new), "{maker}");
    let shown = text(&run.report(&["--text"]));
    assert!(shown.starts_with(&headline), "{shown}");
    let open = format!("{answered} answered, {} open", COUNT - answered);
    for part in [&tried, &open, "Generators", "Treating all questions alike", "open questions"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for foreign in ["answers certified", "added after the run began"] {
        assert!(!(told.clone() + &shown).contains(foreign), "{foreign}: {told}{shown}");
    }
}

/// Every call belongs to a question, so money by question adds up to all money, caller by caller and
/// question by question.
#[test]
fn money_adds_up_over_questions() {
    let run = Run::questions("questions-money", 12);
    let report = json(&run);
    answered(&report);
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let spent = amount(&report["money"]["spent"]);
    let callers = [list(&report["verifiers"]), list(&report["questions"]["generators"])].concat();
    assert_eq!(callers.len(), 3);
    let mut parts = [0.0; 2];
    for caller in &callers {
        let by_question: Vec<f64> = list(&caller["spent_by_question"]).iter().map(amount).collect();
        assert!((by_question[0] + by_question[1] - amount(&caller["spent"])).abs() < 1e-9);
        parts = [parts[0] + by_question[0], parts[1] + by_question[1]];
    }
    assert!((parts[0] + parts[1] - spent).abs() < 1e-9 && parts.iter().all(|part| *part > 0.0));
    let questions = list(&report["by_question"]);
    let sum_of = |status: &str| -> f64 {
        questions.iter().filter(|it| it["status"] == status).map(|it| amount(&it["spent"])).sum()
    };
    assert!((sum_of("answered") - parts[0]).abs() < 1e-9, "{parts:?}");
    assert!((sum_of("open") - parts[1]).abs() < 1e-9, "{parts:?}");
    let calls: u64 = questions.iter().map(|it| it["calls"].as_u64().expect("a count")).sum();
    assert_eq!(report["calls"], calls);
}

/// The report and `answers.jsonl`, which are made by different code, say the same of each question.
#[test]
fn questions_and_their_answers_belong_together() {
    let run = Run::questions("questions-answers", 12);
    let report = json(&run);
    answered(&report);
    let answers = report["answers"].as_array().expect("a list");
    let lines: Vec<Value> = run
        .read("answers.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let questions = report["by_question"].as_array().expect("a list");
    assert_eq!((questions.len(), lines.len()), (12, 12));
    for ((question, line), number) in questions.iter().zip(&lines).zip(0..) {
        let expected = &line["goodarm"];
        assert_eq!(question["id"], line["id"]);
        for key in ["status", "asked", "spent_on_answers", "spent_on_votes"] {
            assert_eq!(question[key], expected[key], "{key}");
        }
        let place =
            |value: &Value| usize::try_from(value.as_u64().expect("a place")).expect("small");
        let tried = question["tried"].as_array().expect("a list").iter();
        let tried: Vec<&Value> = tried.map(|it| &answers[place(it)]).collect();
        let expected_tried = expected["tried"].as_array().expect("a list");
        assert_eq!(tried.len(), expected_tried.len());
        for (answer, expected) in tried.iter().zip(expected_tried) {
            for key in ["id", "status", "from", "why"] {
                assert_eq!(answer.get(key), expected.get(key), "{key}");
            }
            assert_eq!(answer["question"], number);
        }
        let certified =
            question["certified"].as_u64().map(|_| &answers[place(&question["certified"])]["id"]);
        assert_eq!(certified, expected.get("answer"));
    }
}
