//! What an agent does instead of stopping.

use programs::shell::Intents;
use serde::{Deserialize, Serialize};
use transcript::{Call, Kind, Outcome, Reading, wakes_agent};

use crate::strength::Strength;

/// What an agent can be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    BackgroundTasks,
    AnswerOfUser,
    PlanMode,
    Interrupted,
    FailedRequest,
    /// Sub-agents that have not answered.
    Subagents,
    /// The person rejected an edit or a check.
    Rejection,
}

impl Waiting {
    pub const ALL: [Self; 7] = [
        Self::BackgroundTasks,
        Self::AnswerOfUser,
        Self::PlanMode,
        Self::Interrupted,
        Self::FailedRequest,
        Self::Subagents,
        Self::Rejection,
    ];

    /// What the agent does instead of stopping, for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::BackgroundTasks => "the agent is waiting for a test run in the background",
            Self::AnswerOfUser => "the agent is waiting for your answer",
            Self::PlanMode => "the agent is in plan mode and is waiting for your approval",
            Self::Interrupted => "you interrupted the agent",
            Self::FailedRequest => "the agent's request to its model failed",
            Self::Subagents => "the agent is waiting for its sub-agents",
            Self::Rejection => "you rejected one of the agent's edits or checks",
        }
    }

    /// What the transcript says that the agent waits for.
    pub fn of_reading(reading: &Reading) -> Option<Self> {
        if reading.interrupted {
            return Some(Self::Interrupted);
        }
        let last = reading.own_calls().iter().rev().find(|call| call.subagent.is_none())?;
        if last.user_stopped {
            return Some(Self::Interrupted);
        }
        let asks = matches!(last.tool.as_str(), "AskUserQuestion" | "ask_user" | "request_user_input");
        (asks && last.outcome == Outcome::Unknown).then_some(Self::AnswerOfUser)
    }

    /// The same of a turn whose client cannot be asked any more what was still running. A check in the background wakes
    /// the agent of some clients when it ends; a server never does (L7).
    pub fn of_record(reading: &Reading) -> Option<Self> {
        let is_woken =
            || reading.agent.is_some_and(wakes_agent) && reading.own_calls().iter().any(is_running_check);
        Self::of_reading(reading).or_else(|| is_woken().then_some(Self::BackgroundTasks))
    }
}

/// Whether the call is a check that has not ended.
pub fn is_running_check(call: &Call) -> bool {
    let checks = |intents: &Intents| {
        let mut strengths = intents.commands().iter().filter_map(Strength::of_command);
        strengths.any(|strength| strength > Strength::Ran)
    };
    call.outcome == Outcome::Unknown
        && !call.user_stopped
        && !call.is_status_hidden
        && call.kind == Kind::Shell
        && call.command.as_deref().is_some_and(|command| checks(&Intents::read(command)))
}
