//! One process tree under supervision: started apart, watched, and ended whole.

mod command;
mod controls;
mod ending;
mod limits;

pub use command::{Command, Isolated, Isolation, SpawnError};
pub use controls::{Cause, Controls};
pub use ending::{Ending, How, Observed, OutputKept, Signal, Stall, StallLooks, StallSignal, Status};
pub use limits::{Grace, HARD_LIMIT_AFTER, Limits, StallInterrupt, Stalls};

use std::io;
use std::path::Path;

/// One process tree. Dropping it kills the tree.
#[derive(Debug)]
pub struct Supervised {
    isolated: Isolated,
}

impl Supervised {
    /// Starts the command in a tree of its own.
    pub fn spawn(_command: &Command, _isolation: Isolation) -> Result<Self, SpawnError> {
        Err(SpawnError::Shim(io::ErrorKind::Unsupported.into()))
    }

    /// How the tree is kept together.
    pub fn isolated(&self) -> Isolated {
        self.isolated
    }

    /// Watches the tree until all of it is gone. `observe` is called on this thread.
    pub fn watch(
        self,
        _limits: &Limits,
        _controls: &Controls,
        _observe: &mut dyn FnMut(Observed),
    ) -> Result<Ending, WatchError> {
        Err(WatchError::Poll(io::ErrorKind::Unsupported.into()))
    }

    /// Ends the whole tree as aborted, with this grace; what it still writes is kept.
    pub fn end(self, grace: &Grace) -> Result<Ending, WatchError> {
        let limits = Limits { grace: *grace, ..Limits::default() };
        let controls = Controls::new().map_err(WatchError::Poll)?;
        controls.abort();
        self.watch(&limits, &controls, &mut |_| {})
    }
}

/// Why watching could not go on. The tree has been killed then.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("cannot wait for the stage")]
    Poll(#[source] io::Error),
}

/// What [`sweep`] found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Whether there was a record: the supervisor did not live to the end of its stage.
    pub lost: bool,
    /// Processes that were still alive, and are gone now.
    pub killed: u32,
    /// Processes that could not be ended.
    pub survivors: u32,
}

/// Why leftovers could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error("cannot read the record of the supervisor")]
    Record(#[source] io::Error),
}

/// Kills what a lost supervisor left behind, by its record (`supervisor.json`), and completes the kept output. Without
/// a record there is nothing to do. It must not be called while that supervisor is alive; then it says so and does
/// nothing.
pub fn sweep(_record: &Path) -> Result<Swept, SweepError> {
    Ok(Swept::default())
}
