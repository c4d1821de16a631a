//! Tens of thousands of calls in flight at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use goodarm_core::Cost;
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_live::job::{Job, JobSettings, JobSpec, ServiceSpec};
use goodarm_live::open_files;
use goodarm_live::run::Run;
use goodarm_live::service::attempt::{Attempt, attempts};
use goodarm_live::service::{CallFuture, REPLY_BYTES_MAX, Remote, Reply};
use goodarm_live::throttle::Throttle;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::journal::{OpenedJournal, open};
use tokio::sync::Semaphore;

use crate::job_folder::JobFolder;

/// Answers no call until this many wait for it, and then all.
struct Gate {
    wanted: usize,
    reply_bytes: usize,
    calls: AtomicUsize,
    open: Semaphore,
    control: Arc<Control>,
}

impl Gate {
    async fn pass(&self) -> Reply {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        if number + 1 == self.wanted + AT_ONCE {
            self.control.stop();
            self.open.close();
        } else if number >= AT_ONCE {
            // It is closed when all are there.
            let _ = self.open.acquire().await;
        }
        Reply { text: "x".repeat(self.reply_bytes), ..Reply::score(1.0) }
    }
}

impl Remote for Gate {
    fn preview(&self, _: &Candidate) -> String {
        String::new()
    }

    fn call<'a>(&'a self, _: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async move {
            let pass = || async { Attempt::Answered(self.pass().await) };
            attempts(throttle, pass).await.unwrap_or_else(|reply| reply)
        })
    }
}

fn gate(wanted: usize, reply_bytes: usize, control: &Arc<Control>) -> Gate {
    let calls = AtomicUsize::new(0);
    let (open, control) = (Semaphore::new(0), Arc::clone(control));
    Gate { wanted, reply_bytes, calls, open, control }
}

/// A run of this verifier with this concurrency.
fn begin(place: &JobFolder, concurrency: usize, gate: Gate, rate: Option<f64>) -> Run {
    let lines: Vec<String> = (0..concurrency).map(|it| format!(r#"{{"id": {it}}}"#)).collect();
    let candidates = Candidates::from_lines(lines.iter().map(String::as_str), "id");
    let candidates = candidates.expect("candidates");
    let threshold = Some(0.5);
    let gate = ServiceSpec { threshold, rate, ..ServiceSpec::new("gate", gate) };
    let settings = JobSettings {
        concurrency,
        output: place.path().join("run"),
        // Calls in flight may cost 2 % of it.
        ..JobSettings::new(Cost::from_units(100 * concurrency as u64), 0.1)
    };
    let job = Job::new(JobSpec { settings, candidates, verifiers: vec![gate], questions: None })
        .expect("a job");
    Run::begin(Arc::new(job)).expect("a new run")
}

/// A run that is stopped when this many calls are in flight.
fn run(place: &JobFolder, wanted: usize, reply_bytes: usize) -> Run {
    let control = Arc::<Control>::default();
    let mut run = begin(place, wanted, gate(wanted, reply_bytes, &control), None);
    let ending = run.drive(&control, &mut ()).expect("the run ends");
    assert_eq!(ending, Ending::Stopped { at_once: false });
    run
}

#[test]
fn twenty_thousand_calls_are_in_flight_at_once() {
    let place = JobFolder::new(0);
    let begin = Instant::now();
    let run = run(&place, 20_000, 0);
    assert!(run.account().call_count() >= 20_000, "{}", run.account().call_count());
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    run.write_outputs(&Ending::Stopped { at_once: false }).expect("outputs");
    drop(run);
    place.assert_clean();
}

/// A frame holds 1 GiB at most, and all replies together may be more.
#[test]
fn what_comes_back_at_once_is_written_in_several_frames() {
    let place = JobFolder::new(0);
    let run = run(&place, 4_000, REPLY_BYTES_MAX);
    drop(run);
    let Ok(OpenedJournal::Begun(mut reader)) = open(&place.journal()) else { panic!("a journal") };
    let mut offsets = Vec::new();
    while let Some((position, _)) = reader.next_record().expect("a whole journal") {
        offsets.push(position.offset);
    }
    offsets.push(reader.finish().expect("a whole journal").len_valid);
    let longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().expect("records");
    assert!(longest < 20 << 20, "a frame of {longest} bytes");
}

/// They come back void, all at once, and are made first when the run continues.
#[test]
fn calls_that_wait_for_their_turn_leave_at_once_when_a_run_stops() {
    let place = JobFolder::new(0);
    let control = Arc::<Control>::default();
    let mut run = begin(&place, 20_000, gate(1, 0, &control), Some(100.0));
    let began = Instant::now();
    let ending = run.drive(&control, &mut ()).expect("the run ends");
    assert_eq!(ending, Ending::Stopped { at_once: false });
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let call_count = run.account().call_count();
    assert!(call_count < 1000, "{call_count}");
    assert_eq!(run.session().books().in_flight_count(), 0);
    run.write_outputs(&Ending::Stopped { at_once: false }).expect("outputs");
    drop(run);
    place.assert_clean();
}

#[test]
fn more_calls_than_one_process_can_have_are_refused() {
    let settings =
        |concurrency| JobSettings { concurrency, ..JobSettings::new(Cost::from_units(9), 0.1) };
    let job = |concurrency| {
        let candidates = Candidates::from_lines([r#"{"id": 1}"#], "id").expect("one");
        let verifiers = Vec::new();
        Job::new(JobSpec {
            settings: settings(concurrency),
            candidates,
            verifiers,
            questions: None,
        })
        .err()
    };
    let text = |concurrency| job(concurrency).expect("it has no verifier").to_string();
    assert!(!text(65_536).contains("concurrency"), "{}", text(65_536));
    assert!(text(65_537).contains("65537 is not between 1 and 65536"), "{}", text(65_537));
}

/// No machine has this many, so the error has the number that there are.
#[test]
fn sockets_that_there_cannot_be_are_said() {
    assert_eq!(open_files::make_room(1), Ok(()));
    let Err(shortage) = open_files::make_room(usize::MAX) else { panic!("usize::MAX files") };
    assert!(shortage.contains(&format!("(ulimit -n {})", usize::MAX)), "{shortage}");
    assert!(!shortage.contains("the system allows 0:"), "{shortage}");
}

/// This many calls end the trial of a verifier.
const AT_ONCE: usize = 5;
