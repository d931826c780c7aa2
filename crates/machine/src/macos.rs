//! macOS, by `libproc`, `sysctl` and kernel queues. Compiled, and never run: every call here goes by Apple's headers and manual
//! pages.

pub(crate) mod child_handle;
pub(crate) mod file_system;
pub(crate) mod libc_calls;
pub(crate) mod process_table;
pub(crate) mod system;
pub(crate) mod wake_up;
