//! Commands and all that they start end with goodarm, however that ends.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use goodarm_testing::TestFolder;

/// Each of these notes its number and sleeps: the program, a child of it, and one that has left its
/// session, has no parent any more, and holds the pipes open.
const SCRIPT: &str = "\
note() { echo $1 >> pids; }
note $$
sleep 600 & note $!
setsid sh -c 'echo $$ >> pids; exec sleep 600' &
read -r line
";

fn place(end: &str, rest: &str) -> TestFolder {
    let place = TestFolder::new(&[]);
    let answers: String = (0..2).map(|index| format!("{{\"id\": \"q{index}\"}}\n")).collect();
    place.write("answers.jsonl", &answers);
    place.write("judge.sh", &format!("{SCRIPT}{end}\n"));
    let job = format!(
        "candidates = \"answers.jsonl\"\nbudget = 4\ndelta = 0.05\nconcurrency = 2\n[[verifiers]]\n\
         name = \"judge\"\nkind = \"command\"\ncommand = [\"sh\", \"judge.sh\"]\nthreshold = 0.5\n{rest}\n"
    );
    place.write("job.toml", &job);
    place
}

fn start(place: &TestFolder, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_goodarm"))
        .args(arguments)
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the tool starts")
}

/// The numbers that were noted.
fn noted(place: &TestFolder) -> Vec<u32> {
    let text = fs::read_to_string(place.join("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn is_alive(id: u32) -> bool {
    // A zombie waits for whoever should take note of its end.
    let state = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = state.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[track_caller]
fn wait_until(what: &str, limit: Duration, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < limit, "{what} takes more than {limit:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn assert_all_gone(place: &TestFolder) {
    let all_gone = || noted(place).into_iter().all(|id| !is_alive(id));
    wait_until("the end of all", Duration::from_secs(10), all_gone);
}

#[test]
fn kill_9_leaves_nothing_behind() {
    for rest in ["", "worker = true"] {
        for command in [&["run", "job.toml"][..], &["try", "job.toml"]] {
            let place = place("sleep 600", rest);
            let mut tool = start(&place, command);
            wait_until("the start", Duration::from_secs(60), || noted(&place).len() >= 3);
            assert!(noted(&place).into_iter().all(is_alive));
            tool.kill().expect("it is killed");
            tool.wait().expect("it ends");
            assert_all_gone(&place);
        }
    }
}

#[test]
fn a_call_does_not_wait_for_what_holds_its_pipes_and_leaves_nothing_behind() {
    let place = place("echo 1", "scores = \"binary\"\ntimeout = 60");
    let begin = Instant::now();
    let mut tool = start(&place, &["run", "job.toml"]);
    wait_until("the run", Duration::from_secs(50), || !noted(&place).is_empty());
    // While the run goes on, too.
    let first = noted(&place);
    wait_until("the first call's end", Duration::from_secs(20), || {
        !first.iter().any(|id| is_alive(*id))
    });
    assert!(tool.wait().expect("it ends").success());
    assert!(begin.elapsed() < Duration::from_secs(50), "{:?}", begin.elapsed());
    assert_all_gone(&place);
}

/// Its pipe is held open by another, so that nothing but its own end says that it has ended.
#[test]
fn a_worker_that_dies_is_noticed_at_once() {
    let place = place("exit 3", "worker = true\ntimeout = 60\nstartup = 60");
    let begin = Instant::now();
    let tool = start(&place, &["try", "job.toml", "-n", "1"]).wait_with_output();
    assert_eq!(tool.expect("it ends").status.code(), Some(3));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    assert_all_gone(&place);
}
