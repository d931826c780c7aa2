//! Commits of named paths, beside whatever the user is doing.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use ::sandbox::redacted;
use ::sandbox::waiting::at_moment;
use ::sandbox::{ago, wait_for};

use change_set::BytePath;
use changes::Repository;
use keeping::commit::{self, Commit, CommitError, CommitOutcome, NewCommit};

use crate::sandbox::Sandbox;

/// A repository whose config says who commits: our git has no identity in its environment.
pub(crate) fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    identify(&sandbox);
    sandbox
}

pub(crate) fn identify(sandbox: &Sandbox) {
    sandbox.git(&["config", "user.name", "B"]);
    sandbox.git(&["config", "user.email", "b@example.com"]);
}

fn try_in(sandbox: &Sandbox, folder: &Path, paths: &[&str]) -> Result<CommitOutcome, CommitError> {
    let paths: Vec<BytePath> = paths.iter().map(|path| BytePath::from(*path)).collect();
    let new = NewCommit {
        paths: &paths,
        message: "checkpoint: a test\n\nCo-Authored-By: A <a@example.com>\n",
        branch: None,
        hook_limit: Duration::from_secs(60),
        lock_limit: Duration::from_secs(20),
    };
    commit::commit(&Repository::discover(folder).unwrap(), &sandbox.program, &new, &mut |_| true)
}

pub(crate) fn attempt(sandbox: &Sandbox, paths: &[&str]) -> Result<CommitOutcome, CommitError> {
    try_in(sandbox, &sandbox.repo, paths)
}

/// Commits, and checks what holds of every commit: it is HEAD, it changes only what was named, the rest of `git status`
/// is as it was, and no file of ours or lock is left.
pub(crate) fn made(sandbox: &Sandbox, paths: &[&str]) -> Commit {
    made_in(sandbox, &sandbox.repo, paths)
}

fn made_in(sandbox: &Sandbox, folder: &Path, paths: &[&str]) -> Commit {
    let others = |status: String| -> Vec<String> {
        let named = |line: &str| paths.iter().any(|path| line.get(3..) == Some(*path));
        status.split('\0').filter(|line| !named(line)).map(str::to_owned).collect()
    };
    let status =
        || sandbox.git_in(folder, &["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"]);
    let before = others(status());
    let head = sandbox.command(folder, &["rev-parse", "--verify", "HEAD"]).output().unwrap();
    let commit = match try_in(sandbox, folder, paths).unwrap() {
        CommitOutcome::Made(commit) => commit,
        other => panic!("{other:?}"),
    };
    assert_eq!(others(status()), before);
    assert_eq!(sandbox.git_in(folder, &["rev-parse", "HEAD"]).trim(), commit.id);
    let parent = head.status.success().then(|| String::from_utf8(head.stdout).unwrap().trim().to_owned());
    assert_eq!(commit.parent, parent);
    let changed =
        sandbox.git_in(folder, &["show", "--format=", "--name-only", "--no-renames", "-z", &commit.id]);
    for path in changed.split('\0').filter(|path| !path.is_empty()) {
        assert!(paths.contains(&path), "{path} was not named");
    }
    clean(sandbox, folder);
    commit
}

