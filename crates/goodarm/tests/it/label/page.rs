//! The page in a real browser, and who is let in.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::label_folder::{LabelFolder, hostile_folder};
use crate::report::browser::Browser;
use crate::served_page::PATIENCE;

pub(super) fn wait(browser: &mut Browser, condition: &str) {
    let started = Instant::now();
    while browser.value(condition) != true {
        assert!(started.elapsed() < PATIENCE, "{condition}: {:?}", browser.complaints);
        thread::sleep(Duration::from_millis(30));
    }
    browser.settle();
}

/// Opens the page as somebody, by keys alone.
pub(super) fn open(name: &str, address: &str, by: &str) -> Browser {
    let mut browser = Browser::start(name);
    browser.navigate(address);
    wait(&mut browser, "document.activeElement.id === 'name'");
    browser.value(&format!("document.activeElement.value = {}", json!(by)));
    browser.press("Enter", 13);
    wait(&mut browser, "document.querySelector('#card h1') !== null");
    if browser.value("document.activeElement.id === 'begin'") == true {
        browser.press("Enter", 13);
        wait(&mut browser, "document.getElementById('begin') === null");
    }
    browser
}

pub(super) const CARD: &str = "document.querySelector('#card .id')?.textContent";
const DONE: &str = "Number(document.getElementById('track').getAttribute('aria-valuenow'))";
const LAST: &str = "document.getElementById('last').textContent";

/// Presses a key, and waits until so many cards have their labels.
fn press(browser: &mut Browser, key: &str, done: usize) {
    browser.press(key, 0);
    wait(browser, &format!("{DONE} === {done}"));
}

#[test]
fn a_run_of_hostile_answers_is_labelled_by_keys_and_nothing_in_it_runs() {
    let place = hostile_folder();
    let desk = place.page(&["--by", "<b>\u{202e}anna"]);
    let mut browser = open("label", &desk.address, "<b>\u{202e}anna");
    let first = browser.text(CARD);
    let shown = browser.text("document.getElementById('card').textContent");
    assert!(
        !shown.contains("threshold") && !browser.text(LAST).contains("threshold"),
        "it would lead"
    );
    press(&mut browser, "ArrowRight", 1);
    assert!(browser.text(LAST).contains("you said right about"), "{}", browser.text(LAST));
    assert!(browser.text(LAST).contains("threshold"), "the evidence, behind the label");
    assert_ne!(browser.text(CARD), first);
    assert!(
        browser.text("document.getElementById('live').textContent").starts_with("Kept: right.")
    );
    press(&mut browser, "u", 0);
    assert_eq!(browser.text(CARD), first, "the card is back");
    press(&mut browser, "w", 1);
    let all = usize::try_from(place.status()["all"].as_u64().expect("a count")).expect("few");
    let mut seen = shown;
    for done in 2..=all {
        seen += &browser.text("document.getElementById('card').textContent");
        let title = browser.text("document.title");
        assert_eq!(title, format!("{} of {all} labelled", done - 1));
        let more = "document.querySelector('.more')?.click()";
        browser.value(more);
        press(&mut browser, ["r", "s", "ArrowRight"][done % 3], done);
    }
    assert!(seen.contains("<script>document.title='owned'</script>"), "shown as text");
    assert!(seen.contains("U+202E") && !seen.contains('\u{202e}'), "what is hidden is shown");
    assert!(seen.len() < 2_000_000 && seen.contains("more of "), "a long text is cut");
    wait(&mut browser, "document.querySelector('.nothing') !== null");
    browser.value("document.getElementById('done').click()");
    let kept = browser.text("document.getElementById('dialog').textContent");
    assert!(
        kept.contains("All labels are on the disk") && kept.contains("goodarm label"),
        "{kept}"
    );
    assert_eq!(browser.value("document.querySelectorAll('img, iframe, object, embed').length"), 0);
    assert_eq!(browser.value("document.scripts.length"), 1);
    assert_eq!(browser.complaints, Vec::<String>::new());
    let told = desk.stop();
    assert!(told.contains("labels") && told.contains("report: "), "{told}");
    assert_eq!(place.claim()["labels"], all);
    assert_eq!(place.claim()["changed"], 1);
    place.assert_clean();
}

