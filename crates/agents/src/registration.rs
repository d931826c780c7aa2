//! What is registered in each client: the one source of the settings that `init` writes, of the packages, and of what
//! `doctor` expects to find.
//!
//! Seen in the real clients, and relied on here:
//! - Codex's trust covers the event, the matcher, the command line and the time limit. So none of them may ever
//!   change, and what a later version will want to hear of is registered from the beginning: compaction and the end
//!   of the session are only recorded today.
//! - Codex cuts the time limit at the end of a session to 3 seconds and warns where more is asked for. Versions that
//!   do not know an event ignore it (0.144.6 and `SessionEnd`).
//! - Claude Code runs `command` with `args` without a shell (2.1.197 and later).
//! - Gemini CLI takes it for a refusal that a program is missing: the agent is kept from stopping again and again.
//!   Hence `|| true` there; our own hook always succeeds. The other two let the agent stop.
//! - Gemini CLI's `PreCompress` comes before every request to the model, so it is left alone, and nothing is done at a
//!   sub-agent's stop or at an interruption.

mod codex_config;
mod json_text;
mod layout;
mod own_call;
pub mod settings;
pub mod status_line;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use transcript::Agent;

pub use codex_config::CodexConfig;
pub use own_call::OwnCall;

/// The time limit of every hook but those that the client limits itself. Far beyond our own limit, so that it never
/// has to change.
const SECONDS: u32 = 120;

/// The most that Codex grants at the end of a session.
const CODEX_SESSION_END_SECONDS: u32 = 3;

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

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Group {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<&'static str>,
    pub hooks: [Handler; 1],
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Handler {
    /// How Gemini CLI calls the hook in its messages and in `hooksConfig.disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The program where there are `args`, else a line for the shell.
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<[&'static str; 2]>,
    /// Seconds; milliseconds in Gemini CLI.
    pub timeout: u32,
}

impl Registration {
    pub fn new(agent: Agent, program: Program<'_>) -> Self {
        let entries = events(agent)
            .iter()
            .map(|event| Entry {
                event,
                group: Group {
                    matcher: (agent == Agent::Gemini).then_some("*"),
                    hooks: [handler(agent, program, event)],
                },
            })
            .collect();
        Self { agent, entries }
    }

    /// The whole file, where nothing but our hooks is in it: Codex's `hooks.json`, or `hooks/hooks.json` of a package.
    pub fn file(&self) -> String {
        // A map of strings and numbers can always be written.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}

impl Serialize for Registration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
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
    match agent {
        Agent::Claude | Agent::Codex => {
            &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"]
        }
        Agent::Gemini => &["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"],
    }
}

fn handler(agent: Agent, program: Program<'_>, event: &str) -> Handler {
    let program = match (agent, program) {
        (Agent::Claude, Program::At(path)) => path.to_owned(),
        (Agent::Gemini | Agent::Codex, Program::At(path)) => text::shell_word(path),
        (Agent::Claude, Program::InPackage) => "${CLAUDE_PLUGIN_ROOT}/bin/checkstone".to_owned(),
        (Agent::Gemini, Program::InPackage) => "\"${extensionPath}/bin/checkstone\"".to_owned(),
        // Codex gives its plugins the variable by Claude Code's name.
        (Agent::Codex, Program::InPackage) => "\"${CLAUDE_PLUGIN_ROOT}/bin/checkstone\"".to_owned(),
    };
    let (command, args) = match agent {
        Agent::Claude => (program, Some(["hook", "claude"])),
        Agent::Gemini => (format!("{program} hook gemini || true"), None),
        Agent::Codex => (format!("{program} hook codex"), None),
    };
    let timeout = match (agent, event) {
        (Agent::Codex, "SessionEnd") => CODEX_SESSION_END_SECONDS,
        (Agent::Gemini, _) => SECONDS * 1000,
        _ => SECONDS,
    };
    Handler {
        name: (agent == Agent::Gemini).then_some("checkstone"),
        kind: "command",
        command,
        args,
        timeout,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

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
