//! Programs with one process for each call.

use std::path::Path;
use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};
use goodarm_data::problem::KeyProblem;
use goodarm_live::service::{Remote as _, Reply, Verdict};
use goodarm_live::services::command::CommandService;
use goodarm_record::notice::Condition;
use goodarm_testing::TestFolder;
use serde_json::{Value, json};

use super::{
    assert_down, assert_failed, assert_given_up, assert_gone, assert_score, assert_wrong,
    candidate, cost, line, make, question,
};

fn new(keys: Value, folder: &Path) -> Result<CommandService, Vec<KeyProblem>> {
    make(keys, |keys, context| CommandService::new(keys, folder, context.timeout))
}

pub(super) fn command(keys: Value, folder: &Path) -> CommandService {
    new(keys, folder).expect("a verifier")
}

async fn run(shell: &str) -> Reply {
    let verifier = command(json!({"shell": shell}), Path::new("."));
    verifier.call(&question(), &line(None)).await
}

#[tokio::test]
async fn a_program_reads_the_candidate_and_answers_a_score() {
    let reply = run("read -r line; echo \"got $line\"; echo 0.25").await;
    assert_score(&reply, 0.25);
    assert_eq!(reply.text, format!("got {}\n0.25\n", question().json));
    assert!(reply.usage.worked > Duration::ZERO);
    let reply =
        run(r#"cat > /dev/null; echo '{"score": 0.8, "cost": 0.01, "reason": "fine"}'"#).await;
    assert_score(&reply, 0.8);
    assert_eq!(reply.usage.cost, cost(0.01));
    assert_score(&run("wc -l").await, 1.0);
}

#[tokio::test]
async fn there_is_no_shell_unless_asked_for() {
    let keys = json!({"command": ["printf", "%s", "$HOME; echo 1"]});
    let reply = command(keys, Path::new(".")).call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Unreadable, "");
    assert_eq!(reply.text, "$HOME; echo 1");
}

#[tokio::test]
async fn it_runs_in_the_job_files_folder_with_a_path() {
    let folder = TestFolder::new(&[]);
    folder.write("score.txt", "0.5\n");
    let keys = json!({"shell": "test -n \"$PATH\" && cat score.txt"});
    let reply = command(keys, folder.path()).call(&question(), &line(None)).await;
    assert_score(&reply, 0.5);
    let link = folder.join("say");
    std::os::unix::fs::symlink("/bin/cat", &link).expect("a link");
    let keys = json!({"command": ["./say", "score.txt"]});
    let reply = command(keys, folder.path()).call(&question(), &line(None)).await;
    assert_score(&reply, 0.5);
}

#[tokio::test]
async fn a_program_need_not_listen() {
    let long = candidate(json!({"answer": "x".repeat(1 << 20)}));
    let deaf = command(json!({"shell": "echo 1"}), Path::new("."));
    assert_score(&deaf.call(&long, &line(None)).await, 1.0);
    let closing = command(json!({"shell": "exec <&-; echo 1"}), Path::new("."));
    assert_score(&closing.call(&long, &line(None)).await, 1.0);
    let counting = command(json!({"shell": "wc -c"}), Path::new("."));
    let length = f64::from(u32::try_from(long.json.len() + 1).expect("short"));
    assert_score(&counting.call(&long, &line(None)).await, length);
}

#[tokio::test]
async fn a_program_that_fails_says_why() {
    let reply = run("echo 1; echo loading >&2; echo 'no such model' >&2; exit 3").await;
    assert_failed(&reply, CountedFailure::Crashed, "exit status: 3: loading no such model");
    assert_eq!(reply.text, "1\n");
    assert_failed(&run("kill -TERM $$").await, CountedFailure::Crashed, "signal: 15");
    assert_failed(&run("no-such-program-here").await, CountedFailure::Crashed, "127");
    let noisy = "i=0; while [ $i -lt 3000 ]; do echo line $i of much >&2; i=$((i+1)); done; exit 1";
    assert_failed(&run(noisy).await, CountedFailure::Crashed, "line 2999 of much");
}

