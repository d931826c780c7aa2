//! Bringing snapshots back: everything, some paths, and the way back again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use change_set::BytePath;
use jiff::Timestamp;
use keeping::snapshot::{RestoreCaller, Snapshot, SnapshotError, WhichWorktrees};
use proptest::prelude::*;

use crate::sandbox::Sandbox;
use crate::snapshot_sandbox::new_snapshot;

/// Every file and link below a folder, except git's own: kind and executable bit, and content or target.
type Tree = BTreeMap<Vec<u8>, (char, Vec<u8>)>;

fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().flatten() {
            let path = entry.path();
            let metadata = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if name == b".git" {
            } else if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_symlink() {
                let target = fs_err::read_link(&path).unwrap();
                found.insert(name, ('l', target.as_os_str().as_bytes().to_vec()));
            } else {
                let kind = if metadata.permissions().mode() & 0o100 != 0 { 'x' } else { 'f' };
                found.insert(name, (kind, fs_err::read(&path).unwrap()));
            }
        }
    }
    found
}

fn restore(sandbox: &Sandbox, snapshot: &Snapshot, paths: &[&str]) -> Vec<String> {
    let paths: Vec<BytePath> = paths.iter().map(|path| BytePath::from(*path)).collect();
    let index = fs_err::read(sandbox.repo.join(".git/index")).unwrap();
    let restored =
        sandbox.snapshots().restore(snapshot, &paths, RestoreCaller::default(), Timestamp::now()).unwrap();
    assert_eq!(fs_err::read(sandbox.repo.join(".git/index")).unwrap(), index, "the index stays as it was");
    restored.skipped.iter().map(|skipped| skipped.path.to_string()).collect()
}

fn undo(sandbox: &Sandbox) {
    let (snapshot, paths) = sandbox.snapshots().undoable().unwrap();
    sandbox.snapshots().restore(&snapshot, &paths, RestoreCaller::default(), Timestamp::now()).unwrap();
}

/// A14: contents, deletions and modes come back, and so does what was there before.
#[test]
fn a_restore_is_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("kept", "untracked\n");
    sandbox.set_executable("a");
    symlink("a", sandbox.repo.join("link")).unwrap();
    let then = tree(&sandbox.repo);
    let snapshot = sandbox.snapshot();
    sandbox.write("a", "changed\n");
    fs_err::set_permissions(sandbox.repo.join("a"), PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.remove("kept");
    sandbox.remove("link");
    sandbox.write("link/now/a/folder", "x");
    sandbox.remove("sub/c");
    sandbox.write("later", "later\n");
    sandbox.git(&["add", "later"]);
    let now = tree(&sandbox.repo);
    assert!(restore(&sandbox, &snapshot, &[]).is_empty());
    assert_eq!(tree(&sandbox.repo), then);
    undo(&sandbox);
    assert_eq!(tree(&sandbox.repo), now);
    // An undo is a restore like any other.
    undo(&sandbox);
    assert_eq!(tree(&sandbox.repo), then);
}

#[test]
fn only_the_named_paths_are_restored_and_undone() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    for path in ["a", "b", "sub/c", "sub/new"] {
        sandbox.write(path, "changed\n");
    }
    restore(&sandbox, &snapshot, &["sub", "a"]);
    assert_eq!(sandbox.git(&["status", "--short"]), " M b\n");
    sandbox.write("b", "changed again\n");
    undo(&sandbox);
    assert_eq!(sandbox.git(&["status", "--short"]), " M a\n M b\n M sub/c\n?? sub/new\n");
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("b")).unwrap(), "changed again\n");
}

#[test]
fn a_path_that_nobody_knows_is_an_error() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    let unknown = [BytePath::from("nowhere")];
    let result = sandbox.snapshots().restore(&snapshot, &unknown, RestoreCaller::default(), Timestamp::now());
    assert!(matches!(result, Err(SnapshotError::NoSuchPath { .. })));
    assert!(matches!(sandbox.snapshots().find(""), Err(SnapshotError::Unknown { .. })));
    let sandbox = Sandbox::new();
    assert!(matches!(sandbox.snapshots().undoable(), Err(SnapshotError::NothingToUndo)));
}

