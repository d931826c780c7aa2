//! C1, C3, C4, C6, C7, C8: what counts as a change of the turn.

use std::path::PathBuf;

use change_set::{BytePath, Scope};
use changes::{Request, Touched};

use crate::sandbox::{Sandbox, lines, text};

/// C1
#[test]
fn untracked_files_are_seen_one_by_one() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.write("new/deep/file", "x");
    sandbox.write("new/other", "x");
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["added new/deep/file [untracked]", "added new/other [untracked]"]);
    assert_eq!(changes.scope, Scope::TurnBaseline);
    assert!(changes.files.iter().all(|file| file.modified_ns.is_some()));
}

#[test]
fn nothing_changed_is_an_empty_set() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    assert!(baseline.files.is_empty());
    assert!(sandbox.turn(&baseline).files.is_empty());
}

#[test]
fn staged_unstaged_and_both_are_told_apart() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.write("a", "staged\n");
    sandbox.git(&["add", "a"]);
    sandbox.write("b", "unstaged\n");
    sandbox.write("sub/c", "staged\n");
    sandbox.git(&["add", "sub/c"]);
    sandbox.write("sub/c", "and more\n");
    let expected = ["modified a [staged]", "modified b [unstaged]", "modified sub/c [staged unstaged]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

/// C3: staging or committing older dirt does not make it the turn's.
#[test]
fn dirt_from_before_is_not_ours() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "dirt\n");
    sandbox.write("untracked", "dirt\n");
    sandbox.remove("b");
    sandbox.write("sub/c", "staged dirt\n");
    sandbox.git(&["add", "sub/c"]);
    let baseline = sandbox.baseline();
    assert!(sandbox.turn(&baseline).files.is_empty());
    // Touched, but not changed.
    sandbox.write("a", "dirt\n");
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.git(&["add", "--all"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.git(&["reset", "--quiet"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--message", "older work"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
}

/// C3
#[test]
fn dirt_that_is_changed_again_is_ours() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "sub/c", "untracked", "gone"] {
        sandbox.write(name, "dirt\n");
    }
    let baseline = sandbox.baseline();
    // Of the same length: only the content tells.
    sandbox.write("a", "DIRT\n");
    sandbox.git(&["checkout", "--quiet", "--", "b"]);
    sandbox.remove("sub/c");
    sandbox.set_executable("untracked");
    sandbox.remove("gone");
    let expected = [
        "modified a [unstaged]",
        "modified b [no-longer-dirty]",
        "deleted gone [no-longer-dirty]",
        "deleted sub/c [unstaged]",
        "mode untracked [untracked]",
    ];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

/// C3: another session works in the same tree; what it had done before our prompt is not ours.
#[test]
fn dirt_of_another_session_is_not_ours() {
    let sandbox = Sandbox::new();
    let theirs = sandbox.baseline();
    sandbox.write("a", "theirs\n");
    sandbox.write("new", "theirs\n");
    let ours = sandbox.baseline();
    sandbox.write("b", "ours\n");
    assert_eq!(lines(&sandbox.turn(&ours).files), ["modified b [unstaged]"]);
    assert_eq!(sandbox.turn(&theirs).files.len(), 3);
}

/// The index can hold work that the file on disk no longer shows.
#[test]
fn staged_content_counts_even_where_the_file_was_set_back() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "dirt\n");
    let baseline = sandbox.baseline();
    for name in ["a", "b"] {
        let before = fs_err::read_to_string(sandbox.repo.join(name)).unwrap();
        sandbox.write(name, "staged\n");
        sandbox.git(&["add", name]);
        sandbox.write(name, &before);
    }
    let expected = ["modified a [staged unstaged]", "modified b [staged unstaged]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

/// C4
#[test]
fn every_path_survives() {
    let sandbox = Sandbox::new();
    let names: [&[u8]; 6] = [
        "日本/ü.py".as_bytes(),
        b"with space",
        b"quo\"ted\\",
        b"new\nline",
        b"tab\t -> x",
        b"\xff\xfenot-utf-8",
    ];
    for name in names {
        sandbox.write_bytes(name, b"before");
    }
    sandbox.commit_all("names");
    let baseline = sandbox.baseline();
    for name in names {
        sandbox.write_bytes(name, b"after");
    }
    let mut expected: Vec<BytePath> = names.iter().map(|name| BytePath::from(*name)).collect();
    expected.sort();
    let changes = sandbox.turn(&baseline);
    let found: Vec<BytePath> = changes.files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(found, expected);
    // And as dirt of an earlier turn, through JSON.
    let next = sandbox.baseline();
    assert!(sandbox.turn(&next).files.is_empty());
    sandbox.write_bytes(b"\xff\xfenot-utf-8", b"again");
    assert_eq!(sandbox.turn(&next).files[0].path.as_bytes(), b"\xff\xfenot-utf-8");
    let json = serde_json::to_string(&changes).unwrap();
    assert_eq!(serde_json::from_str::<change_set::ChangeSet>(&json).unwrap(), changes);
}

/// C4
#[test]
fn renames_deletions_and_modes() {
    let sandbox = Sandbox::new();
    sandbox.write("tool", "#!/bin/sh\n");
    sandbox.write("chmod-staged", "#!/bin/sh\n");
    sandbox.commit_all("tools");
    let baseline = sandbox.baseline();
    sandbox.git(&["mv", "a", "moved"]);
    sandbox.remove("b");
    sandbox.set_executable("tool");
    sandbox.set_executable("chmod-staged");
    sandbox.git(&["add", "chmod-staged"]);
    fs_err::rename(sandbox.repo.join("sub/c"), sandbox.repo.join("sub/d")).unwrap();
    let expected = [
        "deleted b [unstaged]",
        "mode chmod-staged [staged]",
        "renamed a -> moved [staged]",
        "deleted sub/c [unstaged]",
        "added sub/d [untracked]",
        "mode tool [unstaged]",
    ];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--message", "all of it"]);
    let expected = [
        "deleted b [committed]",
        "mode chmod-staged [committed]",
        "renamed a -> moved [committed]",
        "renamed sub/c -> sub/d [committed]",
        "mode tool [committed]",
    ];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

#[test]
fn a_rename_that_is_renamed_again_is_one_rename() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.git(&["mv", "a", "second"]);
    sandbox.git(&["commit", "--quiet", "--message", "moved"]);
    sandbox.git(&["mv", "second", "third"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["renamed a -> third [staged]"]);
    sandbox.write("a", "a new one\n");
    let expected = ["modified a [committed untracked]", "renamed a -> third [staged]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

/// A rename is one only where the old path was there, and clean, when the turn began.
#[test]
fn moving_a_new_or_a_dirty_file_is_no_rename_of_the_turn() {
    let sandbox = Sandbox::new();
    sandbox.write("a", &format!("{}dirt\n", text("a")));
    let baseline = sandbox.baseline();
    sandbox.write("new", &text("new"));
    sandbox.git(&["add", "new"]);
    sandbox.git(&["commit", "--quiet", "--message", "new"]);
    sandbox.git(&["mv", "new", "newer"]);
    sandbox.git(&["add", "a"]);
    sandbox.git(&["mv", "a", "moved"]);
    let expected = ["deleted a [staged]", "added moved [staged]", "added newer [staged]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

#[test]
fn a_rename_from_before_is_not_ours() {
    let sandbox = Sandbox::new();
    sandbox.git(&["mv", "a", "moved"]);
    let baseline = sandbox.baseline();
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.git(&["reset", "--quiet"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.write("a", "new in the old place\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["added a [unstaged]"]);
}

#[test]
fn links_are_known_by_their_target() {
    let sandbox = Sandbox::new();
    let link = |target: &str, name: &str| {
        let _ = fs_err::remove_file(sandbox.repo.join(name));
        fs_err::os::unix::fs::symlink(target, sandbox.repo.join(name)).unwrap();
    };
    link("a", "link");
    link("nowhere", "same");
    let baseline = sandbox.baseline();
    link("b", "link");
    link("nowhere", "same");
    sandbox.remove("a");
    link("b", "a");
    let expected = ["modified a [unstaged]", "modified link [untracked]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

/// A folder of the baseline's files became a link out of the repository: nothing behind it is looked at.
#[test]
fn a_folder_that_became_a_link_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("folder/file", "dirt");
    let baseline = sandbox.baseline();
    let outside = sandbox.root().join("outside");
    fs_err::rename(sandbox.repo.join("folder"), &outside).unwrap();
    fs_err::os::unix::fs::symlink(&outside, sandbox.repo.join("folder")).unwrap();
    let expected = ["added folder [untracked]", "deleted folder/file [no-longer-dirty]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

/// C6 is the policy's; what it needs from here is that names come as they are.
#[test]
fn dots_and_extensions_are_kept() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    for name in [".pre-commit-config.yaml", "requirements.txt", "pkg/x.py", "X.md"] {
        sandbox.write(name, "x");
    }
    let changes = sandbox.turn(&baseline);
    let paths: Vec<String> = changes.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(paths, [".pre-commit-config.yaml", "X.md", "pkg/x.py", "requirements.txt"]);
}

/// C7: only paths that the caller passes as touched count, and only where they are dirty.
#[test]
fn reading_a_dirty_file_is_not_touching_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "dirt\n");
    sandbox.write("b", "edited\n");
    let touched = [PathBuf::from("b"), PathBuf::from("sub/c")];
    let touched = Touched { paths: &touched, cwd: &sandbox.repo };
    let changes = sandbox.ask(Request::Turn { baseline: None, touched: Some(touched) }).unwrap();
    assert_eq!(lines(&changes.files), ["modified b [unstaged]"]);
    assert_eq!(changes.scope, Scope::Touched);
}

/// C8: `Sandbox::ask` compares every byte and every time; this makes the index one that git would like to refresh.
#[test]
fn the_index_is_never_written() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    // New times, equal content: `git status` would store that in the index.
    sandbox.write("a", &text("a"));
    sandbox.write("b", &text("b"));
    assert!(sandbox.turn(&baseline).files.is_empty());
    assert!(sandbox.ask(Request::Worktree).unwrap().files.is_empty());
    assert!(sandbox.ask(Request::DiffHead).unwrap().files.is_empty());
    // And someone else's lock is no obstacle.
    fs_err::write(sandbox.repo.join(".git/index.lock"), "").unwrap();
    assert!(sandbox.turn(&baseline).files.is_empty());
}

/// The hook's speed is git's: one process while HEAD stands still.
#[test]
fn one_git_process_while_head_stands_still() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "dirt\n");
    sandbox.calls();
    let baseline = sandbox.baseline();
    assert_eq!(sandbox.calls().len(), 1);
    sandbox.write("a", "more\n");
    sandbox.write("new", "x");
    sandbox.remove("b");
    sandbox.set_executable("sub/c");
    assert_eq!(sandbox.turn(&baseline).files.len(), 4);
    assert_eq!(sandbox.calls().len(), 1);
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--message", "work"]);
    assert_eq!(sandbox.turn(&baseline).files.len(), 4);
    let calls = sandbox.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
}
