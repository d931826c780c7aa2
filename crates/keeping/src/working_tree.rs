//! The working tree as a folder that nothing leads out of: every step of a path is opened without following links, so
//! that neither reading nor restoring can be sent elsewhere, not even by a link that appears meanwhile.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use change_set::BytePath;
use changes::state::{CLOCK_TICK_NS, nanoseconds};
use files::{FileError, Folder, TemporaryFile, random_id};
use rustix::fs::{FileType, Mode, Stat};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    Absent,
    File {
        executable: bool,
    },
    Symlink,
    Folder,
    /// A pipe, a socket or a device.
    Other,
}

#[derive(Debug)]
pub(crate) struct WorkingTree {
    root: Folder,
}

impl WorkingTree {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: Folder::open(root).map_err(io_error)? })
    }

    pub(crate) fn kind(&self, path: &BytePath) -> io::Result<PathKind> {
        let Some(found) = self.stat(path)? else { return Ok(PathKind::Absent) };
        Ok(match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => PathKind::File { executable: found.st_mode & 0o100 != 0 },
            FileType::Symlink => PathKind::Symlink,
            FileType::Directory => PathKind::Folder,
            _ => PathKind::Other,
        })
    }

    /// Whether nothing has happened at a path since `time_ns`. If nothing is there, the nearest folder above tells when
    /// something was removed from it.
    pub(crate) fn is_older(&self, path: &BytePath, time_ns: i64) -> bool {
        let mut path = path.clone();
        let changed = loop {
            let Ok(found) = self.stat(&path) else { return false };
            let above = path.as_path().parent().filter(|above| !above.as_os_str().is_empty());
            match (found, above.map(BytePath::from)) {
                (Some(found), _) => break found,
                (None, Some(above)) => path = above,
                (None, None) => match rustix::fs::fstat(self.root.as_file()) {
                    Ok(root) => break root,
                    Err(_) => return false,
                },
            }
        };
        let changed_ns = nanoseconds(changed.st_ctime, i64::try_from(changed.st_ctime_nsec).unwrap_or(0));
        changed_ns.saturating_add(CLOCK_TICK_NS) < time_ns
    }

    pub(crate) fn read(&self, path: &BytePath) -> io::Result<File> {
        let file = self.in_parent(path, |parent, name| parent.file(name).map_err(io_error))?;
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn link_target(&self, path: &BytePath) -> io::Result<Vec<u8>> {
        let target = self.in_parent(path, |parent, name| {
            Ok(rustix::fs::readlinkat(parent.as_file(), name, Vec::new())?.into_bytes())
        })?;
        target.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Removes a file or link, and the folders that are empty then. A folder that still holds something stays.
    pub(crate) fn remove(&self, path: &BytePath) -> io::Result<()> {
        if self.in_parent(path, |parent, name| parent.remove_file(name).map_err(io_error))?.is_none() {
            return Ok(());
        }
        let above = path.as_path().ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
        for emptied in above.map(BytePath::from) {
            let removed =
                self.in_parent(&emptied, |parent, name| Ok(parent.remove_empty_folder(name).is_ok()));
            if !matches!(removed, Ok(Some(true))) {
                break;
            }
        }
        Ok(())
    }

    /// Puts a file in its place in one step; folders on the way are made.
    pub(crate) fn write(
        &self,
        path: &BytePath,
        content: &mut dyn io::Read,
        executable: bool,
        known: Option<u32>,
    ) -> io::Result<()> {
        self.in_made_parent(path, |parent, name| {
            // The person's umask decides about the rest, as it does for git, unless it is known what the file allowed. One that
            // is there keeps what it allows.
            let kept = parent.stat(name).map_err(io_error)?;
            let kept = kept.filter(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
            let mode = if executable { 0o777 } else { 0o666 };
            let mut temporary = TemporaryFile::new(parent, name, mode).map_err(io_error)?;
            io::copy(content, &mut temporary.file())?;
            if let Some(mode) = kept.as_ref().map(machine::mode_bits).or(known) {
                rustix::fs::fchmod(temporary.file(), with_executable(mode, executable))?;
            }
            make_way(parent, name);
            temporary.replace(parent, name).map_err(io_error)
        })
    }

    pub(crate) fn write_link(&self, path: &BytePath, target: &[u8]) -> io::Result<()> {
        self.in_made_parent(path, |parent, name| {
            let temporary = format!(".{}.tmp", random_id());
            rustix::fs::symlinkat(OsStr::from_bytes(target), parent.as_file(), &temporary)?;
            make_way(parent, name);
            let placed = parent.rename(&temporary, parent, name);
            if placed.is_err() {
                let _ = parent.remove_file(&temporary);
            }
            placed.map_err(io_error)
        })
    }

    pub(crate) fn set_executable(&self, path: &BytePath, executable: bool) -> io::Result<()> {
        let file = self.read(path)?;
        let found = rustix::fs::fstat(&file)?;
        Ok(rustix::fs::fchmod(&file, with_executable(machine::mode_bits(&found), executable))?)
    }

    fn stat(&self, path: &BytePath) -> io::Result<Option<Stat>> {
        Ok(self.in_parent(path, |parent, name| parent.stat(name).map_err(io_error))?.flatten())
    }

    /// Acts in the folder of a path, on the last name; `None` if there is no such folder, or a link in its place.
    fn in_parent<T>(
        &self,
        path: &BytePath,
        act: impl FnOnce(&Folder, &OsStr) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let (folders, name) = split(path)?;
        let mut inner: Option<Folder> = None;
        for step in folders {
            inner = match inner.as_ref().unwrap_or(&self.root).folder(step) {
                Ok(folder) => Some(folder),
                Err(
                    FileError::NotFound { .. }
                    | FileError::NotAFolder { .. }
                    | FileError::SymbolicLink { .. },
                ) => return Ok(None),
                Err(error) => return Err(io_error(error)),
            };
        }
        act(inner.as_ref().unwrap_or(&self.root), name).map(Some)
    }

    /// The same, with the folders on the way made if they are missing.
    fn in_made_parent<T>(
        &self,
        path: &BytePath,
        act: impl FnOnce(&Folder, &OsStr) -> io::Result<T>,
    ) -> io::Result<T> {
        let (folders, name) = split(path)?;
        let mut inner: Option<Folder> = None;
        for step in folders {
            inner = Some(inner.as_ref().unwrap_or(&self.root).folder_made(step).map_err(io_error)?);
        }
        act(inner.as_ref().unwrap_or(&self.root), name)
    }
}

/// What the system said, where that is all there is to say: the path is told beside it.
pub(crate) fn io_error(error: FileError) -> io::Error {
    match error {
        FileError::Failed { source, .. } => source,
        other => other.into(),
    }
}

/// An empty folder makes way for a file, for git knows none; one that holds something does not.
fn make_way(parent: &Folder, name: &OsStr) {
    let _ = parent.remove_empty_folder(name);
}

/// The names of a relative path that goes only downwards, and never into a `.git`.
fn split(path: &BytePath) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut names = Vec::new();
    for component in path.as_path().components() {
        match component {
            Component::Normal(name) if !name.eq_ignore_ascii_case(".git") => names.push(name),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path leads outside the tree")),
        }
    }
    let name = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((names, name))
}

fn with_executable(mode: u32, executable: bool) -> Mode {
    let readable = (mode & 0o444) >> 2;
    let permissions = mode & 0o7777;
    machine::mode(if executable { permissions | readable } else { permissions & !0o111 })
}
