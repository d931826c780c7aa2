//! What differs between Linux and macOS, behind one set of names. Everyone above asks here and does not know on which of
//! the two it runs; only the shim of `supervise`, which forks, has a part of its own for each.
//!
//! Each platform is one module with the same functions and types. Linux is the one that is tested; macOS is compiled.
//! What a platform cannot tell is an answer of its own (`None`, or nothing in a list), never a guess.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod process;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("checkstone is made for Linux and macOS");

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;

pub use platform::child_handle::ChildHandle;
pub use platform::file_system::{
    clone_content, is_seen_by_other_hosts, mode, mode_bits, names_follow_files, open_below, open_to_owner,
    path_of_open_file,
};
pub use platform::process_table::{CAN_ADOPT_ORPHANS, ProcessTable};
pub use platform::system::{
    MACHINE_IDS, boot_id, fill_with_random, ignored_signals, own_program, process_namespace, since_boot,
    total_memory, widen_pipe,
};
pub use platform::wake_up::WakeUp;
pub use process::{MOST, Process, descends, tree, tree_ticks};

/// What this machine is called.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().trim().to_owned()
}
