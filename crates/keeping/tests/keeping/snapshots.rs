//! What a snapshot holds, in every kind of repository. `Sandbox::snapshot` checks each time that nothing of the
//! user's was written.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ::sandbox::redacted;
use change_set::BytePath;
use jiff::{SignedDuration, Timestamp};
use keeping::snapshot::{
    NewSnapshot, PrunableReasons, RestoreCaller, Retention, SessionName, Side, Snapshot, SnapshotError,
    SnapshotReason, WhichWorktrees,
};

use crate::sandbox::{Sandbox, text};
use crate::snapshot_sandbox::new_snapshot;

/// `mode path`, one for each file of the snapshot.
fn listed(sandbox: &Sandbox, snapshot: &Snapshot) -> Vec<String> {
    let listing = sandbox.git(&["ls-tree", "-r", "-z", &snapshot.commit]);
    let records = listing.split('\0').filter(|record| !record.is_empty());
    let line = |record: &str| {
        let (head, path) = record.split_once('\t').unwrap();
        format!("{} {path}", head.split(' ').next().unwrap())
    };
    records.map(line).collect()
}

fn content(sandbox: &Sandbox, snapshot: &Snapshot, path: &str) -> String {
    sandbox.git(&["cat-file", "blob", &format!("{}:{path}", snapshot.commit)])
}

#[test]
fn the_whole_tree_is_kept_and_ignored_files_are_not() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\nout/\n");
    sandbox.write("a", "changed\n");
    sandbox.git(&["add", "a"]);
    sandbox.write("a", "changed again\n");
    sandbox.remove("b");
    sandbox.write("new/untracked", "new\n");
    sandbox.write("staged", "staged\n");
    sandbox.git(&["add", "staged"]);
    sandbox.set_executable("sub/c");
    sandbox.write("x.log", "ignored\n");
    sandbox.write("out/y", "ignored\n");
    std::os::unix::fs::symlink("nowhere", sandbox.repo.join("link")).unwrap();
    let snapshot = sandbox.snapshot();
    assert_eq!(
        listed(&sandbox, &snapshot),
        [
            "100644 .gitignore",
            "100644 a",
            "120000 link",
            "100644 new/untracked",
            "100644 staged",
            "100755 sub/c"
        ]
    );
    assert_eq!(content(&sandbox, &snapshot, "a"), "changed again\n");
    assert_eq!(content(&sandbox, &snapshot, "link"), "nowhere");
    assert_eq!(snapshot.head, Some(sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned()));
    assert!(snapshot.facts.left_out.is_empty());
    assert_eq!(sandbox.snapshots().list(WhichWorktrees::ThisWorktree).unwrap(), [snapshot]);
}

#[test]
fn a_clean_tree_is_heads_tree() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    let tree = |commit: &str| sandbox.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    assert_eq!(tree(&snapshot.commit), tree("HEAD"));
    assert_eq!((snapshot.facts.files, snapshot.facts.bytes), (0, 0));
}

/// C5: before the first commit, with staged and untracked files, in both object formats.
#[test]
fn a_repository_without_a_commit_has_snapshots_too() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::empty(&[&format!("--object-format={format}")]);
        assert_eq!(listed(&sandbox, &sandbox.snapshot()), [""; 0]);
        sandbox.write("staged", "1");
        sandbox.git(&["add", "staged"]);
        sandbox.write("untracked", "2");
        let snapshot = sandbox.snapshot();
        assert_eq!(listed(&sandbox, &snapshot), ["100644 staged", "100644 untracked"]);
        assert_eq!(snapshot.head, None);
        sandbox.commit_all("first");
        sandbox.write("staged", "3");
        assert_eq!(content(&sandbox, &sandbox.snapshot(), "staged"), "3");
    }
}

/// C4: names that no line-based format survives.
#[test]
fn any_name_is_kept() {
    let sandbox = Sandbox::new();
    let names: [&[u8]; 5] = [b"new\nline", b"\xff\xfe", b" \"q\\uoted\" ", b"-c", "日本/ü".as_bytes()];
    for name in names {
        sandbox.write_bytes(name, name);
    }
    let snapshot = sandbox.snapshot();
    let paths = names.map(BytePath::from);
    let mut wanted: Vec<BytePath> = paths.to_vec();
    wanted.sort();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let snapshots = sandbox.snapshots();
    let clean = Snapshot { commit: head.trim().to_owned(), ..snapshot.clone() };
    let found = snapshots.diff(Side::Snapshot(&clean), Side::Snapshot(&snapshot), &[]).unwrap();
    assert_eq!(found.into_iter().map(|difference| difference.path).collect::<Vec<_>>(), wanted);
}

