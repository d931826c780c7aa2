//! Processes that a hook leaves behind: the push, the snapshot at the start of a turn, the save for which nobody waits.
//! Each is this program again, in a process group of its own from its first instant, and with nothing of the hook's
//! terminal, pipes or time limits.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use transcript::Agent;

/// The hidden command that runs them.
pub(crate) const COMMAND: &str = "background";

/// Starts the work and goes on at once. `input` has to fit into a pipe.
pub(crate) fn start(work: &[&str], input: &[u8]) -> io::Result<()> {
    spawn(work, input, Stdio::null()).map(drop)
}

/// The same, with a request that the work reads from its stdin, and an ear to its stdout.
pub(crate) fn start_heard(work: &[&str], request: &[u8]) -> io::Result<ChildStdout> {
    let mut child = spawn(work, request, Stdio::piped())?;
    child.stdout.take().ok_or_else(|| io::Error::other("it has no stdout"))
}

fn spawn(work: &[&str], input: &[u8], stdout: Stdio) -> io::Result<Child> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = Command::new(machine::own_program()?)
        .arg(COMMAND)
        .args(work)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::null())
        // Out of the client's reach before this returns: a client may end the hook's whole group the moment it answers.
        .process_group(0)
        .spawn()?;
    match child.stdin.take() {
        Some(mut pipe) => pipe.write_all(input).map(|()| child),
        None => Ok(child),
    }
}

/// The same, with a request that the work reads from its stdin.
pub(crate) fn start_with(work: &[&str], request: &impl Serialize) -> io::Result<()> {
    start(work, &serde_json::to_vec(request)?)
}

/// A session whose work is to be saved, as one process tells another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SaveRequest {
    pub(crate) agent: Agent,
    pub(crate) session: String,
    pub(crate) cwd: PathBuf,
    pub(crate) transcript: Option<PathBuf>,
    pub(crate) turn: Option<String>,
    pub(crate) is_end: bool,
}

/// A terminal that is closed ends nobody's save. Where this cannot be asked for, only that end is left.
pub(crate) fn survive_hangup() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::default());
}
