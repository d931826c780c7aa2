//! Compares a repository with the turn's baseline.
//!
//! A file is changed where what lies on disk differs from what lay there when the turn began. That one rule
//! answers for older dirt (not ours while it stays as it was, even if the turn stages or commits it), for dirt
//! that was changed again, and for every way to commit, amend, reset or switch. The state at the beginning is the
//! baseline's for files that were dirty then, and HEAD's of then for all others.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;

use change_set::{BytePath, Change, ChangedFile, How};

use crate::baseline::{Baseline, KnownFile};
use crate::dirty::{Dirt, changed_file, differ_in_executable_bit, join_renames};
use crate::error::Error;
use crate::git::Git;
use crate::history::{self, TurnCommits};
use crate::reflog::{self, HeadMovements};
use crate::repository::Repository;
use crate::state::{ABSENT, ContentIdentity, Disk, FileState, nanoseconds};
use crate::status::{EntryKind, Status, StatusEntry};
use crate::tree_change::TreeChange;

/// File times and the baseline's time come from clocks that tick differently.
const CLOCK_SLACK_NS: i64 = 1_000_000_000;

/// The baseline's files that are not as they were. Needs no git, so it is done while git runs.
pub(crate) fn changed_since<'a>(baseline: &'a Baseline, disk: &mut Disk<'_>) -> BTreeSet<&'a BytePath> {
    let differs = |known: &&KnownFile| disk.differs(&known.path, &known.state, baseline.taken_ns);
    baseline.files.iter().filter(differs).map(|known| &known.path).collect()
}

pub(crate) struct Comparison {
    pub(crate) files: Vec<ChangedFile>,
    pub(crate) arrived: Vec<ChangedFile>,
}

pub(crate) fn compare(
    git: &Git,
    repository: &Repository,
    baseline: &Baseline,
    status: &Status,
    changed: &BTreeSet<&BytePath>,
    disk: &mut Disk<'_>,
) -> Result<Comparison, Error> {
    let history = TurnHistory::read(git, repository, baseline, status)?;
    let mut turn = TurnComparison { baseline, changed, history: &history, dirt: Dirt::new(status), disk };
    let mut comparison = turn.compare();
    turn.add_commits_elsewhere(&mut comparison.files);
    Ok(comparison)
}

#[derive(Default)]
struct TurnHistory {
    /// How the two commits differ.
    between: BTreeMap<BytePath, TreeChange>,
    /// Files that commits of this turn touched; `None` if all of `between` counts as such.
    committed: Option<BTreeMap<BytePath, u8>>,
    /// Files in commits of this turn that are only on branches HEAD has left.
    elsewhere: BTreeMap<BytePath, u8>,
}

impl TurnHistory {
    /// Runs git only where HEAD moved.
    fn read(git: &Git, repository: &Repository, baseline: &Baseline, status: &Status) -> Result<Self, Error> {
        let (old, new) = (baseline.head.as_deref(), status.head.as_deref());
        let movements = reflog::since(&repository.git_dir, baseline.reflog_size, old, new);
        let mut history = Self::default();
        if old != new {
            let empty = baseline.object_format.empty_tree();
            history.between = history::between(git, old.unwrap_or(empty), new.unwrap_or(empty))?;
        }
        if new.is_none() {
            // A branch without a commit holds none of this turn.
            history.committed = Some(BTreeMap::new());
        }
        let HeadMovements::Mixed { made, left } = movements else { return Ok(history) };
        let since_seconds = baseline.taken_ns.div_euclid(1_000_000_000);
        let made = TurnCommits { named: &made, since_seconds };
        if let (false, Some(new)) = (history.between.is_empty(), new) {
            let excluded: Vec<&str> = old.into_iter().collect();
            history.committed = Some(history::touched_by_commits(git, &[new.to_owned()], &excluded, &made)?);
        }
        // The prefix also keeps a hostile name from being read as an option.
        let left: Vec<String> = left.iter().map(|branch| format!("refs/heads/{branch}")).collect();
        if !left.is_empty() && !made.named.is_empty() {
            let excluded: Vec<&str> = old.into_iter().chain(new).collect();
            history.elsewhere = history::touched_by_commits(git, &left, &excluded, &made)?;
        }
        Ok(history)
    }

