//! What people's labels prove leads the report, whatever they call themselves.

use goodarm_record::card_queue::{CardQueue as _, CardReply};
use goodarm_record::folder::Folder;
use goodarm_record::journal;
use goodarm_record::labels::{ClaimQueue, ClaimTerms};
use goodarm_report::{Report, publish_claim};

use super::browser::Browser;
use super::hostile;
use super::run::Run;
use crate::tool::{goodarm, text};

const NAME: &str = "</script><img src=x onerror=\"document.title='owned'\"> \u{202e}\u{1b}[2J";

/// Labels so many certified answers, all of them right.
fn label(run: &Run, count: usize) {
    let folder = Folder::new(&run.root().join("run"));
    let mut queue =
        ClaimQueue::open(&folder, &ClaimTerms::default()).expect("the run has certified answers");
    for card in queue.upcoming(NAME, count).expect("there are cards") {
        queue.submit(NAME, &card.key, CardReply::Right).expect("the card is next");
    }
    drop(queue);
    publish_claim(&folder).expect("the folder takes files").expect("the run is over");
}

/// How often the journal is read to its end meanwhile.
fn passes(work: impl FnOnce()) -> u64 {
    let before = journal::passes();
    work();
    journal::passes() - before
}

#[test]
fn a_claim_is_published_in_one_pass_through_the_journal() {
    for run in [Run::ordinary("claim-pass"), Run::questions("claim-pass-questions", 6)] {
        let folder = Folder::new(&run.root().join("run"));
        label(&run, 1);
        let before = run.read("report.html");
        let publish = || drop(publish_claim(&folder).expect("the folder takes files"));
        assert_eq!(passes(publish), 1);
        assert_eq!(run.read("report.html"), before, "nothing was labelled since");
        // What was read without the page's calls reads them from the journal: the count can be wrong.
        let again = run.path("again.html");
        let write = || {
            let report = Report::read(folder.path()).expect("a run");
            report.write_page(Some(&again)).expect("the folder takes files");
        };
        assert_eq!(passes(write), 2);
        assert_eq!(run.read("again.html"), before);
        let write = || {
            let report = Report::read_for_page(folder.path()).expect("a run");
            report.write_page(Some(&again)).expect("the folder takes files");
        };
        assert_eq!(passes(write), 1);
        assert_eq!(run.read("again.html"), before);
    }
}

#[test]
fn a_report_leads_with_what_labels_prove() {
    let run = Run::ordinary("claim");
    let before = run.page();
    assert!(!before.contains("with confidence"));
    label(&run, 10);
    let summary: serde_json::Value = serde_json::from_str(&run.read("summary.json")).unwrap();
    let statement = summary["claim"]["statement"].as_str().unwrap();
    assert!(statement.starts_with("with confidence 95 % at least "), "{statement}");
    assert!(statement.ends_with("certified answers are right (10 labels, 0 wrong)"), "{statement}");
    let told = text(&run.report(&["--text"]));
    let lead = told.lines().next().unwrap();
    assert_eq!(lead.replacen("With", "with", 1), format!("{statement}."));
    for part in ["  Labels by \"</script>", "(10); an answer is right if", "at random before"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told:?}");
    let report: serde_json::Value = serde_json::from_str(&text(&run.report(&["--json"]))).unwrap();
    assert_eq!(report["claim"], summary["claim"]);
    // The page that was there was written again with it.
    assert!(run.read("report.html").contains(statement));
    let folder = run.root().join("run");
    let audit = goodarm(&["audit", folder.to_str().unwrap()]);
    assert_eq!(audit.status.code(), Some(0), "{}", text(&audit));
    assert!(text(&audit).contains("labels.jsonl: claim 1 has 10 labels"), "{}", text(&audit));
    let resumed = run.go(&["--resume", "--quiet"]);
    assert!(resumed.starts_with(lead), "{resumed}");
}

#[test]
fn hostile_labellers_do_nothing_in_a_browser() {
    let run = hostile::run("claim-shown");
    label(&run, 4);
    let page = run.page();
    assert!(!page.contains("<img") && !page.contains(['\u{1b}', '\u{202e}']));
    let mut browser = Browser::start("claim");
    browser.open(&run.path("report.html"), "");
    let title = browser.text("document.title");
    assert!(title.contains(" answers certified"), "{title}");
    let claim = browser.text("document.querySelector('#claim').innerText");
    assert!(claim.starts_with("With confidence 95 % at least "), "{claim}");
    assert!(claim.contains("</script><img src=x onerror="), "{claim}");
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    // It is above everything else that the run has to say.
    let is_first = "document.querySelector('#claim').getBoundingClientRect().top < document.querySelector('#headline').getBoundingClientRect().top";
    assert_eq!(browser.value(is_first), true);
    assert_eq!(browser.complaints, Vec::<String>::new());
}
