//! `snapshot diff` reads and writes nothing: `Sandbox::changed_since` compares every byte and every time in the
//! repository before and after (invariant 5).

use ::sandbox::redacted;
use change_set::BytePath;
use keeping::snapshot::{Comparison, Side, Snapshot};

use crate::sandbox::{Sandbox, text};
use crate::snapshot_sandbox::new_snapshot;

#[test]
fn a_diff_tells_what_changed_since() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.snapshot();
    sandbox.write("a", "changed\n");
    sandbox.set_executable("b");
    sandbox.remove("sub/c");
    sandbox.write("new", "new\n");
    assert_eq!(
        sandbox.changed_since(&sandbox.repo, &snapshot),
        ["modified a", "mode b", "added new", "deleted sub/c"]
    );
    let later = sandbox.snapshot();
    let sides = (Side::Snapshot(&later), Side::Snapshot(&snapshot));
    let patch = sandbox.snapshots().patch(sides.0, sides.1, &[BytePath::from("new")]).unwrap();
    insta::assert_snapshot!(redacted(String::from_utf8(patch.text).unwrap()), @"
    diff --git a/new b/new
    deleted file mode 100644
    index [hash]..[hash]
    --- a/new
    +++ /dev/null
    @@ -1 +0,0 @@
    -new
    ");
}

/// What a side could not save is in its tree as HEAD has it, or not at all. Nobody may take that for unchanged.
#[test]
fn what_a_side_could_not_save_is_unknown() {
    let sandbox = Sandbox::new();
    let small = || sandbox.snapshots().with_largest_file(1_000_000);
    let scratch = sandbox.scratch();
    let now = Side::WorkingTree { scratch: &scratch };
    let clean = small().create(&new_snapshot("")).unwrap();
    sandbox.write("a", &"x".repeat(2_000_000));
    sandbox.remove("sub/c");
    ::sandbox::make_pipe(sandbox.repo.join("sub/c"));
    let lines = |compared: &Comparison| {
        let files = compared.files.iter().map(|one| format!("{} {}", one.change(), one.path));
        let left = compared.left_out.iter();
        let left = left.map(|left| format!("{}: {}", left.path.clone().unwrap(), left.reason));
        files.chain(left).collect::<Vec<_>>()
    };
    let too_large = "a: it is larger than 1 MB (`largest_file_mb` in `[snapshot]`)";
    let pipe = "sub/c: it is neither a file nor a link nor a folder";
    let found = small().compare(Side::Snapshot(&clean), now, &[]).unwrap();
    assert_eq!(lines(&found), ["unknown a", "unknown sub/c", too_large, pipe]);
    let found = small().compare(Side::Snapshot(&clean), now, &[BytePath::from("sub")]).unwrap();
    assert_eq!(lines(&found), ["unknown sub/c", pipe]);
    let patch = small().patch(Side::Snapshot(&clean), now, &[]).unwrap();
    assert_eq!((patch.text.len(), patch.left_out.len()), (0, 2));

    let ruined = small().create(&new_snapshot("")).unwrap();
    let found = small().compare(Side::Snapshot(&ruined), now, &[]).unwrap();
    assert_eq!(lines(&found), ["unknown a", "unknown sub/c", too_large, pipe]);
    // Neither side says that anybody has touched them meanwhile.
    assert_eq!(small().diff(Side::Snapshot(&ruined), now, &[]).unwrap(), []);
    sandbox.git(&["checkout", "--quiet", "--", "a"]);
    let found = small().diff(Side::Snapshot(&ruined), now, &[]).unwrap();
    assert_eq!(found.iter().map(|one| one.path.to_string()).collect::<Vec<_>>(), ["a"]);
}

/// One side holds the file, and the other could not save it. So it is there, and nobody knows whether it differs.
#[test]
fn what_only_one_side_could_save_is_neither_new_nor_gone() {
    let sandbox = Sandbox::new();
    let small = || sandbox.snapshots().with_largest_file(1_000_000);
    let scratch = sandbox.scratch();
    let now = Side::WorkingTree { scratch: &scratch };
    let compared = |snapshot: &Snapshot| {
        let found = small().compare(Side::Snapshot(snapshot), now, &[]).unwrap();
        let patch = small().patch(Side::Snapshot(snapshot), now, &[]).unwrap();
        assert_eq!(patch.left_out, found.left_out);
        let patch = String::from_utf8(patch.text).unwrap();
        let patched = patch.lines().filter_map(|line| line.strip_prefix("diff --git a/"));
        let patched = patched.map(|both| both.split(" b/").next().unwrap().to_owned()).collect::<Vec<_>>();
        let files = found.files.iter().map(|one| format!("{} {}", one.change(), one.path));
        (files.collect::<Vec<_>>(), patched)
    };
    let large = "x".repeat(2_000_000);
    // One that git would take for a pattern, which the third one fits.
    let (untracked, other) = ("big*.log", "big-2.log");
    for path in [untracked, other] {
        sandbox.write(path, "small\n");
    }
    let held = small().create(&new_snapshot("")).unwrap();
    sandbox.write(untracked, &large);
    sandbox.write("a", &large);
    for path in ["b", other] {
        sandbox.write(path, "changed\n");
    }
    let (files, patched) = compared(&held);
    assert_eq!(files, ["modified b", "modified big-2.log", "unknown a", "unknown big*.log"]);
    assert_eq!(patched, ["b", other]);
    // The other way round.
    let not_held = small().create(&new_snapshot("")).unwrap();
    for path in [untracked, "a"] {
        sandbox.write(path, "small again\n");
    }
    let (files, patched) = compared(&not_held);
    assert_eq!((files, patched), (vec!["unknown a".to_owned(), format!("unknown {untracked}")], vec![]));
}

