//! What the page is told of machine and user.

use std::path::PathBuf;

use changes::GitProgram;
use jiff::tz::TimeZone;

use crate::{TeamPlace, WaitingListener};

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
    /// The team that is shown, too.
    pub team: Option<TeamPlace>,
    /// Who hears of sessions that wait.
    pub waiting: Option<WaitingListener>,
}

/// What stands around every page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageFrame {
    pub(crate) version: &'static str,
    pub(crate) has_team: bool,
}

impl PageSettings {
    pub(crate) fn frame(&self) -> PageFrame {
        PageFrame { version: self.version, has_team: self.team.is_some() }
    }
}
