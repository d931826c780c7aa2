//! The ship gate.

use serde_json::json;
use workflow::integrations::preview::Preview;
use workflow::{ShipFacts, Status, Uncommitted, Workflow, ship_gate};

use crate::repository::{Folder, minute, name, status};

fn shipping(pre_flight: &str, commit: &str) -> Workflow {
    Workflow::from_value(json!({
        "command": "ship", "version": 1, "head_commit": "1111111aaa",
        "state": {"current_phase": null, "completed_phases": [], "pending_phases": ["push"]},
        "phases": {"pre-flight": {"status": pre_flight, "error": "lint"}, "commit": {"status": commit}},
    }))
    .unwrap()
}

fn fine() -> ShipFacts {
    ShipFacts { head: Some("1111111aaa".to_owned()), ..ShipFacts::default() }
}

#[test]
fn nothing_against_it_is_allowed() {
    let gate = ship_gate(shipping("complete", "skipped").file(), &[], &fine());
    assert_eq!((gate.ship_allowed, gate.blockers.len()), (true, 0));
    assert_eq!(gate.head_commit.as_deref(), Some("1111111aaa"));
    let ready = ShipFacts { preview: Some(Preview::Ready { urls: Vec::new() }), ..fine() };
    assert!(ship_gate(shipping("complete", "complete").file(), &[], &ready).ship_allowed);
}

#[test]
fn every_reason_is_told() {
    let implement = Workflow::from_value(json!({
        "command": "implement", "version": 1,
        "state": {"pending_phases": ["validation"]}, "phases": {"implementation": {"status": "in_progress"}},
    }))
    .unwrap();
    let over = Workflow::from_value(json!({
        "command": "review", "version": 1, "completed_at": "2026-01-29T10:30:00.000Z",
        "state": {"pending_phases": ["feedback"]}, "phases": {"analysis": {"status": "pending"}},
    }))
    .unwrap();
    let facts = ShipFacts {
        head: Some("2222222bbb".to_owned()),
        uncommitted: Uncommitted::Files((1..=7).map(|number| format!("f{number}")).collect()),
        unresolved: vec!["Syntax errors remain".to_owned()],
        preview: Some(Preview::Failed { why: "build error".to_owned() }),
    };
    let related = [(name("implement", None), implement.file()), (name("review", None), over.file())];
    let gate = ship_gate(shipping("failed", "pending").file(), &related, &facts);
    assert!(!gate.ship_allowed);
    assert_eq!(
        gate.blockers,
        [
            "Phase `pre-flight` failed: lint",
            "Phase `commit` is missing: it has not been started",
            "Phase `implementation` of `implement` is not finished",
            "Phase `validation` of `implement` is missing: it has not been started",
            "Checkpoint is stale (saved at 1111111, current HEAD is 2222222): update a phase once 2222222 is what you want to ship",
            "Uncommitted changes in f1, f2, f3, f4, f5 and 2 more",
            "The gate found: Syntax errors remain",
            "The preview deployment failed: build error",
        ]
    );
}

/// A word that the format does not have may mean anything.
#[test]
fn an_unknown_status_is_no_permission() {
    let gate = ship_gate(shipping("complete", "done").file(), &[], &fine());
    assert_eq!(
        (gate.ship_allowed, gate.blockers),
        (false, vec!["Phase `commit` is `done`: set it to `complete` or `skipped` if it is over".to_owned()])
    );
}

#[test]
fn what_nobody_knows_is_no_permission() {
    let facts = ShipFacts {
        uncommitted: Uncommitted::Unknown("there is no program `git`".to_owned()),
        preview: Some(Preview::TimedOut { last: "it is building".to_owned() }),
        ..fine()
    };
    let gate = ship_gate(shipping("complete", "complete").file(), &[], &facts);
    assert_eq!(gate.blockers.len(), 2, "{:?}", gate.blockers);
}

/// Asked twice, it finds the same.
#[test]
fn recording_the_gate_does_not_make_a_stale_workflow_fresh() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("ship", None));
    for phase in ["pre-flight", "commit"] {
        state.update_phase(&name, phase, &status(Status::Complete), minute(0)).unwrap();
    }
    let new = folder.commit();
    for round in 1..3 {
        let workflow = state.load(&name).unwrap().workflow.unwrap();
        let facts = ShipFacts { head: state.head(), ..ShipFacts::default() };
        let gate = ship_gate(workflow.file(), &[], &facts);
        assert_eq!(gate.blockers.len(), 1, "round {round}");
        state.record_gate(&name, &gate, minute(round)).unwrap();
        let kept = folder.json("ship-checkpoint.json");
        assert_eq!(kept["gate"]["ship_allowed"], false);
        assert_eq!(kept["gate"]["head_commit"], new.as_str());
        assert_ne!(kept["head_commit"], new.as_str());
    }
}