    fn was_committed(&self, path: &BytePath) -> bool {
        let counts = self.committed.as_ref().is_none_or(|committed| committed.contains_key(path));
        counts && self.between.contains_key(path)
    }
}

struct TurnComparison<'a, 'disk> {
    baseline: &'a Baseline,
    changed: &'a BTreeSet<&'a BytePath>,
    history: &'a TurnHistory,
    dirt: Dirt<'a>,
    disk: &'a mut Disk<'disk>,
}

impl TurnComparison<'_, '_> {
    fn compare(&mut self) -> Comparison {
        let mut paths: BTreeSet<BytePath> =
            self.baseline.files.iter().map(|known| known.path.clone()).collect();
        paths.extend(self.history.between.keys().cloned());
        paths.extend(self.dirt.paths().into_iter().cloned());
        let mut found: BTreeMap<BytePath, ChangedFile> = BTreeMap::new();
        for path in paths {
            if self.is_changed(&path) {
                let file = self.describe(&path);
                found.insert(path, file);
            }
        }
        self.drop_what_only_became_visible(&mut found);
        join_renames(&mut found);
        let (arrived, files) = found.into_values().partition(|file| file.how == [How::Arrived]);
        Comparison { files, arrived }
    }

    fn is_changed(&mut self, path: &BytePath) -> bool {
        if let Some(known) = self.baseline.file(path) {
            return self.changed.contains(path)
                || self.has_new_staged_content(known)
                || self.has_other_dirt_inside(known);
        }
        // Everything else was as HEAD of then has it.
        match (self.dirt.records(path), self.history.between.get(path)) {
            ([entry], Some(change)) => self.differs_from_old_head(entry, change),
            ([], Some(change)) if self.dirt.contains(path) => change.was_there(),
            _ => true,
        }
    }

    /// The file on disk is as it was, but the index got a version that was neither there nor on disk.
    fn has_new_staged_content(&self, known: &KnownFile) -> bool {
        let is_new = |id: &String| {
            let in_old_head =
                self.history.between.get(&known.path).is_some_and(|change| change.old_id == *id);
            known.staged.as_ref() != Some(id) && !in_old_head
        };
        let mut tracked =
            self.dirt.records(&known.path).iter().filter(|entry| entry.kind == EntryKind::Tracked);
        tracked.any(|entry| {
            entry.is_staged() && entry.is_unstaged() && entry.staged != b'D' && is_new(&entry.index_id)
        })
    }

    /// A submodule at the same commit, with other dirt inside.
    fn has_other_dirt_inside(&self, known: &KnownFile) -> bool {
        let FileState::Repository { dirt, .. } = &known.state else { return false };
        let inside = self.dirt.records(&known.path).iter().find_map(|entry| entry.submodule.as_ref());
        inside.and_then(|inside| inside.digest.as_ref()) != dirt.as_ref()
    }

    /// HEAD moved away from under a file that is dirty now: after a soft reset, for example, it is just as it was.
    fn differs_from_old_head(&mut self, entry: &StatusEntry, change: &TreeChange) -> bool {
        // A commit of this turn that takes a file out of git and leaves it on disk is a change.
        let was_untracked = !change.is_there() && self.history.was_committed(&entry.path);
        if !change.was_there() || was_untracked {
            return true;
        }
        // What lies on disk is what the index has.
        if entry.kind == EntryKind::Tracked && !entry.is_unstaged() && entry.staged != b'D' {
            return entry.index_id != change.old_id || entry.index_mode != change.old_mode;
        }
        let now = self.disk.state(&entry.path);
        match &now {
            FileState::Repository { commit, .. } => {
                let is_dirty = entry.submodule.as_ref().is_some_and(|inside| inside.digest.is_some());
                is_dirty || commit.as_ref() != Some(&change.old_id)
            }
            FileState::Absent => true,
            _ => {
                now.git_mode() != change.old_mode
                    || self.disk.blob_id(&entry.path).as_ref() != Some(&change.old_id)
            }
        }
    }

    fn describe(&mut self, path: &BytePath) -> ChangedFile {
        let change = self.change(path);
        let how = self.how(path);
        changed_file(path, change, how, self.disk)
    }

