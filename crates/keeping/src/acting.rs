//! Git that acts for the user: commits and pushes. Unlike the rest of the crate it runs what the user's and the
//! repository's config name (hooks, filters, signing programs, credential helpers), since a commit without them would
//! be another commit than the user's own. So it is used only where the user switched autosave on.
//!
//! Nobody is there to answer: every way of asking is closed, and a program that waits for an answer anyway is ended
//! with its group at the time limit.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use changes::git::{RunningGit, describe, failure, is_of_git};
use changes::{Error, GitProgram};
use files::Ended;

/// Set for every process, hooks too.
const VARIABLES: [(&str, &str); 8] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty means none, also where the config names one.
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GCM_INTERACTIVE", "never"),
    // As `git commit` without an editor tells its hooks.
    ("GIT_EDITOR", ":"),
    ("GIT_PAGER", "cat"),
    // Messages that we read, in English; a hook's text stays UTF-8.
    ("LC_ALL", "C.UTF-8"),
];

/// By these a signing program finds somebody to ask for a passphrase.
const ASKING: [&str; 4] = ["GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY", "LANGUAGE"];

#[derive(Clone, Debug)]
pub(crate) struct ActingGit {
    pub(crate) program: GitProgram,
    pub(crate) directory: PathBuf,
    /// Beside those that every process gets: an index of its own, for example.
    variables: Vec<(OsString, OsString)>,
}

impl ActingGit {
    pub(crate) fn new(program: &GitProgram, directory: &Path) -> Self {
        Self { program: program.clone(), directory: directory.to_owned(), variables: Vec::new() }
    }

    pub(crate) fn with(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut changed = self.clone();
        changed.variables.push((OsString::from(name), value.into()));
        changed
    }

    pub(crate) fn within(&self, limit: Duration) -> Self {
        let mut changed = self.clone();
        changed.program = self.program.within(limit);
        changed
    }

    /// What git wrote, once it has ended well.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Result<Vec<u8>, Error> {
        let ended = self.end(arguments, input)?;
        if ended.status.success() { Ok(ended.stdout) } else { Err(self.failure(arguments, &ended)) }
    }

    /// The same as one line of text.
    pub(crate) fn line<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<String, Error> {
        let output = self.run(arguments, b"")?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// The same for commands that end with 1 where there is none. What git itself says then is a failure; others may
    /// speak too, the dynamic linker for example.
    pub(crate) fn line_or_none<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Option<String>, Error> {
        let ended = self.end(arguments, b"")?;
        if ended.status.success() {
            return Ok(Some(String::from_utf8_lossy(&ended.stdout).trim_end_matches('\n').to_owned()));
        }
        let complaint = String::from_utf8_lossy(&ended.stderr);
        let is_failure = complaint.lines().any(is_of_git);
        if ended.status.code() == Some(1) && !is_failure {
            Ok(None)
        } else {
            Err(self.failure(arguments, &ended))
        }
    }

    pub(crate) fn failure<A: AsRef<OsStr>>(&self, arguments: &[A], ended: &Ended) -> Error {
        failure(describe(arguments), self.directory.clone(), &ended.stderr, &ended.status.to_string())
    }

    /// Runs git to its end, however it ends.
    pub(crate) fn end<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Result<Ended, Error> {
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut running = self.spawn(arguments, stdin)?;
        running.child().feed(input);
        running.end()
    }

    /// The same, with an open file in the place of its input, which it keeps open however we end: for a git that does not
    /// read, and has to keep the file's lock.
    pub(crate) fn end_holding(&self, arguments: &[&str], held: File) -> Result<Ended, Error> {
        self.spawn(arguments, Stdio::from(held))?.end()
    }

    fn spawn<A: AsRef<OsStr>>(&self, arguments: &[A], stdin: Stdio) -> Result<RunningGit, Error> {
        let mut command = self.command(arguments)?;
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        RunningGit::spawn(command, describe(arguments), &self.directory, self.program.time_limit())
    }

    /// Git with these arguments, which finds nobody to ask.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Command, Error> {
        let mut command = self.program.command()?;
        for variable in ASKING {
            command.env_remove(variable);
        }
        command.envs(VARIABLES).envs(self.variables.iter().map(|(name, value)| (name, value)));
        // Its value may be a command, and a repository that came as an archive brings its own.
        command.args(["-c", "core.fsmonitor=false", "-C"]).arg(&self.directory).args(arguments);
        Ok(command)
    }
}
