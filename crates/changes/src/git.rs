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
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use change_set::BytePath;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

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

/// Everything needed to start git in one repository.
#[derive(Clone, Debug)]
pub struct Git {
    program: GitProgram,
    pub(crate) directory: PathBuf,
    /// Filter drivers of the repository's own config, which must not run.
    filters: Vec<BytePath>,
    /// Folders of objects that are not the repository's, and are to be seen as if they were.
    lent: Vec<PathBuf>,
}

impl Git {
    /// In a repository, with the filters that its own config defines switched off.
    pub fn of(repository: &Repository, program: &GitProgram) -> Result<Self, Error> {
        let mut git = Self::at(repository.root.clone(), program);
        git.filters = filters::of_repository(repository, &git)?;
        Ok(git)
    }

    /// The same git in another folder.
    pub fn moved_to(&self, directory: &Path) -> Self {
        Self { directory: directory.to_owned(), ..self.clone() }
    }

    /// The same git, which sees the objects in these folders too.
    pub fn with_objects_of(&self, lent: Vec<PathBuf>) -> Self {
        Self { lent, ..self.clone() }
    }

    pub(crate) fn at(directory: PathBuf, program: &GitProgram) -> Self {
        Self { program: program.clone(), directory, filters: Vec::new(), lent: Vec::new() }
    }

    /// Runs git to its end, with `input` on its stdin.
    pub fn run(&self, arguments: &[&OsStr], input: &[u8]) -> Result<Vec<u8>, Error> {
        self.start(arguments, input)?.finish()
    }

    /// Starts git and returns at once.
    pub fn start(&self, arguments: &[&OsStr], input: &[u8]) -> Result<Running, Error> {
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut running = self.spawn(arguments, stdin)?;
        running.feed(input);
        Ok(running)
    }

    /// Starts git with a file as its stdin: what it reads is complete, whatever becomes of us.
    pub fn start_with_file(&self, arguments: &[&OsStr], input: File) -> Result<Running, Error> {
        self.spawn(arguments, Stdio::from(input))
    }

    /// Starts git with a pipe to its stdin, for a caller that asks and reads in turns.
    pub fn converse(&self, arguments: &[&OsStr]) -> Result<Running, Error> {
        self.spawn(arguments, Stdio::piped())
    }

    fn spawn(&self, arguments: &[&OsStr], stdin: Stdio) -> Result<Running, Error> {
        let text = describe(arguments);
        let mut command = self.command(arguments)?;
        command.stdin(stdin);
        Running::spawn(command, text, &self.directory, self.program.time_limit())
    }

    fn command(&self, arguments: &[&OsStr]) -> Result<Command, Error> {
        let mut command = self.program.reading_command()?;
        // Not `current_dir`: a static program would have to fork for it, which copies its memory map.
        command.arg("-C").arg(&self.directory);
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
        Ok(command)
    }
}

/// `git status …`, without arguments that are only ids.
pub fn describe(arguments: &[&OsStr]) -> String {
    let mut words = arguments
        .iter()
        .skip_while(|word| word.as_bytes().starts_with(b"-") || word.as_bytes().contains(&b'='));
    let name = words.next().map(|name| name.to_string_lossy()).unwrap_or_default();
    format!("git {name}")
}

/// A git process that was started. Dropping it ends the process.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
    directory: PathBuf,
    limit: Duration,
    deadline: Instant,
}

/// A process that has ended, well or not.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub output: Vec<u8>,
    pub complaint: Vec<u8>,
}

