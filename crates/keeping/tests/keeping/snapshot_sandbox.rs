//! Snapshots in the sandbox, with the watch over what they must not write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use changes::Repository;
use jiff::Timestamp;
use keeping::snapshot::{NewSnapshot, Side, Snapshot, SnapshotReason, Snapshots};

use crate::sandbox::{Sandbox, assert_same};

impl Sandbox {
    pub(crate) fn snapshots(&self) -> Snapshots {
        self.snapshots_in(&self.repo)
    }

    pub(crate) fn snapshots_in(&self, folder: &Path) -> Snapshots {
        Snapshots::of(Repository::discover(folder).unwrap(), &self.program).unwrap()
    }

    /// Takes a snapshot, and checks that of all files only objects and our refs are new or changed (invariant 5).
    pub(crate) fn snapshot(&self) -> Snapshot {
        let before = self.everything();
        let snapshot = self.snapshots().create(&new_snapshot("a test")).unwrap();
        let after = self.everything();
        let ours = |path: &Path| {
            let path = path.strip_prefix(&self.repo).unwrap();
            let inside = path.strip_prefix(".git/modules/module").unwrap_or(Path::new(""));
            // A folder's own time changes with what is made in it; `.git` holds the nameless file for a moment.
            [".git/objects", ".git/refs/checkstone"].iter().any(|ours| path.starts_with(ours))
                || ["objects", "refs/checkstone"].iter().any(|ours| inside.starts_with(ours))
                || inside == Path::new("refs")
                || path == Path::new(".git")
                || path == Path::new(".git/refs")
                // Whoever reads a split index, `git status` too, renews the time of its larger half.
                || path.to_string_lossy().starts_with(".git/sharedindex.")
        };
        let others = |all: BTreeMap<PathBuf, _>| -> BTreeMap<PathBuf, _> {
            all.into_iter().filter(|(path, _)| !ours(path)).collect()
        };
        assert_same(&others(before), &others(after));
        assert_eq!(self.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]), "");
        snapshot
    }

    /// What the working tree of `folder` has changed since a snapshot. That nothing at all was written is checked, in
    /// the repository and where the comparison was made.
    pub(crate) fn changed_since(&self, folder: &Path, snapshot: &Snapshot) -> Vec<String> {
        let scratch = self.scratch();
        let before = self.everything();
        let (old, now) = (Side::Snapshot(snapshot), Side::WorkingTree { scratch: &scratch });
        let found = self.snapshots_in(folder).diff(old, now, &[]).unwrap();
        assert_same(&before, &self.everything());
        assert_eq!(scratch.read_dir().unwrap().count(), 0);
        found.iter().map(|one| format!("{} {}", one.change(), one.path)).collect()
    }

    /// Its name has all that a list of folders could stumble over.
    pub(crate) fn scratch(&self) -> PathBuf {
        let scratch = self.root().join("a: \"scratch\"\nfolder");
        fs_err::create_dir_all(&scratch).unwrap();
        scratch
    }
}

/// One that somebody asks for now.
pub(crate) fn new_snapshot(message: &str) -> NewSnapshot<'_> {
    NewSnapshot { reason: SnapshotReason::Asked, message, now: Timestamp::now(), session: None, turn: None }
}
