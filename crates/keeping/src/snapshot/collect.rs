//! How the working tree differs from HEAD, by `git status`: which paths are gone, which git has already, and which
//! have to be read.

use std::collections::{BTreeMap, BTreeSet};

use change_set::BytePath;
use changes::Error;
use changes::git::{RunningGit, is_of_git};
use changes::status::{self, EntryKind};

#[derive(Debug, Default)]
pub(super) struct CollectedPaths {
    pub(super) head: Option<String>,
    pub(super) deleted: BTreeSet<BytePath>,
    /// As the index has it, with mode and id: staged, and not changed since.
    pub(super) known: Vec<(BytePath, String, String)>,
    /// To be looked at on disk.
    pub(super) on_disk: BTreeMap<BytePath, EntryKind>,
    /// What git could not look at, in its own words.
    pub(super) complaints: Vec<String>,
}

pub(super) fn finish(running: RunningGit) -> Result<CollectedPaths, Error> {
    let (output, complaint) = running.finish_with_complaint()?;
    let status = status::parse(&output)?;
    let mut collected = CollectedPaths { head: status.head, ..CollectedPaths::default() };
    for entry in status.entries {
        if entry.kind == EntryKind::Tracked && !entry.is_unstaged() {
            if entry.staged == b'D' {
                collected.deleted.insert(entry.path);
            } else {
                collected.known.push((entry.path, entry.index_mode, entry.index_id));
            }
        } else {
            collected.on_disk.insert(entry.path, entry.kind);
        }
    }
    // What was removed from the index and is still there is listed twice: it is there.
    collected.deleted.retain(|path| !collected.on_disk.contains_key(path));
    let complaint = String::from_utf8_lossy(&complaint);
    let lines = complaint.lines().filter(|line| is_of_git(line));
    collected.complaints = lines.map(str::to_owned).collect();
    Ok(collected)
}
