//! A repository, a home and a state directory of its own for the commands that people use around the hooks.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::program;

/// The Claude Code session that the hooks of a workplace belong to.
pub(crate) const SESSION: &str = "9f3c2f1e-1111-4222-8333-444455556666";

/// A git repository `repo` with one commit, beside its own `home` and `state`.
pub(crate) struct Workplace {
    folder: tempfile::TempDir,
}

impl Workplace {
    /// A repository with a Rust file, and the policy, where one is given.
    pub(crate) fn new(policy: Option<&str>) -> Self {
        let workplace = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "repo"] {
            std::fs::create_dir(workplace.path(folder)).unwrap();
        }
        workplace.git(&["init", "--quiet", "--initial-branch=main"]);
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
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let output = self.prepared(Command::new("git")).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
    }

    /// The commit that HEAD is at.
    pub(crate) fn head(&self) -> String {
        let output = self.prepared(Command::new("git")).args(["rev-parse", "HEAD"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
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
        command.env("COLUMNS", "90").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.checkstone(arguments).output().unwrap()
    }

    /// What the program prints for this input.
    pub(crate) fn with_input(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = self.checkstone(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code, stdout and stderr, with the folder's name replaced.
    pub(crate) fn shown(&self, arguments: &[&str]) -> String {
        self.without_paths(&program::shown(&self.run(arguments)))
    }

    pub(crate) fn without_paths(&self, text: &str) -> String {
        text.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "[folder]")
    }

    /// What a command prints with `--json`, checked against its schema.
    pub(crate) fn json(&self, arguments: &[&str], schema: &str) -> Value {
        let output = self.run(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        self.valid(&output.stdout, schema)
    }

    /// JSON that was printed, checked against its schema.
    pub(crate) fn valid(&self, stdout: &[u8], schema: &str) -> Value {
        assert!(stdout.ends_with(b"\n"));
        let value: Value = serde_json::from_slice(stdout).unwrap();
        let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(schema);
        let schema: Value = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let problems: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?} in {value:#}");
        value
    }

    /// Calls the hook of Claude Code as the client does, and returns what it answered.
    pub(crate) fn hook(&self, event: &str, more: Value) -> Value {
        self.hook_with_path(&std::env::var("PATH").unwrap(), event, more)
    }

    /// The same, where programs are looked for elsewhere.
    pub(crate) fn hook_with_path(&self, path: &str, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": SESSION,
            "transcript_path": self.transcript(),
            "cwd": self.repo(),
            "prompt_id": "prompt-1",
            "hook_event_name": event,
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let input = payload.to_string().into_bytes();
        let mut child = self
            .checkstone(&["hook", "claude"])
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
        match output.stdout.as_slice() {
            b"" => Value::Null,
            bytes => serde_json::from_slice(bytes).unwrap(),
        }
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.path("transcript.jsonl")
    }

    /// Writes a transcript whose turn ran `commands`, each with whether it went well.
    pub(crate) fn turn(&self, commands: &[(&str, bool)]) {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
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

    pub(crate) fn prepared(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("CHECKSTONE_STATE_DIR", self.path("state"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .current_dir(self.repo());
        command
    }

    /// The document after its scripts ran; `None` where the machine has no browser.
    pub(crate) fn shown_by_browser(&self, page: &Path) -> Option<String> {
        let is_there = |name: &&str| {
            let looked =
                Command::new("sh").args(["-c", "command -v \"$0\"", name]).stdout(Stdio::null()).status();
            looked.is_ok_and(|status| status.success())
        };
        let browser = ["chromium-headless-shell", "chromium"].into_iter().find(is_there)?;
        let output = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
            .arg(format!("--user-data-dir={}", self.path("browser").display()))
            .arg(format!("file://{}", page.display()))
            .env("HOME", self.path("home"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    }
}