fn clean(sandbox: &Sandbox, folder: &Path) {
    let git_dir = Repository::discover(folder).unwrap().git_dir;
    let files = |folder: &Path| -> Vec<String> {
        let entries = folder.read_dir().unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(files(&git_dir.join("checkstone")), ["commit.lock"]);
    assert!(!files(&git_dir).iter().any(|name| name.ends_with(".lock")));
    let fsck =
        sandbox.command(folder, &["fsck", "--strict", "--no-progress", "--no-dangling"]).output().unwrap();
    // After `git add` in a sparse index, git itself misses the tree that it has not written yet.
    let is_sparse =
        sandbox.command(folder, &["config", "index.sparse"]).output().unwrap().stdout == b"true\n";
    assert!(is_sparse || (fsck.status.success() && fsck.stdout.is_empty()), "{fsck:?}");
}

fn status(sandbox: &Sandbox) -> Vec<String> {
    sandbox.git(&["status", "--porcelain", "--untracked-files=all"]).lines().map(str::to_owned).collect()
}

pub(crate) fn hook(sandbox: &Sandbox, name: &str, script: &str) {
    hook_at(&sandbox.repo.join(".git/hooks").join(name), script);
}

fn hook_at(path: &Path, script: &str) {
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    sandbox::make_executable(path);
}

/// A4: what the user staged is neither committed nor unstaged.
#[test]
fn a4_what_is_staged_stays_staged_and_uncommitted() {
    let sandbox = sandbox();
    sandbox.write("b", "staged\n");
    sandbox.write("new", "staged\n");
    sandbox.git(&["add", "b", "new"]);
    sandbox.write("b", "and more, unstaged\n");
    sandbox.git(&["rm", "--quiet", "--cached", "sub/c"]);
    sandbox.write("untracked", "x\n");
    sandbox.write("CLAUDE.md", "notes\n");
    let cached = sandbox.git(&["diff", "--cached"]);
    let commit = made(&sandbox, &["CLAUDE.md"]);
    assert_eq!(sandbox.git(&["diff", "--cached"]), cached);
    assert_eq!(commit.paths, [BytePath::from("CLAUDE.md")]);
    assert_eq!(commit.branch, "main");
    assert_eq!(status(&sandbox), ["MM b", "A  new", "D  sub/c", "?? sub/c", "?? untracked"]);
    assert_eq!(
        sandbox.git(&["show", "--no-patch", "--format=%an %ce%n%B"]).trim(),
        "B b@example.com\ncheckpoint: a test\n\nCo-Authored-By: A <a@example.com>"
    );
    let log = sandbox.git(&["reflog", "-1", "--format=%gs"]);
    assert_eq!(log.trim(), "commit: checkpoint: a test");
}

/// A5 and C4: new, changed and deleted files, links, modes, and names that no line survives.
#[test]
fn every_kind_of_change_is_committed() {
    let sandbox = sandbox();
    sandbox.write("a", "changed\n");
    sandbox.remove("b");
    sandbox.set_executable("sub/c");
    symlink("nowhere", sandbox.repo.join("link")).unwrap();
    let odd = "deep/er/ \"q\\u\n日本";
    sandbox.write(odd, "odd\n");
    sandbox.write(":(top)x*", "a literal name\n");
    sandbox.write("xx", "not named\n");
    made(&sandbox, &["a", "b", "sub/c", "link", odd, ":(top)x*"]);
    assert_eq!(status(&sandbox), ["?? xx"]);
    // The index knows the files by their times already: nothing has to be read again.
    assert_eq!(sandbox.git(&["diff-files"]), "");
}

/// A file that took a folder's place, and a folder that took a file's.
#[test]
fn a_file_in_the_place_of_a_folder_is_committed() {
    let sandbox = sandbox();
    sandbox.remove("sub/c");
    fs_err::remove_dir(sandbox.repo.join("sub")).unwrap();
    sandbox.write("sub", "a file now\n");
    sandbox.remove("a");
    sandbox.write("a/inner", "a folder now\n");
    let commit = made(&sandbox, &["sub/c", "sub", "a", "a/inner"]);
    assert_eq!(commit.paths.len(), 4);
    assert_eq!(status(&sandbox), [""; 0]);
}

/// A part of a named file had been staged: the file is committed as it lies there, as `git commit -- file` would, and
/// what had been staged can be found again.
#[test]
fn a_partly_staged_file_is_committed_whole_and_told() {
    let sandbox = sandbox();
    sandbox.write("a", "staged\n");
    sandbox.git(&["add", "a"]);
    sandbox.write("a", "staged\nand not staged\n");
    let commit = made(&sandbox, &["a"]);
    assert_eq!(status(&sandbox), [""; 0]);
    let [(path, id)] = commit.superseded.as_slice() else { panic!("{:?}", commit.superseded) };
    assert_eq!((path, sandbox.git(&["cat-file", "blob", id]).as_str()), (&BytePath::from("a"), "staged\n"));
}

/// A named file that was staged and is on the disk as HEAD has it: there is nothing to commit, and it stays staged.
#[test]
fn what_only_the_index_has_is_left_there() {
    let sandbox = sandbox();
    let old = fs_err::read_to_string(sandbox.repo.join("a")).unwrap();
    sandbox.write("a", "staged\n");
    sandbox.git(&["add", "a"]);
    sandbox.write("a", &old);
    let before = status(&sandbox);
    assert_eq!(attempt(&sandbox, &["a"]).unwrap(), CommitOutcome::Nothing { left_out: Vec::new() });
    assert_eq!(status(&sandbox), before);
}

/// A9: nothing changed, nothing committed.
#[test]
fn a9_without_a_change_there_is_no_commit() {
    let sandbox = sandbox();
    sandbox.write("b", "not named\n");
    hook(&sandbox, "pre-commit", "exit 1");
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    for paths in [&["a"][..], &["a", "never/was"], &[]] {
        assert_eq!(attempt(&sandbox, paths).unwrap(), CommitOutcome::Nothing { left_out: Vec::new() });
    }
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn what_cannot_be_committed_is_told_with_the_reason() {
    let sandbox = sandbox();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("x.log", "ignored\n");
    sandbox.write("folder/inner", "x\n");
    symlink("sub", sandbox.repo.join("way")).unwrap();
    sandbox.write("tracked.log", "tracked\n");
    sandbox.git(&["add", "--force", "tracked.log"]);
    let commit = made(&sandbox, &[".gitignore", "x.log", "folder", "way/c", "tracked.log"]);
    let left: Vec<String> =
        commit.left_out.iter().map(|left| left.path.clone().unwrap().to_string()).collect();
    assert_eq!(left, ["folder", "way/c", "x.log"]);
    assert_eq!(commit.paths.len(), 2);
    let CommitOutcome::Nothing { left_out } = attempt(&sandbox, &["x.log"]).unwrap() else { panic!() };
    assert_eq!(left_out[0].reason, "git ignores it");
    for outside in ["../x", "/etc/passwd", "a/../b", ".git/config", "sub/.GIT/x", "", "a//b"] {
        let error = attempt(&sandbox, &[outside]).unwrap_err();
        assert!(matches!(error, CommitError::Outside { .. }), "{outside}: {error}");
    }
}

/// The hooks of a commit run in their order, see exactly what is committed, and may change the message.
#[test]
fn the_commit_hooks_run() {
    let sandbox = sandbox();
    sandbox.write("b", "staged\n");
    sandbox.git(&["add", "b"]);
    sandbox.write("a", "changed\n");
    hook(&sandbox, "pre-commit", "git diff --cached --name-only >>seen; git diff --name-only >>seen");
    hook(&sandbox, "prepare-commit-msg", "echo \"prepare $2\" >>seen; echo 'Ticket: 7' >>\"$1\"");
    hook(&sandbox, "commit-msg", "echo 'message' >>seen; echo '  ' >>\"$1\"");
    hook(&sandbox, "post-commit", "echo \"post $(git status --porcelain b)\" >>seen; exit 3");
    let commit = attempt(&sandbox, &["a"]).unwrap();
    let CommitOutcome::Made(commit) = commit else { panic!("{commit:?}") };
    let seen = fs_err::read_to_string(sandbox.repo.join("seen")).unwrap();
    assert_eq!(seen, "a\nb\nprepare message\nmessage\npost M  b\n");
    assert!(sandbox.git(&["show", "--no-patch", "--format=%B"]).trim_end().ends_with("\nTicket: 7"));
    insta::assert_snapshot!(redacted(commit.complaint.unwrap()), @"the hook `post-commit` failed: it ended with exit status: 3");
}

/// Its value may be a command, and a repository that came as an archive brings its own. Hooks are the user's to install.
#[test]
fn a_commit_does_not_run_what_watches_the_files() {
    let sandbox = sandbox();
    sandbox.write("a", "changed\n");
    hook(&sandbox, "pre-commit", "git status >/dev/null");
    let started = sandbox.root().join("started");
    sandbox.git(&["config", "core.fsmonitor", &format!("touch '{}'; false", started.display())]);
    let commit = attempt(&sandbox, &["a"]).unwrap();
    assert!(matches!(commit, CommitOutcome::Made(_)), "{commit:?}");
    assert!(!started.exists());
}

/// Elsewhere by `core.hooksPath`, and in a linked worktree those of the repository.
#[test]
fn hooks_are_found_where_git_finds_them() {
    let sandbox = sandbox();
    hook_at(&sandbox.root().join("hooks/pre-commit"), "echo elsewhere; exit 1");
    sandbox.git(&["config", "core.hooksPath", sandbox.root().join("hooks").to_str().unwrap()]);
    sandbox.write("a", "changed\n");
    let linked = sandbox.root().join("linked");
    sandbox.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    fs_err::write(linked.join("a"), "changed\n").unwrap();
    for folder in [&sandbox.repo, &linked] {
        let error = try_in(&sandbox, folder, &["a"]).unwrap_err();
        assert!(matches!(&error, CommitError::HookFailed { said, .. } if said == "elsewhere"), "{error}");
    }
}

/// A10: a failing hook is an error with its last lines, and nothing has changed.
#[test]
fn a10_a_failing_hook_stops_the_commit() {
    for name in ["pre-commit", "prepare-commit-msg", "commit-msg"] {
        let sandbox = sandbox();
        sandbox.write("a", "changed\n");
        sandbox.write("b", "staged\n");
        sandbox.git(&["add", "b"]);
        hook(&sandbox, name, "seq 5000; echo 'lint: line 3 is too long' >&2; exit 1");
        let (head, before) = (sandbox.git(&["rev-parse", "HEAD"]), status(&sandbox));
        let index = fs_err::read(sandbox.repo.join(".git/index")).unwrap();
        let error = attempt(&sandbox, &["a"]).unwrap_err();
        let CommitError::HookFailed { hook, said } = error else { panic!("{error}") };
        assert_eq!(hook, name);
        assert!(said.ends_with("5000\nlint: line 3 is too long") && said.len() < 200, "{said}");
        assert_eq!((sandbox.git(&["rev-parse", "HEAD"]), status(&sandbox)), (head, before));
        assert_eq!(fs_err::read(sandbox.repo.join(".git/index")).unwrap(), index);
        clean(&sandbox, &sandbox.repo);
    }
}

/// A hook that hangs is ended with everything it has started, and the user can go on.
#[test]
fn a_hanging_hook_is_ended_with_its_children() {
    let sandbox = sandbox();
    sandbox.write("a", "changed\n");
    hook(&sandbox, "pre-commit", "sleep 600 & echo $! >child; wait");
    let paths = [BytePath::from("a")];
    let new = NewCommit {
        paths: &paths,
        message: "x",
        branch: None,
        hook_limit: Duration::from_millis(500),
        lock_limit: Duration::from_secs(1),
    };
    let repository = Repository::discover(&sandbox.repo).unwrap();
    let error = commit::commit(&repository, &sandbox.program, &new, &mut |_| true).unwrap_err();
    assert!(matches!(error, CommitError::HookTimedOut { hook: "pre-commit", .. }), "{error}");
    let child = fs_err::read_to_string(sandbox.repo.join("child")).unwrap();
    wait_for("the end of the hook's child", || !is_running(child.trim()));
    clean(&sandbox, &sandbox.repo);
}

fn is_running(pid: &str) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).is_some_and(|state| state != 'Z')
}

