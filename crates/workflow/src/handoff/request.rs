//! What an agent gives to a sub-agent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::facts::Facts;
use super::word::{ExpectedOutput, Mode, Phase};

/// A hand-off request. Fields that the protocol does not know are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    pub task_id: String,
    pub phase: Phase,
    pub mode: Mode,
    pub context: Context,
    pub instructions: String,
    pub expected_output: ExpectedOutput,
    /// What was recorded about the work so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkstone: Option<Facts>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What the sub-agent has to know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Context {
    pub feature: Option<String>,
    pub spec_path: Option<String>,
    pub relevant_files: Vec<String>,
    pub constraints: Vec<String>,
    /// The summary of the phase before; at most 500 tokens. Its old name `previous_findings` is read too.
    #[serde(alias = "previous_findings")]
    pub previous_summary: Option<String>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
