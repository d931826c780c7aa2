//! The branch that work goes to: the one that was named, else what the job's environment says, else the remote's main branch.

use std::time::Duration;

use changes::{CommitRangeError, Repository, first_commit};
use transcript::visible;

use crate::environment;
use crate::error::CommandError;

/// A git that takes longer than this hangs.
pub(crate) const GIT_LIMIT: Duration = Duration::from_secs(60);

/// The base; `None` if nothing names one.
pub(crate) fn find(repository: &Repository, named: Option<&str>) -> Result<Option<String>, CommandError> {
    if let Some(name) = named {
        return Ok(Some(name.to_owned()));
    }
    // In full, so that no tag of the same name is taken for it.
    let of_remote =
        |branch: String| [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")];
    let mut names: Vec<String> = Vec::new();
    names.extend(environment::text(environment::GITLAB_BASE));
    for variable in [environment::GITHUB_TARGET, environment::GITLAB_TARGET] {
        names.extend(environment::text(variable).into_iter().flat_map(of_remote));
    }
    // Of a push: what the branch was before. A new branch was nothing, which is written in zeros.
    let before = environment::text(environment::GITLAB_BEFORE);
    names.extend(before.filter(|id| id.bytes().any(|byte| byte != b'0')));
    names.extend(["HEAD", "main", "master"].map(|name| format!("refs/remotes/origin/{name}")));
    Ok(first_commit(repository, &environment::git().within(GIT_LIMIT), &names)?)
}

/// The name as people write it.
pub(crate) fn short(name: &str) -> &str {
    if matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return text::head(name, 7);
    }
    let branch = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("refs/heads/"));
    branch.unwrap_or(name)
}

impl From<CommitRangeError> for CommandError {
    fn from(error: CommitRangeError) -> Self {
        match error {
            CommitRangeError::Git(error) => error.into(),
            CommitRangeError::Unknown { name } if name == "HEAD" => {
                Self::not_found("there is no commit here yet").hint("commit something first")
            }
            CommitRangeError::Unknown { name } => {
                Self::not_found(format!("there is no commit `{}` here", visible(&name)))
                    .hint("fetch it first, or name another one")
            }
            CommitRangeError::Shallow { base, head } => Self::not_found(format!(
                "this clone is shallow, and does not have the commit where `{}` and `{}` diverged",
                visible(short(&base)),
                visible(short(&head))
            ))
            .hint(
                "fetch the whole history: `git fetch --unshallow`, `fetch-depth: 0` for `actions/checkout`, `GIT_DEPTH: 0` in GitLab",
            ),
        }
    }
}
