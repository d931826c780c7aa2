//! The careful file system that every crate uses for what matters: files that are replaced whole, locks, folders that no
//! link leads out of, reads that end, child processes that end, and the small tools around them.
//!
//! Prints nothing, reads no environment and no clock of the wall.

pub mod atomic_file;
mod bounded_child;
mod file_error;
mod folder;
mod lock;
mod program;
mod random;
pub mod regular_file;
mod temporary_file;

pub use bounded_child::{BoundedChild, Bounds, ChildError, Ended, Leftovers};
pub use file_error::FileError;
pub use folder::{Folder, WritableMeanwhile, sync_directory};
pub use lock::{Lock, LockError, Sharing};
pub use program::find_program;
pub use random::{random_id, random_key};
pub use regular_file::Links;
pub use temporary_file::TemporaryFile;
