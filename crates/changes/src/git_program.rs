//! Which git is started: the first one in the absolute folders of `PATH`. Relative folders, and the empty one that means
//! the current folder, lead into the repository, and its own `git` must never run. This is the only way to a git: nothing
//! else names one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use files::find_program;

use crate::error::Error;

const NAME: &str = "git";
const PATH: &str = "PATH";

/// A process of git's takes at most so long, unless the caller says otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// What git calls repository-local (`git rev-parse --local-env-vars`), and what would change the formats that
/// we read or put other words among git's complaints. A hook runs inside other programs' environments; none of these may
/// lead git to another repository.
const REMOVED_VARIABLES: &str = "\
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ATTR_SOURCE GIT_COMMON_DIR GIT_CONFIG GIT_CONFIG_PARAMETERS \
    GIT_CURL_VERBOSE GIT_DIFF_OPTS GIT_DIR GIT_EXTERNAL_DIFF GIT_GLOB_PATHSPECS GIT_GRAFT_FILE \
    GIT_ICASE_PATHSPECS GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE GIT_INTERNAL_SUPER_PREFIX \
    GIT_LITERAL_PATHSPECS GIT_NAMESPACE GIT_NOGLOB_PATHSPECS GIT_NO_REPLACE_OBJECTS GIT_OBJECT_DIRECTORY \
    GIT_PREFIX GIT_QUARANTINE_PATH GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE GIT_TRACE GIT_TRACE2 \
    GIT_TRACE2_EVENT GIT_TRACE2_PERF GIT_TRACE_CURL GIT_TRACE_FSMONITOR GIT_TRACE_PACKET GIT_TRACE_PACKFILE \
    GIT_TRACE_PACK_ACCESS GIT_TRACE_PERFORMANCE GIT_TRACE_REDACT GIT_TRACE_REFS GIT_TRACE_SETUP \
    GIT_TRACE_SHALLOW GIT_WORK_TREE";

/// The git of this machine, and how long each of its processes may take.
#[derive(Clone, Debug)]
pub struct GitProgram {
    /// `None` if no absolute folder has one: starting it then fails.
    program: Option<PathBuf>,
    /// `PATH` without its relative folders, if it has any.
    absolute_path: Option<OsString>,
    time_limit: Duration,
}

impl GitProgram {
    /// Looks for git in `path`, the value of `PATH`.
    pub fn in_path(path: &OsStr) -> Self {
        let absolute: Vec<PathBuf> =
            std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
        let absolute = std::env::join_paths(absolute).unwrap_or_default();
        Self {
            program: find_program(OsStr::new(NAME), &absolute),
            absolute_path: Some(absolute).filter(|absolute| absolute != path),
            time_limit: TIME_LIMIT,
        }
    }

    /// The same git, with another limit for each of its processes.
    pub fn within(&self, time_limit: Duration) -> Self {
        Self { time_limit, ..self.clone() }
    }

    pub fn path(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    pub fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// A command whose environment leads git to no other repository.
    pub fn command(&self) -> Result<Command, Error> {
        let program = self.program.as_ref().ok_or_else(|| Error::NoGit { program: NAME.to_owned() })?;
        let mut command = Command::new(program);
        for variable in REMOVED_VARIABLES.split(' ') {
            command.env_remove(variable);
        }
        Ok(command)
    }

    /// The same for git that only reads: what it starts itself, a filter of the user's for example, is not looked for
    /// in the repository either.
    pub(crate) fn reading_command(&self) -> Result<Command, Error> {
        let mut command = self.command()?;
        if let Some(path) = &self.absolute_path {
            command.env(PATH, path);
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl GitProgram {
        #[expect(clippy::disallowed_methods, reason = "a test has no other way to a program")]
        pub(crate) fn of_this_machine() -> Self {
            Self::in_path(&std::env::var_os(PATH).unwrap())
        }
    }

    /// S10: what git starts itself is looked for in absolute folders only, and nothing changes for others.
    #[test]
    fn relative_folders_are_taken_out_of_the_path() {
        let passed_on = |path: &str| {
            let absolute = GitProgram::in_path(OsStr::new(path)).absolute_path;
            absolute.map(|absolute| absolute.into_string().unwrap())
        };
        assert_eq!(passed_on("./a:/x::b:/y:."), Some("/x:/y".to_owned()));
        assert_eq!(passed_on("."), Some(String::new()));
        assert_eq!(passed_on("/x:/y"), None);
        let nothing = GitProgram::in_path(OsStr::new(".::a"));
        assert_eq!(nothing.command().unwrap_err().to_string(), "there is no program `git`");
    }
}
