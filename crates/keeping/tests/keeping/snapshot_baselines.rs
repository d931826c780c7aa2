//! A snapshot of a turn's start as its baseline: the same answers as the quick one gives, and none that the race
//! between the snapshot and the agent's first edits could spoil.

use change_set::{BytePath, Scope};
use changes::Baseline;
use changes::state::nanoseconds_of;
use jiff::Timestamp;
use keeping::snapshot::{NewSnapshot, Snapshot, SnapshotReason};

use crate::sandbox::{Sandbox, lines};
use crate::snapshot_sandbox::new_snapshot;

/// As the child of the prompt takes it, for a turn that began at `began_ns`.
fn at_turn_start(sandbox: &Sandbox, began_ns: i64) -> (Snapshot, Baseline) {
    let new = NewSnapshot { reason: SnapshotReason::TurnStart { began_ns }, ..new_snapshot("") };
    let snapshots = sandbox.snapshots();
    let snapshot = snapshots.create(&new).unwrap();
    let snapshot = snapshots.find(&snapshot.id).unwrap();
    let baseline = snapshots.baseline(&snapshot, None).unwrap().unwrap();
    (snapshot, baseline)
}

/// Later than every file time so far, by more than the clocks of files and machine differ.
fn settled() -> i64 {
    ::sandbox::waiting::let_files_age();
    nanoseconds_of(Timestamp::try_from(::sandbox::now()).unwrap())
}

/// Dirt of before is not the turn's, whatever it is, and what the turn did is (C1, C2, C3, C4).
#[test]
fn it_tells_the_turns_changes_from_older_dirt() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::empty(&[&format!("--object-format={format}")]);
        for name in ["a", "b", "c", "d", "e", "large"] {
            sandbox.write(name, name);
        }
        sandbox.commit_all("first");
        sandbox.write("a", "older dirt");
        sandbox.write("b", "older dirt, changed again");
        sandbox.write("large", &"x".repeat(5_000_000));
        sandbox.write("old untracked", "1");
        sandbox.write("touched", "1");
        sandbox.remove("c");
        let began = settled();
        let (snapshot, _) = at_turn_start(&sandbox, began);
        assert_eq!(snapshot.facts.late, [] as [BytePath; 0]);
        sandbox.write("b", "new");
        sandbox.write("d", "new and committed");
        sandbox.git(&["commit", "--quiet", "--message=turn", "d"]);
        sandbox.write("new untracked", "2");
        // Written again as they were.
        sandbox.write("touched", "1");
        sandbox.write("large", &"x".repeat(5_000_000));
        sandbox.remove("e");
        let baseline = sandbox.snapshots().baseline(&snapshot, None).unwrap().unwrap();
        let changes = sandbox.turn(&baseline);
        assert_eq!(changes.scope, Scope::TurnBaseline);
        assert_eq!(
            lines(&changes.files),
            [
                "modified b [unstaged]",
                "modified d [committed]",
                "deleted e [unstaged]",
                "added new untracked [untracked]"
            ],
            "{format}"
        );
    }
}

/// The agent was quicker than the snapshot: what it wrote, made and removed by then is the turn's all the same.
#[test]
fn edits_before_the_snapshot_are_the_turns() {
    let sandbox = Sandbox::new();
    sandbox.write("older", "dirt");
    sandbox.write("b", "older dirt");
    let began = settled();
    sandbox.write("a", "the agent's first edit");
    sandbox.write("b", "the agent's second edit");
    sandbox.write("new/file", "made");
    sandbox.remove("sub/c");
    let (snapshot, baseline) = at_turn_start(&sandbox, began);
    let late: Vec<String> = snapshot.facts.late.iter().map(ToString::to_string).collect();
    assert_eq!(late, ["a", "b", "new/file", "sub/c"]);
    assert_eq!(
        lines(&sandbox.turn(&baseline).files),
        [
            "modified a [unstaged]",
            "modified b [unstaged]",
            "added new/file [untracked]",
            "deleted sub/c [unstaged]"
        ]
    );
}

/// More dirty files than the quick baseline remembers.
#[test]
fn it_has_no_limit_on_files() {
    let sandbox = Sandbox::new();
    for number in 0..4500 {
        sandbox.write(&format!("many/{number}"), "x");
    }
    sandbox.git(&["add", "many"]);
    assert!(!sandbox.baseline().complete);
    let began = settled();
    let (snapshot, _) = at_turn_start(&sandbox, began);
    sandbox.write("many/7", "changed");
    let baseline = sandbox.snapshots().baseline(&snapshot, None).unwrap().unwrap();
    assert_eq!(lines(&sandbox.turn(&baseline).files), ["modified many/7 [staged unstaged]"]);
}
