//! Git as a child process that reads: what it may read and run, how long it may take, and what its failures mean. Which
//! git that is, `git_program` says.
//!
//! Nothing that we start writes to the repository, asks anyone anything, reaches for the network or runs a
//! program that the repository's own config names:
//!
//! - `GIT_OPTIONAL_LOCKS=0` keeps `git status` from writing the refreshed index, so `index.lock` is never taken
//!   and the post-index-change hook never runs. `git diff` needs `diff.autoRefreshIndex=false` on top.
//! - `core.fsmonitor=false`: its value may be a command, and a repository that came as an archive brings its own
//!   config. This costs people with a file watcher its speed-up; the answer is the same.
//! - Clean filters that the *repository's* config defines are emptied (see `filters`); those of the user's own
//!   config stay, git-lfs for example.
//! - `GIT_NO_LAZY_FETCH` and `GIT_ALLOW_PROTOCOL`: a partial clone must not start to download.
//! - What snapshots write (`WRITING`): no hook runs, no reflog is begun, and git waits for the disk.
//! - External diffs, text conversions, signatures and pagers are no part of the plumbing formats that we ask for.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use change_set::BytePath;
use files::{BoundedChild, Bounds, ChildError, Ended, Leftovers};

use crate::error::Error;
use crate::filters;
use crate::git_program::GitProgram;
use crate::repository::Repository;

const FIXED_VARIABLES: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // Also for versions that do not know GIT_NO_LAZY_FETCH: no protocol has this name.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
];

/// Put before commands that write. A reflog would keep pruned snapshots alive.
pub const WRITING: [&str; 4] = ["-c", "core.hooksPath=/dev/null", "-c", "core.logAllRefUpdates=false"];

const FIXED_CONFIG: [&str; 2] = ["core.fsmonitor=false", "diff.autoRefreshIndex=false"];

/// Variables that hold values of the config.
const EMPTY: (&str, &str) = ("CHECKSTONE_EMPTY", "");
const FALSE: (&str, &str) = ("CHECKSTONE_FALSE", "false");

/// A repository with more untracked files than fit here is not one whose changes a person could look at.
const LARGEST_OUTPUT: usize = 64 * 1024 * 1024;

const LARGEST_COMPLAINT: usize = 16 * 1024;

#[derive(Clone, Debug)]
pub struct Git {
    program: GitProgram,
    pub(crate) directory: PathBuf,
    /// Filter drivers of the repository's own config, which must not run.
    filters: Vec<BytePath>,
    /// Folders of objects that are not the repository's, and are to be seen as if they were.
    lent: Vec<PathBuf>,
    /// Read instead of the repository's own index.
    index: Option<PathBuf>,
    /// Named outright, for a working tree that does not lead to it.
    git_dir: Option<PathBuf>,
}

impl Git {
    /// In a repository, with the filters that its own config defines switched off.
    pub fn of(repository: &Repository, program: &GitProgram) -> Result<Self, Error> {
        let mut git = Self::at(repository.root.clone(), program);
        let leads_to_it = repository.root.join(".git").symlink_metadata().is_ok();
        git.git_dir = (!leads_to_it).then(|| repository.git_dir.clone());
        git.filters = filters::of_repository(repository, &git)?;
        Ok(git)
    }

    /// The same git in another folder.
    pub fn moved_to(&self, directory: &Path) -> Self {
        Self { directory: directory.to_owned(), git_dir: None, ..self.clone() }
    }

    /// The same git, which sees the objects in these folders too.
    pub fn with_objects_of(&self, lent: Vec<PathBuf>) -> Self {
        Self { lent, ..self.clone() }
    }

    /// The same git, which reads another index.
    pub(crate) fn with_index(&self, index: &Path) -> Self {
        Self { index: Some(self.directory.join(index)), ..self.clone() }
    }

    pub(crate) fn at(directory: PathBuf, program: &GitProgram) -> Self {
        Self {
            program: program.clone(),
            directory,
            filters: Vec::new(),
            lent: Vec::new(),
            index: None,
            git_dir: None,
        }
    }

    /// Runs git to its end, with `input` on its stdin.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Result<Vec<u8>, Error> {
        self.start(arguments, input)?.finish()
    }

    /// Starts git and returns at once.
    pub fn start<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Result<RunningGit, Error> {
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut running = self.start_with(arguments, stdin)?;
        running.child.feed(input);
        Ok(running)
    }

    /// Starts git with this stdin: a file, so that what it reads is complete whatever becomes of us, or a pipe for a caller that
    /// asks and reads in turns.
    pub fn start_with<A: AsRef<OsStr>>(&self, arguments: &[A], stdin: Stdio) -> Result<RunningGit, Error> {
        let text = describe(arguments);
        let mut command = self.command(arguments)?;
        command.stdin(stdin);
        RunningGit::spawn(command, text, &self.directory, self.program.time_limit())
    }

    fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Command, Error> {
        let mut command = self.program.reading_command()?;
        // Not `current_dir`: a static program would have to fork for it, which copies its memory map.
        command.arg("-C").arg(&self.directory);
        if let Some(git_dir) = &self.git_dir {
            command.arg("--git-dir").arg(git_dir);
            if git_dir != &self.directory {
                command.arg("--work-tree").arg(&self.directory);
            }
        }
        // Not by `GIT_CONFIG_COUNT`, by which people name the folders that they trust.
        for setting in FIXED_CONFIG {
            command.args(["-c", setting]);
        }
        for filter in &self.filters {
            // A driver with an empty `process` runs nothing, `clean` included; `required` would make that fatal. A name may
            // have a `=` in it, which `-c` would not understand.
            for (key, value) in [("process", EMPTY), ("required", FALSE)] {
                let mut setting = OsString::from("--config-env=filter.");
                setting.push(filter.as_path());
                setting.push(format!(".{key}={}", value.0));
                command.arg(setting).env(value.0, value.1);
            }
        }
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(FIXED_VARIABLES);
        if !self.lent.is_empty() {
            // In quotes a path may have a colon in it.
            let lent: Vec<_> = self.lent.iter().map(|path| BytePath::from(path.as_path()).quoted()).collect();
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", OsStr::from_bytes(&lent.join(&b':')));
        }
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        Ok(command)
    }
}

