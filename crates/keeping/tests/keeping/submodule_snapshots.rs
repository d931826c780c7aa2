//! S6: what is changed inside of submodules is in a snapshot too, or named as left out.

use std::time::Duration;

use change_set::BytePath;
use jiff::Timestamp;
use keeping::snapshot::{
    PrunableReasons, RestoreCaller, RestoreReport, Retention, Side, Snapshot, WhichWorktrees,
};

use crate::sandbox::Sandbox;
use crate::snapshot_sandbox::new_snapshot;

fn read(sandbox: &Sandbox, path: &str) -> Option<String> {
    fs_err::read_to_string(sandbox.repo.join(path)).ok()
}

fn restored(sandbox: &Sandbox, snapshot: &Snapshot, paths: &[&str]) -> RestoreReport {
    let paths: Vec<BytePath> = paths.iter().map(|path| BytePath::from(*path)).collect();
    sandbox.snapshots().restore(snapshot, &paths, RestoreCaller::default(), Timestamp::now()).unwrap()
}

fn undo(sandbox: &Sandbox) {
    let (snapshot, paths) = sandbox.snapshots().undoable().unwrap();
    sandbox.snapshots().restore(&snapshot, &paths, RestoreCaller::default(), Timestamp::now()).unwrap();
}

fn listed(paths: &[BytePath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

fn inner_ids(sandbox: &Sandbox) -> Vec<String> {
    let inside = sandbox.snapshots_in(&sandbox.repo.join("module"));
    inside.list(WhichWorktrees::ThisWorktree).unwrap().into_iter().map(|one| one.id).collect()
}

/// Its files come back, deletions and new files included, and an undo brings back what was there instead.
#[test]
fn s6_a_dirty_submodule_is_taken_along() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("module/a", "changed inside\n");
    sandbox.write("module/new/file", "untracked inside\n");
    let snapshot = sandbox.snapshot();
    assert_eq!(snapshot.facts.left_out, []);
    let taken: Vec<String> = snapshot.facts.submodules.iter().map(|one| one.path.to_string()).collect();
    assert_eq!(taken, ["module"]);
    assert_eq!(inner_ids(&sandbox), std::slice::from_ref(&snapshot.id));
    assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), [""; 0]);

    let head = sandbox.git_in(&sandbox.repo.join("module"), &["rev-parse", "HEAD"]);
    sandbox.write("module/a", "damaged\n");
    sandbox.write("module/other", "later\n");
    fs_err::remove_dir_all(sandbox.repo.join("module/new")).unwrap();
    assert_eq!(
        sandbox.changed_since(&sandbox.repo, &snapshot),
        ["modified module/a", "deleted module/new/file", "added module/other"]
    );
    let report = restored(&sandbox, &snapshot, &[]);
    assert_eq!(listed(&report.written), ["module/a", "module/new/file"]);
    assert_eq!(listed(&report.removed), ["module/other"]);
    assert_eq!(report.skipped, []);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("changed inside\n"));
    assert_eq!(read(&sandbox, "module/new/file").as_deref(), Some("untracked inside\n"));
    assert_eq!(sandbox.git_in(&sandbox.repo.join("module"), &["rev-parse", "HEAD"]), head);
    undo(&sandbox);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("damaged\n"));
    assert_eq!(read(&sandbox, "module/other").as_deref(), Some("later\n"));
    assert_eq!(read(&sandbox, "module/new/file"), None);
}

/// Paths inside of a submodule are meant as such, and one that nobody knows is an error.
#[test]
fn only_the_named_paths_of_a_submodule_come_back() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("a", "outside\n");
    sandbox.write("module/a", "inside\n");
    sandbox.write("module/b", "inside\n");
    let snapshot = sandbox.snapshot();
    for path in ["a", "module/a", "module/b"] {
        sandbox.write(path, "damaged\n");
    }
    assert_eq!(listed(&restored(&sandbox, &snapshot, &["module/a"]).written), ["module/a"]);
    assert_eq!(read(&sandbox, "a").as_deref(), Some("damaged\n"));
    assert_eq!(listed(&restored(&sandbox, &snapshot, &["module"]).written), ["module/b"]);
    let unknown = [BytePath::from("module/nothing")];
    let (caller, now) = (RestoreCaller::default(), Timestamp::now());
    let error = sandbox.snapshots().restore(&snapshot, &unknown, caller, now).unwrap_err();
    assert_eq!(error.to_string(), "neither the snapshot nor the working tree has `module/nothing`");
}

