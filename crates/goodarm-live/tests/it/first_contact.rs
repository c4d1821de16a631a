//! A verifier that does not work must not look like answers that are bad.

use std::time::Duration;

use goodarm_core::{ArmId, StopReason};
use goodarm_live::run::Run;
use goodarm_live::try_calls::{TryCall, suspicions, try_out};
use goodarm_record::audit;
use goodarm_record::control::Control;
use goodarm_record::ending::{Ending, NeverScored};
use goodarm_record::recording::Recording;
use goodarm_record::view::Overview;
use serde_json::{Value, json};

use crate::job_folder::JobFolder;
use crate::observer::stop_after;
use goodarm_testing::{Action, Request, Server};

/// A judge behind a chat endpoint that acts by a rule, and a job for it.
struct Judge {
    server: Server,
    place: JobFolder,
}

impl Judge {
    fn new(rest: &str, script: impl Fn(&Request, usize) -> Action + Send + Sync + 'static) -> Self {
        let server = Server::counting(script);
        let place = JobFolder::new(6);
        place.write(
            "job.toml",
            &format!(
                r#"
candidates = "answers.jsonl"
budget = 4000
unit = "calls"
delta = 0.1
concurrency = 64
[[verifiers]]
name = "judge"
kind = "llm"
url = "{}"
model = "gpt-5-nano-mistyped"
prompt = "Is this right? {{{{ answer }}}}"
threshold = 0.5
{rest}
"#,
                server.url("/v1")
            ),
        );
        Self { server, place }
    }

    fn requests(&self) -> usize {
        self.server.request_count()
    }
}

