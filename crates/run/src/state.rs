//! The states of a stage and of a run, and the one function for each that says which may follow which. Whatever
//! changes a state goes through it, the reading of a record included: a record that does not obey is damaged.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StageState {
    #[default]
    Pending,
    Running,
    Completed,
    /// It was told to end, and has not ended yet.
    Interrupting,
    Interrupted,
    Failed,
    /// It did not complete, and what there was of it is in a checkpoint.
    Resumable,
    /// It cannot begin: a stage before it did not complete. Or it cannot go on: nothing of it could be kept.
    Blocked,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunState {
    #[default]
    Planned,
    InProgress,
    Completed,
    /// By a person.
    Aborted,
    /// By the watchdog, or the supervisor was lost.
    Interrupted,
    /// A stage failed, and what does not need it is done.
    Failed,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a {what} that is {from} cannot become {to}")]
pub struct TransitionError {
    what: &'static str,
    from: &'static str,
    to: &'static str,
}

impl TransitionError {
    pub(crate) fn new(what: &'static str, from: &'static str, to: &'static str) -> Self {
        Self { what, from, to }
    }
}

impl StageState {
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Interrupting,
        Self::Interrupted,
        Self::Failed,
        Self::Resumable,
        Self::Blocked,
    ];

    /// The next state, where it may follow this one.
    pub(crate) fn transition(self, to: Self) -> Result<Self, TransitionError> {
        use StageState::{
            Blocked, Completed, Failed, Interrupted, Interrupting, Pending, Resumable, Running,
        };
        let may_follow = match self {
            Pending => matches!(to, Running | Blocked),
            // Straight to interrupted: nobody was there to interrupt it, for the supervisor itself was lost.
            Running => matches!(to, Completed | Interrupting | Interrupted | Failed),
            Interrupting => matches!(to, Interrupted),
            Interrupted | Failed => matches!(to, Resumable | Blocked),
            Resumable => matches!(to, Running | Blocked),
            // On resume: what it waits for may complete now.
            Blocked => matches!(to, Pending),
            // On resume: its inputs, its command or its outputs are no longer what they were.
            Completed => matches!(to, Pending),
        };
        if may_follow { Ok(to) } else { Err(TransitionError::new("stage", self.name(), to.name())) }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Interrupting => "INTERRUPTING",
            Self::Interrupted => "INTERRUPTED",
            Self::Failed => "FAILED",
            Self::Resumable => "RESUMABLE",
            Self::Blocked => "BLOCKED",
        }
    }

    /// An attempt of it may be alive.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Interrupting)
    }
}

impl RunState {
    pub const ALL: [Self; 6] =
        [Self::Planned, Self::InProgress, Self::Completed, Self::Aborted, Self::Interrupted, Self::Failed];

    /// The next state, where it may follow this one.
    pub(crate) fn transition(self, to: Self) -> Result<Self, TransitionError> {
        use RunState::{Aborted, Completed, Failed, InProgress, Interrupted, Planned};
        let may_follow = match self {
            Planned => matches!(to, InProgress | Aborted),
            InProgress => matches!(to, Completed | Aborted | Interrupted | Failed),
            // Resume; a completed run only where something of it is no longer as it was.
            Aborted | Interrupted | Failed | Completed => matches!(to, InProgress),
        };
        if may_follow { Ok(to) } else { Err(TransitionError::new("run", self.name(), to.name())) }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "PLANNED",
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Aborted => "ABORTED",
            Self::Interrupted => "INTERRUPTED",
            Self::Failed => "FAILED",
        }
    }
}

impl fmt::Display for StageState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of states, one row per state before, one column per state after, in the order of `ALL`.
    #[test]
    fn stages_go_only_where_the_table_says() {
        let table = [
            // PEND RUN COMP INTG INTD FAIL RESM BLOC
            "   .    x   .    .    .    .    .    x", // PENDING
            "   .    .   x    x    x    x    .    .", // RUNNING
            "   x    .   .    .    .    .    .    .", // COMPLETED
            "   .    .   .    .    x    .    .    .", // INTERRUPTING
            "   .    .   .    .    .    .    x    x", // INTERRUPTED
            "   .    .   .    .    .    .    x    x", // FAILED
            "   .    x   .    .    .    .    .    x", // RESUMABLE
            "   x    .   .    .    .    .    .    .", // BLOCKED
        ];
        for (from, row) in StageState::ALL.into_iter().zip(table) {
            let row: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(row.len(), StageState::ALL.len());
            for (to, cell) in StageState::ALL.into_iter().zip(row) {
                assert_eq!(from.transition(to).is_ok(), cell == "x", "{from} -> {to}");
            }
        }
    }

    #[test]
    fn runs_go_only_where_the_table_says() {
        let table = [
            // PLAN PROG COMP ABOR INTD FAIL
            "   .    x    .    x    .    .", // PLANNED
            "   .    .    x    x    x    x", // IN_PROGRESS
            "   .    x    .    .    .    .", // COMPLETED
            "   .    x    .    .    .    .", // ABORTED
            "   .    x    .    .    .    .", // INTERRUPTED
            "   .    x    .    .    .    .", // FAILED
        ];
        for (from, row) in RunState::ALL.into_iter().zip(table) {
            let row: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(row.len(), RunState::ALL.len());
            for (to, cell) in RunState::ALL.into_iter().zip(row) {
                assert_eq!(from.transition(to).is_ok(), cell == "x", "{from} -> {to}");
            }
        }
    }

    #[test]
    fn names_are_those_that_are_written() {
        for state in StageState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
        for state in RunState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }
}
