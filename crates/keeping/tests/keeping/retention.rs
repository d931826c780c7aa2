//! Snapshots that are forgotten: which ones, without a lock that others need, and really.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use keeping::snapshot::{
    NewSnapshot, PrunableReasons, RestoreCaller, Retention, Snapshot, SnapshotError, SnapshotReason,
    WhichWorktrees,
};

use crate::sandbox::Sandbox;
use crate::snapshot_sandbox::new_snapshot;

const TURN_START: SnapshotReason = SnapshotReason::TurnStart { began_ns: 0 };
const ALL: Retention = Retention { keep: Some(0), max_age: None, reasons: PrunableReasons::All };

fn content(sandbox: &Sandbox, snapshot: &Snapshot, path: &str) -> String {
    sandbox.git(&["cat-file", "blob", &format!("{}:{path}", snapshot.commit)])
}

fn taken(sandbox: &Sandbox, reason: SnapshotReason, age: i64) -> Snapshot {
    let new =
        NewSnapshot { reason, now: Timestamp::now() - SignedDuration::from_nanos(age), ..new_snapshot("") };
    sandbox.snapshots().create(&new).unwrap()
}

/// Pruned snapshots are really gone once git collects, and the others stay.
#[test]
fn pruned_snapshots_can_be_collected() {
    let sandbox = Sandbox::new();
    let day = 24 * 60 * 60 * 1_000_000_000;
    let now = Timestamp::now();
    let take = |content: &str, age: i64| {
        sandbox.write("a", content);
        let new = NewSnapshot {
            reason: SnapshotReason::Asked,
            message: content,
            now: now - SignedDuration::from_nanos(age),
            session: None,
            turn: None,
        };
        sandbox.snapshots().create(&new).unwrap()
    };
    let (old, middle, young) = (take("old", 40 * day), take("middle", 2 * day), take("young", 0));
    let retention = Retention {
        keep: None,
        max_age: Some(Duration::from_secs(30 * 24 * 60 * 60)),
        reasons: PrunableReasons::All,
    };
    assert_eq!(
        sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, retention, now).unwrap(),
        std::slice::from_ref(&old)
    );
    let retention = Retention { keep: Some(1), max_age: None, reasons: PrunableReasons::All };
    assert_eq!(
        sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, retention, now).unwrap(),
        std::slice::from_ref(&middle)
    );
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    let exists = |snapshot: &Snapshot| {
        let id = format!("{}:a", snapshot.commit);
        sandbox.command(&sandbox.repo, &["cat-file", "-e", &id]).output().unwrap().status.success()
    };
    assert_eq!([&old, &middle, &young].map(exists), [false, false, true]);
    assert_eq!(content(&sandbox, &young, "a"), "young");
}

/// A killed import may leave a pack marked as to be kept; a prune takes the mark away, once it is old, and no other mark.
#[test]
fn packs_of_killed_imports_are_released() {
    let sandbox = Sandbox::new();
    let folder = sandbox.repo.join(".git/objects/pack");
    let mark = |name: &str, text: &str, days: u64| {
        let path = folder.join(name);
        fs_err::write(&path, text).unwrap();
        let time = ::sandbox::ago(Duration::from_secs(days * 24 * 60 * 60));
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    };
    let ours = mark("pack-1.keep", "fast-import", 2);
    let fresh = mark("pack-2.keep", "fast-import", 0);
    let wanted = mark("pack-3.keep", "kept by the user", 2);
    let begun = mark("tmp_pack_aaaaaa", "PACK", 2);
    let just_begun = mark("tmp_pack_bbbbbb", "PACK", 0);
    let in_work = mark("tmp_pack_cccccc", "PACK", 2);
    let writer = fs_err::File::open(&in_work).unwrap();
    let retention = Retention { keep: None, max_age: None, reasons: PrunableReasons::All };
    sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, retention, Timestamp::now()).unwrap();
    assert_eq!([ours, fresh, wanted].map(|path| path.exists()), [false, true, true]);
    assert_eq!([begun, just_begun, in_work].map(|path| path.exists()), [false, true, true]);
    drop(writer);
}

/// The lock of one of our own refs, left by a git that was killed, is nobody else's.
#[test]
fn locks_of_our_own_refs_are_removed() {
    let sandbox = Sandbox::new();
    sandbox.snapshot();
    let left = |name: &str| {
        let path = sandbox.repo.join(".git/refs").join(name);
        fs_err::write(&path, "").unwrap();
        let file = fs_err::OpenOptions::new().append(true).open(&path).unwrap();
        file.file().set_modified(::sandbox::ago(Duration::from_secs(3600))).unwrap();
        path
    };
    let (ours, theirs) = (left("checkstone/snapshots/main/gone.lock"), left("heads/topic.lock"));
    sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, ALL, Timestamp::now()).unwrap();
    assert_eq!((ours.exists(), theirs.exists()), (false, true));
}

