//! What a client says of our hooks, where it can be asked: which of them it knows and which of them it trusts. Only asked;
//! the trust itself is the person's to give.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agents::{KnownHook, TrustQuestion, host};
use files::BoundedChild;
use transcript::Agent;

use super::client;
use crate::interruption::Interruption;

const LIMIT: Duration = Duration::from_secs(10);

/// Whether any of the files that the client reads names us; else there is no need to start it.
pub(crate) fn may_know_us(agent: Agent, question: &TrustQuestion, home: &Path, root: Option<&Path>) -> bool {
    let names_us = |file: PathBuf| {
        fs_err::read(file).is_ok_and(|bytes| bytes.windows(10).any(|window| window == b"checkstone"))
    };
    let folders = [Some(home.to_owned()), root.map(|root| root.join(host(agent).files.folder))];
    let mut folders = folders.into_iter().flatten();
    folders.any(|folder| question.files.iter().any(|name| names_us(folder.join(name))))
}

/// Asks the client; what went wrong, where it does not answer.
pub(crate) fn ask(
    agent: Agent,
    question: &TrustQuestion,
    program: &Path,
    home: &Path,
    folder: &Path,
    interruption: &Interruption,
) -> Result<Vec<KnownHook>, String> {
    let service = question.service;
    let mut command = client::command(agent, program);
    command.args((question.arguments)(home)).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = BoundedChild::start(&mut command, interruption.bounds(LIMIT))
        .map_err(|error| format!("`{service}` cannot be started: {error}"))?;
    // It ends when its stdin does, so that stays open; all of this fits into the pipe.
    let input = (question.input)(folder, env!("CARGO_PKG_VERSION"));
    let _ = child.stdin().map(|stdin| stdin.write_all(input.as_bytes()));
    while let Ok(Some(line)) = child.line() {
        if let Some(answer) = (question.answer)(&line) {
            return answer.map_err(|error| error.to_string());
        }
    }
    Err(format!("`{service}` did not answer within {} seconds", LIMIT.as_secs()))
}