/// A formatter's hook: the file it changed and added again is committed as it left it. What it adds beyond that, the
/// user's own work for example, is not.
#[test]
fn a_hook_that_adds_files_adds_only_what_was_named() {
    let sandbox = sandbox();
    sandbox.write("a", "badly   formatted\n");
    sandbox.write("b", "the user's work\n");
    sandbox.write("mine", "untracked work\n");
    hook(&sandbox, "pre-commit", "echo formatted >a; git add --all");
    let before = status(&sandbox);
    let commit = made(&sandbox, &["a"]);
    assert_eq!(sandbox.git(&["show", "HEAD:a"]), "formatted\n");
    let left: Vec<String> =
        commit.left_out.iter().map(|left| left.path.clone().unwrap().to_string()).collect();
    assert_eq!(left, ["b", "mine"]);
    let after: Vec<String> = before.into_iter().filter(|line| line != " M a").collect();
    assert_eq!(status(&sandbox), after);
}

/// A11: in the middle of something, a commit would become a part of it.
#[test]
fn a11_in_the_middle_of_something_nothing_is_committed() {
    let ways: [(&str, &[&str]); 5] = [
        ("merge", &["merge", "other"]),
        ("rebase", &["rebase", "other"]),
        ("cherry-pick", &["cherry-pick", "other"]),
        ("revert", &["revert", "--no-edit", "HEAD~1"]),
        ("bisect", &["bisect", "start"]),
    ];
    for (operation, command) in ways {
        let sandbox = sandbox();
        sandbox.git(&["switch", "--quiet", "--create", "other"]);
        sandbox.write("a", "theirs\n");
        sandbox.commit_all("theirs");
        sandbox.git(&["switch", "--quiet", "main"]);
        for text in ["ours\n", "ours again\n"] {
            sandbox.write("a", text);
            sandbox.commit_all("ours");
        }
        let _ = sandbox.command(&sandbox.repo, command).output().unwrap();
        sandbox.write("notes", "x\n");
        let before = status(&sandbox);
        let error = attempt(&sandbox, &["notes"]).unwrap_err();
        assert!(
            matches!(error, CommitError::InProgress { operation: found } if found == operation),
            "{error}"
        );
        assert_eq!(status(&sandbox), before);
    }
}

