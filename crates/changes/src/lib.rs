//! What a turn changed in a git repository, by reading alone, and the one door to git: a
//! [`GitProgram`] is the only way to start one.
//!
//! [`start`] starts `git status` and returns at once; the caller loads its policy and its transcript while git
//! runs, and then takes from the [`Pending`] either the [`Baseline`] of a turn that begins, or the
//! [`ChangeSet`](change_set::ChangeSet) of one that ends. While HEAD stands still, that one git process is all that
//! runs. Nothing is ever written to the repository.

mod baseline;
mod blobs;
mod commit_range;
mod committed_text;
mod compare;
mod dirty;
mod error;
mod filters;
pub mod git;
mod git_program;
mod history;
mod notes;
mod origin;
mod pending;
mod reflog;
mod repository;
pub mod state;
pub mod status;
pub mod submodules;
mod tree_change;
mod version;

pub use baseline::{BASELINE_VERSION, Baseline, KnownFile};
pub use blobs::blobs;
pub use commit_range::{CommitRange, CommitRangeError, NamedCommit, first_commit};
pub use committed_text::committed_texts;
pub use error::Error;
pub use git_program::GitProgram;
pub use history::{Compared, between_of, compared, contents_at, hooks_folder, index_contents};
pub use notes::{ObjectNote, notes};
pub use origin::{Remote, first_of_history, remotes};
pub use pending::{Pending, Request, Touched, Unseen, start, start_in};
pub use repository::Repository;
pub use tree_change::TreeChange;
pub use version::GitVersion;