/// A submodule that was clean then shows what is changed in it now, and a restore says that it leaves it alone.
#[test]
fn a_submodule_that_was_clean_is_compared_and_left_alone() {
    let sandbox = Sandbox::with_submodule();
    let snapshot = sandbox.snapshot();
    assert_eq!(snapshot.facts.submodules, []);
    sandbox.write("module/a", "changed\n");
    assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), ["modified module/a"]);
    let report = restored(&sandbox, &snapshot, &[]);
    let skipped: Vec<String> =
        report.skipped.iter().map(|one| format!("{}: {}", one.path, one.reason)).collect();
    assert_eq!(
        skipped,
        ["module: nothing was changed in this submodule when the snapshot was taken: current changes stay"]
    );
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("changed\n"));
}

/// Back to a snapshot with changes, from a submodule that is clean now; the undo makes it clean again.
#[test]
fn a_clean_submodule_gets_its_changes_back_and_loses_them_again() {
    let sandbox = Sandbox::with_submodule();
    let clean = read(&sandbox, "module/a");
    sandbox.write("module/a", "work\n");
    let snapshot = sandbox.snapshot();
    sandbox.git_in(&sandbox.repo.join("module"), &["checkout", "--quiet", "a"]);
    assert_eq!(read(&sandbox, "module/a"), clean);
    restored(&sandbox, &snapshot, &[]);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("work\n"));
    undo(&sandbox);
    assert_eq!(read(&sandbox, "module/a"), clean);
}

#[test]
fn a_patch_names_the_files_of_a_submodule() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("module/new", "one\n");
    let snapshot = sandbox.snapshot();
    sandbox.write("module/new", "two\n");
    let scratch = sandbox.scratch();
    let (old, new) = (Side::Snapshot(&snapshot), Side::WorkingTree { scratch: &scratch });
    let patch = sandbox.snapshots().patch(old, new, &[]).unwrap();
    insta::assert_snapshot!(::sandbox::redacted(String::from_utf8(patch.text).unwrap()), @"
    diff --git a/module/new b/module/new
    index [hash]..[hash] 100644
    --- a/module/new
    +++ b/module/new
    @@ -1 +1 @@
    -one
    +two
    ");
}

/// What a submodule could not save is named by its path in the outer repository.
#[test]
fn what_a_submodule_leaves_out_is_named() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("module/large", &"x".repeat(2_000_000));
    sandbox.write("module/small", "x");
    let snapshots = sandbox.snapshots().with_largest_file(1_000_000);
    let snapshot = snapshots.create(&new_snapshot("")).unwrap();
    let left: Vec<String> = snapshot
        .facts
        .left_out
        .iter()
        .map(|left| format!("{}: {}", left.path.clone().unwrap_or_default(), left.reason))
        .collect();
    assert_eq!(left, ["module/large: it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)"]);
    assert_eq!(snapshot.facts.submodules.len(), 1);
}

/// Nothing is written into a repository elsewhere, to which a submodule's `.git` may lead.
#[test]
fn a_submodule_whose_git_folder_lies_elsewhere_is_named() {
    let sandbox = Sandbox::with_submodule();
    let module = sandbox.repo.join("module");
    let elsewhere = sandbox.root().join("library/.git");
    fs_err::write(module.join(".git"), format!("gitdir: {}\n", elsewhere.display())).unwrap();
    assert_eq!(sandbox.snapshot().facts.left_out, []);
    sandbox.write("module/a", "changed\n");
    let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    let reasons: Vec<&str> = snapshot.facts.left_out.iter().map(|left| left.reason.as_str()).collect();
    assert_eq!(
        reasons,
        ["the changes in this submodule could not be saved: its git folder is outside this repository"]
    );
    assert_eq!(sandbox.git_in(&module, &["for-each-ref", "refs/checkstone"]), "");
}