/// A14: neither a mistyped path nor a restore that changes nothing is a restore to undo.
#[test]
fn what_changed_nothing_is_not_undone() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    sandbox.write("a", "changed\n");
    restore(&sandbox, &snapshot, &[]);
    let unknown = [BytePath::from("nowhere")];
    let result = sandbox.snapshots().restore(&snapshot, &unknown, RestoreCaller::default(), Timestamp::now());
    assert!(matches!(result, Err(SnapshotError::NoSuchPath { .. })));
    let again =
        sandbox.snapshots().restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
    assert_eq!((again.written.len(), again.removed.len(), again.before), (0, 0, None));
    assert_eq!(sandbox.snapshots().list(WhichWorktrees::ThisWorktree).unwrap().len(), 2);
    undo(&sandbox);
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("a")).unwrap(), "changed\n");
}

/// A14: a file system without executable bits or links, as git knows it by its config.
#[test]
fn modes_that_the_file_system_does_not_have_are_not_asked_for() {
    let sandbox = Sandbox::new();
    symlink("a", sandbox.repo.join("link")).unwrap();
    sandbox.commit_all("link");
    sandbox.git(&["config", "core.fileMode", "false"]);
    sandbox.git(&["config", "core.symlinks", "false"]);
    sandbox.remove("link");
    sandbox.write("link", "a");
    sandbox.set_executable("b");
    assert_eq!(sandbox.git(&["status", "--short"]), "");
    sandbox.write("b", "in the snapshot\n");
    sandbox.write("link", "sub/c");
    let snapshot = sandbox.snapshot();
    sandbox.git(&["checkout", "--quiet", "--", "."]);
    sandbox.set_executable("b");
    assert_eq!(restore(&sandbox, &snapshot, &[]), [""; 0]);
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("b")).unwrap(), "in the snapshot\n");
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("link")).unwrap(), "sub/c");
    undo(&sandbox);
    assert_eq!(sandbox.git(&["status", "--short"]), "");
    assert!(!sandbox.repo.join("link").is_symlink());
}

/// A14: a folder that became a link leads nowhere.
#[test]
fn no_link_is_followed_out() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    let outside = sandbox.root().join("outside");
    fs_err::create_dir_all(&outside).unwrap();
    fs_err::write(outside.join("c"), "not ours\n").unwrap();
    fs_err::remove_dir_all(sandbox.repo.join("sub")).unwrap();
    symlink(&outside, sandbox.repo.join("sub")).unwrap();
    // Only the file is named, so the link stays and the file cannot be written.
    assert_eq!(restore(&sandbox, &snapshot, &["sub/c"]), ["sub/c"]);
    assert_eq!(fs_err::read_to_string(outside.join("c")).unwrap(), "not ours\n");
    // All of it: the link makes way for the folder.
    assert!(restore(&sandbox, &snapshot, &[]).is_empty());
    assert_eq!(sandbox.git(&["status", "--short"]), "");
    assert_eq!(fs_err::read_to_string(outside.join("c")).unwrap(), "not ours\n");
}

/// A14: what no snapshot has is neither removed nor overwritten.
#[test]
fn ignored_files_are_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("data", "in the snapshot\n");
    let snapshot = sandbox.snapshot();
    sandbox.write(".gitignore", "data\n*.secret\n");
    sandbox.write("data", "changed while ignored\n");
    sandbox.write("key.secret", "secret\n");
    sandbox.write("folder/key.secret", "secret\n");
    sandbox.write("folder/new", "new\n");
    assert_eq!(restore(&sandbox, &snapshot, &[]), ["data"]);
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("data")).unwrap(), "changed while ignored\n");
    assert!(sandbox.repo.join("key.secret").exists() && sandbox.repo.join("folder/key.secret").exists());
    assert!(!sandbox.repo.join("folder/new").exists() && !sandbox.repo.join(".gitignore").exists());
}