/// Branches that are kept in tables and not in files.
#[test]
fn branches_in_tables_are_branches() {
    let mut probe = std::process::Command::new("git");
    probe.args(["init", "--quiet", "--ref-format=reftable"]).arg(tempfile::tempdir().unwrap().path());
    if !probe.output().unwrap().status.success() {
        println!("skipped: this git has no tables of branches");
        return;
    }
    let sandbox = Sandbox::empty(&["--ref-format=reftable"]);
    identify(&sandbox);
    sandbox.write("a", "x\n");
    assert_eq!(made(&sandbox, &["a"]).branch, "main");
    for text in ["y\n", "z\n"] {
        sandbox.write("a", text);
        made(&sandbox, &["a"]);
    }
    sandbox.git_fails(&["revert", "--no-edit", "HEAD~1"]);
    sandbox.write("notes", "x\n");
    let error = attempt(&sandbox, &["notes"]).unwrap_err();
    assert!(matches!(error, CommitError::InProgress { operation: "revert" }), "{error}");
}

/// HEAD is made to name another branch at the same commit while the hooks run: nothing is committed there, and nothing stays staged.
#[test]
fn a_commit_is_made_on_the_branch_that_was_named() {
    let tables = Sandbox::empty(&["--ref-format=reftable"]);
    identify(&tables);
    tables.write("a", "x\n");
    made(&tables, &["a"]);
    for sandbox in [sandbox(), tables] {
        sandbox.git(&["branch", "other"]);
        let other = sandbox.git(&["rev-parse", "other"]);
        sandbox.write("a", "changed\n");
        let before = status(&sandbox);
        hook(&sandbox, "pre-commit", "git symbolic-ref HEAD refs/heads/other");
        let paths = [BytePath::from("a")];
        let limit = Duration::from_secs(20);
        let branch = Some("main");
        let new = NewCommit { paths: &paths, message: "x", branch, hook_limit: limit, lock_limit: limit };
        let repository = Repository::discover(&sandbox.repo).unwrap();
        let error = commit::commit(&repository, &sandbox.program, &new, &mut |_| true).unwrap_err();
        assert_eq!(error.to_string(), "HEAD was on `main`, and is on `other` now");
        assert_eq!((status(&sandbox), sandbox.git(&["rev-parse", "other"])), (before, other));
        assert_eq!(commit::branch(&repository, &sandbox.program).unwrap().as_deref(), Some("other"));
    }
}

/// Git before 2.36 cannot run a hook for others.
#[test]
fn hooks_run_with_an_older_git_too() {
    let mut sandbox = sandbox();
    sandbox.use_git("git-without-hook-run.sh");
    sandbox.write("a", "changed\n");
    hook(&sandbox, "pre-commit", "git diff --cached --name-only >seen");
    hook(&sandbox, "commit-msg", "echo 'Ticket: 7' >>\"$1\"");
    hook(&sandbox, "post-commit", "echo done >>seen");
    assert!(matches!(attempt(&sandbox, &["a"]).unwrap(), CommitOutcome::Made(_)));
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("seen")).unwrap(), "a\ndone\n");
    insta::assert_snapshot!(redacted(sandbox.git(&["show", "--no-patch", "--format=%B"])), @"
    checkpoint: a test

    Co-Authored-By: A <a@example.com>
    Ticket: 7
    ");
    hook(&sandbox, "pre-commit", "echo no; exit 1");
    sandbox.write("a", "changed again\n");
    let error = attempt(&sandbox, &["a"]).unwrap_err();
    assert!(matches!(&error, CommitError::HookFailed { said, .. } if said == "no"), "{error}");
}

/// The branch cannot be moved, for whatever reason: the index gets its entries back.
#[test]
fn a_branch_that_cannot_be_moved_leaves_the_index_as_it_was() {
    let sandbox = sandbox();
    sandbox.write("a", "staged\n");
    sandbox.git(&["add", "a"]);
    sandbox.write("a", "and more\n");
    sandbox.write("notes", "x\n");
    let (before, head) = (status(&sandbox), sandbox.git(&["rev-parse", "HEAD"]));
    let cached = sandbox.git(&["diff", "--cached"]);
    hook(&sandbox, "reference-transaction", "[ \"$1\" != prepared ] || { echo 'frozen'; exit 1; }");
    let error = attempt(&sandbox, &["a", "notes"]).unwrap_err();
    assert!(matches!(error, CommitError::Git(_)), "{error}");
    assert_eq!((status(&sandbox), sandbox.git(&["rev-parse", "HEAD"])), (before, head));
    assert_eq!(sandbox.git(&["diff", "--cached"]), cached);
    clean(&sandbox, &sandbox.repo);
}

