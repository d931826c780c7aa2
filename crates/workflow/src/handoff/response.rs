//! What a sub-agent gives back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::facts::Facts;
use super::word::{Decision, Phase, Status};

/// A hand-off response. Fields that the protocol does not know are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Response {
    pub task_id: String,
    pub phase: Phase,
    pub status: Status,
    pub decision: Decision,
    /// In whatever form the request asked for.
    #[serde(default)]
    pub findings: Value,
    /// What the next phase has to know; at most 500 tokens.
    pub context_summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// Sentences, or objects of the sub-agent's own form.
    #[serde(default)]
    pub issues: Vec<Value>,
    /// What was recorded about the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkstone: Option<Facts>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