fn report(sandbox: &Sandbox, snapshot: &Snapshot) -> Vec<String> {
    let scratch = sandbox.scratch();
    let planned = sandbox.snapshots().planned(snapshot, &[], &scratch).unwrap();
    assert_eq!(scratch.read_dir().unwrap().count(), 0);
    let caller = RestoreCaller::default();
    let restored = sandbox.snapshots().restore(snapshot, &[], caller, Timestamp::now()).unwrap();
    let done = restored.written.iter().chain(&restored.removed);
    // What was announced is what was done.
    let sorted = |mut paths: Vec<String>| {
        paths.sort();
        paths
    };
    let stays = planned.left_out.iter().map(|left| left.path.clone().unwrap_or_default());
    assert_eq!(
        sorted(planned.files.iter().map(|one| one.path.to_string()).collect()),
        sorted(done.clone().map(ToString::to_string).collect())
    );
    assert_eq!(
        sorted(stays.map(|path| path.to_string()).collect()),
        sorted(restored.skipped.iter().map(|one| one.path.to_string()).collect())
    );
    let git_dir = sandbox.repo.join(".git").read_dir().unwrap().flatten();
    let mut left_over =
        git_dir.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"checkstone-"));
    assert!(left_over.next().is_none());
    let skipped = restored.skipped.iter().map(|one| format!("{}: {}", one.path, one.reason));
    restored.removed.iter().map(|path| format!("removed {path}")).chain(skipped).collect()
}

const IGNORED_THEN: &str = "the snapshot's own `.gitignore` files ignore it, so it may have been there";

/// After the first restore nothing ignores them any more; what the undo goes back to does.
#[test]
fn an_undo_keeps_what_its_own_rules_ignore() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    sandbox.write(".gitignore", ".env\ndata/\n/:x\n");
    sandbox.write("sub/.gitignore", "*.local\n!kept.local\n");
    for path in [".env", "data/db", "data/deep/er", ":x", "sub/new/b.local", "sub/kept.local", "sub/:x"] {
        sandbox.write(path, path);
    }
    let now = tree(&sandbox.repo);
    assert_eq!(
        report(&sandbox, &snapshot),
        ["removed .gitignore", "removed sub/.gitignore", "removed sub/:x", "removed sub/kept.local"]
    );
    let (before, _) = sandbox.snapshots().undoable().unwrap();
    let stays = [".env", ":x", "data", "sub/new/b.local"];
    assert_eq!(report(&sandbox, &before), stays.map(|path| format!("{path}: {IGNORED_THEN}")));
    assert_eq!(tree(&sandbox.repo), now);
}

/// Whoever deletes `.gitignore` has not given up what it ignored. What the snapshot itself holds comes back.
#[test]
fn what_was_ignored_then_is_not_removed() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\nnode_modules/\n");
    sandbox.write("node_modules/held", "in git\n");
    sandbox.git(&["add", "--force", "node_modules/held"]);
    sandbox.commit_all("rules");
    sandbox.write(".env", "secret\n");
    sandbox.write("node_modules/m.js", "module\n");
    let snapshot = sandbox.snapshot();
    let then = tree(&sandbox.repo);
    sandbox.remove(".gitignore");
    sandbox.write("node_modules/held", "damaged\n");
    sandbox.write("later", "later\n");
    assert_eq!(
        report(&sandbox, &snapshot),
        [
            "removed later".to_owned(),
            format!(".env: {IGNORED_THEN}"),
            format!("node_modules: {IGNORED_THEN}")
        ]
    );
    assert_eq!(tree(&sandbox.repo), then);
    // As before, and with nothing of ours in between.
    assert_eq!(report(&sandbox, &snapshot), [""; 0]);
}

/// The same in a submodule and in a linked working tree, each with its own rules.
#[test]
fn what_was_ignored_then_is_not_removed_elsewhere_either() {
    let sandbox = Sandbox::with_submodule();
    let linked = sandbox.root().join("linked");
    sandbox.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "-b", "side"]);
    for folder in [sandbox.repo.join("module"), linked.clone()] {
        fs_err::write(folder.join(".gitignore"), ".env\n").unwrap();
        fs_err::write(folder.join(".env"), "secret\n").unwrap();
        fs_err::write(folder.join("a"), "changed\n").unwrap();
    }
    for root in [&sandbox.repo, &linked] {
        let snapshots = sandbox.snapshots_in(root);
        let snapshot = snapshots.create(&new_snapshot("")).unwrap();
        let folder = if *root == linked { root.clone() } else { root.join("module") };
        fs_err::remove_file(folder.join(".gitignore")).unwrap();
        let restored = snapshots.restore(&snapshot, &[], RestoreCaller::default(), Timestamp::now()).unwrap();
        let skipped = restored.skipped.iter().map(|one| one.path.to_string()).collect::<Vec<_>>();
        assert_eq!(skipped, [folder.join(".env").strip_prefix(root).unwrap().to_str().unwrap()]);
        assert!(folder.join(".env").exists() && folder.join(".gitignore").exists());
    }
}