/// `git status …`, without arguments that are only ids.
pub fn describe<A: AsRef<OsStr>>(arguments: &[A]) -> String {
    let mut words = arguments
        .iter()
        .map(AsRef::as_ref)
        .skip_while(|word| word.as_bytes().starts_with(b"-") || word.as_bytes().contains(&b'='));
    let name = words.next().map(|name| name.to_string_lossy()).unwrap_or_default();
    format!("git {name}")
}

/// A git process that was started. Dropping it ends the process.
#[derive(Debug)]
pub struct RunningGit {
    child: BoundedChild,
    command: String,
    directory: PathBuf,
}

impl RunningGit {
    /// Starts a command that runs in `directory`; `text` is what errors call it.
    pub fn spawn(
        mut command: Command,
        text: String,
        directory: &Path,
        limit: Duration,
    ) -> Result<Self, Error> {
        let bounds = Bounds {
            stdout: LARGEST_OUTPUT,
            stderr: LARGEST_COMPLAINT,
            // Git's own maintenance in the background, or what a hook started, goes on.
            leftovers: Leftovers::Leave,
            ..Bounds::within(limit)
        };
        let child = BoundedChild::start(&mut command, bounds).map_err(|source| match source.kind() {
            // The same error means a missing program and a missing folder to run it in.
            io::ErrorKind::NotFound if directory.is_dir() => {
                Error::NoGit { program: command.get_program().to_string_lossy().into_owned() }
            }
            io::ErrorKind::NotFound => Error::NotARepository { directory: directory.to_owned() },
            _ => Error::Start { command: text.clone(), source },
        })?;
        Ok(Self { child, command: text, directory: directory.to_owned() })
    }

    /// The process itself, for a caller that asks and reads in turns.
    pub fn child(&mut self) -> &mut BoundedChild {
        &mut self.child
    }

    /// Its stdout, for a caller that reads by itself and without these bounds.
    pub fn take_stdout(&mut self) -> Result<File, Error> {
        let no_pipe =
            || Error::Read { command: self.command.clone(), source: io::ErrorKind::BrokenPipe.into() };
        self.child.take_stdout().ok_or_else(no_pipe)
    }

    /// What git wrote to stdout, once it has ended well.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        self.finish_with_complaint().map(|(output, _)| output)
    }

    /// The same, with what it wrote to stderr although it ended well.
    pub fn finish_with_complaint(self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (command, directory) = (self.command.clone(), self.directory.clone());
        let ended = self.end()?;
        if ended.status.success() {
            return Ok((ended.stdout, ended.stderr));
        }
        Err(failure(command, directory, &ended.stderr, &ended.status.to_string()))
    }

    /// Waits for the end, well or not.
    pub fn end(self) -> Result<Ended, Error> {
        let command = self.command;
        self.child.finish().map_err(|error| match error {
            ChildError::TimedOut { limit } => Error::TimedOut { command, limit },
            ChildError::TooMuch { limit } => Error::TooMuch { command, limit },
            ChildError::Interrupted => Error::Read { command, source: io::ErrorKind::Interrupted.into() },
            ChildError::Start(source) => Error::Start { command, source },
            ChildError::Follow(source) => Error::Read { command, source },
        })
    }
}

/// Whether a line of stderr is git's own complaint.
pub fn is_of_git(line: &str) -> bool {
    ["fatal:", "error:", "warning:"].iter().any(|word| line.starts_with(word))
}

pub fn failure(command: String, directory: PathBuf, complaint: &[u8], status: &str) -> Error {
    let complaint = String::from_utf8_lossy(complaint);
    if complaint.contains("detected dubious ownership") {
        return Error::Refused { directory };
    }
    if complaint.contains("not a git repository") {
        return Error::NotARepository { directory };
    }
    if complaint.contains("must be run in a work tree") {
        return Error::NoWorkTree { directory };
    }
    // Warnings come before what ended the command.
    let fatal = complaint.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    let line = fatal.or_else(|| complaint.lines().find(|line| !line.trim().is_empty()));
    let reason = line.map_or_else(|| status.to_owned(), str::to_owned);
    Error::Failed { command, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a hook runs inside another git command, that command's repository must not become ours.
    #[test]
    fn the_environment_leads_to_no_other_repository() {
        let mut git = Git::at(PathBuf::from("/"), &GitProgram::of_this_machine());
        git.filters = vec![BytePath::from("a=b")];
        let command = git.command(&["status"]).unwrap();
        let value = |name: &str| command.get_envs().find(|(key, _)| *key == name).map(|(_, value)| value);
        let local = Command::new("git").args(["rev-parse", "--local-env-vars"]).output().unwrap();
        for name in
            String::from_utf8(local.stdout).unwrap().lines().filter(|name| *name != "GIT_CONFIG_COUNT")
        {
            assert_eq!(value(name), Some(None), "{name}");
        }
        assert_eq!(value("GIT_TRACE"), Some(None));
        assert_eq!(value("GIT_OPTIONAL_LOCKS"), Some(Some(OsStr::new("0"))));
        assert_eq!(value("GIT_CONFIG_COUNT"), None);
        let filter = OsStr::new("--config-env=filter.a=b.process=CHECKSTONE_EMPTY");
        assert!(command.get_args().any(|argument| argument == filter));
    }
}
