//! C2: work that was committed in the turn, by every way in which HEAD can move; and what arrived with HEAD that
//! the turn did not make.

use change_set::{ChangeSet, Scope};

use crate::sandbox::{Sandbox, lines, text};

fn commit(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--message", message]);
}

/// A branch `other` that has, since long before the turn, another `b` and a file `theirs`.
fn with_other_branch() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "--quiet", "-b", "other"]);
    sandbox.write("b", "theirs\n");
    sandbox.write("theirs", "theirs\n");
    sandbox.commit_all("theirs");
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox
}

fn assert_arrived(changes: &ChangeSet) {
    assert_eq!(lines(&changes.arrived), ["modified b [arrived]", "added theirs [arrived]"]);
}

/// C2
#[test]
fn committed_work_is_ours() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.write("a", "changed\n");
    sandbox.write("new", "x");
    commit(&sandbox, "work");
    sandbox.write("new", "edited again");
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified a [committed]", "added new [committed unstaged]"]);
    assert_eq!(changes.head.as_deref(), Some(sandbox.git(&["rev-parse", "HEAD"]).trim()));
    assert_ne!(changes.head, baseline.head);
    assert!(changes.arrived.is_empty());
}

/// C2
#[test]
fn amended_work_is_ours() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "earlier turn\n");
    commit(&sandbox, "earlier turn");
    let baseline = sandbox.baseline();
    sandbox.write("a", "changed\n");
    sandbox.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [committed]"]);
}

/// C2: what others did below is not ours; the commit of this turn is, also after the rebase.
#[test]
fn rebased_work_is_ours_and_what_it_was_rebased_onto_is_not() {
    let sandbox = with_other_branch();
    sandbox.write("sub/c", "earlier turn\n");
    sandbox.commit_all("earlier turn");
    let baseline = sandbox.baseline();
    sandbox.write("a", "changed\n");
    commit(&sandbox, "work");
    sandbox.git(&["rebase", "--quiet", "other"]);
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified a [committed]"]);
    assert_arrived(&changes);
}

/// C2
#[test]
fn work_on_a_new_branch_is_ours() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.git(&["checkout", "--quiet", "-b", "feature"]);
    sandbox.write("a", "changed\n");
    commit(&sandbox, "work");
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified a [committed]"]);
    assert_eq!(changes.branch.as_deref(), Some("feature"));
    assert!(changes.arrived.is_empty());
}

/// C2
#[test]
fn work_on_a_switched_branch_is_ours_and_the_branch_is_not() {
    let sandbox = with_other_branch();
    let baseline = sandbox.baseline();
    sandbox.git(&["switch", "--quiet", "other"]);
    sandbox.write("a", "changed\n");
    commit(&sandbox, "work");
    sandbox.write("sub/c", "not yet committed\n");
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified a [committed]", "modified sub/c [unstaged]"]);
    assert_arrived(&changes);
}

