//! Why something is saved.

use serde::{Deserialize, Serialize};

/// Why an autosave began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The context is full enough.
    ContextThreshold,
    /// The same, where a loop that runs the agent demands it.
    LoopModeEnforced,
    BeforeCompaction,
    SessionEnd,
    /// Somebody asked for it.
    Asked,
}

impl Reason {
    /// In journals and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextThreshold => "context_threshold",
            Self::LoopModeEnforced => "loop_mode_enforced",
            Self::BeforeCompaction => "before_compaction",
            Self::SessionEnd => "session_end",
            Self::Asked => "asked",
        }
    }

    /// In a sentence.
    pub fn sentence(self, percent: Option<u64>) -> String {
        match (self, percent) {
            (Self::ContextThreshold | Self::LoopModeEnforced, Some(percent)) => {
                format!("the context is {percent} % full")
            }
            (Self::ContextThreshold | Self::LoopModeEnforced, None) => {
                "the context is full enough".to_owned()
            }
            (Self::BeforeCompaction, _) => "the context is about to be compacted".to_owned(),
            (Self::SessionEnd, _) => "the session ends".to_owned(),
            (Self::Asked, _) => "a save was requested".to_owned(),
        }
    }
}
