//! Brings a snapshot back. First a snapshot of what is there is taken; then only what differs between the two is
//! touched, and of that only what still is as the first one has it. So nothing is lost that an undo could not bring
//! back. The index stays as it was.
//!
//! Two trees can be the same although the files are not: what one of the snapshots could not save is in neither. So all
//! of that is named as left alone, whether or not the trees differ there.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

use change_set::BytePath;
use changes::git::RunningGit;
use changes::state::{Disk, ObjectFormat};
use jiff::Timestamp;
use serde::Serialize;

use super::create::{LeftOut, NewSnapshot};
use super::submodule_snapshot::{SubmoduleSnapshot, joined, paths_inside};
use super::{SessionName, Snapshot, SnapshotError, SnapshotReason, Snapshots, WhichWorktrees};
use crate::difference::{Difference, Version};
use crate::working_tree::{PathKind, WorkingTree};

const LINK: &str = "120000";

/// Stands for what git could not look at, of which only its own words are known.
const WHOLE_TREE: &[u8] = b".";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestoreReport {
    /// What was restored.
    pub snapshot: Snapshot,
    /// What was there before: what an undo goes back to. `None` if nothing was changed.
    pub before: Option<Snapshot>,
    pub written: Vec<BytePath>,
    pub removed: Vec<BytePath>,
    pub skipped: Vec<Skipped>,
}

impl RestoreReport {
    fn skip(&mut self, path: &BytePath, reason: String) {
        self.skipped.push(Skipped { path: path.clone(), reason });
    }

    /// What was done in a submodule, by the paths of the outer repository.
    fn add(&mut self, submodule: &BytePath, inner: Self) {
        self.written.extend(inner.written.iter().map(|path| joined(submodule, path)));
        self.removed.extend(inner.removed.iter().map(|path| joined(submodule, path)));
        for skipped in inner.skipped {
            let is_whole = skipped.path.as_bytes() == WHOLE_TREE;
            let path = if is_whole { submodule.clone() } else { joined(submodule, &skipped.path) };
            self.skip(&path, skipped.reason);
        }
    }

    /// What is left out of a snapshot and was not named yet.
    fn skip_left_out(&mut self, left_out: &[LeftOut], paths: &[BytePath], why: fn(String) -> LeaveAlone) {
        let mut named: BTreeSet<BytePath> = self.skipped.iter().map(|skipped| skipped.path.clone()).collect();
        for left in left_out.iter().filter(|left| left.is_about(paths)) {
            match &left.path {
                Some(path) if !named.insert(path.clone()) => {}
                Some(path) => self.skip(path, why(left.reason.clone()).to_string()),
                None => self.skip(&BytePath::from(WHOLE_TREE), why(left.reason.clone()).to_string()),
            }
        }
    }
}

/// A path that differs from the snapshot and was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    pub path: BytePath,
    pub reason: String,
}

/// The agent session that restores, and its turn, where that is known.
#[derive(Clone, Debug, Default)]
pub struct RestoreCaller {
    pub session: Option<SessionName>,
    pub turn: Option<String>,
}

impl Snapshots {
    /// Brings back `paths`, or everything where there are none.
    pub fn restore(
        &self,
        snapshot: &Snapshot,
        paths: &[BytePath],
        caller: RestoreCaller,
        now: Timestamp,
    ) -> Result<RestoreReport, SnapshotError> {
        let root = &self.repository.root;
        let folder =
            WorkingTree::open(root).map_err(|source| SnapshotError::Root { root: root.clone(), source })?;
        for path in paths {
            let is_there = folder.kind(path).is_ok_and(|kind| kind != PathKind::Absent);
            if !is_there && !self.has(snapshot, path)? {
                return Err(SnapshotError::NoSuchPath { path: path.clone() });
            }
        }
        let message = format!("before restoring {}", snapshot.id);
        let reason = SnapshotReason::BeforeRestore { restored: snapshot.id.clone(), paths: paths.to_vec() };
        let new = NewSnapshot { reason, message: &message, now, session: caller.session, turn: caller.turn };
        let before = self.take(&new, Some(snapshot))?;
        // One that lags behind is brought up to date by the next snapshot.
        let _ = self.update_mirror(&before);
        let restored = self.bring_back(snapshot, &before, paths, folder);
        let is_changed =
            |restored: &RestoreReport| !restored.written.is_empty() || !restored.removed.is_empty();
        if restored.as_ref().is_ok_and(is_changed) {
            return restored.map(|restored| RestoreReport { before: Some(before), ..restored });
        }
        // There is nothing to undo, and what was to be undone before still is.
        let _ = self.forget(&[before]);
        restored
    }

