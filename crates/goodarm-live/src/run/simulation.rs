//! Whole runs from one seed: the real run on virtual time, with a disk and verifiers that fail, and processes
//! that are killed. Each run is compared with what the verifiers and the disk know and with what people were
//! shown. A seed that fails can be run alone, with the same result (`cargo xtask simulate --seed N`).

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its figures are for people")]

mod chance;
mod disk;
mod person;
mod plan;
mod witness;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::future;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use goodarm_core::{GeneratorId, ServiceId, Source, Target};
use goodarm_record::audit;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::folder::Folder;
use goodarm_record::run_error::RunError;
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep};

use self::disk::SimDisk;
use self::plan::{Fate, Life, Plan};
use self::witness::Witness;
use self::world::{DELTA, World, arm_of};
use crate::run::{Run, resume, start};

/// The payload of the panic that ends a process that is killed, or a task that dies.
struct Killed;

/// How often each kind of event happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Figures(BTreeMap<&'static str, u64>);

impl Figures {
    fn add(&mut self, what: &'static str, count: u64) {
        *self.0.entry(what).or_default() += count;
    }

    fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, count)| self.add(what, *count));
    }

    fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, count)| writeln!(f, "{count:>12}  {what}"))
    }
}

/// How a process ended.
enum Lived {
    Killed,
    /// Its disk failed.
    NotDurable,
    Ended(Ending),
}

/// A run and its observers, over all processes.
struct Simulation {
    world: Arc<World>,
    disk: SimDisk,
    witness: Witness,
    folder: Folder,
    figures: Figures,
    /// The number of certified answers at the last ending; `is_wrong` is whether one of them is not good.
    certified: u64,
    is_wrong: bool,
}

impl Simulation {
    /// Simulates the run of a seed. The error says which rule was broken.
    fn of(seed: u64, folder: &Path) -> Result<Figures, String> {
        let world = World::new(Plan::of(seed));
        let mut simulation = Self {
            disk: SimDisk::new(seed),
            witness: Witness::new(&world),
            folder: Folder::new(folder),
            figures: Figures::default(),
            certified: 0,
            is_wrong: false,
            world,
        };
        simulation.live_through()?;
        let mut figures = simulation.figures;
        figures.merge(&simulation.world.truth().figures);
        figures.add("runs", 1);
        figures.add("runs with a certificate", u64::from(simulation.certified > 0));
        figures.add("runs with a wrong certificate", u64::from(simulation.is_wrong));
        figures.add("certificates", simulation.certified);
        Ok(figures)
    }

    fn live_through(&mut self) -> Result<(), String> {
        let lives = self.world.plan.lives.clone();
        for life in &lives {
            self.live(life)?;
        }
        let last = lives.last().expect("there is one");
        let life = Life { fate: Fate::Peace, power_cut: false, ..*last };
        for _ in 0..PEACEFUL_LIVES_MAX {
            match self.live(&life)? {
                Lived::Ended(Ending::Done(_) | Ending::CallsUsedUp { .. }) => {
                    return self.finish(&life);
                }
                Lived::Ended(_) => {}
                Lived::Killed | Lived::NotDurable => return Err("a life in peace is not".into()),
            }
        }
        self.figures.add("runs that wait for a verifier in the end", 1);
        Ok(())
    }

    /// Checks that a run that is done makes no more calls, and that its folder passes an audit.
    fn finish(&mut self, life: &Life) -> Result<(), String> {
        let count = |world: &World| world.truth().pairs.values().map(|pair| pair.call_count).sum();
        let before: u64 = count(&self.world);
        let Lived::Ended(Ending::Done(_) | Ending::CallsUsedUp { .. }) = self.live(life)? else {
            return Err("what was done is not done any more".into());
        };
        if count(&self.world) != before {
            return Err("a run that was done has made calls".into());
        }
        let report = audit::audit(self.folder.path());
        if !report.is_clean() {
            return Err(format!("the audit: {:#?}", report.problems));
        }
        self.figures.add("audits", 1);
        self.figures.add("runs that are done", 1);
        Ok(())
    }

    /// Checks that the plan explains why the run ended in this way.
    fn explain(&self, run: &Run, ending: &Ending) -> Result<(), String> {
        let is_explained = match ending {
            Ending::Done(_) | Ending::CallsUsedUp { .. } | Ending::Stopped { .. } => true,
            Ending::VerifierDown { verifier, .. } => {
                let index = index_of(verifier);
                let faults = &self.world.plan.nature(index).faults;
                // A verifier that throttles one answer looks like a verifier that is down if no other answer
                // can be asked about.
                let is_last = !faults.refused_arms.is_empty() && !can_ask_about_others(run, index);
                faults.may_end_a_run() || is_last
            }
            Ending::NeverScored(failed) => {
                let totals = run.account().service(ServiceId::at(index_of(&failed.verifier)));
                totals.outcomes.score_count() == 0
            }
            Ending::Mistrusted { .. } | Ending::WaitsForPeople { .. } => false,
        };
        let plan = &self.world.plan;
        if is_explained { Ok(()) } else { Err(format!("{ending:?} without a reason: {plan:#?}")) }
    }

