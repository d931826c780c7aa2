//! Processes as `/proc` shows them. What the shim of `supervise` uses between fork and exec (opening, reading, signalling)
//! allocates nothing beyond the room that it is given, and does not panic.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process::Process;

/// A process can be made the one to which the orphans below it fall.
pub const CAN_ADOPT_ORPHANS: bool = true;

/// The processes of this machine, open for looking.
#[derive(Debug)]
pub struct ProcessTable {
    folder: OwnedFd,
}

impl ProcessTable {
    pub fn open() -> rustix::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { folder: rustix::fs::open(c"/proc", flags, Mode::empty())? })
    }

    /// All processes, by number; as many as there is room for.
    pub fn read_all(&self, rows: &mut Vec<Process>) {
        rows.clear();
        if rustix::fs::seek(&self.folder, rustix::fs::SeekFrom::Start(0)).is_err() {
            return;
        }
        let mut buffer = [MaybeUninit::<u8>::uninit(); 8192];
        let mut entries = RawDir::new(&self.folder, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            if rows.len() == rows.capacity() {
                return;
            }
            if let Some(process) = number(entry.file_name().to_bytes()).and_then(|pid| self.read(pid)) {
                rows.push(process);
            }
        }
    }

    /// One process; `None` if there is none of this number.
    pub fn read(&self, pid: i32) -> Option<Process> {
        let mut name = [0; 32];
        let path = path_of_stat(pid, &mut name)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, path, flags, Mode::empty()).ok()?;
        let mut content = [0; 1024];
        let length = rustix::io::read(&file, &mut content).ok()?;
        parse(pid, content.get(..length)?)
    }

    /// A signal to exactly this process: through a descriptor, and only if the number has not gone to another one.
    pub fn signal(&self, process: &Process, signal: Signal) -> rustix::io::Result<()> {
        let pid = Pid::from_raw(process.pid).ok_or(Errno::SRCH)?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        match self.read(process.pid) {
            Some(now) if now.started == process.started => pidfd_send_signal(descriptor.as_fd(), signal),
            _ => Err(Errno::SRCH),
        }
    }

    /// The numbers of all processes.
    pub fn pids() -> Vec<i32> {
        let entries = fs_err::read_dir("/proc").into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
    }

    /// A process's own group, and the group in front of its terminal.
    pub fn groups(pid: i32) -> Option<(i32, i32)> {
        let text = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may contain anything.
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let group = fields.nth(2)?.parse().ok()?;
        let front = fields.nth(2)?.parse().ok()?;
        Some((group, front))
    }

    /// The program and its arguments, empty ones left out; none if the system does not tell.
    pub fn arguments(pid: i32) -> Vec<Vec<u8>> {
        let text = fs_err::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text.split(|byte| *byte == 0).filter(|argument| !argument.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Whether it was started with this variable, `NAME=VALUE`; no if the system does not tell.
    pub fn was_started_with(pid: i32, variable: &[u8]) -> bool {
        let environment = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|inherited| inherited == variable)
    }

    /// The folder that it works in.
    pub fn working_folder(pid: i32) -> Option<PathBuf> {
        fs_err::read_link(format!("/proc/{pid}/cwd")).ok()
    }

    /// What the program is called, in up to 15 bytes.
    pub fn name(pid: i32) -> String {
        fs_err::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
    }

    /// What a process has in memory, shared pages included.
    pub fn resident(pid: i32) -> u64 {
        figure(&format!("/proc/{pid}/status"), "VmRSS:").unwrap_or(0)
    }

    /// Shared pages in equal parts with those it shares them with; not everyone's may be asked for.
    pub fn proportional(pid: i32) -> u64 {
        figure(&format!("/proc/{pid}/smaps_rollup"), "Pss:").unwrap_or_else(|| Self::resident(pid))
    }

    /// Whether a process is seen to have a file of this name open: another process may see another path to it. `None` if
    /// nobody can know.
    pub fn has_open(name: &OsStr) -> Option<bool> {
        Path::new("/proc/self/fd").exists().then(|| {
            let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
            let files = processes.filter_map(|process| process.path().join("fd").read_dir().ok());
            let mut open = files.flatten().flatten().filter_map(|file| fs_err::read_link(file.path()).ok());
            open.any(|open| open.file_name() == Some(name))
        })
    }
}

fn number(digits: &[u8]) -> Option<i32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
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
    Some(Process { pid, parent, is_alive: !matches!(state, b'Z' | b'X' | b'x'), started, ticks })
}

/// A line of kilobytes, in bytes.
fn figure(path: &str, key: &str) -> Option<u64> {
    let text = fs_err::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
