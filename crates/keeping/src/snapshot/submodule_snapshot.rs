//! What is changed inside of submodules. Each is a repository of its own, so that its snapshot lies in its own objects and
//! under its own ref, by the same id as the outer one, which names it.
//!
//! A submodule is what the index has as a commit, whether or not `.gitmodules` lists it: of either, `git status` shows
//! the commit only, and what is changed inside would be lost without a word.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use change_set::BytePath;
use changes::state::{Disk, ObjectFormat};
use changes::{Error, Repository, submodules};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::create::{LeftOut, NewSnapshot};
use super::index_bytes;
use super::prune::is_older;
use super::timed_output::TimedOutput;
use super::{Snapshot, SnapshotError, SnapshotReason, Snapshots, WhichWorktrees};
use crate::difference::listed;

const COMMIT_MODE: &[u8] = b"160000 ";

/// The same as its bytes lie in the index.
const COMMIT_MODE_BYTES: [u8; 4] = [0, 0, 0xe0, 0];

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

/// The repositories inside of another.
#[derive(Debug, Default)]
pub(super) struct InnerRepositories {
    pub(super) found: Vec<(BytePath, Repository)>,
    /// Where git looks for one, and there is something else.
    pub(super) left_out: Vec<LeftOut>,
}

impl Snapshots {
    /// The submodules that are checked out, and those of `named` that git does not take for one any more.
    pub(super) fn inner_repositories(&self, named: &[SubmoduleSnapshot]) -> InnerRepositories {
        let mut left_out = Vec::new();
        let in_index = self.commits_in_index().unwrap_or_else(|error| {
            let reason = format!("the submodules cannot be listed: {error}");
            left_out.push(LeftOut { path: None, reason });
            Vec::new()
        });
        // A list may write one path in several ways.
        let key = |path: &BytePath| path.as_path().components().collect::<PathBuf>();
        let checked_out = submodules::checked_out(&self.repository);
        let mut found: BTreeMap<PathBuf, (BytePath, Repository)> =
            checked_out.into_iter().map(|(path, inner)| (key(&path), (path, inner))).collect();
        for path in named.iter().map(|taken| &taken.path).chain(&in_index) {
            let Entry::Vacant(place) = found.entry(key(path)) else { continue };
            if let Some(inner) = submodules::at(&self.repository, path) {
                place.insert((path.clone(), inner));
            } else if in_index.contains(path)
                && let Some(reason) = self.hidden_content(path)
            {
                left_out.push(LeftOut { path: Some(path.clone()), reason });
            }
        }
        InnerRepositories { found: found.into_values().collect(), left_out }
    }

    /// The paths that the index has as commits. Git is asked only if there may be one. The listing may be longer than what is
    /// kept of other answers: of it, only these are.
    fn commits_in_index(&self) -> Result<Vec<BytePath>, Error> {
        if !index_bytes::has(&self.repository.git_dir, &COMMIT_MODE_BYTES) {
            return Ok(Vec::new());
        }
        let mut listing = self.git.start_with(&["ls-files", "-z", "--stage"], Stdio::null())?;
        let limit = self.program.time_limit();
        let failed = |source: io::Error| {
            let command = "git ls-files".to_owned();
            match source.kind() {
                io::ErrorKind::TimedOut => Error::TimedOut { command, limit },
                _ => Error::Read { command, source },
            }
        };
        let output = TimedOutput::within(limit, listing.take_stdout()?);
        let mut found = Vec::new();
        for record in BufReader::new(output).split(0) {
            let record = record.map_err(failed)?;
            if record.starts_with(COMMIT_MODE) {
                found.extend(listed(&record, "git ls-files")?.into_iter().map(|(_, path)| path));
            }
        }
        listing.finish()?;
        Ok(found)
    }

    /// What is wrong with the folder of a submodule without a repository, in which git looks for no files.
    fn hidden_content(&self, path: &BytePath) -> Option<String> {
        let (metadata, folder) = Disk::new(&self.repository.root, ObjectFormat::Sha1).metadata(path)?;
        if !metadata.is_dir() {
            return None;
        }
        match folder.read_dir() {
            Ok(mut entries) => entries.next().map(|_| {
                "git has it as a repository of its own, which is not here: nothing in it is saved".to_owned()
            }),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Takes a snapshot in each submodule that has changes, and in those of which `restored` has another state.
    pub(super) fn take_submodules(
        &self,
        id: &str,
        new: &NewSnapshot<'_>,
        restored: Option<&Snapshot>,
    ) -> InnerSnapshots {
        let named = restored.map(|restored| restored.facts.submodules.as_slice()).unwrap_or_default();
        let inner = self.inner_repositories(named);
        let mut all = InnerSnapshots { left_out: inner.left_out, ..InnerSnapshots::default() };
        for (path, repository) in inner.found {
            match self.take_submodule(id, new, &path, repository, restored) {
                Ok(None) => {}
                Ok(Some(inner)) => {
                    all.left_out.extend(inner.facts.left_out.into_iter().map(|left| left.below(&path)));
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

    pub(super) fn inside(&self, repository: Repository) -> Result<Self, SnapshotError> {
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
        let submodules = self.inner_repositories(&[]).found;
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