/// Rules that are not the snapshot's own say nothing about what was there: what was added in spite of them is new.
#[test]
fn only_the_rules_in_the_snapshot_count() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.LOG\n");
    sandbox.commit_all("rules");
    let own_rules = sandbox.root().join("ignored everywhere");
    fs_err::write(&own_rules, "mine\n").unwrap();
    sandbox.git(&["config", "core.excludesFile", own_rules.to_str().unwrap()]);
    fs_err::create_dir_all(sandbox.repo.join(".git/info")).unwrap();
    fs_err::write(sandbox.repo.join(".git/info/exclude"), "here\n").unwrap();
    let snapshot = sandbox.snapshot();
    for path in ["mine", "here", "a.log"] {
        sandbox.write(path, "added by force\n");
        sandbox.git(&["add", "--force", path]);
    }
    // On a file system that does not tell letters of two sizes apart, neither do the rules.
    sandbox.git(&["config", "core.ignoreCase", "true"]);
    assert_eq!(
        report(&sandbox, &snapshot),
        ["removed here".to_owned(), "removed mine".to_owned(), format!("a.log: {IGNORED_THEN}")]
    );
    sandbox.git(&["config", "core.ignoreCase", "false"]);
    assert_eq!(report(&sandbox, &snapshot), ["removed a.log"]);
}

/// A partial clone does not have every file, and nothing is fetched for a restore. Only the rules above what would be
/// removed are read, and where these are not here, nothing is removed.
#[test]
fn a_restore_needs_no_rules_that_a_partial_clone_does_not_have() {
    let mut sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n");
    for folder in ["in", "out"] {
        sandbox.write(&format!("{folder}/.gitignore"), &format!("{folder}.local\n"));
    }
    sandbox.commit_all("rules");
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = sandbox.root().join("clone");
    let url = format!("file://{}", sandbox.repo.display());
    sandbox.git(&["clone", "--quiet", "--filter=blob:none", "--sparse", &url, clone.to_str().unwrap()]);
    sandbox.repo = clone;
    sandbox.git(&["sparse-checkout", "set", "in"]);
    let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    for path in ["new", "a.log", "in/new", "in/in.local"] {
        sandbox.write(path, "later\n");
    }
    sandbox.git(&["add", "--force", "a.log", "in/in.local"]);
    assert_eq!(
        report(&sandbox, &snapshot),
        [
            "removed in/new".to_owned(),
            "removed new".to_owned(),
            format!("a.log: {IGNORED_THEN}"),
            format!("in/in.local: {IGNORED_THEN}"),
        ]
    );
    undo(&sandbox);
    assert_eq!(fs_err::read_to_string(sandbox.repo.join("in/new")).unwrap(), "later\n");
    sandbox.write("out/deep/new", "later\n");
    let unknown =
        "out/deep/new: the snapshot's `out/.gitignore` is not here to be read, so it may have been there";
    assert_eq!(
        report(&sandbox, &snapshot),
        [
            "removed in/new".to_owned(),
            "removed new".to_owned(),
            format!("a.log: {IGNORED_THEN}"),
            format!("in/in.local: {IGNORED_THEN}"),
            unknown.to_owned(),
        ]
    );
    assert!(sandbox.repo.join("out/deep/new").exists());
}

const CLEAN_THEN: &str =
    "module: nothing was changed in this submodule when the snapshot was taken: current changes stay";
const OWN_COMMIT: &str = "module: it is a repository of its own, which stays at its commit";

