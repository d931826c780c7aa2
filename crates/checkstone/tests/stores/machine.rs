//! A machine of a team: a clone of a repository, an agent that works in it, and a configuration that names the team's database.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gate::Decision;
use jiff::{SignedDuration, Timestamp};
use journal::{Inputs, Journal, NewTurn, NewVerdict, OpenFor, SeenSession, Writing};
use rustix::process::{Pid, Signal, kill_process};
use sandbox::{Answer, RunToEnd as _, Sandbox, finish};
use serde_json::json;

use crate::servers::connection;

/// A machine of its own with a clone of a repository, and a configuration that names the team.
pub(crate) struct Machine {
    sandbox: Sandbox,
}

impl Machine {
    /// `team` is the rest of the table.
    pub(crate) fn new(address: &str, team: &str) -> Self {
        let machine = Self::without_team();
        machine.configure(address, team);
        machine
    }

    /// It tells nobody anything.
    pub(crate) fn without_team() -> Self {
        let machine = Self { sandbox: Sandbox::new() };
        let repo = machine.repo();
        std::fs::create_dir(&repo).unwrap();
        machine.git(&["init", "--quiet", "--initial-branch=feature/secret-plan"]);
        machine.git(&["remote", "add", "origin", "git@forge.example:acme/rocket.git"]);
        machine.sandbox.write(repo.join("Cargo.toml"), "[package]\nname = \"one\"\nversion = \"0.1.0\"\n");
        machine.sandbox.write(repo.join("src/lib.rs"), "pub fn one() -> u32 { 1 }\n");
        machine.sandbox.write(repo.join("checkstone.toml"), "presets = [\"rust\"]\n");
        machine.git(&["add", "--all"]);
        machine.git(&["commit", "--quiet", "--message=first"]);
        machine
    }

    pub(crate) fn configure(&self, address: &str, team: &str) {
        let text = format!("[team]\ndatabase = \"{address}\"\n{team}\n");
        self.sandbox.write(self.sandbox.home().join(".config/checkstone/config.toml"), text);
    }

    /// All of it lies below.
    pub(crate) fn root(&self) -> &Path {
        self.sandbox.root()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.sandbox.path("repo")
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        self.sandbox.git(&self.repo(), arguments);
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_checkstone"));
        command.args(arguments);
        let mut command = self.sandbox.prepared(command);
        command.current_dir(self.repo());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).answer()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.sandbox.path("state")
    }

    /// An event of Claude Code.
    pub(crate) fn hook(&self, event: &str, more: serde_json::Value) -> Answer {
        let mut payload = json!({"session_id": "s1", "cwd": self.repo(), "hook_event_name": event,
            "transcript_path": self.sandbox.path("transcript.jsonl")});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut child = self
            .command(&["hook", "claude"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        finish(child)
    }

    /// A turn that changes a file and ends; its two events.
    pub(crate) fn turn(&self, prompt: &str) {
        self.begin(prompt, "src/lib.rs");
        self.stop(prompt);
    }

    /// The agent is asked, and changes this file.
    pub(crate) fn begin(&self, prompt: &str, file: &str) {
        self.hook("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": prompt}));
        let path = self.repo().join(file);
        self.sandbox.write(&path, format!("pub fn one() -> u32 {{ {} }}\n", prompt.len()));
        let asked = self.line(prompt, "user", "u0", json!({"role": "user", "content": prompt}));
        self.sandbox.write("transcript.jsonl", asked);
        self.call(prompt, "Write", json!({"file_path": path, "content": ""}), "File created successfully");
    }

    /// The agent runs the tests, and they pass.
    pub(crate) fn test(&self, prompt: &str) {
        let passed = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        self.call(prompt, "Bash", json!({"command": "cargo test"}), passed);
    }

    pub(crate) fn stop(&self, prompt: &str) {
        self.hook("Stop", json!({"stop_hook_active": false, "prompt_id": prompt}));
    }

    /// Writes a call and its result into the transcript.
    fn call(&self, prompt: &str, tool: &str, input: serde_json::Value, result: &str) {
        let call = json!([{"type": "tool_use", "id": tool, "name": tool, "input": input}]);
        let done = json!([{"type": "tool_result", "tool_use_id": tool, "content": result}]);
        let call =
            json!({"id": format!("of {tool}"), "role": "assistant", "type": "message", "content": call});
        let lines = [
            self.line(prompt, "assistant", &format!("call of {tool}"), call),
            self.line(prompt, "user", &format!("result of {tool}"), json!({"role": "user", "content": done})),
        ];
        let known = fs_err::read_to_string(self.sandbox.path("transcript.jsonl")).unwrap();
        self.sandbox.write("transcript.jsonl", known + &lines.concat());
    }

    /// A line of the transcript.
    fn line(&self, prompt: &str, kind: &str, id: &str, message: serde_json::Value) -> String {
        let line = json!({"type": kind, "uuid": id, "parentUuid": null, "isSidechain": false, "sessionId": "s1",
            "cwd": self.repo(), "version": "2.1.325", "promptId": prompt, "timestamp": Timestamp::now().to_string(),
            "message": message});
        format!("{line}\n")
    }

    /// Records turns of other sessions past all hooks, each with a verdict.
    pub(crate) fn record(&self, turns: usize) {
        let mut journal = Journal::open(&self.state(), OpenFor::Hook).unwrap();
        let now = Timestamp::now();
        let record_one = |writing: &Writing<'_>, turn: usize| {
            let client_id = format!("session {}", turn % 7);
            let seen = SeenSession {
                agent: "claude",
                client_id: &client_id,
                directory: None,
                repository: None,
                transcript: None,
            };
            let session = writing.see_session(&seen, now)?.id;
            let opened_at = now - SignedDuration::from_millis(i64::try_from(turn).unwrap());
            let new = NewTurn { session, key: None, opened_at, prompt: "", baseline: None };
            writing.record_verdict(&NewVerdict {
                turn: writing.open_turn(&new)?.id,
                repository: None,
                at: opened_at,
                decision: Decision::Pass,
                scope: None,
                message: "",
                timings: "git 1.00 = 7.40 ms",
                inputs: Inputs { version: 1, bytes: b"" },
            })
        };
        journal.write(|writing| (0..turns).try_for_each(|turn| record_one(writing, turn).map(drop))).unwrap();
    }
}

/// The sender would stay for a minute, and hold on to what it inherited.
impl Drop for Machine {
    fn drop(&mut self) {
        let own = format!("CHECKSTONE_STATE_DIR={}\0", self.state().display());
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if String::from_utf8_lossy(&environment).contains(&own)
                && let Some(pid) = Pid::from_raw(pid)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// How many events a database has.
pub(crate) fn events(address: &str) -> i64 {
    let there = "select to_regclass('checkstone.team_events') is not null";
    let counted = "select count(*) from checkstone.team_events";
    connection(address)
        .run(|client| match client.query_one(there, &[])?.get(0) {
            true => Ok(client.query_one(counted, &[])?.get(0)),
            false => Ok(0),
        })
        .unwrap()
}
