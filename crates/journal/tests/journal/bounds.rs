//! The journal does not grow without end.

use std::time::Duration;

use gate::Decision;
use journal::{Limits, NewTurn, Pruned, SessionId, TurnId, VerdictId, Writing};

use crate::support::{State, minute, open_turn, record, see};

const DAY: i64 = 24 * 60;

fn open_at(write: &Writing<'_>, session: SessionId, at: i64) -> journal::Turn {
    write
        .open_turn(&NewTurn { session, key: None, opened_at: minute(at), prompt: "Fix it", baseline: None })
        .unwrap()
}

fn rows(state: &State, table: &str) -> u32 {
    state.sqlite().query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).unwrap()
}

#[test]
fn old_turns_go_with_all_that_hangs_on_them() {
    let state = State::new();
    let pruned = state
        .open()
        .write(|write| {
            let (old, young) = (see(write, "old")?, see(write, "young")?);
            for at in [0, DAY, 2 * DAY] {
                let turn = open_at(write, old, at);
                record(write, turn.id, Decision::Pass, b"inputs")?;
                write.record_held_actions(turn.id, &["tests"])?;
            }
            write.set_value(old, "window", b"1")?;
            write.first_delivery(old, "stop", minute(0), Duration::ZERO)?;
            let turn = open_at(write, young, 91 * DAY);
            record(write, turn.id, Decision::Pass, b"inputs")?;
            write.set_trusted("/repo/checkstone.toml".as_ref(), "aa", minute(0))?;
            write.see_session(
                &journal::SeenSession {
                    agent: "claude",
                    client_id: "young",
                    directory: None,
                    repository: None,
                    transcript: None,
                },
                minute(91 * DAY),
            )?;
            write.prune(minute(100 * DAY), &Limits::default())
        })
        .unwrap();
    assert_eq!(pruned, Pruned { turns: 3, sessions: 1 });
    for (table, left) in [
        ("turns", 1),
        ("verdicts", 1),
        ("sessions", 1),
        ("held_actions", 0),
        ("session_values", 0),
        ("deliveries", 0),
        ("trust", 1),
    ] {
        assert_eq!(rows(&state, table), left, "{table}");
    }
}

#[test]
fn over_the_size_the_oldest_go_but_never_a_sessions_newest() {
    let state = State::new();
    let mut journal = state.open();
    let (quiet, busy) = journal
        .write(|write| {
            let (quiet, busy) = (see(write, "quiet")?, see(write, "busy")?);
            for session in [quiet].into_iter().chain([busy; 60]) {
                let turn = open_at(write, session, 0);
                record(write, turn.id, Decision::Pass, &[1; 20_000])?;
            }
            Ok((quiet, busy))
        })
        .unwrap();
    let limits = Limits { bytes: 500_000, ..Limits::default() };
    let pruned = journal.write(|write| write.prune(minute(1), &limits)).unwrap();
    assert_eq!(pruned, Pruned { turns: 48, sessions: 0 });
    assert_eq!(rows(&state, "turns"), 13);
    let mut latest = |session| journal.read(|read| read.latest_turn(session)).unwrap().unwrap().id.0;
    assert_eq!((latest(quiet), latest(busy)), (1, 61));
    let nothing_fits = Limits { bytes: 0, ..limits };
    while journal.write(|write| write.prune(minute(1), &nothing_fits)).unwrap().turns > 0 {}
    assert_eq!(rows(&state, "turns"), 2);
}

/// Opening turns prunes by itself, and freed space is used again.
#[test]
fn the_file_stays_bounded_without_anyone_asking() {
    let state = State::new();
    let mut sizes = Vec::new();
    for day in 0..600 {
        let mut journal = state.open();
        journal
            .write(|write| {
                let session = see(write, &format!("session-{}", day / 10))?;
                let turn = open_at(write, session, day * DAY);
                record(write, turn.id, Decision::Pass, &[1; 20_000])
            })
            .unwrap();
        drop(journal);
        sizes.push(state.database().metadata().unwrap().len());
    }
    assert!(rows(&state, "turns") <= 90 + 64, "{}", rows(&state, "turns"));
    assert_eq!(sizes[300], sizes[599], "no growth once the bound is reached");
}