    fn bring_back(
        &self,
        snapshot: &Snapshot,
        before: &Snapshot,
        paths: &[BytePath],
        folder: WorkingTree,
    ) -> Result<RestoreReport, SnapshotError> {
        let mut differences = self.differences(&before.commit, &snapshot.commit, paths)?;
        let ignored = self.set_aside_ignored(&mut differences, &snapshot.commit, &self.repository.git_dir)?;
        let blobs = Blobs::start(self)?;
        let restored = RestoreReport {
            snapshot: snapshot.clone(),
            before: None,
            written: vec![],
            removed: vec![],
            skipped: vec![],
        };
        let modes = FileSystemModes {
            executable: !self.is_off("core.fileMode"),
            links: !self.is_off("core.symlinks"),
        };
        let mut work = Restoring { snapshots: self, before, modes, folder, blobs, restored };
        work.all(&differences);
        let mut restored = work.restored;
        for (path, why) in ignored {
            restored.skip(&path, why.to_string());
        }
        for SubmoduleSnapshot { path, .. } in &snapshot.facts.submodules {
            let Some(inside) = paths_inside(path, paths) else { continue };
            match self.bring_back_inside(path, snapshot, before, &inside) {
                Ok(inner) => restored.add(path, inner),
                Err(error) => restored.skip(path, error.to_string()),
            }
        }
        let is_known = |path: &BytePath| snapshot.facts.submodules.iter().any(|known| known.path == *path);
        for SubmoduleSnapshot { path, .. } in &before.facts.submodules {
            if !is_known(path) && paths_inside(path, paths).is_some() {
                restored.skip(path, LeaveAlone::CleanSubmodule.to_string());
            }
        }
        restored.skip_left_out(&before.facts.left_out, paths, LeaveAlone::NotSavedNow);
        restored.skip_left_out(&snapshot.facts.left_out, paths, LeaveAlone::NotSavedThen);
        Ok(restored)
    }

    fn bring_back_inside(
        &self,
        path: &BytePath,
        snapshot: &Snapshot,
        before: &Snapshot,
        paths: &[BytePath],
    ) -> Result<RestoreReport, SnapshotError> {
        let inside = self.submodule(path)?;
        let (snapshot, before) = (inside.inner_of(snapshot, path)?, inside.inner_of(before, path)?);
        let root = &inside.repository.root;
        let folder =
            WorkingTree::open(root).map_err(|source| SnapshotError::Root { root: root.clone(), source })?;
        inside.bring_back(&snapshot, &before, paths, folder)
    }

    /// The state before the last restore in this working tree, and the paths that it was about.
    pub fn undoable(&self) -> Result<(Snapshot, Vec<BytePath>), SnapshotError> {
        let found = self.list(WhichWorktrees::ThisWorktree)?.into_iter().find_map(|snapshot| {
            let SnapshotReason::BeforeRestore { paths, .. } = &snapshot.facts.reason else { return None };
            let paths = paths.clone();
            Some((snapshot, paths))
        });
        found.ok_or(SnapshotError::NothingToUndo)
    }

    fn is_off(&self, key: &str) -> bool {
        self.is_set_to(b"false", key)
    }

    pub(super) fn is_on(&self, key: &str) -> bool {
        self.is_set_to(b"true", key)
    }

    fn is_set_to(&self, wanted: &[u8], key: &str) -> bool {
        let value = self.git.run(&["config", "--type=bool", "--get", key], &[]);
        value.is_ok_and(|value| value.trim_ascii() == wanted)
    }

