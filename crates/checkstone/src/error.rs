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

    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
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