/// The write-ahead log is not folded at every close, and yet has an end.
#[test]
fn the_write_ahead_log_stays_bounded_over_many_short_processes() {
    let state = State::new();
    let log = state.directory().join("journal.db-wal");
    let mut largest = 0;
    let mut folded = 0;
    for round in 0..300 {
        let mut journal = state.open();
        journal
            .write(|write| {
                let turn = open_turn(write, see(write, "s")?, Some(&round.to_string()))?;
                record(write, turn.id, Decision::Pass, &[1; 10_000])
            })
            .unwrap();
        drop(journal);
        let size = log.metadata().unwrap().len();
        largest = size.max(largest);
        folded += u32::from(size == 0);
    }
    assert!(largest <= 512 * 1024, "{largest}");
    assert!(matches!(folded, 5..60), "{folded}");
}

/// Whoever follows the record asks for what came after the last id that they saw.
#[test]
fn ids_are_never_given_again() {
    let state = State::new();
    let mut journal = state.open();
    let newest = |journal: &mut journal::Journal| journal.read(|reading| reading.newest()).unwrap();
    journal
        .write(|write| {
            let session = see(write, "s")?;
            let judged = open_at(write, session, 0);
            record(write, judged.id, Decision::Pass, b"inputs")?;
            (1..5).for_each(|at| drop(open_at(write, session, at)));
            write.prune(minute(200 * DAY), &Limits::default())
        })
        .unwrap();
    let before = newest(&mut journal);
    let (turns, verdicts) = journal
        .read(|reading| Ok((reading.turns_after(TurnId(0), 10)?, reading.verdicts_since(VerdictId(0), 10)?)))
        .unwrap();
    assert_eq!((turns.len(), verdicts.len()), (2, 1), "the newest turn, and the one with the newest verdict");
    journal
        .write(|write| {
            let turn = open_at(write, see(write, "s")?, 200 * DAY);
            record(write, turn.id, Decision::Hold, b"inputs")
        })
        .unwrap();
    let after = newest(&mut journal);
    assert_eq!(after, (TurnId(before.0.0 + 1), VerdictId(before.1.0 + 1)));
    let followed = journal.read(|reading| reading.verdicts_since(before.1, 10)).unwrap();
    let told: Vec<_> =
        followed.iter().map(|one| (one.recorded.decision, one.opened_at, one.proofs)).collect();
    assert_eq!(told, [(Decision::Hold, minute(200 * DAY), 0)]);
}

/// Its number is given again if a prompt comes after all, so it is known by its verdict.
#[test]
fn a_turn_without_a_prompt_is_followed_by_its_verdict() {
    let state = State::new();
    let mut journal = state.open();
    let unannounced = |write: &Writing<'_>, session| {
        write.open_unannounced_turn(&NewTurn {
            session,
            key: None,
            opened_at: minute(1),
            prompt: "",
            baseline: None,
        })
    };
    let after = |journal: &mut journal::Journal| {
        journal
            .read(|reading| {
                let turns = reading.turns_after(TurnId(0), 10)?.into_iter().map(|turn| turn.id);
                let verdicts = reading.verdicts_since(VerdictId(0), 10)?.into_iter();
                let verdicts =
                    verdicts.map(|one| (one.recorded.turn, one.is_unannounced)).collect::<Vec<_>>();
                Ok((turns.collect::<Vec<_>>(), verdicts, reading.count_after(TurnId(0), VerdictId(0))?))
            })
            .unwrap()
    };
    journal.write(|write| unannounced(write, see(write, "s")?)).unwrap();
    assert_eq!(after(&mut journal), (Vec::new(), Vec::new(), 0));
    let prompted = journal.write(|write| {
        let session = see(write, "s")?;
        write.forget_unannounced_turn(session)?;
        Ok(open_at(write, session, 2).id)
    });
    let prompted = prompted.unwrap();
    assert_eq!(after(&mut journal), (vec![prompted], Vec::new(), 1));
    let judged = journal.write(|write| {
        let turn = unannounced(write, see(write, "other")?)?;
        record(write, turn.id, Decision::Pass, b"inputs")?;
        Ok(turn.id)
    });
    assert_eq!(after(&mut journal), (vec![prompted], vec![(judged.unwrap(), true)], 2));
}
