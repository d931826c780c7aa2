//! Snapshots where something fails or others are at work: every call of git's import, and people who go on with theirs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use keeping::snapshot::{PrunableReasons, RestoreCaller, Retention, SnapshotError, WhichWorktrees};

use crate::sandbox::{Sandbox, text};
use crate::snapshot_sandbox::new_snapshot;

/// Everything below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

#[expect(clippy::print_stderr, reason = "who runs the tests should know what was left out")]
fn is_there(program: &str) -> bool {
    let there =
        Command::new("sh").args(["-c", "command -v \"$0\"", program]).output().unwrap().status.success();
    if !there {
        eprintln!("skipped: there is no {program} here");
    }
    there
}

/// A disk that is full or broken at every single call that git's import makes, one after the other: no snapshot or a
/// whole one, nothing of the user's changed, no lock left.
#[test]
fn an_import_that_meets_a_fault_leaves_nothing_half_done() {
    if !is_there("strace") {
        return;
    }
    let mut sandbox = Sandbox::new();
    sandbox.write("a", "changed");
    sandbox.write("new", &text("new"));
    sandbox.use_git("git-with-faults.sh");
    let index = fs_err::read(sandbox.repo.join(".git/index")).unwrap();
    let mut failures = 0;
    for (calls, error) in [
        ("write", "ENOSPC"),
        ("write", "EIO"),
        ("pwrite64", "ENOSPC"),
        ("fsync", "EIO"),
        ("openat", "ENOSPC"),
        ("rename", "EIO"),
        ("link", "ENOSPC"),
        ("unlink", "EIO"),
    ] {
        // Each snapshot that is taken is one more pack to open: the end would never come.
        for number in 1..30 {
            fs_err::write(sandbox.root().join("fault"), format!("{calls} {error} {number}\n")).unwrap();
            let before = files(&sandbox.repo.join(".git"));
            let taken = sandbox.snapshots().create(&new_snapshot(""));
            let met = fs_err::read_to_string(sandbox.root().join("met")).unwrap();
            let which = format!("{calls} {error} {number}: {taken:?}");
            let listed = sandbox.snapshots().list(WhichWorktrees::EveryWorktree).unwrap();
            if let Ok(taken) = &taken {
                assert!(listed.contains(taken), "{which}");
            } else {
                failures += 1;
            }
            // Whatever is listed is whole, the newest too.
            if let Some(snapshot) = listed.first() {
                let content = sandbox.git(&["cat-file", "blob", &format!("{}:new", snapshot.commit)]);
                assert_eq!(content, text("new"), "{which}");
            }
            assert_eq!(sandbox.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]), "", "{which}");
            assert_eq!(fs_err::read(sandbox.repo.join(".git/index")).unwrap(), index);
            let new: Vec<PathBuf> =
                files(&sandbox.repo.join(".git")).into_iter().filter(|path| !before.contains(path)).collect();
            let is_litter = |path: &PathBuf| {
                let name = path.to_string_lossy();
                let is_ours = name.contains("/objects/") || name.contains("/refs/checkstone/");
                // Git names its report after itself, which is not the process that was started: that is strace.
                name.ends_with(".lock") || !(is_ours || name.contains("/fast_import_crash_"))
            };
            let litter: Vec<&PathBuf> = new.iter().filter(|path| is_litter(path)).collect();
            assert!(litter.is_empty(), "{which}: {litter:?}");
            if !met.contains("(INJECTED)") {
                break;
            }
        }
    }
    assert!(failures > 10, "{failures}");
    sandbox.use_git("git.sh");
    let all = Retention { keep: Some(0), max_age: None, reasons: PrunableReasons::All };
    sandbox.snapshots().prune(WhichWorktrees::EveryWorktree, all, Timestamp::now()).unwrap();
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    sandbox.git(&["commit", "--quiet", "--all", "--message=works"]);
}

