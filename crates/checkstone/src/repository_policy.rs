//! The policy of a repository for commands of people: the user's own configuration is found, and mistakes are explained.

use std::path::Path;

use gate::policy::{Policy, Problems};
use stop::policy_files::{FoundTexts, PolicyTexts};

use crate::environment;
use crate::error::CommandError;
use text::counted;

/// What the files say, a policy or not.
pub(crate) fn files(root: &Path) -> FoundTexts {
    FoundTexts::read(root, environment::configuration_file().as_deref())
}

/// `None` if the repository has no policy.
pub(crate) fn of(root: &Path) -> Option<PolicyTexts> {
    files(root).policy
}

/// The policy, for commands that need a sound one.
pub(crate) fn sound(texts: &PolicyTexts, hint: &str) -> Result<Policy, CommandError> {
    texts.load().map_err(|problems| mistakes(&problems).hint(hint))
}

pub(crate) fn mistakes(problems: &Problems) -> CommandError {
    let count = counted(problems.0.len(), "mistake");
    CommandError::usage(format!("the policy has {count}:\n{problems}"))
}
