//! Why a command could not do its work: the kind of error, which scripts see as the exit code, what failed, and what
//! to do about it.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use files::FileError;
use text::{error_chain, without_error_numbers, wrap};

/// What kind of trouble ended a command; its number is the exit code.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum ErrorKind {
    Usage = 2,
    NotFound = 3,
    Refused = 4,
    Failed = 5,
    Environment = 6,
    /// What a shell reports of a program that Ctrl-C ended.
    Interrupted = 130,
}

impl ErrorKind {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// Every exit code of the program with its name and meaning, as the help and `docs/exit-codes.md` list them.
const EXIT_CODES: [(u8, &str, &str); 8] = {
    use ErrorKind::{Environment, Failed, Interrupted, NotFound, Refused, Usage};
    [
        (0, "done", "done, or the answer is yes"),
        (1, "no", "the answer is no: a hold, a blocked gate, too many tokens, something left out"),
        (Usage as u8, "usage", "wrong arguments, or a mistake in your policy, plan or hand-off"),
        (NotFound as u8, "not found", "no such session, verdict, run, checkpoint, workflow, save or file"),
        (
            Refused as u8,
            "refused",
            "not trusted, not for an agent, would overwrite, needs `--yes`, or in use",
        ),
        (Failed as u8, "failed", "git, the disk, a service or a process failed"),
        (
            Environment as u8,
            "environment",
            "no git, `HOME`, tmux or Python here, or the state directory or the output cannot be written",
        ),
        (Interrupted as u8, "interrupted", "interrupted with Ctrl-C"),
    ]
};

/// The exit codes as the last part of the help.
pub(crate) fn exit_codes_help(width: usize) -> String {
    let rows = EXIT_CODES.map(|(code, name, meaning)| {
        format!("\n  {code:<3}  {name:<11}  {}", wrap(meaning, 20, Some(width)))
    });
    format!("Exit codes (`check`, `verify`: 2 for every error; `hook`: always 0):{}", rows.concat())
}

#[derive(Debug)]
pub(crate) struct CommandError {
    kind: ErrorKind,
    message: String,
    hints: Vec<String>,
}

impl CommandError {
    /// Wrong arguments, or a file of the user's that is wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::of_kind(ErrorKind::Usage, message)
    }

    /// Something that was named does not exist.
    pub(crate) fn not_found(message: impl Display) -> Self {
        Self::of_kind(ErrorKind::NotFound, message)
    }

    /// Possible, but not allowed here and now.
    pub(crate) fn refused(message: impl Display) -> Self {
        Self::of_kind(ErrorKind::Refused, message)
    }

    /// Something that should work did not.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self::of_kind(ErrorKind::Failed, message)
    }

    /// This machine or account lacks something.
    pub(crate) fn environment(message: impl Display) -> Self {
        Self::of_kind(ErrorKind::Environment, message)
    }

    /// The answer did not reach its reader.
    pub(crate) fn unwritten(error: &io::Error) -> Self {
        Self::environment(format!("the output could not be written: {error}"))
            .hint_at_room(error, "run the command again")
    }

    /// The person pressed Ctrl-C.
    pub(crate) fn interrupted(message: impl Display) -> Self {
        Self::of_kind(ErrorKind::Interrupted, message)
    }

    fn of_kind(kind: ErrorKind, message: impl Display) -> Self {
        Self { kind, message: without_error_numbers(&message.to_string()), hints: Vec::new() }
    }

    /// An error of a library, with its causes.
    pub(crate) fn of(kind: ErrorKind, error: &(dyn Error + 'static)) -> Self {
        Self::of_kind(kind, error_chain(error)).hint(database_advice(error).unwrap_or_default())
    }

    /// With what could not be done, before the reason.
    pub(crate) fn context(mut self, what: impl Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// With what to do about it; an empty hint is none.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.extend(Some(hint.to_string()).filter(|hint| !hint.is_empty()));
        self
    }

    /// If a full or read-only disk is the cause, what to do about it, and what to do then.
    pub(crate) fn hint_at_room(self, error: &(dyn Error + 'static), then: &str) -> Self {
        use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let mut causes = std::iter::successors(Some(error), |error| (*error).source());
        let kind = causes.find_map(|error| Some(error.downcast_ref::<io::Error>()?.kind()));
        match kind {
            Some(StorageFull | QuotaExceeded) => self.hint(format!("free some disk space, then {then}")),
            Some(ReadOnlyFilesystem | PermissionDenied) => {
                self.hint(format!("make the folder writable, then {then}"))
            }
            _ => self,
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl Display for CommandError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for CommandError {}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::Refused,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::IsADirectory => {
                ErrorKind::Usage
            }
            _ => ErrorKind::Failed,
        };
        Self::of(kind, &error)
    }
}

impl From<FileError> for CommandError {
    fn from(error: FileError) -> Self {
        let kind = match &error {
            FileError::NotFound { .. } => ErrorKind::NotFound,
            FileError::SymbolicLink { .. } => ErrorKind::Refused,
            FileError::Failed { .. } => ErrorKind::Failed,
            _ => ErrorKind::Usage,
        };
        Self::of(kind, &error)
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::of(ErrorKind::Failed, &error)
    }
}

/// Something that a person should know beside the answer.
#[derive(Debug)]
pub(crate) struct Warning {
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl Warning {
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: without_error_numbers(&message.to_string()), hints: Vec::new() }
    }

    /// An error of a library, with its causes.
    pub(crate) fn of(error: &dyn Error) -> Self {
        Self::new(error_chain(error))
    }

    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }
}

/// What to do about a database that is at the bottom of an error.
#[cfg(feature = "postgres")]
fn database_advice(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut causes = std::iter::successors(Some(error), |cause| (*cause).source());
    causes.find_map(|cause| cause.downcast_ref::<database::DatabaseError>())?.advice()
}

#[cfg(not(feature = "postgres"))]
fn database_advice(_error: &(dyn Error + 'static)) -> Option<&'static str> {
    None
}

/// An error that does not keep the command from its work.
impl From<CommandError> for Warning {
    fn from(error: CommandError) -> Self {
        Self { message: error.message, hints: error.hints }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_exit_codes_lists_those_of_the_table() {
        let page = include_str!("../../../docs/exit-codes.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let expected =
            EXIT_CODES.map(|(code, name, meaning)| format!("| {code} | {name} | {meaning} |")).to_vec();
        assert_eq!(rows, expected);
    }
}
