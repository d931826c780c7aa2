//! Where tests put their folders: in memory where there is enough of it. They wait for the disk for a third of their time, and those
//! that are about a file system mount one of their own.

use std::path::Path;
use std::process::Command;

use rustix::fs::{StatVfs, StatVfsMountFlags};
use tempfile::TempDir;

/// More than all tests have at once, with room for what else the machine does.
const ENOUGH: u64 = 8 << 30;

/// The mark of a file system on which no program may be started (`ST_NOEXEC` of Linux, the only system with such a folder).
const NO_PROGRAMS: StatVfsMountFlags = StatVfsMountFlags::from_bits_retain(8);

/// Goes away with the value, whatever was left in it.
pub(crate) struct Scratch(Option<TempDir>);

impl Scratch {
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let is_enough = available(memory).min(memory_available()) >= ENOUGH;
        Self(is_enough.then(|| tempfile::Builder::new().prefix("tests-").tempdir_in(memory).ok()).flatten())
    }

    /// The command's temporary folder; where memory is short, the usual one.
    pub(crate) fn given_to<'command>(&self, command: &'command mut Command) -> &'command mut Command {
        match &self.0 {
            Some(folder) => command.env("TMPDIR", folder.path()),
            None => command,
        }
    }
}

/// What fits in there, in bytes; nothing where no program may be started, since tests write some.
fn available(folder: &Path) -> u64 {
    let runs_programs = |disk: &StatVfs| !disk.f_flag.contains(NO_PROGRAMS);
    let disk = rustix::fs::statvfs(folder).ok().filter(runs_programs);
    disk.map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// What the kernel would give to programs, in bytes; nothing where it does not say.
fn memory_available() -> u64 {
    let text = fs_err::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|number| number.parse().ok());
    kibibytes.map_or(0, |kibibytes: u64| kibibytes << 10)
}