/// C2: committed on a branch, pushed, and back on the first one.
#[test]
fn work_on_a_branch_that_was_left_again_is_ours() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.git(&["checkout", "--quiet", "-b", "feature"]);
    sandbox.write("a", "changed\n");
    sandbox.write("new", "x");
    sandbox.remove("b");
    commit(&sandbox, "work");
    sandbox.git(&["checkout", "--quiet", "main"]);
    let changes = sandbox.turn(&baseline);
    let expected = [
        "modified a [committed-elsewhere]",
        "deleted b [committed-elsewhere]",
        "added new [committed-elsewhere]",
    ];
    assert_eq!(lines(&changes.files), expected);
    assert_eq!(changes.head, baseline.head);
    // Thrown away: then there is no work.
    sandbox.git(&["branch", "--quiet", "-D", "feature"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
}

#[test]
fn switching_there_and_back_changes_nothing() {
    let sandbox = with_other_branch();
    let baseline = sandbox.baseline();
    sandbox.git(&["checkout", "--quiet", "other"]);
    sandbox.git(&["checkout", "--quiet", "main"]);
    sandbox.calls();
    let changes = sandbox.turn(&baseline);
    assert!(changes.files.is_empty() && changes.arrived.is_empty());
    assert_eq!(sandbox.calls().len(), 1);
}

#[test]
fn a_pull_brings_no_work_of_ours() {
    let sandbox = with_other_branch();
    let baseline = sandbox.baseline();
    sandbox.git(&["pull", "--quiet", ".", "other"]);
    let changes = sandbox.turn(&baseline);
    assert!(changes.files.is_empty(), "{:?}", changes.files);
    assert_arrived(&changes);
}

/// Of a merge only what was decided in it is ours.
#[test]
fn of_a_merge_the_resolved_conflict_is_ours() {
    let sandbox = with_other_branch();
    sandbox.write("b", "mine\n");
    sandbox.commit_all("mine");
    let baseline = sandbox.baseline();
    sandbox.git_fails(&["merge", "--quiet", "other"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified b [unmerged]", "added theirs [staged]"]);
    sandbox.write("b", "mine and theirs\n");
    commit(&sandbox, "merged");
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified b [committed]"]);
    assert_eq!(lines(&changes.arrived), ["added theirs [arrived]"]);
}

/// A sub-agent's worktree: commits that HEAD's own log does not name are known by their time.
#[test]
fn work_from_another_worktree_is_ours_when_it_is_merged() {
    let sandbox = Sandbox::new();
    let mut baseline = sandbox.baseline();
    // Commit times are whole seconds.
    baseline.taken_ns -= 2_000_000_000;
    let worktree = sandbox.root().join("worktree");
    sandbox.git(&["worktree", "add", "--quiet", "-b", "sub-agent", worktree.to_str().unwrap()]);
    fs_err::write(worktree.join("a"), "changed there\n").unwrap();
    sandbox.git_in(&worktree, &["commit", "--quiet", "--all", "--message", "work"]);
    sandbox.git(&["merge", "--quiet", "sub-agent"]);
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified a [committed]"]);
}

/// Commit times are what the committer says; the log of HEAD knows better.
#[test]
fn a_commit_with_an_old_date_is_ours() {
    let sandbox = with_other_branch();
    let baseline = sandbox.baseline();
    sandbox.git(&["checkout", "--quiet", "other"]);
    sandbox.write("a", "changed\n");
    sandbox.commit_all("dated long ago");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [committed]"]);
}

#[test]
fn a_soft_or_mixed_reset_leaves_files_as_they_were() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "second\n");
    sandbox.write("new", "x");
    sandbox.commit_all("second");
    sandbox.write("b", "dirt\n");
    let baseline = sandbox.baseline();
    sandbox.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.git(&["reset", "--quiet"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.write("new", "changed");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified new [untracked]"]);
}

/// What lies in index and working tree after a reset is compared with the commit the turn began with.
#[test]
fn changes_after_a_reset_are_ours() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "sub/c"] {
        sandbox.write(name, "second\n");
    }
    sandbox.commit_all("second");
    sandbox.write("b", "dirt\n");
    let baseline = sandbox.baseline();
    sandbox.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
    sandbox.write("a", "third\n");
    sandbox.git(&["add", "a"]);
    sandbox.set_executable("sub/c");
    let expected = ["modified a [staged]", "mode sub/c [staged unstaged]"];
    assert_eq!(lines(&sandbox.turn(&baseline).files), expected);
}

/// C2: committed and taken back in the turn, the work is still there.
#[test]
fn work_that_was_committed_and_reset_is_ours() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.write("a", "changed\n");
    commit(&sandbox, "too early");
    sandbox.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [staged]"]);
    sandbox.git(&["reset", "--quiet", "--hard"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
}

#[test]
fn a_hard_reset_to_older_work_arrives() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "second\n");
    sandbox.commit_all("second");
    let baseline = sandbox.baseline();
    sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let changes = sandbox.turn(&baseline);
    assert!(changes.files.is_empty());
    assert_eq!(lines(&changes.arrived), ["modified a [arrived]"]);
}

#[test]
fn a_revert_and_a_cherry_pick_are_ours() {
    let sandbox = with_other_branch();
    let baseline = sandbox.baseline();
    sandbox.git(&["cherry-pick", "other"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified b [committed]", "added theirs [committed]"]);
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    assert!(sandbox.turn(&baseline).files.is_empty());
}

/// Without a log of HEAD nobody knows who made the commits: all of them count.
#[test]
fn without_a_log_of_head_every_commit_counts() {
    let sandbox = with_other_branch();
    sandbox.git(&["config", "core.logAllRefUpdates", "false"]);
    fs_err::remove_dir_all(sandbox.repo.join(".git/logs")).unwrap();
    let baseline = sandbox.baseline();
    sandbox.git(&["checkout", "--quiet", "other"]);
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["modified b [committed]", "added theirs [committed]"]);
    assert!(changes.arrived.is_empty());
}

#[test]
fn a_file_taken_out_of_git_is_deleted_though_it_lies_there() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.git(&["rm", "--quiet", "--cached", "a"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["deleted a [staged untracked]"]);
    sandbox.git(&["commit", "--quiet", "--message", "out"]);
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["deleted a [committed untracked]"]);
}

/// C2: the first commit of a repository.
#[test]
fn the_first_commit_is_ours() {
    let sandbox = Sandbox::empty(&[]);
    sandbox.write("older", "x");
    let baseline = sandbox.baseline();
    assert_eq!(baseline.head, None);
    sandbox.write("a", &text("a"));
    commit(&sandbox, "first");
    let changes = sandbox.turn(&baseline);
    assert_eq!(lines(&changes.files), ["added a [committed]"]);
    assert_eq!(changes.scope, Scope::TurnBaseline);
}

#[test]
fn an_orphan_branch_changes_no_file() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    sandbox.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    let changes = sandbox.turn(&baseline);
    assert_eq!(changes.head, None);
    assert!(changes.files.is_empty(), "{:?}", lines(&changes.files));
    sandbox.write("a", "changed\n");
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified a [staged unstaged]"]);
}
