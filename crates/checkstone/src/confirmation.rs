//! A question to the person at the terminal, before something is changed.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::error::CommandError;

/// An error where nobody can be asked: `nothing` is what was not done.
pub(crate) fn must_be_possible(nothing: &str, json: bool, hint: &str) -> Result<(), CommandError> {
    let why = match (json, std::io::stdin().is_terminal()) {
        (true, _) => "`--json` does not ask",
        (false, false) => "not a terminal",
        (false, true) => return Ok(()),
    };
    Err(CommandError::refused(format!("{nothing}: {why}")).hint(hint))
}

/// What the person typed.
pub(crate) enum Reply {
    Yes,
    No,
    Other(String),
}

/// Asks the person at the terminal; anything but yes is no.
pub(crate) fn confirmed(question: &str) -> Result<bool, CommandError> {
    Ok(matches!(asked(question, "")?, Reply::Yes))
}

/// Asks the person at the terminal, who may answer something else as well, which `other` explains.
pub(crate) fn asked(question: &str, other: &str) -> Result<Reply, CommandError> {
    let other = if other.is_empty() { String::new() } else { format!("; {other}") };
    let mut stderr = anstream::stderr().lock();
    let _ = write!(stderr, "{question} [y/N{other}] ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Reply::Yes,
        "" | "n" | "no" => Reply::No,
        other => Reply::Other(other.to_owned()),
    })
}
