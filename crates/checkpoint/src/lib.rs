//! Checkpoints of a run: saved, listed, validated, found again, restored, pruned; and the emergency one, which waits for
//! nobody. The manifest is the commit record: it is written last, and what has no valid manifest is no checkpoint.

mod artifact_path;
mod emergency;
mod file_hashes;
mod folders;
pub mod hash;
mod id;
mod identity;
pub mod layout;
mod list;
pub mod manifest;
pub mod output;
mod parallel;
mod prune;
mod read_permissions;
mod remote_store;
mod restore;
mod resume;
mod run_removal;
mod save;
mod store;
mod validate;

pub use artifact_path::{PathError, relative_to_root};
pub use emergency::{add_partial, emergency};
pub use file_hashes::{FileContent, FileHashes};
pub use identity::Identity;
pub use list::{ListedCheckpoint, UnreadableCheckpoint, list};
pub use prune::{DEFAULT_KEEP, prune, prune_after_save, prune_at_end};
pub use read_permissions::ReadPermissions;
pub use remote_store::{FetchedFile, RemoteContent, RemoteError, RemoteStore, use_remote_store};
pub use restore::{RestoreError, can_restore, restore};
pub use resume::{CheckpointSearch, SkippedCheckpoint, UsableCheckpoint, last_valid};
pub use run_removal::{RemovedRun, Room, remove_run, room_of_run};
pub use save::{FolderMove, SaveError, SaveRequest, SaveWarning, SavedCheckpoint, SizeLimits, save};
pub use store::StoreError;
pub use validate::{Depth, Issue, Validation, validate};
