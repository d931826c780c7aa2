//! An owner that is paused for longer than its lease, and one that is only slow.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use files::atomic_file;
use lease::{FolderLease, KeptLease, LeaseError};
use rustix::process::{Pid, Signal, kill_process};

use crate::worker::{LONG, SHORT, Worker, abandoned, count};

fn signal(worker: &Worker, signal: Signal) {
    kill_process(Pid::from_child(&worker.child), signal).unwrap();
}

fn numbers(record: &Path) -> Vec<u64> {
    fs_err::read_to_string(record).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// Whatever was said to be committed is in the record that the successor read; nothing is added to it afterwards.
#[test]
fn a_paused_owner_that_wakes_up_writes_nothing_more() {
    for _ in 0..count("CHECKSTONE_SOAK_PAUSES", 3) {
        let place = tempfile::tempdir().unwrap();
        let folder = abandoned(place.path(), "lease", None);
        let record = place.path().join("record");
        fs_err::write(&record, "").unwrap();
        let mut owner = Worker::spawn(&["commit", folder.to_str().unwrap(), record.to_str().unwrap()]);
        assert_eq!(owner.line(), "0");
        signal(&owner, Signal::STOP);
        let taken = KeptLease::take(&folder, SHORT).unwrap();
        assert_eq!(taken.fence().token(), 3);
        let bytes = fs_err::read(&record).unwrap();
        atomic_file::write(&record, &bytes, 0o644).unwrap();
        signal(&owner, Signal::CONT);
        let mut said: Vec<String> = std::iter::once("0".to_owned()).chain(owner.by_ref()).collect();
        assert_eq!(said.pop().as_deref(), Some("lost"));
        let recorded = numbers(&record);
        assert_eq!(fs_err::read(&record).unwrap(), bytes);
        assert_eq!(recorded, (0..recorded.len() as u64).collect::<Vec<_>>());
        let committed: BTreeSet<u64> = said.iter().map(|number| number.parse().unwrap()).collect();
        assert_eq!(committed.difference(&recorded.into_iter().collect()).count(), 0);
        taken.fence().check().unwrap();
    }
}

/// Its owner gives signs of life, so that nobody waits for the whole length; whatever the clock of the wall says there.
#[test]
fn a_living_owner_is_not_replaced() {
    let place = tempfile::tempdir().unwrap();
    let folder = abandoned(place.path(), "lease", None);
    let held = KeptLease::take(&folder, SHORT).unwrap();
    assert!(matches!(FolderLease::take(&folder, SHORT), Err(LeaseError::Held { .. })));
    for offset in ["+400d", "-400d"] {
        let mut command = Command::new("faketime");
        command.args(["-f", offset]).arg(std::env::current_exe().unwrap());
        if Command::new("faketime").arg("--version").output().is_err() {
            println!("no faketime here: left out");
            break;
        }
        let mut other = Worker::spawn_by(command, &["contend"]);
        other.tell(&folder);
        assert_eq!(other.line(), "held");
        // Killed, `faketime` would leave what it shares with its child in memory, and fail under the same process id later.
        drop(other.child.stdin.take());
        assert!(other.child.wait().unwrap().success());
    }
    assert!(lease::owner_in(&folder).is_some());
    held.fence().check().unwrap();
}

#[test]
fn a_lease_that_was_given_back_is_free_at_once() {
    let place = tempfile::tempdir().unwrap();
    let lease = FolderLease::take(place.path(), LONG).unwrap();
    assert!(matches!(FolderLease::take_now(place.path(), LONG), Err(LeaseError::Held { .. })));
    lease.release().unwrap();
    assert!(lease::owner_in(place.path()).is_none());
    let mut next = FolderLease::take_now(place.path(), LONG).unwrap();
    assert_eq!(next.fence().token(), 2);
    next.renew().unwrap();
}

/// A file that nobody can read is watched like any other.
#[test]
fn what_is_no_lease_is_not_taken_before_its_time() {
    let place = tempfile::tempdir().unwrap();
    fs_err::write(place.path().join("1"), "").unwrap();
    assert!(matches!(FolderLease::take_now(place.path(), LONG), Err(LeaseError::Held { .. })));
}
