//! Where the clients were seen to call us, kept in the journal: whoever removes a registration is noticed at the next event
//! that still reaches us, and by `status` and `doctor`. A file that was not touched is not read again.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::registration::settings;
use agents::{EventKind, host};
use jiff::Timestamp;
use journal::{Journal, JournalError, Registration};
use transcript::Agent;

use crate::clients::{ClientFiles, Scope};
use crate::home_relative::home_relative;
use crate::settings_file::SettingsFile;

/// How exactly it is known when a registration was seen last.
const SEEN_WITHIN: Duration = Duration::from_secs(10 * 60);

/// A registration that is not there any more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MissingRegistration {
    pub(crate) agent: Agent,
    pub(crate) file: PathBuf,
    pub(crate) seen_at: Timestamp,
}

impl MissingRegistration {
    /// For the person, at an event.
    pub(crate) fn sentence(&self) -> String {
        let client = settings::client(self.agent);
        format!("The hooks of {client} are {}. `checkstone init` registers them again.", self.what())
    }

    pub(crate) fn what(&self) -> String {
        let file = home_relative(&self.file);
        format!("no longer registered in `{file}`, where they were last seen at {:.0}", self.seen_at)
    }
}

/// Those that are gone now, for whoever only looks.
pub(crate) fn missing(known: &[Registration]) -> Vec<MissingRegistration> {
    let missing = known.iter().filter_map(|known| {
        let agent = agent_of(known)?;
        let is_gone = match stamp(&known.file) == known.stamp {
            true => known.is_gone,
            false => is_registered(agent, &known.file) == Some(false),
        };
        is_gone.then(|| gone(known, agent))
    });
    missing.collect()
}

/// Takes notice of what became of the files: those from which our hooks vanished since the last look.
pub(crate) fn note_changes(
    journal: &mut Journal,
    known: &[Registration],
    now: Timestamp,
) -> Result<Vec<MissingRegistration>, JournalError> {
    let mut missing = Vec::new();
    for registration in known {
        let stamp = stamp(&registration.file);
        let (Some(agent), false) = (agent_of(registration), stamp == registration.stamp) else { continue };
        match is_registered(agent, &registration.file) {
            Some(true) => journal.write(|writing| {
                writing.see_registration(&registration.agent, &registration.file, &stamp, now)
            })?,
            Some(false) => {
                let is_news = journal.write(|writing| {
                    writing.miss_registration(&registration.agent, &registration.file, &stamp)
                })?;
                missing.extend(is_news.then(|| gone(registration, agent)));
            }
            // Looked at again at the next event.
            None => {}
        }
    }
    Ok(missing)
}

/// Learns where `agent` calls us from, which it just did.
pub(crate) fn learn(
    journal: &mut Journal,
    known: &[Registration],
    agent: Agent,
    root: Option<&Path>,
    now: Timestamp,
) -> Result<(), JournalError> {
    for file in candidates(agent, root) {
        let is_known = known.iter().find(|known| known.agent == agent.name() && known.file == file);
        let is_due = match is_known {
            Some(known) => !known.is_gone && now.duration_since(known.seen_at).unsigned_abs() > SEEN_WITHIN,
            None => is_registered(agent, &file) == Some(true),
        };
        if is_due {
            let stamp = stamp(&file);
            journal.write(|writing| writing.see_registration(agent.name(), &file, &stamp, now))?;
        }
    }
    Ok(())
}

/// Whether any client that this program knows calls us here, as far as its files tell; what cannot be understood may.
pub(crate) fn any_is_there(root: Option<&Path>) -> bool {
    let is_there = |agent: Agent| {
        let mut files = candidates(agent, root).into_iter();
        let folder = ClientFiles::of(agent, Scope::User).map(|files| files.folder);
        let is_elsewhere = |folder: &Path| {
            let places = &host(agent).files;
            let text =
                places.hand_written.as_ref().map(|other| fs_err::read_to_string(folder.join(other.file)));
            text.is_some_and(|text| text.is_ok_and(|text| text.contains("checkstone")))
                || places.package.as_ref().is_some_and(|package| (package.is_installed)(folder))
        };
        files.any(|file| is_registered(agent, &file) != Some(false))
            || folder.is_some_and(|folder| is_elsewhere(&folder))
    };
    Agent::ALL.into_iter().any(is_there)
}

/// The settings files in which the hooks of a client are registered, by `init` or by hand.
fn candidates(agent: Agent, root: Option<&Path>) -> Vec<PathBuf> {
    let user = ClientFiles::of(agent, Scope::User);
    let project = root.and_then(|root| ClientFiles::of(agent, Scope::Project(root)));
    let local = project.as_ref().and_then(ClientFiles::local);
    let files = user.into_iter().chain(project).map(|files| files.settings).chain(local);
    files.filter(|file| file.is_file()).collect()
}

fn agent_of(known: &Registration) -> Option<Agent> {
    Agent::named(&known.agent)
}

fn gone(known: &Registration, agent: Agent) -> MissingRegistration {
    MissingRegistration { agent, file: known.file.clone(), seen_at: known.seen_at }
}

/// Whether the client would call us at a stop by this file; `None` if it cannot be understood just now.
fn is_registered(agent: Agent, file: &Path) -> Option<bool> {
    let Some(text) = SettingsFile::read(file).ok()?.text else { return Some(false) };
    let stop = host(agent).event_name(EventKind::Stop);
    let has_stop = settings::find(agent, &text).ok()?.iter().any(|own| Some(own.event.as_str()) == stop);
    let has_plugin = settings::has_plugin(agent, &text);
    Some((has_stop || has_plugin) && settings::switched_off(agent, &text).is_none())
}

/// By which it is seen that a file was touched.
fn stamp(file: &Path) -> String {
    fs_err::metadata(file)
        .map(|file| format!("{}:{}:{}:{}", file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
        .unwrap_or_default()
}
