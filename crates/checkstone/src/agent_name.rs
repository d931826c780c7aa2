//! A client as it is named on the command line.

use clap::ValueEnum;
use transcript::Agent;

/// A client, by the name it is typed with.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AgentName {
    Claude,
    Gemini,
    Codex,
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::Claude => Self::Claude,
            AgentName::Gemini => Self::Gemini,
            AgentName::Codex => Self::Codex,
        }
    }
}
