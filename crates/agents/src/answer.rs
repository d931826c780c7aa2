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

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use text::OWN_PREFIX;
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
    /// be known again when the client hands it back as a prompt.
    pub fn render(&self, agent: Agent, event: &Event, hold_form: HoldForm) -> Option<String> {
        let can = &host(agent).can;
        let output = match self {
            Self::Notify { to_person } if can_notify(agent, event) => {
                Output { system_message: Some(to_person.into()), ..Output::default() }
            }
            Self::Hold { to_agent, to_person }
                if can.holds_by_context.is_some()
                    && *event == Event::Stop
                    && hold_form == HoldForm::Context
                    && to_agent.len() <= LONGEST_CONTEXT =>
            {
                Output {
                    system_message: to_person.as_deref().map(Cow::from),
                    hook_specific_output: Some(HookSpecificOutput {
                        hook_event_name: "Stop",
                        additional_context: own(to_agent),
                    }),
                    ..Output::default()
                }
            }
            Self::Hold { to_agent, to_person } | Self::Continue { to_agent, to_person, .. }
                if can_hold(agent, event) =>
            {
                let reason = own(to_agent);
                let hides_reason = matches!(self, Self::Hold { .. }) && !shows_text_beside_hold(agent);
                Output {
                    system_message: to_person.as_deref().map(|said| match hides_reason {
                        true => format!("{reason}\n\n{said}").into(),
                        false => said.into(),
                    }),
                    decision: Some("block"),
                    reason: Some(reason),
                    autonomous_execution: self.execution().filter(|_| can.takes_account_of_save),
                    ..Output::default()
                }
            }
            Self::Context { to_agent, .. }
                if matches!(event, Event::SessionStart { .. }) && can.takes_bare_context =>
            {
                Output { additional_context: Some(own(to_agent)), ..Output::default() }
            }
            Self::Context { to_agent, to_person } if matches!(event, Event::SessionStart { .. }) => Output {
                system_message: Some(to_person.into()),
                hook_specific_output: Some(HookSpecificOutput {
                    hook_event_name: "SessionStart",
                    additional_context: own(to_agent),
                }),
                ..Output::default()
            },
            _ => return None,
        };
        // Plain text always serialises; were it not so, silence is what lets the agent go on.
        serde_json::to_string(&output).ok()
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

    /// What the person alone is told.
    pub fn to_person(self) -> Option<String> {
        match self {
            Self::Notify { to_person } => Some(to_person),
            _ => None,
        }
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

/// The keys that all clients know, and one that some let pass; only those that say something are written.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<HookSpecificOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
    #[serde(rename = "autonomous_execution", skip_serializing_if = "Option::is_none")]
    autonomous_execution: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput {
    hook_event_name: &'static str,
    additional_context: String,
}