/// A merge in progress: the file with its conflict marks is what is kept, and the conflict stays in the index.
#[test]
fn an_unmerged_file_is_kept_as_it_lies_there() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "--quiet", "--create", "other"]);
    sandbox.write("a", "theirs\n");
    sandbox.remove("b");
    sandbox.commit_all("theirs");
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("a", "ours\n");
    sandbox.write("b", "ours\n");
    sandbox.commit_all("ours");
    sandbox.git_fails(&["merge", "other"]);
    let snapshot = sandbox.snapshot();
    insta::assert_snapshot!(redacted(content(&sandbox, &snapshot, "a")), @"
    <<<<<<< HEAD
    ours
    =======
    theirs
    >>>>>>> other
    ");
    assert_eq!(content(&sandbox, &snapshot, "b"), "ours\n");
    assert_eq!(sandbox.git(&["ls-files", "--unmerged"]).lines().count(), 5);
}

#[test]
fn a_file_that_is_only_meant_to_be_added_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("later", "later\n");
    sandbox.git(&["add", "--intent-to-add", "later"]);
    assert_eq!(content(&sandbox, &sandbox.snapshot(), "later"), "later\n");
}

/// `git rm --cached`: gone from the index, still there.
#[test]
fn a_file_that_left_the_index_is_still_there() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "--quiet", "--cached", "a"]);
    sandbox.git(&["rm", "--quiet", "b"]);
    assert_eq!(listed(&sandbox, &sandbox.snapshot()), ["100644 a", "100644 sub/c"]);
}

#[test]
fn files_and_folders_may_take_each_others_place() {
    let sandbox = Sandbox::new();
    fs_err::remove_dir_all(sandbox.repo.join("sub")).unwrap();
    sandbox.write("sub", "a file\n");
    sandbox.remove("a");
    sandbox.write("a/deep/file", "in a folder\n");
    sandbox.remove("b");
    std::os::unix::fs::symlink("a", sandbox.repo.join("b")).unwrap();
    assert_eq!(listed(&sandbox, &sandbox.snapshot()), ["100644 a/deep/file", "120000 b", "100644 sub"]);
}

#[test]
fn a_split_index_and_every_index_version_will_do() {
    for (key, value) in [("core.splitIndex", "true"), ("index.version", "4"), ("core.untrackedCache", "true")]
    {
        let sandbox = Sandbox::new();
        sandbox.git(&["config", key, value]);
        sandbox.write("d", "d");
        sandbox.git(&["add", "d"]);
        sandbox.git(&["status", "--short"]);
        sandbox.write("a", "changed");
        let snapshot = sandbox.snapshot();
        assert_eq!(
            listed(&sandbox, &snapshot),
            ["100644 a", "100644 b", "100644 d", "100644 sub/c"],
            "{key}"
        );
        assert_eq!(content(&sandbox, &snapshot, "a"), "changed");
    }
}

/// C5: what is not checked out is part of the tree, as HEAD has it.
#[test]
fn a_sparse_checkout_is_kept_whole() {
    for sparse_index in ["--no-sparse-index", "--sparse-index"] {
        let sandbox = Sandbox::new();
        sandbox.write("other/d", "d\n");
        sandbox.commit_all("other");
        sandbox.git(&["sparse-checkout", "set", "--cone", sparse_index, "other"]);
        assert!(!sandbox.repo.join("sub").exists());
        sandbox.write("other/d", "changed\n");
        let snapshot = sandbox.snapshot();
        assert_eq!(listed(&sandbox, &snapshot), ["100644 a", "100644 b", "100644 other/d", "100644 sub/c"]);
        assert_eq!(content(&sandbox, &snapshot, "other/d"), "changed\n");
    }
}

