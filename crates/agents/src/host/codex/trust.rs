//! What Codex says of our hooks: its own app server is asked which hooks it knows and which of them it trusts.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use transcript::Agent;

use crate::known_hook::{KnownHook, TrustAnswer, TrustQuestion, TrustUnknown};
use crate::registration::OwnCall;

pub(super) const QUESTION: TrustQuestion = TrustQuestion {
    files: &["hooks.json", "config.toml"],
    folders: &["plugins"],
    moved,
    arguments,
    service: "codex app-server",
    input,
    answer,
    if_unknown: "look at `features.hooks` in Codex's `config.toml`, and whether Codex trusts this folder",
    if_untrusted: "start `codex` and press 2 (“Trust all and continue”), or trust it in `/hooks`",
    if_silent: "start `codex` and look at `/hooks`",
};

/// The number of our question among those that the app server answers.
const NUMBER: u64 = 2;

/// Its plugins make it look for newer ones in the network; only where ours is among them are they needed.
fn arguments(home: &Path) -> Vec<&'static str> {
    let has_our_plugin = fs_err::read_to_string(home.join("config.toml"))
        .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("[plugins.\"checkstone@")));
    let plugins = if has_our_plugin { &[][..] } else { &["--disable", "plugins"] };
    plugins.iter().copied().chain(["--disable", "apps", "app-server"]).collect()
}

/// The keys of its record of trust begin with the file that the hook stands in: `[hooks.state."/home/a/.codex/hooks.json:stop:0:0"]`.
fn moved(text: &str, from: &Path, to: &Path) -> String {
    let quoted = |path: &Path| format!("\"{}/", path.display());
    let (from, to) = (quoted(from), quoted(to));
    text.split_inclusive('\n')
        .map(|line| match line.trim_start().starts_with("[hooks.state.") {
            true => line.replace(&from, &to),
            false => line.to_owned(),
        })
        .collect()
}

fn input(folder: &Path, version: &str) -> String {
    let about = json!({"name": "checkstone", "title": "checkstone doctor", "version": version});
    let messages = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": about}}),
        json!({"method": "initialized"}),
        json!({"id": NUMBER, "method": "hooks/list", "params": {"cwds": [folder.to_string_lossy()]}}),
    ];
    messages.iter().map(|message| format!("{message}\n")).collect()
}

fn answer(line: &[u8]) -> Option<TrustAnswer> {
    let message: Value = serde_json::from_slice(line).ok()?;
    if message.get("id").and_then(Value::as_u64) != Some(NUMBER) {
        return None;
    }
    // Codex before 0.14x has hooks but not this question.
    Some(message.get("result").map(read).ok_or(TrustUnknown("Codex")))
}

fn read(result: &Value) -> Vec<KnownHook> {
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |hook: &Value, name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut hooks = Vec::new();
    for folder in list(result, "data") {
        for hook in list(&folder, "hooks") {
            let command = text(&hook, "command");
            if OwnCall::of_handler(Agent::Codex, &json!({"command": command})).is_some() {
                let (source, trust) = (text(&hook, "source"), text(&hook, "trustStatus"));
                hooks.push(KnownHook {
                    event: capitalised(&text(&hook, "eventName")),
                    command,
                    file: PathBuf::from(text(&hook, "sourcePath")),
                    is_of_project: source == "project",
                    is_of_package: source == "plugin",
                    is_enabled: hook.get("enabled").and_then(Value::as_bool).unwrap_or(true),
                    is_trusted: matches!(trust.as_str(), "trusted" | "managed"),
                    is_modified: trust == "modified",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_record_of_trust_is_about_a_copy() {
        let text = "notify = [\"/home/a/.codex/tell\"]\n\n[hooks.state.\"/home/a/.codex/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n\
                    [hooks.state.\"/repository/.codex/hooks.json:stop:0:0\"]\n";
        assert_eq!(
            moved(text, Path::new("/home/a/.codex"), Path::new("/tmp/copy")),
            "notify = [\"/home/a/.codex/tell\"]\n\n[hooks.state.\"/tmp/copy/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n\
             [hooks.state.\"/repository/.codex/hooks.json:stop:0:0\"]\n"
        );
    }
}
