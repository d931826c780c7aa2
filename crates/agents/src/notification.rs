//! The argument of Codex CLI's `notify` program, which it starts at the end of a turn without waiting for it.
//!
//! Seen in 0.166.0: the transcript is written before the call. The TUI leaves its work to a daemon of the user, so
//! the program's environment, `TMUX_PANE` included, is that of the TUI which started the daemon, not of the one whose
//! turn ended. Threads that Codex opens for itself, to find a title for example, are told too; they have no transcript.

use std::path::PathBuf;

use serde::Deserialize;
use transcript::Agent;

use crate::field::{self, Field, fields};
use crate::payload::{Event, Payload, PayloadError};
use crate::tmux;

/// The end of a turn, as `notify` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub thread: String,
    pub turn: Option<String>,
    pub cwd: PathBuf,
    /// `codex-tui` or `codex_exec`.
    pub client: Option<String>,
    pub last_text: Option<String>,
    /// The last prompt of the thread.
    pub prompt: Option<String>,
}

fields! {
    #[serde(rename_all = "kebab-case")]
    NotificationFields {
        #[serde(rename = "type")] kind, thread_id, turn_id, cwd, client, last_assistant_message, input_messages,
    }
}

impl Notification {
    /// `None` is a notification of something else than the end of a turn.
    pub fn parse(argument: &[u8]) -> Result<Option<Self>, PayloadError> {
        if argument.trim_ascii_start().first() != Some(&b'{') {
            return Err(PayloadError::NotAnObject);
        }
        let written: NotificationFields<'_> =
            serde_json::from_slice(argument).map_err(PayloadError::Malformed)?;
        let kind = field::name(written.kind).ok_or(PayloadError::NoEvent)?;
        let (Some(thread), Some(cwd), "agent-turn-complete") =
            (field::name(written.thread_id), field::name(written.cwd), kind.as_str())
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            thread,
            turn: field::name(written.turn_id),
            cwd: PathBuf::from(cwd),
            client: field::name(written.client),
            last_text: field::name(written.last_assistant_message),
            prompt: field::read::<Vec<Field<'_>>>(written.input_messages)
                .and_then(|messages| field::name(*messages.last()?)),
        }))
    }

    /// Whether a screen shows the end of this turn: the agent's last words, and the prompt too where these are few.
    pub fn is_shown_on(&self, screen: &str) -> bool {
        let last_text = self.last_text.as_deref().unwrap_or_default();
        let tells = last_text.chars().filter(|character| character.is_alphanumeric()).count() >= 40;
        tmux::shows(screen, last_text)
            && (tells || self.prompt.as_deref().is_some_and(|prompt| tmux::shows(screen, prompt)))
    }

    /// The stop that the hook would have told of.
    pub fn into_stop(self, transcript: PathBuf) -> Payload {
        Payload {
            session: Some(self.thread),
            transcript: Some(transcript),
            cwd: Some(self.cwd),
            turn: self.turn,
            last_text: self.last_text,
            ..Payload::new(Agent::Codex, Event::Stop)
        }
    }
}
