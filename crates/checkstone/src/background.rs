//! Processes that a hook leaves behind: the push, and the save for which nobody waits. Each is this program again, in a
//! session of its own and with nothing of the hook's terminal, pipes or time limits.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The hidden command that runs them.
pub(crate) const COMMAND: &str = "background";

/// The running program, also where its file was replaced meanwhile.
const OWN: &str = "/proc/self/exe";

/// Starts the work and goes on at once. `input` has to fit into a pipe.
pub(crate) fn start(work: &[&str], input: &[u8]) -> io::Result<()> {
    let program = match Path::new(OWN).exists() {
        true => Path::new(OWN).to_owned(),
        false => std::env::current_exe()?,
    };
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = Command::new(program)
        .arg(COMMAND)
        .args(work)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    match child.stdin.take() {
        Some(mut pipe) => pipe.write_all(input),
        None => Ok(()),
    }
}

/// Away from whoever started this: its terminal, its group, and what is sent to either.
pub(crate) fn leave_session() {
    // Fails only where this is the first of a group already, which is as good.
    let _ = rustix::process::setsid();
}
