//! One thing that happened in a session, as a team's database has it: facts, and texts only where somebody chose to send them.

use serde::{Deserialize, Serialize};

/// A turn that was opened, or a verdict of it. By machine, session and sequence it is known again, however often it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TeamEvent {
    /// A hash, in hexadecimal digits.
    pub session: String,
    pub sequence: i64,
    /// Milliseconds since 1970, by the machine's own clock.
    pub at: i64,
    pub turn: i64,
    pub agent: String,
    /// Hashes, in hexadecimal digits.
    pub repository: Option<String>,
    pub branch: Option<String>,
    /// `None` where a turn was opened.
    pub verdict: Option<TeamVerdict>,
    pub texts: Option<serde_json::Value>,
}

/// What a stop came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TeamVerdict {
    /// `pass`, `notify` or `hold`.
    pub decision: String,
    /// The agent waits for a person.
    pub waits: bool,
    /// The rules that spoke.
    pub rules: Vec<String>,
    pub changed: i32,
    /// Hashes of the paths of changed files.
    pub files: Vec<i64>,
    /// Runs that proved something.
    pub proofs: i32,
    pub calls: i32,
    pub turn_milliseconds: i64,
    pub hook_milliseconds: i64,
}
