//! Linux, by `/proc` and by the system calls that only Linux has.

pub(crate) mod child_handle;
pub(crate) mod file_system;
pub(crate) mod process_table;
pub(crate) mod system;
pub(crate) mod wake_up;
