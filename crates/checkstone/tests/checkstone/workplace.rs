//! A repository, a home and a state directory of its own for the commands that people use around the hooks.

use std::path::{Path, PathBuf};
use std::process::Command;

use sandbox::{Answer, RunToEnd as _, Sandbox, now, redacted};
use serde_json::{Value, json};

use crate::program;

/// The Claude Code session that the hooks of a workplace belong to.
pub(crate) const SESSION: &str = "9f3c2f1e-1111-4222-8333-444455556666";

/// A git repository `repo` with one commit, beside its own `home` and `state`.
pub(crate) struct Workplace {
    sandbox: Sandbox,
}

impl Workplace {
    /// A Rust package, and the policy, where one is given.
    pub(crate) fn new(policy: Option<&str>) -> Self {
        let workplace = Self { sandbox: Sandbox::new() };
        std::fs::create_dir(workplace.repo()).unwrap();
        workplace.git(&["init", "--quiet", "--initial-branch=main"]);
        workplace.write("Cargo.toml", "[package]\nname = \"one\"\nversion = \"0.1.0\"\n");
        workplace.write("src/lib.rs", "pub fn one() -> u32 { 1 }\n");
        workplace.write("README.md", "A library\n");
        if let Some(policy) = policy {
            workplace.write("checkstone.toml", policy);
        }
        workplace.git(&["add", "--all"]);
        workplace.git(&["commit", "--quiet", "--message=first"]);
        workplace
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.sandbox.write(self.repo().join(path), text);
    }

