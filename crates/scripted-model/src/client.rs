//! The real clients, headless or at a person's screen, with a scripted model: settings in a home of their own, telemetry and updates off,
//! nothing of the caller's environment but `PATH`, and a hard limit on the time of every run.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use files::{BoundedChild, Bounds, ChildError};
use serde_json::{Value, json};

use crate::screen::Screen;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Claude,
    Gemini,
    /// With a model that works in “code mode”, as the newer ones do (0.166 and later).
    Codex,
    /// With a model that calls each tool by its name.
    CodexPlainTools,
}

/// A model of Codex CLI 0.166 that works in code mode, and one of every version that does not.
const CODE_MODE_MODEL: &str = "gpt-6.1-sol";
const PLAIN_TOOLS_MODEL: &str = "gpt-5.5";

/// A client with a home of its own.
#[derive(Clone, Debug)]
pub struct Installed<'a> {
    pub client: Client,
    /// The client's program.
    pub program: &'a Path,
    /// `PATH` of the client and of what it runs.
    pub path: &'a OsStr,
    /// Holds the settings, the transcripts and what the client keeps beside them.
    pub home: &'a Path,
    /// The repository that it works in.
    pub folder: &'a Path,
    /// Of the scripted model.
    pub address: &'a str,
}

/// How a run went.
#[derive(Debug)]
pub struct Run {
    /// None where it was ended at the limit.
    pub status: Option<ExitStatus>,
    /// What the client printed, line by line, and when: a stream of JSON documents.
    pub lines: Vec<(Instant, String)>,
    pub stderr: String,
}

impl Run {
    /// When the client said that the turn was over, its hooks included.
    pub fn turn_ended(&self) -> Option<Instant> {
        let is_end = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            matches!(event.get("type").and_then(Value::as_str), Some("result" | "turn.completed"))
        };
        self.lines.iter().rev().find(|(_, line)| is_end(line)).map(|(at, _)| *at)
    }
}

impl Client {
    /// As `checkstone hook` is told.
    pub fn agent(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Codex | Self::CodexPlainTools => "codex",
        }
    }
}

