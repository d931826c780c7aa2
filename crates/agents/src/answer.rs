//! What a client is told, in its own schema. Empty stdout lets the agent go on; one JSON object is a decision.
//!
//! Seen by running the real clients (Claude Code 2.1.325, Gemini CLI 0.61.0, Codex CLI 0.166.0):
//! - `{"decision":"block","reason":…,"systemMessage":…}` holds in all three, and no `systemMessage` reaches a
//!   model. Codex says `Blocked`; with any unknown key it says `Failed` and does not hold.
//! - `{"systemMessage":…}` at the stop is shown to the person and lets the agent stop: `Stop says: …` in
//!   Claude's TUI, `↳ Hook · …` in Codex's, `ℹ …` in Gemini's. `claude -p` and `codex exec` show it nowhere;
//!   `gemini -p` writes it to stderr. The same holds at the start of a session and at a prompt.
//! - In a hold the person sees both texts in Claude and Codex, the `systemMessage` first. Codex calls the reason a
//!   block, and so does Gemini, which shows the `systemMessage`, twice, instead of the reason, and says below it that the
//!   request failed: hence it gets both texts in one there. Claude calls it an error, unless it is given as context: see
//!   [`HoldForm`].
//! - Before a compaction Claude Code shows our stdout as it is, JSON and all, and gives it to the model as
//!   instructions for the summary. Only Codex shows a `systemMessage` there.
//! - At a prompt, `block` would throw the person's prompt away. At the end of a session nothing is shown.
//! - Claude Code ignores keys that it does not know, and holds all the same; what Gemini CLI does with them is not
//!   known, so only Claude Code gets `autonomous_execution`.
//! - Codex cuts a reason of more than about 2,500 tokens in the middle. The gate's message is far shorter.

use serde::{Serialize, Serializer};
use serde_json::Value;
use text::{OWN_PREFIX, visible_lines};
use transcript::Agent;

use crate::hold_form::{HoldForm, LONGEST_CONTEXT};
use crate::host::host;
use crate::payload::Event;

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Pass,
    /// The person is told something, which costs the agent nothing.
    Notify { to_person: String },
    /// The agent may not stop yet, and is told why.
    Hold { to_agent: String, to_person: Option<String> },
    /// The agent may not stop yet, since its work was saved and goes on. A hold, with an account of the save for programs
    /// that read what hooks print.
    Continue { to_agent: String, to_person: Option<String>, autonomous_execution: Box<Value> },
    /// The agent is told something at the start of its session, and the person that it was.
    Context { to_agent: String, to_person: String },
}

impl Answer {
    /// The one line for the client's stdout. `None` is empty stdout, which lets the agent go on: for
    /// [`Answer::Pass`], and for whatever this client has no way to be told at this event.
    ///
    /// A text for the agent begins with [`OWN_PREFIX`] whether or not the caller put it there, since it must
    /// be known again when the client hands it back as a prompt. Control characters in a text are made visible.
    pub fn render(&self, agent: Agent, event: &Event, hold_form: HoldForm) -> Option<String> {
        let form = &host(agent).answer;
        let shown = self.clone().shown();
        let output = match &shown {
            Self::Notify { to_person } if can_notify(agent, event) => (form.notify?)(to_person),
            Self::Hold { to_agent, to_person }
                if host(agent).can.holds_by_context.is_some()
                    && *event == Event::Stop
                    && hold_form == HoldForm::Context
                    && to_agent.len() <= LONGEST_CONTEXT =>
            {
                let told = to_person.as_deref().map_or_else(Output::default, notify);
                told.and("hookSpecificOutput", for_event("Stop", own(to_agent)))
            }
            Self::Hold { to_agent, to_person } | Self::Continue { to_agent, to_person, .. }
                if can_hold(agent, event) =>
            {
                let reason = own(to_agent);
                let hides_reason = matches!(&shown, Self::Hold { .. }) && !shows_text_beside_hold(agent);
                let to_person = to_person.as_ref().map(|said| match hides_reason {
                    true => format!("{reason}\n\n{said}"),
                    false => said.clone(),
                });
                let account = shown.execution().filter(|_| host(agent).can.takes_account_of_save).cloned();
                (form.hold)(HoldTexts { event, reason, to_person, account })
            }
            Self::Context { to_agent, to_person } if matches!(event, Event::SessionStart { .. }) => {
                (form.context)(own(to_agent), to_person)
            }
            _ => return None,
        };
        // Plain text always serialises; were it not so, silence is what lets the agent go on.
        serde_json::to_string(&output).ok()
    }

    /// The same with nothing in it that steers a terminal: names of files, outputs and what an agent said stand in it.
    fn shown(mut self) -> Self {
        let shown = |text: &mut String| *text = visible_lines(text);
        match &mut self {
            Self::Pass => {}
            Self::Notify { to_person } => shown(to_person),
            Self::Hold { to_agent, to_person } | Self::Continue { to_agent, to_person, .. } => {
                shown(to_agent);
                to_person.iter_mut().for_each(shown);
            }
            Self::Context { to_agent, to_person } => [to_agent, to_person].into_iter().for_each(shown),
        }
        self
    }