/// A preview promises no change in a submodule that a restore leaves alone: `report` compares the two.
#[test]
fn a_preview_knows_that_a_submodule_stays() {
    let sandbox = Sandbox::with_submodule();
    let module = sandbox.repo.join("module");
    let snapshot = sandbox.snapshot();
    sandbox.write("module/a", "changed since\n");
    assert_eq!(report(&sandbox, &snapshot), [CLEAN_THEN]);
    sandbox.git_in(&module, &["commit", "--quiet", "--all", "--message=since"]);
    assert_eq!(report(&sandbox, &snapshot), [OWN_COMMIT]);
    sandbox.remove("module/b");
    ::sandbox::make_pipe(module.join("b"));
    let not_saved =
        "module/b: its current state cannot be saved: it is neither a file nor a link nor a folder";
    assert_eq!(report(&sandbox, &snapshot), [OWN_COMMIT, CLEAN_THEN, not_saved]);
    let scratch = sandbox.scratch();
    let planned = sandbox.snapshots().planned(&snapshot, &[BytePath::from("a")], &scratch).unwrap();
    assert_eq!((planned.files, planned.left_out), (vec![], vec![]));
}

/// So does one that has come since.
#[test]
fn a_preview_knows_that_a_new_submodule_stays() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    sandbox.git(&["clone", "--quiet", ".", "module"]);
    sandbox.git(&["add", "module"]);
    assert_eq!(report(&sandbox, &snapshot), [OWN_COMMIT]);
    sandbox.write("module/a", "changed\n");
    assert_eq!(report(&sandbox, &snapshot), [OWN_COMMIT, CLEAN_THEN]);
}

/// HEAD stands in for what cannot be saved, so the trees are the same, and the files are not.
#[test]
fn what_cannot_be_saved_is_named_although_the_trees_are_the_same() {
    let sandbox = Sandbox::new();
    sandbox.write("new", "saved\n");
    let snapshot = sandbox.snapshot();
    sandbox.remove("a");
    ::sandbox::make_pipe(sandbox.repo.join("a"));
    // Git says nothing of a pipe that it does not know.
    sandbox.remove("new");
    ::sandbox::make_pipe(sandbox.repo.join("new"));
    let caller = RestoreCaller::default();
    let restored = sandbox.snapshots().restore(&snapshot, &[], caller.clone(), Timestamp::now()).unwrap();
    let reasons: Vec<String> =
        restored.skipped.iter().map(|one| format!("{}: {}", one.path, one.reason)).collect();
    assert_eq!(
        reasons,
        [
            "new: a pipe, a socket or a device is in its place",
            "a: its current state cannot be saved: it is neither a file nor a link nor a folder"
        ]
    );
    assert_eq!((restored.before, restored.written.len(), restored.removed.len()), (None, 0, 0));
    let only_b = [BytePath::from("b")];
    let restored = sandbox.snapshots().restore(&snapshot, &only_b, caller, Timestamp::now()).unwrap();
    assert_eq!(restored.skipped, []);

    // The other way round: the snapshot does not have what was there.
    let ruined = sandbox.snapshot();
    sandbox.remove("a");
    sandbox.git(&["checkout", "--quiet", "--", "a"]);
    assert_eq!(
        report(&sandbox, &ruined),
        ["a: the snapshot could not save it: it is neither a file nor a link nor a folder"]
    );
}

/// What only its owner may read comes back so, and a file that is there keeps what it allows.
#[test]
fn permissions_come_back_where_they_are_known() {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.repo.join(name);
    let mode = |name: &str| fs_err::metadata(path(name)).unwrap().permissions().mode() & 0o777;
    let allow =
        |name: &str, mode: u32| fs_err::set_permissions(path(name), PermissionsExt::from_mode(mode)).unwrap();
    for (name, mode) in [("secret", 0o600), ("script", 0o700), ("shared", 0o644), ("stays", 0o600)] {
        sandbox.write(name, "work\n");
        allow(name, mode);
    }
    let snapshot = sandbox.snapshot();
    for name in ["secret", "script", "shared"] {
        sandbox.remove(name);
    }
    sandbox.write("stays", "damaged\n");
    allow("stays", 0o640);
    assert_eq!(restore(&sandbox, &snapshot, &[]), [""; 0]);
    assert_eq!([mode("secret"), mode("script"), mode("shared"), mode("stays")], [0o600, 0o700, 0o644, 0o640]);
}

#[test]
fn submodules_and_what_is_not_checked_out_stay() {
    let sandbox = Sandbox::with_submodule();
    let snapshot = sandbox.snapshot();
    let module = sandbox.repo.join("module");
    sandbox.git_in(&module, &["commit", "--quiet", "--allow-empty", "--message=inside"]);
    assert_eq!(restore(&sandbox, &snapshot, &[]), ["module"]);

    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    sandbox.write("sub/c", "committed later\n");
    sandbox.commit_all("later");
    sandbox.git(&["sparse-checkout", "set", "--cone", "nothing"]);
    assert_eq!(restore(&sandbox, &snapshot, &[]), ["sub/c"]);
    assert!(!sandbox.repo.join("sub").exists());
}