#[test]
fn a_submodule_is_kept_as_its_commit() {
    let sandbox = Sandbox::with_submodule();
    let module = sandbox.repo.join("module");
    fs_err::write(module.join("a"), "changed").unwrap();
    sandbox.git_in(&module, &["commit", "--quiet", "--all", "--message=inside"]);
    let snapshot = sandbox.snapshot();
    let entry = sandbox.git(&["ls-tree", &snapshot.commit, "module"]);
    let commit = sandbox.git_in(&module, &["rev-parse", "HEAD"]);
    assert_eq!(entry, format!("160000 commit {}\tmodule\n", commit.trim()));
}

#[test]
fn a_repository_inside_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "--quiet", "empty"]);
    sandbox.git(&["clone", "--quiet", ".", "nested"]);
    let snapshot = sandbox.snapshot();
    let reported: Vec<_> = snapshot.facts.left_out.iter().map(|left| left.reason.as_str()).collect();
    assert_eq!(
        reported,
        [
            "it is a repository of its own without a commit: nothing of it is recorded",
            "it is a repository of its own: only its commit is recorded"
        ]
    );
    insta::assert_snapshot!(redacted(listed(&sandbox, &snapshot).join("\n")), @"
    100644 a
    100644 b
    160000 nested
    100644 sub/c
    ");
}

/// What cannot be read is never silently dropped.
#[test]
fn what_is_no_file_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.remove("a");
    let pipe = sandbox.repo.join("a");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let snapshot = sandbox.snapshot();
    let left = &snapshot.facts.left_out;
    assert_eq!(left.iter().map(|left| left.path.clone().unwrap()).collect::<Vec<_>>(), [BytePath::from("a")]);
    // A restore keeps away from it.
    let restored =
        sandbox.snapshots().restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    assert!(restored.written.is_empty() && restored.removed.is_empty());
}

/// The bytes on disk are kept, whatever git's conversions make of them, and no filter of the repository runs.
#[test]
fn contents_are_kept_before_any_conversion() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".gitattributes",
        "*.crlf text eol=crlf\n*.id ident\n*.up filter=up\n*.utf working-tree-encoding=UTF-16LE\n",
    );
    let ran = sandbox.root().join("ran");
    let script = format!("touch '{}'; tr a-z A-Z", ran.display());
    sandbox.git(&["config", "filter.up.clean", &script]);
    sandbox.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    sandbox.write("x.crlf", "one\r\ntwo\r\n");
    sandbox.write("x.up", "lower\n");
    sandbox.write("x.id", "$Id$\n");
    let wide: Vec<u8> = "wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write_bytes(b"x.utf", &wide);
    sandbox.commit_all("converted");
    // As a checkout writes it.
    sandbox.remove("x.id");
    sandbox.git(&["checkout", "--quiet", "x.id"]);
    let on_disk = fs_err::read_to_string(sandbox.repo.join("x.id")).unwrap();
    assert!(on_disk.len() > 10);
    assert_eq!(sandbox.git(&["status", "--short"]), "");
    assert_eq!(sandbox.git(&["show", "HEAD:x.up"]), "LOWER\n");
    fs_err::remove_file(&ran).unwrap();
    let clean = sandbox.snapshot();
    assert_eq!(content(&sandbox, &clean, "x.crlf"), "one\r\ntwo\r\n");
    assert_eq!(content(&sandbox, &clean, "x.up"), "lower\n");
    assert_eq!(content(&sandbox, &clean, "x.id"), on_disk);
    assert_eq!(content(&sandbox, &clean, "x.utf").as_bytes(), wide);
    sandbox.write("x.up", "changed\n");
    sandbox.write("x.crlf", "three\r\n");
    sandbox.remove("x.utf");
    let dirty = sandbox.snapshot();
    assert_eq!(content(&sandbox, &dirty, "x.up"), "changed\n");
    sandbox.snapshots().restore(&clean, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    let read = |name: &str| fs_err::read(sandbox.repo.join(name)).unwrap();
    assert_eq!((read("x.up"), read("x.crlf")), (b"lower\n".to_vec(), b"one\r\ntwo\r\n".to_vec()));
    assert_eq!(read("x.utf"), wide);
    assert!(!ran.exists(), "a filter of the repository's config ran");
}

#[test]
fn line_endings_by_config_alone_are_kept_too() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.write("w", "one\r\n");
    sandbox.commit_all("windows");
    assert_eq!(sandbox.git(&["show", "HEAD:w"]), "one\n");
    assert_eq!(content(&sandbox, &sandbox.snapshot(), "w"), "one\r\n");
}

