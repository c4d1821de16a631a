//! The page, byte by byte and in a browser.

use std::fs;

use super::browser::Browser;
use super::hostile;
use super::run::Run;

const TAB: (&str, u32) = ("Tab", 9);
const ENTER: (&str, u32) = ("Enter", 13);
const ESCAPE: (&str, u32) = ("Escape", 27);
const DOWN: (&str, u32) = ("ArrowDown", 40);
const END: (&str, u32) = ("End", 35);

/// Everything that is between `<` and the end of a name or sign, lower case.
fn markup(page: &str) -> Vec<String> {
    page.split('<')
        .skip(1)
        .map(|rest| rest.chars().take(12).collect::<String>().to_lowercase())
        .collect()
}

#[test]
fn hostile_texts_stay_inside_their_blocks() {
    let page = hostile::run("bytes").page();
    let count = |text: &str| page.to_lowercase().matches(text).count();
    let blocks = count("<script type=\"application/json\" id=\"");
    assert_eq!(count("<script"), blocks + 1, "one script that runs");
    assert_eq!(count("</script"), blocks + 1);
    for tag in ["<img", "<iframe", "<svg onload", "<!--", "<b>", "<object", "<link", "<base"] {
        assert_eq!(count(tag), 0, "{tag}");
    }
    assert!(markup(&page).iter().all(|tag| !tag.starts_with("scri")
        || tag.starts_with("script>")
        || tag.starts_with("script type")));
    for hidden in [
        '\0',
        '\u{7}',
        '\u{1b}',
        '\u{202e}',
        '\u{2066}',
        '\u{2028}',
        '\u{feff}',
        '\u{e0041}',
        '\u{85}',
    ] {
        assert!(!page.contains(hidden), "{hidden:?}");
    }
    assert!(page.len() < 500_000, "an answer of a million bytes is cut: {}", page.len());
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert!(
        !page.contains("http://")
            || page.matches("http://").count()
                == page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(!page.contains("https://"));
}

#[test]
fn hostile_texts_do_nothing_in_a_browser() {
    let run = hostile::run("shown");
    run.page();
    let mut browser = Browser::start("hostile");
    browser.open(&run.path("report.html"), "");
    let title = browser.text("document.title");
    assert!(title.contains(" answers certified"), "{title}");
    let total = browser.value("document.querySelectorAll('.row').length").as_u64().unwrap();
    assert!(total >= 8, "{total} rows");
    // Open every answer, one after the other, as a person would.
    browser.value("document.querySelector('.row').click()");
    for _ in 0..18 {
        browser.settle();
        assert_eq!(browser.text("document.title"), title);
        let next = "document.querySelector('.dhead button[aria-label=\"Next answer\"]')";
        if browser.value(&format!("{next}.disabled")) == true {
            break;
        }
        browser.value(&format!("{next}.click()"));
    }
    assert_eq!(browser.text("document.title"), title);
    assert_eq!(
        browser.value("document.querySelectorAll('img, iframe, object, embed, link').length"),
        0
    );
    assert_eq!(browser.value("document.querySelectorAll('script:not([type])').length"), 1);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The two things that the other tests rely on: the browser does run scripts, and the page's policy
/// stops one that got into the page all the same.
#[test]
fn a_script_that_got_in_does_not_run() {
    let run = Run::ordinary("got-in");
    let script =
        "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">";
    let plain = run.path("plain.html");
    fs::write(&plain, format!("<title>fine</title>{script}")).unwrap();
    let page = run.page();
    fs::write(run.path("report.html"), page.replace("</body>", &format!("{script}</body>")))
        .unwrap();
    let mut browser = Browser::start("got-in");
    browser.open(&plain, "");
    assert_eq!(browser.text("document.title"), "owned");
    browser.complaints.clear();
    browser.open(&run.path("report.html"), "");
    let title = browser.text("document.title");
    assert!(title.contains(" answers certified"), "{title}");
    assert!(browser.complaints.iter().any(|text| text.contains("Content Security Policy")));
}

#[test]
fn what_is_hidden_in_a_text_is_shown() {
    let run = hostile::run("hidden");
    run.page();
    let mut browser = Browser::start("hidden");
    browser.open(&run.path("report.html"), "q=nigol");
    assert_eq!(browser.value("document.querySelectorAll('.row').length"), 1);
    let shown = browser.text("document.querySelector('.row').textContent");
    assert!(shown.contains("U+202E") && !shown.contains('\u{202e}'), "{shown}");
    browser.open(&run.path("report.html"), "open=big");
    let body = browser.text("document.querySelector('.dbody').textContent");
    assert!(body.contains("… cut: 1,000,0"), "the cut is told");
    assert!(body.len() < 60_000);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn an_address_says_what_is_shown() {
    let run = Run::ordinary("address");
    run.page();
    let page = run.path("report.html");
    let mut browser = Browser::start("address");
    browser.open(&page, "status=rejected&sort=-calls");
    let states = "[...new Set([...document.querySelectorAll('.row .status')].map(e => e.textContent))].join()";
    assert_eq!(browser.text(states), "rejected");
    assert_eq!(
        browser.text("document.querySelector('[aria-sort=descending]').textContent"),
        "Calls"
    );
    browser.open(&page, "q=SUM-17&open=sum-17");
    assert_eq!(browser.value("document.querySelectorAll('.row').length"), 1);
    assert_eq!(browser.value("document.querySelector('dialog').open"), true);
    let body = browser.text("document.querySelector('dialog').textContent");
    assert!(
        body.contains("sum-17")
            && body.contains("What is the sum of 19 and 20?")
            && body.contains("judge"),
        "{body}"
    );
    // A click filters, and the address follows.
    browser.open(&page, "");
    browser.value("document.querySelector('[data-status=certified]').click()");
    browser.settle();
    assert_eq!(browser.text("location.hash"), "#status=certified");
    assert_eq!(browser.text(states), "certified");
    // Nonsense in the address is no reason to fail.
    browser.open(&page, "status=x&sort=v99&open=nobody&q=%FF%00");
    assert_eq!(
        browser.text("document.querySelector('.none').textContent"),
        "No answer is like that."
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_keyboard_is_enough() {
    let run = Run::sums("keyboard", 3000);
    run.page();
    let mut browser = Browser::start("keyboard");
    browser.open(&run.path("report.html"), "");
    let rows = browser.value("document.querySelectorAll('.row').length").as_u64().unwrap();
    assert!((5..60).contains(&rows), "only the rows in sight exist: {rows}");
    let mut tabs = 0;
    while browser.value("document.activeElement.className === 'row'") != true {
        browser.press(TAB.0, TAB.1);
        tabs += 1;
        assert!(tabs < 40, "no row is reached by the tabulator");
    }
    assert_eq!(browser.value("document.activeElement.matches(':focus-visible')"), true);
    browser.press(DOWN.0, DOWN.1);
    assert_eq!(browser.text("document.activeElement.dataset.place"), "1");
    browser.press(END.0, END.1);
    assert_eq!(browser.text("document.activeElement.dataset.place"), "2999");
    let inside = "(() => { const r = document.activeElement.getBoundingClientRect(), t = document.querySelector('.table').getBoundingClientRect(); return r.top >= t.top && r.bottom <= t.bottom + 1; })()";
    assert_eq!(browser.value(inside), true);
    browser.press(ENTER.0, ENTER.1);
    assert_eq!(browser.value("document.querySelector('dialog').open"), true);
    browser.press(ESCAPE.0, ESCAPE.1);
    assert_eq!(browser.value("document.querySelector('dialog').open"), false);
    assert_eq!(browser.text("document.activeElement.dataset.place"), "2999", "back where it was");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The table of answers with a check and four judges, on a screen and on a phone.
#[test]
fn five_verifiers_fit_a_small_screen() {
    let run = Run::ordinary("five");
    let (recording, job) = (run.root().join("recording.jsonl"), run.root().join("job.toml"));
    let (mut lines, mut keys) =
        (fs::read_to_string(&recording).unwrap(), fs::read_to_string(&job).unwrap());
    let of_judge: String = lines.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let table = keys[keys.rfind("[[verifiers]]").unwrap()..].to_owned();
    for name in ["majority of five", "judge of style and tone", "unit tests in a sandbox"] {
        lines += &of_judge.replace("\"judge\"", &format!("\"{name}\""));
        keys += &table.replace("\"judge\"", &format!("\"{name}\""));
    }
    fs::write(&recording, lines).unwrap();
    fs::write(&job, keys).unwrap();
    let output = run.root().join("five");
    let of = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let ran = crate::tool::goodarm(&["run", &of(&job), "--quiet", "--output", &of(&output)]);
    assert_eq!(ran.status.code(), Some(0), "{}", crate::tool::message(&ran));
    let mut browser = Browser::start("five");
    for width in [1280, 390] {
        let screen = serde_json::json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        browser.call("Emulation.setDeviceMetricsOverride", &screen);
        browser.open(&output.join("report.html"), "");
        assert_eq!(
            browser.value("document.querySelectorAll('.row')[0].querySelectorAll('.pic').length"),
            5
        );
        let overflow = "(() => { const t = document.querySelector('.table'); return t.scrollWidth - t.clientWidth; })()";
        assert_eq!(browser.value(overflow), 0, "at {width} pixels");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn without_scripts_there_is_the_text() {
    let run = Run::ordinary("scriptless");
    run.page();
    let mut browser = Browser::start("scriptless");
    browser.call("Emulation.setScriptExecutionDisabled", &serde_json::json!({"value": true}));
    browser.load(&run.path("report.html"), "");
    let shown = browser.text("document.body.innerText");
    assert!(shown.contains("Where the money went"), "{shown}");
}
