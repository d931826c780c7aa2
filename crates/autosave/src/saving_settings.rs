//! What a save needs to know of the machine and the user, read by the program from its environment.

use std::io;
use std::path::PathBuf;

use changes::GitProgram;
use gate::policy::Autosave;
use journal::AutosaveId;

use crate::look::{Gitleaks, Look};

#[derive(Clone, Debug)]
pub struct SavingSettings {
    /// Where the journal and the locks are.
    pub state: PathBuf,
    /// The user's own configuration.
    pub user_file: Option<PathBuf>,
    /// For everything that is not on the clock of a hook.
    pub git: GitProgram,
    pub gitleaks: Option<PathBuf>,
    /// Where files lie that are gone when a save ends.
    pub temporary: PathBuf,
    /// The log of the script that this replaces, for those who still use its flag.
    pub client_log: Option<PathBuf>,
    /// Leaves the push of a save to a process of its own.
    pub start_push: fn(AutosaveId) -> io::Result<()>,
}

impl SavingSettings {
    /// Who looks for secrets.
    pub fn look(&self, settings: &Autosave) -> Look {
        let gitleaks = self.gitleaks.clone().map(|program| Gitleaks { program, folder: self.state.clone() });
        Look::new(settings, gitleaks)
    }
}