impl Running {
    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its input and output, for a caller that asks and reads in turns.
    pub fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        Some((self.child.stdin.take()?, self.child.stdout.take()?))
    }

    /// Writes to the child's stdin beside the reading: neither side may wait for the other. Git may end early, over a bad
    /// id for example; its own complaint then says more than the broken pipe.
    pub fn feed(&mut self, input: &[u8]) {
        let Some(mut pipe) = self.child.stdin.take() else { return };
        let input = input.to_vec();
        std::thread::spawn(move || {
            let _ = pipe.write_all(&input);
        });
    }

    /// The command should be in a process group of its own: the time limit ends the group.
    pub fn spawn(
        mut command: Command,
        text: String,
        directory: &Path,
        limit: Duration,
    ) -> Result<Self, Error> {
        let child = command.spawn().map_err(|source| match source.kind() {
            // The same error means a missing program and a missing folder to run it in.
            io::ErrorKind::NotFound if directory.is_dir() => {
                Error::NoGit { program: command.get_program().to_string_lossy().into_owned() }
            }
            io::ErrorKind::NotFound => Error::NotARepository { directory: directory.to_owned() },
            _ => Error::Start { command: text.clone(), source },
        })?;
        let directory = directory.to_owned();
        Ok(Self { child, command: text, directory, limit, deadline: Instant::now() + limit })
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
            return Ok((ended.output, ended.complaint));
        }
        Err(failure(command, directory, &ended.complaint, &ended.status.to_string()))
    }

    /// Waits for the end, and tells how it ended.
    pub fn end(mut self) -> Result<Ended, Error> {
        let mut output = Channel::new(self.child.stdout.take().map(OwnedFd::from), LARGEST_OUTPUT);
        let mut complaint = Channel::new(self.child.stderr.take().map(OwnedFd::from), LARGEST_COMPLAINT);
        let exit = pidfd(&self.child);
        let mut exited = false;
        // Where the kernel has no pidfd, the end of both pipes has to do for the exit.
        while !exited && (output.pipe.is_some() || complaint.pipe.is_some() || exit.is_some()) {
            exited = self.wait_for_any(&mut output, &mut complaint, exit.as_ref())?;
            if output.overflowed {
                return Err(Error::TooMuch { command: self.command.clone(), limit: LARGEST_OUTPUT });
            }
        }
        let status = self.child.wait().map_err(|source| self.unreadable(source))?;
        // A process that git left behind may hold the pipes open: take what is there, and do not wait for more.
        for channel in [&mut output, &mut complaint] {
            channel.drain().map_err(|source| self.unreadable(source))?;
        }
        Ok(Ended { status, output: output.bytes, complaint: complaint.bytes })
    }

    /// Waits for output, a complaint or the exit, reads what there is, and says whether git has exited.
    fn wait_for_any(
        &self,
        output: &mut Channel,
        complaint: &mut Channel,
        exit: Option<&OwnedFd>,
    ) -> Result<bool, Error> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::TimedOut { command: self.command.clone(), limit: self.limit });
        }
        let timeout = Timespec::try_from(left).ok();
        let pipes = [output.pipe.as_ref(), complaint.pipe.as_ref(), exit];
        let mut waiting: Vec<PollFd<'_>> =
            pipes.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
        match poll(&mut waiting, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(self.unreadable(errno.into())),
        }
        let mut ready = waiting.iter().map(|pipe| !pipe.revents().is_empty());
        let mut is_ready = |there: bool| there && ready.next().unwrap_or(false);
        let output_ready = is_ready(output.pipe.is_some());
        let complaint_ready = is_ready(complaint.pipe.is_some());
        let exited = is_ready(exit.is_some());
        for (channel, ready) in [(output, output_ready), (complaint, complaint_ready)] {
            if ready {
                channel.read_some().map_err(|source| self.unreadable(source))?;
            }
        }
        Ok(exited)
    }

    fn unreadable(&self, source: io::Error) -> Error {
        Error::Read { command: self.command.clone(), source }
    }
}

/// Whether a line of stderr is git's own complaint.
pub fn is_of_git(line: &str) -> bool {
    ["fatal:", "error:", "warning:"].iter().any(|word| line.starts_with(word))
}

/// What a failing git meant.
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

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Becomes readable when the child exits.
#[cfg(target_os = "linux")]
fn pidfd(child: &Child) -> Option<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn pidfd(_child: &Child) -> Option<OwnedFd> {
    None
}

/// One of git's pipes, read as far as its limit.
struct Channel {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

impl Channel {
    fn new(pipe: Option<OwnedFd>, limit: usize) -> Self {
        Self { pipe, bytes: Vec::new(), limit, overflowed: false }
    }

    /// One read; the pipe is dropped at its end.
    fn read_some(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        // A larger one is more fresh memory than most answers need; a long answer takes more reads.
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(pipe.as_fd(), &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let room = self.limit.saturating_sub(self.bytes.len());
                self.overflowed |= count > room;
                self.bytes.extend_from_slice(buffer.get(..count.min(room)).unwrap_or_default());
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Reads what the pipe holds now.
    fn drain(&mut self) -> io::Result<()> {
        while let Some(pipe) = &self.pipe {
            let mut waiting = [PollFd::new(pipe, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if poll(&mut waiting, Some(&now))? == 0 || self.overflowed {
                return Ok(());
            }
            self.read_some()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a hook runs inside another git command, that command's repository must not become ours.
    #[test]
    fn the_environment_leads_to_no_other_repository() {
        let mut git = Git::at(PathBuf::from("/"), &GitProgram::of_this_machine());
        git.filters = vec![BytePath::from("a=b")];
        let command = git.command(&[OsStr::new("status")]).unwrap();
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
