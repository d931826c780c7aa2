//! Where the clients are: their programs, and the files in which each of them looks for hooks. The folders are found
//! as the clients find them, by the same variables.

use std::path::{Path, PathBuf};

use agents::{McpFile, host};
use transcript::Agent;

use crate::environment;
use crate::home_relative::home_relative;
use crate::settings_file;

/// Whose settings are meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    User,
    /// The repository with this root.
    Project(&'a Path),
}

impl Scope<'_> {
    /// Why a file in this scope is not written: a link on the way leads out of the repository. The user's own links, as a dotfile
    /// manager makes them, are followed.
    pub(crate) fn obstacle(self, path: &Path) -> Option<String> {
        let Self::Project(root) = self else { return None };
        let target = settings_file::leads_out_of(root, path)?;
        Some(format!(
            "is not written: a link leads out of the repository, to `{}`; replace the link with a file or folder of the \
             repository's own, or run `init` without `--project`",
            home_relative(&target)
        ))
    }
}

/// The files of one client in one scope.
#[derive(Clone, Debug)]
pub(crate) struct ClientFiles {
    pub(crate) agent: Agent,
    pub(crate) folder: PathBuf,
    /// The file that hooks are registered in.
    pub(crate) settings: PathBuf,
    /// The folder of its transcripts.
    pub(crate) transcripts: PathBuf,
}

impl ClientFiles {
    /// `None` if there is no home.
    pub(crate) fn of(agent: Agent, scope: Scope<'_>) -> Option<Self> {
        let places = &host(agent).files;
        if let (Scope::User, Some(folders)) = (scope, places.user_folders) {
            let folder = environment::base(environment::XDG_CONFIG_HOME, ".config")?.join(folders.name);
            let data = environment::base(environment::XDG_DATA_HOME, ".local/share")?;
            let transcripts = data.join(folders.name);
            return Some(Self { agent, settings: folder.join(places.settings), folder, transcripts });
        }
        let variable =
            places.folder_variable.and_then(|variable| Some((folder_in(variable.name)?, variable)));
        let folder = match (scope, variable) {
            (Scope::Project(root), _) => root.join(places.folder_in_repository.unwrap_or(places.folder)),
            (Scope::User, Some((folder, variable))) if !variable.is_home => folder,
            (Scope::User, variable) => {
                let home = variable.map(|(home, _)| home).or_else(environment::home)?;
                home.join(places.folder)
            }
        };
        let settings = folder.join(places.settings);
        Some(Self { agent, transcripts: folder.clone(), folder, settings })
    }

    /// The file with the MCP servers that the client starts in this scope, where it has MCP.
    pub(crate) fn mcp(&self, scope: Scope<'_>) -> Option<PathBuf> {
        let form = host(self.agent).mcp.as_ref()?;
        match (scope, form.user_file) {
            (Scope::Project(root), _) => Some(root.join(form.project_file)),
            (Scope::User, McpFile::InFolder(name)) => Some(self.folder.join(name)),
            (Scope::User, McpFile::InHome(name)) => {
                let variable = host(self.agent).files.folder_variable;
                match variable.is_some_and(|variable| folder_in(variable.name).is_some()) {
                    true => Some(self.folder.join(name)),
                    false => Some(environment::home()?.join(name)),
                }
            }
        }
    }

    /// The file that only this person has of a repository's settings, where the client has such a file.
    pub(crate) fn local(&self) -> Option<PathBuf> {
        host(self.agent).files.local_settings.map(|name| self.folder.join(name))
    }

    /// Other files in which the hooks of this client can be switched off, this scope's own file first.
    pub(crate) fn switches(&self, root: Option<&Path>) -> Vec<PathBuf> {
        let mut files = vec![self.settings.clone()];
        let user = Self::of(self.agent, Scope::User);
        let project = root.and_then(|root| Self::of(self.agent, Scope::Project(root)));
        let places = &host(self.agent).files;
        let others = |of: &Self| -> Vec<PathBuf> {
            places.files_with_switches.iter().map(|name| of.folder.join(name)).collect()
        };
        files.extend(user.iter().chain(&project).flat_map(others));
        files.extend(user.map(|user| user.settings));
        files.extend(project.as_ref().and_then(Self::local));
        files.extend(project.map(|project| project.settings));
        files.extend(places.managed_settings.map(PathBuf::from));
        files.dedup();
        files
    }
}

/// The folder in which the client keeps its transcripts.
pub(crate) fn home(agent: Agent) -> Option<PathBuf> {
    ClientFiles::of(agent, Scope::User).map(|files| files.transcripts)
}

/// Whether the client is on this machine: its program, or the folder that it made.
pub(crate) fn is_installed(agent: Agent) -> bool {
    environment::program(agents::program_name(agent)).is_some()
        || ClientFiles::of(agent, Scope::User).is_some_and(|files| files.folder.is_dir())
}

fn folder_in(variable: &str) -> Option<PathBuf> {
    std::path::absolute(environment::read(variable)?).ok()
}
