//! What a client says at an event, in the same words for every client.
//!
//! Only the fields that are used are parsed; a tool's output of megabytes beside them is skipped over.
//! Seen in the real clients, and relied on here:
//! - A stop can have a turn key that no prompt event announced. It means "the session's latest turn", not "no turn".
//! - A prompt typed while the agent works comes with the key of the running turn: it belongs to that turn and must not
//!   begin it anew.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Deserialize;
use transcript::{Agent, Usage};

use crate::caller;
use crate::field::{self, AllFields, Field};
use crate::host::host;
use crate::prompt;

/// Of the agent's last words the end is kept, up to this many bytes.
const LONGEST_LAST_TEXT: usize = 256 * 1024;

/// Fields that name the session of whoever launched a sub-agent.
const OF_A_SUBAGENT: [&str; 2] = ["parent_agent_id", "calling_session_id"];

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
    /// A session begins or goes on: `startup`, `resume`, `clear`, `compact` or `fork`; empty if not told.
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
        let kind = host(agent).payload.events.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        kind.map_or_else(|| Self::Other(name.to_owned()), Self::from_kind)
    }

    /// What it is if a sub-agent is told: the end of its work, or nothing that matters here.
    fn of_a_subagent(self) -> Self {
        match self {
            Self::Stop | Self::SubagentStop => Self::SubagentStop,
            event => Self::Other(format!("{event:?} of a sub-agent")),
        }
    }

    fn from_kind(kind: EventKind) -> Self {
        match kind {
            EventKind::PromptSubmitted => Self::PromptSubmitted,
            EventKind::Stop => Self::Stop,
            EventKind::SubagentStop => Self::SubagentStop,
            EventKind::SessionStart => Self::SessionStart { source: String::new() },
            EventKind::BeforeCompaction => Self::BeforeCompaction,
            EventKind::SessionEnd => Self::SessionEnd,
        }
    }
}

/// The events that mean something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    PromptSubmitted,
    Stop,
    SubagentStop,
    SessionStart,
    BeforeCompaction,
    SessionEnd,
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
    /// When the client called.
    pub at: Option<Timestamp>,
    /// The session's transcript, which may not exist yet.
    pub transcript: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    /// The client's own id of the turn. The same at a second stop.
    pub turn: Option<String>,
    /// The prompt as typed, at most 16 KiB of it, without the context of hooks that a client puts before it. At the beginning of a
    /// session, the one that the session begins with.
    pub prompt: Option<String>,
    /// This stop follows a hold, ours or another tool's. A witness only: a client may forget it.
    pub stop_hook_active: bool,
    /// The agent's last words, at most their last 256 KiB: the last message, or all texts of the turn joined by newlines,
    /// so that only its end is the last message.
    pub last_text: Option<String>,
    /// The client's name for what the agent may do without asking.
    pub permission_mode: Option<String>,
    /// Background tasks that the agent will hear of when they end.
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
            at: None,
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
        PayloadFields::read(bytes)?.into_payload(agent)
    }

    /// Reads what a client wrote to the hook that was registered for `registered`, and finds out which client that is (L16).
    /// `is_set` tells which variables the environment has.
    pub fn receive(
        registered: Agent,
        bytes: &[u8],
        is_set: impl Fn(&str) -> bool,
    ) -> Result<Self, PayloadError> {
        let written = PayloadFields::read(bytes)?;
        let transcript = field::name(written.fields.named("transcript_path"));
        let has_field = |name: &str| written.fields.exactly(name).is_some();
        let agent = caller::calling(registered, transcript.as_deref(), has_field, is_set);
        written.into_payload(agent)
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

    /// A transcript that tells at which time the client asked its hooks at a stop last, `asked_at`, has everything before this
    /// stop (T21). True where the client does not write that down.
    pub fn stop_is_recorded(&self, asked_at: Option<Timestamp>) -> bool {
        let is_there = |at: Timestamp| asked_at.is_some_and(|asked_at| asked_at >= at);
        !host(self.agent).can.records_stops || self.at.is_none_or(is_there)
    }
}

/// The payload as clients write it.
struct PayloadFields<'a> {
    fields: AllFields<'a>,
    /// What its host calls otherwise, by our names.
    other_names: &'static [(&'static str, &'static str)],
}

