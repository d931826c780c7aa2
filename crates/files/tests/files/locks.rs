//! Locks between processes.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Child;
use std::time::Duration;

use files::{Folder, Lock, LockError, Sharing};

use crate::worker::{finish, spawn};

/// A process that another test starts has our open files until it is the other program: what was dropped here may be
/// locked for that instant.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that has the lock by now.
fn holder(path: &std::path::Path) -> Child {
    let mut child = spawn(&["hold_lock", path.to_str().unwrap()]);
    let mut line = String::new();
    // One line, unbuffered beyond it: the child says nothing more before its end.
    let mut output = BufReader::new(child.stderr.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "locked\n");
    child.stderr = Some(output.into_inner());
    child
}

#[test]
fn a_lock_held_elsewhere_is_busy_until_it_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let child = holder(&path);
    for limit in [Duration::ZERO, Duration::from_millis(20)] {
        assert!(matches!(Lock::acquire(&path, limit), Err(LockError::Busy { .. })));
    }
    finish(child);
    Lock::acquire(&path, Duration::ZERO).unwrap();
}

/// H14: the kernel gives a killed process's lock back.
#[test]
fn a_killed_holder_blocks_no_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let mut child = holder(&path);
    child.kill().unwrap();
    child.wait().unwrap();
    Lock::acquire(&path, Duration::ZERO).unwrap();
}

#[test]
fn the_content_of_a_lock_file_means_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    for content in ["", "4711\n", "\0\0\0", "{\"pid\": 1}"] {
        fs_err::write(&path, content).unwrap();
        drop(Lock::acquire(&path, PATIENCE).unwrap());
        assert_eq!(fs_err::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn two_locks_of_one_process_exclude_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let first = Lock::acquire(&path, Duration::ZERO).unwrap();
    assert!(matches!(Lock::acquire(&path, Duration::ZERO), Err(LockError::Busy { .. })));
    drop(first);
    Lock::acquire(&path, PATIENCE).unwrap();
}

#[test]
fn what_is_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    symlink("elsewhere", directory.path().join("link")).unwrap();
    fs_err::create_dir(directory.path().join("folder")).unwrap();
    sandbox::make_pipe(directory.path().join("pipe"));
    let open = Folder::open(directory.path()).unwrap();
    for name in ["link", "folder", "pipe", "missing/lock"] {
        let refused = Lock::acquire_in(&open, name, Sharing::Alone, Duration::ZERO);
        assert!(matches!(refused, Err(LockError::Open(_))), "{name}: {refused:?}");
        let refused = Lock::acquire(&directory.path().join(name), Duration::ZERO);
        assert!(matches!(refused, Err(LockError::Open(_))), "{name}: {refused:?}");
    }
    assert!(!directory.path().join("elsewhere").exists());
}

#[test]
fn a_shared_lock_excludes_only_those_who_want_it_alone() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path()).unwrap();
    let lock_within = |limit, sharing| Lock::acquire_in(&folder, "lock", sharing, limit);
    let lock = |sharing| lock_within(Duration::ZERO, sharing);
    let shared = [lock(Sharing::Shared).unwrap(), lock(Sharing::Shared).unwrap()];
    assert!(matches!(lock(Sharing::Alone), Err(LockError::Busy { .. })));
    drop(shared);
    let _alone = lock_within(PATIENCE, Sharing::Alone).unwrap();
    assert!(matches!(lock(Sharing::Shared), Err(LockError::Busy { .. })));
}

/// A process that gets a second handle keeps the lock however its first holder ends.
#[test]
fn a_second_handle_keeps_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let lock = Lock::acquire(&path, Duration::ZERO).unwrap();
    let second = lock.file().try_clone().unwrap();
    drop(lock);
    assert!(matches!(Lock::acquire(&path, Duration::ZERO), Err(LockError::Busy { .. })));
    drop(second);
    Lock::acquire(&path, PATIENCE).unwrap();
}
