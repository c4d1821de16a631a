//! Whatever a command has started ends with it, and with goodarm, however that ends.
//!
//! A process group is killed as one, but a child may have left it. So all that a command starts has a
//! mark in its environment, which children inherit. Two look for marks: a thread of ours, a moment after
//! a program has ended; and a shell beside us that sleeps until its end of a pipe closes, which is when
//! goodarm is gone, by `kill -9` too. Both need Linux, where the environment of a process can be read.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, thread};

/// The mark of one program and of all that it starts. When it is dropped, they are looked for.
#[derive(Debug)]
pub(super) struct ProcessTracker {
    number: u64,
    /// What the variable [`NAME`] is set to.
    pub(super) mark: String,
}

/// The variable that holds the mark.
pub(super) const NAME: &str = "GOODARM_PROCESS";

impl ProcessTracker {
    /// A new mark, before the program starts.
    pub(super) fn new() -> Self {
        let mut guard = state();
        // A process that was forked off has its own programs.
        let state = match &mut *guard {
            Some(state) if state.owner == std::process::id() => state,
            slot => slot.insert(State::new()),
        };
        state.watch();
        state.last_number += 1;
        let number = state.last_number;
        state.live.insert(number);
        Self { number, mark: format!("{}{number}", state.prefix) }
    }
}

impl Drop for ProcessTracker {
    fn drop(&mut self) {
        let mut guard = state();
        let Some(state) = &mut *guard else { return };
        state.live.remove(&self.number);
        if cfg!(target_os = "linux") && !state.is_search_due {
            let search = || {
                thread::sleep(SEARCH_DELAY);
                search();
            };
            state.is_search_due = thread::Builder::new().spawn(search).is_ok();
        }
    }
}

/// What this process has started.
struct State {
    /// This process.
    owner: u32,
    /// What its marks begin with.
    prefix: String,
    last_number: u64,
    /// Programs that have not ended.
    live: BTreeSet<u64>,
    is_search_due: bool,
    /// The shell that outlives us for a moment. It reads from a pipe that nobody else has an end of.
    watcher: Option<Child>,
}

impl State {
    fn new() -> Self {
        let owner = std::process::id();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            owner,
            prefix: format!("{owner}-{:x}-", now.as_nanos()),
            last_number: 0,
            live: BTreeSet::new(),
            is_search_due: false,
            watcher: None,
        }
    }

    /// Sees to it that the shell is there. Where it cannot be started, goodarm can do no more than kill
    /// groups while it lives.
    fn watch(&mut self) {
        let is_there = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        if !cfg!(target_os = "linux") || self.watcher.as_mut().is_some_and(is_there) {
            return;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCH, &format!("{NAME}={}", self.prefix)]);
        shell.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends all of a terminal's processes must not end this one first.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        self.watcher = shell.spawn().ok();
    }
}

/// Kills what is left of programs that have ended.
fn search() {
    let Some(prefix) = state().as_mut().map(|state| {
        state.is_search_due = false;
        format!("{NAME}={}", state.prefix)
    }) else {
        return;
    };
    let Ok(processes) = fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let Some(number) = number_of(&process.path(), &prefix) else { continue };
        // One that has started meanwhile is among them.
        let is_left_behind = state().as_ref().is_some_and(|state| !state.live.contains(&number));
        if is_left_behind {
            kill(id);
        }
    }
}

/// The number of the program that a process belongs to, if it is one of ours.
fn number_of(process: &Path, prefix: &str) -> Option<u64> {
    let environment = fs::read(process.join("environ")).ok()?;
    let mark =
        environment.split(|&byte| byte == 0).find_map(|it| it.strip_prefix(prefix.as_bytes()))?;
    std::str::from_utf8(mark).ok()?.parse().ok()
}

#[cfg(unix)]
fn kill(id: i32) {
    if let Some(process) = rustix::process::Pid::from_raw(id) {
        // It may be gone already, which is as good.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
const fn kill(_: i32) {}

fn state() -> MutexGuard<'static, Option<State>> {
    static STATE: Mutex<Option<State>> = Mutex::new(None);
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often programs are followed up at most, and how long one may take to go by itself.
const SEARCH_DELAY: Duration = Duration::from_secs(1);
/// Its name is the mark. A process may just be starting another, so it looks again until nothing was
/// found three times.
const WATCH: &str = r#"
trap '' HUP INT TERM
while read -r _; do :; done
quiet=0 times=0
while [ $quiet -lt 3 ] && [ $times -lt 100 ]; do
    quiet=$((quiet + 1)) times=$((times + 1))
    for file in $(grep -lsF -e "$0" /proc/[0-9]*/environ); do
        process=${file#/proc/}
        kill -9 "${process%/environ}" && quiet=0
    done
    sleep 0.1
done
"#;
