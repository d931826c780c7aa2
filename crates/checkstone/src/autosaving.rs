//! What the user wants saved in a repository: the settings as far as they may be followed, and the switches beside them.
//! Where nothing is on, which is the default, finding that out costs one look at the file system.

use std::path::{Path, PathBuf};

use autosave::Switches;
use gate::policy::{Autosave, Policy, Problems, Trust};
use journal::Journal;
use stop::policy_files::{FoundTexts, PolicyTexts};
use stop::{Workplace, trust};
use transcript::Agent;

use crate::clients;
use crate::environment;
use crate::repository_policy;

/// In the client's folder: saves by itself where it is there.
const FLAG: &str = "autonomous-mode.active";

/// In the client's folder: one line for each step, where the flag is there.
const LOG: &str = "auto-continue.log";

/// In the project: nothing is saved where it is there.
const DISABLED: &str = ".claude/auto-continue-disabled";

/// Something may be on; the settings say what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) switches: Switches,
}

impl Wish {
    /// `None` where nothing is on, whatever the settings say. `cwd` is where the agent works, in the repository or below.
    pub(crate) fn of(workplace: &Workplace, cwd: &Path) -> Option<Self> {
        let root = workplace.repository_root()?;
        let is_looping = environment::read(environment::LOOP).is_some_and(|value| value == "1");
        let has_flag = flag().is_some_and(|path| path.symlink_metadata().is_ok());
        if !is_looping && !has_flag && !workplace.found.mention_autosave() {
            return None;
        }
        let switches = Switches { is_looping, has_flag, ..switches(root, cwd) };
        (!switches.is_disabled).then_some(Self { switches })
    }

    /// How the policy, and the switches, want it. What a repository's own file says counts only where it is trusted.
    pub(crate) fn settings(
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
pub(crate) fn of_repository(
    root: &Path,
    journal: Option<&mut Journal>,
) -> Result<(Autosave, bool), Problems> {
    let FoundTexts { policy, user } = repository_policy::files(root);
    let texts = policy.unwrap_or(user);
    let policy = texts.load()?;
    let followed = allowed(&policy, &texts, || trust::of_file_or_unknown(journal, &texts));
    let is_ignored = policy.autosave.with(Trust::Given) != Some(&followed);
    Ok((all_switches(root).apply(followed), is_ignored))
}

/// The switches as they stand, for commands that tell of them.
fn all_switches(root: &Path) -> Switches {
    let is_looping = environment::read(environment::LOOP).is_some_and(|value| value == "1");
    let has_flag = flag().is_some_and(|path| path.symlink_metadata().is_ok());
    Switches { is_looping, has_flag, ..switches(root, root) }
}

fn switches(root: &Path, cwd: &Path) -> Switches {
    // The root is named without links.
    let cwd = fs_err::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
    // A project may be a folder of the repository, or the other way round.
    let below = cwd.ancestors().take_while(|folder| *folder != root && folder.starts_with(root));
    let project = environment::read(environment::PROJECT).map(PathBuf::from);
    let mut folders = below.chain([root]).chain(project.as_deref());
    let threshold = environment::read(environment::THRESHOLD);
    Switches {
        is_disabled: folders.any(|folder| folder.join(DISABLED).symlink_metadata().is_ok()),
        threshold: threshold.and_then(|text| Switches::threshold_of(text.to_str()?)),
        ..Switches::default()
    }
}

/// The settings that may be followed.
pub(crate) fn allowed(
    policy: &Policy,
    texts: &PolicyTexts,
    trust: impl FnOnce() -> journal::Trust,
) -> Autosave {
    let given = |policy: &Policy| policy.autosave.with(Trust::Given).cloned().unwrap_or_default();
    let needs_trust =
        texts.own_file.is_some() && trust::own_text(texts).is_some_and(|text| text.text.contains("autosave"));
    if needs_trust && trust() != journal::Trust::Trusted {
        return trust::policy_of_user(texts).as_ref().map(given).unwrap_or_default();
    }
    given(policy)
}

fn flag() -> Option<PathBuf> {
    Some(clients::home(Agent::Claude)?.join(FLAG))
}

/// The log of the script that this replaces, for those who still use its flag.
pub(crate) fn client_log() -> Option<PathBuf> {
    let folder = clients::home(Agent::Claude)?;
    folder.join(FLAG).symlink_metadata().is_ok().then(|| folder.join(LOG))
}
