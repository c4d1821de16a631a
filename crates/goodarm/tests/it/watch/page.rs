//! The live page in a real browser.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::watch_folder::WatchFolder;
use crate::report::browser::Browser;
use crate::report::hostile;
use crate::report::run::Question;
use crate::served_page::PATIENCE;
use crate::tool::message;

fn wait(browser: &mut Browser, condition: &str) {
    let started = Instant::now();
    while browser.value(condition) != true {
        assert!(started.elapsed() < PATIENCE, "{condition}: {:?}", browser.complaints);
        thread::sleep(Duration::from_millis(50));
    }
    browser.settle();
}

const PHASE: &str = "document.getElementById('phase')?.dataset.phase";

/// From the first certificate to the end, with every answer hostile.
#[test]
fn a_run_of_hostile_answers_is_shown_to_its_end_and_nothing_in_it_runs() {
    let mut answers: Vec<Value> =
        hostile::answers().into_iter().map(|answer| answer.object).collect();
    let hostile_count = answers.len();
    answers.push(json!({"id": "hold", "question": "When?", "answer": "at last"}));
    let place = WatchFolder::new(&answers, hostile::NAMES[1], 8);
    let watched = place.watch(&[]);
    let mut browser = Browser::start("watch");
    browser.navigate(&watched.address);
    wait(&mut browser, &format!("{PHASE} === 'running'"));
    let headline = "document.getElementById('headline').textContent";
    assert_eq!(browser.text(headline), format!("0 of {} answers certified", answers.len()));
    place.go();
    let all = format!("{headline}.startsWith('{hostile_count} of ')");
    wait(&mut browser, &all);
    wait(&mut browser, "document.querySelectorAll('.row').length >= 8");

    browser.value("document.querySelector('.row').click()");
    let dialog = "document.querySelector('dialog')";
    wait(&mut browser, &format!("{dialog}.open"));
    let mut seen = String::new();
    for _ in 0..hostile_count {
        seen += &browser.text(&format!("{dialog}.textContent"));
        let title = browser.text("document.title");
        assert!(title.ends_with(" certified, running"), "{title}");
        let next = format!("{dialog}.querySelector('button[aria-label=\"Next answer\"]')");
        if browser.value(&format!("{next}.disabled")) == true {
            break;
        }
        let id = browser.text("document.getElementById('answer-title').textContent");
        browser.value(&format!("{next}.click()"));
        let is_next =
            format!("document.getElementById('answer-title').textContent !== {}", json!(id));
        wait(&mut browser, &is_next);
    }
    assert!(seen.contains("<script>document.title='owned'</script>"), "shown as text");
    assert!(seen.contains("U+202E") && !seen.contains('\u{202e}'), "what is hidden is shown");
    browser.value(&format!("{dialog}.close()"));
    let strange = "document.querySelectorAll('img, iframe, object, embed').length";
    assert_eq!(browser.value(strange), 0);
    assert_eq!(browser.value("document.scripts.length"), 1);

    let button = "document.getElementById('pause')";
    browser.value(&format!("{button}.click()"));
    wait(&mut browser, &format!("{PHASE} === 'paused' && {button}.textContent === 'Resume'"));
    wait(&mut browser, &format!("!{button}.disabled"));
    browser.value(&format!("{button}.click()"));
    wait(&mut browser, &format!("{PHASE} === 'running'"));

    place.write("end", "");
    let output = watched.end();
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    wait(&mut browser, &format!("{PHASE} === 'ended'"));
    let word = browser.text("document.getElementById('word').textContent");
    assert!(word.contains("The run has ended") && word.contains("report.html"), "{word}");
    // It asks no more, so nothing fails although the server is gone.
    browser.value("window.asked = 0; window.fetch = async () => { window.asked += 1; }; 0");
    let look_again = "document.dispatchEvent(new Event('visibilitychange'))";
    assert_eq!(browser.value(&format!("{look_again}; !document.hidden && window.asked")), 0);
    assert_eq!(browser.text(PHASE), "ended");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_run_that_is_killed_is_told_to_be_gone() {
    let place = WatchFolder::ordinary();
    let watched = place.watch(&[]);
    let mut browser = Browser::start("watch-gone");
    browser.navigate(&watched.address);
    wait(&mut browser, &format!("{PHASE} === 'running'"));
    watched.interrupt();
    watched.interrupt();
    drop(watched.end());
    wait(&mut browser, &format!("{PHASE} === 'lost' || {PHASE} === 'ended'"));
    let word = browser.text("document.getElementById('word').textContent");
    assert!(word.contains("--resume"), "{word}");
}

/// Questions and answers that are all hostile: the page counts questions, and a certified answer comes with
/// its question and with the calls about both.
#[test]
fn a_run_of_hostile_questions_is_shown_by_its_questions_and_nothing_in_it_runs() {
    let mut questions = hostile::questions();
    questions.truncate(6);
    questions.push(Question {
        object: json!({"id": "hold", "question": "When?"}),
        solutions: vec!["at last".into(); 10],
    });
    let (count, first) = (questions.len(), questions[0].object["id"].clone());
    // Its question is only in the file of questions.
    let given = json!({"id": "given", "question_id": first, "answer": questions[0].solutions[0]});
    let maker = "<svg onload=document.title='owned'>\u{202e}maker";
    let place = WatchFolder::asked(&questions, &[given], [hostile::NAMES[1], maker]);
    let watched = place.watch(&[]);
    let mut browser = Browser::start("watch-questions");
    browser.navigate(&watched.address);
    wait(&mut browser, &format!("{PHASE} === 'running'"));
    let headline = "document.getElementById('headline').textContent";
    let of = format!(" of {count} questions answered with a certified answer");
    assert_eq!(browser.text(headline), format!("0{of}"));
    place.go();
    wait(&mut browser, &format!("{headline} === {}", json!(format!("{}{of}", count - 1))));
    let title = browser.text("document.title");
    assert_eq!(title, format!("{} of {count} questions, running", count - 1));
    let generators = browser.text("document.querySelector('.generators').textContent");
    assert!(generators.contains("U+202Emaker") && generators.contains("working"), "{generators}");
    wait(&mut browser, &format!("document.querySelectorAll('.row').length === {}", count - 1));
    let rows = "[...document.querySelectorAll('.row')].map(it => it.textContent).join('\\n')";
    let text = json!(questions[0].object["question"]).to_string();
    assert_eq!(browser.value(&format!("{rows}.includes({text})")), true, "the question is shown");

    // A mere change of what is after the # would load nothing.
    browser.navigate("about:blank");
    browser.navigate(&format!("{}#open=given", watched.address));
    let dialog = "document.querySelector('dialog')";
    wait(&mut browser, &format!("{dialog}.open"));
    let body = browser.text(&format!("{dialog}.textContent"));
    assert!(body.contains(questions[0].object["question"].as_str().expect("a text")), "{body}");
    assert!(body.contains("votes on the question") && body.contains("Score or answer"), "{body}");
    let votes = "[...document.querySelectorAll('dialog tbody tr')].filter(it => it.textContent.includes('solver')).length";
    assert_eq!(browser.value(&format!("{votes} > 1")), true, "votes are among the calls");
    assert!(browser.value("document.querySelectorAll('dialog .final').length").as_u64() > Some(1));
    assert_eq!(browser.value("document.querySelectorAll('img, iframe, object, embed').length"), 0);
    assert_eq!(browser.value("document.scripts.length"), 1);

    place.write("end", "");
    let output = watched.end();
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    wait(&mut browser, &format!("{PHASE} === 'ended'"));
    let word = browser.text("document.getElementById('word').textContent");
    assert!(word.contains(&format!("{count}{of}: every question is answered")), "{word}");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
