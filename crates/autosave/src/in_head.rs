//! Which version of a file HEAD has, whether or not the file is checked out here.

use changes::snapshot::{Facts, Reason, Side, Snapshot, SnapshotError, Snapshots};
use changes::{BytePath, Repository, Settings};

/// The tree without anything, which git knows without having it, by the length of the repository's ids.
const NOTHING: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const NOTHING_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// The id of its content; `None` where HEAD has no such file, or there is no commit yet.
pub(crate) fn version(
    repository: &Repository,
    git: &Settings,
    path: &BytePath,
) -> Result<Option<String>, SnapshotError> {
    let Some(head) = repository.head(git)? else { return Ok(None) };
    let nothing = if head.len() == NOTHING.len() { NOTHING } else { NOTHING_SHA256 };
    let found = Snapshots::of(repository.clone(), git)?.diff(
        Side::Snapshot(&tree(nothing)),
        Side::Snapshot(&tree(&head)),
        std::slice::from_ref(path),
    )?;
    let of_path = found.into_iter().find(|difference| difference.path == *path);
    Ok(of_path.and_then(|difference| difference.new).map(|version| version.id))
}

/// Snapshots are compared by their trees, and any tree can be compared so.
fn tree(id: &str) -> Snapshot {
    let facts = Facts {
        taken_ns: 0,
        reason: Reason::Autosave,
        session: None,
        turn: None,
        files: 0,
        bytes: 0,
        left_out: Vec::new(),
        late: Vec::new(),
    };
    Snapshot {
        id: String::new(),
        commit: id.to_owned(),
        worktree: String::new(),
        message: String::new(),
        head: None,
        facts,
    }
}
