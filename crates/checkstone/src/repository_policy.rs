//! The policy of a repository for commands of people: the user's own configuration is found, and mistakes are explained.

use std::path::Path;

use gate::policy::{Policy, Problem, Problems};
use stop::policy_files::{FoundTexts, PolicyTexts, USER_FILE_NAME};

use crate::environment;
use crate::error::CommandError;
use crate::home_relative::home_relative;
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
    let list: Vec<String> = problems.0.iter().map(located).collect();
    let whose = if are_users(&problems.0) { "your configuration" } else { "the policy" };
    CommandError::usage(format!("{whose} has {count}:\n{}", list.join("\n")))
}

/// Whether all of them are in the user's own file.
pub(crate) fn are_users(problems: &[Problem]) -> bool {
    problems.iter().all(|problem| problem.file == USER_FILE_NAME)
}

/// A mistake with its place; people are not where their own file is, so that its whole path is shown.
pub(crate) fn located(problem: &Problem) -> String {
    match environment::configuration_file().filter(|_| problem.file == USER_FILE_NAME) {
        Some(file) => Problem { file: home_relative(&file), ..problem.clone() }.to_string(),
        None => problem.to_string(),
    }
}
