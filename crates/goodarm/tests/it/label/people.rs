//! What a run waits for.

use serde_json::json;

use super::label_folder::LabelFolder;
use super::page::{CARD, open, wait};
use crate::report::browser::Browser;

fn waiting(person: &str) -> LabelFolder {
    let place = LabelFolder::new();
    let job = "candidates = \"answers.jsonl\"\nbudget = 100\nunit = \"dollars\"\ndelta = 0.1\nseed = 1\n\
        [[verifiers]]\nname = \"expert\"\nkind = \"human\"\nprice = 2\nask = \"Is this sum right?\"\n";
    place.run(&format!("{job}{person}\n"), &["--again", "--no-wait", "--quiet"]);
    place
}

#[test]
fn cards_that_a_run_waits_for_come_first_and_the_run_goes_on_with_what_was_said() {
    let place = waiting("scores = \"exact\"");
    assert!(place.label(&["--status"]).contains("20 answers wait for a person"));
    let told = place.typed(&["--by", "anna"], "r\nr\nu\nw\nq\n");
    assert!(told.contains("Is this sum right?"), "{told}");
    assert!(told.contains("nothing that could be taken back"), "{told}");
    assert!(place.label(&["--status"]).contains("17 answers wait"), "three are answered");
    let cards = place.argument("cards.csv");
    place.label(&["--export", &cards]);
    let sheet = place.read("cards.csv");
    assert!(sheet.starts_with("place,id,key,asks,"), "{sheet}");
    // Nothing is fixed about their order: the first row is left out.
    let rows: Vec<String> = sheet.lines().skip(2).map(|row| format!("{row}right\n")).collect();
    let header = sheet.lines().next().expect("a header");
    let file = place.file("filled.csv", &format!("{header}\n{}", rows.concat()));
    let told = place.label(&["--import", &file, "--by", "bo"]);
    assert!(told.starts_with("16 labels taken\n"), "{told}");
    let again = place.label(&["--import", &file, "--by", "bo"]);
    assert!(again.starts_with("0 labels taken, 16 rows known before\n"), "{again}");
    place.typed(&["--by", "bo"], "s\n");
    let job = place.read("job.toml");
    place.run(&job, &["--resume", "--no-wait", "--quiet"]);
    assert_eq!(place.read("run/certified.jsonl").lines().count(), 18);
    place.assert_clean();
    // Nothing waits any more, so it is about the claim.
    assert_eq!(place.label(&["--status"]), "there are no labels yet\n");
    assert!(place.label(&["--status", "--people"]).contains("0 answers wait"));
}

#[test]
fn scores_are_typed_as_numbers() {
    let place = waiting("scores = \"bounded\"\nthreshold = 0.5");
    let told = place.typed(&["--by", "anna"], "7\nright\n0.75\ns\n");
    assert_eq!(told.matches("expected a number from 0 to 1, or skip").count(), 2, "{told}");
    let replies = place.read("run/replies.jsonl");
    assert!(replies.contains("{\"score\":0.75}") && replies.contains("\"skip\""), "{replies}");
}

fn type_text(browser: &mut Browser, text: &str) {
    browser.call("Input.insertText", &json!({"text": text}));
    browser.settle();
}

#[test]
fn scores_and_answers_are_given_on_the_page_by_keys_alone() {
    let place = waiting("scores = \"bounded\"\nthreshold = 0.5");
    let desk = place.page(&[]);
    let mut browser = open("label-score", &desk.address, "anna");
    let first = browser.text(CARD);
    wait(&mut browser, "document.activeElement.id === 'said'");
    type_text(&mut browser, "7");
    browser.press("Enter", 13);
    let fault = browser.text("document.querySelector('.fault').textContent");
    assert_eq!(fault, "A number from 0 to 1 is needed.");
    browser.value("document.activeElement.value = ''");
    type_text(&mut browser, "0,25");
    browser.press("Enter", 13);
    wait(&mut browser, &format!("{CARD} !== {}", json!(first)));
    let second = browser.text(CARD);
    browser.press("s", 83);
    wait(&mut browser, &format!("{CARD} !== {}", json!(second)));
    desk.stop();
    let replies = place.read("run/replies.jsonl");
    assert!(replies.contains("{\"score\":0.25}") && replies.contains("\"skip\""), "{replies}");

    let question = json!({"id": "q1", "question": "Who <b>wrote</b> it?"});
    place.write("questions.jsonl", &format!("{question}\n"));
    let job = "questions = \"questions.jsonl\"\nbudget = 200\ndelta = 0.1\n[generator]\nkind = \"human\"\n\
        ask = \"Please answer.\"\n[[verifiers]]\nname = \"any\"\nkind = \"check\"\ncheck = \"regex\"\npattern = \".\"\n";
    place.run(job, &["--again", "--no-wait", "--quiet"]);
    let desk = place.page(&[]);
    let mut browser = open("label-answer", &desk.address, "anna");
    wait(&mut browser, "document.activeElement.id === 'said'");
    type_text(&mut browser, "It was r,");
    browser.press("Enter", 13);
    type_text(&mut browser, "<i>Ann</i>.");
    // A reload in the middle loses nothing.
    browser.navigate("about:blank");
    browser.navigate(&desk.address);
    wait(&mut browser, "document.activeElement.id === 'said'");
    let control = json!({"type": "keyDown", "key": "Enter", "code": "Enter", "modifiers": 2, "windowsVirtualKeyCode": 13});
    browser.call("Input.dispatchKeyEvent", &control);
    wait(&mut browser, "document.querySelector('.nothing') !== null");
    desk.stop();
    let replies = place.read("run/replies.jsonl");
    assert!(replies.contains("{\"answer\":\"It was r,\\n<i>Ann</i>.\"}"), "{replies}");
    place.run(job, &["--resume", "--no-wait", "--quiet"]);
    assert_eq!(place.read("run/certified.jsonl").lines().count(), 1);
    place.assert_clean();
}
