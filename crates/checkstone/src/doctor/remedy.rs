//! What can be done about a finding, as data. Whether it would change anything, [`super::repair`] finds out.

use std::path::{Path, PathBuf};

use serde::Serialize;
use transcript::Agent;

use crate::clients::{ClientFiles, Scope};
use crate::git_hook::GitHookName;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Remedy {
    /// Register the hooks in a client's settings, as `checkstone init` does.
    Register {
        agent: Agent,
        place: RegistrationPlace,
        /// The status line too.
        status_line: bool,
    },
    /// Put our lines into a hook of git's, as `checkstone init --git-hook` does.
    GitHook { hook: GitHookName },
    /// Remove a file that a killed process left, if that is still so.
    RemoveFile { path: PathBuf },
}

/// Whose settings are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RegistrationPlace {
    User,
    Project,
}

impl RegistrationPlace {
    pub(crate) fn scope(self, root: Option<&Path>) -> Option<Scope<'_>> {
        match self {
            Self::User => Some(Scope::User),
            Self::Project => root.map(Scope::Project),
        }
    }

    /// Whose file this is, if it is one that `init` writes.
    fn of_file(agent: Agent, file: &Path, root: Option<&Path>) -> Option<Self> {
        [Self::User, Self::Project].into_iter().find(|place| {
            let files = place.scope(root).and_then(|scope| ClientFiles::of(agent, scope));
            files.is_some_and(|files| files.settings == file)
        })
    }
}

impl Remedy {
    pub(crate) fn register(agent: Agent) -> Self {
        Self::Register { agent, place: RegistrationPlace::User, status_line: false }
    }

    /// Register in this file again; `None` if `init` would not write it.
    pub(crate) fn register_in(agent: Agent, file: &Path, root: Option<&Path>) -> Option<Self> {
        let place = RegistrationPlace::of_file(agent, file, root)?;
        Some(Self::Register { agent, place, status_line: false })
    }

    pub(crate) fn status_line_in(agent: Agent, file: &Path, root: Option<&Path>) -> Option<Self> {
        let place = RegistrationPlace::of_file(agent, file, root)?;
        Some(Self::Register { agent, place, status_line: true })
    }
}
