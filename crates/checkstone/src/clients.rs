//! Where the clients are: their programs, and the files in which each of them looks for hooks. The folders are found
//! as the clients find them, by the same variables.

use std::path::{Path, PathBuf};

use transcript::Agent;

use crate::environment;

/// Whose settings are meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    User,
    /// The repository with this root.
    Project(&'a Path),
}

/// The files of one client in one scope.
#[derive(Clone, Debug)]
pub(crate) struct ClientFiles {
    pub(crate) agent: Agent,
    pub(crate) folder: PathBuf,
    /// The file that hooks are registered in.
    pub(crate) settings: PathBuf,
}

impl ClientFiles {
    /// `None` where there is no home.
    pub(crate) fn of(agent: Agent, scope: Scope<'_>) -> Option<Self> {
        let (name, variable, file) = match agent {
            Agent::Claude => (".claude", environment::CLAUDE_FOLDER, "settings.json"),
            Agent::Gemini => (".gemini", environment::GEMINI_HOME, "settings.json"),
            Agent::Codex => (".codex", environment::CODEX_FOLDER, "hooks.json"),
        };
        let folder = match (scope, agent) {
            (Scope::Project(root), _) => root.join(name),
            (Scope::User, Agent::Gemini) => folder_in(variable).or_else(environment::home)?.join(name),
            (Scope::User, _) => folder_in(variable).or_else(|| Some(environment::home()?.join(name)))?,
        };
        let settings = folder.join(file);
        Some(Self { agent, folder, settings })
    }

    /// Other files in which the hooks of this client can be switched off, this scope's own file first.
    pub(crate) fn switches(&self, root: Option<&Path>) -> Vec<PathBuf> {
        let mut files = vec![self.settings.clone()];
        let user = Self::of(self.agent, Scope::User).map(|files| files.settings);
        let project = root.and_then(|root| Self::of(self.agent, Scope::Project(root)));
        files.extend(user);
        if self.agent == Agent::Claude {
            files.extend(project.as_ref().map(|project| project.folder.join("settings.local.json")));
        }
        files.extend(project.map(|project| project.settings));
        files.extend(match self.agent {
            Agent::Claude => Some(PathBuf::from("/etc/claude-code/managed-settings.json")),
            Agent::Gemini => Some(PathBuf::from("/etc/gemini-cli/settings.json")),
            Agent::Codex => None,
        });
        files.dedup();
        files
    }
}

/// The folder in which the client keeps the user's settings and its transcripts.
pub(crate) fn home(agent: Agent) -> Option<PathBuf> {
    ClientFiles::of(agent, Scope::User).map(|files| files.folder)
}

/// Whether the client is on this machine: its program, or the folder that it made.
pub(crate) fn is_installed(agent: Agent) -> bool {
    environment::program(agent.name()).is_some()
        || ClientFiles::of(agent, Scope::User).is_some_and(|files| files.folder.is_dir())
}

fn folder_in(variable: &str) -> Option<PathBuf> {
    std::path::absolute(environment::read(variable)?).ok()
}
