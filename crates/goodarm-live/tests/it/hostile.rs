//! Answers that are made to hold up a run.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use goodarm_live::run::Run;
use goodarm_live::try_calls;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::notice::Notice;

use crate::job_folder::JobFolder;
use crate::observer::on_notice;

/// Answers that each take a check its whole time limit.
fn place(count: usize) -> JobFolder {
    let place = JobFolder::new(0);
    let answer = "a".repeat(1_000_000);
    let line = |index: usize| format!("{{\"id\": {index}, \"answer\": \"{answer}\"}}\n");
    place.write("answers.jsonl", &(0..count).map(line).collect::<String>());
    place.write("job.toml", JOB);
    place
}

const JOB: &str = r#"
candidates = "answers.jsonl"
budget = 1
delta = 0.1
output = "run"

[[verifiers]]
name = "last"
kind = "check"
check = "final-answer"
extract = "regex"
pattern = "a.*b|a"
"#;

/// Stops a run several times, a while after its first call began; how it ended, and how long after the first stop.
fn stop(run: &mut Run, times: usize) -> (Ending, Duration) {
    let control = Arc::new(Control::default());
    let (busy, is_busy) = channel();
    let stopper = {
        let control = Arc::clone(&control);
        thread::spawn(move || {
            is_busy.recv().expect("the run makes calls");
            thread::sleep(Duration::from_millis(200));
            let stopped = Instant::now();
            (0..times).for_each(|_| control.stop());
            stopped
        })
    };
    let mut observer = on_notice(|notice| {
        if let Notice::Progress(progress) = notice
            && progress.overview.in_flight > 0
        {
            // Only the first message is received.
            let _ = busy.send(());
        }
    });
    let ending = run.drive(&control, &mut observer).expect("the run ends");
    (ending, stopper.join().expect("it stops the run").elapsed())
}

#[test]
fn a_run_with_slow_checks_stops_at_once() {
    let place = place(20);
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let (ending, took) = stop(&mut run, 2);
    assert_eq!(ending, Ending::Stopped { at_once: true });
    assert!(took < Duration::from_secs(10), "{took:?}");
    drop(run);
    // Those that were under way are lost, and can be made again. The others are not begun.
    let mut run = Run::resume(place.good_job()).expect("it continues");
    let (ending, took) = stop(&mut run, 1);
    assert_eq!(ending, Ending::Stopped { at_once: false });
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert_eq!(run.session().books().in_flight_count(), 0);
}

#[test]
fn answers_beyond_a_limit_do_not_pass_and_the_check_still_works() {
    let place = place(6);
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let ending = run.drive(&Control::default(), &mut ()).expect("the run ends");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(run.session().certified().len(), 0);
    assert_eq!(run.account().services[0].outcomes.score_count(), 6);
    let trials = try_calls::try_out(run.job(), &[goodarm_core::ArmId(3)], &Control::default());
    let trial = &trials.expect("a trial")[0];
    assert_eq!(trial.score, Some(0.0));
    assert!(trial.reply.contains("too much work"), "{}", trial.reply);
    run.write_outputs(&ending).expect("outputs");
    drop(run);
    assert!(place.read("run/calls.jsonl").contains("too much work"));
    place.assert_clean();
}
