//! What is seen of a supervised tree while it runs, and how it ended.

use std::path::PathBuf;
use std::time::Duration;

use super::shim::Isolated;
use crate::marker::Marker;

/// Something that happened while a tree was watched.
#[derive(Debug, Clone, PartialEq)]
pub enum Observed {
    /// The tree has written this many bytes so far. Told at most ten times a second.
    Output {
        bytes: u64,
    },
    Marker(Marker),
    Stall(Stall),
    /// A step of the escalation: the signal went to the whole tree.
    Signalled(Signal),
    /// Somebody stopped the stage (SIGSTOP), and let it go on.
    Stopped,
    Continued,
    /// The machine, this process or the stage stood still for so long; it does not count.
    Suspended(Duration),
}

text::named! {
    #[derive(PartialOrd, Ord)]
    pub enum Signal { Interrupt = "SIGINT", Terminate = "SIGTERM", Kill = "SIGKILL" }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    pub signal: StallSignal,
    /// How long it has been so.
    pub lasting: Duration,
    pub looks: StallLooks,
}

text::named! {
    /// Which sign of life is missing.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum StallSignal {
        NoOutput = "no output",
        NoMarker = "no marker",
        NoArtifactGrowth = "no artifact growth",
        NoProcessorTime = "no processor time",
        /// Its processes are stopped, and nobody lets them go on.
        Stopped = "stopped",
    }
}

text::named! {
    /// What the other signs say. A process that spins in a loop looks slow, too: nothing from outside tells it apart.
    pub enum StallLooks {
        /// It uses the processor, its artifacts grow, or it writes.
        Slow = "slow",
        /// None of that.
        Hung = "hung",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    pub how: How,
    /// What the stage's own process ended with, whatever the reason; `None` if nobody could know.
    pub status: Option<Status>,
    /// Processes that could not be ended, because they belong to somebody else.
    pub survivors: u32,
    /// Processes that were still running after the stage had ended by itself, and were killed.
    pub leftovers: u32,
    pub output: OutputKept,
    /// Without the time in which machine, supervisor or stage stood still.
    pub elapsed: Duration,
    pub suspended: Duration,
    pub isolated: Isolated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Exited(i32),
    /// By a signal that was not ours.
    Killed(i32),
    TimedOut,
    Aborted,
    Stalled,
    /// It used more memory than it may.
    OutOfMemory,
    /// It saved no checkpoint for as long as it may.
    NoCheckpoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Exited(i32),
    Killed(i32),
}

/// What is left of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputKept {
    pub path: PathBuf,
    /// Bytes that were written by the stage.
    pub total: u64,
    /// Bytes between the kept head and the kept tail that are not there any more.
    pub left_out: u64,
    /// Why the file is not complete, where writing it failed.
    pub trouble: Option<String>,
}
