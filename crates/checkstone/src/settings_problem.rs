//! Why a client's settings file cannot be looked into, and what to do about it.

use std::path::Path;

use agents::registration::settings::SettingsError;
use transcript::visible;

use crate::home_relative::home_relative;
use crate::settings_file::SettingsFileError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsProblem {
    #[error(transparent)]
    File(#[from] SettingsFileError),
    #[error(transparent)]
    Text(#[from] SettingsError),
}

impl SettingsProblem {
    /// The problem in a sentence about the file; `aside` is what else is to be known of it.
    pub(crate) fn sentence(&self, file: &Path, aside: Option<&str>) -> String {
        let (file, why) = (home_relative(file), self.to_string());
        let why = visible(&why);
        match (self, aside) {
            (Self::File(_), None) => format!("`{file}` {why}"),
            (Self::File(_), Some(aside)) => format!("`{file}`, {aside}, {why}"),
            (Self::Text(_), None) => format!("`{file}`: {why}"),
            (Self::Text(_), Some(aside)) => format!("`{file}`, {aside}: {why}"),
        }
    }

    /// Whether the client cannot read the file either; else it may, by rules of its own.
    pub(crate) fn is_of_client_too(&self) -> bool {
        matches!(self, Self::Text(SettingsError::Invalid(_) | SettingsError::InvalidToml(_)))
    }

    pub(crate) fn advice(&self) -> &'static str {
        match self.is_of_client_too() {
            true => "fix the file; the client cannot read it either",
            false => "fix that, so that `doctor` can check the file",
        }
    }
}
