//! Our status line in the settings of a client that has one: added only where there is none, and taken away only where it is exactly
//! ours. There is one place for it, so a person's own is never replaced.

use serde::Serialize;
use serde_json::Value;
use transcript::Agent;

use super::as_meant::{self, Format};
use super::layout::{Addition, applied};
use super::own_call::program_of_line;
use super::settings::{Settings, SettingsError, split_mark};

pub(super) const NAME: &str = "statusLine";
const COMMAND: &str = "statusline";

/// The entry as it is written.
#[derive(Debug, Serialize)]
pub(super) struct StatusLine {
    #[serde(rename = "type")]
    kind: &'static str,
    command: String,
}

impl StatusLine {
    fn new(program: &str) -> Self {
        Self { kind: "command", command: format!("{} {COMMAND}", text::shell_word(program)) }
    }
}

/// Whose status line is in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusLineOwner {
    Nobody,
    /// Ours, with the program that it calls.
    Ours(String),
    Others,
}

/// Whose status line the client would show.
pub fn owner(agent: Agent, text: &str) -> Result<StatusLineOwner, SettingsError> {
    let settings = Settings::of(agent, text)?;
    Ok(settings.map_or(StatusLineOwner::Nobody, |settings| settings.status_line_owner()))
}

/// The text with our status line. The same text where somebody's is there; ours gets the present program where the one it
/// calls is among `gone`.
pub fn add(agent: Agent, text: &str, program: &str, gone: &[String]) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(agent, text)?;
    let entry = StatusLine::new(program);
    let Some(settings) = Settings::read(agent, body)? else {
        let file = serde_json::json!({ NAME: serde_json::to_value(&entry).unwrap_or_default() });
        return Ok(format!("{mark}{file:#}\n"));
    };
    let whole = settings.json.whole();
    let members = settings.json.members(&whole);
    let owner = settings.status_line_owner();
    let edits = match &owner {
        StatusLineOwner::Nobody => {
            let present: Vec<_> = members.into_iter().map(|member| member.range).collect();
            let new = [(Some(NAME), Addition::StatusLine(&entry))];
            settings.layout.append(&settings.json, &whole, &present, &new)
        }
        StatusLineOwner::Ours(old) if gone.contains(old) => {
            let own = members.into_iter().find(|member| member.name == NAME);
            let parts = own.map(|own| settings.json.members(&own.value)).unwrap_or_default();
            let command = parts.into_iter().find(|member| member.name == "command");
            let new = Value::from(entry.command.as_str()).to_string();
            command.map(|command| (command.value, new)).into_iter().collect()
        }
        StatusLineOwner::Ours(_) | StatusLineOwner::Others => return Ok(text.to_owned()),
    };
    Format::Json(agent).as_meant(
        text,
        format!("{mark}{}", applied(body, edits)),
        |document| match document.get_mut(NAME) {
            Some(present) => as_meant::set(present, "command", Value::from(entry.command.as_str())),
            None => document.extend([(NAME.to_owned(), serde_json::to_value(&entry).unwrap_or_default())]),
        },
        || SettingsError::NotSurelyAdded { place: NAME.to_owned(), entry: entry.command.clone() },
    )
}

/// The text without our status line.
pub(super) fn remove(agent: Agent, text: &str) -> Result<String, SettingsError> {
    let (mark, body) = split_mark(agent, text)?;
    let Some(settings) = Settings::read(agent, body)? else { return Ok(text.to_owned()) };
    if !matches!(settings.status_line_owner(), StatusLineOwner::Ours(_)) {
        return Ok(text.to_owned());
    }
    let whole = settings.json.whole();
    let members = settings.json.members(&whole);
    let goes: Vec<bool> = members.iter().map(|member| member.name == NAME).collect();
    let ranges: Vec<_> = members.into_iter().map(|member| member.range).collect();
    let edits = settings.layout.take(&settings.json, &whole, &ranges, &goes);
    Format::Json(agent).as_meant(
        text,
        format!("{mark}{}", applied(body, edits)),
        |document| drop(document.remove(NAME)),
        || SettingsError::NotSurelyRemoved { name: NAME.to_owned() },
    )
}

impl Settings {
    fn status_line_owner(&self) -> StatusLineOwner {
        let members = self.json.members(&self.json.whole());
        let mut found = members.iter().filter(|member| member.name == NAME);
        let Some(member) = found.next() else { return StatusLineOwner::Nobody };
        let value = self.json.value(&member.value);
        let command = value.get("command").and_then(Value::as_str);
        match (command.and_then(|line| program_of_line(line, COMMAND)), found.next()) {
            (Some(program), None) => StatusLineOwner::Ours(program),
            _ => StatusLineOwner::Others,
        }
    }
}
