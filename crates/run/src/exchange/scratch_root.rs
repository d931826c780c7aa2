//! A folder on a node's own disk that stands for the project's while a stage is carried out there. It goes with the process; what a
//! killed one left is removed by the next.
//!
//! A folder has the name by which the next one looks for leftovers only once it is locked. Until then it has another one, or
//! somebody could lock it first, and remove it under its owner.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::Lock;

const PREFIX: &str = "checkstone-node-";
/// While it is made.
const UNLOCKED_PREFIX: &str = "checkstone-new-";
/// Nobody takes so long to lock a folder.
const LONGEST_MAKING: Duration = Duration::from_secs(24 * 60 * 60);
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
        // By its real name: a stage may ask for its folder.
        let temporary = fs_err::canonicalize(temporary)?;
        let id = files::random_id();
        let unlocked = temporary.join(format!("{UNLOCKED_PREFIX}{id}"));
        fs_err::create_dir(&unlocked)?;
        remove_left(&temporary, &unlocked);
        let lock = Lock::acquire(&unlocked.join(LOCK), Duration::ZERO).map_err(io::Error::other)?;
        let path = temporary.join(format!("{PREFIX}{id}"));
        fs_err::rename(&unlocked, &path)?;
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

/// `new` was made just now: by its time the age of others is known, whatever the clock says.
fn remove_left(temporary: &Path, new: &Path) {
    let made_at = |path: &Path| fs_err::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
    let is_old = |path: &Path| {
        let age = made_at(new).zip(made_at(path)).and_then(|(now, then)| now.duration_since(then).ok());
        age.is_some_and(|age| age >= LONGEST_MAKING)
    };
    for entry in fs_err::read_dir(temporary).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let begins_with = |prefix: &str| name.to_str().is_some_and(|name| name.starts_with(prefix));
        let lock = path.join(LOCK);
        // One without a lock is being removed by somebody else.
        let is_left = begins_with(PREFIX) && lock.exists() && Lock::acquire(&lock, Duration::ZERO).is_ok();
        if is_left || (begins_with(UNLOCKED_PREFIX) && is_old(&path)) {
            let _ = fs_err::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::time::SystemTime;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs_err::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn many_at_once_leave_each_other_alone() {
        let temporary = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let root = ScratchRoot::new(temporary.path()).unwrap();
                        fs_err::write(root.path().join("work"), "done").unwrap();
                        std::thread::yield_now();
                        assert_eq!(fs_err::read_to_string(root.path().join("work")).unwrap(), "done");
                    }
                });
            }
        });
        assert_eq!(names(temporary.path()), Vec::<String>::new());
    }

    #[test]
    fn what_a_killed_one_left_goes_and_what_lives_or_is_being_made_stays() {
        let temporary = tempfile::tempdir().unwrap();
        let living = ScratchRoot::new(temporary.path()).unwrap();
        let folder = |name: &str| {
            let path = temporary.path().join(name);
            fs_err::create_dir(&path).unwrap();
            fs_err::write(path.join(LOCK), "").unwrap();
            path
        };
        folder("checkstone-node-killed");
        folder("checkstone-new-young");
        folder("somebody-else");
        let old = folder("checkstone-new-old");
        let long_ago = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
        fs_err::File::open(&old).unwrap().into_file().set_times(long_ago).unwrap();
        drop(ScratchRoot::new(temporary.path()).unwrap());
        let living = living.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(names(temporary.path()), ["checkstone-new-young", living, "somebody-else"]);
    }
}
