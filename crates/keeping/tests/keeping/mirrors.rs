//! S11: what the mirror has when the repository is gone.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use change_set::BytePath;
use changes::Repository;
use jiff::Timestamp;
use keeping::snapshot::{
    AbandonedMirror, Mirror, PrunableReasons, RestoreCaller, Retention, SnapshotReason, Snapshots,
    WhichWorktrees, abandoned_mirrors,
};

use crate::sandbox::Sandbox;
use crate::snapshot_sandbox::new_snapshot;

fn mirror(sandbox: &Sandbox, ignored: &[&str], keep: usize) -> Mirror {
    let ignored = ignored.iter().map(|path| BytePath::from(*path)).collect();
    Mirror::new(sandbox.root().join("state/mirror"), ignored, keep)
}

fn mirrored(sandbox: &Sandbox, mirror: &Mirror) -> Snapshots {
    sandbox.snapshots().with_mirror(mirror.clone())
}

fn packs(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = sandbox.root().join("state/mirror/objects/pack");
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|one| one == "pack")).collect()
}

/// The whole repository comes back: branches, tags, history, config, hooks and snapshots; then the files, ignored ones too.
#[test]
fn s11_a_removed_repository_comes_back_from_its_mirror() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\n");
    sandbox.commit_all("ignored files");
    sandbox.git(&["branch", "topic/one"]);
    sandbox.git(&["tag", "-a", "v1", "--message=one"]);
    sandbox.git(&["config", "user.nickname", "kept"]);
    sandbox.write(".git/hooks/post-checkout", "#!/bin/sh\n");
    sandbox.write(".env", "KEY=1\n");
    fs_err::set_permissions(sandbox.repo.join(".env"), PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.write("a", "work\n");
    sandbox.write("new/file", "untracked\n");
    let mirror = mirror(&sandbox, &[".env", "missing"], 10);
    let snapshot = mirrored(&sandbox, &mirror).create(&new_snapshot("before")).unwrap();
    assert_eq!(snapshot.facts.left_out, []);
    let refs = sandbox.git(&["for-each-ref"]);
    let log = sandbox.git(&["log", "--oneline"]);

    for gone in [".git", "new", "sub"] {
        fs_err::remove_dir_all(sandbox.repo.join(gone)).unwrap();
    }
    for gone in ["a", "b", ".env"] {
        sandbox.remove(gone);
    }
    assert!(mirror.rebuild(&sandbox.repo, &sandbox.program).unwrap());
    assert!(!mirror.rebuild(&sandbox.repo, &sandbox.program).unwrap(), "it is there");
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    assert_eq!(sandbox.git(&["log", "--oneline"]), log);
    assert_eq!(sandbox.git(&["config", "user.nickname"]), "kept\n");
    assert!(sandbox.repo.join(".git/hooks/post-checkout").exists());
    assert_eq!(sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]), "");
    let found = sandbox.snapshots().find("latest").unwrap();
    assert_eq!(found, snapshot);
    sandbox.snapshots().restore(&found, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    let files = mirror.restore_files(&found, &sandbox.repo, &sandbox.program).unwrap();
    assert_eq!(files, [BytePath::from(".env")]);
    assert_eq!(fs_err::metadata(sandbox.repo.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
    let read = |path: &str| fs_err::read_to_string(sandbox.repo.join(path)).unwrap();
    assert_eq!(
        (read("a"), read("new/file"), read(".env")),
        ("work\n".into(), "untracked\n".into(), "KEY=1\n".into())
    );
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M a\n?? new/\n");
}

/// Only what is new is copied, many snapshots leave few packs, and what was forgotten here is in the mirror a while longer.
#[test]
fn a_mirror_is_bounded_and_brings_back_what_was_forgotten() {
    let sandbox = Sandbox::new();
    let mirror = mirror(&sandbox, &[], 3);
    let mut ids = Vec::new();
    for number in 0..60 {
        sandbox.write("a", &format!("{number}\n"));
        let snapshots = mirrored(&sandbox, &mirror);
        ids.push(snapshots.create(&new_snapshot("")).unwrap().id);
        let one = Retention { keep: Some(1), max_age: None, reasons: PrunableReasons::All };
        snapshots.prune(WhichWorktrees::ThisWorktree, one, Timestamp::now()).unwrap();
    }
    assert!(packs(&sandbox).len() <= 41, "{}", packs(&sandbox).len());
    let repository = Repository::discover(&sandbox.repo).unwrap();
    mirror.lend(&repository, &sandbox.program).unwrap();
    let found = sandbox.snapshots().list(WhichWorktrees::ThisWorktree).unwrap();
    let mut found: Vec<String> = found.into_iter().map(|snapshot| snapshot.id).collect();
    found.sort();
    ids.sort();
    // The one that is still here, the one that came last, and those that the mirror keeps.
    assert!(found.len() <= 5 && found.len() >= 3, "{found:?}");
    assert!(found.iter().all(|id| ids.contains(id)));
    assert_eq!(sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]), "");
}

