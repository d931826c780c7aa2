//! Files that killed processes left in a git folder: locks, which keep git from working, and parts of packs and objects, which
//! only take room. Git tells nobody whose a lock is, so that age and the processes of the machine have to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use change_set::BytePath;
use changes::{Repository, submodules};
use files::TemporaryFile;
use machine::ProcessTable;

/// No git holds a lock so long while it works.
const OLDEST_LOCK: Duration = Duration::from_secs(10 * 60);

/// No import takes longer than this.
pub(crate) const LONGEST_IMPORT: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of refs with more entries is not looked through to its end.
const MOST_ENTRIES: usize = 100_000;

/// One file that nobody writes any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverFile {
    pub path: PathBuf,
    pub age: Duration,
    pub bytes: u64,
    pub kind: LeftoverKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverKind {
    /// As long as it is there, git refuses to change what it locks.
    Lock,
    /// A part of a pack or of an object.
    Temporary,
}

/// Those in the git folder of a working tree, locks first; then those of its submodules.
pub fn leftover_files(repository: &Repository, now: SystemTime) -> Vec<LeftoverFile> {
    let Repository { git_dir, common_dir, .. } = repository;
    let mut paths: Vec<PathBuf> = entries(git_dir).filter(|path| is_lock(path)).collect();
    if common_dir != git_dir {
        paths.extend(entries(common_dir).filter(|path| is_lock(path)));
    }
    paths.extend(below(&common_dir.join("refs")).filter(|path| is_lock(path)));
    let locks = paths.iter().filter_map(|path| left(path, LeftoverKind::Lock, OLDEST_LOCK, now));
    let packs: Vec<PathBuf> =
        entries(&common_dir.join("objects/pack")).filter(|path| is_temporary(path)).collect();
    let parts = packs.iter().filter_map(|path| left(path, LeftoverKind::Temporary, LONGEST_IMPORT, now));
    let mut found: Vec<LeftoverFile> = locks.chain(parts).collect();
    if found.iter().any(|file| file.kind == LeftoverKind::Lock) && is_git_at_work(repository) {
        found.retain(|file| file.kind != LeftoverKind::Lock);
    }
    for (_, inner) in submodules::checked_out(repository) {
        found.extend(leftover_files(&inner, now));
    }
    found
}

/// Of these paths of a working tree, what an interrupted restore or save left beside the file that it was writing.
pub fn interrupted_writes(
    root: &Path,
    paths: impl Iterator<Item = BytePath>,
    now: SystemTime,
) -> Vec<LeftoverFile> {
    let ours = paths.filter(|path| std::str::from_utf8(path.file_name()).is_ok_and(TemporaryFile::is_left));
    ours.filter_map(|path| left(&root.join(path.as_path()), LeftoverKind::Temporary, OLDEST_LOCK, now))
        .collect()
}

fn left(path: &Path, kind: LeftoverKind, least: Duration, now: SystemTime) -> Option<LeftoverFile> {
    let found = path.symlink_metadata().ok().filter(|found| found.is_file())?;
    let age = now.duration_since(found.modified().ok()?).ok()?;
    let is_left = age >= least && !is_open(path).unwrap_or(false);
    is_left.then(|| LeftoverFile { path: path.to_owned(), age, bytes: found.len(), kind })
}

fn is_lock(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("lock"))
}

/// What git calls a pack, an index or an object that it is writing.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(b"tmp_") || name.starts_with(b".tmp-")
}

/// What is directly in a folder; nothing where it cannot be read.
pub(crate) fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The files in a folder and in those inside of it.
pub(crate) fn below(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop().filter(|_| found.len() < MOST_ENTRIES) {
        for path in entries(&folder) {
            let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
            if is_folder { folders.push(path) } else { found.push(path) }
        }
    }
    found.into_iter()
}

/// Whether a process is seen to have the file open. By its name: another process may see another path to it. `None` if nobody
/// can know.
pub(crate) fn is_open(path: &Path) -> Option<bool> {
    ProcessTable::has_open(path.file_name()?)
}

/// Whether a process that is called git works in the repository.
fn is_git_at_work(repository: &Repository) -> bool {
    let is_inside =
        |folder: PathBuf| folder.starts_with(&repository.root) || folder.starts_with(&repository.common_dir);
    let is_git = |process: &i32| ProcessTable::name(*process).starts_with("git");
    let mut gits = ProcessTable::pids().into_iter().filter(is_git);
    gits.any(|git| ProcessTable::working_folder(git).is_some_and(is_inside))
}
