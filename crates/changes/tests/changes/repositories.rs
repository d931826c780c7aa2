//! C5: every kind of repository, or the right error.

use std::path::Path;

use changes::state::ObjectFormat;
use changes::{Error, Repository, Request};
use jiff::Timestamp;

use crate::sandbox::{Sandbox, lines};

/// C5
#[test]
fn no_repository() {
    let sandbox = Sandbox::new();
    let error = sandbox.ask_in(&sandbox.root(), Request::Worktree).unwrap_err();
    assert!(matches!(error, Error::NotARepository { .. }), "{error}");
}

/// C5
#[test]
fn bare_repository() {
    let sandbox = Sandbox::new();
    let bare = sandbox.root().join("bare.git");
    sandbox.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    for folder in [&bare, &bare.join("refs")] {
        let error = sandbox.ask_in(folder, Request::Worktree).unwrap_err();
        assert!(matches!(error, Error::NoWorkTree { .. }), "{error}");
    }
    // One that looks like any other.
    sandbox.git(&["config", "core.bare", "true"]);
    let error = sandbox.ask(Request::Worktree).unwrap_err();
    assert!(matches!(error, Error::NoWorkTree { .. }), "{error}");
}

/// C5
#[test]
fn inside_of_dot_git() {
    let sandbox = Sandbox::new();
    let error = sandbox.ask_in(&sandbox.repo.join(".git/refs"), Request::Worktree).unwrap_err();
    assert!(matches!(error, Error::NoWorkTree { .. }), "{error}");
}

/// C5
#[test]
fn unborn_head() {
    let sandbox = Sandbox::empty(&[]);
    let baseline = sandbox.baseline();
    assert_eq!((baseline.head.as_deref(), baseline.branch.as_deref()), (None, Some("main")));
    sandbox.write("a", "x");
    sandbox.write("b", "x");
    sandbox.git(&["add", "b"]);
    let expected = ["added a [untracked]", "added b [staged]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
    assert_eq!(lines(&sandbox.ask(Request::Worktree).unwrap().files), expected);
    assert!(matches!(sandbox.ask(Request::DiffHead), Err(Error::NoCommit { .. })));
}

/// C5
#[test]
fn detached_head() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "--quiet", "--detach"]);
    let baseline = sandbox.baseline();
    assert_eq!(baseline.branch, None);
    sandbox.write("a", "changed\n");
    sandbox.git(&["commit", "--quiet", "--all", "--message", "work"]);
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified a [committed]"]);
    assert_eq!(changes.branch, None);
}

fn with_conflict() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "--quiet", "-b", "other"]);
    sandbox.write("a", "theirs\n");
    sandbox.write("b", "theirs\n");
    sandbox.commit_all("theirs");
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox.write("a", "ours\n");
    sandbox.commit_all("ours");
    sandbox
}

