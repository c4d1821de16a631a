//! Workers with unsolicited output: a run never continues with scores that may belong to other answers.

use goodarm_record::ending::Ending;
use goodarm_record::view::Overview;

use crate::job_folder::JobFolder;

fn run(shell: &str) -> (Ending, Overview) {
    let place = JobFolder::new(6);
    place.write(
        "job.toml",
        &format!(
            "candidates = \"answers.jsonl\"\nbudget = 400\ndelta = 0.05\nconcurrency = 2\n[[verifiers]]\nname = \"w\"\nkind = \"command\"\nworker = true\nscores = \"binary\"\nthreshold = 0.6\nshell = '''{shell}'''\n"
        ),
    );
    let (ending, overview) = place.run();
    place.assert_clean();
    (ending, overview)
}

const JUDGE: &str = r#"case "$line" in *right*) echo 1;; *) echo 0;; esac"#;

#[test]
fn a_worker_that_writes_late_lines_from_the_start_never_scores() {
    // goodarm waits for more output twice as long as the answer took.
    let late = "while read -r line; do sleep 0.3; JUDGE; sleep 0.05; echo 1; done";
    let (ending, overview) = run(&late.replace("JUDGE", JUDGE));
    let Ending::NeverScored(failed) = ending else { panic!("{ending:?}") };
    assert!(failed.reason.contains("Let it repeat the request's \"call\""), "{failed:?}");
    assert_eq!((overview.certified, overview.rejected), (0, 0));
}

#[test]
fn a_worker_that_begins_to_write_late_lines_ends_the_run_with_a_doubt() {
    let late = "n=0; while read -r line; do n=$((n+1)); JUDGE; [ $n -ge 6 ] && { sleep 0.02; echo 1; }; done";
    let (ending, overview) = run(&late.replace("JUDGE", JUDGE));
    assert_eq!(ending.name(), "mistrusted");
    let Ending::Mistrusted { verifier, reason } = &ending else { panic!("{ending:?}") };
    assert!(verifier == "w" && reason.contains("was not asked for"), "{reason}");
    assert!(overview.notes[0].contains("certificates may be wrong"), "{:?}", overview.notes);
    let doubt = overview.doubt.expect("it stands beside the promise");
    assert!(doubt.contains("about w"), "{doubt}");
}

#[test]
fn a_worker_that_writes_only_answers_is_trusted() {
    let (ending, overview) = run(&format!("while read -r line; do {JUDGE}; done"));
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!((overview.certified, overview.doubt), (4, None));
}