/// The first mirror takes packs as they are. What is not copied in time is named, and the next snapshot goes on from there.
#[test]
fn the_first_mirror_goes_on_where_it_ended() {
    let mut sandbox = Sandbox::new();
    sandbox.git(&["gc", "--quiet"]);
    // Outside of packs, more than is packed at a time.
    for number in 0..5100 {
        sandbox.write(&format!("many/{number}"), &format!("{number}\n"));
    }
    sandbox.git(&["add", "many"]);
    sandbox.git(&["-c", "gc.auto=0", "commit", "--quiet", "--message=many"]);
    sandbox.use_git("git-that-packs-once.sh");
    let mirror = mirror(&sandbox, &[], 10);
    let first = mirrored(&sandbox, &mirror).create(&new_snapshot("")).unwrap();
    let reasons: Vec<String> = first.facts.left_out.iter().map(|left| left.reason.clone()).collect();
    let [reason] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert!(
        reason.starts_with("the mirror is not up to date: `git")
            && reason.ends_with("; the next snapshot continues it"),
        "{reason}"
    );
    let begun = packs(&sandbox);
    assert_eq!(begun.len(), 1);
    fs_err::remove_dir(sandbox.root().join("packed")).unwrap();

    let second = mirrored(&sandbox, &mirror).create(&new_snapshot("")).unwrap();
    assert_eq!(second.facts.left_out, []);
    assert!(packs(&sandbox).contains(&begun[0]));
    let inode = |path: &PathBuf| path.metadata().unwrap().ino();
    let of_mirror: Vec<u64> = packs(&sandbox).iter().map(inode).collect();
    let folder =
        sandbox.repo.join(".git/objects/pack").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let of_repository: Vec<PathBuf> =
        folder.filter(|path| path.extension().is_some_and(|one| one == "pack")).collect();
    assert!(of_repository.len() >= 2 && of_repository.iter().all(|pack| of_mirror.contains(&inode(pack))));
    fs_err::remove_dir_all(sandbox.repo.join(".git")).unwrap();
    assert!(mirror.rebuild(&sandbox.repo, &sandbox.program).unwrap());
    assert_eq!(sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]), "");
    assert_eq!(sandbox.git(&["log", "--format=%s"]), "many\nfirst\n");
}

/// An object that is broken and that nobody needs does not keep the rest from being copied; and a repository that borrows its
/// objects from another one is copied with them.
#[test]
fn a_first_mirror_looks_for_what_is_needed_if_it_has_to() {
    let sandbox = Sandbox::new();
    let borrower = sandbox.root().join("borrower");
    sandbox.git(&["clone", "--quiet", "--shared", ".", borrower.to_str().unwrap()]);
    sandbox.write(".git/objects/12/34567890123456789012345678901234567890", "");
    for (number, root) in [&sandbox.repo, &borrower].into_iter().enumerate() {
        let mirror = Mirror::new(sandbox.root().join(format!("state/{number}")), Vec::new(), 10);
        let snapshots = sandbox.snapshots_in(root).with_mirror(mirror.clone());
        assert_eq!(snapshots.create(&new_snapshot("")).unwrap().facts.left_out, []);
        fs_err::remove_dir_all(root.join(".git")).unwrap();
        assert!(mirror.rebuild(root, &sandbox.program).unwrap());
        assert_eq!(sandbox.git_in(root, &["fsck", "--strict", "--no-progress", "--no-dangling"]), "");
    }
}

