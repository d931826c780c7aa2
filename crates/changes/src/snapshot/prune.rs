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

/// A comparison takes no longer than this.
const COMPARISON: Duration = Duration::from_secs(24 * 60 * 60);

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
        Ok(expired)
    }

    fn abandoned_comparisons(&self, now_ns: i64) -> Result<Vec<(String, String)>, SnapshotError> {
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let output = self.run(&["for-each-ref", format, &format!("{COMPARED}/")], &[])?;
        let output = String::from_utf8_lossy(&output);
        let read = |line: &str| {
            let mut words = line.split(' ');
            let (name, commit) = (words.next()?.to_owned(), words.next()?.to_owned());
            let taken_ns = words.next()?.parse::<i64>().ok()?.saturating_mul(1_000_000_000);
            is_older(taken_ns, now_ns, COMPARISON).then_some((name, commit))
        };
        Ok(output.lines().filter_map(read).collect())
    }
}

fn is_older(taken_ns: i64, now_ns: i64, limit: Duration) -> bool {
    let limit = i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX);
    now_ns.saturating_sub(taken_ns) > limit
}
