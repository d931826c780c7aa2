//! The real clients, headless or at a person's screen, with a scripted model: settings in a home of their own, telemetry and updates off,
//! nothing of the caller's environment but `PATH`, and a hard limit on the time of every run.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use files::{BoundedChild, Bounds, ChildError};
use serde_json::Value;
use transcript::Agent;

use crate::screen::Screen;

/// How one client is installed, settled, started and told where its model is.
#[derive(Debug)]
pub struct ClientForm {
    /// The folder of its settings in the home.
    folder: &'static str,
    /// The newest version that is tested, and the one before it, which is still supported.
    pub versions: [&'static str; 2],
    /// Settings of a person's that change how a hold comes about, beside the usual ones.
    pub ways: &'static [ClientWay],
    /// How many milliseconds later a turn may be over because of us.
    pub added_milliseconds: u32,
    /// The tests that make no sense with each of them, by the beginnings of their names.
    pub skipped_tests: [&'static [&'static str]; 2],
    /// The packages of npm that it consists of, on this kind of machine and in this version.
    pub packages: fn(machine: &str, version: &str) -> Vec<String>,
    /// Where its program is then.
    pub program: fn(machine: &str) -> ClientProgram,
    /// Writes the settings that a headless run needs; what else is in them stays.
    settle: fn(&Installed<'_>) -> io::Result<()>,
    /// Writes what a person at the screen has answered before: sign-in, theme, whether the folder is trusted.
    settle_screen: fn(&Installed<'_>) -> io::Result<()>,
    /// What it is started with at a screen, and what it shows when it is ready.
    screen: (&'static [&'static str], &'static str),
    /// What it is started with for one prompt, in a new session or in the latest one.
    prompt: fn(prompt: &str, goes_on: bool) -> Vec<String>,
    environment: fn(&Installed<'_>, &mut Command),
    /// The kind of the event that it prints when a turn is over.
    turn_end: &'static str,
    /// What it calls the tools of our MCP server.
    pub mcp_tools: McpToolNames,
    /// How it calls its tools, where its model is asked for chat completions.
    pub(crate) chat: Option<ChatDialect>,
}

impl ClientForm {
    /// A client that cannot be run here, and what most of those have in common that can.
    pub(crate) const BASE: Self = Self {
        folder: "",
        versions: ["", ""],
        ways: &[],
        added_milliseconds: 60,
        skipped_tests: [&[], &[]],
        packages: |_, _| Vec::new(),
        program: |_| ClientProgram::At(String::new()),
        settle: |_| Ok(()),
        settle_screen: |_| Ok(()),
        screen: (&[], ""),
        prompt: |_, _| Vec::new(),
        environment: |_, _| (),
        turn_end: "result",
        mcp_tools: McpToolNames { prefix: "mcp__checkstone__", namespace: None },
        chat: None,
    };

    /// Whether it can be had, and so be tested with.
    pub fn is_run(&self) -> bool {
        let [current, _] = self.versions;
        !current.is_empty()
    }
}

/// What a model is offered the tools of our MCP server as.
#[derive(Debug)]
pub struct McpToolNames {
    /// Before the name of each.
    pub prefix: &'static str,
    /// Where names stand in one.
    pub namespace: Option<&'static str>,
}

/// A way to set a client.
#[derive(Debug)]
pub struct ClientWay {
    /// As a table has it.
    pub name: &'static str,
    /// Changes the settings that are there.
    pub settle: fn(&Installed<'_>) -> io::Result<()>,
}

/// Paths in the folder of an installation.
#[derive(Debug)]
pub enum ClientProgram {
    At(String),
    Script { node: String, script: String },
}

/// The tools of a client whose model is asked for chat completions.
#[derive(Debug)]
pub(crate) struct ChatDialect {
    /// Those that run, read, write and edit.
    pub(crate) tools: [&'static str; 4],
    /// What else the tool that runs a command must be given: an object of JSON.
    pub(crate) run: &'static str,
    /// What is called otherwise in the input of its tools than in most clients.
    pub(crate) inputs: &'static [(&'static str, &'static str)],
}

macro_rules! clients {
    ($($host:ident $name:ident,)*) => {
        $(mod $name;)*

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Client {
            $($host,)*
            /// With a model that calls each tool by its name, not in “code mode” (0.166 and later).
            CodexPlainTools,
        }

        impl Client {
            /// The client of this host as people get it.
            pub fn of(host: Agent) -> Self {
                match host {
                    $(Agent::$host => Self::$host,)*
                }
            }

            pub fn host(self) -> Agent {
                match self {
                    $(Self::$host => Agent::$host,)*
                    Self::CodexPlainTools => Agent::Codex,
                }
            }
        }

        /// How the client of this host is used.
        pub fn form(host: Agent) -> &'static ClientForm {
            match host {
                $(Agent::$host => &$name::CLIENT,)*
            }
        }
    };
}

transcript::each_host!(clients);

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
    /// The kind of the event with which the client says that a turn is over.
    turn_end: &'static str,
}

impl Run {
    /// When the client said that the turn was over, its hooks included.
    pub fn turn_ended(&self) -> Option<Instant> {
        let is_end = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            event.get("type").and_then(Value::as_str) == Some(self.turn_end)
        };
        self.lines.iter().rev().find(|(_, line)| is_end(line)).map(|(at, _)| *at)
    }
}

impl Client {
    /// As `checkstone hook` is told.
    pub fn agent(self) -> &'static str {
        self.host().name()
    }
}

impl Installed<'_> {
    fn form(&self) -> &'static ClientForm {
        form(self.client.host())
    }

    /// Writes the settings that a headless run needs; what else is in them stays.
    pub fn settle(&self) -> io::Result<()> {
        for folder in [self.form().folder, "tmp"] {
            fs_err::create_dir_all(self.home.join(folder))?;
        }
        (self.form().settle)(self)
    }

    /// Writes what a person at the screen has answered before; for after [`Self::settle`].
    pub fn settle_screen(&self) -> io::Result<()> {
        (self.form().settle_screen)(self)
    }

    /// What the client is started with at a screen, on which it lets the agent do everything without asking, and what it shows when it
    /// is ready.
    pub fn screen_words(&self) -> (&'static [&'static str], &'static str) {
        self.form().screen
    }

    /// The client at such a screen.
    pub fn screen(&self) -> io::Result<Screen> {
        let mut command = Command::new(self.program);
        self.environment(&mut command);
        let (arguments, shown) = self.screen_words();
        command.args(arguments);
        Screen::start_until(&command, &self.home.join("tmp/screen"), shown)
    }

    /// One prompt, in a new session or in the latest one, until the client has ended by itself.
    pub fn prompt(&self, prompt: &str, goes_on: bool, limit: Duration) -> io::Result<Run> {
        let mut command = Command::new(self.program);
        command.args((self.form().prompt)(prompt, goes_on));
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
        (self.form().environment)(self, command);
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
        Ok(Run { status, lines, stderr, turn_end: self.form().turn_end })
    }

    /// Writes settings where there are none.
    fn settle_with(&self, file: &str, settings: &str) -> io::Result<()> {
        let file = self.home.join(file);
        if file.exists() { Ok(()) } else { fs_err::write(file, settings) }
    }
}

/// Events of a client are shorter.
const LONGEST_LINE: usize = 64 << 20;
