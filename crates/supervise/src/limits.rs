//! How long a stage may take, and what happens when it takes longer.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ending::{Stall, StallLooks};

/// After its soft limit a stage is gone at the latest this much later.
pub const HARD_LIMIT_AFTER: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The soft limit, at which the escalation begins; without one only [`super::Controls`] end the stage.
    pub max_duration: Option<Duration>,
    pub grace: Grace,
    pub stalls: Stalls,
    /// So many bytes of memory all its processes may use together; more ends the stage at once.
    pub memory: Option<u64>,
    /// It prints `[CHECKPOINT:saved:…]` at least this often.
    pub checkpoint_every: Option<Duration>,
    /// A stage that somebody stopped (SIGSTOP) does not use up its time, but for no longer than this in all: then it is
    /// taken for hung. One of its own processes could stop it again and again, and work on.
    pub longest_stop: Duration,
    /// What the stage leaves running when it ends by itself has this long to finish, such as a `tee` behind it.
    pub leftovers: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_duration: None,
            grace: Grace::default(),
            stalls: Stalls::default(),
            memory: None,
            checkpoint_every: None,
            longest_stop: Duration::from_secs(600),
            leftovers: Duration::from_millis(500),
        }
    }
}

/// The escalation: SIGINT, then SIGTERM, then SIGKILL, each to the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace {
    /// How long the tree has after SIGINT; `None` leaves that step out, for example where a Python kernel has been
    /// interrupted in its own way already.
    pub interrupt: Option<Duration>,
    /// How long the tree has after SIGTERM; `None` leaves that step out.
    pub terminate: Option<Duration>,
    /// All steps together end here at the latest, counted from the first one.
    pub at_most: Duration,
}

impl Grace {
    /// Straight to SIGKILL.
    pub const NONE: Self = Self { interrupt: None, terminate: None, at_most: Duration::ZERO };
}

impl Default for Grace {
    fn default() -> Self {
        Self {
            interrupt: Some(Duration::from_secs(5)),
            terminate: Some(Duration::from_secs(3)),
            at_most: HARD_LIMIT_AFTER,
        }
    }
}

/// What makes a stage look stuck. Each is reported once, and again only after it was over in between.
#[derive(Debug, Clone, PartialEq)]
pub struct Stalls {
    pub no_output: Option<Duration>,
    pub no_marker: Option<Duration>,
    /// For how long neither processor time nor artifacts may grow before a silent stage is called hung, not slow.
    pub idle: Duration,
    /// The directory whose growth counts as progress.
    pub artifacts: Option<PathBuf>,
    pub interrupt: StallInterrupt,
}

impl Default for Stalls {
    fn default() -> Self {
        Self {
            no_output: Some(Duration::from_secs(60)),
            no_marker: Some(Duration::from_secs(90)),
            idle: Duration::from_secs(60),
            artifacts: None,
            interrupt: StallInterrupt::Never,
        }
    }
}

/// Whether a stall ends the stage before its limit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StallInterrupt {
    /// Stalls are only reported.
    #[default]
    Never,
    /// Where it is hung: silent, without processor time, and without growing artifacts.
    Hung,
    /// At the first signal, also where it may only be slow.
    Any,
}

impl StallInterrupt {
    pub fn is_for(self, stall: &Stall) -> bool {
        match self {
            Self::Never => false,
            Self::Hung => stall.looks == StallLooks::Hung,
            Self::Any => true,
        }
    }
}
