//! What every event of a client is answered with: who says what, where, and when.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::Payload;
use jiff::Timestamp;
use journal::SeenSession;

use crate::settings::StopSettings;
use crate::stopwatch::Stopwatch;

/// A hook that is registered twice gets the same event within this time.
pub const SAME_DELIVERY: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub struct ClientEvent {
    pub payload: Payload,
    /// The client's own id of the session; empty if no session is known.
    pub session: String,
    pub cwd: PathBuf,
    pub settings: StopSettings,
    pub now: Timestamp,
    pub stopwatch: Stopwatch,
    /// Nothing is recorded, and nothing is said.
    pub is_dry_run: bool,
}

impl ClientEvent {
    pub(crate) fn agent(&self) -> &'static str {
        self.payload.agent.name()
    }

    /// The session as the journal sees it now.
    pub fn seen<'a>(&'a self, repository: Option<&'a Path>) -> SeenSession<'a> {
        SeenSession {
            agent: self.agent(),
            client_id: &self.session,
            directory: Some(&self.cwd),
            repository,
            transcript: self.payload.transcript.as_deref(),
        }
    }

    /// One line of the log. Never the environment, never what was said.
    pub fn log(&self, decision: &str, reason: &str) {
        if self.is_dry_run {
            return;
        }
        let line = format!(
            "{:.3} {} {} {decision}: {reason} [{}]",
            self.now,
            self.agent(),
            self.session,
            self.stopwatch.report()
        );
        append_to_log(&self.settings.state, &line);
    }
}

/// The log is for people; that it cannot be written stops nobody.
pub fn append_to_log(state: &Path, line: &str) {
    let _ = journal::log::append(state, line);
}