    /// Runs one process from its beginning to its end, then checks the journal that it left.
    fn live(&mut self, life: &Life) -> Result<Lived, String> {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        self.disk.begin(life.fate);
        let lived = panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(self.process(life))));
        let lived = match lived {
            Ok(lived) => lived?,
            Err(payload) if payload.is::<Killed>() => Lived::Killed,
            Err(payload) => panic::resume_unwind(payload),
        };
        drop(runtime);
        if let Some(complaint) = self.witness.complaint.take() {
            return Err(complaint);
        }
        self.figures.add(
            match &lived {
                Lived::Killed => "processes killed",
                Lived::NotDurable => "disks that failed",
                Lived::Ended(Ending::Done(_) | Ending::CallsUsedUp { .. }) => {
                    "processes that were done"
                }
                Lived::Ended(Ending::Stopped { .. }) => "processes stopped",
                Lived::Ended(_) => "verifiers given up",
            },
            1,
        );
        if life.power_cut && !matches!(lived, Lived::Ended(_)) {
            self.disk.cut_power(&self.folder.journal());
            self.figures.add("power cuts", 1);
        }
        if self.folder.journal().exists() && !start::has_no_header(&self.folder.journal()) {
            self.witness.compare_journal(&self.folder)?;
            self.figures.add("journals compared with the world", 1);
        }
        Ok(lived)
    }

    async fn process(&mut self, life: &Life) -> Result<Lived, String> {
        let world = Arc::clone(&self.world);
        world.begin(life.fate);
        let began = Instant::now();
        let job = world.job(self.folder.path(), life);
        let taken_up = if self.folder.journal().exists() {
            resume::resume(&self.disk, job)
        } else {
            start::begin(&self.disk, job)
        };
        let mut run = match taken_up {
            Ok(run) => run,
            Err(RunError::NotDurable(_)) if life.fate.is_of_the_disk() => {
                return Ok(Lived::NotDurable);
            }
            Err(error) => return Err(format!("cannot continue: {error}")),
        };
        self.witness.compare_books(&run)?;
        let control = Control::default();
        let lived = tokio::select! {
            biased;
            result = run.drive_async(&control, &mut self.witness) => match result {
                Ok(ending) => Lived::Ended(ending),
                Err(RunError::NotDurable(_)) if life.fate.is_of_the_disk() => Lived::NotDurable,
                Err(error) => return Err(format!("cannot continue: {error}")),
            },
            () = befall(life.fate, &world, &control) => Lived::Killed,
            () = person::label(Arc::clone(&world), self.folder.clone()) => Lived::Killed,
            () = world.stuck.notified() => Lived::Killed,
            () = sleep(LIFE_MAX) => return Err(format!("no end after {LIFE_MAX:?}")),
        };
        if let Lived::Ended(ending) = &lived {
            self.judge(&run, ending)?;
        }
        world.end(began.elapsed());
        Ok(lived)
    }

    /// Checks what must hold when a process has ended its work.
    fn judge(&mut self, run: &Run, ending: &Ending) -> Result<(), String> {
        if *ending != (Ending::Stopped { at_once: true }) {
            self.witness.compare_books(run)?;
        }
        self.explain(run, ending)?;
        if self.world.plan.writes_outputs
            || matches!(ending, Ending::Done(_) | Ending::CallsUsedUp { .. })
        {
            run.write_outputs(ending).map_err(|error| error.to_string())?;
        }
        // A certificate stays, so the last ending has all of them.
        let certified = run.session().certified();
        self.certified = certified.len() as u64;
        let arms = certified.iter().map(|&arm| arm_of(&run.work.subjects.candidates.get(arm)));
        self.is_wrong = arms.into_iter().any(|arm| !self.world.plan.is_good(arm));
        if self.world.plan.questions.is_some() {
            self.figures.add("processes with questions", 1);
        }
        Ok(())
    }
}

/// Whether a service could be asked about an answer or a question that has none of its calls in flight.
fn can_ask_about_others(run: &Run, verifier: usize) -> bool {
    let books = run.session().books();
    let Some(attribute) = books.problem().attributes().nth(verifier) else {
        let generator = GeneratorId(0);
        let is_free = |question| {
            let state = books.question(question);
            books.takes_fresh(question, generator) && state.asked_count() == state.back_count()
        };
        let questions = books.problem().questions().expect("only they have generators");
        return books.lane(books.problem().generator_service(generator)).is_affordable
            && questions.ids().any(is_free);
    };
    if books.problem().are_votes(attribute) {
        let is_free = |question| {
            let target = Target::Question(question, Source::Votes(attribute));
            books.takes_votes(question, attribute) && !books.is_awaited(target)
        };
        let questions = books.problem().questions().expect("only they have votes");
        return books.is_affordable(attribute) && questions.ids().any(is_free);
    }
    let is_free = |arm| {
        books.is_active(arm)
            && !books.is_blocked(arm, attribute)
            && books.tally(arm, attribute).pending_count() == 0
    };
    books.is_affordable(attribute) && books.problem().arms().any(is_free)
}

fn index_of(verifier: &str) -> usize {
    verifier.trim_start_matches("verifier ").parse().expect("names end in numbers")
}

