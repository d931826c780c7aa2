//! A command that ran, and when: its place in the timeline.

use programs::shell::SimpleCommand;
use transcript::Call;

use crate::inputs::RecordedCall;

/// A place in the timeline: the call, and the command within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) call: usize,
    pub(crate) command: usize,
}

/// A command of a shell call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran<'a> {
    pub(crate) at: Moment,
    pub(crate) call: &'a Call,
    /// The call with everything else that it runs.
    pub(crate) recorded: &'a RecordedCall,
    pub(crate) command: &'a SimpleCommand,
}
