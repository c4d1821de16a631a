//! Runs that answer questions: their text, their JSON and their page.

use serde_json::Value;

use super::browser::Browser;
use super::run::Run;
use super::{hostile, json};
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

#[test]
fn hostile_questions_stay_inside_their_blocks() {
    let page = hostile::asked("questions-bytes").page();
    let count = |text: &str| page.to_lowercase().matches(text).count();
    let blocks = count("<script type=\"application/json\" id=\"");
    assert_eq!(count("<script"), blocks + 1, "one script that runs");
    assert_eq!(count("</script"), blocks + 1);
    for tag in ["<img", "<iframe", "<svg onload", "<!--", "<b>", "<object", "<link", "<base"] {
        assert_eq!(count(tag), 0, "{tag}");
    }
    for hidden in ['\0', '\u{7}', '\u{1b}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{e0041}'] {
        assert!(!page.contains(hidden), "{hidden:?}");
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
}

/// Every question is opened, one after the other, as a person would.
#[test]
fn hostile_questions_do_nothing_in_a_browser() {
    let run = hostile::asked("questions-shown");
    let mut browser = Browser::start("questions-hostile");
    browser.open(&run.path("report.html"), "");
    let title = browser.text("document.title");
    assert!(title.contains(" questions answered with a certified answer"), "{title}");
    browser.value("document.querySelector('.row').click()");
    let (mut seen, mut opened) = (String::new(), 0);
    for _ in 0..hostile::questions().len() {
        browser.settle();
        opened += 1;
        browser.value(
            "document.querySelectorAll('dialog details').forEach(it => { it.open = true; }); 0",
        );
        seen += &browser.text("document.querySelector('dialog').textContent");
        let next = "document.querySelector('.dhead button[aria-label=\"Next question\"]')";
        if browser.value(&format!("{next}.disabled")) == true {
            break;
        }
        browser.value(&format!("{next}.click()"));
    }
    assert_eq!(opened, hostile::questions().len());
    for shown in [
        "7 <script>document.title='owned'</script>",
        "9 other \"><img src=x onerror=\"document.title='owned'\">",
        "on the question",
        "U+202Emaker",
        "escape U+001B[31m",
    ] {
        assert!(seen.contains(shown), "{shown}");
    }
    assert!(!seen.contains('\u{202e}'), "what is hidden is shown");
    assert_eq!(browser.text("document.title"), title);
    let strange = "document.querySelectorAll('img, iframe, object, embed, link').length";
    assert_eq!(browser.value(strange), 0);
    assert_eq!(browser.value("document.querySelectorAll('script:not([type])').length"), 1);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_page_lists_questions_and_opens_one_with_all_its_answers() {
    let run = Run::questions("questions-page", 12);
    let report = json(&run);
    let answered = answered(&report);
    let page = run.path("report.html");
    let mut browser = Browser::start("questions-page");
    browser.open(&page, "");
    let headline = browser.text("document.getElementById('headline').textContent");
    assert_eq!(
        headline,
        format!("{answered} of {COUNT} questions answered with a certified answer")
    );
    let filters = browser.text("document.getElementById('filters').textContent");
    assert_eq!(filters, format!("All{COUNT}Answered{answered}Open{}", COUNT - answered));
    let bars = "document.querySelectorAll('#spending-chart .row-bar').length";
    assert_eq!(browser.value(bars), 3, "two verifiers and a generator");
    let table = browser.text("document.querySelector('.generators').textContent");
    assert!(table.contains("maker") && table.contains("New answers"), "{table}");
    // The most answers first.
    browser.open(&page, "status=open&sort=-tried");
    assert_eq!(browser.value("document.querySelectorAll('.row').length"), COUNT - answered);
    let tried =
        "[...document.querySelectorAll('.row .tried-of')].map(it => Number(it.textContent))";
    assert_eq!(
        browser.value(&format!("{tried}.every((it, i, all) => i === 0 || all[i - 1] >= it)")),
        true
    );
    assert_eq!(browser.value(&format!("{tried}[0] > 1")), true);
    // One that is answered, after another answer was tried.
    let list = report["by_question"].as_array().expect("a list");
    let several = |it: &&Value| {
        it["status"] == "answered" && it["tried"].as_array().is_some_and(|tried| tried.len() > 1)
    };
    let question = list.iter().find(several).expect("an answered question with two answers");
    let id = question["id"].as_str().expect("an id");
    browser.open(&page, &format!("open={id}"));
    let body = browser.text("document.querySelector('dialog').textContent");
    for part in
        ["What is the sum of", "Certified answer", "Evidence", "by maker", "on the question"]
    {
        assert!(body.contains(part), "{part}: {body}");
    }
    let number = question["tried"].as_array().map_or(0, Vec::len);
    assert_eq!(browser.value("document.querySelectorAll('dialog .try').length"), number);
    let dropped = "document.querySelector('dialog .try:nth-child(2)').textContent";
    assert!(browser.text(dropped).contains("another answer to the question is certified"));
    assert_eq!(
        browser.value("document.querySelectorAll('dialog tbody tr').length"),
        question["calls"]
    );
    // A call about one answer says so.
    assert!(body.contains(&format!("on {id}/1")), "{body}");
    // One that is still open.
    let is_open = |it: &&Value| {
        it["status"] == "open" && it["tried"].as_array().is_some_and(|tried| tried.len() > 1)
    };
    let question = list.iter().find(is_open).expect("an open question with two answers");
    let (id, number) = (&question["id"], question["tried"].as_array().map_or(0, Vec::len));
    browser.open(&page, &format!("open={}", id.as_str().expect("an id")));
    let body = browser.text("document.querySelector('dialog').textContent");
    let none = format!("None of the {number} answers that were tried is certified.");
    assert!(body.contains(&none) && body.contains("is needed"), "{body}");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_keyboard_opens_a_question_and_goes_on_to_the_next() {
    let run = Run::questions("questions-keyboard", 12);
    let mut browser = Browser::start("questions-keyboard");
    browser.open(&run.path("report.html"), "sort=id");
    browser.value("document.querySelector('.row').focus()");
    browser.press("ArrowDown", 40);
    browser.press("Enter", 13);
    let title = "document.getElementById('answer-title').textContent";
    assert_eq!(browser.text(title), "q-1");
    browser.press("ArrowRight", 39);
    assert_eq!(browser.text(title), "q-2");
    assert_eq!(browser.text("location.hash"), "#sort=id&open=q-2");
    browser.press("Escape", 27);
    assert_eq!(browser.value("document.querySelector('dialog').open"), false);
    assert_eq!(browser.text("document.activeElement.dataset.place"), "2", "back where it was");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