/// Nothing that the repository's config names runs: no hook for references, no file watcher.
#[test]
fn no_hook_of_the_repository_runs() {
    let sandbox = Sandbox::new();
    let ran = sandbox.root().join("ran");
    for hook in ["reference-transaction", "post-index-change", "post-commit", "fsmonitor-watchman"] {
        let path = sandbox.repo.join(".git/hooks").join(hook);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, format!("#!/bin/sh\necho {hook} >>'{}'\n", ran.display())).unwrap();
        fs_err::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    sandbox.git(&["config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman"]);
    sandbox.git(&["config", "core.logAllRefUpdates", "always"]);
    sandbox.write("a", "changed");
    let new = new_snapshot("");
    let snapshot = sandbox.snapshots().create(&new).unwrap();
    sandbox.snapshots().restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    sandbox
        .snapshots()
        .prune(
            WhichWorktrees::ThisWorktree,
            Retention { keep: Some(0), max_age: None, reasons: PrunableReasons::All },
            Timestamp::now(),
        )
        .unwrap();
    assert_eq!(fs_err::read_to_string(&ran).unwrap_or_default(), "");
    assert!(!sandbox.repo.join(".git/logs/refs/checkstone").exists());
}

/// Each working tree has its own, and sees only those.
#[test]
fn linked_worktrees_are_told_apart() {
    let sandbox = Sandbox::new();
    let linked = sandbox.root().join("linked.tree");
    sandbox.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "-b", "side"]);
    sandbox.write("a", "in main\n");
    fs_err::write(linked.join("a"), "in linked\n").unwrap();
    let main = sandbox.snapshot();
    let snapshots = sandbox.snapshots_in(&linked);
    let new = new_snapshot("linked");
    let side = snapshots.create(&new).unwrap();
    assert_eq!(content(&sandbox, &main, "a"), "in main\n");
    assert_eq!(content(&sandbox, &side, "a"), "in linked\n");
    assert_eq!(snapshots.list(WhichWorktrees::ThisWorktree).unwrap(), std::slice::from_ref(&side));
    assert_eq!(sandbox.snapshots().list(WhichWorktrees::ThisWorktree).unwrap(), std::slice::from_ref(&main));
    assert_eq!(snapshots.list(WhichWorktrees::EveryWorktree).unwrap().len(), 2);
    // One of another working tree can be named.
    assert_eq!(snapshots.find(&main.id).unwrap(), main);
}

#[test]
fn a_snapshot_knows_its_message_session_and_turn() {
    let sandbox = Sandbox::new();
    let session = SessionName { agent: "claude".to_owned(), id: "s-1".to_owned() };
    let message = "several\nlines\n\nCheckstone-Snapshot: {\"not\": \"facts\"} ü";
    let new = NewSnapshot {
        reason: SnapshotReason::Asked,
        message,
        now: Timestamp::now(),
        session: Some(session),
        turn: Some("t-1".to_owned()),
    };
    let taken = sandbox.snapshots().create(&new).unwrap();
    let found = sandbox.snapshots().find("latest").unwrap();
    assert_eq!(found, taken);
    assert_eq!((found.message.as_str(), found.facts.turn.as_deref()), (message, Some("t-1")));
    assert_eq!(sandbox.snapshots().find(&taken.id[..15]).unwrap(), taken);
    assert!(matches!(sandbox.snapshots().find("x"), Err(SnapshotError::Unknown { .. })));
}

/// A13: of a large tree only what changed is written, by as many git processes as for a small one. The time is measured by
/// `cargo xtask bench snapshot`.
#[test]
fn a13_a_snapshot_costs_what_changed() {
    let written = |sandbox: &Sandbox| {
        let objects = || {
            let all = ["cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)"];
            let all = sandbox.git(&all);
            all.lines().map(str::to_owned).collect::<std::collections::BTreeSet<String>>()
        };
        sandbox.write("sub/c", "changed\n");
        sandbox.write("new", "new\n");
        let before = objects();
        sandbox.calls();
        sandbox.snapshots().create(&new_snapshot("a test")).unwrap();
        let calls = sandbox.calls().len();
        let kinds: Vec<String> = objects()
            .difference(&before)
            .map(|object| object.split(' ').next().unwrap_or_default().to_owned())
            .collect();
        (kinds, calls)
    };
    let small = Sandbox::new();
    let large = Sandbox::new();
    for number in 0..2000 {
        large.write(&format!("many/{}/{number}", number % 50), &format!("{number}\n"));
    }
    large.commit_all("many");
    let (kinds, calls) = written(&large);
    assert_eq!(kinds, ["blob", "blob", "commit", "tree", "tree"]);
    assert_eq!((kinds, calls), written(&small));
}

