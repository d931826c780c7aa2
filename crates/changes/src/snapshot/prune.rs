//! Forgets snapshots by count and age. Their refs have no reflog, so that git collects the objects at its next
//! `git gc`.

use std::time::Duration;

use super::compare::COMPARED;
use super::{REFS, Snapshot, SnapshotError, Snapshots, Which};

/// What is kept. A snapshot goes where either limit says so.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// The newest so many of each working tree.
    pub keep: Option<usize>,
    pub max_age: Option<Duration>,
}

/// Neither a comparison nor an import takes longer than this.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl Snapshots {
    /// Which snapshots would go, the newest first.
    pub fn expired(
        &self,
        which: Which,
        retention: Retention,
        now_ns: i64,
    ) -> Result<Vec<Snapshot>, SnapshotError> {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        let mut snapshots = self.list(which)?;
        snapshots.retain(|snapshot| {
            let count = counts.entry(snapshot.worktree.clone()).or_default();
            *count += 1;
            let too_many = retention.keep.is_some_and(|keep| *count > keep);
            let too_old =
                retention.max_age.is_some_and(|limit| is_older(snapshot.facts.taken_ns, now_ns, limit));
            too_many || too_old
        });
        Ok(snapshots)
    }

    /// Removes them; those that are gone.
    pub fn prune(
        &self,
        which: Which,
        retention: Retention,
        now_ns: i64,
    ) -> Result<Vec<Snapshot>, SnapshotError> {
        let expired = self.expired(which, retention, now_ns)?;
        let mut refs: Vec<(String, String)> = expired
            .iter()
            .map(|snapshot| {
                (format!("{REFS}/{}/{}", snapshot.worktree, snapshot.id), snapshot.commit.clone())
            })
            .collect();
        refs.extend(self.abandoned_comparisons(now_ns)?);
        self.delete_refs(&refs)?;
        self.release_packs();
        Ok(expired)
    }

    /// An import that was killed between its pack and its ref leaves a mark that would keep the pack for ever.
    fn release_packs(&self) {
        let folder = self.repository.common_dir.join("objects/pack");
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            let age = entry.metadata().ok().and_then(|found| found.modified().ok()?.elapsed().ok());
            let is_left = path.extension().is_some_and(|extension| extension == "keep")
                && age.is_some_and(|age| age > LONGEST)
                && fs_err::read(&path).is_ok_and(|mark| mark.trim_ascii() == b"fast-import");
            if is_left {
                let _ = fs_err::remove_file(path);
            }
        }
    }

    fn abandoned_comparisons(&self, now_ns: i64) -> Result<Vec<(String, String)>, SnapshotError> {
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let output = self.run(&["for-each-ref", format, &format!("{COMPARED}/")], &[])?;
        let output = String::from_utf8_lossy(&output);
        let read = |line: &str| {
            let mut words = line.split(' ');
            let (name, commit) = (words.next()?.to_owned(), words.next()?.to_owned());
            let taken_ns = words.next()?.parse::<i64>().ok()?.saturating_mul(1_000_000_000);
            is_older(taken_ns, now_ns, LONGEST).then_some((name, commit))
        };
        Ok(output.lines().filter_map(read).collect())
    }
}

fn is_older(taken_ns: i64, now_ns: i64, limit: Duration) -> bool {
    let limit = i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX);
    now_ns.saturating_sub(taken_ns) > limit
}