/// A person adds, commits, stashes, packs and collects while snapshots are taken, compared and forgotten: nobody fails
/// over the other's locks, and each snapshot is whole.
#[test]
fn a_person_goes_on_working_meanwhile() {
    let sandbox = Sandbox::new();
    sandbox.write("untracked", &text("u"));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (sandbox, done) = (&sandbox, &done);
            scope.spawn(move || {
                let keep = Retention { keep: Some(4), max_age: None, reasons: PrunableReasons::All };
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let snapshots = sandbox.snapshots();
                    let taken = snapshots.create(&new_snapshot("")).unwrap();
                    let commit = format!("{}:untracked", taken.commit);
                    match sandbox.command(&sandbox.repo, &["cat-file", "blob", &commit]).output() {
                        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), text("u")),
                        Err(error) => panic!("{error}"),
                    }
                    // Somebody who packs refs holds that lock for a moment; the next prune finds them again.
                    match snapshots.prune(
                        WhichWorktrees::ThisWorktree,
                        keep,
                        Timestamp::now() + SignedDuration::from_nanos(number),
                    ) {
                        Ok(_) => {}
                        Err(SnapshotError::Git(error)) => {
                            assert!(error.to_string().contains("packed-refs"), "{error}");
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        for number in 0..6 {
            sandbox.write("a", &format!("{number}\n"));
            sandbox.git(&["add", "a"]);
            sandbox.git(&["commit", "--quiet", "--message", &number.to_string()]);
            sandbox.write("b", &format!("{number}\n"));
            sandbox.git(&["stash", "--quiet"]);
            sandbox.git(&["pack-refs", "--all"]);
            sandbox.git(&["gc", "--quiet"]);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(sandbox.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]), "");
    assert_eq!(sandbox.git(&["stash", "list"]).lines().count(), 6);
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "7\n");
}

/// With git-lfs git has a pointer and the disk has the file: the file is what a snapshot keeps and brings back.
#[test]
fn files_of_git_lfs_are_kept_as_they_lie_on_disk() {
    if !is_there("git-lfs") {
        return;
    }
    let mut sandbox = Sandbox::empty(&[]);
    sandbox.use_git("git-with-lfs.sh");
    let configuration = sandbox.root().join("home/.gitconfig");
    let lfs = |arguments: &[&str]| {
        let mut command = sandbox.command(&sandbox.repo, arguments);
        let output = command.env("GIT_CONFIG_GLOBAL", &configuration).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    lfs(&["lfs", "install", "--skip-repo"]);
    lfs(&["lfs", "track", "*.bin"]);
    let large = text("large").repeat(5000);
    sandbox.write("kept.bin", &large);
    sandbox.write("changed.bin", &large);
    lfs(&["add", "--all"]);
    lfs(&["commit", "--quiet", "--message=large"]);
    assert!(lfs(&["cat-file", "blob", "HEAD:kept.bin"]).starts_with("version https://git-lfs"));
    sandbox.write("changed.bin", "changed\n");
    sandbox.write("new.bin", "new\n");
    let before = lfs(&["status", "--short"]);
    let snapshots = sandbox.snapshots();
    let snapshot = snapshots.create(&new_snapshot("")).unwrap();
    let held = |path: &str| sandbox.git(&["cat-file", "blob", &format!("{}:{path}", snapshot.commit)]);
    assert!(held("kept.bin") == large);
    assert_eq!((held("changed.bin"), held("new.bin")), ("changed\n".to_owned(), "new\n".to_owned()));
    for name in ["kept.bin", "changed.bin", "new.bin"] {
        sandbox.remove(name);
    }
    let restored = snapshots.restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    assert!(restored.skipped.is_empty(), "{restored:?}");
    assert!(fs_err::read_to_string(sandbox.repo.join("kept.bin")).unwrap() == large);
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("new.bin")).unwrap(), "new\n");
    assert_eq!(lfs(&["status", "--short"]), before);
}

/// What an import had written when it failed, or when its time was over, does not stay on the disk.
#[test]
fn an_import_that_fails_leaves_no_part_of_a_pack() {
    for script in ["git-without-room.sh", "git-that-imports-for-ever.sh"] {
        let mut sandbox = Sandbox::new();
        sandbox.write("a", "changed\n");
        sandbox.use_git(script);
        sandbox.program = sandbox.program.within(Duration::from_secs(3));
        let packs = sandbox.repo.join(".git/objects/pack");
        fs_err::write(packs.join("tmp_pack_others"), "PACK").unwrap();
        sandbox.snapshots().create(&new_snapshot("fails")).unwrap_err();
        let left: Vec<_> = packs.read_dir().unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["tmp_pack_others"], "{script}");
    }
}