impl Installed<'_> {
    /// Writes the settings that a headless run needs; what else is in them stays.
    pub fn settle(&self) -> io::Result<()> {
        for folder in [".claude", ".gemini", ".codex", "tmp"] {
            fs_err::create_dir_all(self.home.join(folder))?;
        }
        match self.client {
            Client::Claude => Ok(()),
            Client::Gemini => {
                let settings = self.home.join(".gemini/settings.json");
                if settings.exists() { Ok(()) } else { fs_err::write(settings, GEMINI_SETTINGS) }
            }
            Client::Codex => self.codex_settings(CODE_MODE_MODEL),
            Client::CodexPlainTools => self.codex_settings(PLAIN_TOOLS_MODEL),
        }
    }

    /// Writes what a person at the screen has answered before: sign-in, theme, whether the folder is trusted; for after
    /// [`Self::settle`].
    pub fn settle_screen(&self) -> io::Result<()> {
        match self.client {
            Client::Claude => {
                let folder = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
                let state = json!({
                    "hasCompletedOnboarding": true,
                    "theme": "dark",
                    "bypassPermissionsModeAccepted": true,
                    "customApiKeyResponses": {"approved": ["none"], "rejected": []},
                    "projects": {self.folder.to_string_lossy(): folder},
                });
                fs_err::write(self.home.join(".claude.json"), state.to_string())
            }
            Client::Gemini => Ok(()),
            Client::Codex | Client::CodexPlainTools => {
                let file = self.home.join(".codex/config.toml");
                let settings = fs_err::read_to_string(&file)?;
                let folder = json!(self.folder);
                // A daemon would outlive the screen.
                let settings = format!(
                    "{settings}daemon_auto_start = false\n\n[projects.{folder}]\ntrust_level = \"trusted\"\n"
                );
                fs_err::write(file, settings)
            }
        }
    }

    /// The client at a screen, which lets the agent do everything without asking.
    pub fn screen(&self) -> io::Result<Screen> {
        let mut command = Command::new(self.program);
        self.environment(&mut command);
        let shown = match self.client {
            Client::Claude => {
                command.args(["--permission-mode", "bypassPermissions"]);
                "bypass permissions on"
            }
            Client::Gemini => {
                command.args(["--approval-mode", "yolo"]);
                "Type your message"
            }
            Client::Codex | Client::CodexPlainTools => {
                command.arg("--dangerously-bypass-approvals-and-sandbox");
                command.arg("--dangerously-bypass-hook-trust");
                "? for shortcuts"
            }
        };
        Screen::start_until(&command, &self.home.join("tmp/screen"), shown)
    }

    /// One prompt, in a new session or in the latest one, until the client has ended by itself.
    pub fn prompt(&self, prompt: &str, goes_on: bool, limit: Duration) -> io::Result<Run> {
        let mut command = Command::new(self.program);
        match self.client {
            Client::Claude => {
                command.args(["-p", prompt, "--permission-mode", "bypassPermissions"]);
                command.args(["--output-format", "stream-json", "--verbose"]);
                command.args(goes_on.then_some("--continue"));
            }
            Client::Gemini => {
                command.args(["-p", prompt, "--approval-mode", "yolo", "--output-format", "stream-json"]);
                command.args(if goes_on { &["--resume", "latest"][..] } else { &[] });
            }
            Client::Codex | Client::CodexPlainTools => {
                command.args(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox"]);
                // Trust is a person's to give, in the client itself.
                command.arg("--dangerously-bypass-hook-trust");
                command.args(if goes_on { &["resume", "--last"][..] } else { &[] }).arg(prompt);
            }
        }
        self.run(command, limit)
    }

    /// The environment of the client, and of whatever is to see what it sees.
    pub fn environment(&self, command: &mut Command) {
        command.env_clear().current_dir(self.folder);
        command.env("PATH", self.path).env("HOME", self.home).env("TMPDIR", self.home.join("tmp"));
        command.env("SHELL", "/bin/sh").env("LANG", "C.UTF-8").env("TERM", "dumb");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
            command.env(format!("{name}_NAME"), "Ann").env(format!("{name}_EMAIL"), "ann@example.org");
        }
        match self.client {
            Client::Claude => {
                command.env("ANTHROPIC_BASE_URL", self.address).env("ANTHROPIC_API_KEY", "none");
                command.env("CLAUDE_CODE_TMPDIR", self.home.join("tmp"));
                for switch in CLAUDE_SWITCHES {
                    command.env(switch, "1");
                }
            }
            Client::Gemini => {
                command.env("GOOGLE_GEMINI_BASE_URL", self.address).env("GEMINI_API_KEY", "none");
                command.env("GEMINI_TELEMETRY_ENABLED", "false").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
                // One process, not two.
                command.env("GEMINI_CLI_NO_RELAUNCH", "true").env("NO_BROWSER", "1");
            }
            Client::Codex | Client::CodexPlainTools => {
                command.env("SCRIPTED_MODEL_KEY", "none");
            }
        }
    }

    fn run(&self, mut command: Command, limit: Duration) -> io::Result<Run> {
        self.environment(&mut command);
        let stderr = self.home.join("tmp/stderr");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(fs_err::File::create(&stderr)?.into_parts().0);
        let bounds = Bounds { stdout: LONGEST_LINE, ..Bounds::within(limit) };
        let mut child = BoundedChild::start(&mut command, bounds)?;
        let mut lines = Vec::new();
        let status = loop {
            match child.line() {
                Ok(Some(line)) => {
                    lines.push((Instant::now(), String::from_utf8_lossy(&line).trim_end().to_owned()));
                }
                Ok(None) => break child.finish().map(|ended| ended.status),
                Err(error) => break Err(error),
            }
        };
        let status = match status {
            Err(ChildError::TimedOut { .. }) => None,
            status => Some(status.map_err(io::Error::other)?),
        };
        let stderr = String::from_utf8_lossy(&fs_err::read(stderr)?).into_owned();
        Ok(Run { status, lines, stderr })
    }

    fn codex_settings(&self, model: &str) -> io::Result<()> {
        let settings = CODEX_SETTINGS.replace("{model}", model).replace("{address}", self.address);
        fs_err::write(self.home.join(".codex/config.toml"), settings)
    }
}

/// Events of a client are shorter.
const LONGEST_LINE: usize = 64 << 20;

const CLAUDE_SWITCHES: &[&str] = &[
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    // Root may not skip permissions anywhere else.
    "IS_SANDBOX",
];

const GEMINI_SETTINGS: &str = r#"{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "general": {"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false}
}
"#;

const CODEX_SETTINGS: &str = r#"model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_MODEL_KEY"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
enable_request_compression = false
"#;