/// More files than are written loose, and a large one.
#[test]
fn many_files_and_large_ones_are_kept() {
    let sandbox = Sandbox::new();
    for number in 0..1200 {
        sandbox.write(&format!("many/{number}"), &format!("{number}\n"));
    }
    let large: Vec<u8> = (0..9_000_000_u32)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .take(20_000_000)
        .collect();
    sandbox.write_bytes(b"large", &large);
    let snapshot = sandbox.snapshot();
    assert_eq!(listed(&sandbox, &snapshot).len(), 1204);
    sandbox.remove("large");
    fs_err::remove_dir_all(sandbox.repo.join("many")).unwrap();
    sandbox.snapshots().restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    assert!(fs_err::read(sandbox.repo.join("large")).unwrap() == large);
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("many/1199")).unwrap(), "1199\n");
}

/// S7: one that is too large costs nobody else, is named, and is neither overwritten nor removed by a restore.
#[test]
fn s7_a_file_over_the_limit_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write("huge", &"x".repeat(2_000_000));
    sandbox.write("a", &"y".repeat(2_000_000));
    sandbox.write("b", "changed\n");
    let snapshots = sandbox.snapshots().with_largest_file(1_000_000);
    let snapshot = snapshots.create(&new_snapshot("")).unwrap();
    let left: Vec<String> =
        snapshot.facts.left_out.iter().map(|left| left.path.clone().unwrap().to_string()).collect();
    assert_eq!(left, ["a", "huge"]);
    assert_eq!(listed(&sandbox, &snapshot), ["100644 a", "100644 b", "100644 sub/c"]);
    assert_eq!(content(&sandbox, &snapshot, "b"), "changed\n");
    sandbox.write("b", "damaged\n");
    let restored = snapshots.restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    assert_eq!(restored.written, [BytePath::from("b")]);
    assert_eq!(restored.removed, []);
    assert_eq!(fs_err::metadata(sandbox.repo.join("huge")).unwrap().len(), 2_000_000);
    assert_eq!(fs_err::metadata(sandbox.repo.join("a")).unwrap().len(), 2_000_000);
}

/// S7: much new content is stored as it is, however well it could be compressed.
#[test]
fn s7_large_contents_cost_no_compression() {
    let sandbox = Sandbox::new();
    let stored = |size: usize| {
        sandbox.write("new", &"x".repeat(size));
        sandbox.snapshot();
        let packs = sandbox.repo.join(".git/objects/pack").read_dir().unwrap().flatten();
        packs.map(|entry| entry.metadata().unwrap().len()).sum::<u64>()
    };
    assert!(stored(3 << 20) < 1 << 20);
    assert!(stored(5 << 20) > 5 << 20);
}

/// Above `gc.autoPackLimit`, which is fifty, git would begin to collect. What is left is whole, and so is what the user has
/// committed of it meanwhile, though no snapshot has it any more.
#[test]
fn a_hundred_snapshots_leave_few_packs() {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    for number in 0..100 {
        sandbox.write("a", &format!("{number}\n"));
        let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
        if number == 50 {
            sandbox.git(&["add", "a"]);
            sandbox.git(&["commit", "--quiet", "--message=theirs"]);
        }
        ids.push(snapshot.id);
        // The older ones are forgotten, as they are in daily work.
        let retention = Retention { keep: Some(10), max_age: None, reasons: PrunableReasons::All };
        sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, retention, Timestamp::now()).unwrap();
    }
    let folder = sandbox.repo.join(".git/objects/pack").read_dir().unwrap().flatten();
    let packs = folder.filter(|entry| entry.path().extension().is_some_and(|one| one == "pack")).count();
    assert!(packs < 25, "{packs}");
    assert_eq!(sandbox.git(&["show", "HEAD:a"]), "50\n");
    for snapshot in sandbox.snapshots().list(WhichWorktrees::ThisWorktree).unwrap() {
        let number = ids.iter().position(|id| *id == snapshot.id).unwrap();
        assert_eq!(content(&sandbox, &snapshot, "a"), format!("{number}\n"));
    }
    assert_eq!(sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]), "");
    assert_eq!(sandbox.git(&["count-objects", "-v"]).lines().last(), Some("size-garbage: 0"));
}

