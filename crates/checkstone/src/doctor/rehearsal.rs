//! The proof that the hook fires: two turns in a scratch repository, told to the registered command line exactly as the
//! client would. The turn without tests must be held, the one with tests must pass.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use agents::rehearsed_turn::{FILE, RehearsedTurn, Tests};
use agents::{EventKind, HookShell, host};
use files::ChildError;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;
use text::OWN_PREFIX;
use text::fit;
use transcript::{Agent, visible};

use super::registered::{CommandLine, Hook, Registered};
use crate::environment;
use crate::interruption::Interruption;

/// A hook that needs longer would be felt at every stop.
const LIMIT: Duration = Duration::from_secs(10);

/// Silent where all is clear, so that a pass is an empty answer.
const POLICY: &str = "\
[gate]
all_clear = \"silent\"

[[category]]
name = \"Python code\"
include = [\"**/*.py\"]
require = [\"tests\"]

[action.tests]
say = \"Run the tests\"
evidence = [\"pytest\"]
";

/// What a message may take of a line.
const LONGEST_REASON: usize = 160;

/// Why the proof failed, for a person.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure(pub(crate) String);

/// A repository, a state directory and a configuration of their own, gone when this is dropped.
pub(crate) struct RehearsalFolder {
    folder: TempDir,
}

impl RehearsalFolder {
    pub(crate) fn new() -> Result<Self, Failure> {
        let made = || {
            let scratch = Self { folder: tempfile::Builder::new().prefix("checkstone-doctor-").tempdir()? };
            let git = scratch.repository().join(".git");
            // A repository is these files; git itself is first run by the hook, as in a client.
            fs_err::create_dir_all(git.join("objects"))?;
            fs_err::create_dir_all(git.join("refs"))?;
            fs_err::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
            fs_err::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
            fs_err::write(scratch.repository().join(stop::policy_files::FILE_NAME), POLICY)?;
            fs_err::create_dir_all(scratch.folder.path().join("config"))?;
            Ok(scratch)
        };
        made().map_err(|error: std::io::Error| {
            Failure(format!("no scratch repository could be created: {error}"))
        })
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Why the hook decided as it did, by its own log.
    fn logged(&self) -> Option<String> {
        let log = fs_err::read_to_string(self.state().join("log")).ok()?;
        let line = log.lines().next_back()?;
        let reason = line.split_once("pass: ").map_or(line, |(_, reason)| reason);
        Some(reason.split(" [").next().unwrap_or(reason).to_owned())
    }
}

/// Both turns through one registration; how long the stop took that was held.
pub(crate) fn rehearse(
    agent: Agent,
    registered: &Registered,
    interruption: &Interruption,
) -> Result<Duration, Failure> {
    let scratch = RehearsalFolder::new()?;
    let stop = registered
        .hook(registered_stop(agent))
        .ok_or_else(|| Failure(format!("nothing is registered for `{}`", registered_stop(agent))))?;
    let prompt = host(agent).event_name(EventKind::PromptSubmitted).and_then(|name| registered.hook(name));
    let repository = scratch.repository();
    let mut took = Duration::ZERO;
    for tests in played(agent) {
        let transcript = scratch.folder.path().join(format!("{}.jsonl", tests.session()));
        let turn = |now: Timestamp| RehearsedTurn {
            agent,
            tests,
            repository: &repository,
            transcript: &transcript,
            now: format!("{now:.3}"),
        };
        let before = turn(Timestamp::now());
        if let Some(prompt) = prompt {
            let payload = before.prompt_payload().unwrap_or_default();
            let said = send(agent, prompt, &payload, &scratch, interruption)?;
            expect_silence(&said).map_err(|what| Failure(format!("a prompt was answered with {what}")))?;
        }
        let write = |path: &Path, text: &str| {
            fs_err::write(path, text)
                .map_err(|error| Failure(format!("the rehearsal could not be written: {error}")))
        };
        write(&repository.join(FILE), &format!("# {}\nx = 1\n", tests.session()))?;
        let after = turn(Timestamp::now());
        write(&transcript, &after.transcript())?;
        let start = Instant::now();
        let payload = after.stop_payload().unwrap_or_default();
        let said = send(agent, stop, &payload, &scratch, interruption)?;
        match tests {
            Tests::NeverRan => {
                took = start.elapsed();
                expect_hold(agent, &said).map_err(|what| {
                    unexpected("a turn without tests was not held", &what, &said, &scratch)
                })?;
            }
            Tests::Passed => expect_silence(&said).map_err(|what| {
                unexpected("a turn with passing tests was not let through", &what, &said, &scratch)
            })?,
        }
    }
    Ok(took)
}

/// The turns that are played: tests that passed count only where the transcript shows how commands ended.
fn played(agent: Agent) -> Vec<Tests> {
    let tests = [Tests::NeverRan, Tests::Passed].into_iter();
    tests.filter(|tests| *tests == Tests::NeverRan || host(agent).can.shows_results).collect()
}

/// What the command wrote.
struct CommandOutput {
    stdout: String,
    stderr: String,
}

/// The event that a stop is registered as.
pub(crate) fn registered_stop(agent: Agent) -> &'static str {
    host(agent).event_name(EventKind::Stop).unwrap_or_default()
}

fn send(
    agent: Agent,
    hook: &Hook,
    payload: &Value,
    scratch: &RehearsalFolder,
    interruption: &Interruption,
) -> Result<CommandOutput, Failure> {
    let mut command = as_the_client_runs_it(agent, &hook.line);
    command
        .envs(hook.variables.iter().map(|(name, value)| (name, value)))
        .env(environment::STATE_DIRECTORY, scratch.state())
        // The person's own rules are not what is tried here.
        .env(environment::XDG_CONFIG_HOME, scratch.folder.path().join("config"))
        .env_remove(environment::SWITCH)
        .env_remove(environment::SLUG)
        .current_dir(scratch.repository());
    let payload = format!("{payload}\n");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match interruption.run(&mut command, payload.as_bytes(), LIMIT) {
        Ok(ended) if ended.status.success() => {
            Ok(CommandOutput { stdout: text(&ended.stdout), stderr: text(&ended.stderr) })
        }
        Ok(ended) => {
            let how = match ended.status.code() {
                None => "was killed".to_owned(),
                Some(code) => format!("ended with exit code {code}"),
            };
            Err(Failure(format!("`{}` {how}{}", hook.line, quoted(&text(&ended.stderr)))))
        }
        Err(ChildError::Start(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure(format!("there is no program `{}`", hook.line.program())))
        }
        Err(ChildError::TimedOut { .. }) => {
            Err(Failure(format!("`{}` did not answer within {} seconds", hook.line, LIMIT.as_secs())))
        }
        Err(ChildError::Interrupted) => Err(Failure("interrupted".to_owned())),
        Err(error) => Err(Failure(format!("`{}`: {}", hook.line, text::error_chain(&error)))),
    }
}

fn as_the_client_runs_it(agent: Agent, line: &CommandLine) -> Command {
    match line {
        CommandLine::Program { program, arguments } => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        CommandLine::Shell(text) => {
            let shell = match host(agent).registration.shell {
                HookShell::At(path) => path.into(),
                HookShell::OfPerson => {
                    environment::read(environment::SHELL).unwrap_or_else(|| "/bin/sh".into())
                }
            };
            let mut command = Command::new(shell);
            command.arg("-c").arg(text);
            command
        }
    }
}

/// An answer that is not the one that is expected, as a person reads it.
#[derive(Debug, thiserror::Error)]
enum UnexpectedAnswer {
    #[error("silence")]
    Silence,
    #[error("`{}`", short(.0))]
    Text(String),
}

impl UnexpectedAnswer {
    fn of(said: &CommandOutput) -> Self {
        if said.stdout.is_empty() { Self::Silence } else { Self::Text(said.stdout.clone()) }
    }
}

fn expect_hold(agent: Agent, said: &CommandOutput) -> Result<(), UnexpectedAnswer> {
    let answer = serde_json::from_str::<Value>(&said.stdout).unwrap_or_default();
    match (host(agent).answer.held)(&answer) {
        Some(reason) if reason.starts_with(OWN_PREFIX) => Ok(()),
        _ => Err(UnexpectedAnswer::of(said)),
    }
}

fn expect_silence(said: &CommandOutput) -> Result<(), UnexpectedAnswer> {
    if said.stdout.is_empty() { Ok(()) } else { Err(UnexpectedAnswer::of(said)) }
}

fn unexpected(
    what: &str,
    answer: &UnexpectedAnswer,
    said: &CommandOutput,
    scratch: &RehearsalFolder,
) -> Failure {
    let reason = match scratch.logged() {
        _ if !said.stderr.is_empty() => quoted(&said.stderr),
        Some(reason) => quoted(&reason),
        None => String::new(),
    };
    Failure(format!("{what}: the answer was {answer}{reason}"))
}

fn quoted(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(" ({})", short(text)) }
}

fn short(text: &str) -> String {
    fit(&visible(text.lines().next().unwrap_or_default()), Some(LONGEST_REASON))
}