    fn how(&self, path: &BytePath) -> Vec<How> {
        let mut how = self.dirt.how(path);
        if self.history.was_committed(path) {
            how.push(How::Committed);
        }
        if how.is_empty() {
            let moved = self.history.between.contains_key(path);
            how.push(if moved { How::Arrived } else { How::NoLongerDirty });
        }
        how
    }

    fn change(&mut self, path: &BytePath) -> Change {
        let baseline = self.baseline;
        let (was_there, old_mode, old_id) = match (baseline.file(path), self.history.between.get(path)) {
            (Some(known), _) => (!known.state.is_absent(), known.state.git_mode(), blob_of(&known.state)),
            (None, Some(change)) => {
                (change.was_there(), change.old_mode.as_str(), Some(change.old_id.clone()))
            }
            // As HEAD had it then, and still has it.
            (None, None) => match self.dirt.change(path, self.disk) {
                Some(Change::Renamed { .. }) | None => (false, "", None),
                Some(change) => return change,
            },
        };
        if !was_there {
            return self.renamed_from(path).map_or(Change::Added, |from| Change::Renamed { from });
        }
        // A clean file is as HEAD has it, whether or not it is on disk (sparse checkout).
        let (is_there, new_mode, new_id) = match self.history.between.get(path) {
            Some(change) if !self.dirt.contains(path) => {
                (change.is_there(), change.new_mode.as_str(), Some(change.new_id.clone()))
            }
            // Taken out of git by a commit, and still lying there as it was.
            Some(change) if !change.is_there() && self.disk.blob_id(path) == old_id => (false, "", None),
            _ => {
                let mode = self.disk.git_mode(path);
                (mode != ABSENT, mode, None)
            }
        };
        if !is_there {
            return Change::Deleted;
        }
        if differ_in_executable_bit(old_mode, new_mode) {
            let new_id = new_id.or_else(|| self.disk.blob_id(path));
            if new_id.is_some() && new_id == old_id {
                return Change::Mode;
            }
        }
        Change::Modified
    }

    /// The path that this file had when the turn began. A chain of a committed and a staged rename is followed.
    fn renamed_from(&self, path: &BytePath) -> Option<BytePath> {
        let in_index = self.dirt.records(path).iter().find_map(|entry| entry.renamed_from.clone());
        let in_commits = |path: &BytePath| self.history.between.get(path)?.renamed_from.clone();
        let from = match in_index {
            Some(from) => in_commits(&from).unwrap_or(from),
            None => in_commits(path)?,
        };
        let was_dirty = self.baseline.file(path).is_some() || self.baseline.file(&from).is_some();
        let was_there = self.history.between.get(&from).is_none_or(TreeChange::was_there);
        (!was_dirty && was_there).then_some(from)
    }

    /// Untracked files that were there before and that nobody looked at: hidden by a rule in `.gitignore` that
    /// the turn took away, or beyond what the baseline remembers. Their times tell.
    fn drop_what_only_became_visible(&mut self, found: &mut BTreeMap<BytePath, ChangedFile>) {
        let rules_changed = found.keys().any(|path| path.file_name() == b".gitignore");
        if self.baseline.complete && !rules_changed {
            return;
        }
        let began = self.baseline.taken_ns.saturating_sub(CLOCK_SLACK_NS);
        found.retain(|path, file| {
            if file.how != [How::Untracked] || self.baseline.file(path).is_some() {
                return true;
            }
            let metadata = self.disk.metadata(path).map(|(metadata, _)| metadata);
            metadata.is_none_or(|metadata| nanoseconds(metadata.ctime(), metadata.ctime_nsec()) >= began)
        });
    }

    /// Commits of this turn on a branch that was left again are the turn's work although nothing of them is here.
    fn add_commits_elsewhere(&mut self, files: &mut Vec<ChangedFile>) {
        for (path, letter) in &self.history.elsewhere {
            if let Some(file) = files.iter_mut().find(|file| &file.path == path) {
                file.how.push(How::CommittedElsewhere);
                file.how.sort();
                continue;
            }
            let change = match letter {
                b'A' => Change::Added,
                b'D' => Change::Deleted,
                _ => Change::Modified,
            };
            files.push(changed_file(path, change, vec![How::CommittedElsewhere], self.disk));
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
    }
}

fn blob_of(state: &FileState) -> Option<String> {
    match &state.content()?.identity {
        ContentIdentity::Blob(id) => Some(id.clone()),
        _ => None,
    }
}