impl Fate {
    const fn is_of_the_disk(self) -> bool {
        matches!(self, Self::WriteFails { .. } | Self::DiskFull { .. } | Self::SyncFails { .. })
    }
}

/// Lets the fate of a process happen. Returns only if the process is to be killed.
async fn befall(fate: Fate, world: &World, control: &Control) {
    match fate {
        Fate::KilledAt(time) => return sleep(time).await,
        Fate::KilledAtCall(_) => return world.killed.notified().await,
        Fate::Stopped(time) => {
            sleep(time).await;
            control.stop();
        }
        Fate::Left(time) => {
            sleep(time).await;
            control.stop();
            control.stop();
        }
        Fate::Paused(time, pause) => {
            sleep(time).await;
            control.set_paused(true);
            sleep(pause).await;
            control.set_paused(false);
        }
        Fate::Peace
        | Fate::KilledInWrite { .. }
        | Fate::WriteFails { .. }
        | Fate::DiskFull { .. }
        | Fate::SyncFails { .. } => {}
    }
    future::pending().await
}

/// Aborts if a seed takes too long. Virtual time stands still for a run that never waits, so another thread
/// watches the real clock.
struct Watched {
    _sender: Sender<()>,
}

impl Watched {
    fn new(seed: u64) -> Self {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            if receiver.recv_timeout(SEED_TIME_MAX) == Err(RecvTimeoutError::Timeout) {
                eprintln!("seed {seed} does not end");
                std::process::abort();
            }
        });
        Self { _sender: sender }
    }
}

/// A temporary folder, in memory if possible, because no real disk is needed.
fn place() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Simulates all seeds on all cores. Panics with the number of the first seed that fails.
fn simulate(seeds: std::ops::Range<u64>) -> Figures {
    let next = AtomicU64::new(seeds.start);
    let total = Mutex::new(Figures::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let place = place();
            let watched = Watched::new(seed);
            let outcome = panic::catch_unwind(|| Simulation::of(seed, &place.path().join("run")));
            drop(watched);
            match outcome {
                Ok(Ok(figures)) => total.lock().expect("not poisoned").merge(&figures),
                Ok(Err(violation)) => panic!("seed {seed}: {violation}"),
                Err(_) => panic!("seed {seed} panicked"),
            }
        }
    };
    let core_count = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..core_count).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|payload| panic::resume_unwind(payload));
        }
    });
    total.into_inner().expect("not poisoned")
}

/// The most virtual time of a process; every run here needs less.
const LIFE_MAX: Duration = Duration::from_secs(6 * 3600);
/// The most real time of a seed. On an idle machine, none takes a second.
const SEED_TIME_MAX: Duration = Duration::from_secs(60);
const PEACEFUL_LIVES_MAX: usize = 4;

#[test]
fn runs_keep_their_promises_whatever_fails() {
    let figures = simulate(0..300);
    println!("{figures}");
    let is_met = |what| assert!(figures.get(what) > 0, "{what}: none\n{figures}");
    [
        "processes killed",
        "power cuts",
        "disks that failed",
        "processes stopped",
        "lost replies",
        "processes with questions",
        "answers",
        "cards answered",
    ]
    .into_iter()
    .for_each(is_met);
    assert!(figures.get("runs that are done") * 4 > 3 * figures.get("runs"), "{figures}");
    assert!(figures.get("runs with a certificate") * 3 > figures.get("runs"), "{figures}");
    assert!(
        is_likely(figures.get("runs with a wrong certificate"), figures.get("runs")),
        "{figures}"
    );
}

#[test]
fn a_seed_is_the_same_again() {
    for seed in 0..20 {
        let journal = || {
            let place = place();
            let folder = place.path().join("run");
            let figures = Simulation::of(seed, &folder).unwrap_or_else(|error| panic!("{error}"));
            let mut events = Vec::new();
            let mut history =
                goodarm_record::history::History::open(&Folder::new(&folder).journal())
                    .expect("a journal");
            while let Some(entry) = history.next_entry().expect("an entry") {
                events.push((entry.event, entry.call.map(|call| call.note.latency)));
            }
            (figures, events)
        };
        assert!(journal() == journal(), "seed {seed} is another the second time");
    }
}

/// Run by `cargo xtask simulate`.
#[test]
#[ignore = "as long as one likes"]
fn as_many_seeds_as_one_likes() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let from = number("GOODARM_SEED").unwrap_or(0);
    let count = number("GOODARM_SEED_COUNT").unwrap_or(1);
    let figures = simulate(from..from + count);
    println!("{figures}");
    let (wrong, all) = (figures.get("runs with a wrong certificate"), figures.get("runs"));
    assert!(is_likely(wrong, all), "{wrong} of {all} runs with a wrong certificate");
}

/// Whether this many wrong runs are plausible if each is wrong with probability δ at most: within five
/// standard deviations.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53")]
fn is_likely(wrong: u64, all: u64) -> bool {
    let all = all as f64;
    wrong as f64 <= 1.0 + DELTA * all + 5.0 * (DELTA * (1.0 - DELTA) * all).sqrt()
}
