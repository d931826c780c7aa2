//! What Codex says of our hooks: its own app server is asked which hooks it knows and which of them it trusts. Only
//! asked; the trust itself is the person's to give.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agents::OwnCall;
use files::BoundedChild;
use serde_json::{Value, json};
use transcript::Agent;

use super::client;
use crate::interruption::Interruption;

const LIMIT: Duration = Duration::from_secs(10);

/// The number of our question among those that the app server answers.
const QUESTION: u64 = 2;

/// One of our hooks as Codex knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CodexHook {
    /// The event as it is registered, `UserPromptSubmit` for example.
    pub(crate) event: String,
    pub(crate) command: String,
    /// The file that it is registered in.
    pub(crate) file: PathBuf,
    /// `user`, `project`, `plugin` or another word of Codex.
    pub(crate) source: String,
    pub(crate) enabled: bool,
    /// `trusted`, `untrusted`, `modified`, `managed`.
    pub(crate) trust: String,
}

impl CodexHook {
    pub(crate) fn runs(&self) -> bool {
        self.enabled && matches!(self.trust.as_str(), "trusted" | "managed")
    }
}

/// Whether any of the files that Codex reads names us; else there is no need to start it.
pub(crate) fn may_know_us(home: &Path, root: Option<&Path>) -> bool {
    let names_us = |file: PathBuf| {
        fs_err::read(file).is_ok_and(|bytes| bytes.windows(10).any(|window| window == b"checkstone"))
    };
    let folders = [Some(home.to_owned()), root.map(|root| root.join(".codex"))];
    folders
        .into_iter()
        .flatten()
        .any(|folder| ["hooks.json", "config.toml"].into_iter().any(|name| names_us(folder.join(name))))
}

/// Asks the app server; what went wrong, where it does not answer.
pub(crate) fn ask(
    program: &Path,
    home: &Path,
    folder: &Path,
    interruption: &Interruption,
) -> Result<Vec<CodexHook>, String> {
    let mut command = client::command(Agent::Codex, program);
    // Its plugins make it look for newer ones in the network; only where ours is among them are they needed.
    if !has_our_plugin(home) {
        command.args(["--disable", "plugins"]);
    }
    command.args(["--disable", "apps", "app-server"]).current_dir(folder);
    let about =
        json!({"name": "checkstone", "title": "checkstone doctor", "version": env!("CARGO_PKG_VERSION")});
    let messages = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": about}}),
        json!({"method": "initialized"}),
        json!({"id": QUESTION, "method": "hooks/list", "params": {"cwds": [folder.to_string_lossy()]}}),
    ];
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = BoundedChild::start(&mut command, interruption.bounds(LIMIT))
        .map_err(|error| format!("`codex app-server` cannot be started: {error}"))?;
    // It ends when its stdin does, so that stays open; all of this fits into the pipe.
    let _ = child.stdin().map(|stdin| stdin.write_all(input.as_bytes()));
    while let Ok(Some(line)) = child.line() {
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        if message.get("id").and_then(Value::as_u64) != Some(QUESTION) {
            continue;
        }
        // Codex before 0.14x has hooks but not this question.
        let Some(result) = message.get("result") else {
            return Err("this version of Codex does not tell which hooks it trusts".to_owned());
        };
        return Ok(read(result));
    }
    Err(format!("`codex app-server` did not answer within {} seconds", LIMIT.as_secs()))
}

fn read(result: &Value) -> Vec<CodexHook> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |hook: &Value, name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut hooks = Vec::new();
    for folder in list(result, "data") {
        for hook in list(&folder, "hooks") {
            let command = text(&hook, "command");
            if OwnCall::of_handler(Agent::Codex, &json!({"command": command})).is_some() {
                hooks.push(CodexHook {
                    event: capitalised(&text(&hook, "eventName")),
                    command,
                    file: PathBuf::from(text(&hook, "sourcePath")),
                    source: text(&hook, "source"),
                    enabled: hook.get("enabled").and_then(Value::as_bool).unwrap_or(true),
                    trust: text(&hook, "trustStatus"),
                });
            }
        }
    }
    hooks
}

/// The app server says `userPromptSubmit`.
fn capitalised(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn has_our_plugin(home: &Path) -> bool {
    fs_err::read_to_string(home.join("config.toml"))
        .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("[plugins.\"checkstone@")))
}
