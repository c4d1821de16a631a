//! A disk that can fail, and whose power can be cut. The journal's file stands for what the system has in its
//! cache. Only this disk knows how much of it a power cut would leave.

use std::fs::{self, File};
use std::io::{self, Write};
use std::panic;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use goodarm_record::journal::Storage;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::Killed;
use super::chance::Chance;
use super::plan::Fate;
use crate::run::disk::{StorageFactory, SyncResult, SyncedStorage};

/// The disk, shared by all processes of a run.
#[derive(Clone)]
pub(super) struct SimDisk(Arc<Mutex<State>>);

struct State {
    chance: Chance,
    /// The number of bytes that survive any power cut.
    durable_len: u64,
    len: u64,
    /// The writes of the current process.
    write_count: u64,
    sync_count: u64,
    fate: Fate,
}

impl SimDisk {
    pub(super) fn new(seed: u64) -> Self {
        let chance = Chance::at(&[seed, 3]);
        let (durable_len, len, fate) = (0, 0, Fate::Peace);
        Self(Arc::new(Mutex::new(State {
            chance,
            durable_len,
            len,
            write_count: 0,
            sync_count: 0,
            fate,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("not poisoned")
    }

    /// Begins another process, with its fate.
    pub(super) fn begin(&self, fate: Fate) {
        let mut state = self.state();
        (state.write_count, state.sync_count, state.fate) = (0, 0, fate);
    }

    /// Removes some of the bytes that are not durable: the end of the file may be cut, and sectors may become
    /// zero.
    pub(super) fn cut_power(&self, path: &Path) {
        const SECTOR_LEN: usize = 512;
        let mut state = self.state();
        let Ok(mut bytes) = fs::read(path) else { return };
        let safe_len = usize::try_from(state.durable_len).expect("a short file");
        if state.chance.is(0.5) {
            let lost_len = state.chance.below((bytes.len() - safe_len + 1) as u64);
            bytes.truncate(bytes.len() - usize::try_from(lost_len).expect("a short file"));
        }
        if state.chance.is(0.7) {
            let lost = state.chance.next();
            for (index, byte) in bytes.iter_mut().enumerate().skip(safe_len) {
                if lost >> (index / SECTOR_LEN % 64) & 1 == 1 {
                    *byte = 0;
                }
            }
        }
        state.len = bytes.len() as u64;
        fs::write(path, bytes).expect("the file takes what it had");
    }
}

impl StorageFactory for SimDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn SyncedStorage>> {
        let file = File::options().append(true).create_new(true).open(path)?;
        let mut state = self.state();
        (state.len, state.durable_len) = (0, 0);
        drop(state);
        Ok(Box::new(SimFile { file, disk: self.clone() }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SyncedStorage>> {
        let file = File::options().append(true).open(path)?;
        Ok(Box::new(SimFile { file, disk: self.clone() }))
    }
}

/// A journal on the simulated disk.
struct SimFile {
    file: File,
    disk: SimDisk,
}

impl State {
    /// The share of the next write that gets into the file, and the result of the write.
    fn next_write(&mut self) -> (f64, Result<(), Failure>) {
        let count = self.write_count;
        self.write_count += 1;
        match self.fate {
            Fate::KilledInWrite { write, share } if count == write => (share, Err(Failure::Death)),
            Fate::WriteFails { write, share } if count == write => {
                (share, Err(Failure::Error(io::Error::other("the disk is broken"))))
            }
            Fate::DiskFull { write, share } if count >= write => {
                let share = if count == write { share } else { 0.0 };
                (share, Err(Failure::Error(io::ErrorKind::StorageFull.into())))
            }
            _ => (1.0, Ok(())),
        }
    }

    fn next_sync(&mut self) -> io::Result<()> {
        let count = self.sync_count;
        self.sync_count += 1;
        match self.fate {
            Fate::SyncFails { sync } if count == sync => Err(io::Error::other("not on the disk")),
            _ => Ok(()),
        }
    }
}

enum Failure {
    Error(io::Error),
    Death,
}

impl Storage for SimFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        let (share, outcome) = state.next_write();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a share of a length"
        )]
        let written_len = (share * bytes.len() as f64) as usize;
        self.file.write_all(&bytes[..written_len])?;
        state.len += written_len as u64;
        drop(state);
        match outcome {
            Ok(()) => Ok(()),
            Err(Failure::Error(error)) => Err(error),
            // A kill returns no error: nothing after this instruction is executed.
            Err(Failure::Death) => panic::resume_unwind(Box::new(Killed)),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.next_sync()?;
        state.durable_len = state.len;
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        let mut state = self.disk.state();
        state.len = len;
        state.durable_len = state.durable_len.min(len);
        Ok(())
    }
}

impl SyncedStorage for SimFile {
    fn serve(
        &self,
        mut orders: UnboundedReceiver<()>,
        results: UnboundedSender<SyncResult>,
    ) -> io::Result<()> {
        let disk = self.disk.clone();
        tokio::spawn(async move {
            while orders.recv().await.is_some() {
                let (len, time) = {
                    let mut state = disk.state();
                    (state.len, Duration::from_secs_f64(state.chance.magnitude(1e-5, 0.05)))
                };
                tokio::time::sleep(time).await;
                let result = {
                    let mut state = disk.state();
                    let result = state.next_sync();
                    if result.is_ok() {
                        state.durable_len = state.durable_len.max(len);
                    }
                    result
                };
                if results.send(SyncResult { result, time }).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }
}
