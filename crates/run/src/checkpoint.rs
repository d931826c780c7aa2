//! Checkpoints of a run: saved, listed, validated, found again, restored, pruned; and the emergency one, which waits for
//! nobody. The manifest is the commit record: it is written last, and what has no valid manifest is no checkpoint.

mod emergency;
mod folders;
mod id;
mod list;
pub mod output;
mod prune;
mod restore;
mod resume;
mod save;
mod validate;

pub use emergency::{EmergencyRequest, add_partial, emergency};
pub use list::{Listed, Listing, Unreadable, list};
pub(crate) use prune::prune_after_save;
pub use prune::{DEFAULT_KEEP, PruneError, Pruned, prune};
pub use restore::{RestoreError, Restored, restore};
pub use resume::{Found, Skipped, Usable, last_valid};
pub use save::{SaveError, SaveRequest, SaveWarning, Saved, SizeLimits, save};
pub use validate::{Depth, Issue, ValidateError, Validated, validate};
