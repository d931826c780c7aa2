//! A lease in a folder that renews itself until it is dropped, and is given back then.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{FolderFence, FolderLease, LeaseError, Renewal};

/// So many signs of life within the length of a lease: one or two may be late.
const SIGNS: u32 = 6;

#[derive(Debug)]
pub struct KeptLease {
    fence: FolderFence,
    is_lost: Arc<AtomicBool>,
    _renewal: Renewal,
}

impl KeptLease {
    /// As [`FolderLease::take`].
    pub fn take(path: &Path, length: Duration) -> Result<Self, LeaseError> {
        let lease = FolderLease::take(path, length)?;
        let fence = lease.fence().clone();
        let is_lost = Arc::new(AtomicBool::new(false));
        let lost = Arc::clone(&is_lost);
        // A renewal that fails for another reason is tried again: only a successor ends the lease.
        let renew = move |lease: &mut FolderLease| match lease.renew() {
            Err(LeaseError::Lost { .. }) => {
                lost.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        let release = |lease: FolderLease| {
            // If it cannot be given back, it expires.
            let _ = lease.release();
        };
        let renewal = Renewal::start(lease, length / SIGNS, renew, release).map_err(LeaseError::Thread)?;
        Ok(Self { fence, is_lost, _renewal: renewal })
    }

    pub fn fence(&self) -> &FolderFence {
        &self.fence
    }

    /// Whether it was found out already that somebody else has it. Costs nothing.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}
