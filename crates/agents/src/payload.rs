//! What a client says at an event, in the same words for every client.
//!
//! Only the fields that are used are parsed; a tool's output of megabytes beside them is skipped over.
//! Seen in the real clients, and relied on here:
//! - Claude Code submits the end of a background task as a prompt with an id of its own, and answers a command
//!   that the person runs with `!` in a stop whose prompt id no prompt event announced. So a turn key that was
//!   never seen means "the session's latest turn", not "no turn".
//! - A prompt typed while the agent works comes, in Claude Code and Codex, with the key of the running turn: it
//!   belongs to that turn and must not begin it anew.
//! - Codex tells a sub-agent's stop with the session of its parent and a turn id of its own.
//! - Gemini CLI has no turn id, clears `stop_hook_active` when the continuation used a tool, and sends the end of
//!   the session twice when its TUI is left with `/quit`.
//! - Plan mode is in Claude Code's payload only.

use std::path::PathBuf;

use serde::Deserialize;
use transcript::{Agent, Usage};

use crate::field::{self, Field, fields};
use crate::prompt;

/// Of the agent's last words the end is kept, up to this many bytes.
const LONGEST_LAST_TEXT: usize = 256 * 1024;

/// How the status of a background task reads when the task is over. Any other status is waited for.
const TASK_IS_OVER: &[&str] = &["completed", "failed", "killed", "stopped", "cancelled"];

/// A payload could not be read. The agent passes.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    #[error("the payload is not a JSON object")]
    NotAnObject,
    #[error("the payload is not well-formed JSON")]
    Malformed(#[source] serde_json::Error),
    #[error("the payload names no event")]
    NoEvent,
}

/// What happened in the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A prompt reaches the agent, though not always a person's: see [`Payload::opens_turn`].
    PromptSubmitted,
    /// The agent wants to stop.
    Stop,
    /// A sub-agent wants to stop.
    SubagentStop,
    /// A session begins or goes on: `startup`, `resume`, `clear`, `compact` or `fork`; empty where not told.
    SessionStart {
        source: String,
    },
    BeforeCompaction,
    SessionEnd,
    /// Anything else, by the client's own name.
    Other(String),
}

impl Event {
    /// The event by the client's own name for it.
    pub fn from_name(agent: Agent, name: &str) -> Self {
        match (agent, name) {
            (Agent::Claude | Agent::Codex, "UserPromptSubmit") | (Agent::Gemini, "BeforeAgent") => {
                Self::PromptSubmitted
            }
            (Agent::Claude | Agent::Codex, "Stop") | (Agent::Gemini, "AfterAgent") => Self::Stop,
            (Agent::Claude | Agent::Codex, "SubagentStop") => Self::SubagentStop,
            (_, "SessionStart") => Self::SessionStart { source: String::new() },
            // Gemini CLI's `PreCompress` is not one: it comes before every request to the model.
            (Agent::Claude | Agent::Codex, "PreCompact") => Self::BeforeCompaction,
            (_, "SessionEnd") => Self::SessionEnd,
            (_, name) => Self::Other(name.to_owned()),
        }
    }
}

/// The sub-agent that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    pub id: String,
    /// The client's name for its kind, such as `general-purpose`.
    pub kind: Option<String>,
    pub transcript: Option<PathBuf>,
}

/// What a client says at an event. Whatever it does not say is `None`, `false` or 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    pub agent: Agent,
    pub event: Event,
    /// The client's id of the session; the parent's for a sub-agent.
    pub session: Option<String>,
    /// The session's transcript, which may not exist yet.
    pub transcript: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    /// The client's own id of the turn: Claude's `prompt_id`, Codex's `turn_id`. The same at a second stop.
    pub turn: Option<String>,
    /// The prompt as typed, at most 16 KiB of it, without the context that Gemini CLI puts before it.
    pub prompt: Option<String>,
    /// This stop follows a hold, ours or another tool's. A witness only: Gemini CLI forgets it.
    pub stop_hook_active: bool,
    /// The agent's last words, at most their last 256 KiB. In Claude and Codex the last message; in Gemini CLI all
    /// texts of the turn joined by newlines, so that only its end is the last message.
    pub last_text: Option<String>,
    /// The client's name for what the agent may do without asking.
    pub permission_mode: Option<String>,
    /// Background tasks that the agent will hear of when they end (Claude only).
    pub background_tasks: usize,
    pub model: Option<String>,
    /// The context in use, where the payload tells; no known stop payload does.
    pub usage: Option<Usage>,
    pub subagent: Option<Subagent>,
}

impl Payload {
    /// A payload that says nothing but its event.
    pub fn new(agent: Agent, event: Event) -> Self {
        Self {
            agent,
            event,
            session: None,
            transcript: None,
            cwd: None,
            turn: None,
            prompt: None,
            stop_hook_active: false,
            last_text: None,
            permission_mode: None,
            background_tasks: 0,
            model: None,
            usage: None,
            subagent: None,
        }
    }

