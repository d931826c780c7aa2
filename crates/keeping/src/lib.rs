//! Git that writes for the user, and only where they asked for it: [`commit`] commits named paths and nothing else,
//! [`push`] sends the branch, [`NotesRef`] adds to notes, and [`snapshot`] keeps the whole working tree under private refs and brings it back. What
//! only reads, and the way to git, is in `changes`.

mod abandoned;
mod acting;
mod added;
pub mod commit;
mod difference;
mod leftover_file;
mod notes;
pub mod push;
pub mod snapshot;
mod working_tree;

pub use added::{Added, AddedFile, LARGEST_FILE};
pub use difference::{Difference, Version};
pub use leftover_file::{LeftoverFile, LeftoverKind, interrupted_writes, leftover_files};
pub use notes::{NotesError, NotesRef};
