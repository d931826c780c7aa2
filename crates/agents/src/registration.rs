//! What is registered in each client: the one source of the settings that `init` writes, of the packages, and of what
//! `doctor` expects to find.
//! What a client demands of it is in its [`RegistrationForm`](crate::host::RegistrationForm).

mod as_meant;
pub mod hand_written;
mod json_text;
mod layout;
pub mod mcp_entry;
mod own_call;
mod own_file;
pub mod settings;
pub mod status_line;

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use transcript::Agent;

use crate::host::{CallForm, host};
use crate::payload::Event;

pub use own_call::OwnCall;
use own_file::OwnFile;

/// Where the client finds the program.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// By its absolute path; by its bare name where the `PATH` of whoever uses the file is to decide.
    At(&'a str),
    /// In the folder `bin` of the plugin or extension that brings the hooks along.
    InPackage,
}

/// All hooks of one client. Serialises as the clients' `{"hooks": {"Stop": [{"hooks": [{…}]}], …}}`, keys in the order
/// in which people write them.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    pub agent: Agent,
    pub entries: Vec<Entry>,
}

/// One event, and the group that stands in its list.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The client's own name of the event.
    pub event: &'static str,
    pub group: Group,
}

/// What stands in the list of an event: a group of handlers, or the handler itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub matcher: Option<&'static str>,
    pub hooks: [Handler; 1],
    pub is_flat: bool,
}

impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [handler] = &self.hooks;
        if self.is_flat {
            return handler.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(matcher) = self.matcher {
            map.serialize_entry("matcher", matcher)?;
        }
        map.serialize_entry("hooks", &self.hooks)?;
        map.end()
    }
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Handler {
    /// How the client calls the hook in its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The program where there are `args`, else a line for the shell.
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<[&'static str; 2]>,
    /// In the client's own unit.
    pub timeout: u32,
    /// What only this client's hooks have at this event.
    #[serde(flatten)]
    pub more: BTreeMap<&'static str, Value>,
}

impl Registration {
    pub fn new(agent: Agent, program: Program<'_>) -> Self {
        let entries = events(agent)
            .iter()
            .map(|event| Entry {
                event,
                group: Group {
                    matcher: host(agent).registration.matcher,
                    hooks: [handler(agent, program, event)],
                    is_flat: host(agent).registration.is_flat,
                },
            })
            .collect();
        Self { agent, entries }
    }

    /// The whole file, where nothing but our hooks is in it.
    pub fn file(&self) -> String {
        if let Some(own) = OwnFile::of(self.agent) {
            return own.text(self.program());
        }
        // A map of strings and numbers can always be written.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}

impl Registration {
    /// What is called without a shell.
    fn program(&self) -> &str {
        let first = self.entries.first().map(|entry| &entry.group.hooks);
        first.map_or("", |[handler]| handler.command.as_str())
    }
}

impl Serialize for Registration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, number) in host(self.agent).registration.head {
            map.serialize_entry(name, number)?;
        }
        map.serialize_entry("hooks", &Lists(&self.entries))?;
        map.end()
    }
}

/// The lists of the events, by their names.
struct Lists<'a>(&'a [Entry]);

impl Serialize for Lists<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|entry| (entry.event, [&entry.group])))
    }
}

/// The events that are registered, by the client's own names.
pub fn events(agent: Agent) -> &'static [&'static str] {
    host(agent).registration.events
}

fn handler(agent: Agent, program: Program<'_>, event: &str) -> Handler {
    let form = &host(agent).registration;
    let program = match (form.call, program) {
        (CallForm::Arguments, Program::At(path)) => path.to_owned(),
        (CallForm::Line(_), Program::At(path)) => text::shell_word(path),
        (_, Program::InPackage) => form.in_package.to_owned(),
    };
    let (command, args) = match form.call {
        CallForm::Arguments => (program, Some(["hook", agent.name()])),
        CallForm::Line(after) => (format!("{program} hook {}{after}", agent.name()), None),
    };
    let kind = Event::from_name(agent, event);
    let timeout = form.session_end_timeout.filter(|_| kind == Event::SessionEnd).unwrap_or(form.timeout);
    let more = if kind == Event::Stop { form.at_stop } else { &[] };
    let more = more.iter().map(|(name, json)| (*name, serde_json::from_str(json).unwrap_or_default()));
    Handler { name: form.name, kind: "command", command, args, timeout, more: more.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_event_means_something_to_the_hook() {
        for agent in Agent::ALL {
            for event in events(agent) {
                assert!(!matches!(Event::from_name(agent, event), Event::Other(_)), "{agent:?} {event}");
            }
        }
    }

    /// Codex's trust would be lost by any change of these texts.
    #[test]
    fn what_is_registered_never_changes() {
        for agent in Agent::ALL {
            let name = agent.name();
            insta::assert_snapshot!(
                format!("{name}_settings"),
                Registration::new(agent, Program::At("/home/ann/.local/bin/checkstone")).file()
            );
            insta::assert_snapshot!(
                format!("{name}_package"),
                Registration::new(agent, Program::InPackage).file()
            );
        }
    }
}
