//! Which clients are installed, and in which version: the programs on `PATH` are asked themselves.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agents::host;
use files::ChildError;
use transcript::Agent;

use super::finding::Finding;
use crate::environment;
use crate::interruption::Interruption;

/// Some need more than a second to tell their version on an idle machine.
const LIMIT: Duration = Duration::from_secs(10);

/// A client as it is on this machine.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) agent: Agent,
    /// `None` if it is not on `PATH`.
    pub(crate) program: Option<PathBuf>,
}

impl Client {
    pub(crate) fn find(agent: Agent) -> Self {
        Self { agent, program: environment::program(agents::program_name(agent)) }
    }

    pub(crate) fn installed(&self, interruption: &Interruption) -> Finding {
        let name = agents::program_name(self.agent);
        let Some(program) = &self.program else {
            return Finding::note(self.agent, "installed", format!("`{name}` is not on `PATH`"));
        };
        let shown = program.display();
        match version(self.agent, program, interruption) {
            Ok(version) => Finding::good(self.agent, "installed", format!("{version}, `{shown}`")),
            Err(why) => Finding::problem(self.agent, "installed", format!("`{shown} --version` {why}"))
                .advice(format!("run `{name} --version` to see why")),
        }
    }

    /// What its program says; `None` if it has none.
    pub(crate) fn version(&self, interruption: &Interruption) -> Option<Result<String, VersionError>> {
        Some(version(self.agent, self.program.as_ref()?, interruption))
    }
}

/// How a client is started for a question: nothing of it is to reach out or to update itself meanwhile.
pub(crate) fn command(agent: Agent, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.envs(host(agent).variables.quiet.iter().copied());
    command
}

/// Why a client did not tell its version: a sentence that goes on after the command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VersionError {
    #[error("printed no version")]
    NoVersion,
    #[error("ended with exit code {0}")]
    Exit(i32),
    #[error("was killed")]
    Killed,
    #[error("cannot be started: {0}")]
    Start(std::io::Error),
    #[error("took longer than {} seconds", LIMIT.as_secs())]
    TimedOut,
    #[error("was interrupted")]
    Interrupted,
    #[error("cannot be asked: {}", text::error_chain(.0))]
    Ask(ChildError),
}

fn version(agent: Agent, program: &Path, interruption: &Interruption) -> Result<String, VersionError> {
    let mut command = command(agent, program);
    // Some write into their folder at every start, and none needs it to tell its version.
    let folder =
        tempfile::Builder::new().prefix("checkstone-doctor-").tempdir().map_err(VersionError::Start)?;
    command.envs(host(agent).files.folder_variable.map(|variable| (variable.name, folder.path())));
    let asked = interruption.run(command.arg("--version"), b"", LIMIT);
    let ended = asked.map_err(|error| match error {
        ChildError::Start(error) => VersionError::Start(error),
        ChildError::TimedOut { .. } => VersionError::TimedOut,
        ChildError::Interrupted => VersionError::Interrupted,
        error => VersionError::Ask(error),
    })?;
    match ended.status.code() {
        Some(0) => read_version(&String::from_utf8_lossy(&ended.stdout)).ok_or(VersionError::NoVersion),
        Some(code) => Err(VersionError::Exit(code)),
        None => Err(VersionError::Killed),
    }
}

/// `2.1.325 (Claude Code)`, `0.61.0`, `GitHub Copilot CLI 1.0.102.`: the first word that begins with a digit, without what ends a sentence.
fn read_version(said: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    let word = said.split_whitespace().find(is_version)?;
    Some(transcript::visible(word.trim_end_matches(|last: char| !last.is_alphanumeric())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_says_its_version_in_its_own_way() {
        assert_eq!(read_version("2.1.325 (Claude Code)\n").as_deref(), Some("2.1.325"));
        assert_eq!(read_version("0.61.0\n").as_deref(), Some("0.61.0"));
        assert_eq!(read_version("GitHub Copilot CLI 1.0.102.\nRun…\n").as_deref(), Some("1.0.102"));
        assert_eq!(read_version("codex-cli 0.166.0\n").as_deref(), Some("0.166.0"));
        assert_eq!(read_version("hello\n"), None);
    }
}