/// No room on the disk, at every step in turn: an error, and everything is as it was.
#[test]
fn a_full_disk_changes_nothing() {
    let mut sandbox = sandbox();
    sandbox.use_git("git-with-a-full-disk.sh");
    sandbox.write("a", "staged\n");
    sandbox.git(&["add", "a"]);
    sandbox.write("notes", "x\n");
    let (before, head) = (status(&sandbox), sandbox.git(&["rev-parse", "HEAD"]));
    for step in ["read-tree", "update-index", "write-tree", "commit-tree", "update-ref"] {
        fs_err::write(sandbox.root().join("full"), step).unwrap();
        let error = attempt(&sandbox, &["notes"]).unwrap_err();
        assert!(matches!(error, CommitError::Git(_)), "{step}: {error}");
        assert_eq!(
            (status(&sandbox), sandbox.git(&["rev-parse", "HEAD"])),
            (before.clone(), head.clone()),
            "{step}"
        );
        clean(&sandbox, &sandbox.repo);
    }
    fs_err::remove_file(sandbox.root().join("full")).unwrap();
    made(&sandbox, &["notes"]);
}

/// A lock that a kill left between its two system calls is known as ours; any other is not touched.
#[test]
fn only_a_lock_of_ours_is_removed() {
    let sandbox = sandbox();
    sandbox.write("a", "changed\n");
    made(&sandbox, &["a"]);
    let repository = Repository::discover(&sandbox.repo).unwrap();
    let run = sandbox.repo.join(".git/checkstone/run-dead");
    let (ours, lock) = (run.join("next-index"), sandbox.repo.join(".git/index.lock"));
    let recover = || commit::recover(&repository, &sandbox.program, Duration::from_secs(5)).unwrap();
    fs_err::create_dir(&run).unwrap();
    fs_err::copy(sandbox.repo.join(".git/index"), &ours).unwrap();
    fs_err::copy(&ours, &lock).unwrap();
    recover();
    assert!(lock.exists());
    fs_err::remove_file(&lock).unwrap();
    fs_err::create_dir(&run).unwrap();
    fs_err::copy(sandbox.repo.join(".git/index"), &ours).unwrap();
    fs_err::hard_link(&ours, &lock).unwrap();
    recover();
    assert!(!lock.exists());
    clean(&sandbox, &sandbox.repo);
}

/// A file that was edited in the moment in which the index was written, and kept its size, looks unchanged to git but for
/// the index's own time. Both copies of the index keep that time, so that such an edit is neither missed by the commit
/// nor hidden from the user by it.
#[test]
fn an_edit_of_the_same_size_in_the_moment_of_the_index_is_not_missed() {
    let sandbox = sandbox();
    sandbox.git(&["config", "core.trustctime", "false"]);
    sandbox.write("notes", "one\n");
    sandbox.write("b", "one\n");
    // Long ago, so that any copy that is made now is younger.
    let then = ago(Duration::from_secs(3600));
    let set_time = |path: &str| {
        let file = fs_err::OpenOptions::new().write(true).open(sandbox.repo.join(path)).unwrap();
        file.file().set_modified(then).unwrap();
    };
    set_time("notes");
    set_time("b");
    sandbox.commit_all("one");
    sandbox.write("notes", "two\n");
    sandbox.write("b", "two\n");
    set_time("notes");
    set_time("b");
    set_time(".git/index");
    let plain = |paths: &[&str]| match attempt(&sandbox, paths).unwrap() {
        CommitOutcome::Made(commit) => commit,
        other => panic!("{other:?}"),
    };
    // Nobody asks git for the status before, which would set the index right.
    plain(&["notes"]);
    assert_eq!(sandbox.git(&["show", "HEAD:notes"]), "two\n");
    assert_eq!(status(&sandbox), [" M b"]);
}

/// A11: a commit on no branch would be lost with the next switch.
#[test]
fn a11_on_no_branch_nothing_is_committed() {
    let sandbox = sandbox();
    sandbox.git(&["switch", "--quiet", "--detach"]);
    sandbox.write("a", "changed\n");
    assert!(matches!(attempt(&sandbox, &["a"]).unwrap_err(), CommitError::Detached));
    assert_eq!(status(&sandbox), [" M a"]);
}

/// A conflict of a named file has to be resolved first; one of another file is no concern of ours, and stays.
#[test]
fn conflicts_of_other_files_stay() {
    let sandbox = sandbox();
    sandbox.write("a", "stashed\n");
    sandbox.git(&["stash", "--quiet"]);
    sandbox.write("a", "ours\n");
    sandbox.commit_all("ours");
    sandbox.git_fails(&["stash", "pop", "--quiet"]);
    sandbox.write("notes", "x\n");
    assert!(matches!(attempt(&sandbox, &["a", "notes"]).unwrap_err(), CommitError::Unmerged { .. }));
    made(&sandbox, &["notes"]);
    assert_eq!(status(&sandbox), ["UU a"]);
}

