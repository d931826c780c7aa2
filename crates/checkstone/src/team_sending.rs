//! What goes to the team's database, by `[team]` of the user's own configuration: the process that sends it, and what the commands need to
//! know of it. A build without PostgreSQL starts nothing.

use std::path::Path;

#[cfg(feature = "postgres")]
use team::{Collector, ResidentSender, Sender, TeamSettings, TeamSettingsError};

#[cfg(feature = "postgres")]
use crate::arguments::VERSION;
#[cfg(feature = "postgres")]
use crate::background;
#[cfg(feature = "postgres")]
use crate::environment;
#[cfg(feature = "postgres")]
use crate::error::{CommandError, ErrorKind};

/// The word of the hidden command that runs the sender.
#[cfg(feature = "postgres")]
const WORK: &str = "team";

/// Starts the sender unless it is there. Something was recorded, and nobody waits for what becomes of it.
#[cfg(feature = "postgres")]
pub(crate) fn wake(state: &Path) {
    if !team::is_resident(state)
        && let Err(error) = background::start(&[WORK], &[])
    {
        let now = jiff::Timestamp::now();
        stop::append_to_log(state, &format!("{now:.3} team: the sender could not be started: {error}"));
    }
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn wake(_state: &Path) {}

/// `None` where nothing is to be sent.
#[cfg(feature = "postgres")]
pub(crate) fn settings() -> Result<Option<TeamSettings>, CommandError> {
    let Some(path) = environment::configuration_file() else { return Ok(None) };
    let text = stop::policy_files::read(&path)
        .map_err(|problem| CommandError::failed(format!("`{}` cannot be read: {problem}", path.display())))?;
    Ok(TeamSettings::read(&text.unwrap_or_default())?)
}

/// Sends until nothing happened for a minute.
#[cfg(feature = "postgres")]
pub(crate) fn stay(state: &Path) -> Result<(), CommandError> {
    if let Some(settings) = settings()? {
        let home = environment::home();
        ResidentSender::new(state, settings, home.as_deref(), environment::git(), VERSION).stay();
    }
    Ok(())
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn stay(_state: &Path) -> Result<(), crate::error::CommandError> {
    Ok(())
}

/// Who reads the journal, and who sends.
#[cfg(feature = "postgres")]
pub(crate) fn workers(state: &Path, settings: &TeamSettings) -> (Collector, Sender) {
    let home = environment::home();
    let collector = Collector::new(state, settings, home.as_deref(), environment::git());
    (collector, Sender::new(state, settings.clone(), VERSION))
}

#[cfg(feature = "postgres")]
impl From<TeamSettingsError> for CommandError {
    fn from(error: TeamSettingsError) -> Self {
        Self::of(ErrorKind::Usage, &error).hint("correct `[team]` in your own `config.toml`")
    }
}

/// How sending stands; `None` where nothing is sent.
#[cfg(feature = "postgres")]
pub(crate) fn sentence(state: &Path) -> Option<String> {
    let settings = match settings() {
        Ok(settings) => settings?,
        Err(error) => return Some(error.message().to_owned()),
    };
    let tried = team::Outbox::open_existing(state).ok().flatten().and_then(|outbox| outbox.last_try().ok());
    let waiting = team::waiting(state).unwrap_or_default();
    Some(match tried.and_then(|tried| tried.error) {
        Some(error) => format!(
            "{} waiting: {error}",
            text::counted(usize::try_from(waiting).unwrap_or(usize::MAX), "event")
        ),
        None => format!("facts go to {}", settings.address),
    })
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn sentence(_state: &Path) -> Option<String> {
    None
}
