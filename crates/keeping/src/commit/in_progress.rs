//! Whether git is in the middle of something that a commit would become a part of.

use changes::{Error, Repository};

use crate::acting::ActingGit;

/// The files by which git itself knows; each worktree has its own.
const SIGNS: [(&str, &str); 8] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "`git am`"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    // Between two picks of a series.
    ("sequencer", "cherry-pick or revert"),
    ("BISECT_LOG", "bisect"),
];

/// Where the branches are not files, these are not files either.
const AS_REFS: [(&str, &str); 2] = [("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")];

pub(super) fn operation(repository: &Repository, git: &ActingGit) -> Result<Option<&'static str>, Error> {
    let there = |name: &str| repository.git_dir.join(name).symlink_metadata().is_ok();
    if let Some((_, operation)) = SIGNS.iter().find(|(name, _)| there(name)) {
        return Ok(Some(operation));
    }
    if repository.common_dir.join("reftable").is_dir() {
        for (name, operation) in AS_REFS {
            if git.line_or_none(&["rev-parse", "--verify", "--quiet", name])?.is_some() {
                return Ok(Some(operation));
            }
        }
    }
    Ok(None)
}
