//! A workplace whose agent fills its context, a remote beside it, and the questions that are asked afterwards.

use std::path::PathBuf;
use std::process::Command;

use sandbox::{RunToEnd as _, now, wait_for_some};
use serde_json::{Value, json};

use crate::workplace::{SESSION, Workplace, valid};

/// With the stop waiting for its save, so that the answer is always the same.
pub(crate) const AUTONOMOUS: &str = "[autosave]\nwait = \"60s\"\nmode = \"autonomous\"\n";

/// The same for those who use the switches of the environment.
pub(crate) const PATIENT: &str = "[autosave]\nwait = \"60s\"\n";

pub(crate) struct World {
    pub(crate) workplace: Workplace,
    /// For every process: the switches.
    pub(crate) variables: Vec<(String, String)>,
}

impl World {
    /// A repository without a policy, and the user's own configuration.
    pub(crate) fn new(configuration: &str) -> Self {
        Self::with_policy(None, configuration)
    }

    pub(crate) fn with_policy(policy: Option<&str>, configuration: &str) -> Self {
        let world = Self { workplace: Workplace::new(policy), variables: Vec::new() };
        world.configure(configuration);
        world
    }

    pub(crate) fn configure(&self, text: &str) {
        self.workplace.write("../home/.config/checkstone/config.toml", text);
    }

    /// A bare repository as `origin`, which has what was committed so far.
    pub(crate) fn with_origin(self) -> Self {
        let origin = self.origin();
        self.workplace.git(&["init", "--quiet", "--bare", "--initial-branch=main", origin.to_str().unwrap()]);
        self.workplace.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
        self.workplace.git(&["push", "--quiet", "origin", "main"]);
        self
    }

