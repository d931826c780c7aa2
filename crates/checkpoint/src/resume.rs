//! The last valid checkpoint, and why those after it were passed over.

use std::path::Path;

use files::FileError;

use crate::list::entries;
use crate::manifest::{Artifact, Sealed};
use crate::validate::{Checker, Depth, Issue, Validation};

#[derive(Debug)]
pub struct CheckpointSearch {
    pub checkpoint: Option<UsableCheckpoint>,
    /// How many were looked at.
    pub searched: usize,
    /// Those that are newer and cannot be used, the newest first.
    pub skipped: Vec<SkippedCheckpoint>,
}

/// A checkpoint that a run can go on from.
#[derive(Debug)]
pub struct UsableCheckpoint {
    pub run: String,
    pub id: String,
    pub sealed: Sealed,
    /// What `restore` has to bring back from the store first.
    pub to_restore: Vec<Artifact>,
}

#[derive(Debug)]
pub struct SkippedCheckpoint {
    pub run: String,
    pub id: String,
    pub issues: Vec<Issue>,
}

/// The newest checkpoint of a run, or of all runs of a title, that is valid or can be made so from the store. With
/// [`Depth::Full`] the one that is answered has been read.
pub fn last_valid(
    root: &Path,
    title: &str,
    run: Option<&str>,
    depth: Depth,
) -> Result<CheckpointSearch, FileError> {
    let checker = Checker::open(root, title)?;
    let mut found = CheckpointSearch { checkpoint: None, searched: 0, skipped: Vec::new() };
    for entry in entries(root, Some(title), run)? {
        found.searched += 1;
        let mut validated = checker.check(&entry.run, &entry.id, Depth::Quick);
        if validated.is_usable() && depth == Depth::Full {
            validated = checker.check(&entry.run, &entry.id, Depth::Full);
        }
        let usable = validated.is_usable();
        let Validation { manifest, issues, to_restore, .. } = validated;
        match manifest {
            Some(sealed) if usable => {
                found.checkpoint =
                    Some(UsableCheckpoint { run: entry.run, id: entry.id, sealed, to_restore });
                break;
            }
            _ => found.skipped.push(SkippedCheckpoint { run: entry.run, id: entry.id, issues }),
        }
    }
    Ok(found)
}