/// A mirror whose project is gone is found with its size, and stays.
#[test]
fn mirrors_of_projects_that_are_gone_are_known() {
    let sandbox = Sandbox::new();
    let (mirrors, project) = (sandbox.root().join("state"), sandbox.root().join("project"));
    sandbox.git(&["clone", "--quiet", ".", project.to_str().unwrap()]);
    for (name, root) in [("one", &sandbox.repo), ("two", &project)] {
        let mirror = Mirror::new(mirrors.join(name), Vec::new(), 10);
        sandbox.snapshots_in(root).with_mirror(mirror).create(&new_snapshot("")).unwrap();
    }
    assert_eq!(abandoned_mirrors(&mirrors), []);
    fs_err::remove_dir_all(&project).unwrap();
    let found = abandoned_mirrors(&mirrors);
    let [AbandonedMirror { folder, project: gone, bytes }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((folder, gone), (&mirrors.join("two"), &project));
    assert!(*bytes > 100, "{bytes}");
    assert_eq!(abandoned_mirrors(&sandbox.root().join("nowhere")), []);
}

/// A branch whose name was a folder, and a history that was begun anew: the mirror follows, and keeps the snapshots.
#[test]
fn a_mirror_follows_a_repository_that_was_made_anew() {
    let sandbox = Sandbox::new();
    let mirror = mirror(&sandbox, &[], 10);
    sandbox.git(&["branch", "topic"]);
    sandbox.write("a", "first life\n");
    let first = mirrored(&sandbox, &mirror).create(&new_snapshot("")).unwrap();
    fs_err::remove_dir_all(sandbox.repo.join(".git")).unwrap();
    sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
    sandbox.commit_all("second life");
    sandbox.git(&["branch", "topic/two"]);
    sandbox.write("a", "second life\n");
    let second = mirrored(&sandbox, &mirror).create(&new_snapshot("")).unwrap();
    assert_eq!(second.facts.left_out, []);
    mirror.lend(&Repository::discover(&sandbox.repo).unwrap(), &sandbox.program).unwrap();
    let found = sandbox.snapshots().find(&first.id).unwrap();
    assert_eq!(sandbox.git(&["show", &format!("{}:a", found.commit)]), "first life\n");
    // What the first one had is there, under the time at which that was noticed.
    let former = format!("refs/checkstone/before/{}/heads", second.id);
    let names = sandbox.git(&["for-each-ref", "--format=%(refname)", &former]);
    assert_eq!(names, format!("{former}/main\n{former}/topic\n"));
}

/// A folder that is in no repository has its snapshots in the mirror alone.
#[test]
fn a_folder_without_a_repository_has_snapshots() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join("plain");
    fs_err::create_dir_all(folder.join("sub")).unwrap();
    fs_err::write(folder.join("sub/a"), "one\n").unwrap();
    fs_err::write(folder.join("b"), "two\n").unwrap();
    let mirror = mirror(&sandbox, &[], 10);
    let snapshots = || Snapshots::of(mirror.stand_in(&folder).unwrap(), &sandbox.program).unwrap();
    let snapshot = snapshots().create(&new_snapshot("")).unwrap();
    assert_eq!((snapshot.facts.files, snapshot.facts.reason.clone()), (2, SnapshotReason::Asked));
    fs_err::remove_dir_all(folder.join("sub")).unwrap();
    fs_err::write(folder.join("b"), "changed\n").unwrap();
    let restored = snapshots().restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    assert_eq!(restored.written, [BytePath::from("b"), BytePath::from("sub/a")]);
    assert_eq!(fs_err::read_to_string(folder.join("sub/a")).unwrap(), "one\n");
    assert!(!folder.join(".git").exists());
}
