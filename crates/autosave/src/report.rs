//! The account of an autosave that other programs read: `autonomous_execution`, as the script had it that this replaces.

use gate::policy::AutosaveMode;
use serde::Serialize;

/// What saves by itself here, and what the last save did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AutonomousExecution {
    /// Whether work is saved without asking.
    pub enabled: bool,
    pub skill: &'static str,
    /// Why it was saved; null if nothing was.
    pub reason: Option<String>,
    /// Whether notes and commit were made directly, without asking the agent.
    pub executed_directly: bool,
    pub router_decision: Option<RouterDecision>,
}

/// What was decided, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RouterDecision {
    /// `direct` if it was saved, `started` if that continues in the background, `signal` if the agent was asked to, `advice` if the person was notified, `none` if
    /// there was nothing to save.
    pub route: &'static str,
    /// How full the context was.
    pub percent: Option<u64>,
    /// How often the session has been saved.
    pub iteration: u64,
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub snapshot: Option<String>,
    /// `none`, `started`, `pushed` or `failed`.
    pub push: String,
    /// What happened, for a person.
    pub detail: String,
}

impl AutonomousExecution {
    /// Nothing was saved yet.
    pub fn idle(mode: AutosaveMode) -> Self {
        let enabled = mode == AutosaveMode::Autonomous;
        Self { enabled, skill: "checkpoint", reason: None, executed_directly: false, router_decision: None }
    }

    pub fn of(mode: AutosaveMode, reason: &str, decision: RouterDecision) -> Self {
        Self {
            reason: Some(reason.to_owned()),
            executed_directly: decision.route == "direct",
            router_decision: Some(decision),
            ..Self::idle(mode)
        }
    }
}
