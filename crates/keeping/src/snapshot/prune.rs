//! Forgets snapshots by count and age. Their refs have no reflog, so that git collects the objects at its next
//! `git gc`.

use std::time::{Duration, SystemTime};

use changes::Error;
use changes::git::WRITING;
use changes::state::nanoseconds_of;
use jiff::Timestamp;

use super::leftovers;
use super::{REFS, Snapshot, SnapshotError, Snapshots, WhichWorktrees};
use crate::leftover_file::{LONGEST_IMPORT, leftover_files};

/// What is kept. A snapshot goes where either limit says so.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// The newest so many of each working tree.
    pub keep: Option<usize>,
    pub max_age: Option<Duration>,
    /// The others are neither counted nor removed.
    pub reasons: PrunableReasons,
}

/// Which snapshots a retention is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrunableReasons {
    All,
    /// Those that nobody asked for.
    Automatic,
}

impl Snapshots {
    /// Which snapshots would go, the newest first. What a snapshot of the repository around this one needs stays.
    pub fn expired(
        &self,
        which: WhichWorktrees,
        retention: Retention,
        now: Timestamp,
    ) -> Result<Vec<Snapshot>, SnapshotError> {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        let mut snapshots = self.list(which)?;
        if retention.reasons == PrunableReasons::Automatic {
            snapshots.retain(|snapshot| snapshot.facts.reason.is_automatic());
        }
        if !snapshots.is_empty() {
            let needed = self.named_outside();
            snapshots.retain(|snapshot| !needed.contains(&snapshot.commit));
        }
        snapshots.retain(|snapshot| {
            let count = counts.entry(snapshot.worktree.clone()).or_default();
            *count += 1;
            let too_many = retention.keep.is_some_and(|keep| *count > keep);
            let too_old =
                retention.max_age.is_some_and(|limit| is_older(snapshot.facts.taken_ns, now, limit));
            too_many || too_old
        });
        Ok(snapshots)
    }

    /// Removes them; those that are gone.
    pub fn prune(
        &self,
        which: WhichWorktrees,
        retention: Retention,
        now: Timestamp,
    ) -> Result<Vec<Snapshot>, SnapshotError> {
        let mut expired = self.expired(which, retention, now)?;
        self.release_packs();
        self.forget_unnamed_inside(now, retention.max_age.unwrap_or_default().max(LONGEST_IMPORT));
        if expired.is_empty() {
            return Ok(expired);
        }
        let left = self.forget(&expired)?;
        expired.retain(|snapshot| !left.contains(snapshot));
        Ok(expired)
    }

    /// Removes their refs; those that are still there.
    pub(super) fn forget(&self, snapshots: &[Snapshot]) -> Result<Vec<Snapshot>, SnapshotError> {
        // Those in a file of their own go without a lock; git removes the others. It may also be that somebody packs all
        // refs at this very moment: then some are still there.
        for snapshot in snapshots {
            self.forget_in_submodules(&snapshot.id, &snapshot.facts.submodules);
            self.delete_file(snapshot)?;
        }
        let mut left = self.still_there(snapshots)?;
        while !left.is_empty() {
            let deleted = self.delete_by_git(&left);
            let now = self.still_there(&left)?;
            if now.len() == left.len() {
                deleted?;
                break;
            }
            // Another prune was quicker with some of them, over which git refuses all.
            left = now;
        }
        Ok(left)
    }

    fn still_there(&self, gone: &[Snapshot]) -> Result<Vec<Snapshot>, SnapshotError> {
        Ok(self
            .list(WhichWorktrees::EveryWorktree)?
            .into_iter()
            .filter(|snapshot| gone.contains(snapshot))
            .collect())
    }

    /// Nobody else ever writes this ref, so that the removal of its file is all there is to do. Git itself would lock
    /// `packed-refs`, which everybody needs, and leave it locked where it is killed.
    fn delete_file(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let name = ref_of(snapshot);
        let path = self.repository.common_dir.join(&name);
        let is_it = fs_err::read(&path).is_ok_and(|id| id.trim_ascii() == snapshot.commit.as_bytes());
        // A log would keep the objects; git removes it with the ref.
        if !is_it || self.repository.common_dir.join("logs").join(&name).exists() {
            return Ok(());
        }
        match fs_err::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(SnapshotError::Forget { id: snapshot.id.clone(), source })
            }
            _ => Ok(()),
        }
    }

    /// In one step, and only where they still are what they were.
    fn delete_by_git(&self, snapshots: &[Snapshot]) -> Result<(), Error> {
        if snapshots.is_empty() {
            return Ok(());
        }
        let delete = |snapshot: &Snapshot| format!("delete {}\0{}\0", ref_of(snapshot), snapshot.commit);
        let input: String = snapshots.iter().map(delete).collect();
        let arguments: Vec<&str> =
            WRITING.iter().copied().chain(["update-ref", "--no-deref", "--stdin", "-z"]).collect();
        self.git.run(&arguments, input.as_bytes()).map(|_| ())
    }

    /// An import that was killed between its pack and its ref leaves a mark that would keep the pack for ever; one that
    /// was killed earlier, a part of the pack.
    pub(super) fn release_packs(&self) {
        // A lock of one of our own refs is ours, and nobody else ever needs it.
        let ours = self.repository.common_dir.join(REFS);
        let left = leftover_files(&self.repository, SystemTime::now());
        for file in left.into_iter().filter(|file| file.path.starts_with(&ours)) {
            leftovers::remove_abandoned(&file.path);
        }
        for entry in leftovers::folder(&self.repository).read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            let age = entry.metadata().ok().and_then(|found| found.modified().ok()?.elapsed().ok());
            if age.is_none_or(|age| age <= LONGEST_IMPORT) {
                continue;
            }
            if leftovers::is_unfinished(&entry.file_name()) {
                leftovers::remove_abandoned(&path);
            }
            let is_left = path.extension().is_some_and(|extension| extension == "keep")
                && fs_err::read(&path).is_ok_and(|mark| mark.trim_ascii() == b"fast-import");
            if is_left {
                let _ = fs_err::remove_file(path);
            }
        }
    }
}

fn ref_of(snapshot: &Snapshot) -> String {
    format!("{REFS}/{}/{}", snapshot.worktree, snapshot.id)
}

pub(super) fn is_older(taken_ns: i64, now: Timestamp, limit: Duration) -> bool {
    let limit = i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX);
    nanoseconds_of(now).saturating_sub(taken_ns) > limit
}