/// C5
#[test]
fn in_the_middle_of_a_merge() {
    let sandbox = with_conflict();
    sandbox.git_fails(&["merge", "other"]);
    let baseline = sandbox.baseline();
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.write("a", "resolved\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [unmerged]"]);
    sandbox.git(&["add", "a"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [staged]"]);
    sandbox.git(&["commit", "--quiet", "--no-edit"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [committed]"]);
}

/// C5
#[test]
fn in_the_middle_of_a_rebase() {
    let sandbox = with_conflict();
    let before = sandbox.baseline();
    sandbox.git_fails(&["rebase", "other"]);
    let changes = sandbox.turn(&before);
    assert_eq!(changes.branch, None);
    assert_eq!(lines(&changes.files), ["modified a [unmerged]"]);
    assert_eq!(lines(&changes.arrived), ["modified b [arrived]"]);
    let during = sandbox.baseline();
    sandbox.write("a", "resolved\n");
    sandbox.git(&["add", "a"]);
    sandbox.git(&["rebase", "--continue"]);
    assert_eq!(lines(&sandbox.turn(&during).files), ["modified a [committed]"]);
}

/// C5
#[test]
fn linked_worktree() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.root().join("worktree");
    sandbox.git(&["worktree", "add", "--quiet", "-b", "feature", worktree.to_str().unwrap()]);
    let found = Repository::discover(&worktree.join("sub")).unwrap();
    assert_eq!(found.root, worktree);
    assert_eq!(found.git_dir, sandbox.repo.join(".git/worktrees/worktree"));
    assert_eq!(found.common_dir, sandbox.repo.join(".git"));
    let baseline = sandbox.unwatched_baseline(&worktree).unwrap();
    assert_eq!(baseline.branch.as_deref(), Some("feature"));
    fs_err::write(worktree.join("a"), "changed\n").unwrap();
    sandbox.git_in(&worktree, &["commit", "--quiet", "--all", "--message", "work"]);
    fs_err::write(worktree.join("b"), "changed\n").unwrap();
    let request = Request::Turn { baseline: Some(&baseline), touched: None };
    let changes = sandbox.ask_in(&worktree, request).unwrap();
    assert_eq!(lines(&changes.files), ["modified a [committed]", "modified b [unstaged]"]);
    // The main worktree is another place, and not changed.
    let main = sandbox.ask(request).unwrap();
    assert!(main.files.is_empty() && main.baseline_unusable.is_some());
}

/// C5
#[test]
fn submodules() {
    let sandbox = Sandbox::with_submodule();
    let module = sandbox.repo.join("module");
    let baseline = sandbox.baseline();
    assert!(baseline.files.is_empty());
    fs_err::write(module.join("a"), "changed\n").unwrap();
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified module [unstaged]"]);
    // Dirt inside that was there before.
    let dirty = sandbox.baseline();
    assert!(sandbox.turn(&dirty).files.is_empty());
    // Dirt inside that was changed again.
    fs_err::write(module.join("a"), "CHANGED\n").unwrap();
    assert_eq!(lines(&sandbox.turn(&dirty).files), ["modified module [unstaged]"]);
    sandbox.git_in(&module, &["checkout", "--quiet", "."]);
    assert_eq!(lines(&sandbox.turn(&dirty).files), ["modified module [no-longer-dirty]"]);
    fs_err::write(module.join("a"), "changed\n").unwrap();
    assert!(sandbox.turn(&dirty).files.is_empty());
    sandbox.git_in(&module, &["commit", "--quiet", "--all", "--message", "inside"]);
    for baseline in [&baseline, &dirty] {
        assert_eq!(lines(&sandbox.turn(baseline).files), ["modified module [unstaged]"]);
    }
    sandbox.git(&["commit", "--quiet", "--all", "--message", "newer module"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified module [committed]"]);
    // Inside it is a repository of its own.
    let inside = Repository::discover(&module.join("sub")).unwrap();
    assert_eq!(inside.root, module);
    assert_eq!(inside.git_dir, sandbox.repo.join(".git/modules/module"));
    fs_err::write(module.join("b"), "changed\n").unwrap();
    let changes = sandbox.ask_in(&module, Request::Worktree).unwrap();
    assert_eq!(lines(&changes.files), ["modified b [unstaged]"]);
}

/// C5: a repository that lies untracked inside another.
#[test]
fn nested_repository() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    let nested = sandbox.repo.join("nested");
    fs_err::create_dir_all(&nested).unwrap();
    sandbox.git_in(&nested, &["init", "--quiet"]);
    fs_err::write(nested.join("x"), "x").unwrap();
    sandbox.git_in(&nested, &["add", "x"]);
    sandbox.git_in(&nested, &["commit", "--quiet", "--message", "x"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["added nested [untracked]"]);
    let next = sandbox.baseline();
    assert!(sandbox.turn(&next).files.is_empty());
    sandbox.git_in(&nested, &["commit", "--quiet", "--allow-empty", "--message", "y"]);
    assert_eq!(lines(&sandbox.turn(&next).files), ["modified nested [untracked]"]);
}

/// C5
#[test]
fn sparse_checkout() {
    let sandbox = Sandbox::new();
    sandbox.write("other/file", "x\n");
    sandbox.commit_all("other");
    sandbox.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "sub"]);
    assert!(!sandbox.repo.join("other").exists());
    let baseline = sandbox.baseline();
    assert!(baseline.files.is_empty());
    sandbox.write("sub/c", "changed\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified sub/c [unstaged]"]);
}

/// C5
#[test]
fn sha_256_objects() {
    let sandbox = Sandbox::empty(&["--object-format=sha256"]);
    sandbox.write("dirt", "x");
    let unborn = sandbox.baseline();
    assert_eq!(unborn.object_format, ObjectFormat::Sha256);
    sandbox.write("a", "x\n");
    sandbox.git(&["add", "a"]);
    sandbox.git(&["commit", "--quiet", "--message", "first"]);
    assert_eq!(lines(&sandbox.turn(&unborn).files), ["added a [committed]"]);
    let baseline = sandbox.baseline();
    assert_eq!(baseline.head.as_ref().unwrap().len(), 64);
    sandbox.set_executable("a");
    sandbox.write("dirt", "y");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["mode a [unstaged]", "modified dirt [untracked]"]);
}

