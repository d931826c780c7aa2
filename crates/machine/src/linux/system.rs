//! What a machine with Linux says of itself and of this process.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::rand::GetRandomFlags;
use rustix::time::ClockId;

/// Files with the id that systemd and D-Bus give a machine.
pub const MACHINE_IDS: &[&str] = &["/etc/machine-id"];

/// The running program, also where its file was replaced meanwhile.
const OWN: &str = "/proc/self/exe";

/// The file by which this program is started again.
pub fn own_program() -> io::Result<PathBuf> {
    match Path::new(OWN).exists() {
        true => Ok(PathBuf::from(OWN)),
        false => std::env::current_exe(),
    }
}

/// Which start of the machine this is.
pub fn boot_id() -> io::Result<String> {
    Ok(fs_err::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// In which of the machine's namespaces of process numbers we are.
pub fn process_namespace() -> String {
    let link = fs_err::read_link("/proc/self/ns/pid");
    link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Since the machine started, its sleep included; `Instant` leaves that out.
pub fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::Boottime);
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

/// Its memory in bytes.
pub fn total_memory() -> Option<u64> {
    let text = fs_err::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The signals that this process ignores, one bit for each, the lowest for signal 1; none if the system does not tell.
pub fn ignored_signals() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The system's own randomness.
pub fn fill_with_random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += rustix::rand::getrandom(rest, GetRandomFlags::empty())?;
    }
    Ok(())
}

/// Lets a pipe hold this many bytes. A user with very many pipes gets small ones, which only costs speed.
pub fn widen_pipe(pipe: impl AsFd, bytes: usize) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
}
