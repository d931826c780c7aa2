//! What the user wants saved in a repository: the settings as far as they may be followed, and the switches beside them.
//! Where nothing is on, which is the default, finding that out costs one look at the file system.

use std::path::{Path, PathBuf};

use gate::policy::{Autosave, Policy, Problems, Trust};
use journal::Journal;
use stop::policy_files::{FoundTexts, PolicyTexts};
use stop::{Workplace, trust};

use crate::mode::Switches;

/// In the client's folder: saves by itself where it is there.
const FLAG: &str = "autonomous-mode.active";

/// In the client's folder: one line for each step of a save.
const LOG: &str = "auto-continue.log";

/// In the project: nothing is saved where it is there.
const DISABLED: &str = ".claude/auto-continue-disabled";

/// Where the switches beside the settings are.
#[derive(Clone, Debug, Default)]
pub struct SwitchSources {
    /// `CLAUDE_LOOP_ACTIVE` is `1`.
    pub is_looping: bool,
    /// The folder of Claude Code's own settings.
    pub client_folder: Option<PathBuf>,
    /// The folder in which Claude Code was started.
    pub project: Option<PathBuf>,
    /// How full the context has to be, in percent.
    pub threshold: Option<u8>,
}

/// Something may be on; the settings say what.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub switches: Switches,
}

impl Wish {
    /// `None` if nothing is on, whatever the settings say. `cwd` is where the agent works, in the repository or below.
    pub fn of(workplace: &Workplace, cwd: &Path, sources: &SwitchSources) -> Option<Self> {
        let root = workplace.repository_root()?;
        if !sources.is_looping && !workplace.found.mention_autosave() && !sources.has_flag() {
            return None;
        }
        let switches = sources.switches(root, cwd);
        (!switches.is_disabled).then_some(Self { switches })
    }

    /// How the policy, and the switches, want it. What a repository's own file says counts only where it is trusted.
    pub fn settings(
        &self,
        policy: &Policy,
        texts: &PolicyTexts,
        trust: impl FnOnce() -> journal::Trust,
    ) -> Autosave {
        self.switches.apply(allowed(policy, texts, trust))
    }
}

/// The settings of a repository, for whoever is not at a stop: those that are followed, and whether the repository's own
/// file asks for others in vain.
pub fn of_repository(
    root: &Path,
    user_file: Option<&Path>,
    sources: &SwitchSources,
    journal: Option<&mut Journal>,
) -> Result<(Autosave, bool), Problems> {
    let FoundTexts { policy, user, .. } = FoundTexts::read(root, user_file);
    let texts = policy.unwrap_or(user);
    let policy = texts.load()?;
    let followed = allowed(&policy, &texts, || trust::of_file_or_unknown(journal, &texts));
    let is_ignored = policy.autosave.with(Trust::Given) != Some(&followed);
    Ok((sources.switches(root, root).apply(followed), is_ignored))
}

impl SwitchSources {
    fn flag(&self) -> Option<PathBuf> {
        self.client_folder.as_ref().map(|folder| folder.join(FLAG))
    }

    fn has_flag(&self) -> bool {
        self.flag().is_some_and(|path| path.symlink_metadata().is_ok())
    }

    /// The log of the script that this replaces.
    pub fn client_log(&self) -> Option<PathBuf> {
        self.client_folder.as_ref().map(|folder| folder.join(LOG))
    }

    /// The switches as they stand for an agent that works in `cwd`, in the repository or below.
    fn switches(&self, root: &Path, cwd: &Path) -> Switches {
        // The root is named without links.
        let cwd = fs_err::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        // A project may be a folder of the repository, or the other way round.
        let below = cwd.ancestors().take_while(|folder| *folder != root && folder.starts_with(root));
        let mut folders = below.chain([root]).chain(self.project.as_deref());
        Switches {
            is_disabled: folders.any(|folder| folder.join(DISABLED).symlink_metadata().is_ok()),
            has_flag: self.has_flag(),
            is_looping: self.is_looping,
            threshold: self.threshold,
        }
    }
}

/// The settings that may be followed.
pub fn allowed(policy: &Policy, texts: &PolicyTexts, trust: impl FnOnce() -> journal::Trust) -> Autosave {
    let given = |policy: &Policy| policy.autosave.with(Trust::Given).cloned().unwrap_or_default();
    let needs_trust =
        texts.own_file.is_some() && trust::own_text(texts).is_some_and(|text| text.text.contains("autosave"));
    if needs_trust && trust() != journal::Trust::Trusted {
        return trust::policy_of_user(texts).as_ref().map(given).unwrap_or_default();
    }
    given(policy)
}
