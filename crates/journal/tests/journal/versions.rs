//! Older and newer binaries on one file.

use gate::Decision;
use journal::{Journal, JournalError, OpenFor};

use crate::support::{State, autosave, open_turn, record, see};

fn filled() -> State {
    let state = State::new();
    state
        .open()
        .write(|write| {
            let turn = open_turn(write, see(write, "s")?, Some("k"))?;
            record(write, turn.id, Decision::Pass, b"inputs")
        })
        .unwrap();
    state
}

/// A later version that only added things: this one goes on reading and writing, and takes nothing back.
#[test]
fn a_newer_file_that_only_has_more_is_used() {
    let state = filled();
    state
        .sqlite()
        .execute_batch(
            "ALTER TABLE turns ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
             ALTER TABLE verdicts ADD COLUMN cost INTEGER;
             CREATE TABLE moods (id INTEGER PRIMARY KEY, turn INTEGER REFERENCES turns ON DELETE CASCADE);
             PRAGMA user_version = 1009;",
        )
        .unwrap();
    let mut journal = state.open();
    let held = journal
        .write(|write| {
            let session = see(write, "s")?;
            let turn = open_turn(write, session, Some("next"))?;
            record(write, turn.id, Decision::Hold, b"more")?;
            write.try_hold(turn.id, 1)
        })
        .unwrap();
    assert!(held);
    let version: u32 = state.sqlite().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 1009);
}

/// H6: a later version that this one would get wrong: an error of its own, and not a byte changed.
#[test]
fn a_newer_file_of_another_kind_is_left_alone() {
    let state = filled();
    // A log that was not folded yet must stay that way, too.
    let writer = state.sqlite();
    writer
        .execute_batch("ALTER TABLE turns RENAME COLUMN holds TO pauses; PRAGMA user_version = 9009")
        .unwrap();
    let files = ["journal.db", "journal.db-wal"].map(|name| state.directory().join(name));
    let before = files.each_ref().map(|file| fs_err::read(file).unwrap());
    for open_for in [OpenFor::Hook, OpenFor::Command] {
        let error = Journal::open(&state.directory(), open_for).unwrap_err();
        assert!(matches!(error, JournalError::NewerSchema { found: 9, supported: 8, .. }), "{error:?}");
    }
    assert_eq!(files.each_ref().map(|file| fs_err::read(file).unwrap()), before);
    drop(writer);
    assert!(Journal::open(&state.directory(), OpenFor::Hook).is_err());
}

#[test]
fn the_file_says_whose_it_is_and_who_may_use_it() {
    let state = filled();
    let number = |name| state.sqlite().pragma_query_value(None, name, |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(number("user_version"), 1008);
    assert_eq!(number("application_id").to_be_bytes(), *b"chks");
    let mode: String = state.sqlite().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

/// A file of format 1, as the version wrote it that knew no autosaves: what was recorded stays, and new things have room.
#[test]
fn a_file_of_format_1_is_brought_up_to_date() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    let old = rusqlite::Connection::open(state.directory().join("journal.db")).unwrap();
    old.execute_batch(include_str!("format-1.sql")).unwrap();
    drop(old);
    let mut journal = state.open();
    let iterations = journal
        .write(|write| {
            let session = write.session("claude", "old")?.unwrap();
            assert_eq!(write.latest_turn(session.id)?.unwrap().holds, 1);
            assert_eq!(write.recent_verdicts(journal::Of::Everyone, 9)?.len(), 1);
            write.record_autosave(&autosave(Some(session.id)))?;
            write.iterations(session.id)
        })
        .unwrap();
    assert_eq!(iterations, 1);
    let version: u32 = state.sqlite().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 1008);
}

/// What a journal of format 7 calls proven may be proven by anything, and stays proven.
#[test]
fn a_file_of_format_7_is_brought_up_to_date() {
    let state = filled();
    let back = "ALTER TABLE contents DROP COLUMN weak;
                INSERT INTO repositories (folder) VALUES ('/app/.git');
                INSERT INTO proofs (at, command) VALUES (1, 'pytest');
                INSERT INTO contents (repository, path, content, action, at, size, modified_ns, proof)
                    VALUES (1, 'a.py', '1', 'tests', 1, 3, 7, 1);
                PRAGMA user_version = 1007";
    state.sqlite().execute_batch(back).unwrap();
    let standings = state.open().read(|read| {
        let repository = read.repository(std::path::Path::new("/app/.git"))?.unwrap();
        read.standings(repository, &"a.py".into(), "1")
    });
    let standings = standings.unwrap();
    assert_eq!(standings.len(), 1);
    assert_eq!((standings[0].proof.is_some(), standings[0].weak.as_deref()), (true, None));
}

/// A journal of format 2, which knew no runs, is brought up to date and loses nothing.
#[test]
fn a_file_of_format_2_is_brought_up_to_date() {
    let state = filled();
    let back = "DROP TABLE runs; DROP TABLE contents; DROP TABLE proofs; DROP TABLE repositories;
                DROP TABLE policies; DROP TABLE turn_policies; DROP TABLE notices; DROP TABLE registrations;
                ALTER TABLE verdicts DROP COLUMN repository;
                PRAGMA user_version = 1002";
    state.sqlite().execute_batch(back).unwrap();
    let at = jiff::Timestamp::UNIX_EPOCH;
    let root = std::path::Path::new("/project");
    let mut journal = state.open();
    journal.write(|write| write.note_run(root, "title", "run-1", "IN_PROGRESS", Some("abc"), at)).unwrap();
    journal.write(|write| write.note_run(root, "title", "run-1", "COMPLETED", None, at)).unwrap();
    let runs = journal.read(|read| read.recent_runs(root, 10)).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state, "COMPLETED");
    let elsewhere = std::path::Path::new("/elsewhere");
    assert_eq!(journal.read(|read| read.noted_run(elsewhere, "title", "run-1")).unwrap(), None);
    // Known by what its record begins with, wherever that is; what is noted later does not take that away.
    for (title, run, origin, is_known) in [
        ("title", "run-1", "abc", true),
        ("title", "run-1", "abd", false),
        ("title", "run-2", "abc", false),
        ("other", "run-1", "abc", false),
    ] {
        let known = journal.read(|read| read.has_run_of_origin(title, run, origin)).unwrap();
        assert_eq!(known, is_known, "{title} {run} {origin}");
    }
    let turns: u32 = state.sqlite().query_row("SELECT count(*) FROM turns", [], |row| row.get(0)).unwrap();
    assert_eq!(turns, 1);
}