/// C5: the first commit of a repository, in both object formats, beside staged files.
#[test]
fn the_first_commit_is_made_too() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::empty(&[&format!("--object-format={format}")]);
        identify(&sandbox);
        sandbox.write("notes", "x\n");
        let commit = made(&sandbox, &["notes"]);
        assert_eq!((commit.parent, commit.id.len()), (None, if format == "sha1" { 40 } else { 64 }));
        sandbox.write("staged", "y\n");
        sandbox.git(&["add", "staged"]);
        sandbox.write("notes", "z\n");
        made(&sandbox, &["notes"]);
        sandbox.remove("notes");
        made(&sandbox, &["notes"]);
        assert_eq!(status(&sandbox), ["A  staged"]);
    }
    let sandbox = Sandbox::empty(&[]);
    identify(&sandbox);
    sandbox.write("staged", "y\n");
    sandbox.git(&["add", "staged"]);
    sandbox.write("notes", "x\n");
    made(&sandbox, &["notes"]);
    assert_eq!(status(&sandbox), ["A  staged"]);
}

/// C5: linked worktrees, each with its own branch and index.
#[test]
fn a_linked_worktree_has_its_own_commits() {
    let sandbox = sandbox();
    let linked = sandbox.root().join("linked");
    sandbox.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    fs_err::write(linked.join("b"), "staged\n").unwrap();
    sandbox.git_in(&linked, &["add", "b"]);
    fs_err::write(linked.join("a"), "changed\n").unwrap();
    let main = sandbox.git(&["rev-parse", "main"]);
    let commit = made_in(&sandbox, &linked, &["a"]);
    assert_eq!(commit.branch, "linked");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert_eq!(sandbox.git_in(&linked, &["status", "--porcelain"]), "M  b\n");
}

/// C5: indexes of every kind keep their kind.
#[test]
fn split_and_sparse_indexes_are_kept() {
    let sandbox = sandbox();
    for number in 0..40 {
        sandbox.write(&format!("far/{number}"), "x\n");
    }
    sandbox.commit_all("many");
    sandbox.git(&["update-index", "--split-index"]);
    sandbox.git(&["config", "core.splitIndex", "true"]);
    sandbox.write("b", "staged\n");
    sandbox.git(&["add", "b"]);
    sandbox.write("a", "changed\n");
    made(&sandbox, &["a"]);
    assert_eq!(status(&sandbox), ["M  b"]);
    assert!(!sandbox.git(&["rev-parse", "--shared-index-path"]).trim().is_empty());
    sandbox.git(&["config", "core.splitIndex", "false"]);
    sandbox.git(&["update-index", "--no-split-index"]);

    sandbox.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "sub"]);
    assert!(!sandbox.repo.join("far").exists());
    sandbox.write("a", "changed again\n");
    // Not there, and not gone.
    made(&sandbox, &["a", "far/1"]);
    assert_eq!(sandbox.git(&["ls-tree", "--name-only", "HEAD", "far/1"]), "far/1\n");
    assert_eq!(status(&sandbox), ["M  b"]);
    let sparse = sandbox.git(&["ls-files", "--sparse", "--stage", "far"]);
    assert_eq!(sparse.lines().count(), 1, "{sparse}");
}

/// Files are committed as `git add` would: with line endings and filters.
#[test]
fn conversions_are_those_of_git_add() {
    let sandbox = sandbox();
    sandbox.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.upper.smudge", "cat"]);
    sandbox.write(".gitattributes", "*.up filter=upper\n*.crlf text eol=crlf\n");
    sandbox.write("x.up", "small\n");
    sandbox.write("x.crlf", "line\r\n");
    made(&sandbox, &[".gitattributes", "x.up", "x.crlf"]);
    assert_eq!(sandbox.git(&["show", "HEAD:x.up"]), "SMALL\n");
    assert_eq!(sandbox.git(&["cat-file", "blob", "HEAD:x.crlf"]), "line\n");
    assert_eq!(status(&sandbox), [""; 0]);
}

#[test]
fn without_an_identity_git_says_what_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "user.useConfigOnly", "true"]);
    sandbox.write("a", "changed\n");
    hook(&sandbox, "pre-commit", "touch ran");
    let error = attempt(&sandbox, &["a"]).unwrap_err();
    assert!(matches!(error, CommitError::NoIdentity { .. }), "{error}");
    assert!(!sandbox.repo.join("ran").exists());
}

/// `commit.gpgSign`: signed where nobody has to be asked, refused where somebody would have to be, and never hanging.
#[test]
fn a_commit_is_signed_or_not_made() {
    let sandbox = sandbox();
    for (name, passphrase) in [("open", ""), ("closed", "a passphrase")] {
        let key = sandbox.root().join(name);
        let mut keygen = std::process::Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", passphrase, "-f"]).arg(&key);
        assert!(keygen.status().is_ok_and(|status| status.success()), "ssh-keygen is missing");
    }
    sandbox.git(&["config", "gpg.format", "ssh"]);
    sandbox.git(&["config", "commit.gpgSign", "true"]);
    let key = |name: &str| sandbox.root().join(name).to_str().unwrap().to_owned();
    sandbox.git(&["config", "user.signingKey", &key("open")]);
    sandbox.write("a", "changed\n");
    made(&sandbox, &["a"]);
    assert!(sandbox.git(&["cat-file", "commit", "HEAD"]).contains("BEGIN SSH SIGNATURE"));
    sandbox.git(&["config", "user.signingKey", &key("closed")]);
    sandbox.write("a", "changed again\n");
    let error = attempt(&sandbox, &["a"]).unwrap_err();
    assert!(matches!(error, CommitError::NotSigned { .. }), "{error}");
    assert_eq!(status(&sandbox), [" M a"]);
}

