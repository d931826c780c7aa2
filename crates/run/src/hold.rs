//! What makes a process the only one that runs a run, and keeps it from recording anything once it no longer is. On a local disk
//! that is a lock, which the kernel gives back. On a file system that several hosts share it is a lease, since locks do not
//! reach everywhere there: every commit of the record checks its token. With a database it is a lease in that, and what is committed
//! there is the record; the file beside the run is a copy for those who read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use checkpoint::layout::Layout;
use files::{Folder, Lock, LockError};
use lease::{KeptLease, LeaseError};

use crate::event::Event;
use crate::publish;

/// How runs are taken in hand.
#[derive(Clone, Debug, Default)]
pub enum HoldKind {
    /// A lock on a disk of this machine's own, a lease where hosts share one.
    #[default]
    ByFileSystem,
    /// A lease of this length, wherever it is.
    Lease(Duration),
    #[cfg(feature = "postgres")]
    Database(Box<crate::database_hold::DatabaseSetting>),
}

/// An owner that gives no sign of life is waited for so long.
pub(crate) const USUAL_LENGTH: Duration = Duration::from_secs(30);

/// Processes that a killed owner had started hold its lock until they are gone, which takes them a moment.
const LAST_MOMENTS: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error("the run was taken over by {owner}: nothing more is recorded here")]
    Lost { owner: String },
    #[error("cannot tell whether this process still owns the run")]
    Lease(#[source] LeaseError),
    #[error("nothing more can be recorded in the database of the run")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    #[error("{owner} has it")]
    Busy { owner: String },
    #[error(transparent)]
    Lock(LockError),
    #[error(transparent)]
    Lease(LeaseError),
    #[error(transparent)]
    Folder(#[from] publish::PublishError),
    #[error("the database of the run cannot be used")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Held until dropped. From any thread it can be asked whether it still is.
pub trait RunHold: fmt::Debug + Send + Sync {
    /// Commits events where the record is at home, if that is not the file; `lines` are those of the file.
    fn commit(&self, _events: &[Event], _lines: &[u8]) -> Result<(), HoldError> {
        Ok(())
    }

    /// What was committed there; none if the file is the record.
    fn committed(&self) -> Result<Option<Vec<u8>>, HoldError> {
        Ok(None)
    }

    /// Before and after lines are written to the file: an error if somebody else has the run.
    fn confirm(&self) -> Result<(), HoldError> {
        Ok(())
    }

    /// The same at any time.
    fn check(&self) -> Result<(), HoldError> {
        self.confirm()
    }

    /// Whether that is known already; costs nothing.
    fn is_lost(&self) -> bool {
        false
    }

    /// By which what this process publishes is told from what others do; none if there can be no others.
    fn token(&self) -> Option<u64> {
        None
    }

    /// Whether somebody else has the run for certain.
    fn has_successor(&self) -> bool {
        matches!(self.check(), Err(HoldError::Lost { .. }))
    }

    /// Removes what was committed elsewhere, of a run that is removed.
    fn forget(&self) -> Result<(), HoldError> {
        Ok(())
    }

    /// Whether the owner before may still be alive, with the record open.
    fn may_have_rival(&self) -> bool {
        self.token().is_some()
    }
}

#[derive(Debug)]
struct LockHold {
    _lock: Lock,
}

impl RunHold for LockHold {}

impl RunHold for KeptLease {
    fn confirm(&self) -> Result<(), HoldError> {
        self.fence().check().map_err(|error| match error {
            LeaseError::Lost { owner } => HoldError::Lost { owner },
            error => HoldError::Lease(error),
        })
    }

    fn is_lost(&self) -> bool {
        KeptLease::is_lost(self)
    }

    fn token(&self) -> Option<u64> {
        Some(self.fence().token())
    }
}

/// For records that are written by one process as a matter of course.
#[derive(Debug)]
pub struct AloneHold;

impl RunHold for AloneHold {}

/// Takes the run in hand; nobody else may until this is dropped. A dead owner, or a file with anything in it, blocks
/// nobody (R11).
pub fn take(layout: &Layout, kind: &HoldKind) -> Result<Arc<dyn RunHold>, TakeError> {
    let length = match kind {
        #[cfg(feature = "postgres")]
        HoldKind::Database(setting) => return crate::database_hold::take(layout, setting),
        HoldKind::Lease(length) => *length,
        HoldKind::ByFileSystem if is_shared(&layout.run_checkpoints()) => USUAL_LENGTH,
        HoldKind::ByFileSystem => return lock(layout),
    };
    publish::make_folder(layout.root(), &layout.lease())?;
    match KeptLease::take(&layout.lease(), length) {
        Ok(lease) => Ok(Arc::new(lease)),
        Err(LeaseError::Held { owner }) => Err(TakeError::Busy { owner }),
        Err(error) => Err(TakeError::Lease(error)),
    }
}

fn lock(layout: &Layout) -> Result<Arc<dyn RunHold>, TakeError> {
    match Lock::acquire(&layout.lock(), LAST_MOMENTS) {
        Ok(lock) => Ok(Arc::new(LockHold { _lock: lock })),
        Err(LockError::Busy { .. }) => Err(TakeError::Busy { owner: "another process".to_owned() }),
        Err(error) => Err(TakeError::Lock(error)),
    }
}

/// Runs that engines of other hosts have in hand, by their folders, each with its owner: as the database said when it was last asked.
static DISTANT_OWNERS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

#[cfg(feature = "postgres")]
pub(crate) fn note_distant_owner(layout: &Layout, owner: Option<String>) {
    let mut owners = DISTANT_OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    match owner {
        Some(owner) => drop(owners.insert(layout.run_checkpoints(), owner)),
        None => drop(owners.remove(&layout.run_checkpoints())),
    }
}

/// Who has the run in hand by the database, and not by anything in this folder.
pub fn distant_owner(layout: &Layout) -> Option<String> {
    let owners = DISTANT_OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    owners.get(&layout.run_checkpoints()).cloned().filter(|_| !is_taken_here(layout))
}

/// Whether a process has the run in hand now; of a lease, as far as can be told without waiting.
pub fn is_taken(layout: &Layout) -> bool {
    is_taken_here(layout) || distant_owner(layout).is_some()
}

/// By what lies in this folder.
pub(crate) fn is_taken_here(layout: &Layout) -> bool {
    // Asking must not make a folder or a file where there is none.
    let is_locked = layout.lock().symlink_metadata().is_ok()
        && matches!(Lock::acquire(&layout.lock(), Duration::ZERO), Err(LockError::Busy { .. }));
    is_locked || (layout.lease().symlink_metadata().is_ok() && lease::owner_in(&layout.lease()).is_some())
}

fn is_shared(path: &Path) -> bool {
    Folder::open(path).is_ok_and(|folder| machine::is_seen_by_other_hosts(folder.as_file()))
}
