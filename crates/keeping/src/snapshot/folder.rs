//! The working tree as a folder that nothing leads out of: every step of a path is opened without following links, so
//! that neither reading nor restoring can be sent elsewhere, not even by a link that appears meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use change_set::BytePath;
use changes::state::{CLOCK_TICK_NS, nanoseconds};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
pub(crate) struct Folder {
    root: OwnedFd,
}

impl Folder {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: rustix::fs::open(root, FOLDER, Mode::empty())? })
    }

    pub(crate) fn kind(&self, path: &BytePath) -> io::Result<Kind> {
        let Some((parent, name)) = self.parent(path)? else { return Ok(Kind::Absent) };
        match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => Kind::File { executable: found.st_mode & 0o100 != 0 },
                FileType::Symlink => Kind::Symlink,
                FileType::Directory => Kind::Folder,
                _ => Kind::Other,
            }),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Kind::Absent),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether nothing has happened at a path since `time_ns`. Where nothing is, the nearest folder above tells when
    /// something was removed from it.
    pub(super) fn is_older(&self, path: &BytePath, time_ns: i64) -> bool {
        let mut path = path.clone();
        let changed = loop {
            let found = match self.parent(&path) {
                Ok(Some((parent, name))) => rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).ok(),
                Ok(None) => None,
                Err(_) => return false,
            };
            let above = path.as_path().parent().filter(|above| !above.as_os_str().is_empty());
            match (found, above.map(BytePath::from)) {
                (Some(found), _) => break found,
                (None, Some(above)) => path = above,
                (None, None) => match rustix::fs::fstat(&self.root) {
                    Ok(root) => break root,
                    Err(_) => return false,
                },
            }
        };
        let changed_ns = nanoseconds(changed.st_ctime, i64::try_from(changed.st_ctime_nsec).unwrap_or(0));
        changed_ns.saturating_add(CLOCK_TICK_NS) < time_ns
    }

    /// Never waits on a pipe that took the file's place.
    pub(super) fn read(&self, path: &BytePath) -> io::Result<File> {
        let (parent, name) = self.parent(path)?.ok_or(io::ErrorKind::NotFound)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        Ok(File::from(rustix::fs::openat(&parent, name, flags, Mode::empty())?))
    }

    pub(super) fn link_target(&self, path: &BytePath) -> io::Result<Vec<u8>> {
        let (parent, name) = self.parent(path)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(rustix::fs::readlinkat(&parent, name, Vec::new())?.into_bytes())
    }

    /// Removes a file or link, and the folders that are empty then. A folder that still holds something stays.
    pub(super) fn remove(&self, path: &BytePath) -> io::Result<()> {
        let Some((parent, name)) = self.parent(path)? else { return Ok(()) };
        rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
        let mut folder = path.as_path().parent();
        while let Some(emptied) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            let path = BytePath::from(emptied);
            let Some((parent, name)) = self.parent(&path)? else { break };
            if rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
            folder = emptied.parent();
        }
        Ok(())
    }

    /// Puts a file in its place in one step; folders on the way are made.
    pub(super) fn write(
        &self,
        path: &BytePath,
        content: &mut dyn io::Read,
        executable: bool,
    ) -> io::Result<()> {
        let (parent, name) = self.made_parent(path)?;
        let temporary = temporary_name();
        // The person's umask decides about the rest, as it does for git. A file that is there keeps what it allows.
        let kept = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let kept = kept.filter(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        let mode = Mode::from_raw_mode(if executable { 0o777 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&parent, temporary.as_os_str(), flags, mode)?);
        let written = io::copy(content, &mut file).and_then(|_| {
            if let Some(kept) = kept {
                rustix::fs::fchmod(&file, with_executable(kept.st_mode, executable))?;
            }
            placed(&parent, &temporary, name)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&parent, temporary.as_os_str(), AtFlags::empty());
        }
        written
    }

    pub(super) fn write_link(&self, path: &BytePath, target: &[u8]) -> io::Result<()> {
        let (parent, name) = self.made_parent(path)?;
        let temporary = temporary_name();
        rustix::fs::symlinkat(OsStr::from_bytes(target), &parent, temporary.as_os_str())?;
        let placed = placed(&parent, &temporary, name);
        if placed.is_err() {
            let _ = rustix::fs::unlinkat(&parent, temporary.as_os_str(), AtFlags::empty());
        }
        placed
    }

    pub(super) fn set_executable(&self, path: &BytePath, executable: bool) -> io::Result<()> {
        let file = self.read(path)?;
        let found = rustix::fs::fstat(&file)?;
        Ok(rustix::fs::fchmod(&file, with_executable(found.st_mode, executable))?)
    }

    /// The folder of a path, and the last name; `None` where there is no such folder, or a link in its place.
    fn parent<'a>(&self, path: &'a BytePath) -> io::Result<Option<(OwnedFd, &'a OsStr)>> {
        let (folders, name) = split(path)?;
        let mut folder = rustix::io::dup(self.root.as_fd())?;
        for step in folders {
            folder = match rustix::fs::openat(&folder, step, FOLDER, Mode::empty()) {
                Ok(folder) => folder,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            };
        }
        Ok(Some((folder, name)))
    }

    fn made_parent<'a>(&self, path: &'a BytePath) -> io::Result<(OwnedFd, &'a OsStr)> {
        let (folders, name) = split(path)?;
        let mut folder = rustix::io::dup(self.root.as_fd())?;
        for step in folders {
            match rustix::fs::mkdirat(&folder, step, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            folder =
                rustix::fs::openat(&folder, step, FOLDER, Mode::empty()).map_err(|errno| match errno {
                    Errno::LOOP | Errno::NOTDIR => io::Error::new(
                        io::ErrorKind::NotADirectory,
                        "a link or a file is where a folder has to be",
                    ),
                    errno => errno.into(),
                })?;
        }
        Ok((folder, name))
    }
}

/// Gives a file its name. An empty folder makes way, for git knows none; one that holds something does not.
fn placed(parent: &OwnedFd, temporary: &OsStr, name: &OsStr) -> io::Result<()> {
    let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
    Ok(rustix::fs::renameat(parent, temporary, parent, name)?)
}

/// The names of a relative path that goes only downwards, and never into a `.git`.
fn split(path: &BytePath) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut names = Vec::new();
    for component in path.as_path().components() {
        match component {
            Component::Normal(name) if !name.eq_ignore_ascii_case(".git") => names.push(name),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path leads out of the tree")),
        }
    }
    let name = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((names, name))
}

fn with_executable(mode: u32, executable: bool) -> Mode {
    let readable = (mode & 0o444) >> 2;
    let permissions = mode & 0o7777;
    Mode::from_raw_mode(if executable { permissions | readable } else { permissions & !0o111 })
}

/// A name that no file has: the process and a count.
fn temporary_name() -> OsString {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    OsString::from_vec(format!(".checkstone-restore-{}-{count}", std::process::id()).into_bytes())
}