/// A git that was killed left the lock of HEAD: it is named with what removes it, and nothing is committed.
#[test]
fn a_lock_of_head_is_named() {
    let sandbox = sandbox();
    sandbox.write("a", "changed\n");
    let lock = sandbox.repo.join(".git/HEAD.lock");
    fs_err::write(&lock, "").unwrap();
    let (path, told) = (lock.display(), attempt(&sandbox, &["a"]).unwrap_err().to_string());
    let expected =
        format!("another git process holds `{path}`; if none is running, remove it: `rm -f {path}`");
    assert_eq!(told, expected);
    assert_eq!(status(&sandbox), [" M a"]);
}

/// Another git process holds the index: waited for within the limit, and then told.
#[test]
fn a_held_index_is_waited_for() {
    let sandbox = sandbox();
    sandbox.write("a", "changed\n");
    let lock = sandbox.repo.join(".git/index.lock");
    fs_err::write(&lock, "").unwrap();
    let paths = [BytePath::from("a")];
    let limit = Duration::from_millis(100);
    let new = NewCommit {
        paths: &paths,
        message: "x",
        branch: None,
        hook_limit: Duration::from_secs(60),
        lock_limit: limit,
    };
    let repository = Repository::discover(&sandbox.repo).unwrap();
    let error = commit::commit(&repository, &sandbox.program, &new, &mut |_| true).unwrap_err();
    assert!(matches!(&error, CommitError::Locked { path } if *path == lock), "{error}");
    assert!(lock.exists(), "a lock of somebody else was removed");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| made_with_lock(&sandbox));
        // Longer than the first look at it takes.
        at_moment(Duration::from_millis(200), || fs_err::remove_file(&lock)).unwrap();
        waiting.join().unwrap();
    });
    assert_eq!(status(&sandbox), [""; 0]);
}

fn made_with_lock(sandbox: &Sandbox) {
    assert!(matches!(attempt(sandbox, &["a"]).unwrap(), CommitOutcome::Made(_)));
}

/// Somebody takes the lock while the hooks run, and has it when the index shall be exchanged.
#[test]
fn a_lock_that_comes_during_the_hooks_is_respected() {
    let sandbox = sandbox();
    sandbox.write("a", "changed\n");
    hook(&sandbox, "commit-msg", "touch .git/index.lock");
    let paths = [BytePath::from("a")];
    let limit = Duration::from_millis(100);
    let new = NewCommit {
        paths: &paths,
        message: "x",
        branch: None,
        hook_limit: Duration::from_secs(60),
        lock_limit: limit,
    };
    let repository = Repository::discover(&sandbox.repo).unwrap();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let error = commit::commit(&repository, &sandbox.program, &new, &mut |_| true).unwrap_err();
    assert!(matches!(error, CommitError::Locked { .. }), "{error}");
    fs_err::remove_file(sandbox.repo.join(".git/index.lock")).unwrap();
    assert_eq!((sandbox.git(&["rev-parse", "HEAD"]), status(&sandbox)), (head, vec![" M a".to_owned()]));
    clean(&sandbox, &sandbox.repo);
}

/// A user's commit during our hooks: ours comes on top of it, and neither loses anything.
#[test]
fn a_user_who_commits_meanwhile_is_not_undone() {
    let sandbox = sandbox();
    sandbox.write("a", "ours\n");
    sandbox.write("b", "theirs\n");
    let user = "env -u GIT_INDEX_FILE git commit --quiet --no-verify --message=theirs b";
    hook(&sandbox, "commit-msg", &format!("[ -e .git/done ] || {{ touch .git/done; {user}; }}"));
    made_after_another(&sandbox);
    let log = sandbox.git(&["log", "--format=%s", "--name-only"]);
    assert!(log.starts_with("checkpoint: a test\n\na\ntheirs\n\nb\n"), "{log}");
    assert_eq!(status(&sandbox), [""; 0]);
    clean(&sandbox, &sandbox.repo);
}

fn made_after_another(sandbox: &Sandbox) {
    assert!(matches!(attempt(sandbox, &["a"]).unwrap(), CommitOutcome::Made(_)));
}

/// The caller sees what is added, with the hooks' changes, and may say no.
#[test]
fn a12_what_is_not_approved_is_not_committed() {
    let sandbox = sandbox();
    sandbox.write("a", &format!("{}a new line\n", crate::sandbox::text("a")));
    hook(&sandbox, "pre-commit", "echo 'from the hook' >>a; git add a");
    let paths = [BytePath::from("a")];
    let limit = Duration::from_secs(20);
    let new = NewCommit { paths: &paths, message: "x", branch: None, hook_limit: limit, lock_limit: limit };
    let repository = Repository::discover(&sandbox.repo).unwrap();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let mut seen = Vec::new();
    let outcome = commit::commit(&repository, &sandbox.program, &new, &mut |added| {
        seen.extend(added.files.clone());
        false
    });
    assert_eq!(outcome.unwrap(), CommitOutcome::Withheld);
    assert_eq!((seen[0].path.clone(), seen[0].lines.clone()), (BytePath::from("a"), vec![21, 22]));
    assert!(seen[0].content.ends_with(b"a new line\nfrom the hook\n"));
    assert_eq!((sandbox.git(&["rev-parse", "HEAD"]), status(&sandbox)), (head, vec![" M a".to_owned()]));
}

