//! What was recorded about the work that is handed over: mechanical facts, not anybody's words.

use serde::{Deserialize, Serialize};

use super::word::CommandOutcome;

/// What the gate saw at the last stop. Lists are bounded: a hand-off has to stay short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// The id of the verdict in the journal; `checkstone explain ID` shows all of it.
    pub verdict: i64,
    /// `pass`, `notify` or `hold`.
    pub decision: String,
    pub at: String,
    pub agent: String,
    pub session: String,
    /// The commit at that stop; null before the first one, or without git.
    pub head: Option<String>,
    pub branch: Option<String>,
    /// Whether HEAD is another commit now; null if either is not known.
    pub head_moved: Option<bool>,
    pub files_changed: Vec<ChangedFile>,
    /// The commands of that turn, the last ones if there were many.
    pub commands: Vec<CommandRun>,
    /// Errors that nothing after them resolved.
    pub open_errors: Vec<String>,
    /// What the policy still asks for.
    pub open_actions: Vec<String>,
    /// How many files and commands the lists leave out.
    pub files_left_out: usize,
    pub commands_left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFile {
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed` or `mode`; null if only the transcript shows an edit.
    pub change: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandRun {
    pub command: String,
    pub outcome: CommandOutcome,
    pub exit_code: Option<i32>,
}

impl Facts {
    pub const MOST_FILES: usize = 100;
    pub const MOST_COMMANDS: usize = 30;
    pub const LONGEST_COMMAND: usize = 300;

    /// Cuts the lists to what a hand-off may carry, and counts what is left out.
    pub fn bounded(mut self) -> Self {
        self.files_left_out += self.files_changed.len().saturating_sub(Self::MOST_FILES);
        self.files_changed.truncate(Self::MOST_FILES);
        // The last commands tell how the work stands.
        let surplus = self.commands.len().saturating_sub(Self::MOST_COMMANDS);
        self.commands_left_out += surplus;
        self.commands.drain(..surplus);
        for run in &mut self.commands {
            run.command = text::shortened(&run.command, Self::LONGEST_COMMAND);
        }
        self
    }
}
