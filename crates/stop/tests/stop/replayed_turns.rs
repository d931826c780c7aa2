//! A policy over recorded turns: what the turns of a session leave behind for the next one, and what they add up to.

use gate::{ActionState, Decision};
use stop::replay::{NotJudged, ReplayedSession, ReplayedTurn, Report};
use transcript::{Agent, Call, Coverage, Extent, Kind, Message, Outcome, Reading, Turn, WalkedTurn};

use crate::turns::{edit, policy, ran, stopped_by_user};

fn turn(id: &str, calls: Vec<Call>) -> WalkedTurn {
    let turn = Turn {
        prompt: format!("prompt {id}"),
        started_at: Some("2026-11-15T10:00:00Z".parse().unwrap()),
        id: Some(id.to_owned()),
        line: Some(1),
    };
    let coverage = Coverage { extent: Extent::Complete, records: 1, understood: 1, reason: None };
    let reading = Reading {
        agent: Some(Agent::Claude),
        turn: Some(turn),
        coverage,
        usage: None,
        calls,
        earlier_calls: 0,
        messages: Vec::new(),
        last_assistant: None,
        has_marked_prompt: false,
        is_marked: false,
        interrupted: false,
        stop_asked_at: None,
        session: transcript::SessionState::default(),
    };
    WalkedTurn {
        reading,
        is_marked: false,
        said_after_mark: Vec::new(),
        calls_after_mark: Vec::new(),
        end: 0,
        is_last: true,
    }
}

fn decision(turn: &ReplayedTurn) -> Decision {
    turn.judged.as_ref().unwrap().decision
}

const RUST: &str = "presets = [\"rust\"]";

#[test]
fn what_the_timeline_edited_is_what_changed() {
    let policy = policy(RUST);
    for (calls, expected, files) in [
        (vec![edit("/repo/src/lib.rs")], Decision::Hold, &["src/lib.rs"][..]),
        (vec![edit("src/lib.rs"), ran("cargo test")], Decision::Notify, &["src/lib.rs"]),
        (vec![ran("sed -i s/a/b/ src/lib.rs")], Decision::Hold, &["src/lib.rs"]),
        (vec![ran("sed -i s/a/b/ src/lib.rs && cargo test")], Decision::Notify, &["src/lib.rs"]),
        // Not of this repository, failed, only looked at, only laid out.
        (vec![edit("/tmp/x.rs"), edit("/repository/x.rs")], Decision::Pass, &[]),
        (vec![Call { outcome: Outcome::Error, ..edit("src/lib.rs") }, ran("true")], Decision::Pass, &[]),
        (vec![ran("cat src/lib.rs")], Decision::Pass, &[]),
        (vec![ran("rustfmt src/lib.rs")], Decision::Pass, &[]),
        (vec![edit("/repo/.git/config")], Decision::Pass, &[]),
    ] {
        let shown = format!("{calls:?}");
        let judged =
            ReplayedSession::new("/repo".to_owned(), None).judge(&policy, turn("1", calls)).judged.unwrap();
        let changed: Vec<&str> =
            judged.changed.iter().flat_map(|group| &group.files).map(String::as_str).collect();
        // A failed edit is an error that nothing settled, which is told where nothing changed.
        let told = judged.decision == Decision::Notify && changed.is_empty();
        assert!(judged.decision == expected || told, "{shown}: {judged:?}");
        assert_eq!(changed, files, "{shown}");
        assert_eq!(judged.scope, Some(change_set::Scope::Transcript), "{shown}");
    }
}

#[test]
fn an_interrupted_turn_has_no_stop() {
    let policy = policy(RUST);
    let mut session = ReplayedSession::new("/repo".to_owned(), None);
    let stopped = turn("1", vec![edit("src/lib.rs"), stopped_by_user(ran("cargo test"))]);
    assert_eq!(decision(&session.judge(&policy, stopped)), Decision::Pass);
    let mut interrupted = turn("2", vec![edit("src/lib.rs")]);
    interrupted.reading.interrupted = true;
    assert_eq!(decision(&session.judge(&policy, interrupted)), Decision::Pass);
}

/// What an agent says after a real hold that it cannot do is waived for the rest of its session, and for no other.
#[test]
fn a_waiver_lasts_as_long_as_the_session() {
    let policy = policy(RUST);
    let mut session = ReplayedSession::new("/repo".to_owned(), None);
    let mut held = turn("1", vec![edit("src/lib.rs")]);
    held.is_marked = true;
    held.said_after_mark = vec!["checkstone: cannot rust-tests: no toolchain here".to_owned()];
    assert_eq!(decision(&session.judge(&policy, held)), Decision::Hold);
    let next = session.judge(&policy, turn("2", vec![edit("src/lib.rs")])).judged.unwrap();
    assert_eq!((next.decision, next.actions[0].state), (Decision::Notify, ActionState::Waived));
    let other =
        ReplayedSession::new("/repo".to_owned(), None).judge(&policy, turn("3", vec![edit("src/lib.rs")]));
    assert_eq!(decision(&other), Decision::Hold);
}

/// The waiver in the turn itself counts at its stop.
#[test]
fn a_waiver_before_the_stop_counts_at_the_stop() {
    let mut said = turn("1", vec![edit("src/lib.rs")]);
    let text = "checkstone: cannot rust-tests: no toolchain here".to_owned();
    said.reading.messages.push(Message { text, at: None, calls_before: 1 });
    assert_eq!(
        decision(&ReplayedSession::new("/repo".to_owned(), None).judge(&policy(RUST), said)),
        Decision::Notify
    );
}

#[test]
fn what_was_not_understood_is_not_judged() {
    let mut poor = turn("1", vec![edit("src/lib.rs")]);
    poor.reading.coverage.extent = Extent::Unavailable;
    let judged = ReplayedSession::new("/repo".to_owned(), None).judge(&policy(RUST), poor).judged;
    assert_eq!(judged.unwrap_err(), NotJudged::NotUnderstood);
}

#[test]
fn short_turns_pass_where_the_policy_says_so() {
    let policy = policy("presets = [\"rust\"]\n[gate]\nmin_turn = \"30s\"");
    for (ended, expected) in
        [("2026-11-15T10:00:29Z", Decision::Pass), ("2026-11-15T10:00:30Z", Decision::Hold)]
    {
        let call = Call { ended_at: Some(ended.parse().unwrap()), kind: Kind::Edit, ..edit("src/lib.rs") };
        let judged = ReplayedSession::new("/repo".to_owned(), None).judge(&policy, turn("1", vec![call]));
        assert_eq!(decision(&judged), expected, "{ended}");
    }
}

/// A fork repeats the turns before it.
#[test]
fn a_turn_in_several_transcripts_is_counted_once() {
    let policy = policy(RUST);
    let mut report = Report::default();
    for (transcript, id) in [("a", "1"), ("a", "2"), ("b", "1"), ("b", "3")] {
        let judged =
            ReplayedSession::new("/repo".to_owned(), None).judge(&policy, turn(id, vec![edit("src/lib.rs")]));
        report.add(Agent::Claude, transcript, judged);
    }
    report.finish();
    assert_eq!(
        (report.statistics.turns.total, report.statistics.turns.hold, report.totals.repeated),
        (3, 3, 1)
    );
    assert_eq!(report.holds.iter().map(|hold| hold.transcript.as_str()).collect::<Vec<_>>(), ["a", "a", "b"]);
    assert_eq!(
        (report.rules[0].hold, report.actions[0].required, report.statistics.days[0].turns.hold),
        (3, 3, 3)
    );
}
