//! Every target over its corpus, and over mutations of it that are the same on every machine: findings of a
//! fuzzer can be reproduced without one.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use goodarm_fuzz::{FuzzTarget, TARGETS};

#[test]
fn targets_hold_on_the_corpus_and_mutations_of_it() {
    goodarm_data::panics::silence_caught();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some(target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(failure) = read_all(target) {
                failures.lock().expect("no thread panics while it holds the lock").push(failure);
            }
        }
    };
    let count = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no thread panics while it holds the lock");
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_folder_of_the_corpus_is_a_target() {
    let folders = entries_of(&corpus());
    let folders: Vec<_> =
        folders.iter().filter_map(|folder| folder.file_name()?.to_str()).collect();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(folders, names);
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn read_all(target: &FuzzTarget) -> Result<(), String> {
    let paths = entries_of(&corpus().join(target.name));
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("a file")).collect();
    for (path, seed) in paths.iter().zip(&seeds) {
        read(target, seed).map_err(|failure| format!("{}: {failure}", path.display()))?;
    }
    let mut random = Random::new(target.name);
    let until = Instant::now() + TIME_PER_TARGET;
    for _ in 0..MUTATIONS_PER_TARGET {
        let bytes = random.mutated(&seeds);
        if let Err(failure) = read(target, &bytes) {
            let path =
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-crash", target.name));
            fs::write(&path, &bytes).expect("the folder is writable");
            return Err(format!("{}: {failure}", path.display()));
        }
        if Instant::now() > until {
            break;
        }
    }
    Ok(())
}

/// The panic message, or that it took too long.
fn read(target: &FuzzTarget, bytes: &[u8]) -> Result<(), String> {
    let began = Instant::now();
    // An abort leaves no message; this file then has its input.
    let last = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-last", target.name));
    fs::write(&last, bytes).expect("the folder is writable");
    panic::catch_unwind(|| (target.run)(bytes)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })?;
    let took = began.elapsed();
    if took < SLOW { Ok(()) } else { Err(format!("it took {} s", took.as_secs())) }
}

/// Mutations that depend only on the target's name.
struct Random(u64);

impl Random {
    fn new(name: &str) -> Self {
        Self(name.bytes().fold(1, |seed, byte| (seed * 257 + u64::from(byte)) % (1 << 48)) | 1)
    }

    /// A number below `end`, or 0 (xorshift64*).
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        usize::try_from(number).map_or(0, |number| number % end.max(1))
    }

    fn range(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let ends = [self.below(bytes.len() + 1), self.below(bytes.len() + 1)];
        ends[0].min(ends[1])..ends[0].max(ends[1])
    }

    /// One of the seeds with a few mutations.
    fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 | 1 if !bytes.is_empty() => bytes[at] = self.below(256).to_le_bytes()[0],
                2 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                3 => {
                    let word = WORDS.split(' ').nth(self.below(WORDS.split(' ').count()));
                    bytes.splice(at..at, word.unwrap_or_default().bytes());
                }
                4 => {
                    let range = self.range(&bytes);
                    bytes.drain(range);
                }
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let part = other[self.range(other)].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }
}

const MUTATIONS_PER_TARGET: usize = 2000;
const TIME_PER_TARGET: Duration = Duration::from_secs(3);
const SLOW: Duration = Duration::from_secs(10);
/// The same as the fuzzer's.
const BYTES_MAX: usize = 4096;

/// Words that are hard for readers, separated by spaces.
const WORDS: &str = "\n \r \0 {} [ ] \" null true NaN 1e999 -1 0 -0 1e308 \\ud800 \u{feff} \
    99999999999999999999 18446744073709551615 {\"id\": [[verifiers]] ''' \"\"\" {{ }} {% %} \\boxed{ #### \
    \r\n\r\n é \u{10ffff}";
