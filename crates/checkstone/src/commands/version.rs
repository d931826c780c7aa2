//! `checkstone version`: what a bug report has to say about the program and the machine.

use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use changes::GitVersion;
use serde::Serialize;
use transcript::{Agent, visible};

use crate::doctor::client::Client;
use crate::environment;
use crate::error::CommandError;
use crate::home_relative::home_relative;
use crate::interruption::Interruption;
use crate::printer::{Printer, STRONG};

/// git and the system answer in milliseconds, unless something is badly wrong.
const LIMIT: Duration = Duration::from_secs(5);

/// Show versions, features, git, the system and the agents found: what a bug report needs
///
/// Paths in your home begin with `~`. Nothing of your settings, sessions or environment is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone version
  checkstone version --json")]
pub(crate) struct VersionArguments {
    /// Print JSON (schemas/version.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct VersionOutput {
    version: &'static str,
    /// The commit that it was built from, if a release was built from a checkout.
    commit: Option<&'static str>,
    /// What it was built for, as the compiler names it.
    target: &'static str,
    /// `true` for a build for development, which is slower.
    debug: bool,
    /// The parts that can be left out of a build, as far as this one has them.
    features: Vec<&'static str>,
    /// Where it is. As all paths here, with `~` for your home.
    program: Option<String>,
    /// `null` if there is no git on `PATH`.
    git: Option<ProgramVersion>,
    system: SystemVersion,
    /// Those whose program is on `PATH`.
    agents: Vec<AgentVersion>,
    paths: UsedPaths,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ProgramVersion {
    /// `null` if it did not say.
    version: Option<String>,
    program: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SystemVersion {
    /// Name and release of the kernel.
    kernel: Option<String>,
    /// The distribution, as `/etc/os-release` names it.
    distribution: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AgentVersion {
    agent: &'static str,
    #[serde(flatten)]
    installed: ProgramVersion,
    /// Why its version is unknown.
    problem: Option<String>,
}

/// The folders and files that are used here; they need not exist yet.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct UsedPaths {
    configuration: Option<String>,
    state: Option<String>,
}

pub(crate) fn run(arguments: &VersionArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let output = VersionOutput::gathered()?;
    printer.answer(arguments.json, &output, || output.text())
}

impl VersionOutput {
    fn gathered() -> Result<Self, CommandError> {
        let interruption = Interruption::listen()?;
        let commit = env!("CHECKSTONE_COMMIT");
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: Some(commit).filter(|commit| !commit.is_empty()),
            target: env!("CHECKSTONE_TARGET"),
            debug: cfg!(debug_assertions),
            features: features(),
            program: std::env::current_exe().ok().map(|path| home_relative(&path)),
            git: git(),
            system: SystemVersion { kernel: kernel(&interruption), distribution: distribution() },
            agents: agents(&interruption),
            paths: UsedPaths {
                configuration: environment::configuration_file().map(shortened),
                state: environment::state_directory().map(shortened),
            },
        })
    }

    fn text(&self) -> String {
        let unknown = || "unknown".to_owned();
        let built = self.commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
        let debug = if self.debug { ", a build for development" } else { "" };
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{STRONG}{name:<14}{STRONG:#}{value}");
        };
        line("checkstone", &format!("{}{built} for {}{debug}", self.version, self.target));
        line("program", &self.program.clone().unwrap_or_else(unknown));
        line(
            "features",
            &if self.features.is_empty() { "none".to_owned() } else { self.features.join(", ") },
        );
        line("git", &self.git.as_ref().map_or_else(|| "not on `PATH`".to_owned(), ProgramVersion::text));
        let system = [self.system.kernel.as_deref(), self.system.distribution.as_deref()];
        line("system", &system.into_iter().flatten().collect::<Vec<_>>().join(", "));
        for agent in &self.agents {
            let problem = agent.problem.as_ref().map(|why| format!(" (`--version` {why})"));
            line(agent.agent, &format!("{}{}", agent.installed.text(), problem.unwrap_or_default()));
        }
        if self.agents.is_empty() {
            line("agents", "none on `PATH`");
        }
        line("configuration", &self.paths.configuration.clone().unwrap_or_else(unknown));
        line("state", &self.paths.state.clone().unwrap_or_else(unknown));
        text
    }
}

impl ProgramVersion {
    fn text(&self) -> String {
        format!("{}, {}", self.version.as_deref().unwrap_or("unknown version"), self.program)
    }
}

fn shortened(path: PathBuf) -> String {
    home_relative(&path)
}

/// What this build has of what can be left out.
fn features() -> Vec<&'static str> {
    let all = [
        ("mcp", cfg!(feature = "mcp")),
        ("postgres", cfg!(feature = "postgres")),
        ("python", cfg!(feature = "python")),
        ("s3", cfg!(feature = "s3")),
        ("serve", cfg!(feature = "serve")),
        ("tls", cfg!(feature = "tls")),
        ("tokenizer", cfg!(feature = "tokenizer")),
    ];
    all.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

fn git() -> Option<ProgramVersion> {
    let git = environment::git().within(LIMIT);
    let program = home_relative(git.path()?);
    Some(ProgramVersion { version: GitVersion::ask_in_full(&git).ok().map(|text| visible(&text)), program })
}

/// `Linux 6.12.30`, `Darwin 24.5.0`
fn kernel(interruption: &Interruption) -> Option<String> {
    let uname = environment::program("uname")?;
    let ended = interruption.run(Command::new(uname).arg("-sr"), b"", LIMIT).ok()?;
    let said = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
    (ended.status.success() && !said.is_empty()).then(|| visible(&said))
}

fn distribution() -> Option<String> {
    let text = fs_err::read_to_string(Path::new("/etc/os-release")).ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(visible(name.trim_matches(['"', '\''])))
}

/// All are asked at the same time; the slowest takes more than a second.
fn agents(interruption: &Interruption) -> Vec<AgentVersion> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = Agent::ALL
            .into_iter()
            .map(|agent| scope.spawn(move || of_agent(&Client::find(agent), interruption)))
            .collect();
        let answers =
            asked.into_iter().map(|agent| agent.join().unwrap_or_else(|panic| resume_unwind(panic)));
        answers.flatten().collect()
    })
}

fn of_agent(client: &Client, interruption: &Interruption) -> Option<AgentVersion> {
    let program = home_relative(client.program.as_ref()?);
    let (version, problem) = match client.version(interruption)? {
        Ok(version) => (Some(version), None),
        Err(why) => (None, Some(why.to_string())),
    };
    let installed = ProgramVersion { version, program };
    Some(AgentVersion { agent: client.agent.name(), installed, problem })
}
