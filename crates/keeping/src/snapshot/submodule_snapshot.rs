//! What is changed inside of submodules. Each is a repository of its own, so that its snapshot lies in its own objects and
//! under its own ref, by the same id as the outer one, which names it.

use std::collections::BTreeSet;
use std::time::Duration;

use change_set::BytePath;
use changes::{Repository, submodules};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::create::{LeftOut, NewSnapshot};
use super::prune::is_older;
use super::{Snapshot, SnapshotError, SnapshotReason, Snapshots, WhichWorktrees};

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
        let new = NewSnapshot { reason: reason_inside(&new.reason, path), ..new.clone() };
        let inner = match is_own {
            true => snapshots.take_submodules(id, &new, restored.as_ref()),
            false => InnerSnapshots::default(),
        };
        let reading = snapshots.look(&new, &snapshots.ref_name(id), folder, inner)?;
        if reading.is_clean() && restored.is_none() {
            return Ok(None);
        }
        if !is_own {
            return Err(SnapshotError::SubmoduleElsewhere { path: path.clone() });
        }
        snapshots.keep(id, &new, reading).map(Some)
    }

    /// Whether the git folder of a submodule lies where git puts it. One elsewhere may be of a repository with which this
    /// one has nothing to do, and nothing is written there.
    fn owns(&self, inner: &Repository) -> bool {
        inner.is_submodule_of(&self.repository) || inner.git_dir.starts_with(&inner.root)
    }

    fn inside(&self, repository: Repository) -> Result<Self, SnapshotError> {
        let inside = Self::of(repository, &self.program)?.with_largest_file(self.largest_file);
        Ok(Self { is_inner: true, ..inside })
    }

    /// The commits in submodules that snapshots of this repository name.
    fn named_inside(&self) -> BTreeSet<String> {
        let all = self.list(WhichWorktrees::EveryWorktree).unwrap_or_default();
        all.into_iter().flat_map(|outer| outer.facts.submodules).map(|inner| inner.commit).collect()
    }

    /// If this is a submodule: what snapshots of the repository around it need of its own.
    pub(super) fn named_outside(&self) -> BTreeSet<String> {
        let around = self.repository.root.parent().and_then(|folder| Repository::discover(folder).ok());
        let around = around.and_then(|around| Self::of(around, &self.program).ok());
        let around = around.filter(|around| around.owns(&self.repository));
        around.map(|around| around.named_inside()).unwrap_or_default()
    }

    /// Removes what a killed snapshot has left in submodules: older than this, and no outer one names it.
    pub(super) fn forget_unnamed_inside(&self, now: Timestamp, limit: Duration) {
        let submodules = submodules::checked_out(&self.repository);
        let named = if submodules.is_empty() { BTreeSet::new() } else { self.named_inside() };
        for (path, _) in submodules {
            let Ok(inside) = self.submodule(&path) else { continue };
            let mut left = inside.list(WhichWorktrees::EveryWorktree).unwrap_or_default();
            left.retain(|inner| {
                let facts = &inner.facts;
                facts.is_inner && !named.contains(&inner.commit) && is_older(facts.taken_ns, now, limit)
            });
            if !left.is_empty() {
                let _ = inside.forget(&left);
            }
            inside.release_packs();
            inside.forget_unnamed_inside(now, limit);
        }
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

/// Why a snapshot is taken in a submodule, for whoever undoes a restore there: by its own paths.
fn reason_inside(reason: &SnapshotReason, submodule: &BytePath) -> SnapshotReason {
    let SnapshotReason::BeforeRestore { restored, paths } = reason else { return reason.clone() };
    match paths_inside(submodule, paths) {
        Some(paths) => SnapshotReason::BeforeRestore { restored: restored.clone(), paths },
        // Nothing is restored there.
        None => SnapshotReason::Asked,
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
