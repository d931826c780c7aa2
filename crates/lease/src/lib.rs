//! One owner among processes of several hosts. A lease has a token, which only ever grows: whoever commits something under a
//! lease checks that its token is still the newest, so that an owner that was paused and replaced changes nothing more.
//!
//! Wall clocks are never compared. In a folder, a lease has expired if somebody who waits for it has seen it unchanged for its
//! whole length by a monotonic clock of their own; in a database, its one clock decides.

mod folder_lease;
mod kept_lease;
mod owner;
mod renewal;

use std::io;

pub use folder_lease::{FolderFence, FolderLease, owner_in};
pub use kept_lease::KeptLease;
pub use owner::LeaseOwner;
pub use renewal::Renewal;

#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("{owner} has the lease")]
    Held { owner: String },
    #[error("the lease was taken over by {owner}")]
    Lost { owner: String },
    #[error(transparent)]
    File(#[from] files::FileError),
    #[error("cannot tell which process this is")]
    Owner(#[source] io::Error),
    #[error("cannot start the thread that renews the lease")]
    Thread(#[source] io::Error),
}
