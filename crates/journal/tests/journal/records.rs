//! What goes into the journal comes out again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use change_set::Scope;
use gate::Decision;
use journal::{Inputs, JournalError, NewTurn, NewVerdict, Of, SeenSession, Trust, Waiver, switch};

use crate::support::{State, minute, open_turn, record, see};

#[test]
fn the_directory_and_every_file_are_for_the_user_alone() {
    let state = State::new();
    state.open().write(|write| see(write, "s")).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state.directory()), 0o700);
    let mut files = 0;
    for entry in fs_err::read_dir(state.directory()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
        files += 1;
    }
    assert!(files >= 2, "the database and its log");
}

#[test]
fn a_session_keeps_what_a_later_hook_does_not_know() {
    let state = State::new();
    let odd = Path::new(OsStr::from_bytes(b"/home/\xff\xfe/repo"));
    let mut seen = SeenSession {
        agent: "claude",
        client_id: "s",
        directory: Some(odd),
        repository: Some(Path::new("/repo")),
        transcript: Some(Path::new("/t.jsonl")),
    };
    let mut journal = state.open();
    let first = journal.write(|write| write.see_session(&seen, minute(0))).unwrap();
    seen.transcript = None;
    seen.repository = Some(Path::new("/other"));
    journal
        .write(|write| {
            write.set_slug(first.id, Some("payments"))?;
            write.set_pane(first.id, Some("%3"))?;
            write.see_session(&seen, minute(5))
        })
        .unwrap();
    let session = state.open().read(|read| read.session("claude", "s")).unwrap().unwrap();
    assert_eq!(session.id, first.id);
    assert_eq!(session.directory.as_deref(), Some(odd));
    assert_eq!(session.repository.as_deref(), Some(Path::new("/other")));
    assert_eq!(session.transcript.as_deref(), Some(Path::new("/t.jsonl")));
    assert_eq!((session.slug.as_deref(), session.pane.as_deref()), (Some("payments"), Some("%3")));
    assert_eq!((session.started_at, session.seen_at), (minute(0), minute(5)));
    assert_eq!(state.open().read(|read| read.session("codex", "s")).unwrap(), None);
    assert_eq!(state.open().read(|read| read.recent_sessions(9)).unwrap(), [session]);
}

#[test]
fn a_turn_keeps_its_first_baseline() {
    let state = State::new();
    let mut journal = state.open();
    let session = journal.write(|write| see(write, "s")).unwrap();
    let mut new = NewTurn {
        session,
        key: Some("prompt-1"),
        opened_at: minute(1),
        prompt: "make it work",
        baseline: Some(b"first"),
    };
    let first = journal.write(|write| write.open_turn(&new)).unwrap();
    new.baseline = Some(b"second");
    new.opened_at = minute(2);
    assert_eq!(journal.write(|write| write.open_turn(&new)).unwrap(), first);
    assert_eq!(first.baseline.as_deref(), Some(b"first".as_slice()));
    assert_eq!((first.opened_at, first.prompt.as_str()), (minute(1), "make it work"));
    assert_eq!(journal.read(|read| read.turn(session, "prompt-1")).unwrap(), Some(first));
    assert_eq!(journal.read(|read| read.turn(session, "prompt-2")).unwrap(), None);
}

#[test]
fn turns_without_a_key_are_found_as_the_latest() {
    let state = State::new();
    let mut journal = state.open();
    let (session, first, second) = journal
        .write(|write| {
            let session = see(write, "s")?;
            Ok((session, open_turn(write, session, None)?, open_turn(write, session, None)?))
        })
        .unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(journal.read(|read| read.latest_turn(session)).unwrap(), Some(second));
}

#[test]
fn what_is_too_large_is_left_out_and_told() {
    let state = State::new();
    let mut journal = state.open();
    let large = vec![0; 3_000_000];
    let (turn, verdict) = journal
        .write(|write| {
            let turn = write.open_turn(&NewTurn {
                session: see(write, "s")?,
                key: Some("k"),
                opened_at: minute(0),
                prompt: &"ü".repeat(10_000),
                baseline: Some(&large),
            })?;
            let verdict = record(write, turn.id, Decision::Pass, &large)?;
            Ok((turn, verdict))
        })
        .unwrap();
    assert!(turn.baseline.is_none() && turn.baseline_too_large);
    assert_eq!(turn.prompt, "ü".repeat(250));
    assert_eq!(journal.read(|read| read.inputs(verdict)).unwrap(), None);
    assert!(journal.read(|read| read.verdict(verdict)).unwrap().is_some());
}