    pub(crate) fn origin(&self) -> PathBuf {
        self.workplace.path("origin.git")
    }

    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.workplace.write(path, text);
    }

    /// A file of the repository.
    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.workplace.repo().join(path)).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.workplace.repo().join(path).symlink_metadata().is_ok()
    }

    /// Whether a save has left anything.
    pub(crate) fn has_notes(&self) -> bool {
        self.has("CLAUDE.md") || self.has(".checkstone")
    }

    /// The notes of all saves, oldest first.
    pub(crate) fn notes_files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.workplace.repo().join(".checkstone/notes")).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// The notes of the newest save.
    pub(crate) fn notes(&self) -> String {
        self.notes_files().pop().unwrap()
    }

    /// What git says.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.workplace.git(arguments).trim_end().to_owned()
    }

    pub(crate) fn commits(&self) -> usize {
        self.git(&["rev-list", "--count", "HEAD"]).parse().unwrap()
    }

    /// An agent's turn that leaves the context so full, of a window of 200,000 tokens.
    pub(crate) fn turn(&self, prompt: &str, percent: u64) {
        self.turn_of("claude-opus-4-1", prompt, Some(percent * 2000), &[]);
    }

    /// A turn with these commands, each with whether it went well.
    pub(crate) fn turn_of(&self, model: &str, prompt: &str, tokens: Option<u64>, commands: &[(&str, bool)]) {
        let at = jiff::Timestamp::try_from(now()).unwrap().to_string();
        let common = |uuid: &str| {
            json!({"uuid": uuid, "isSidechain": false, "timestamp": at, "sessionId": SESSION,
                   "cwd": self.workplace.repo(), "version": "2.1.325"})
        };
        let line = |uuid: &str, more: Value| {
            let mut line = common(uuid);
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            format!("{line}\n")
        };
        let mut text = line(
            "u",
            json!({"type": "user", "promptId": "prompt-1", "promptSource": "typed",
                   "message": {"role": "user", "content": prompt}}),
        );
        for (number, (command, well)) in commands.iter().enumerate() {
            let id = format!("toolu_{number}");
            text += &line(
                &format!("a{number}"),
                json!({"type": "assistant", "message": {"id": format!("m{number}"), "role": "assistant",
                       "type": "message", "model": model, "content": [
                           {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}}),
            );
            let said = if *well { "test result: ok. 3 passed; 0 failed" } else { "Exit code 3\nit failed" };
            text += &line(
                &format!("r{number}"),
                json!({"type": "user", "message": {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": id, "is_error": !well, "content": said}]}}),
            );
        }
        let mut last = json!({"id": "last", "role": "assistant", "type": "message", "model": model,
                              // What changed was changed by a tool that does not say what it writes.
                              "content": [
                                  {"type": "tool_use", "id": "toolu_last", "name": "mcp__editor__save", "input": {}},
                                  {"type": "text", "text": "Done."}]});
        if let Some(tokens) = tokens {
            last["usage"] = json!({"input_tokens": 0, "cache_creation_input_tokens": 0,
                                   "cache_read_input_tokens": tokens, "output_tokens": 0});
        }
        text += &line("last", json!({"type": "assistant", "message": last}));
        std::fs::write(self.workplace.transcript(), text).unwrap();
    }

    /// Calls the hook as the client does, and returns what it answered.
    pub(crate) fn hook(&self, agent: &str, event: &str, more: Value) -> Value {
        self.workplace.called(&mut self.checkstone(&["hook", agent]), event, more)
    }

    pub(crate) fn checkstone(&self, arguments: &[&str]) -> Command {
        let mut command = self.workplace.checkstone(arguments);
        command.envs(self.variables.iter().cloned());
        command
    }

    pub(crate) fn prompt(&self, prompt: &str) -> Value {
        self.hook("claude", "UserPromptSubmit", json!({"prompt": prompt}))
    }

    pub(crate) fn stop(&self) -> Value {
        let more = json!({"stop_hook_active": false, "last_assistant_message": "Done.",
                          "background_tasks": []});
        self.hook("claude", "Stop", more)
    }

    /// A whole turn: the prompt, a changed file, a context that is so full, the stop. What the stop answered.
    pub(crate) fn work_until(&self, percent: u64) -> Value {
        self.prompt("Fix the counting");
        self.write("src/lib.rs", &format!("pub fn one() -> u32 {{ {percent} }}\n"));
        self.turn("Fix the counting", percent);
        self.stop()
    }

    /// The same in a turn of its own.
    pub(crate) fn turn_number(&self, number: u64, percent: u64) -> Value {
        let key = format!("prompt-{number}");
        self.hook("claude", "UserPromptSubmit", json!({"prompt_id": key, "prompt": "Go on"}));
        self.write("src/lib.rs", &format!("pub fn one() -> u32 {{ {number} + 10 }}\n"));
        self.turn("Go on", percent);
        let transcript = std::fs::read_to_string(self.workplace.transcript()).unwrap();
        std::fs::write(self.workplace.transcript(), transcript.replace("prompt-1", &key)).unwrap();
        let more = json!({"prompt_id": key, "stop_hook_active": false, "last_assistant_message": "Done."});
        self.hook("claude", "Stop", more)
    }

    /// The autosaves, newest first: outcome, push, commit.
    pub(crate) fn saves(&self) -> Vec<(String, String, Option<String>)> {
        let journal = self.workplace.path("state/journal.db");
        if !journal.exists() {
            return Vec::new();
        }
        let connection = rusqlite::Connection::open(journal).unwrap();
        let mut statement =
            connection.prepare("SELECT outcome, push, commit_id FROM autosaves ORDER BY id DESC").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// The newest save, once there are so many.
    pub(crate) fn save_ended(&self, number: usize) -> (String, String, Option<String>) {
        wait_for_some("the save to end", || {
            let mut saves = self.saves();
            (saves.len() >= number).then(|| saves.remove(0))
        })
    }

    /// How the last push ended, once it has.
    pub(crate) fn push_ended(&self) -> (String, String) {
        let journal = self.workplace.path("state/journal.db");
        wait_for_some("the push to end", || {
            let connection = rusqlite::Connection::open(&journal).unwrap();
            connection
                .query_row(
                    "SELECT push, push_detail FROM autosaves WHERE push <> 'started' ORDER BY id DESC LIMIT 1",
                    [],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .ok()
        })
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.workplace.path("state/log")).unwrap_or_default()
    }

    pub(crate) fn status(&self) -> Value {
        let answer = self.checkstone(&["status", "--json"]).answer();
        assert_eq!(answer.stderr, "");
        valid(&answer.stdout, "status.schema.json")
    }

    pub(crate) fn flag(&self) -> PathBuf {
        let flag = self.workplace.path("home/.claude/autonomous-mode.active");
        std::fs::create_dir_all(flag.parent().unwrap()).unwrap();
        std::fs::write(&flag, "").unwrap();
        flag
    }
}

/// What the person is told.
pub(crate) fn to_person(answer: &Value) -> &str {
    answer["systemMessage"].as_str().unwrap_or_default()
}

/// What the agent is told.
pub(crate) fn to_agent(answer: &Value) -> &str {
    answer["reason"].as_str().unwrap_or_default()
}