/// What the outer snapshot brought along goes with it.
#[test]
fn the_snapshots_in_submodules_are_forgotten_with_the_outer_one() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("module/a", "changed\n");
    let snapshot = sandbox.snapshot();
    assert_eq!(inner_ids(&sandbox), std::slice::from_ref(&snapshot.id));
    let all = Retention { keep: Some(0), max_age: None, reasons: PrunableReasons::All };
    sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, all, Timestamp::now()).unwrap();
    assert_eq!(inner_ids(&sandbox), [""; 0]);
}

/// What a kill between the two has left in a submodule is removed once nobody can be at work on it any more.
#[test]
fn a_snapshot_in_a_submodule_that_no_outer_one_names_is_removed() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("module/a", "changed\n");
    let (left, kept) = (sandbox.snapshot(), sandbox.snapshots().create(&new_snapshot("kept")).unwrap());
    let own = sandbox.snapshots_in(&sandbox.repo.join("module")).create(&new_snapshot("own")).unwrap();
    sandbox.git(&["update-ref", "-d", &format!("refs/checkstone/snapshots/main/{}", left.id)]);
    let prune = |hours: i64| {
        let one = Retention { keep: Some(1), max_age: None, reasons: PrunableReasons::All };
        let now = Timestamp::now() + jiff::SignedDuration::from_hours(hours);
        sandbox.snapshots().prune(WhichWorktrees::ThisWorktree, one, now).unwrap();
        inner_ids(&sandbox)
    };
    assert_eq!(prune(1), [own.id.clone(), kept.id.clone(), left.id]);
    assert_eq!(prune(25), [own.id, kept.id]);
}

/// What an outer snapshot needs is not forgotten inside.
#[test]
fn a_prune_inside_leaves_what_the_outer_snapshot_needs() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("module/a", "changed\n");
    let snapshot = sandbox.snapshot();
    let inside = sandbox.snapshots_in(&sandbox.repo.join("module"));
    inside.create(&new_snapshot("own")).unwrap();
    let all = Retention { keep: Some(0), max_age: None, reasons: PrunableReasons::All };
    inside.prune(WhichWorktrees::EveryWorktree, all, Timestamp::now()).unwrap();
    assert_eq!(inner_ids(&sandbox), std::slice::from_ref(&snapshot.id));
    sandbox.write("module/a", "damaged\n");
    restored(&sandbox, &snapshot, &[]);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("changed\n"));
    sandbox.git(&["update-ref", "-d", &format!("refs/checkstone/snapshots/main/{}", snapshot.id)]);
    inside.prune(WhichWorktrees::EveryWorktree, all, Timestamp::now()).unwrap();
    assert_eq!(inner_ids(&sandbox).len(), 1, "the one before the restore");
}

/// A restore from outside can be undone inside, by the paths there; one that left the submodule alone is none of its own.
#[test]
fn a_restore_is_undone_inside_of_a_submodule() {
    let sandbox = Sandbox::with_submodule();
    for path in ["a", "module/a", "module/b"] {
        sandbox.write(path, "then\n");
    }
    let snapshot = sandbox.snapshot();
    for path in ["a", "module/a", "module/b"] {
        sandbox.write(path, "now\n");
    }
    restored(&sandbox, &snapshot, &["a"]);
    let inside = sandbox.snapshots_in(&sandbox.repo.join("module"));
    assert_eq!(inside.undoable().unwrap_err().to_string(), "there is no restore to undo");
    restored(&sandbox, &snapshot, &["module/a"]);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("then\n"));
    let (before, paths) = inside.undoable().unwrap();
    assert_eq!(listed(&paths), ["a"]);
    inside.restore(&before, &paths, RestoreCaller::default(), Timestamp::now()).unwrap();
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("now\n"));
}

