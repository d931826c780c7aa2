//! A lock between processes, on a file that is only ever locked, never read.
//!
//! The kernel gives the lock back when its holder ends in whatever way, so a stale, truncated or foreign
//! file never blocks. The file is never removed: that would let two processes lock two files of one name. A
//! symbolic link in its place is refused, and so is whatever else is no regular file.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::regular_file::{self, Links};
use crate::{FileError, Folder};

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("`{}` has been locked by another process for too long", path.display())]
    Busy { path: PathBuf },
    #[error("cannot open the lock file")]
    Open(#[source] FileError),
    #[error("cannot lock `{}`", path.display())]
    Lock { path: PathBuf, source: io::Error },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Alone,
    /// With others that share it.
    Shared,
}

/// Held until released or dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Locks a file of the user's own. Waits at most `limit`; zero means: now or not at all. The directory must exist.
    pub fn acquire(path: &Path, limit: Duration) -> Result<Self, LockError> {
        let opened = regular_file::opened(path, OFlags::WRONLY | OFlags::CREATE, Links::Refuse, 0o600);
        Self::wait(opened.map_err(LockError::Open)?, path, Sharing::Alone, limit)
    }

    /// Locks a file in a folder that several users may share: the umask decides who else may lock it.
    pub fn acquire_in(
        folder: &Folder,
        name: impl AsRef<OsStr>,
        sharing: Sharing,
        limit: Duration,
    ) -> Result<Self, LockError> {
        let name = name.as_ref();
        let file = folder.lock_file(name).map_err(LockError::Open)?;
        Self::wait(file, &folder.path().join(name), sharing, limit)
    }

    /// The locked file, for its permissions, or for a second handle that keeps the lock as long as it is open.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the lock back now. Dropping it closes the file alone, and a child that another thread has just started has it open, and so
    /// keeps the lock, until it becomes another program.
    pub fn release(self) {
        let _ = self.file.unlock();
    }

    fn wait(file: File, path: &Path, sharing: Sharing, limit: Duration) -> Result<Self, LockError> {
        let start = Instant::now();
        loop {
            let locked = match sharing {
                Sharing::Alone => file.try_lock(),
                Sharing::Shared => file.try_lock_shared(),
            };
            match locked {
                Ok(()) => return Ok(Self { file }),
                Err(TryLockError::Error(source)) => {
                    return Err(LockError::Lock { path: path.to_owned(), source });
                }
                Err(TryLockError::WouldBlock) if start.elapsed() >= limit => {
                    return Err(LockError::Busy { path: path.to_owned() });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}