#[tokio::test]
async fn outputs_without_a_score_are_unreadable() {
    let unreadable = CountedFailure::Unreadable;
    assert_failed(&run("true").await, unreadable, "wrote nothing");
    assert_failed(&run("echo fine").await, unreadable, "no score in the last line: fine");
    assert_failed(&run("printf '\\377\\376'").await, unreadable, "");
    assert_failed(&run("echo nan").await, unreadable, "nan");
}

#[tokio::test]
async fn endless_output_is_truncated_and_ended() {
    let reply = run("yes 1").await;
    assert_failed(&reply, CountedFailure::Truncated, "more than");
}

#[tokio::test]
async fn a_timeout_kills_the_program_and_its_children() {
    let folder = TestFolder::new(&[]);
    let shell = "sleep 600 & echo $! > child; echo $$ > parent; wait";
    let keys = json!({"shell": shell, "timeout": 2.0});
    let reply = command(keys, folder.path()).call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::TimedOut, "within 2 s");
    for name in ["child", "parent"] {
        let process = folder.read(name);
        assert_gone(process.trim().parse().expect("a number")).await;
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing_behind() {
    let folder = TestFolder::new(&[]);
    let keys = json!({"shell": "sleep 600 & echo $! > child.new; mv child.new child; wait"});
    let verifier = command(keys, folder.path());
    let path = folder.join("child");
    let (question, line) = (question(), line(None));
    let written = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        reply = verifier.call(&question, &line) => panic!("{reply:?}"),
        () = written => {}
    }
    let process = std::fs::read_to_string(&path).expect("it was written");
    assert_gone(process.trim().parse().expect("a number")).await;
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_given_up_at_once() {
    let folder = TestFolder::new(&[]);
    let path = folder.join("plain");
    std::fs::write(&path, "echo 1").expect("a file");
    let keys = json!({"command": ["./plain"]});
    assert_wrong(new(keys.clone(), folder.path()), &["command"]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("our own file");
    let verifier = command(keys, folder.path());
    std::fs::remove_file(&path).expect("it was there");
    let line = line(None);
    let reply = verifier.call(&question(), &line).await;
    assert_eq!(reply.verdict, Verdict::Void(VoidFailure::NotConnected));
    assert_given_up(&line, "cannot start ./plain");
}

/// Its children hold its output open. They end with it, and its output counts.
#[tokio::test]
async fn children_of_a_program_that_succeeded_end_with_it() {
    let folder = TestFolder::new(&[]);
    let shell = "sleep 600 & echo $! > child; echo 0.5";
    let verifier = command(json!({"shell": shell}), folder.path());
    let began = std::time::Instant::now();
    assert_score(&verifier.call(&question(), &line(None)).await, 0.5);
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for the child");
    let child = folder.read("child");
    assert_gone(child.trim().parse().expect("a number")).await;
}

#[tokio::test]
async fn a_program_that_keeps_failing_takes_the_line_down() {
    let line = line(None);
    let verifier = command(json!({"shell": "exit 1"}), Path::new("."));
    for _ in 0..5 {
        assert_eq!(line.condition(), Condition::Open);
        verifier.call(&question(), &line).await;
    }
    assert_down(&line, "exit status: 1");
}

#[tokio::test]
async fn nothing_is_started_when_the_run_stops() {
    let line = line(None);
    line.stop();
    let verifier = command(json!({"shell": "echo 1"}), Path::new("."));
    let reply = verifier.call(&question(), &line).await;
    assert!(matches!(reply.verdict, Verdict::Void(_)), "{reply:?}");
}

#[test]
fn problems_name_their_key() {
    let new = |keys: Value| new(keys, Path::new("."));
    assert_wrong(new(json!({})), &["command"]);
    assert_wrong(new(json!({"command": []})), &["command"]);
    assert_wrong(new(json!({"command": [""]})), &["command"]);
    assert_wrong(new(json!({"command": ["a\u{0}b"]})), &["command"]);
    assert_wrong(new(json!({"shell": " "})), &["shell"]);
    assert_wrong(new(json!({"command": ["a"], "shell": "a"})), &["shell"]);
}