/// Those that a person asked for, and what an undo needs, are neither counted nor removed.
#[test]
fn only_those_taken_by_themselves_go_by_themselves() {
    let sandbox = Sandbox::new();
    let asked = taken(&sandbox, SnapshotReason::Asked, 9);
    let old = taken(&sandbox, TURN_START, 8);
    let autosave = taken(&sandbox, SnapshotReason::Autosave, 7);
    sandbox.write("a", "changed");
    let restored = sandbox
        .snapshots()
        .restore(&asked, &[], RestoreCaller::default(), Timestamp::now() - SignedDuration::from_nanos(6))
        .unwrap();
    let before = restored.before.unwrap();
    let young = taken(&sandbox, TURN_START, 5);
    let retention = Retention { keep: Some(2), max_age: None, reasons: PrunableReasons::Automatic };
    let snapshots = sandbox.snapshots();
    assert_eq!(snapshots.prune(WhichWorktrees::ThisWorktree, retention, Timestamp::now()).unwrap(), [old]);
    assert_eq!(snapshots.list(WhichWorktrees::ThisWorktree).unwrap(), [young, before, autosave, asked]);
}

/// Git would wait for this lock and then give up, and leave one behind where it is killed.
#[test]
fn a_ref_in_a_file_of_its_own_goes_without_a_lock() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    let lock = sandbox.repo.join(".git/packed-refs.lock");
    fs_err::write(&lock, "").unwrap();
    assert_eq!(
        sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, ALL, Timestamp::now()).unwrap(),
        [snapshot]
    );
    assert_eq!(sandbox.git(&["for-each-ref", "refs/checkstone"]), "");
    assert!(lock.exists());
}

/// Refs that `git gc` has packed are git's to remove; where it cannot, nothing is said to be gone.
#[test]
fn packed_refs_are_removed_by_git() {
    let sandbox = Sandbox::new();
    let packed = sandbox.snapshot();
    sandbox.git(&["pack-refs", "--all"]);
    let loose = sandbox.snapshot();
    let both = [loose, packed];
    let lock = sandbox.repo.join(".git/packed-refs.lock");
    fs_err::write(&lock, "").unwrap();
    let failed = sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, ALL, Timestamp::now()).unwrap_err();
    assert!(failed.to_string().contains("packed-refs.lock"), "{failed}");
    assert!(matches!(failed, SnapshotError::Git(_)));
    assert_eq!(sandbox.snapshots().list(WhichWorktrees::ThisWorktree).unwrap(), both[1..]);
    fs_err::remove_file(lock).unwrap();
    assert_eq!(
        sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, ALL, Timestamp::now()).unwrap(),
        both[1..]
    );
    let others = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(others, "refs/heads/main\n");
}

/// Where refs are no files at all, git does everything.
#[test]
fn another_format_of_refs_is_pruned_too() {
    let help = std::process::Command::new("git").args(["init", "-h"]).output().unwrap();
    if !String::from_utf8_lossy(&help.stdout).contains("--ref-format") {
        return;
    }
    let sandbox = Sandbox::empty(&["--ref-format=reftable"]);
    sandbox.write("a", "1");
    sandbox.commit_all("first");
    let snapshots = sandbox.snapshots();
    let snapshot = snapshots.create(&new_snapshot("")).unwrap();
    assert_eq!(snapshots.list(WhichWorktrees::ThisWorktree).unwrap(), std::slice::from_ref(&snapshot));
    assert_eq!(snapshots.prune(WhichWorktrees::ThisWorktree, ALL, Timestamp::now()).unwrap(), [snapshot]);
    assert_eq!(snapshots.list(WhichWorktrees::ThisWorktree).unwrap(), []);
}

/// What nobody refers to any more takes no room: as many objects as before, once git collects.
#[test]
fn the_objects_of_forgotten_snapshots_go() {
    let sandbox = Sandbox::new();
    let count = || {
        sandbox.git(&["gc", "--quiet", "--prune=now"]);
        let counts = sandbox.git(&["count-objects", "-v"]);
        let number = |name: &str| {
            let line = counts.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse::<u64>().unwrap()
        };
        number("count:") + number("in-pack:")
    };
    let before = count();
    for number in 0..5 {
        sandbox.write("a", &number.to_string());
        sandbox.write(&format!("new/{number}"), &number.to_string());
        taken(&sandbox, TURN_START, 10 - number);
    }
    assert!(count() > before + 15);
    let retention = Retention { reasons: PrunableReasons::Automatic, ..ALL };
    assert_eq!(
        sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, retention, Timestamp::now()).unwrap().len(),
        5
    );
    assert_eq!(count(), before);
}