/// A kill while joined packs were removed leaves one without its index, which keeps nobody from joining the next ones.
#[test]
fn a_pack_without_its_index_is_cleared_away() {
    let sandbox = Sandbox::new();
    let folder = sandbox.repo.join(".git/objects/pack");
    let packs = || {
        let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|one| one == "pack")).collect::<Vec<_>>()
    };
    let take = |number: usize| {
        sandbox.write("a", &format!("{number}\n"));
        sandbox.snapshots().create(&new_snapshot("")).unwrap()
    };
    let first = take(0);
    // As if this one had been joined: what it has is in another pack too.
    let half = packs().remove(0);
    let copy = folder.join("pack-0000000000000000000000000000000000000001.pack");
    fs_err::copy(&half, &copy).unwrap();
    fs_err::copy(half.with_extension("idx"), copy.with_extension("idx")).unwrap();
    fs_err::remove_file(half.with_extension("idx")).unwrap();
    for number in 1..25 {
        take(number);
    }
    assert!(!half.exists() && packs().len() < 10, "{:?}", packs());
    assert_eq!(content(&sandbox, &first, "a"), "0\n");
}

/// Files that are rewritten, grow and shrink while they are read: a snapshot all the same, and it says so.
#[test]
fn files_may_change_while_they_are_read() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let sandbox = Sandbox::new();
    let stop = AtomicBool::new(false);
    let path = sandbox.repo.join("busy");
    fs_err::write(&path, "x").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut size = 1;
            while !stop.load(Ordering::Relaxed) {
                size = (size * 7) % 500_000 + 1;
                fs_err::write(&path, vec![b'y'; size]).unwrap();
            }
        });
        for _ in 0..5 {
            let new = new_snapshot("");
            let snapshot = sandbox.snapshots().create(&new).unwrap();
            assert!(listed(&sandbox, &snapshot).contains(&"100644 busy".to_owned()));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(sandbox.git(&["fsck", "--strict", "--no-dangling"]), "");
}

/// Several at once, while somebody commits: each is whole, and nobody waits for a lock.
#[test]
fn many_at_once_do_not_disturb_each_other() {
    let sandbox = Sandbox::new();
    sandbox.write("untracked", &text("u"));
    std::thread::scope(|scope| {
        for number in 0..6 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let now = Timestamp::now() + SignedDuration::from_nanos(number);
                let new = NewSnapshot {
                    reason: SnapshotReason::Asked,
                    message: "",
                    now,
                    session: None,
                    turn: None,
                };
                sandbox.snapshots().create(&new).unwrap();
            });
        }
        for number in 0..6 {
            sandbox.git(&["commit", "--quiet", "--allow-empty", "--message", &number.to_string()]);
        }
    });
    let snapshots = sandbox.snapshots().list(WhichWorktrees::ThisWorktree).unwrap();
    assert_eq!(snapshots.len(), 6);
    for snapshot in &snapshots {
        assert_eq!(content(&sandbox, snapshot, "untracked"), text("u"));
    }
}

/// A disk that is full, as git sees it: an error, and nothing is left behind in the git folder.
#[test]
fn a_git_that_fails_leaves_nothing() {
    let mut sandbox = Sandbox::new();
    sandbox.write("a", "changed");
    let names = |sandbox: &Sandbox| {
        let folder = sandbox.repo.join(".git").read_dir().unwrap();
        let mut names: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names(&sandbox);
    sandbox.use_git("git-without-room.sh");
    let new = new_snapshot("");
    assert!(matches!(sandbox.snapshots().create(&new), Err(SnapshotError::Git(_))));
    assert_eq!(names(&sandbox), before);
    assert!(Path::new(&sandbox.repo.join("a")).exists());
    sandbox.use_git("git.sh");
    assert_eq!(sandbox.snapshots().list(WhichWorktrees::EveryWorktree).unwrap(), []);
}