/// Of a repository inside, its commit is all that a snapshot has, and that is known.
#[test]
fn a_repository_inside_is_compared_by_its_commit() {
    let sandbox = Sandbox::new();
    sandbox.git(&["clone", "--quiet", ".", "inner"]);
    let snapshot = sandbox.snapshots().create(&new_snapshot("")).unwrap();
    assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), [""; 0]);
    let inner = sandbox.repo.join("inner");
    sandbox.git_in(&inner, &["commit", "--quiet", "--allow-empty", "--message=inside"]);
    assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), ["modified inner"]);
    fs_err::remove_dir_all(&inner).unwrap();
    assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), ["deleted inner"]);
}

/// C5: before the first commit, in both object formats.
#[test]
fn a_repository_without_a_commit_is_compared() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::empty(&[&format!("--object-format={format}")]);
        let snapshot = sandbox.snapshot();
        sandbox.write("staged", "1");
        sandbox.git(&["add", "staged"]);
        sandbox.write("untracked", "2");
        assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), ["added staged", "added untracked"]);
        sandbox.commit_all("first");
        sandbox.write("staged", "3");
        assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), ["added staged", "added untracked"]);
        let snapshot = sandbox.snapshot();
        assert_eq!(sandbox.changed_since(&sandbox.repo, &snapshot), [""; 0]);
    }
}

/// C5: a linked worktree has its own files and shares the objects.
#[test]
fn a_linked_worktree_is_compared() {
    let sandbox = Sandbox::new();
    let linked = sandbox.repo.join("linked: \"tree\"");
    sandbox.write(".gitignore", "linked*\n");
    sandbox.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "-b", "side"]);
    let snapshot = sandbox.snapshot();
    fs_err::write(linked.join("a"), "in linked\n").unwrap();
    assert_eq!(sandbox.changed_since(&linked, &snapshot), ["deleted .gitignore", "modified a"]);
}

/// A clone that borrows its objects, by a path of its own or a relative one.
#[test]
fn a_repository_that_borrows_its_objects_is_compared() {
    for relative in [false, true] {
        let sandbox = Sandbox::new();
        let borrower = sandbox.repo.join("borrower");
        sandbox.git(&["clone", "--quiet", "--shared", ".", "borrower"]);
        let alternates = borrower.join(".git/objects/info/alternates");
        if relative {
            fs_err::write(&alternates, "../../../.git/objects\n").unwrap();
        }
        assert_eq!(sandbox.git_in(&borrower, &["status", "--short"]), "");
        fs_err::write(borrower.join("a"), "borrowed\n").unwrap();
        let snapshots = sandbox.snapshots_in(&borrower);
        let snapshot = snapshots.create(&new_snapshot("")).unwrap();
        fs_err::write(borrower.join("b"), "later\n").unwrap();
        assert_eq!(sandbox.changed_since(&borrower, &snapshot), ["modified b"], "relative: {relative}");
    }
}

/// Attributes of the repository say how its files are shown, and a person may forbid bare repositories.
#[test]
fn a_patch_is_shown_as_the_repository_wants_it() {
    let mut sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.bin -diff\n");
    sandbox.write("x.bin", &text("one"));
    sandbox.commit_all("binary");
    let snapshot = sandbox.snapshot();
    sandbox.write("x.bin", &text("two"));
    sandbox.write("a", "changed\n");
    sandbox.use_git("git-that-wants-bare-repositories-named.sh");
    let scratch = sandbox.scratch();
    let now = Side::WorkingTree { scratch: &scratch };
    let patch = sandbox.snapshots().patch(Side::Snapshot(&snapshot), now, &[]).unwrap();
    let patch = String::from_utf8(patch.text).unwrap();
    insta::assert_snapshot!(redacted(&patch), @"
    diff --git a/a b/a
    index [hash]..[hash] 100644
    --- a/a
    +++ b/a
    @@ -1,20 +1 @@
    -a line 0
    -a line 1
    -a line 2
    -a line 3
    -a line 4
    -a line 5
    -a line 6
    -a line 7
    -a line 8
    -a line 9
    -a line 10
    -a line 11
    -a line 12
    -a line 13
    -a line 14
    -a line 15
    -a line 16
    -a line 17
    -a line 18
    -a line 19
    +changed
    diff --git a/x.bin b/x.bin
    index [hash]..[hash] 100644
    Binary files a/x.bin and b/x.bin differ
    ");
}
