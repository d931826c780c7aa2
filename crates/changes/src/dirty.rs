//! The working tree against HEAD: every dirty or untracked file, those of them that were touched, and exactly
//! the files of `git diff --name-only HEAD`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use change_set::{BytePath, Change, ChangedFile, How};

use crate::error::Error;
use crate::git::Git;
use crate::state::{ABSENT, Disk, modified_ns};
use crate::status::{EntryKind, Status, StatusEntry};

/// What git's records say, path by path.
pub(crate) struct Dirt<'a> {
    /// A path can have two records: removed from the index, and untracked since it still lies there.
    entries: BTreeMap<&'a BytePath, Vec<&'a StatusEntry>>,
    /// Old paths of renames in the index, which have no record of their own.
    renamed: BTreeMap<&'a BytePath, &'a StatusEntry>,
}

impl<'a> Dirt<'a> {
    pub(crate) fn new(status: &'a Status) -> Self {
        let mut dirt = Self { entries: BTreeMap::new(), renamed: BTreeMap::new() };
        for entry in &status.entries {
            dirt.entries.entry(&entry.path).or_default().push(entry);
            if let Some(from) = &entry.renamed_from {
                dirt.renamed.insert(from, entry);
            }
        }
        dirt
    }

    /// Every path that is not as HEAD has it, old paths of renames among them.
    pub(crate) fn paths(&self) -> BTreeSet<&'a BytePath> {
        self.entries.keys().chain(self.renamed.keys()).copied().collect()
    }

    pub(crate) fn records(&self, path: &BytePath) -> &[&'a StatusEntry] {
        self.entries.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn contains(&self, path: &BytePath) -> bool {
        self.entries.contains_key(path) || self.renamed.contains_key(path)
    }

    pub(crate) fn how(&self, path: &BytePath) -> Vec<How> {
        let mut how = Vec::new();
        if self.renamed.contains_key(path) {
            how.push(How::Staged);
        }
        for entry in self.records(path) {
            match entry.kind {
                EntryKind::Untracked => how.push(How::Untracked),
                EntryKind::Unmerged => how.push(How::Unmerged),
                EntryKind::Tracked => {
                    how.extend(entry.is_staged().then_some(How::Staged));
                    how.extend(entry.is_unstaged().then_some(How::Unstaged));
                }
            }
        }
        how
    }

    /// How the path differs from HEAD. `None` if it only went into the index and away again.
    pub(crate) fn change(&self, path: &BytePath, disk: &mut Disk<'_>) -> Option<Change> {
        let records = self.records(path);
        let Some(entry) = records.first() else {
            return self.renamed.contains_key(path).then_some(Change::Deleted);
        };
        let now = disk.git_mode(path);
        // `git rm --cached`: gone for git, though the file still lies there.
        if records.len() > 1 {
            return Some(Change::Deleted);
        }
        // The file became another path in the index, and a new one lies in its place.
        if entry.kind == EntryKind::Untracked && self.renamed.contains_key(path) {
            return Some(Change::Modified);
        }
        match (entry.in_head(), now) {
            (true, ABSENT) => Some(Change::Deleted),
            (false, ABSENT) => None,
            (false, _) => {
                Some(entry.renamed_from.clone().map_or(Change::Added, |from| Change::Renamed { from }))
            }
            (true, _) if is_mode_change(entry, now, disk) => Some(Change::Mode),
            (true, _) => Some(Change::Modified),
        }
    }

    pub(crate) fn files(&self, disk: &mut Disk<'_>) -> Vec<ChangedFile> {
        let mut found = BTreeMap::new();
        for path in self.paths() {
            if let Some(change) = self.change(path, disk) {
                found.insert(path.clone(), changed_file(path, change, self.how(path), disk));
            }
        }
        join_renames(&mut found);
        found.into_values().collect()
    }
}

pub(crate) fn changed_file(
    path: &BytePath,
    change: Change,
    mut how: Vec<How>,
    disk: &mut Disk<'_>,
) -> ChangedFile {
    how.sort();
    how.dedup();
    // A folder, as which a submodule appears, has no time that would say when its content was written.
    let metadata = disk.metadata(path).map(|(metadata, _)| metadata).filter(|metadata| !metadata.is_dir());
    ChangedFile { path: path.clone(), change, how, modified_ns: metadata.as_ref().map(modified_ns) }
}

/// The old path of a rename is told with the new one; it stays where it is not simply gone.
pub(crate) fn join_renames(found: &mut BTreeMap<BytePath, ChangedFile>) {
    let sources: Vec<BytePath> = found
        .values()
        .filter_map(|file| match &file.change {
            Change::Renamed { from } => Some(from.clone()),
            _ => None,
        })
        .collect();
    for from in sources {
        if found.get(&from).is_some_and(|file| file.change == Change::Deleted) {
            found.remove(&from);
        }
    }
}

fn is_mode_change(entry: &StatusEntry, now: &str, disk: &mut Disk<'_>) -> bool {
    if !differ_in_executable_bit(&entry.head_mode, now) || entry.kind != EntryKind::Tracked {
        return false;
    }
    if entry.is_unstaged() {
        disk.blob_id(&entry.path).as_ref() == Some(&entry.head_id)
    } else {
        entry.index_id == entry.head_id
    }
}

