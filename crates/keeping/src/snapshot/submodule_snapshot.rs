//! What is changed inside of submodules. Each is a repository of its own, so that its snapshot lies in its own objects and
//! under its own ref, by the same id as the outer one, which names it.

use change_set::BytePath;
use changes::{Repository, submodules};
use serde::{Deserialize, Serialize};

use super::create::{LeftOut, NewSnapshot};
use super::{Snapshot, SnapshotError, Snapshots, WhichWorktrees};

/// A submodule that is in a snapshot with its own changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubmoduleSnapshot {
    pub path: BytePath,
    /// The snapshot's commit, in the submodule's repository.
    pub commit: String,
}

/// The snapshots of submodules that go with an outer one.
#[derive(Debug, Default)]
pub(super) struct InnerSnapshots {
    pub(super) taken: Vec<SubmoduleSnapshot>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Snapshots {
    /// Takes a snapshot in each submodule that has changes, and in those of which `restored` has another state.
    pub(super) fn take_submodules(
        &self,
        id: &str,
        new: &NewSnapshot<'_>,
        restored: Option<&Snapshot>,
    ) -> InnerSnapshots {
        let mut all = InnerSnapshots::default();
        for (path, repository) in submodules::checked_out(&self.repository) {
            match self.take_submodule(id, new, &path, repository, restored) {
                Ok(None) => {}
                Ok(Some(inner)) => {
                    let inside = inner.facts.left_out.into_iter();
                    all.left_out.extend(inside.map(|left| LeftOut {
                        path: Some(left.path.map_or_else(|| path.clone(), |inside| joined(&path, &inside))),
                        ..left
                    }));
                    all.taken.push(SubmoduleSnapshot { path, commit: inner.commit });
                }
                Err(error) => {
                    let reason = format!("the changes in this submodule could not be saved: {error}");
                    all.left_out.push(LeftOut { path: Some(path), reason });
                }
            }
        }
        all
    }

    /// `None` if there is nothing to take.
    fn take_submodule(
        &self,
        id: &str,
        new: &NewSnapshot<'_>,
        path: &BytePath,
        repository: Repository,
        restored: Option<&Snapshot>,
    ) -> Result<Option<Snapshot>, SnapshotError> {
        let is_own = self.owns(&repository);
        let folder = &self.repository.git_dir;
        let snapshots = self.inside(repository)?;
        let restored = restored.and_then(|restored| snapshots.inner_of(restored, path).ok());
        let inner = match is_own {
            true => snapshots.take_submodules(id, new, restored.as_ref()),
            false => InnerSnapshots::default(),
        };
        let reading = snapshots.look(new, &snapshots.ref_name(id), folder, inner)?;
        if reading.is_clean() && restored.is_none() {
            return Ok(None);
        }
        if !is_own {
            return Err(SnapshotError::SubmoduleElsewhere { path: path.clone() });
        }
        snapshots.keep(id, new, reading).map(Some)
    }

    /// Whether the git folder of a submodule lies where git puts it. One elsewhere may be of a repository with which this
    /// one has nothing to do, and nothing is written there.
    fn owns(&self, inner: &Repository) -> bool {
        inner.is_submodule_of(&self.repository) || inner.git_dir.starts_with(&inner.root)
    }

    fn inside(&self, repository: Repository) -> Result<Self, SnapshotError> {
        Ok(Self::of(repository, &self.program)?.with_largest_file(self.largest_file))
    }

    /// The snapshots of the submodule at a path.
    pub(super) fn submodule(&self, path: &BytePath) -> Result<Self, SnapshotError> {
        let found = submodules::at(&self.repository, path).filter(|inner| self.owns(inner));
        self.inside(found.ok_or_else(|| SnapshotError::NoSubmodule { path: path.clone() })?)
    }

    /// In this submodule, which lies at `path`: the snapshot that goes with an outer one.
    pub(super) fn inner_of(&self, outer: &Snapshot, path: &BytePath) -> Result<Snapshot, SnapshotError> {
        let unknown = || SnapshotError::Unknown { id: outer.id.clone() };
        let taken = outer.facts.submodules.iter().find(|taken| taken.path == *path).ok_or_else(unknown)?;
        let mut found = self.list(WhichWorktrees::EveryWorktree)?.into_iter();
        found.find(|inner| inner.id == outer.id && inner.commit == taken.commit).ok_or_else(unknown)
    }

    /// Removes what was taken in submodules under this id. What cannot be removed stays, and is listed there.
    pub(super) fn forget_in_submodules(&self, id: &str, taken: &[SubmoduleSnapshot]) {
        for SubmoduleSnapshot { path, commit } in taken {
            let Ok(inside) = self.submodule(path) else { continue };
            let mut found = inside.list(WhichWorktrees::EveryWorktree).unwrap_or_default();
            found.retain(|inner| inner.id == id && inner.commit == *commit);
            let _ = inside.forget(&found);
        }
    }
}

/// A path inside of a submodule, as the outer repository would name it.
pub(super) fn joined(submodule: &BytePath, inside: &BytePath) -> BytePath {
    BytePath::from(submodule.as_path().join(inside.as_path()).as_path())
}

/// Which of `paths` lie in a submodule, from its root; none of them means all of it. `None` if it is not meant.
pub(super) fn paths_inside(submodule: &BytePath, paths: &[BytePath]) -> Option<Vec<BytePath>> {
    let folder = submodule.as_path();
    if paths.is_empty() || paths.iter().any(|path| folder.starts_with(path.as_path())) {
        return Some(Vec::new());
    }
    let inside = paths.iter().filter_map(|path| path.as_path().strip_prefix(folder).ok());
    let inside: Vec<BytePath> = inside.map(BytePath::from).collect();
    (!inside.is_empty()).then_some(inside)
}