/// `.gitmodules` is whatever somebody wrote: nothing is taken or written through a link, and the repository is no submodule of
/// itself.
#[test]
fn a_list_of_submodules_leads_nowhere_else() {
    let sandbox = Sandbox::with_submodule();
    let elsewhere = sandbox.repo.parent().unwrap().join("elsewhere");
    fs_err::create_dir_all(&elsewhere).unwrap();
    sandbox.git_in(&elsewhere, &["init", "--quiet"]);
    fs_err::write(elsewhere.join("private"), "private\n").unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.repo.join("link")).unwrap();
    sandbox.write(
        ".gitmodules",
        "[submodule \"a\"]\n\tpath = link\n[submodule \"b\"]\n\tpath =\n[submodule \"c\"]\n\tpath = ../elsewhere\n\
         [submodule \"d\"]\n\tpath = .\n",
    );
    let snapshot = sandbox.snapshot();
    assert_eq!(snapshot.facts.submodules, []);
    assert_eq!(sandbox.git_in(&elsewhere, &["for-each-ref"]), "");
    assert_eq!(sandbox.git_in(&elsewhere, &["count-objects"]), "0 objects, 0 kilobytes\n");
}

/// The index has a commit where `git add` met a repository, and nothing else names it.
#[test]
fn a_repository_that_only_the_index_names_is_taken_along() {
    let sandbox = Sandbox::new();
    sandbox.git(&["clone", "--quiet", ".", "inner"]);
    sandbox.commit_all("inner");
    assert!(!sandbox.repo.join(".gitmodules").exists());
    let clean = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    assert_eq!((clean.facts.submodules.len(), clean.facts.left_out.len()), (0, 0));
    sandbox.write("inner/a", "changed inside\n");
    sandbox.write("inner/new", "untracked inside\n");
    assert_eq!(sandbox.changed_since(&sandbox.repo, &clean), ["modified inner/a", "added inner/new"]);
    let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    let taken: Vec<String> = snapshot.facts.submodules.iter().map(|one| one.path.to_string()).collect();
    assert_eq!((taken, snapshot.facts.left_out.len()), (vec!["inner".to_owned()], 0));
    sandbox.remove("inner/a");
    sandbox.write("inner/new", "damaged\n");
    let report = restored(&sandbox, &snapshot, &[]);
    assert_eq!(
        (listed(&report.written), report.skipped),
        (vec!["inner/a".to_owned(), "inner/new".to_owned()], vec![])
    );
    assert_eq!(read(&sandbox, "inner/a").as_deref(), Some("changed inside\n"));
    undo(&sandbox);
    assert_eq!(
        (read(&sandbox, "inner/a"), read(&sandbox, "inner/new").as_deref()),
        (None, Some("damaged\n"))
    );
}

/// Whoever deletes `.gitmodules` has not deleted the submodule, before the snapshot or after it.
#[test]
fn a_submodule_is_taken_and_comes_back_without_its_list() {
    let sandbox = Sandbox::with_submodule();
    sandbox.write("module/a", "first\n");
    let with_list = sandbox.snapshot();
    sandbox.remove(".gitmodules");
    sandbox.write("module/a", "second\n");
    let without_list = sandbox.snapshot();
    assert_eq!(without_list.facts.submodules.len(), 1);
    sandbox.write("module/a", "third\n");
    assert_eq!(restored(&sandbox, &with_list, &["module"]).skipped, []);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("first\n"));
    restored(&sandbox, &without_list, &[]);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("second\n"));
    // Nor whoever takes it out of the index.
    sandbox.git(&["rm", "--quiet", "--cached", "module"]);
    assert_eq!(listed(&restored(&sandbox, &with_list, &["module"]).written), ["module/a"]);
    assert_eq!(read(&sandbox, "module/a").as_deref(), Some("first\n"));
}