    /// What git prints.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.repo(), arguments)
    }

    /// The commit that HEAD is at.
    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// As if every delivery so far lay an hour back.
    pub(crate) fn age_deliveries(&self) {
        let journal = self.path("state").join("journal.db");
        let connection = rusqlite::Connection::open(journal).unwrap();
        let changed = connection.execute("UPDATE deliveries SET at = at - 3600000", []).unwrap();
        assert!(changed > 0);
    }

    pub(crate) fn checkstone(&self, arguments: &[&str]) -> Command {
        let mut command = self.prepared(program::checkstone(arguments));
        command.env("COLUMNS", "90");
        command
    }

    /// As a user who may write only where the modes say so, which root may everywhere.
    #[cfg(target_os = "linux")]
    pub(crate) fn as_a_user(&self, arguments: &[&str]) -> Command {
        let is_root = rustix::process::geteuid().is_root();
        let mut command = self.prepared(Command::new(if is_root { "setpriv" } else { "env" }));
        if is_root {
            command.arg("--bounding-set=-dac_override,-dac_read_search");
        }
        command.arg(env!("CARGO_BIN_EXE_checkstone")).args(arguments).env("COLUMNS", "400");
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.checkstone(arguments).answer()
    }

    /// What the program prints for this input.
    #[track_caller]
    pub(crate) fn with_input(&self, arguments: &[&str], input: &[u8]) -> String {
        let answer = self.checkstone(arguments).answer_to(input);
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
        answer.stdout
    }

    /// Exit code, stdout and stderr, without what differs from run to run.
    #[track_caller]
    pub(crate) fn shown(&self, arguments: &[&str]) -> String {
        redacted(self.run(arguments).to_string())
    }

    /// What a command prints with `--json`, checked against its schema.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str], schema: &str) -> Value {
        let answer = self.run(arguments);
        assert_eq!(answer.stderr, "", "{arguments:?}");
        valid(&answer.stdout, schema)
    }

    /// Calls the hook of Claude Code as the client does, and returns what it answered.
    pub(crate) fn hook(&self, event: &str, more: Value) -> Value {
        self.hook_with_path(&std::env::var("PATH").unwrap(), event, more)
    }

    /// The same, where programs are looked for elsewhere.
    pub(crate) fn hook_with_path(&self, path: &str, event: &str, more: Value) -> Value {
        self.called(self.checkstone(&["hook", "claude"]).env("PATH", path), event, more)
    }

    /// Calls a hook with what every payload of Claude Code has, and more.
    #[track_caller]
    pub(crate) fn called(&self, hook: &mut Command, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": SESSION,
            "transcript_path": self.transcript(),
            "cwd": self.repo(),
            "prompt_id": "prompt-1",
            "hook_event_name": event,
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = hook.answer_to(payload.to_string());
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
        if answer.stdout.is_empty() { Value::Null } else { serde_json::from_str(&answer.stdout).unwrap() }
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.path("transcript.jsonl")
    }

    /// Writes a transcript whose turn ran `commands`, each with whether it went well, at the moment when the source was
    /// written: each of them may have seen it as it is, and each may have written it.
    pub(crate) fn turn(&self, commands: &[(&str, bool)]) {
        let written = std::fs::metadata(self.repo().join("src/lib.rs")).and_then(|file| file.modified());
        let at = jiff::Timestamp::try_from(written.unwrap_or_else(|_| now())).unwrap();
        let mut lines = vec![json!({
            "type": "user", "promptId": "prompt-1", "uuid": "u0", "parentUuid": null, "isSidechain": false,
            "message": {"role": "user", "content": "Fix it"}, "timestamp": at.to_string(),
            "sessionId": SESSION, "cwd": self.repo(), "version": "2.1.325",
        })];
        for (number, (command, well)) in commands.iter().enumerate() {
            let id = format!("toolu_{number}");
            lines.push(json!({
                "type": "assistant", "uuid": format!("a{number}"), "parentUuid": format!("u{number}"),
                "isSidechain": false, "timestamp": at.to_string(), "sessionId": SESSION,
                "message": {"id": format!("m{number}"), "role": "assistant", "type": "message", "content": [
                    {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]},
            }));
            lines.push(json!({
                "type": "user", "uuid": format!("u{}", number + 1), "parentUuid": format!("a{number}"),
                "isSidechain": false, "timestamp": at.to_string(), "sessionId": SESSION,
                "message": {"role": "user", "content": [{
                    "type": "tool_result", "tool_use_id": id, "is_error": !well,
                    "content": if *well { "fine" } else { "Exit code 1\nit failed" }}]},
            }));
        }
        lines.push(json!({
            "type": "assistant", "uuid": "last", "parentUuid": "u9", "isSidechain": false,
            "timestamp": at.to_string(), "sessionId": SESSION,
            // What changed was changed by a tool that does not say what it writes.
            "message": {"id": "last", "role": "assistant", "type": "message", "content": [
                {"type": "tool_use", "id": "toolu_last", "name": "mcp__editor__save", "input": {}},
                {"type": "text", "text": "Done."}]},
        }));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.transcript(), text).unwrap();
    }

    /// A whole turn through the hooks: the prompt, a change, `commands`, the stop. What the stop answered.
    pub(crate) fn held_turn(&self, commands: &[(&str, bool)]) -> Value {
        self.turn(&[]);
        self.hook("UserPromptSubmit", json!({"prompt": "Fix it"}));
        self.write("src/lib.rs", "pub fn one() -> u32 { 2 - 1 }\n");
        // A program of the repository's own may write anywhere: what changed is this turn's.
        self.turn(&[commands, &[("./generate", true)]].concat());
        self.hook("Stop", json!({"stop_hook_active": false, "last_assistant_message": "Done."}))
    }

    pub(crate) fn prepared(&self, command: Command) -> Command {
        let mut command = self.sandbox.prepared(command);
        command.current_dir(self.repo());
        command
    }
}

/// JSON that was printed, checked against its schema.
#[track_caller]
pub(crate) fn valid(printed: &str, schema: &str) -> Value {
    assert!(printed.ends_with('\n'));
    let value: Value = serde_json::from_str(printed).unwrap();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(schema);
    let schema: Value = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?} in {value:#}");
    value
}
