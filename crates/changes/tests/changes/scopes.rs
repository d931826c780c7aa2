//! The scopes without a baseline, and the letter of `git diff --name-only HEAD`.

use std::path::PathBuf;

use change_set::Scope;
use changes::{Request, Touched};

use crate::sandbox::{Sandbox, lines, text};

/// Dirt of every kind.
fn dirty() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["mode", "moved", "removed", "staged-removal", "both"] {
        sandbox.write(name, &text(name));
    }
    sandbox.commit_all("more");
    sandbox.write("a", "changed\n");
    sandbox.write("b", "staged\n");
    sandbox.git(&["add", "b"]);
    sandbox.write("both", "staged\n");
    sandbox.git(&["add", "both"]);
    sandbox.write("both", "and more\n");
    sandbox.set_executable("mode");
    sandbox.git(&["mv", "moved", "sub/moved"]);
    sandbox.remove("removed");
    sandbox.git(&["rm", "--quiet", "staged-removal"]);
    sandbox.write("untracked", "x");
    sandbox.write("added", "new\n");
    sandbox.git(&["add", "added"]);
    sandbox
}

const DIRTY: [&str; 9] = [
    "modified a [unstaged]",
    "added added [staged]",
    "modified b [staged]",
    "modified both [staged unstaged]",
    "mode mode [unstaged]",
    "deleted removed [unstaged]",
    "deleted staged-removal [staged]",
    "renamed moved -> sub/moved [staged]",
    "added untracked [untracked]",
];

#[test]
fn the_worktree_is_everything_that_is_dirty() {
    let sandbox = dirty();
    for request in [Request::Worktree, Request::Turn { baseline: None, touched: None }] {
        let changes = sandbox.ask(request).unwrap();
        assert_eq!(changes.scope, Scope::Worktree);
        assert_eq!(lines(&changes.files), DIRTY);
        assert_eq!(changes.branch.as_deref(), Some("main"));
    }
}

#[test]
fn touched_paths_may_be_spelled_in_every_way() {
    let sandbox = dirty();
    let link = sandbox.root().join("link");
    fs_err::os::unix::fs::symlink(&sandbox.repo, &link).unwrap();
    let paths = [
        sandbox.repo.join("a"),
        PathBuf::from("../b"),
        link.join("removed"),
        sandbox.repo.join("./sub/../untracked"),
        // The old name of a renamed file, a clean file, one that never was, and ones outside.
        PathBuf::from("../moved"),
        PathBuf::from("c"),
        PathBuf::from("never"),
        PathBuf::from("../../../../../../../../../../etc/passwd"),
        PathBuf::from("/"),
        PathBuf::new(),
    ];
    let cwd = sandbox.repo.join("sub");
    let touched = Some(Touched { paths: &paths, cwd: &cwd });
    let changes = sandbox.ask(Request::Turn { baseline: None, touched }).unwrap();
    assert_eq!(changes.scope, Scope::Touched);
    let expected = [DIRTY[0], DIRTY[2], DIRTY[5], DIRTY[7], DIRTY[8]];
    assert_eq!(lines(&changes.files), expected);
    let nothing = Some(Touched { paths: &[], cwd: &cwd });
    assert!(sandbox.ask(Request::Turn { baseline: None, touched: nothing }).unwrap().files.is_empty());
}

/// What the command itself prints, with the refreshed index that it would leave behind.
fn name_only(sandbox: &Sandbox) -> Vec<String> {
    let copy = sandbox.root().join("copy-of-the-index");
    fs_err::copy(sandbox.repo.join(".git/index"), &copy).unwrap();
    let mut command = sandbox.command(&sandbox.repo, &["diff", "--name-only", "-z", "HEAD"]);
    let output = command.env("GIT_INDEX_FILE", copy).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<String> =
        text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn assert_like_git_diff(sandbox: &Sandbox) {
    let changes = sandbox.ask(Request::DiffHead).unwrap();
    let names: Vec<String> = changes.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(names, name_only(sandbox));
    assert_eq!(changes.scope, Scope::Worktree);
}

/// Spec 1, R1: exactly the files of `git diff --name-only HEAD`.
#[test]
fn diff_head_is_what_git_diff_prints() {
    let sandbox = dirty();
    assert_like_git_diff(&sandbox);
    // Touched, not changed.
    sandbox.write("sub/c", &text("sub/c"));
    assert_like_git_diff(&sandbox);
}

/// Each of these makes records and the command differ in their own way.
#[test]
fn diff_head_in_odd_states() {
    type State = fn(&Sandbox);
    let states: [(&str, State); 12] = [
        ("clean", |_| {}),
        ("only untracked", |sandbox| sandbox.write("new", "x")),
        ("staged and set back", |sandbox| {
            sandbox.write("a", "x\n");
            sandbox.git(&["add", "a"]);
            sandbox.write("a", &text("a"));
        }),
        ("added and removed", |sandbox| {
            sandbox.write("new", "x\n");
            sandbox.git(&["add", "new"]);
            sandbox.remove("new");
        }),
        ("moved in git and rewritten", |sandbox| {
            sandbox.git(&["mv", "a", "moved"]);
            sandbox.write("moved", "quite different\n");
        }),
        ("moved in git and removed", |sandbox| {
            sandbox.git(&["mv", "a", "moved"]);
            sandbox.remove("moved");
        }),
        ("removed, and added under another name", |sandbox| {
            fs_err::rename(sandbox.repo.join("a"), sandbox.repo.join("moved")).unwrap();
            sandbox.git(&["add", "moved"]);
        }),
        ("meant to be added", |sandbox| {
            sandbox.write("new", "x\n");
            sandbox.git(&["add", "--intent-to-add", "new"]);
        }),
        ("out of the index, still there", |sandbox| {
            sandbox.git(&["rm", "--quiet", "--cached", "a"]);
        }),
        ("a file became a link", |sandbox| {
            sandbox.remove("a");
            fs_err::os::unix::fs::symlink("b", sandbox.repo.join("a")).unwrap();
        }),
        ("a conflict", |sandbox| {
            sandbox.git(&["checkout", "--quiet", "-b", "other"]);
            sandbox.write("a", "theirs\n");
            sandbox.commit_all("theirs");
            sandbox.git(&["checkout", "--quiet", "main"]);
            sandbox.write("a", "ours\n");
            sandbox.commit_all("ours");
            sandbox.git_fails(&["merge", "other"]);
        }),
        ("moved away, and a new file in its place", |sandbox| {
            sandbox.git(&["mv", "a", "moved"]);
            sandbox.write("a", "new\n");
        }),
    ];
    for (name, make) in states {
        let sandbox = Sandbox::new();
        make(&sandbox);
        let changes = sandbox.ask(Request::DiffHead).unwrap();
        let names: Vec<String> = changes.files.iter().map(|file| file.path.to_string()).collect();
        assert_eq!(names, name_only(&sandbox), "{name}");
    }
}