/// Branches kept in a table: HEAD's log is no file, so every commit counts.
#[test]
fn reference_tables() {
    let sandbox = Sandbox::empty(&["--ref-format=reftable"]);
    sandbox.write("a", "x\n");
    sandbox.commit_all("first");
    let baseline = sandbox.baseline();
    sandbox.write("a", "y\n");
    sandbox.git(&["commit", "--quiet", "--all", "--message", "work"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [committed]"]);
}

/// C5
#[test]
fn cwd_in_a_subdirectory() {
    let sandbox = Sandbox::new();
    let folder = sandbox.repo.join("sub");
    let baseline = sandbox.unwatched_baseline(&folder).unwrap();
    assert_eq!(baseline.root.as_path(), sandbox.repo);
    sandbox.write("a", "changed\n");
    sandbox.write("sub/new", "x");
    let request = Request::Turn { baseline: Some(&baseline), touched: None };
    let expected = ["modified a [unstaged]", "added sub/new [untracked]"];
    assert_eq!(lines(&sandbox.ask_in(&folder, request).unwrap().files), expected);
}

/// C5: the agent removed or renamed the folder it stands in, or reached it through a link.
#[test]
fn cwd_moved() {
    let sandbox = Sandbox::new();
    let folder = sandbox.repo.join("sub");
    let baseline = sandbox.unwatched_baseline(&folder).unwrap();
    sandbox.git(&["mv", "sub", "moved"]);
    let request = Request::Turn { baseline: Some(&baseline), touched: None };
    let expected = ["renamed sub/c -> moved/c [staged]"];
    assert_eq!(lines(&sandbox.ask_in(&folder, request).unwrap().files), expected);
    let link = sandbox.root().join("link");
    fs_err::os::unix::fs::symlink(&sandbox.repo, &link).unwrap();
    assert_eq!(lines(&sandbox.ask_in(&link.join("moved"), request).unwrap().files), expected);
}

/// C5
#[test]
fn the_whole_repository_is_gone() {
    let sandbox = Sandbox::new();
    fs_err::remove_dir_all(&sandbox.repo).unwrap();
    let error = sandbox.ask(Request::Worktree).unwrap_err();
    assert!(matches!(error, Error::NotARepository { .. }), "{error}");
    let error = changes::start(Path::new("/nonexistent/folder"), &sandbox.program).unwrap_err();
    assert!(matches!(error, Error::NotARepository { .. }), "{error}");
}

/// An empty `.git` folder is no repository; git looks further up, and so do we.
#[test]
fn an_invalid_dot_git_is_passed_over() {
    let sandbox = Sandbox::new();
    fs_err::create_dir_all(sandbox.repo.join("sub/.git")).unwrap();
    let found = Repository::discover(&sandbox.repo.join("sub")).unwrap();
    assert_eq!(found.root, sandbox.repo);
    let top = sandbox.git_in(&sandbox.repo.join("sub"), &["rev-parse", "--show-toplevel"]);
    assert_eq!(Path::new(top.trim()), found.root);
    changes::start(&sandbox.repo.join("sub"), &sandbox.program).unwrap().baseline(Timestamp::now()).unwrap();
}

/// The walk finds `.git` where the files are not.
#[test]
fn a_working_tree_elsewhere_is_refused() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.root().join("elsewhere");
    fs_err::create_dir_all(&elsewhere).unwrap();
    sandbox.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let error = sandbox.ask(Request::Worktree).unwrap_err();
    assert!(matches!(error, Error::WorkTreeElsewhere { .. }), "{error}");
    sandbox.git(&["config", "core.worktree", sandbox.repo.to_str().unwrap()]);
    assert!(sandbox.ask(Request::Worktree).unwrap().files.is_empty());
}

/// A submodule that cannot be asked hides nothing else.
#[test]
fn a_broken_submodule() {
    let sandbox = Sandbox::with_submodule();
    let baseline = sandbox.baseline();
    sandbox.write(".git/modules/module/index", "not an index");
    sandbox.write("a", "changed\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [unstaged]"]);
}

/// C5: the branch as git says it, wherever it is written down in files.
#[test]
fn the_branch_is_what_git_says_it_is() {
    let sandbox = Sandbox::new();
    let branch = |folder: &Path| Repository::discover(folder).unwrap().branch();
    assert_eq!(branch(&sandbox.repo).as_deref(), Some("main"));
    sandbox.git(&["switch", "--quiet", "--create", "feature/BAS-6"]);
    assert_eq!(branch(&sandbox.repo).as_deref(), Some(sandbox.git(&["branch", "--show-current"]).trim()));
    let beside = sandbox.root().join("beside");
    sandbox.git(&["worktree", "add", "--quiet", "-b", "other", beside.to_str().unwrap()]);
    assert_eq!(branch(&beside).as_deref(), Some("other"));
    sandbox.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(branch(&sandbox.repo), None);
    let unborn = Sandbox::empty(&[]);
    assert_eq!(branch(&unborn.repo).as_deref(), Some("main"));
    let tables = sandbox.root().join("tables");
    sandbox.git(&["init", "--quiet", "--ref-format=reftable", tables.to_str().unwrap()]);
    assert_eq!(branch(&tables), None, "tables are not read");
}