/// Git shows nothing of what lies there, so nothing of it can be saved.
#[test]
fn a_submodule_without_its_repository_is_named() {
    let sandbox = Sandbox::with_submodule();
    let emptied = sandbox.snapshot();
    assert_eq!(emptied.facts.left_out, []);
    fs_err::remove_file(sandbox.repo.join("module/.git")).unwrap();
    sandbox.write("module/a", "lost\n");
    assert_eq!(sandbox.git(&["status", "--short"]), "");
    let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    let named = |path: &str, reason: &str| format!("{path}: {reason}");
    let left = snapshot.facts.left_out.iter();
    let left: Vec<String> =
        left.map(|left| named(&left.path.clone().unwrap().to_string(), &left.reason)).collect();
    let reason = "git has it as a repository of its own, which is not here: nothing in it is saved";
    assert_eq!(left, [named("module", reason)]);
    assert_eq!(sandbox.changed_since(&sandbox.repo, &emptied), ["unknown module"]);
    let report = restored(&sandbox, &emptied, &[]);
    let skipped: Vec<String> =
        report.skipped.iter().map(|one| named(&one.path.to_string(), &one.reason)).collect();
    assert_eq!(skipped, [named("module", &format!("its current state cannot be saved: {reason}"))]);
}

/// Nobody may look into it, so what is changed there is unknown.
#[test]
fn a_changed_submodule_whose_git_folder_lies_elsewhere_is_unknown() {
    let sandbox = Sandbox::with_submodule();
    let elsewhere = sandbox.root().join("library/.git");
    fs_err::write(sandbox.repo.join("module/.git"), format!("gitdir: {}\n", elsewhere.display())).unwrap();
    let snapshot = sandbox.snapshot();
    assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), [""; 0]);
    sandbox.write("module/a", "changed\n");
    assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), ["unknown module"]);
    // A snapshot that does not have it either: nothing says that anybody has touched it since.
    let dirty = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    assert_eq!(sandbox.changed_since(&sandbox.repo, &dirty), [""; 0]);
    let scratch = sandbox.scratch();
    let now = Side::WorkingTree { scratch: &scratch };
    let left_out = sandbox.snapshots().compare(Side::Snapshot(&dirty), now, &[]).unwrap().left_out;
    assert_eq!(listed(&left_out.into_iter().filter_map(|left| left.path).collect::<Vec<_>>()), ["module"]);
}

/// A listing of the index may be longer than all that is kept of what another git writes.
#[test]
fn a_submodule_is_found_in_a_large_index() {
    const FILES: usize = 18_000;
    let sandbox = Sandbox::with_submodule();
    // Long names make a large listing of few files, which are in no working tree.
    sandbox.git(&["config", "index.version", "4"]);
    let content = sandbox.git(&["rev-parse", "HEAD:a"]);
    let folder = vec!["d".repeat(200); 19].join("/");
    let entries: String =
        (0..FILES).map(|file| format!("100644 {} 0\t{folder}/{file}\n", content.trim())).collect();
    let skipped: String = (0..FILES).map(|file| format!("{folder}/{file}\0")).collect();
    let input = sandbox.root().join("input");
    for (arguments, text) in [
        (&["update-index", "--index-info"][..], entries),
        (&["update-index", "--skip-worktree", "-z", "--stdin"], skipped),
    ] {
        fs_err::write(&input, text).unwrap();
        let input = fs_err::File::open(&input).unwrap().into_file();
        assert!(sandbox.command(&sandbox.repo, arguments).stdin(input).status().unwrap().success());
    }
    sandbox.git(&["rm", "--quiet", "--cached", ".gitmodules"]);
    sandbox.remove(".gitmodules");
    sandbox.git(&["commit", "--quiet", "--message=many"]);
    sandbox.write("module/a", "changed\n");
    let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    assert_eq!(snapshot.facts.left_out, []);
    let taken = snapshot.facts.submodules.into_iter().map(|one| one.path).collect::<Vec<_>>();
    assert_eq!(listed(&taken), ["module"]);
}

/// A git that stalls is not waited for without end.
#[test]
fn a_listing_of_the_index_that_stalls_is_ended() {
    let mut sandbox = Sandbox::with_submodule();
    sandbox.write("a", "changed\n");
    sandbox.use_git("git-that-lists-for-ever.sh");
    sandbox.program = sandbox.program.within(Duration::from_secs(5));
    let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    let reasons: Vec<String> = snapshot.facts.left_out.into_iter().map(|left| left.reason).collect();
    assert_eq!(reasons, ["the submodules cannot be listed: `git ls-files` took longer than 5.0 s"]);
}
