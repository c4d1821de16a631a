//! Kills all processes that a program has started, when the program ends or when goodarm ends.
//!
//! A process group is killed at once, but a child may have left it. So each program gets a tag in its environment,
//! which its children inherit. Two searches find tagged processes: one by a thread, shortly after a program has
//! ended; one by a shell, when its pipe from goodarm closes because goodarm has ended, even by `kill -9`. Both need
//! Linux, where the environment of a process can be read.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, thread};

/// The tag of one program and of all its children. Dropping the tag starts the search for children that are left.
#[derive(Debug)]
pub(super) struct ProcessTracker {
    number: u64,
    /// The value of the variable [`NAME`].
    pub(super) tag: String,
}

/// The name of the environment variable that has the tag.
pub(super) const NAME: &str = "GOODARM_PROCESS";

impl ProcessTracker {
    /// A new tag for a program that is about to start.
    pub(super) fn new() -> Self {
        let mut guard = state();
        // A forked process has programs of its own, so it must not use the state of its parent.
        let state = match &mut *guard {
            Some(state) if state.owner == std::process::id() => state,
            slot => slot.insert(State::new()),
        };
        state.watch();
        state.last_number += 1;
        let number = state.last_number;
        state.live.insert(number);
        Self { number, tag: format!("{}{number}", state.prefix) }
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

/// The programs that this process has started.
struct State {
    /// The id of this process.
    owner: u32,
    /// The beginning of all tags of this process.
    prefix: String,
    last_number: u64,
    /// Programs that have not ended.
    live: BTreeSet<u64>,
    is_search_due: bool,
    /// The shell that outlives goodarm for a moment. Only goodarm has the other end of the shell's pipe.
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

    /// Starts the shell if it is not running. If this fails, no children are killed after the end of goodarm.
    fn watch(&mut self) {
        let is_there = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        if !cfg!(target_os = "linux") || self.watcher.as_mut().is_some_and(is_there) {
            return;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCH, &format!("{NAME}={}", self.prefix)]);
        shell.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A signal to all processes of the terminal must not end the shell.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        self.watcher = shell.spawn().ok();
    }
}

/// Kills the children that are left of programs that have ended.
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
        // Read again for each process: a program may have started meanwhile.
        let is_left_behind = state().as_ref().is_some_and(|state| !state.live.contains(&number));
        if is_left_behind {
            kill(id);
        }
    }
}

/// The number of the program that a process belongs to; `None` if the process has no tag of ours.
fn number_of(process: &Path, prefix: &str) -> Option<u64> {
    let environment = fs::read(process.join("environ")).ok()?;
    let tag =
        environment.split(|&byte| byte == 0).find_map(|it| it.strip_prefix(prefix.as_bytes()))?;
    std::str::from_utf8(tag).ok()?.parse().ok()
}

#[cfg(unix)]
fn kill(id: i32) {
    if let Some(process) = rustix::process::Pid::from_raw(id) {
        // Fails if the process has ended already.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
const fn kill(_: i32) {}

fn state() -> MutexGuard<'static, Option<State>> {
    static STATE: Mutex<Option<State>> = Mutex::new(None);
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shortest time between two searches; also the time that children have to end by themselves.
const SEARCH_DELAY: Duration = Duration::from_secs(1);
/// The script of the shell; `$0` is the beginning of all tags. A process may just be starting another, so the shell
/// searches until three searches in a row have found none.
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
