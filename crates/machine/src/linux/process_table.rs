//! Processes as `/proc` shows them. What the shim of `supervise` uses between fork and exec (opening, reading, signalling)
//! allocates nothing beyond the room that it is given, and does not panic.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process::Process;

/// A process can be made the one to which the orphans below it fall.
pub const CAN_ADOPT_ORPHANS: bool = true;

/// A program is changed in far less, also on a busy machine.
const MOST_LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

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
        once_told(pid, "cmdline")
            .split(|byte| *byte == 0)
            .filter(|argument| !argument.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// Whether it was started with this variable, `NAME=VALUE`; no if the system does not tell.
    pub fn was_started_with(pid: i32, variable: &[u8]) -> bool {
        once_told(pid, "environ").split(|byte| *byte == 0).any(|inherited| inherited == variable)
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

/// What a file of a process says, the whole of it. While the process changes its program (`execve`), the file is empty for a
/// moment, and ends wherever the reading had come to; neither must be taken for its content.
fn once_told(pid: i32, file: &str) -> Vec<u8> {
    let mut told = Vec::new();
    let mut empty_looks = 0;
    for _ in 0..MOST_LOOKS {
        let Ok(now) = fs_err::read(format!("/proc/{pid}/{file}")) else { break };
        told = now;
        match expected_length(pid, file) {
            None => break,
            // Whether it is empty, or not yet written, the next look knows.
            Some(0) if told.is_empty() && empty_looks == 0 => empty_looks += 1,
            Some(length) if told.len() == length => break,
            // A process may have more to say than it was started with.
            Some(_) if file == "cmdline" && !told.is_empty() => break,
            Some(_) => {}
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    told
}

/// How long such a file is of a process that has not ended and is not the kernel's.
fn expected_length(pid: i32, file: &str) -> Option<usize> {
    /// `PF_KTHREAD`
    const OF_KERNEL: u64 = 0x0020_0000;
    /// Longer than any; not known yet.
    const NOT_YET: usize = usize::MAX;
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // From the third field on.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    if matches!(*fields.first()?, "Z" | "X" | "x") || number(9)? & OF_KERNEL != 0 {
        return None;
    }
    let (first, last) = if file == "environ" { (50, 51) } else { (48, 49) };
    match (number(first)?, number(last)?) {
        (_, 0) => Some(NOT_YET),
        (first, last) => usize::try_from(last.saturating_sub(first)).ok(),
    }
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