pub(crate) fn differ_in_executable_bit(old: &str, new: &str) -> bool {
    old != new && old.starts_with("100") && new.starts_with("100")
}

/// Keeps the files whose path, or former path, is among those that were touched.
pub(crate) fn keep_touched(files: &mut Vec<ChangedFile>, root: &Path, cwd: &Path, touched: &[PathBuf]) {
    let touched = touched_paths(root, cwd, touched);
    files.retain(|file| is_touched(file, &touched));
}

/// The paths inside the repository that were touched.
pub(crate) fn touched_paths(root: &Path, cwd: &Path, touched: &[PathBuf]) -> BTreeSet<BytePath> {
    touched.iter().filter_map(|path| relative_to(root, &cwd.join(path))).collect()
}

pub(crate) fn is_touched(file: &ChangedFile, touched: &BTreeSet<BytePath>) -> bool {
    let was_touched = matches!(&file.change, Change::Renamed { from } if touched.contains(from));
    was_touched || touched.contains(&file.path)
}

/// The path inside the repository that an absolute path means. It may be spelled through symbolic links, and
/// the file itself may be gone.
fn relative_to(root: &Path, path: &Path) -> Option<BytePath> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    if let Ok(relative) = clean.strip_prefix(root) {
        return Some(BytePath::from(relative));
    }
    // The folder is resolved, never the file: a link that was edited is the link.
    let parent = clean.parent()?;
    let (existing, real) =
        parent.ancestors().find_map(|folder| Some((folder, fs_err::canonicalize(folder).ok()?)))?;
    let rest = clean.strip_prefix(existing).ok()?;
    Some(BytePath::from(real.join(rest).strip_prefix(root).ok()?))
}

/// The files of `git diff --name-only HEAD` in git's default configuration. Git's records answer, except where
/// renames could be paired otherwise than in the index; then that very command is run.
pub(crate) fn diff_head(git: &Git, status: &Status, disk: &mut Disk<'_>) -> Result<Vec<ChangedFile>, Error> {
    if status.head.is_none() {
        return Err(Error::NoCommit { directory: git.directory.clone() });
    }
    let dirt = Dirt::new(status);
    let listed = if renames_are_open(status) { Some(by_git(git)?) } else { None };
    let mut found = BTreeMap::new();
    for path in dirt.paths() {
        let in_diff = match &listed {
            // Git was told to stay out of submodules, here too.
            Some(listed) => {
                listed.contains(path) || dirt.records(path).iter().any(|entry| entry.submodule.is_some())
            }
            None => dirt.records(path).iter().any(|entry| entry.kind != EntryKind::Untracked),
        };
        // Files that were touched and not changed are in git's list, but in no record.
        let Some(change) = dirt.change(path, disk).filter(|_| in_diff) else { continue };
        if !dirt.records(path).iter().all(|entry| equals_head(entry, &change, disk))
            || dirt.records(path).is_empty()
        {
            found.insert(path.clone(), changed_file(path, change, dirt.how(path), disk));
        }
    }
    Ok(found.into_values().collect())
}

/// Records of files that `git diff HEAD` sees no difference in: staged, and set back on disk; or a submodule
/// with nothing but untracked files inside.
fn equals_head(entry: &StatusEntry, change: &Change, disk: &mut Disk<'_>) -> bool {
    if entry.kind != EntryKind::Tracked || *change == Change::Deleted {
        return false;
    }
    if let Some(dirt) = &entry.submodule {
        return !entry.is_staged() && !dirt.new_commits && !dirt.modified;
    }
    entry.is_staged()
        && entry.is_unstaged()
        && entry.in_head()
        && disk.git_mode(&entry.path) == entry.head_mode
        && disk.blob_id(&entry.path).as_ref() == Some(&entry.head_id)
}

/// Whether HEAD and working tree could have renames that HEAD and index have not, or the other way round.
fn renames_are_open(status: &Status) -> bool {
    let tracked = || status.entries.iter().filter(|entry| entry.kind == EntryKind::Tracked);
    let is_removed =
        |entry: &StatusEntry| entry.renamed_from.is_some() || entry.staged == b'D' || entry.unstaged == b'D';
    let is_added =
        |entry: &StatusEntry| entry.renamed_from.is_some() || entry.staged == b'A' || entry.unstaged == b'A';
    tracked().any(is_removed)
        && tracked().any(is_added)
        && tracked().any(|entry| entry.is_unstaged() && (is_removed(entry) || is_added(entry)))
}

fn by_git(git: &Git) -> Result<BTreeSet<BytePath>, Error> {
    let command = "diff --name-only -z --no-ext-diff --no-textconv --find-renames --no-relative \
                   --ignore-submodules=dirty HEAD --";
    let arguments: Vec<&str> = command.split(' ').collect();
    let output = git.run(&arguments, &[])?;
    Ok(output.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(BytePath::from).collect())
}
