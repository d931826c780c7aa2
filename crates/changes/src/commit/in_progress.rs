//! Whether git is in the middle of something that a commit would become a part of.

use std::path::Path;

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

pub(super) fn operation(git_dir: &Path) -> Option<&'static str> {
    let there = |name: &str| git_dir.join(name).symlink_metadata().is_ok();
    SIGNS.iter().find(|(name, _)| there(name)).map(|(_, operation)| *operation)
}