#[test]
fn a_verdict_comes_back_with_its_exact_inputs() {
    let state = State::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let mut journal = state.open();
    let id = journal
        .write(|write| {
            let session = see(write, "s")?;
            let turn = open_turn(write, session, Some("k"))?;
            write.record_verdict(&NewVerdict {
                turn: turn.id,
                repository: None,
                at: minute(3),
                decision: Decision::Hold,
                scope: Some(Scope::Touched),
                message: "[checkstone] Context-aware checkpoint\n1. Run `make`",
                timings: r#"{"git":3}"#,
                inputs: Inputs { version: 7, bytes: &bytes },
            })
        })
        .unwrap();
    let verdict = state.open().read(|read| read.verdict(id)).unwrap().unwrap();
    assert_eq!((verdict.decision, verdict.at), (Decision::Hold, minute(3)));
    assert_eq!((verdict.scope, verdict.timings.as_str()), (Some(Scope::Touched), r#"{"git":3}"#));
    assert!(verdict.message.ends_with("1. Run `make`"));
    assert_eq!((verdict.agent.as_str(), verdict.client_id.as_str()), ("claude", "s"));
    assert_eq!(state.open().read(|read| read.inputs(id)).unwrap(), Some(Inputs { version: 7, bytes }));
}

#[test]
fn recent_verdicts_are_found_by_session_and_by_repository() {
    let state = State::new();
    let mut journal = state.open();
    let sessions = journal
        .write(|write| {
            let mut sessions = Vec::new();
            for (client_id, repository) in [("a", "/one"), ("b", "/two"), ("c", "/one")] {
                let session = write.see_session(
                    &SeenSession {
                        agent: "codex",
                        client_id,
                        directory: None,
                        repository: Some(Path::new(repository)),
                        transcript: None,
                    },
                    minute(0),
                )?;
                let turn = open_turn(write, session.id, None)?;
                record(write, turn.id, Decision::Notify, b"")?;
                sessions.push(session.id);
            }
            Ok(sessions)
        })
        .unwrap();
    let mut of = |of, limit| {
        let found = journal.read(|read| read.recent_verdicts(of, limit)).unwrap();
        found.into_iter().map(|verdict| verdict.client_id).collect::<Vec<_>>()
    };
    assert_eq!(of(Of::Everyone, 9), ["c", "b", "a"]);
    assert_eq!(of(Of::Everyone, 2), ["c", "b"]);
    assert_eq!(of(Of::Session(sessions[1]), 9), ["b"]);
    assert_eq!(of(Of::Repository(Path::new("/one")), 9), ["c", "a"]);
}

/// L9: a stop that judges several repositories leaves a verdict in each.
#[test]
fn a_verdict_can_be_about_another_repository_than_the_session_is_in() {
    let state = State::new();
    let mut journal = state.open();
    let (session, ids) = journal
        .write(|write| {
            let session = see(write, "s")?;
            let earlier = open_turn(write, session, Some("earlier"))?;
            record(write, earlier.id, Decision::Pass, b"")?;
            let turn = open_turn(write, session, Some("k"))?;
            let own = record(write, turn.id, Decision::Pass, b"")?;
            let other = write.record_verdict(&NewVerdict {
                turn: turn.id,
                repository: Some(Path::new("/lib")),
                at: minute(1),
                decision: Decision::Hold,
                scope: Some(Scope::Touched),
                message: "steps",
                timings: "",
                inputs: Inputs { version: 1, bytes: b"" },
            })?;
            Ok((session, [other, own]))
        })
        .unwrap();
    let of_stop = journal.read(|read| read.verdicts_of_last_stop(session)).unwrap();
    assert_eq!(of_stop.iter().map(|verdict| verdict.id).collect::<Vec<_>>(), ids);
    let others = journal.read(|read| read.other_repositories(session)).unwrap();
    assert_eq!(others, [Path::new("/lib")]);
    let sessions = journal.read(|read| read.sessions_in(Path::new("/lib"), 9)).unwrap();
    assert_eq!(sessions.iter().map(|session| session.id).collect::<Vec<_>>(), [session]);
    let there = journal.read(|read| read.recent_verdicts(Of::Repository(Path::new("/lib")), 9)).unwrap();
    assert_eq!(there.iter().map(|verdict| verdict.id).collect::<Vec<_>>(), ids[..1]);
    assert_eq!(there[0].repository.as_deref(), Some(Path::new("/lib")));
}

#[test]
fn a_waiver_lasts_for_its_session_only() {
    let state = State::new();
    let mut journal = state.open();
    let (one, two) = journal
        .write(|write| {
            let (one, two) = (see(write, "one")?, see(write, "two")?);
            write.waive(one, "restart", "no daemon here", minute(1))?;
            write.waive(one, "restart", "said again", minute(2))?;
            Ok((one, two))
        })
        .unwrap();
    let waiver = Waiver { action: "restart".into(), reason: "no daemon here".into(), at: minute(1) };
    assert_eq!(journal.read(|read| read.waivers(one)).unwrap(), [waiver]);
    assert_eq!(journal.read(|read| read.waivers(two)).unwrap(), []);
}

#[test]
fn the_actions_of_the_turn_before_are_known_those_of_older_ones_are_not() {
    let state = State::new();
    let before = state
        .open()
        .write(|write| {
            let (session, other) = (see(write, "s")?, see(write, "other")?);
            let first = open_turn(write, session, Some("1"))?;
            write.record_held_actions(first.id, &["tests", "restart", "tests"])?;
            let foreign = open_turn(write, other, Some("1"))?;
            write.record_held_actions(foreign.id, &["status"])?;
            let second = open_turn(write, session, Some("2"))?;
            let third = open_turn(write, session, Some("3"))?;
            let before = |turn| write.actions_held_before(turn).unwrap();
            Ok([before(first.id), before(second.id), before(third.id), before(foreign.id)])
        })
        .unwrap();
    assert_eq!(before, [vec![], vec!["restart".to_owned(), "tests".to_owned()], vec![], vec![]]);
}

#[test]
fn small_values_belong_to_their_session() {
    let state = State::new();
    let (one, two) = state
        .open()
        .write(|write| {
            let (one, two) = (see(write, "one")?, see(write, "two")?);
            write.set_value(one, "window", b"200000")?;
            write.set_value(one, "window", b"1000000")?;
            Ok((write.value(one, "window")?, write.value(two, "window")?))
        })
        .unwrap();
    assert_eq!((one.as_deref(), two), (Some(b"1000000".as_slice()), None));
}

#[test]
fn trust_is_for_one_path_with_one_content() {
    let state = State::new();
    let mut journal = state.open();
    let path = Path::new("/repo/checkstone.toml");
    let (before, entries) = journal
        .write(|write| {
            let before = write.trust(path, "aa")?;
            write.set_trusted(path, "aa", minute(0))?;
            Ok((before, write.trusted_files()?))
        })
        .unwrap();
    assert_eq!(before, Trust::Unknown);
    assert_eq!((entries.len(), entries[0].path.as_path(), entries[0].content_hash.as_str()), (1, path, "aa"));
    journal
        .read(|read| {
            assert_eq!(read.trust(path, "aa")?, Trust::Trusted);
            assert_eq!(read.trust(path, "ab")?, Trust::Changed);
            assert_eq!(read.trust(Path::new("/other/checkstone.toml"), "aa")?, Trust::Unknown);
            Ok(())
        })
        .unwrap();
    assert!(journal.write(|write| write.revoke_trust(path)).unwrap());
    assert!(!journal.write(|write| write.revoke_trust(path)).unwrap());
    assert_eq!(journal.read(|read| read.trust(path, "aa")).unwrap(), Trust::Unknown);
}

#[test]
fn a_transaction_that_fails_leaves_nothing() {
    let state = State::new();
    let mut journal = state.open();
    let failed = journal.write(|write| {
        see(write, "s")?;
        Err::<(), _>(JournalError::Busy { path: "given up".into() })
    });
    assert!(failed.is_err());
    assert_eq!(journal.read(|read| read.session("claude", "s")).unwrap(), None);
}

/// H13: the switch is one look at the file system; nothing is opened or created.
#[test]
fn a_switched_off_session_costs_no_journal() {
    let state = State::new();
    let directory = state.directory();
    assert!(!switch::is_off(&directory, "claude", "s"));
    assert!(!directory.exists(), "looking creates nothing");
    switch::turn_off(&directory, "claude", "s").unwrap();
    switch::turn_off(&directory, "claude", "s").unwrap();
    assert!(switch::is_off(&directory, "claude", "s"));
    assert!(!switch::is_off(&directory, "codex", "s") && !switch::is_off(&directory, "claude", "t"));
    assert!(!state.database().exists());
    switch::turn_on(&directory, "claude", "s").unwrap();
    switch::turn_on(&directory, "claude", "s").unwrap();
    assert!(!switch::is_off(&directory, "claude", "s"));
}

#[test]
fn the_id_of_a_session_cannot_lead_the_switch_elsewhere() {
    let state = State::new();
    let directory = state.directory();
    for id in ["../../escape", "a/b", "..", "", "a\0b", "ü", "_2f"] {
        switch::turn_off(&directory, "claude", id).unwrap();
        assert!(switch::is_off(&directory, "claude", id), "{id:?}");
    }
    let markers = fs_err::read_dir(directory.join("off")).unwrap().count();
    assert_eq!(markers, 7, "every one has its own, and all are in the directory");
    assert_eq!(fs_err::read_dir(&directory).unwrap().count(), 1);
    switch::turn_off(&directory, "claude", &"x".repeat(300)).unwrap_err();
    assert!(!switch::is_off(&directory, "claude", &"x".repeat(300)));
}
