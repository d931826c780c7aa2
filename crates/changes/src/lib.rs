//! What a turn changed in a git repository, and snapshots of its working tree. The only crate that runs git.
//!
//! [`start`] starts `git status` and returns at once; the caller loads its policy and its transcript while git
//! runs, and then takes from the [`Pending`] either the [`Baseline`] of a turn that begins, or the [`ChangeSet`]
//! of one that ends. While HEAD stands still, that one git process is all that runs. Nothing is ever written to
//! the repository.
//!
//! [`commit`] commits named paths and nothing else, and [`push`] sends the branch; both only where the user asked.
//!
//! [`snapshot`] keeps the whole working tree under private refs, and brings it back.

mod acting;
mod added;
mod baseline;
mod change_set;
pub mod commit;
mod compare;
mod dirty;
mod error;
mod filters;
mod git;
mod history;
mod path;
mod pending;
pub mod push;
mod reflog;
mod repository;
pub mod snapshot;
mod state;
mod status;
mod submodules;
mod version;

pub use added::{Added, AddedFile, LARGEST_FILE};
pub use baseline::{BASELINE_VERSION, Baseline, KnownFile};
pub use change_set::{Change, ChangeSet, ChangedFile, How, Scope};
pub use error::Error;
pub use git::Settings;
pub use path::BytePath;
pub use pending::{Pending, Request, Touched, start, start_in};
pub use repository::Repository;
pub use state::{FileContent, FileState, Identity, ObjectFormat};
pub use status::STATUS_ARGUMENTS;
pub use version::GitVersion;
