//! One thing that was looked at: what it is about, how it is, and what to do where it is not well.

use agents::registration::settings;
use serde::Serialize;
use transcript::Agent;

use super::remedy::Remedy;

/// What a finding is about. The clients come first, then what all of them share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum About {
    Client(Agent),
    Shared(Surroundings),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Surroundings {
    Machine,
    Repository,
    Cluster,
}

impl About {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let shared =
            [Surroundings::Machine, Surroundings::Repository, Surroundings::Cluster].map(Self::Shared);
        Agent::ALL.into_iter().map(Self::Client).chain(shared)
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Client(agent) => settings::client(agent),
            Self::Shared(Surroundings::Machine) => "This machine",
            Self::Shared(Surroundings::Repository) => "This repository",
            Self::Shared(Surroundings::Cluster) => "Runs beyond this machine",
        }
    }
}

impl From<Agent> for About {
    fn from(agent: Agent) -> Self {
        Self::Client(agent)
    }
}

impl From<Surroundings> for About {
    fn from(surroundings: Surroundings) -> Self {
        Self::Shared(surroundings)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "State"))]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingState {
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    Problem,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    pub(crate) about: About,
    /// One word for what was looked at.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["installed", "registered", "trusted", "switch", "fires", "elsewhere", "status", "mcp", "transcript", "git", "state", "journal", "policy", "git-hook", "leftovers", "lease", "database", "bucket", "slurm", "clock", "team"])))]
    pub(crate) check: &'static str,
    pub(crate) state: FindingState,
    pub(crate) text: String,
    /// What to do.
    pub(crate) advice: Option<String>,
    /// What `--fix` tries.
    pub(crate) remedy: Option<Remedy>,
}

impl Finding {
    pub(crate) fn good(about: impl Into<About>, check: &'static str, text: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            check,
            state: FindingState::Good,
            text: text.into(),
            advice: None,
            remedy: None,
        }
    }

    pub(crate) fn note(about: impl Into<About>, check: &'static str, text: impl Into<String>) -> Self {
        Self { state: FindingState::Note, ..Self::good(about, check, text) }
    }

    pub(crate) fn problem(about: impl Into<About>, check: &'static str, text: impl Into<String>) -> Self {
        Self { state: FindingState::Problem, ..Self::good(about, check, text) }
    }

    /// A problem that harms nobody here is only worth knowing.
    pub(crate) fn weaken(&mut self) {
        if self.state == FindingState::Problem {
            self.state = FindingState::Note;
        }
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<Option<Remedy>>) -> Self {
        self.remedy = remedy.into();
        self
    }

    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
