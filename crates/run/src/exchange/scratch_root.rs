//! A folder on a node's own disk that stands for the project's while a stage is carried out there. It goes with the process; what a
//! killed one left is removed by the next.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::Lock;

const PREFIX: &str = "checkstone-node-";
const LOCK: &str = ".lock";
/// With less left than this nothing can be written any more.
const LITTLE: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct ScratchRoot {
    path: PathBuf,
    _lock: Lock,
}

impl ScratchRoot {
    pub(crate) fn new(temporary: &Path) -> io::Result<Self> {
        remove_left(temporary);
        let path = temporary.join(format!("{PREFIX}{}", files::random_id()));
        fs_err::create_dir(&path)?;
        // By its real name: a stage may ask for its folder.
        let path = fs_err::canonicalize(path)?;
        let lock = Lock::acquire(&path.join(LOCK), Duration::ZERO).map_err(io::Error::other)?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Asked while everything that was written is still there.
    pub(crate) fn reason_if_full(&self, host: &str) -> Option<String> {
        full_disk(self.path.parent()?, host)
    }
}

impl Drop for ScratchRoot {
    fn drop(&mut self) {
        let _ = fs_err::remove_dir_all(&self.path);
    }
}

/// What to do about the disk of a node's scratch folder, if that is full.
pub(crate) fn full_disk(temporary: &Path, host: &str) -> Option<String> {
    let stat = rustix::fs::statvfs(temporary).ok()?;
    let is_full = stat.f_bavail.saturating_mul(stat.f_frsize) < LITTLE;
    is_full.then(|| {
        let shown = temporary.display();
        format!(
            "the disk of `{shown}` on `{host}` is full: free some room there, or set `TMPDIR` to a larger one"
        )
    })
}

fn remove_left(temporary: &Path) {
    for entry in fs_err::read_dir(temporary).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let lock = entry.path().join(LOCK);
        // One without a lock is being made, or is removed by somebody else.
        if is_ours && lock.exists() && Lock::acquire(&lock, Duration::ZERO).is_ok() {
            let _ = fs_err::remove_dir_all(entry.path());
        }
    }
}
