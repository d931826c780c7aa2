//! The record of a supervised tree (`supervisor.json`), written before the stage begins and removed when all of it is gone. One
//! that is still there belongs to a supervisor that was killed; by it the next one finds what may be left.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use machine::{CAN_ADOPT_ORPHANS, Process, ProcessTable};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::shim::Isolated;
use super::{Command, SpawnError, output};

/// The variable that all of a tree inherit. By it those are known that have lost the shim.
pub(super) const TOKEN: &str = "CHECKSTONE_SUPERVISED";

/// Killed processes are gone within this time, or never.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    version: u32,
    /// Which start of the machine the numbers belong to.
    boot: String,
    supervisor: Identity,
    shim: Identity,
    isolation: String,
    token: String,
    /// The kept output, where it lies beside the record; nothing else is written to by a sweep.
    output: Option<String>,
    kept: u64,
}

/// A process: never by its number alone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Identity {
    pid: i32,
    started: u64,
}

/// What [`sweep`] found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Whether there was a record: the supervisor did not live to the end of its stage.
    pub lost: bool,
    /// Processes that were still alive, and are gone now.
    pub killed: u32,
    /// Processes that could not be ended.
    pub survivors: u32,
}

/// Why leftovers could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error("cannot read the record of the supervisor")]
    Record(#[source] io::Error),
    #[error("the supervisor of `{record}` is alive (process {pid})")]
    Alive { record: PathBuf, pid: i32 },
    #[error("cannot inspect the processes of this machine")]
    Processes(#[source] io::Error),
    #[error("cannot complete the kept output")]
    Output(#[source] io::Error),
}

/// A text that no other tree of this machine has had since its start.
pub(super) fn new_token() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let pid = rustix::process::getpid().as_raw_nonzero();
    format!("{pid}-{}{:09}-{number}", time.tv_sec, time.tv_nsec)
}

pub(super) fn write(command: &Command, isolated: Isolated, shim: Pid, token: &str) -> Result<(), SpawnError> {
    let table = ProcessTable::open().map_err(|error| SpawnError::Record(error.into()))?;
    let record = Record {
        version: 1,
        boot: boot().map_err(SpawnError::Record)?,
        supervisor: ourselves(&table),
        shim: Identity::of(&table, shim),
        isolation: isolated.name().to_owned(),
        token: token.to_owned(),
        output: beside(&command.record, &command.output),
        kept: command.kept,
    };
    let text = serde_json::to_vec(&record).map_err(|error| SpawnError::Record(error.into()))?;
    fs_err::write(&command.record, text).map_err(SpawnError::Record)
}

/// The name of a file in the same folder.
fn beside(record: &Path, output: &Path) -> Option<String> {
    let name = output.file_name().filter(|_| output.parent() == record.parent())?;
    name.to_str().map(str::to_owned)
}

impl Identity {
    fn of(table: &ProcessTable, pid: Pid) -> Self {
        let pid = pid.as_raw_nonzero().get();
        Self { pid, started: table.read(pid).map_or(0, |process| process.started) }
    }

    /// The process, if this very one is alive.
    fn process(&self, table: &ProcessTable) -> Option<Process> {
        table.read(self.pid).filter(|now| now.started == self.started && now.is_alive)
    }
}

/// Which start of the machine this is. Asked once.
pub(super) fn boot() -> io::Result<String> {
    static BOOT: OnceLock<String> = OnceLock::new();
    if let Some(known) = BOOT.get() {
        return Ok(known.clone());
    }
    let boot = machine::boot_id()?;
    Ok(BOOT.get_or_init(|| boot).clone())
}

/// This process. Asked once.
fn ourselves(table: &ProcessTable) -> Identity {
    static OURSELVES: OnceLock<Identity> = OnceLock::new();
    *OURSELVES.get_or_init(|| Identity::of(table, rustix::process::getpid()))
}

/// Kills what a lost supervisor left behind, by its record (`supervisor.json`), completes the kept output, and removes
/// the record. Without a record there is nothing to do. Where that supervisor is alive it is left in peace, with all
/// that belongs to it.
pub fn sweep(path: &Path) -> Result<Swept, SweepError> {
    sweep_unless(path, |supervisor, table| supervisor.process(table).is_some())
}

/// As [`sweep`], also of a supervisor that is alive: it was paused or cut off, and somebody else has its work now.
pub fn sweep_replaced(path: &Path) -> Result<Swept, SweepError> {
    sweep_unless(path, |_, _| false)
}

fn sweep_unless(
    path: &Path,
    is_in_charge: impl Fn(&Identity, &ProcessTable) -> bool,
) -> Result<Swept, SweepError> {
    let text = match fs_err::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swept::default()),
        Err(error) => return Err(SweepError::Record(error)),
    };
    let mut swept = Swept { lost: true, ..Swept::default() };
    // The stage begins only after its record is complete, so one that is not belongs to nothing.
    if let Ok(record) = serde_json::from_slice::<Record>(&text) {
        let table = ProcessTable::open().map_err(|error| SweepError::Processes(error.into()))?;
        if boot().map_err(SweepError::Processes)? == record.boot {
            if is_in_charge(&record.supervisor, &table) {
                return Err(SweepError::Alive { record: path.to_owned(), pid: record.supervisor.pid });
            }
            (swept.killed, swept.survivors) = clear(&table, &record);
        }
        if let Some(output) = record.output.map(|name| path.with_file_name(name))
            && beside(path, &output).is_some()
            && output.exists()
        {
            output::join(&output, record.kept).map_err(SweepError::Output)?;
        }
    }
    fs_err::remove_file(path).map_err(SweepError::Record)?;
    Ok(swept)
}

