//! What a save needs to know of the machine and the user, read by the program from its environment.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ChildStdout;

use changes::{GitProgram, Repository};
use gate::policy::{Autosave, SnapshotSettings};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::{AutosaveId, Journal, OpenFor};
use keeping::snapshot::{SnapshotError, Snapshots};
use stop::policy_files::FoundTexts;
use stop::{configured_snapshots, trust};

use crate::look::{Gitleaks, Look};

#[derive(Clone, Debug)]
pub struct SavingSettings {
    /// Where the journal and the locks are.
    pub state: PathBuf,
    /// The user's own configuration.
    pub user_file: Option<PathBuf>,
    /// The user's home, which notes do not name.
    pub home: Option<PathBuf>,
    /// For everything that is not on the clock of a hook.
    pub git: GitProgram,
    pub gitleaks: Option<PathBuf>,
    /// Where files lie that are gone when a save ends.
    pub temporary: PathBuf,
    /// The log of the script that this replaces, one line for each step.
    pub client_log: Option<PathBuf>,
    /// In which its times are.
    pub time_zone: TimeZone,
    /// Leaves the push of a save to a process of its own.
    pub start_push: fn(AutosaveId) -> io::Result<()>,
    /// Leaves a whole save to a process of its own, which reads this order from its stdin and writes how it ended to its stdout.
    pub start_save: fn(&[u8]) -> io::Result<ChildStdout>,
}

impl SavingSettings {
    /// Who looks for secrets.
    pub fn look(&self, settings: &Autosave) -> Look {
        let gitleaks = self.gitleaks.clone().map(|program| Gitleaks { program, folder: self.state.clone() });
        Look::new(settings, gitleaks).with_home(self.home.as_deref())
    }

    /// Those of the working tree, as the user's own configuration wants them, and a repository's file that is trusted.
    pub(crate) fn snapshots(&self, repository: &Repository) -> Result<Snapshots, SnapshotError> {
        let settings = self.snapshot_settings(repository);
        configured_snapshots(repository.clone(), &self.git, &settings, &self.state)
    }

    pub(crate) fn snapshot_settings(&self, repository: &Repository) -> SnapshotSettings {
        let found = FoundTexts::read(&repository.root, self.user_file.as_deref());
        let texts = found.texts();
        let needs_trust = trust::own_text(texts).is_some_and(|text| text.text.contains("snapshot"));
        let mut journal = needs_trust.then(|| Journal::open(&self.state, OpenFor::Command).ok()).flatten();
        let trust = trust::of_file_or_unknown(journal.as_mut(), texts);
        trust::snapshot_settings(trust, texts).unwrap_or_default()
    }

    /// A step, in the log of the script that this replaces, when it is taken. That it cannot be written stops nobody.
    pub fn log_step(&self, step: &str) {
        let Some(path) = &self.client_log else { return };
        let now = Timestamp::now().to_zoned(self.time_zone.clone());
        let line = format!("[{}] {}\n", now.strftime("%Y-%m-%d %H:%M:%S"), transcript::visible(step));
        let _ = files::regular_file::append(path, 0o666).map(|mut file| file.write_all(line.as_bytes()));
    }
}