    /// With something more for the person, where they can be told.
    #[must_use]
    pub fn with_note(mut self, note: Option<String>) -> Self {
        let Some(note) = note else { return self };
        let append = |said: &mut String| *said = format!("{said}\n{note}");
        match &mut self {
            Self::Pass => return Self::Notify { to_person: note },
            Self::Notify { to_person }
            | Self::Continue { to_person: Some(to_person), .. }
            | Self::Context { to_person, .. } => append(to_person),
            // How to switch it off stays at the end.
            Self::Hold { to_person: Some(said), .. } => *said = format!("{note}\n{said}"),
            Self::Hold { to_person, .. } | Self::Continue { to_person, .. } => *to_person = Some(note),
        }
        self
    }

    /// The agent goes on.
    pub fn is_hold(&self) -> bool {
        matches!(self, Self::Hold { .. } | Self::Continue { .. })
    }

    fn execution(&self) -> Option<&Value> {
        match self {
            Self::Continue { autonomous_execution, .. } => Some(autonomous_execution),
            _ => None,
        }
    }
}

/// Whether the person reads a text of their own beside the reason of a hold, which they would not see otherwise.
pub fn shows_text_beside_hold(agent: Agent) -> bool {
    host(agent).can.tells_person_beside_hold
}

fn can_notify(agent: Agent, event: &Event) -> bool {
    match event {
        Event::PromptSubmitted | Event::Stop | Event::SessionStart { .. } => true,
        Event::BeforeCompaction => host(agent).can.tells_person_before_compaction,
        Event::SubagentStop | Event::SessionEnd | Event::Other(_) => false,
    }
}

fn can_hold(agent: Agent, event: &Event) -> bool {
    match event {
        Event::Stop => true,
        Event::SubagentStop => host(agent).can.holds_subagents,
        Event::PromptSubmitted
        | Event::SessionStart { .. }
        | Event::BeforeCompaction
        | Event::SessionEnd
        | Event::Other(_) => false,
    }
}

fn own(text: &str) -> String {
    if text.starts_with(OWN_PREFIX) { text.to_owned() } else { format!("{OWN_PREFIX} {text}") }
}

/// How a client is told things. Whatever its contract is, it is a function in the host's own folder; most took over Claude Code's.
#[derive(Debug)]
pub struct AnswerForm {
    /// The agent may not stop yet.
    pub hold: fn(HoldTexts<'_>) -> Output,
    /// What the agent is told by an answer that holds it: `hold`, read back.
    pub held: fn(&Value) -> Option<&str>,
    /// The agent is told something at the start of its session, and the person that it was.
    pub context: fn(to_agent: String, to_person: &str) -> Output,
    /// The person is told something; `None` if there is no way to.
    pub notify: Option<fn(&str) -> Output>,
}

/// What is said at a hold.
#[derive(Debug)]
pub struct HoldTexts<'a> {
    /// The stop of the agent, or of a sub-agent.
    pub event: &'a Event,
    pub reason: String,
    pub to_person: Option<String>,
    /// The account of a save, if the client lets it pass.
    pub account: Option<Value>,
}

impl AnswerForm {
    pub(crate) const BASE: Self = Self { hold: block, held: reason, context, notify: Some(notify) };
}

fn block(told: HoldTexts<'_>) -> Output {
    let output = Output::text("decision", "block").and("reason", told.reason);
    let output = match told.to_person {
        Some(to_person) => output.and("systemMessage", to_person),
        None => output,
    };
    match told.account {
        Some(account) => output.and("autonomous_execution", account),
        None => output,
    }
}

fn reason(answer: &Value) -> Option<&str> {
    answer.get("reason").filter(|_| answer.get("decision") == Some(&Value::from("block")))?.as_str()
}

fn context(to_agent: String, to_person: &str) -> Output {
    notify(to_person).and("hookSpecificOutput", for_event("SessionStart", to_agent))
}

fn notify(to_person: &str) -> Output {
    Output::text("systemMessage", to_person)
}

fn for_event(name: &str, additional_context: String) -> Output {
    Output::text("hookEventName", name).and("additionalContext", additional_context)
}

/// A JSON object whose names stay in the order in which they were given.
#[derive(Debug, Default)]
pub struct Output(Vec<(&'static str, OutputValue)>);

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum OutputValue {
    Text(String),
    Json(Value),
    Object(Output),
}

impl Output {
    pub(crate) fn text(name: &'static str, text: impl Into<String>) -> Self {
        Self::default().and(name, text.into())
    }

    #[must_use]
    pub(crate) fn and(mut self, name: &'static str, value: impl Into<OutputValue>) -> Self {
        self.0.push((name, value.into()));
        self
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl From<String> for OutputValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Value> for OutputValue {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

impl From<Output> for OutputValue {
    fn from(object: Output) -> Self {
        Self::Object(object)
    }
}