fn says(text: &str) -> Action {
    Action::Json(
        json!({"id": "x", "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1}}),
    )
}

fn verdict(seen: &Request) -> Action {
    says(if seen.body.contains("right? right") { "yes" } else { "no" })
}

fn refusal(status: u16, body: &str) -> Action {
    Action::Status(status, ("", String::new()), body.to_owned())
}

const NO_MODEL: &str = r#"{"error":{"message":"Invalid model name passed in model=gpt-5-nano-mistyped","type":"invalid_request_error"}}"#;

#[track_caller]
fn assert_never_scored(ending: Ending) -> NeverScored {
    match ending {
        Ending::NeverScored(failed) => *failed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_verifier_that_never_scores_stops_the_run_after_five_failures_of_any_kind() {
    let missing = json!({"choices": [{"message": {}, "finish_reason": "stop"}]});
    let other_api = json!({"completion": "yes", "stop_reason": "end_turn"});
    let failures: [(Action, &str, &str); 5] = [
        (refusal(400, NO_MODEL), "Invalid model name", NO_MODEL),
        (refusal(500, "boom"), "500: boom", "boom"),
        (Action::Json(other_api), "", "end_turn"),
        (Action::Json(missing), "", "finish_reason"),
        (says("I cannot say."), "", "I cannot say."),
    ];
    for (act, reason, reply) in failures {
        let judge = Judge::new("", move |_, _| act.clone());
        let (ending, overview) = judge.place.run();
        let failed = assert_never_scored(ending);
        assert!(failed.reason.contains(reason), "{failed:?}");
        assert!(failed.reply.contains(reply), "{failed:?}");
        // As it was sent, like `goodarm try` has it.
        assert!(failed.request.starts_with("POST http://127.0.0.1:"), "{failed:?}");
        assert!(failed.request.contains("\"content\":\"Is this right? "), "{failed:?}");
        assert_eq!((failed.verifier.as_str(), judge.requests()), ("judge", 5));
        assert_eq!((overview.certified, overview.rejected, overview.calls), (0, 0, 5));
        judge.place.assert_clean();
    }
}

#[test]
fn an_exact_verifier_that_fails_rejects_nobody() {
    let place = JobFolder::new(6);
    place.write(
        "job.toml",
        "candidates = \"answers.jsonl\"\nbudget = 100\ndelta = 0.1\n[[verifiers]]\nname = \"check\"\nkind = \"command\"\nshell = \"echo broken >&2; exit 3\"\nscores = \"exact\"\nthreshold = 0.5\n",
    );
    let (ending, overview) = place.run();
    let failed = assert_never_scored(ending);
    assert_eq!(failed.reason, "exit status: 3: broken");
    assert_eq!((overview.rejected, overview.undecided), (0, 6));
    let found = place.read("run/undecided.jsonl");
    assert!(found.contains(r#""mean":null"#) && !found.contains(r#""mean":0"#), "{found}");
    assert_eq!(place.audit().notes, overview.notes);
    let note = &overview.notes[0];
    assert!(note.starts_with("check has never given a score: 5 calls failed"), "{note}");
    assert!(note.contains("exit status: 3: broken"), "{note}");
    place.assert_clean();
}

/// Few are lost while it is not known whether the verifier works, and all places are used once it is.
#[test]
fn a_verifier_is_on_trial_until_its_first_score() {
    let judge = Judge::new("", |seen, count| {
        let answer = if count < 4 { refusal(400, NO_MODEL) } else { verdict(seen) };
        Action::Later(Duration::from_millis(5), Box::new(answer))
    });
    let (ending, overview) = judge.place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(overview.certified, 4);
    judge.place.assert_clean();
}

#[test]
fn a_verifier_that_stops_working_pauses_and_stops_the_run_and_its_failures_count() {
    let judge = Judge::new("patience = 1\n", |seen, count| {
        if count < 12 { verdict(seen) } else { refusal(400, NO_MODEL) }
    });
    let (ending, overview) = judge.place.run();
    let Ending::VerifierDown { verifier, reason } = ending else { panic!("{ending:?}") };
    assert!(verifier == "judge" && reason.contains("Invalid model name"), "{reason}");
    assert!(
        overview.verifiers[0].failures["HTTP 400"] >= 20,
        "{:?}",
        overview.verifiers[0].failures
    );
    // Those in flight, those that were on their way meanwhile, and then one at a time.
    assert!(overview.calls < 200, "{}", overview.calls);
    judge.place.assert_clean();
}

#[test]
fn a_resumed_run_remembers_that_its_verifier_works() {
    // It lasts longer than the time between two looks.
    let judge = Judge::new("rate = 50\n", |seen, count| {
        if (3..12).contains(&count) { refusal(400, NO_MODEL) } else { verdict(seen) }
    });
    let mut run = Run::begin(judge.place.good_job()).expect("a run");
    let control = Control::default();
    assert_eq!(
        run.drive(&control, &mut stop_after(&control, 3)).expect("it goes"),
        Ending::Stopped { at_once: false }
    );
    drop(run);
    let (ending, _) = judge.place.resume().expect("it continues");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
}

#[test]
fn begun_again_the_earlier_run_is_kept_aside() {
    let judge = Judge::new(
        "",
        |seen, count| {
            if count < 5 { refusal(400, NO_MODEL) } else { verdict(seen) }
        },
    );
    let place = &judge.place;
    assert_never_scored(place.run().0);
    let (run, aside) = Run::begin_again(place.good_job()).expect("a new run");
    let aside = aside.expect("there was one");
    assert_eq!(aside, place.path().join("run.1"));
    assert_eq!(run.account().call_count(), 0);
    drop(run);
    assert!(audit::audit(&aside).is_clean());
    let (_, second) = Run::begin_again(place.good_job()).expect("another one");
    assert_eq!(second, Some(place.path().join("run.2")));
}

#[test]
fn a_program_that_cannot_be_executed_ends_the_run_at_once() {
    let place = JobFolder::new(6);
    let job = |command: &str| {
        place.write(
            "job.toml",
            &format!("candidates = \"answers.jsonl\"\nbudget = 100\ndelta = 0.1\n[[verifiers]]\nname = \"tool\"\nkind = \"command\"\n{command}\nthreshold = 0.5\n"),
        );
    };
    place.write("score.py", "print(1)\n");
    job("command = [\"./score.py\"]");
    let error = place.job().err().expect("it may not be executed").to_string();
    assert!(error.contains("may not be executed") && error.contains("python3"), "{error}");
    let path = place.path().join("score.py");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("our own file");
    // What is gone later is found out by the first call.
    place.write("score.py", "#!/bin/sh\necho 1\n");
    let mut run = Run::begin(place.good_job()).expect("a run");
    std::fs::remove_file(&path).expect("our own file");
    let failed = assert_never_scored(run.drive(&Control::default(), &mut ()).expect("it goes"));
    assert!(failed.reason.contains("cannot start ./score.py"), "{failed:?}");
    assert!(failed.request.starts_with("$ ./score.py\n"), "{failed:?}");
    assert_eq!(run.account().call_count(), 0);
}

#[track_caller]
fn assert_noted(overview: &Overview, note: &str) {
    assert!(overview.notes.iter().any(|other| other.contains(note)), "{:?}", overview.notes);
}

#[test]
fn what_looks_cached_is_in_the_journal_and_beside_the_promise() {
    let id = "chatcmpl-0123456789abcdef0123456789";
    let judge = Judge::new("", move |seen, _| {
        let said = if seen.body.contains("right? right") { "yes" } else { "no" };
        Action::Json(
            json!({"id": id, "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1}}),
        )
    });
    let (_, overview) = judge.place.run();
    assert_noted(&overview, "is there a cache in between?");
    assert_eq!(judge.place.audit().doubt, overview.doubt);
    let doubt = "This may not hold here: see the warnings about judge.";
    assert_eq!(overview.doubt.as_deref(), Some(doubt));
    // The audit makes the summary again from the journal alone.
    judge.place.assert_clean();
    let summary = judge.place.read("run/summary.json");
    judge
        .place
        .write("run/summary.json", &summary.replace("This may not hold here", "It does hold"));
    assert!(!judge.place.audit().is_clean());
    let (_, resumed) = judge.place.resume().expect("nothing is left to do");
    assert_eq!(resumed.notes, overview.notes);
}

#[test]
fn fresh_replies_leave_the_promise_alone() {
    let judge = Judge::new("", |seen, _| verdict(seen));
    let (_, overview) = judge.place.run();
    assert!(overview.notes.is_empty(), "{:?}", overview.notes);
    assert_eq!(overview.doubt, None);
}

#[test]
fn scores_off_their_scale_missing_usage_and_high_ceilings_are_noted() {
    let place = JobFolder::new(6);
    // 1 and 7 in turn, beginning with 1.
    let shell = "if mkdir turn; then echo 1; else rmdir turn; echo 7; fi";
    place.write(
        "job.toml",
        &format!("candidates = \"answers.jsonl\"\nbudget = 100\ndelta = 0.1\n[[verifiers]]\nname = \"tool\"\nkind = \"command\"\nshell = \"{shell}\"\nthreshold = 0.5\n"),
    );
    let (_, overview) = place.run();
    assert_noted(&overview, "scores on another scale than it declares, 0 to 1");
    place.assert_clean();

    let metered = "max_tokens = 5\nmetered = { input = 1, output = 1, per = 1 }\n";
    let mute =
        json!({"id": "x", "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]});
    let judge = Judge::new(metered, move |_, _| Action::Json(mute.clone()));
    let (_, overview) = judge.place.run();
    assert_noted(&overview, "does not say what its calls took");

    let judge = Judge::new(&metered.replace('5', "500"), |seen, _| verdict(seen));
    let (_, overview) = judge.place.run();
    assert_noted(&overview, "times what a call costs, 19 % of the budget");
    judge.place.assert_clean();

    let judge = Judge::new(metered, |seen, _| verdict(seen));
    let (_, overview) = judge.place.run();
    assert!(overview.notes.is_empty(), "a usual judge, with the default ceiling of its prompt");
}

fn tried(judge: &Judge, count: u32) -> (Vec<TryCall>, Vec<String>) {
    let job = judge.place.good_job();
    let arms: Vec<ArmId> = (0..count).map(ArmId).collect();
    let trials = try_out(&job, &arms, &Control::default()).expect("a runtime");
    let texts = suspicions(&job, &trials);
    (trials, texts)
}

#[test]
fn a_trial_shows_requests_and_replies_word_for_word_and_books_nothing() {
    let judge = Judge::new("headers = { x-team = \"blue team\" }\n", |seen, _| verdict(seen));
    let (trials, texts) = tried(&judge, 3);
    assert_eq!(trials.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["q0", "q1", "q2"]);
    let scores: Vec<Option<f64>> = trials.iter().map(|it| it.score).collect();
    assert_eq!(scores, [Some(1.0), Some(1.0), Some(0.0)]);
    let [exchange] = trials[0].exchanges.as_slice() else { panic!("one request a call") };
    let address = exchange.sent.lines().next().expect("an address");
    assert!(address.starts_with("POST http://127.0.0.1:"), "{address}");
    assert!(address.ends_with("/v1/chat/completions"), "{address}");
    assert!(exchange.sent.contains("x-team: (hidden)") && !exchange.sent.contains("blue"));
    let body: Value =
        serde_json::from_str(exchange.sent.lines().last().expect("a body")).expect("JSON");
    assert_eq!(body["messages"][0]["content"], "Is this right? right");
    let raw: Value = serde_json::from_str(&exchange.received).expect("as received");
    assert_eq!(raw["usage"]["prompt_tokens"], 9);
    assert!(texts.is_empty(), "{texts:?}");
    assert!(!judge.place.journal().exists(), "nothing is booked");
}

#[test]
fn a_trial_shows_the_whole_refusal_and_what_is_suspicious() {
    let judge = Judge::new("", |_, _| refusal(400, NO_MODEL));
    let (trials, texts) = tried(&judge, 2);
    assert!(trials[0].exchanges[0].received.ends_with(NO_MODEL), "{:?}", trials[0]);
    assert!(texts[0].starts_with("judge gave no score"), "{texts:?}");

    let blind = Judge::new("", |_, _| says("No, that is plainly wrong, I am afraid."));
    let (_, texts) = tried(&blind, 3);
    assert!(texts[0].contains("gave the same reply for every answer"), "{texts:?}");

    let dear = "max_tokens = 500\nmetered = { input = 1, output = 1, per = 1 }\n";
    let judge = Judge::new(dear, |seen, _| verdict(seen));
    let (_, texts) = tried(&judge, 3);
    assert!(texts[0].contains("times what a call costs"), "{texts:?}");
}

/// Its first replies are in the run; the later ones do not count against any answer.
#[test]
fn a_recording_keeps_failures_and_stops_where_a_verifier_never_worked() {
    let fixed = |judge: &Judge| {
        let job = judge.place.read("job.toml");
        judge.place.write("job.toml", &format!("policy = \"fixed\"\ncalls_per_pair = 3\n{job}"));
    };
    let judge = Judge::new("", |_, _| refusal(400, NO_MODEL));
    fixed(&judge);
    assert_never_scored(judge.place.run().0);

    let judge = Judge::new("concurrency = 1\n", |seen, count| {
        if count.is_multiple_of(4) { refusal(400, NO_MODEL) } else { verdict(seen) }
    });
    fixed(&judge);
    let (ending, overview) = judge.place.run();
    assert_eq!(ending, Ending::Done(StopReason::AllCallsMade));
    assert_eq!((overview.calls, overview.certified), (18, 0));
    let recording = Recording::read(judge.place.output().path(), "judge").expect("a recording");
    let failed = recording.outcomes().filter(|outcome| outcome.score.is_none()).count();
    assert_eq!((recording.outcomes().count(), failed), (18, 5));
    judge.place.assert_clean();
}

/// A score without a call does not show that the solver works.
#[test]
fn answers_that_need_no_call_do_not_end_the_trial() {
    let judge = Judge::new("role = \"solver\"\n", |_, _| refusal(400, NO_MODEL));
    let lines: String = (0..30)
        .map(|index| {
            let answer = if index % 3 == 0 { "none" } else { "4" };
            format!("{{\"id\": \"q{index}\", \"answer\": \"{answer}\"}}\n")
        })
        .collect();
    judge.place.write("answers.jsonl", &lines);
    let (ending, _) = judge.place.run();
    assert_never_scored(ending);
    assert_eq!(judge.requests(), 5);
    judge.place.assert_clean();
}

#[test]
fn what_looks_wrong_before_any_call_is_named() {
    let blind = Judge::new("system = \"{{ question }}\"\n", |_, _| says("yes"));
    let job = blind.place.read("job.toml").replace("{{ answer }}", "");
    blind.place.write("job.toml", &job);
    blind.place.write("answers.jsonl", "{\"id\": 1, \"question\": \"?\", \"answer\": \"4\"}\n");
    let texts = suspicions(&blind.place.good_job(), &[]);
    assert!(texts[0].contains("does not see the field `answer`"), "{texts:?}");
}
