//! What a machine with macOS says of itself and of this process.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::time::ClockId;

use super::libc_calls;

/// No file has an id of the machine; its name tells it apart.
pub const MACHINE_IDS: &[&str] = &[];

/// The file by which this program is started again: the one that is there now, if it was replaced meanwhile.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Which start of the machine this is.
pub fn boot_id() -> io::Result<String> {
    let text = libc_calls::system_value(c"kern.bootsessionuuid")?;
    Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
}

/// There is one for all.
pub fn process_namespace() -> String {
    String::new()
}

/// Since the machine started, its sleep included: that is what this clock counts here; `Instant` leaves it out.
pub fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

/// Its memory in bytes.
pub fn total_memory() -> Option<u64> {
    let bytes = libc_calls::system_value(c"hw.memsize").ok()?;
    bytes.as_slice().try_into().ok().map(u64::from_ne_bytes)
}

/// The signals that this process ignores, one bit for each, the lowest for signal 1.
pub fn ignored_signals() -> u64 {
    libc_calls::ignored_signals()
}

/// The system's own randomness.
pub fn fill_with_random(bytes: &mut [u8]) -> io::Result<()> {
    libc_calls::random(bytes)
}

/// The system sizes its pipes by itself.
pub fn widen_pipe(_pipe: impl AsFd, _bytes: usize) {}
