//! Baselines as the journal stores them.

use ::sandbox::redacted;
use change_set::BytePath;
use changes::state::FileState;
use changes::{BASELINE_VERSION, Baseline};

use crate::sandbox::{Sandbox, lines};

/// The layout of version 1: this text must stay readable.
const VERSION_1: &str = include_str!("baseline-v1.json");

#[test]
fn a_baseline_of_version_1_is_readable() {
    let baseline: Baseline = serde_json::from_str(VERSION_1).unwrap();
    assert_eq!(baseline.version, BASELINE_VERSION);
    assert_eq!(baseline.files.len(), 7);
    assert_eq!(baseline.files[2].state, FileState::Absent);
    assert_eq!(baseline.files[6].path, BytePath::from(b"\xff\xfe".as_slice()));
    let value: serde_json::Value = serde_json::from_str(VERSION_1).unwrap();
    assert_eq!(serde_json::to_value(&baseline).unwrap(), value);
}

#[test]
fn a_baseline_of_another_version_or_repository_is_not_used() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "dirt\n");
    let baseline = sandbox.baseline();
    let newer = Baseline { version: BASELINE_VERSION + 1, ..baseline.clone() };
    let elsewhere = Baseline { git_dir: BytePath::from("/elsewhere/.git"), ..baseline };
    for unusable in [newer, elsewhere] {
        let changes = sandbox.turn(&unusable);
        assert_eq!(changes.scope, change_set::Scope::Worktree);
        assert!(changes.baseline_unusable.is_some());
        assert_eq!(lines(&changes.files), ["modified a [unstaged]"]);
    }
}

/// The commit of the prompt can be gone for good.
#[test]
fn a_lost_commit_leads_to_the_fall_back() {
    let sandbox = Sandbox::new();
    let baseline = sandbox.baseline();
    let lost = Baseline { head: Some("1".repeat(40)), ..baseline };
    sandbox.write("a", "changed\n");
    let changes = sandbox.turn(&lost);
    assert_eq!(changes.scope, change_set::Scope::Worktree);
    insta::assert_snapshot!(redacted(changes.baseline_unusable.unwrap()), @"fatal: bad object [hash]");
    assert_eq!(lines(&changes.files), ["modified a [unstaged]"]);
}