/// A11: many at once, and a user at the same time; every commit is there, and nothing else is.
#[test]
fn a11_commits_at_once_come_one_after_the_other() {
    let sandbox = sandbox();
    sandbox.write("b", "staged\n");
    sandbox.git(&["add", "b"]);
    for number in 0..4 {
        sandbox.write(&format!("notes{number}"), "x\n");
    }
    let before: usize = sandbox.git(&["rev-list", "--count", "HEAD"]).trim().parse().unwrap();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let outcome = attempt(sandbox, &[&format!("notes{number}")]).unwrap();
                assert!(matches!(outcome, CommitOutcome::Made(_)), "{outcome:?}");
            });
        }
        scope.spawn(|| {
            for number in 0..6 {
                sandbox.write("sub/c", &format!("{number}\n"));
                // Git itself gives up at once where the index is held, and so does a person, for a moment.
                let arguments = ["commit", "--quiet", "--message=user", "--", "sub/c"];
                while !sandbox.command(&sandbox.repo, &arguments).output().unwrap().status.success() {}
            }
        });
    });
    let after: usize = sandbox.git(&["rev-list", "--count", "HEAD"]).trim().parse().unwrap();
    assert_eq!(after - before, 10);
    assert_eq!(status(&sandbox), ["M  b"]);
    clean(&sandbox, &sandbox.repo);
}

/// More paths than a command line holds, in a repository whose group may write.
#[test]
fn very_many_paths_are_committed() {
    let sandbox = Sandbox::empty(&["--shared=group"]);
    identify(&sandbox);
    let folder = format!("{}/", "a folder with a long name".repeat(8)).repeat(6);
    let paths: Vec<String> = (0..2_000).map(|number| format!("{folder}{number}")).collect();
    for path in &paths {
        sandbox.write(path, "x\n");
    }
    sandbox.write("staged", "staged\n");
    sandbox.git(&["add", "staged"]);
    let named: Vec<&str> = paths.iter().map(String::as_str).collect();
    match attempt(&sandbox, &named).unwrap() {
        CommitOutcome::Made(commit) => assert_eq!(commit.paths.len(), paths.len()),
        other => panic!("{other:?}"),
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "A  staged\n");
    sandbox.write(&paths[7], "changed\n");
    match attempt(&sandbox, &named).unwrap() {
        CommitOutcome::Made(commit) => assert_eq!(commit.paths.len(), 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "A  staged\n");
}

/// Whoever may write in the repository may save in it.
#[test]
fn a_repository_of_a_group_stays_one() {
    let sandbox = Sandbox::empty(&["--shared=group"]);
    identify(&sandbox);
    sandbox.write("a", "one\n");
    made(&sandbox, &["a"]);
    let mode = |name: &str| {
        let path = sandbox.repo.join(".git").join(name);
        path.metadata().unwrap().permissions().mode() & 0o777
    };
    assert_eq!([mode("checkstone"), mode("checkstone/commit.lock"), mode("index")], [0o775, 0o664, 0o664]);
}

/// What others write to stderr, the dynamic linker or git's own trace, is no complaint of git's.
#[test]
fn a_talkative_environment_is_no_failure() {
    let mut sandbox = sandbox();
    sandbox.use_git("git-that-talks.sh");
    sandbox.write("a", "changed\n");
    made(&sandbox, &["a"]);
    sandbox.write("a", "changed again\n");
    assert_eq!(sandbox.snapshot().facts.left_out, []);
}

/// Git's own words alone say nothing of what to do.
#[test]
fn line_endings_and_repositories_inside_are_told_with_what_to_do() {
    let sandbox = Sandbox::with_submodule();
    identify(&sandbox);
    sandbox.write("module/a", "changed\n");
    let CommitOutcome::Nothing { left_out } = attempt(&sandbox, &["module/a"]).unwrap() else { panic!() };
    assert_eq!(left_out[0].reason, "it is in the repository `module` inside this one");
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.git(&["config", "core.safecrlf", "true"]);
    sandbox.write("a", "one\ntwo\n");
    let told = attempt(&sandbox, &["a"]).unwrap_err().to_string();
    assert!(told.ends_with("set `core.safecrlf` to `warn`"), "{told}");
}

/// What lies in the place of our folder, lock or note is never followed elsewhere, written to or waited for.
#[test]
fn links_and_pipes_in_the_place_of_our_files_are_refused() {
    let sandbox = sandbox();
    let elsewhere = sandbox.root().join("elsewhere");
    fs_err::create_dir(&elsewhere).unwrap();
    let ours = sandbox.repo.join(".git/checkstone");
    let lock = ours.join("commit.lock");
    let refused = |path: &Path, why: &str| {
        sandbox.write("a", "changed\n");
        let error = attempt(&sandbox, &["a"]).unwrap_err().to_string();
        assert_eq!(error, format!("cannot use `{}`: `{}` {why}", ours.display(), path.display()));
        assert_eq!(elsewhere.read_dir().unwrap().count(), 0);
    };
    let pipe = |path: &Path| {
        sandbox::make_pipe(path);
    };
    symlink(&elsewhere, &ours).unwrap();
    refused(&ours, "is a symbolic link");
    fs_err::remove_file(&ours).unwrap();
    fs_err::create_dir(&ours).unwrap();
    symlink(elsewhere.join("file"), &lock).unwrap();
    refused(&lock, "is a symbolic link");
    fs_err::remove_file(&lock).unwrap();
    pipe(&lock);
    refused(&lock, "is not a regular file");
    fs_err::remove_file(&lock).unwrap();
    // A note that is none is cleared away.
    pipe(&ours.join("commit.json"));
    made(&sandbox, &["a"]);
}

/// A note that a killed run had begun to write is cleared away.
#[test]
fn a_note_that_was_begun_is_cleared_away() {
    let sandbox = sandbox();
    let ours = sandbox.repo.join(".git/checkstone");
    fs_err::create_dir(&ours).unwrap();
    fs_err::write(ours.join(".commit.json.0123456789ab.tmp"), "{\"comm").unwrap();
    sandbox.write("a", "changed\n");
    made(&sandbox, &["a"]);
}
