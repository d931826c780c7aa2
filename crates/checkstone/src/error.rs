//! What a command tells a person when it cannot do its work: what failed, why, and what to do.

use std::fmt;
use std::process::ExitCode;

#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), hints: Vec::new() }
    }

    /// An error of a library, with what caused it.
    pub(crate) fn of(error: &dyn std::error::Error) -> Self {
        Self::new(text::error_chain(error))
    }

    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Where a full or read-only disk is behind the error, what to do about it, and then.
    pub(crate) fn hint_at_room(self, error: &(dyn std::error::Error + 'static), then: &str) -> Self {
        use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let mut causes = std::iter::successors(Some(error), |error| error.source());
        let kind = causes.find_map(|error| Some(error.downcast_ref::<std::io::Error>()?.kind()));
        match kind {
            Some(StorageFull | QuotaExceeded) => {
                self.hint(format!("free some room on its disk; then {then}"))
            }
            Some(ReadOnlyFilesystem | PermissionDenied) => {
                self.hint(format!("make its folder writable for you; then {then}"))
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

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(2)
    }
}
