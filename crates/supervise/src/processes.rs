//! Processes as `/proc` tells of them. The shim uses this between fork and exec, so nothing here allocates beyond the
//! room that it is given, and nothing panics.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process at one instant. A number alone names nobody for long; number and start do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    state: u8,
    /// In clock ticks since the machine started.
    pub(super) started: u64,
    /// Processor time in clock ticks, that of its children which have ended included.
    pub(super) ticks: u64,
}

impl Process {
    /// Not a zombie, which nobody can signal and which holds nothing.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// The processes of a machine that are looked at; further ones are found when some are gone.
pub(super) const MOST: usize = 32_768;

/// More steps than this lead nowhere: rows that were read at different instants can go round in a circle.
const DEEPEST: usize = 4096;

pub(super) fn open() -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(c"/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// All processes, by number; as many as there is room for.
pub(super) fn read_all(proc: &OwnedFd, rows: &mut Vec<Process>) {
    rows.clear();
    if rustix::fs::seek(proc, rustix::fs::SeekFrom::Start(0)).is_err() {
        return;
    }
    let mut buffer = [MaybeUninit::<u8>::uninit(); 8192];
    let mut entries = RawDir::new(proc, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if rows.len() == rows.capacity() {
            return;
        }
        if let Some(process) = number(entry.file_name().to_bytes()).and_then(|pid| read(proc, pid)) {
            rows.push(process);
        }
    }
}

fn number(digits: &[u8]) -> Option<i32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// One process; `None` where there is none of this number.
pub(super) fn read(proc: &OwnedFd, pid: i32) -> Option<Process> {
    let mut name = [0; 32];
    let path = path_of_stat(pid, &mut name)?;
    let file = rustix::fs::openat(proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut content = [0; 1024];
    let length = rustix::io::read(&file, &mut content).ok()?;
    parse(pid, content.get(..length)?)
}

/// `{pid}/stat`, written without allocating.
fn path_of_stat(pid: i32, name: &mut [u8; 32]) -> Option<&CStr> {
    use std::io::Write;
    let mut rest = name.as_mut_slice();
    write!(rest, "{pid}/stat").ok()?;
    CStr::from_bytes_until_nul(name).ok()
}

fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    // The name of the program stands in brackets and may hold anything, brackets too.
    let after_name = stat.get(memchr::memrchr(b')', stat)? + 2..)?;
    let mut fields = std::str::from_utf8(after_name).ok()?.split(' ');
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    // From the fifth field on: user, system, and both of children that were waited for, are 14 to 17.
    let mut ticks = 0_u64;
    for time in fields.by_ref().skip(9).take(4) {
        ticks = ticks.saturating_add(time.parse::<u64>().ok()?);
    }
    let started = fields.nth(4)?.parse().ok()?;
    Some(Process { pid, parent, state, started, ticks })
}

/// Whether a process has this ancestor, by rows in the order of their numbers.
pub(super) fn descends(rows: &[Process], process: &Process, ancestor: i32) -> bool {
    let mut parent = process.parent;
    for _ in 0..DEEPEST {
        if parent == ancestor {
            return true;
        }
        match rows.binary_search_by_key(&parent, |row| row.pid) {
            Ok(place) => match rows.get(place) {
                Some(row) => parent = row.parent,
                None => return false,
            },
            Err(_) => return false,
        }
    }
    false
}

/// A signal to exactly this process: through a descriptor, and only if the number has not gone to another one.
pub(super) fn signal(proc: &OwnedFd, process: &Process, signal: Signal) -> rustix::io::Result<()> {
    let pid = Pid::from_raw(process.pid).ok_or(Errno::SRCH)?;
    let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
    match read(proc, process.pid) {
        Some(now) if now.started == process.started => pidfd_send_signal(descriptor.as_fd(), signal),
        _ => Err(Errno::SRCH),
    }
}

/// A process and all that descend from it.
pub(super) fn tree(rows: &[Process], root: i32) -> impl Iterator<Item = &Process> {
    rows.iter().filter(move |row| row.pid == root || descends(rows, row, root))
}

/// The processor time of a process and of all that descend from it, in clock ticks; and how many they are.
pub(super) fn tree_ticks(rows: &[Process], root: i32) -> (u64, usize) {
    tree(rows, root).fold((0, 0), |(ticks, number), row| (ticks + row.ticks, number + 1))
}
