//! What the page is told of machine and user.

use std::path::PathBuf;

use changes::GitProgram;
use jiff::tz::TimeZone;

#[derive(Clone, Debug)]
pub struct PageSettings {
    /// Where the journal is.
    pub state: PathBuf,
    /// The user's own configuration.
    pub user_file: Option<PathBuf>,
    /// Paths below it are shown with `~`.
    pub home: Option<PathBuf>,
    pub git: GitProgram,
    /// In which times are shown.
    pub time_zone: TimeZone,
    pub version: &'static str,
}