#[test]
fn the_terms_come_before_the_order_and_right_looks_like_wrong() {
    let place = LabelFolder::new();
    let desk = place.page(&["--delta", "0.02"]);
    let mut browser = Browser::start("label-terms");
    browser.navigate(&desk.address);
    wait(&mut browser, "document.activeElement.id === 'name'");
    browser.press("Enter", 13);
    wait(&mut browser, "document.activeElement.id === 'begin'");
    let shown = browser.text("document.getElementById('card').textContent");
    for term in ["20 certified answers", "delta is 0.02", "1 person labels", "hidden: gold"] {
        assert!(shown.contains(term), "{term}: {shown}");
    }
    browser.press("r", 0);
    browser.press("u", 0);
    let held = json!({"type": "keyDown", "key": "Enter", "text": "\r", "windowsVirtualKeyCode": 13, "autoRepeat": true});
    browser.call("Input.dispatchKeyEvent", &held);
    browser.settle();
    assert_eq!(place.begun(), 0, "neither a look nor a key draws the order");
    browser.press("Enter", 13);
    wait(&mut browser, &format!("{CARD} !== undefined"));
    assert_eq!(place.begun(), 1);
    assert!(!browser.text("document.getElementById('card').textContent").contains("gold"));
    let style = |name: &str| {
        format!(
            "(({{width, height}}, s) => [Math.round(width), height, s.color, s.backgroundColor, s.borderColor, s.fontWeight].join())(...[document.querySelector('.say.{name}')].flatMap((b) => [b.getBoundingClientRect(), getComputedStyle(b)]))"
        )
    };
    assert_eq!(browser.text(&style("right")), browser.text(&style("wrong")));
    assert_eq!(browser.value("document.getElementById('undo')"), json!(null), "nothing to undo");
    press(&mut browser, "r", 1);
    assert_eq!(browser.value("document.getElementById('undo') !== null"), true);
    desk.stop();
}

#[test]
fn two_people_at_once_are_two_people_and_a_held_key_labels_one_card() {
    let place = LabelFolder::new();
    let desk = place.page(&["--labels", "2"]);
    let mut anna = open("label-anna", &desk.address, "anna");
    let mut bo = open("label-bo", &desk.address, "bo");
    assert_eq!(anna.text(CARD), bo.text(CARD));
    let first = anna.text(CARD);
    anna.press("r", 0);
    wait(&mut anna, &format!("{CARD} !== {}", json!(first)));
    assert_eq!(anna.value(DONE), 0, "bo has not labelled it");
    assert_eq!(bo.text(CARD), first);
    press(&mut bo, "w", 1);
    let second = bo.text(CARD);
    for (kind, repeat) in
        [("keyDown", false), ("keyDown", true), ("keyDown", true), ("keyUp", false)]
    {
        let event = json!({"type": kind, "key": "r", "code": "KeyR", "autoRepeat": repeat});
        bo.call("Input.dispatchKeyEvent", &event);
        bo.settle();
    }
    wait(&mut bo, &format!("{CARD} !== {}", json!(second)));
    desk.stop();
    let claim = place.claim();
    assert_eq!((&claim["labels"], &claim["disagreements"]), (&1.into(), &1.into()), "{claim}");
    let counts: Vec<_> = claim["labellers"]
        .as_array()
        .expect("people")
        .iter()
        .map(|it| (&it["name"], &it["labels"]))
        .collect();
    assert_eq!(counts, [(&json!("anna"), &json!(1)), (&json!("bo"), &json!(2))]);
}

/// One label is enough, and both look at the same card.
#[test]
fn who_is_second_is_told_and_gets_the_next_card() {
    let place = LabelFolder::new();
    let desk = place.page(&[]);
    let mut anna = open("label-first", &desk.address, "anna");
    let mut bo = open("label-second", &desk.address, "bo");
    let first = anna.text(CARD);
    press(&mut anna, "r", 1);
    assert_eq!(bo.text(CARD), first, "it is not taken away from under his eyes");
    bo.press("w", 0);
    wait(&mut bo, &format!("{CARD} !== {}", json!(first)));
    let alert = bo.text("document.getElementById('alert').textContent");
    assert!(alert.contains("\"anna\" has said something about"), "{alert}");
    press(&mut bo, "w", 2);
    assert_eq!(bo.value("document.getElementById('alert').childElementCount"), 0);
    desk.stop();
    assert_eq!((&place.claim()["right"], &place.claim()["wrong"]), (&1.into(), &1.into()));
}

