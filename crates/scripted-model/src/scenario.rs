//! The scenario file: what the model says and does, step by step. Each request of a conversation is answered with
//! its next step.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// What the model plays.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The answers, in order, to every conversation that none of `conversations` is about.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Answers of their own, such as for a sub-agent's conversation.
    #[serde(default)]
    pub conversations: Vec<Conversation>,
}

/// The answers to conversations in whose user texts these words occur.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    pub when: String,
    pub steps: Vec<Step>,
}

/// One answer: words, calls (several are made in parallel), or a failure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub text: Option<String>,
    #[serde(default)]
    pub calls: Vec<Call>,
    /// The answer begins so much later.
    #[serde(default)]
    pub delay_ms: u64,
    pub error: Option<Failure>,
    /// How many tokens the conversation is said to have now.
    pub tokens: Option<u64>,
}

/// What the model does, in whatever words the client has for it. Relative paths lie in the server's folder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    /// A shell command.
    Run(String),
    /// Reads a file.
    Read(PathBuf),
    /// Writes a new file.
    Write { path: PathBuf, content: String },
    /// Replaces whole lines. Claude Code demands that the file was read before.
    Edit { path: PathBuf, old: String, new: String },
    /// A tool by the client's own name. For Codex CLI a text as input makes it a custom tool.
    Tool { name: String, input: Value, namespace: Option<String> },
}

/// An answer of the API that is no answer of the model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub status: u16,
    /// The API's own word for it, such as `overloaded_error`.
    #[serde(default = "api_error")]
    pub kind: String,
    pub message: String,
}

fn api_error() -> String {
    "api_error".to_owned()
}

/// A scenario that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("cannot read the scenario")]
    Read(#[source] std::io::Error),
    #[error("`{}` is not a scenario: {source}", path.display())]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error("the scenario has no steps")]
    NoSteps,
    #[error("step {number}{of} {problem}")]
    Step { number: usize, of: String, problem: String },
    #[error("a conversation's `when` is empty: give it words of its first message")]
    EmptyWhen,
}

impl Scenario {
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text = fs_err::read_to_string(path).map_err(ScenarioError::Read)?;
        let scenario: Self = serde_json::from_str(&text)
            .map_err(|source| ScenarioError::Parse { path: path.to_owned(), source })?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Finds what would make no sense when it is played.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if self.steps.is_empty() && self.conversations.is_empty() {
            return Err(ScenarioError::NoSteps);
        }
        check_steps("", &self.steps)?;
        for conversation in &self.conversations {
            if conversation.when.is_empty() {
                return Err(ScenarioError::EmptyWhen);
            }
            check_steps(&format!(" of the conversation about `{}`", conversation.when), &conversation.steps)?;
        }
        Ok(())
    }
}

fn check_steps(of: &str, steps: &[Step]) -> Result<(), ScenarioError> {
    for (number, step) in steps.iter().enumerate() {
        let is_empty = step.text.is_none() && step.calls.is_empty();
        let problem = match &step.error {
            None if is_empty => "says and does nothing: give it `text`, `calls` or `error`".to_owned(),
            Some(_) if !is_empty => {
                "has an `error`, which stands alone: take `text` and `calls` away".to_owned()
            }
            Some(failure) if !(400..600).contains(&failure.status) => {
                format!("has the status {}; an error's is from 400 to 599", failure.status)
            }
            _ => continue,
        };
        return Err(ScenarioError::Step { number: number + 1, of: of.to_owned(), problem });
    }
    Ok(())
}