/// Kills the shim with its tree, and whoever else carries the token.
fn clear(table: &ProcessTable, record: &Record) -> (u32, u32) {
    let mut first = Vec::with_capacity(machine::MOST);
    table.read_all(&mut first);
    let shim = record.shim.process(table);
    let has_its_number = shim.is_some() || outlives_its_shim(table, record.shim.pid);
    let of_tree = |row: &Process| {
        (has_its_number && machine::descends(&first, row, record.shim.pid)) || carries(row.pid, &record.token)
    };
    let members: Vec<Process> = first.iter().filter(|row| row.is_alive && of_tree(row)).copied().collect();
    let (killed, survivors) = kill_until_gone(table, &record.token, &members);
    // Last, since in a namespace all of it would go at once and could not be counted; without one it takes in orphans.
    if let Some(shim) = shim {
        let _ = table.signal(&shim, Signal::KILL);
    }
    (killed, survivors)
}

/// Whether those that descend from a shim that is gone are still known by its number. While its session is there, nobody else
/// gets that.
fn outlives_its_shim(table: &ProcessTable, shim: i32) -> bool {
    !CAN_ADOPT_ORPHANS && table.read(shim).is_none()
}

/// Kills these and all who carry the token, until none is left or nothing more helps.
fn kill_until_gone(table: &ProcessTable, token: &str, members: &[Process]) -> (u32, u32) {
    let deadline = Instant::now() + PATIENCE;
    let mut known: Vec<Process> = members.to_vec();
    loop {
        let mut alive = 0;
        for process in &known {
            let same =
                table.read(process.pid).is_some_and(|now| now.started == process.started && now.is_alive);
            if same {
                alive += 1;
                let _ = table.signal(process, Signal::KILL);
            }
        }
        let mut rows = Vec::with_capacity(machine::MOST);
        table.read_all(&mut rows);
        let is_known =
            |row: &Process| known.iter().any(|old| old.pid == row.pid && old.started == row.started);
        let more: Vec<Process> = rows
            .into_iter()
            .filter(|row| row.is_alive && !is_known(row) && carries(row.pid, token))
            .collect();
        if alive == 0 && more.is_empty() {
            return (u32::try_from(known.len()).unwrap_or(u32::MAX), 0);
        }
        known.extend(more);
        if Instant::now() > deadline {
            let all = u32::try_from(known.len()).unwrap_or(u32::MAX);
            return (all.saturating_sub(alive), alive);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Kills whoever is left of a tree that has lost its shim. Returns how many could not be killed.
pub(super) fn kill_orphans(token: &str, shim: Pid) -> u32 {
    let Ok(table) = ProcessTable::open() else { return 0 };
    let shim = shim.as_raw_nonzero().get();
    let mut rows = Vec::new();
    if outlives_its_shim(&table, shim) {
        rows.reserve(machine::MOST);
        table.read_all(&mut rows);
    }
    let members: Vec<Process> =
        rows.iter().filter(|row| machine::descends(&rows, row, shim)).copied().collect();
    kill_until_gone(&table, token, &members).1
}

fn carries(pid: i32, token: &str) -> bool {
    ProcessTable::was_started_with(pid, format!("{TOKEN}={token}").as_bytes())
}
