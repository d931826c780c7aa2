//! Which snapshots there are, by their refs.

use super::create::FACTS;
use super::{REFS, Snapshot, SnapshotError, SnapshotFacts, SnapshotReason, Snapshots};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichWorktrees {
    ThisWorktree,
    EveryWorktree,
}

/// Fields of one snapshot. A message cannot hold a NUL, so that one separates; each record ends with a line break.
const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(parent)%00%(contents)%00";

impl Snapshots {
    /// The newest first. Refs under our prefix that are no snapshots of ours are passed over.
    pub fn list(&self, which: WhichWorktrees) -> Result<Vec<Snapshot>, SnapshotError> {
        let prefix = match which {
            WhichWorktrees::ThisWorktree => format!("{REFS}/{}/", self.worktree()),
            WhichWorktrees::EveryWorktree => format!("{REFS}/"),
        };
        let output = self.git.run(&["for-each-ref", FORMAT, &prefix], &[])?;
        let output = String::from_utf8_lossy(&output);
        let fields: Vec<&str> = output.split('\0').collect();
        let mut snapshots: Vec<Snapshot> = fields.chunks_exact(4).filter_map(read).collect();
        snapshots.sort_by(|one, other| (other.facts.taken_ns, &other.id).cmp(&(one.facts.taken_ns, &one.id)));
        Ok(snapshots)
    }

    /// By its id, the beginning of one, or `latest`, which is the newest that is not the other half of a restore: after
    /// one it still means the same.
    pub fn find(&self, id: &str) -> Result<Snapshot, SnapshotError> {
        let unknown = || SnapshotError::Unknown { id: id.to_owned() };
        // Every id begins with nothing.
        if id.is_empty() {
            return Err(unknown());
        }
        let mut found = self.list(WhichWorktrees::ThisWorktree)?;
        if id == "latest" {
            let is_meant = |one: &Snapshot| !matches!(one.facts.reason, SnapshotReason::BeforeRestore { .. });
            return found.into_iter().find(is_meant).ok_or_else(unknown);
        }
        if !found.iter().any(|snapshot| snapshot.id.starts_with(id)) {
            found = self.list(WhichWorktrees::EveryWorktree)?;
        }
        let is_it = |snapshot: &Snapshot| {
            snapshot.id.starts_with(id) || (id.len() >= 7 && snapshot.commit.starts_with(id))
        };
        found.retain(is_it);
        match (found.len(), found.pop()) {
            (1, Some(snapshot)) => Ok(snapshot),
            (count, Some(_)) => Err(SnapshotError::Ambiguous { id: id.to_owned(), count }),
            (_, None) => Err(unknown()),
        }
    }
}

fn read(fields: &[&str]) -> Option<Snapshot> {
    let [name, commit, parent, contents] = fields else { return None };
    let (worktree, id) = name.trim_start().strip_prefix(REFS)?.strip_prefix('/')?.split_once('/')?;
    let (message, facts) = contents.rsplit_once(FACTS)?;
    let facts: SnapshotFacts = serde_json::from_str(facts.trim()).ok()?;
    let head = parent.split(' ').next().filter(|parent| !parent.is_empty());
    Some(Snapshot {
        id: id.to_owned(),
        commit: (*commit).to_owned(),
        worktree: worktree.to_owned(),
        message: message.trim().to_owned(),
        head: head.map(str::to_owned),
        facts,
    })
}
