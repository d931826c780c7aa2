//! The plain data that reading a transcript yields: who, which turn, which calls, and how much of it was
//! understood. These types are also the JSON that `checkstone timeline --json` prints.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::command_output::CommandOutput;
use crate::file_edit::FileEdit;
use crate::session_state::SessionState;

/// Everything that was understood of the last turn of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Whose transcript this is; null if the content does not show it.
    pub agent: Option<Agent>,
    /// The turn's opening prompt; null if no prompt was found.
    pub turn: Option<Turn>,
    #[serde(rename = "transcript")]
    pub coverage: Coverage,
    /// The context in use after the last response; null if the transcript does not say.
    pub usage: Option<Usage>,
    /// The turn's tool calls in order, after those of earlier turns where these were asked for.
    pub calls: Vec<Call>,
    /// How many of the calls are those of earlier turns.
    #[serde(skip)]
    pub earlier_calls: usize,
    /// What the agent said in the turn, as snippets.
    #[serde(skip)]
    pub messages: Vec<Message>,
    /// The last text of the agent in the turn, whole (up to 256 KiB): whoever knows it from elsewhere can
    /// tell by it whether the client has written everything yet.
    #[serde(skip)]
    pub last_assistant: Option<String>,
    /// A text with the reader's mark was put before the agent in this turn as a prompt.
    #[serde(skip)]
    pub has_marked_prompt: bool,
    /// A text with the reader's mark reached the agent in this turn.
    #[serde(skip)]
    pub is_marked: bool,
    /// The person interrupted the agent, which did nothing after that.
    #[serde(skip)]
    pub interrupted: bool,
    /// When the client asked its hooks last in this turn whether the agent may stop, where it writes that down.
    #[serde(skip)]
    pub stop_asked_at: Option<Timestamp>,
    #[serde(skip)]
    pub session: SessionState,
}

/// The prompt that opened the turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// The prompt's text; at most 16,384 characters of it, head and tail.
    pub prompt: String,
    /// When it was recorded.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// The client's own id of the turn, if it has one.
    pub id: Option<String>,
    /// The line of the prompt, counted from 1; null in files too large to count.
    pub line: Option<u64>,
}

/// How much of the transcript was understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    #[serde(rename = "coverage")]
    pub extent: Extent,
    /// Records from the prompt that opened the turn to the end of the file.
    pub records: u64,
    /// How many of them were of a known kind and well formed.
    pub understood: u64,
    /// Why the extent is not `complete`, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// The whole turn was read.
    Complete,
    /// The turn began before the part that was read.
    Truncated,
    /// Nothing was read, or fewer than half of the records were understood.
    Unavailable,
}

/// The context in use, counted once per response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Tokens in context after the last response.
    pub tokens: u64,
    /// Of these, what the response itself came to, where the file tells it apart.
    #[serde(skip)]
    pub answered: u64,
    /// The size of the window, if the file or a known model gives it.
    pub window: Option<u64>,
    /// `tokens` of `window`, rounded down.
    pub percent: Option<u64>,
    /// The model as the client names it.
    pub model: Option<String>,
}

/// One tool call, with its own result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    pub id: String,
    /// The tool's name as the client writes it.
    pub tool: String,
    pub kind: Kind,
    /// The shell command, for `shell`.
    pub command: Option<String>,
    /// The first of `paths`.
    pub path: Option<String>,
    /// The files the call names: what it edits, writes or reads; for `shell` what the client says it read.
    pub paths: Vec<String>,
    /// Those of `paths` that this call made.
    pub created: Vec<String>,
    /// What happened to the texts of files, if the transcript shows them; a file that was edited twice is here twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<FileEdit>,
    pub outcome: Outcome,
    pub exit_code: Option<i32>,
    /// The person rejected or interrupted the call: not evidence, and not an error of the code.
    pub user_stopped: bool,
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub at: Option<Timestamp>,
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub ended_at: Option<Timestamp>,
    /// It ended, but the client does not say with which status; what the output shows decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_status_hidden: bool,
    /// It went on in the background, and the last look at it found it running.
    #[serde(skip)]
    pub is_running: bool,
    /// The folder in which a shell command was started, if the client records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The sub-agent that made the call; null for the agent itself.
    pub subagent: Option<String>,
    /// Head and tail of the result, at most 500 characters.
    pub snippet: Option<String>,
    /// What the whole output of a shell command shows; null if it shows nothing that says how it went.
    #[serde(default, rename = "shown", skip_serializing_if = "CommandOutput::shows_nothing")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<outputs::Shown>"))]
    pub output: CommandOutput,
    /// The line of the call in its file, counted from 1; null in files too large to count.
    pub line: Option<u64>,
    /// Where the line begins in its file, in bytes.
    pub offset: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Shell,
    Read,
    Edit,
    Write,
    #[default]
    Other,
}

/// How a call ended. Not failed is not passed: a call without a result, or still running, is `Unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Ok,
    Error,
    #[default]
    Unknown,
}

/// Something the agent said in the turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// At most 500 characters, head and tail.
    pub text: String,
    pub at: Option<Timestamp>,
    /// How many of the turn's calls came before it.
    pub calls_before: usize,
}

impl Reading {
    /// The calls of the turn itself.
    pub fn own_calls(&self) -> &[Call] {
        self.calls.get(self.earlier_calls..).unwrap_or_default()
    }

    /// Puts the calls of the turn before in front.
    pub fn add_earlier(&mut self, mut earlier: Vec<Call>) {
        self.earlier_calls += earlier.len();
        earlier.append(&mut self.calls);
        self.calls = earlier;
    }

    /// Nothing could be read, and why.
    pub(crate) fn unavailable(agent: Option<Agent>, reason: String) -> Self {
        Self {
            agent,
            turn: None,
            coverage: Coverage {
                extent: Extent::Unavailable,
                records: 0,
                understood: 0,
                reason: Some(reason),
            },
            usage: None,
            calls: Vec::new(),
            earlier_calls: 0,
            messages: Vec::new(),
            last_assistant: None,
            has_marked_prompt: false,
            is_marked: false,
            interrupted: false,
            stop_asked_at: None,
            session: SessionState::default(),
        }
    }
}
