//! The end of a turn as a client tells it to a program that it starts without waiting for it.

use std::path::PathBuf;

use transcript::Agent;

use crate::host::host;
use crate::payload::{Event, Payload, PayloadError};
use crate::tmux;

/// How a client tells of the end of a turn.
#[derive(Debug)]
pub struct NotifyForm {
    /// The last argument of the program; `None` is about something else than the end of a turn.
    pub parse: fn(&[u8]) -> Result<Option<Notification>, PayloadError>,
    /// What the client calls itself where nobody can type.
    pub not_interactive: &'static str,
}

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub thread: String,
    pub turn: Option<String>,
    pub cwd: PathBuf,
    /// What the client calls itself.
    pub client: Option<String>,
    pub last_text: Option<String>,
    /// The last prompt of the thread.
    pub prompt: Option<String>,
}

impl Notification {
    /// `None` is a notification of something else than the end of a turn.
    pub fn parse(agent: Agent, argument: &[u8]) -> Result<Option<Self>, PayloadError> {
        host(agent).notify.as_ref().map_or(Ok(None), |form| (form.parse)(argument))
    }

    /// Whether a screen shows the end of this turn: the agent's last words, and the prompt too where these are few.
    pub fn is_shown_on(&self, screen: &str) -> bool {
        let last_text = self.last_text.as_deref().unwrap_or_default();
        let tells = last_text.chars().filter(|character| character.is_alphanumeric()).count() >= 40;
        tmux::shows(screen, last_text)
            && (tells || self.prompt.as_deref().is_some_and(|prompt| tmux::shows(screen, prompt)))
    }

    /// The stop that the hook would have told of.
    pub fn into_stop(self, agent: Agent, transcript: PathBuf) -> Payload {
        Payload {
            session: Some(self.thread),
            transcript: Some(transcript),
            cwd: Some(self.cwd),
            turn: self.turn,
            last_text: self.last_text,
            ..Payload::new(agent, Event::Stop)
        }
    }
}