#[test]
fn it_fits_a_phone_and_says_loudly_what_was_not_kept() {
    let place = LabelFolder::new();
    let desk = place.page(&[]);
    let mut browser = open("label-phone", &desk.address, "me");
    let phone = json!({"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", &phone);
    browser.settle();
    assert_eq!(browser.value("document.documentElement.scrollWidth"), 360, "nothing is wider");
    let small = "[...document.querySelectorAll('#actions button')].filter(it => it.offsetHeight < 48).length";
    assert_eq!(browser.value(small), 0, "buttons for fingers");
    let in_sight =
        "document.querySelector('.say.right').getBoundingClientRect().bottom <= innerHeight";
    assert_eq!(browser.value(in_sight), true);
    browser.value("document.querySelector('.say.right').click()");
    wait(&mut browser, &format!("{DONE} === 1"));
    let card = browser.text(CARD);
    desk.kill();
    browser.value("document.querySelector('.say.wrong').click()");
    wait(&mut browser, "document.querySelector('#alert .loud') !== null");
    let alert = browser.text("document.getElementById('alert').textContent");
    assert!(alert.contains("not kept") && alert.contains("goodarm label "), "{alert}");
    assert_eq!(browser.text(CARD), card, "it stays where it is");
    let desk = place.page(&[]);
    let mut browser = open("label-again", &desk.address, "me");
    assert_eq!(browser.text(CARD), card, "and comes again");
    press(&mut browser, "ArrowLeft", 2);
    desk.stop();
    assert_eq!((&place.claim()["right"], &place.claim()["wrong"]), (&1.into(), &1.into()));
    place.assert_clean();
}

#[test]
fn only_our_own_page_can_label() {
    let place = LabelFolder::new();
    let desk = place.page(&[]);
    let host = desk.host().to_owned();
    let (own, origin) = (format!("host: {host}"), format!("origin: http://{host}"));
    let state = desk.ask("POST", "begin", &[&own, &origin], "{\"by\": \"me\"}");
    assert!(state.starts_with("HTTP/1.1 200"), "{state}");
    let body = state.split_once("\r\n\r\n").expect("a body").1;
    let state: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let say = json!({"by": "me", "key": state["card"]["key"], "said": "right"}).to_string();
    let nothing = "HTTP/1.1 404 Not Found\r\n";
    let long = format!("{{\"by\": \"{}\"}}", "x".repeat(20_000));
    for (method, path, headers, body) in [
        ("POST", "say", vec![own.as_str()], say.as_str()),
        ("GET", "say", vec![&own, &origin], &say),
        ("POST", "say", vec![&own, "origin: http://evil.example"], &say),
        ("POST", "say", vec![&own, &origin, "sec-fetch-site: cross-site"], &say),
        ("POST", "say", vec!["host: evil.example", &origin], &say),
        ("POST", "say", vec![&own, &origin], "{}"),
        ("POST", "say?x", vec![&own, &origin], &say),
        ("POST", "state", vec![&own, &origin], &long),
        ("GET", "state", vec![&own, &origin], "{\"by\": \"me\"}"),
        ("POST", "undo", vec![&own], "{\"by\": \"me\"}"),
        ("POST", "begin", vec![&own], "{\"by\": \"me\"}"),
    ] {
        let reply = desk.ask(method, path, &headers, body);
        assert!(reply.starts_with(nothing), "{method} {path} {headers:?}: {reply}");
    }
    assert_eq!(place.status()["done"], 0);
    let kept = desk.ask("POST", "say", &[&own, "sec-fetch-site: same-origin"], &say);
    assert!(kept.starts_with("HTTP/1.1 200") && kept.contains("\"done\":1"), "{kept}");
    let head = kept.split("\r\n\r\n").next().expect("a head").to_lowercase();
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(head.contains("cache-control: no-store") && !head.contains("access-control"), "{head}");
    desk.kill();
    assert_eq!(place.status()["done"], 1, "it was confirmed");
}
