//! The states of a stage and of a run, and the one function for each that says which may follow which. Whatever
//! changes a state goes through it, the reading of a record included: a record that does not obey is damaged.

/// How the reason begins of a stage that is not begun because it must not be repeated.
pub(crate) const NOT_RETRYABLE: &str = "it is not retryable";

text::named! {
    #[derive(Default, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum StageState {
        #[default]
        Pending = "PENDING",
        Running = "RUNNING",
        Completed = "COMPLETED",
        /// It was asked to stop, and has not ended yet.
        Interrupting = "INTERRUPTING",
        Interrupted = "INTERRUPTED",
        Failed = "FAILED",
        /// It did not complete, and what there was of it is in a checkpoint.
        Resumable = "RESUMABLE",
        /// It cannot begin: a stage before it did not complete. Or it cannot continue: nothing of it could be kept.
        Blocked = "BLOCKED",
    }
}

text::named! {
    #[derive(Default, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum RunState {
        #[default]
        Planned = "PLANNED",
        InProgress = "IN_PROGRESS",
        Completed = "COMPLETED",
        /// By a person.
        Aborted = "ABORTED",
        /// By the watchdog, or the supervisor was lost.
        Interrupted = "INTERRUPTED",
        /// A stage failed, and what does not need it is done.
        Failed = "FAILED",
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a {what} that is {from} cannot become {to}")]
pub struct TransitionError {
    pub(crate) what: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

impl StageState {
    /// The next state, where it may follow this one.
    pub(crate) fn transition(self, to: Self) -> Result<Self, TransitionError> {
        use StageState::{
            Blocked, Completed, Failed, Interrupted, Interrupting, Pending, Resumable, Running,
        };
        let may_follow = match self {
            // Straight to completed: an earlier run made the same.
            Pending => matches!(to, Running | Blocked | Completed),
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
        let (from, name) = (self.name(), to.name());
        if may_follow { Ok(to) } else { Err(TransitionError { what: "stage", from, to: name }) }
    }

    /// An attempt of it may be alive.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Interrupting)
    }
}

impl RunState {
    /// The next state, where it may follow this one.
    pub(crate) fn transition(self, to: Self) -> Result<Self, TransitionError> {
        use RunState::{Aborted, Completed, Failed, InProgress, Interrupted, Planned};
        let may_follow = match self {
            Planned => matches!(to, InProgress | Aborted),
            InProgress => matches!(to, Completed | Aborted | Interrupted | Failed),
            // Resume; a completed run only where something of it is no longer as it was.
            Aborted | Interrupted | Failed | Completed => matches!(to, InProgress),
        };
        let (from, name) = (self.name(), to.name());
        if may_follow { Ok(to) } else { Err(TransitionError { what: "run", from, to: name }) }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Display;

    use super::*;

    /// Every pair of states, one row per state before, one column per state after, in the order of `ALL`.
    fn check<State: Copy + PartialEq + Display>(
        all: &[State],
        table: &[&str],
        transition: fn(State, State) -> Result<State, TransitionError>,
    ) {
        for (from, row) in all.iter().zip(table) {
            let row: Vec<&str> = row.split_whitespace().collect();
            assert_eq!((row.len(), table.len()), (all.len(), all.len()));
            for (to, cell) in all.iter().zip(row) {
                assert_eq!(transition(*from, *to).is_ok(), cell == "x", "{from} -> {to}");
            }
        }
    }

    #[test]
    fn stages_go_only_where_the_table_says() {
        let table = [
            // PEND RUN COMP INTG INTD FAIL RESM BLOC
            "   .    x   x    .    .    .    .    x", // PENDING
            "   .    .   x    x    x    x    .    .", // RUNNING
            "   x    .   .    .    .    .    .    .", // COMPLETED
            "   .    .   .    .    x    .    .    .", // INTERRUPTING
            "   .    .   .    .    .    .    x    x", // INTERRUPTED
            "   .    .   .    .    .    .    x    x", // FAILED
            "   .    x   .    .    .    .    .    x", // RESUMABLE
            "   x    .   .    .    .    .    .    .", // BLOCKED
        ];
        check(StageState::ALL, &table, StageState::transition);
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
        check(RunState::ALL, &table, RunState::transition);
    }
}