/// After other commits and on another branch: the files come back, HEAD and the index do not move.
#[test]
fn head_and_branches_stay_where_they_are() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "work\n");
    let snapshot = sandbox.snapshot();
    sandbox.commit_all("work");
    sandbox.git(&["switch", "--quiet", "--create", "other"]);
    sandbox.write("a", "more\n");
    sandbox.write("d", "d\n");
    sandbox.commit_all("more");
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    restore(&sandbox, &snapshot, &[]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.git(&["status", "--short"]), " M a\n D d\n");
}

fn a_path() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        4 => prop::sample::select(vec![b"a".to_vec(), b"b".to_vec(), b"c d".to_vec(), b"e\nf".to_vec(), b"\xff".to_vec()]),
        1 => "[a-zA-Z0-9 \"'\\\\*?\\[~-]{1,6}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(name, 1..4).prop_map(|names| names.join(&b'/'))
}

fn a_tree() -> impl Strategy<Value = Tree> {
    let content = prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"one\r\ntwo\r\n".to_vec()),
    ];
    let file = (prop::sample::select(vec!['f', 'f', 'x', 'l']), content);
    prop::collection::btree_map(a_path(), file, 0..8)
}

/// Makes the working tree this one, as far as its paths do not exclude each other.
fn make(sandbox: &Sandbox, wanted: &Tree) {
    for entry in sandbox.repo.read_dir().unwrap().flatten() {
        if entry.file_name() == ".git" {
        } else if entry.file_type().unwrap().is_dir() {
            fs_err::remove_dir_all(entry.path()).unwrap();
        } else {
            fs_err::remove_file(entry.path()).unwrap();
        }
    }
    for (path, (kind, content)) in wanted {
        let full = sandbox.repo.join(OsStr::from_bytes(path));
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        if names.iter().any(|name| name.starts_with(b"~") || [&b"."[..], b".."].contains(name)) {
            continue;
        }
        if fs_err::create_dir_all(full.parent().unwrap()).is_err() {
            continue;
        }
        // Through a link that was made before, this would lead out.
        if fs_err::canonicalize(full.parent().unwrap()).unwrap() != full.parent().unwrap() {
            continue;
        }
        if *kind == 'l' {
            let target: Vec<u8> =
                [b"t", &content[..]].concat().into_iter().filter(|byte| *byte != 0).collect();
            let _ = symlink(OsStr::from_bytes(&target), &full);
        } else if fs_err::write(&full, content).is_ok() && *kind == 'x' {
            fs_err::set_permissions(&full, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
}

const CASES: u32 = match option_env!("CHANGES_SEEDS") {
    Some(_) => 500,
    None => 24,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    /// A commit, a staged state, a working tree, and another one: back to the third and to the fourth, byte for byte
    /// and with modes.
    #[test]
    fn any_tree_comes_back(
        committed in a_tree(),
        staged in a_tree(),
        worked in a_tree(),
        later in a_tree(),
        attributes in any::<bool>(),
    ) {
        let sandbox = Sandbox::empty(&[]);
        if attributes {
            fs_err::create_dir_all(sandbox.repo.join(".git/info")).unwrap();
            fs_err::write(sandbox.repo.join(".git/info/attributes"), "* text=auto\n").unwrap();
        }
        make(&sandbox, &committed);
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "--allow-empty", "--message=first"]);
        make(&sandbox, &staged);
        sandbox.git(&["add", "--all"]);
        make(&sandbox, &worked);
        let then = tree(&sandbox.repo);
        let snapshot = sandbox.snapshot();
        make(&sandbox, &later);
        let now = tree(&sandbox.repo);
        let skipped = restore(&sandbox, &snapshot, &[]);
        prop_assert_eq!(skipped, Vec::<String>::new());
        prop_assert_eq!(&tree(&sandbox.repo), &then);
        if now != then {
            undo(&sandbox);
        }
        prop_assert_eq!(tree(&sandbox.repo), now);
    }
}
