//! Runs a commit hook as git would: found by git itself (`core.hooksPath` and all), with the private index as the
//! index, and without an editor. Its time is limited, and the limit ends its whole group.

use std::ffi::OsStr;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use changes::Error;
use changes::git::RunningGit;
use files::regular_file;

use super::workplace::{HOOK_OUTPUT, Workplace};
use super::{CommitError, last_lines};
use crate::acting::ActingGit;
use crate::working_tree::io_error;

/// Of a long output, the end is what tells.
const KEPT: i64 = 16 * 1024;

/// Ends well where there is no such hook.
pub(super) fn run(
    workplace: &Workplace,
    git: &ActingGit,
    name: &'static str,
    arguments: &[&OsStr],
    limit: Duration,
) -> Result<(), CommitError> {
    let mut command = git.command(&["hook", "run", "--ignore-missing", name, "--"])?;
    command.args(arguments);
    let said = match end(workplace, command, name, limit)? {
        None => return Ok(()),
        Some(said) => said,
    };
    if !said.contains("'hook' is not a git command") {
        return Err(CommitError::HookFailed { hook: name, said });
    }
    // Git before 2.36.
    let Some(program) = by_path(workplace, git, name)? else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&git.directory);
    for (variable, value) in git.command::<&OsStr>(&[])?.get_envs() {
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    match end(workplace, command, name, limit)? {
        None => Ok(()),
        Some(said) => Err(CommitError::HookFailed { hook: name, said }),
    }
}

/// The hook's file, where there is one that may be run.
fn by_path(workplace: &Workplace, git: &ActingGit, name: &str) -> Result<Option<PathBuf>, CommitError> {
    let path = changes::hooks_folder(&workplace.repository, &git.program)?.join(name);
    let may_run = |path: &Path| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    Ok(may_run(&path).then_some(path))
}

/// `None` if it ended well, otherwise its last lines.
fn end(
    workplace: &Workplace,
    mut command: Command,
    name: &'static str,
    limit: Duration,
) -> Result<Option<String>, CommitError> {
    let path = workplace.file(HOOK_OUTPUT);
    let unusable = |source| CommitError::Folder { path: path.clone(), source };
    // A file and not a pipe: it may be long, and a process that the hook leaves behind must not be waited for.
    let _ = fs_err::remove_file(&path);
    let output = regular_file::append_to_new(&path, 0o666);
    let mut output = output.map_err(|error| unusable(io_error(error)))?;
    let to = || output.try_clone().map(Stdio::from).map_err(unusable);
    command.stdin(Stdio::null()).stdout(to()?).stderr(to()?);
    let running = RunningGit::spawn(command, format!("the hook {name}"), &workplace.repository.root, limit)?;
    let status = match running.end() {
        Ok(ended) => ended.status,
        Err(Error::TimedOut { .. }) => return Err(CommitError::HookTimedOut { hook: name, limit }),
        Err(error) => return Err(error.into()),
    };
    if status.success() {
        return Ok(None);
    }
    let mut said = Vec::new();
    let length = output.metadata().map_err(unusable)?.len();
    let back = i64::try_from(length).unwrap_or(KEPT).min(KEPT);
    output.seek(SeekFrom::End(-back)).map_err(unusable)?;
    output.read_to_end(&mut said).map_err(unusable)?;
    let lines = last_lines(&said);
    Ok(Some(if lines.is_empty() { format!("it ended with {status}") } else { lines }))
}
