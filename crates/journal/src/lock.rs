//! A lock between processes, on a file that is only ever locked, never read.
//!
//! The kernel gives the lock back when its holder ends in whatever way, so a stale, truncated or foreign
//! file never blocks. The file is never removed: that would let two processes lock two files of one name. A
//! symbolic link in its place is refused.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("`{}` is locked by another process for longer than the limit", path.display())]
    Busy { path: PathBuf },
    #[error("cannot open the lock file `{}`", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot lock `{}`", path.display())]
    Lock { path: PathBuf, source: io::Error },
}

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits at most `limit`; zero means: now or not at all. The directory must exist.
    pub fn acquire(path: &Path, limit: Duration) -> Result<Self, LockError> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // Without NONBLOCK a named pipe in its place would wait for a reader.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(path)
            .map_err(|source| LockError::Open { path: path.to_owned(), source })?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
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
