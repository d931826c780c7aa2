//! What saves are told of the machine and the user: switches, folders and programs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::agent_that;
use autosave::{SavingSettings, SwitchSources, Switches, wish};
use gate::policy::{Autosave, Problems};
use journal::Journal;

use crate::background;
use crate::clients;
use crate::environment;

/// No git process of a save takes longer, snapshots of large trees included.
const GIT_LIMIT: Duration = Duration::from_secs(30);

/// The switches beside the settings, as the environment has them.
pub(crate) fn switches() -> SwitchSources {
    SwitchSources {
        is_looping: environment::read(environment::LOOP).is_some_and(|value| value == "1"),
        client_folder: agent_that(|host| host.files.has_execution_switches).and_then(clients::home),
        project: environment::read(environment::PROJECT).map(PathBuf::from),
        threshold: environment::read(environment::THRESHOLD)
            .and_then(|text| Switches::threshold_of(text.to_str()?)),
    }
}

pub(crate) fn settings(state: PathBuf) -> SavingSettings {
    SavingSettings {
        state,
        user_file: environment::configuration_file(),
        home: environment::home(),
        git: environment::git().within(GIT_LIMIT),
        gitleaks: environment::program("gitleaks"),
        temporary: environment::temporary_directory(),
        client_log: switches().client_log(),
        time_zone: environment::time_zone(),
        start_push: |id| background::start(&["push", &id.0.to_string()], b""),
        start_save: |order| background::start_heard(&["stop-save"], order),
    }
}

/// The settings of a repository: those that are followed, and whether its own file asks for others in vain.
pub(crate) fn of_repository(
    root: &Path,
    journal: Option<&mut Journal>,
) -> Result<(Autosave, bool), Problems> {
    wish::of_repository(root, environment::configuration_file().as_deref(), &switches(), journal)
}