impl<'a> PayloadFields<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, PayloadError> {
        // The parser would take a list for the fields in order.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(PayloadError::NotAnObject);
        }
        let fields = serde_json::from_slice(bytes).map_err(PayloadError::Malformed)?;
        Ok(Self { fields, other_names: &[] })
    }

    fn field(&self, name: &str) -> Field<'a> {
        let other = || self.other_names.iter().find(|(ours, _)| *ours == name);
        self.fields.named(name).or_else(|| self.fields.named(other()?.1))
    }

    fn name(&self, name: &str) -> Option<String> {
        field::name(self.field(name))
    }

    /// Whose sub-agent calls, for hosts whose sub-agents call the hooks as if they were sessions: they name their parent, or the
    /// transcript is another session's.
    fn parent(&self, agent: Agent) -> Option<String> {
        let writes_elsewhere = || {
            let transcript = path(self.field("transcript_path"))?;
            let writer = (host(agent).transcripts.session_of_path)(&transcript)?;
            self.name("session_id").filter(|session| session != writer).map(|_| writer.to_owned())
        };
        OF_A_SUBAGENT.iter().find_map(|name| self.name(name)).or_else(writes_elsewhere)
    }

    fn into_payload(mut self, agent: Agent) -> Result<Payload, PayloadError> {
        let form = &host(agent).payload;
        self.other_names = form.other_names;
        let parent = self.parent(agent);
        let event = self.event(agent).ok_or(PayloadError::NoEvent)?;
        let event = if parent.is_some() { event.of_a_subagent() } else { event };
        let last_text = form.last_text.and_then(|name| self.field(name));
        let model = self.name("model");
        Ok(Payload {
            agent,
            event,
            session: parent.or_else(|| self.name("session_id")),
            at: instant(self.field("timestamp")),
            transcript: path(self.field("transcript_path")).filter(|_| transcript::is_read(agent)),
            cwd: path(self.field("cwd")),
            turn: form.turn.and_then(|name| self.name(name)),
            prompt: field::text(self.field("prompt").or_else(|| self.field("initial_prompt")))
                .map(|text| text::head(prompt::typed(agent, &text), prompt::LONGEST_PROMPT).to_owned()),
            stop_hook_active: flag(self.field("stop_hook_active")),
            last_text: field::text(last_text).map(|text| text::tail(&text, LONGEST_LAST_TEXT).to_owned()),
            permission_mode: self.name("permission_mode"),
            background_tasks: waited_for(self.field("background_tasks")),
            usage: usage(self.field("context_window"), model.clone())
                .or_else(|| self.usage_now(model.clone())),
            model,
            subagent: self.name("agent_id").map(|id| Subagent {
                id,
                kind: self.name("agent_type"),
                transcript: path(self.field("agent_transcript_path")),
            }),
        })
    }

    /// The context in use, as some tell it at a stop.
    fn usage_now(&self, model: Option<String>) -> Option<Usage> {
        let number = |name: &str| field::read::<u64>(self.field(name));
        let (tokens, window) = (number("input_tokens")?, number("context_limit")?);
        let percent = tokens.saturating_mul(100).checked_div(window)?;
        Some(Usage { tokens, answered: 0, window: Some(window), percent: Some(percent), model })
    }

    /// Named, or known by the fields that only such a payload has.
    fn event(&self, agent: Agent) -> Option<Event> {
        let form = &host(agent).payload;
        let Some(name) = self.name("hook_event_name") else {
            let unnamed = form.unnamed_events.iter().find(|(field, _)| self.field(field).is_some());
            return unnamed.map(|(_, kind)| self.with_source(Event::from_kind(*kind)));
        };
        let is_nobody = |field: &str| field::text(self.field(field)).as_deref() == Some("");
        Some(match Event::from_name(agent, &name) {
            Event::PromptSubmitted if form.has_empty_prompts && self.name("prompt").is_none() => {
                Event::Other(name)
            }
            Event::Stop if form.only_stops.is_some_and(|(field, value)| self.differs(field, value)) => {
                Event::Other(name)
            }
            Event::SubagentStop if form.has_nameless_subagents && is_nobody("agent_type") => {
                Event::Other(name)
            }
            event => self.with_source(event),
        })
    }

    /// Whether the field is there and says something else.
    fn differs(&self, field: &str, value: &str) -> bool {
        self.name(field).is_some_and(|written| written != value)
    }

    fn with_source(&self, event: Event) -> Event {
        match event {
            Event::SessionStart { .. } => {
                Event::SessionStart { source: self.name("source").unwrap_or_default() }
            }
            event => event,
        }
    }
}

/// A time as a client writes it: a text, or milliseconds since 1970.
fn instant(written: Field<'_>) -> Option<Timestamp> {
    let as_number = || Timestamp::from_millisecond(field::read(written)?).ok();
    field::read::<String>(written).and_then(|text| text.parse().ok()).or_else(as_number)
}

/// A path, or the first of several.
fn path(written: Field<'_>) -> Option<PathBuf> {
    let first = || field::read::<Vec<String>>(written)?.into_iter().find(|path| !path.is_empty());
    field::name(written).or_else(first).map(PathBuf::from)
}

/// A flag, or the count of what it is about.
fn flag(written: Field<'_>) -> bool {
    let is_counted = || field::read::<u64>(written).is_some_and(|count| count > 0);
    field::read(written).unwrap_or_else(is_counted)
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

/// The context in use, as once imagined for hooks and as status lines get it. No size, no use.
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