    fn has(&self, snapshot: &Snapshot, path: &BytePath) -> Result<bool, SnapshotError> {
        for taken in &snapshot.facts.submodules {
            if let Ok(inside) = path.as_path().strip_prefix(taken.path.as_path()) {
                let submodule = self.submodule(&taken.path)?;
                let inner = submodule.inner_of(snapshot, &taken.path)?;
                return submodule.has(&inner, &BytePath::from(inside));
            }
        }
        let arguments = ["--literal-pathspecs", "ls-tree", "-z", &snapshot.commit, "--"].map(Path::new);
        let arguments = [&arguments[..], &[path.as_path()]].concat();
        Ok(!self.git.run(&arguments, &[])?.is_empty())
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum LeaveAlone {
    #[error("it is a repository of its own, which stays at its commit")]
    OwnRepository,
    #[error("nothing was changed in this submodule when the snapshot was taken: current changes stay")]
    CleanSubmodule,
    #[error("its current state cannot be saved: {0}")]
    NotSavedNow(String),
    #[error("the snapshot could not save it: {0}")]
    NotSavedThen(String),
    #[error("it is not checked out here, or was removed just now")]
    NotThere,
    #[error("it was changed just now, after the snapshot before the restore")]
    JustChanged,
    #[error("an ignored file is in its place, which no snapshot has")]
    IgnoredFile,
    #[error("the snapshot's own `.gitignore` files ignore it, so it may have been there")]
    IgnoredThen,
    #[error("the snapshot's `{file}` is not here to be read, so it may have been there")]
    PerhapsIgnoredThen { file: BytePath },
    #[error("a pipe, a socket or a device is in its place")]
    NoFile,
    #[error(transparent)]
    File(#[from] io::Error),
}

/// A conversation with `git cat-file --batch`.
pub(super) struct Blobs {
    answers: BufReader<File>,
    /// Ends git when this is dropped.
    running: RunningGit,
}

impl Blobs {
    pub(super) fn start(snapshots: &Snapshots) -> Result<Self, SnapshotError> {
        let mut running = snapshots.git.start_with(&["cat-file", "--batch"], Stdio::piped())?;
        let answers = BufReader::new(running.take_stdout()?);
        Ok(Self { answers, running })
    }

    /// Hands the content of a blob to `take`, which may leave some of it.
    pub(super) fn with<T>(
        &mut self,
        id: &str,
        take: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> io::Result<T> {
        let questions = self.running.child().stdin().ok_or(io::ErrorKind::BrokenPipe)?;
        questions.write_all(format!("{id}\n").as_bytes())?;
        questions.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let size = header.trim_end().strip_prefix(id).and_then(|rest| rest.strip_prefix(" blob "));
        let size: u64 = size.and_then(|size| size.parse().ok()).ok_or_else(|| not_understood(&header))?;
        let mut content = (&mut self.answers).take(size);
        let taken = take(&mut content);
        // Whatever was left, and the line break behind it.
        io::copy(&mut content, &mut io::sink())?;
        self.answers.read_exact(&mut [0])?;
        taken
    }
}

fn not_understood(header: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("git cat-file said `{}`", header.trim()))
}

/// Which of git's modes the file system knows. Where it has no executable bit, what the bit says means nothing; where it
/// has no links, a file that holds the target is the link.
struct FileSystemModes {
    executable: bool,
    links: bool,
}

struct Restoring<'a> {
    snapshots: &'a Snapshots,
    before: &'a Snapshot,
    modes: FileSystemModes,
    folder: WorkingTree,
    blobs: Blobs,
    restored: RestoreReport,
}

impl Restoring<'_> {
    fn all(&mut self, differences: &[Difference]) {
        // First what goes: a file may have to take a folder's place, or the other way round.
        let (removed, written): (Vec<_>, Vec<_>) = differences.iter().partition(|one| one.new.is_none());
        for difference in removed.into_iter().rev().chain(written) {
            match self.one(difference) {
                Ok(()) if difference.new.is_none() => self.restored.removed.push(difference.path.clone()),
                Ok(()) => self.restored.written.push(difference.path.clone()),
                Err(why) => self.restored.skip(&difference.path, why.to_string()),
            }
        }
        self.restored.removed.reverse();
    }

    fn one(&mut self, difference: &Difference) -> Result<(), LeaveAlone> {
        let path = &difference.path;
        let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
        if difference.is_of_repository() {
            return Err(LeaveAlone::OwnRepository);
        }
        if let Some(reason) = why_left_out(self.before, path) {
            return Err(LeaveAlone::NotSavedNow(reason));
        }
        if let Some(reason) = why_left_out(&self.restored.snapshot, path) {
            return Err(LeaveAlone::NotSavedThen(reason));
        }
        let kind = self.folder.kind(path)?;
        match old {
            Some(_) if kind == PathKind::Absent => return Err(LeaveAlone::NotThere),
            Some(old) if !self.is(path, kind, old) => return Err(LeaveAlone::JustChanged),
            Some(_) => {}
            None if matches!(kind, PathKind::Absent | PathKind::Folder) => {}
            None if new.is_some_and(|new| self.is(path, kind, new)) => return Ok(()),
            None if kind == PathKind::Other => return Err(LeaveAlone::NoFile),
            None => return Err(LeaveAlone::IgnoredFile),
        }
        let is_executable = |new: &Version| match kind {
            PathKind::File { executable } if !self.modes.executable => executable,
            _ => new.mode == "100755",
        };
        match (old, new) {
            (_, None) => self.folder.remove(path)?,
            (Some(old), Some(new)) if old.id == new.id && old.mode != LINK && new.mode != LINK => {
                self.folder.set_executable(path, is_executable(new))?;
            }
            (_, Some(new)) if new.mode == LINK && self.modes.links => {
                let mut target = Vec::new();
                self.blobs.with(&new.id, |content| content.read_to_end(&mut target))?;
                self.folder.write_link(path, &target)?;
            }
            (_, Some(new)) => {
                let (folder, executable) = (&self.folder, is_executable(new));
                let known = self.restored.snapshot.facts.modes.iter().find(|known| known.path == *path);
                let known = known.map(|known| known.mode);
                self.blobs.with(&new.id, |content| folder.write(path, content, executable, known))?;
            }
        }
        Ok(())
    }

    /// Whether this very version is at the path now.
    fn is(&self, path: &BytePath, kind: PathKind, version: &Version) -> bool {
        let fits = match (kind, version.mode.as_str()) {
            (PathKind::File { executable }, "100755") => executable || !self.modes.executable,
            (PathKind::File { executable }, "100644") => !executable || !self.modes.executable,
            (PathKind::File { .. }, LINK) => !self.modes.links,
            (PathKind::Symlink, LINK) => true,
            _ => false,
        };
        let mut disk = Disk::new(&self.snapshots.repository.root, ObjectFormat::of_id(&version.id));
        fits && disk.blob_id(path).as_deref() == Some(&version.id)
    }
}

fn why_left_out(snapshot: &Snapshot, path: &BytePath) -> Option<String> {
    let mut left_out = snapshot.facts.left_out.iter();
    left_out.find(|left| left.path.as_ref() == Some(path)).map(|left| left.reason.clone())
}