    /// Reads what `agent` wrote to the hook's stdin. Unknown fields are ignored, a field of an unexpected type
    /// counts as absent; never panics, in time and memory proportional to `bytes`.
    pub fn parse(agent: Agent, bytes: &[u8]) -> Result<Self, PayloadError> {
        // The parser would take a list for the fields in order.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(PayloadError::NotAnObject);
        }
        let written: PayloadFields<'_> = serde_json::from_slice(bytes).map_err(PayloadError::Malformed)?;
        let name = field::name(written.hook_event_name).ok_or(PayloadError::NoEvent)?;
        Ok(written.into_payload(agent, &name))
    }

    /// The prompt is our own text come back, not a person's (T4).
    pub fn is_own_text(&self) -> bool {
        self.prompt.as_deref().is_some_and(prompt::is_own)
    }

    /// A person's prompt is here: not our own text, and not a message of the client. It begins a turn unless its
    /// turn key is known already: then the person only added to it.
    pub fn opens_turn(&self) -> bool {
        self.event == Event::PromptSubmitted
            && !self.is_own_text()
            && !self.prompt.as_deref().is_some_and(|text| transcript::is_text_of_client(self.agent, text))
    }

    /// The agent plans and changes nothing.
    pub fn is_planning(&self) -> bool {
        self.permission_mode.as_deref() == Some("plan")
    }

    /// A transcript whose last text of the agent is `last_assistant` holds what this payload says the agent said
    /// last (T21). True where the payload does not tell.
    pub fn transcript_is_complete(&self, last_assistant: Option<&str>) -> bool {
        let Some(said) = self.last_text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
            return true;
        };
        // The end decides in every client: a message of several blocks is several records in a transcript.
        let written = last_assistant.unwrap_or_default().trim();
        !written.is_empty() && said.ends_with(written)
    }
}

fields! {
    /// The payload as clients write it.
    PayloadFields {
        hook_event_name, session_id, transcript_path, cwd, prompt_id, turn_id, prompt, source, stop_hook_active,
        last_assistant_message, prompt_response, permission_mode, background_tasks, model, context_window,
        agent_id, agent_type, agent_transcript_path,
    }
}

impl PayloadFields<'_> {
    fn into_payload(self, agent: Agent, name: &str) -> Payload {
        let (turn, last_text) = match agent {
            Agent::Claude => (self.prompt_id, self.last_assistant_message),
            Agent::Codex => (self.turn_id, self.last_assistant_message),
            Agent::Gemini => (None, self.prompt_response),
        };
        let model = field::name(self.model);
        Payload {
            agent,
            event: self.event(agent, name),
            session: field::name(self.session_id),
            transcript: path(self.transcript_path),
            cwd: path(self.cwd),
            turn: field::name(turn),
            prompt: field::text(self.prompt)
                .map(|text| text::head(prompt::typed(agent, &text), prompt::LONGEST_PROMPT).to_owned()),
            stop_hook_active: field::read(self.stop_hook_active).unwrap_or(false),
            last_text: field::text(last_text).map(|text| text::tail(&text, LONGEST_LAST_TEXT).to_owned()),
            permission_mode: field::name(self.permission_mode),
            background_tasks: waited_for(self.background_tasks),
            usage: usage(self.context_window, model.clone()),
            model,
            subagent: field::name(self.agent_id).map(|id| Subagent {
                id,
                kind: field::name(self.agent_type),
                transcript: path(self.agent_transcript_path),
            }),
        }
    }

    fn event(&self, agent: Agent, name: &str) -> Event {
        match Event::from_name(agent, name) {
            Event::SessionStart { .. } => {
                Event::SessionStart { source: field::name(self.source).unwrap_or_default() }
            }
            // Claude Code has a nameless agent write the summary of a compaction.
            Event::SubagentStop
                if agent == Agent::Claude && field::text(self.agent_type).as_deref() == Some("") =>
            {
                Event::Other(name.to_owned())
            }
            event => event,
        }
    }
}

fn path(written: Field<'_>) -> Option<PathBuf> {
    field::name(written).map(PathBuf::from)
}

/// How many of the listed tasks are not over.
fn waited_for(tasks: Field<'_>) -> usize {
    #[derive(Deserialize)]
    struct Task<'a> {
        #[serde(borrow, default)]
        status: Field<'a>,
    }
    let is_over = |task: Field<'_>| {
        let status = field::read::<Task<'_>>(task).and_then(|task| field::name(task.status));
        status.is_some_and(|status| TASK_IS_OVER.contains(&status.as_str()))
    };
    let tasks: Vec<Field<'_>> = field::read(tasks).unwrap_or_default();
    tasks.into_iter().filter(|task| !is_over(*task)).count()
}

/// The context in use, as once imagined for hooks and as Claude Code's status line gets it. No size, no use.
fn usage(written: Field<'_>, model: Option<String>) -> Option<Usage> {
    #[derive(Deserialize)]
    struct ContextWindow {
        context_window_size: u64,
        current_usage: CurrentUsage,
    }
    #[derive(Deserialize)]
    struct CurrentUsage {
        #[serde(default)]
        input_tokens: u64,
        #[serde(default)]
        cache_creation_input_tokens: u64,
        #[serde(default)]
        cache_read_input_tokens: u64,
    }
    let context: ContextWindow = field::read(written)?;
    let used = context.current_usage;
    let tokens = used
        .input_tokens
        .saturating_add(used.cache_creation_input_tokens)
        .saturating_add(used.cache_read_input_tokens);
    let window = context.context_window_size;
    let percent = tokens.saturating_mul(100).checked_div(window)?;
    Some(Usage { tokens, answered: 0, window: Some(window), percent: Some(percent), model })
}
