//! What a turn changed, as plain data: what `changes` finds, the gate judges and the journal keeps. No files, no
//! processes.

mod byte_path;
mod change_set;

pub use byte_path::BytePath;
pub use change_set::{Change, ChangeSet, ChangedFile, How, Scope};
