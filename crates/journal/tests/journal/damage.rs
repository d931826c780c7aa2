//! H6: whatever is wrong with the journal, there is an error of its own kind, at once.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::Duration;

use gate::Decision;
use journal::{Journal, JournalError, OpenFor, Soundness, examine, set_aside};

use crate::support::{State, finish, job_command, minute, open_turn, record, see};

fn open(state: &State) -> Result<Journal, JournalError> {
    Journal::open(&state.directory(), OpenFor::Hook)
}

fn filled() -> State {
    let state = State::new();
    state
        .open()
        .write(|write| {
            let session = see(write, "s")?;
            for _ in 0..40 {
                let turn = open_turn(write, session, None)?;
                record(write, turn.id, Decision::Pass, &[7; 30_000])?;
            }
            Ok(())
        })
        .unwrap();
    state
}

#[test]
fn a_missing_journal_is_created_with_its_directory() {
    let state = State::new();
    open(&state).unwrap();
    assert!(state.database().is_file());
}

#[test]
fn an_empty_file_is_filled() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    fs_err::write(state.database(), "").unwrap();
    open(&state).unwrap().write(|write| see(write, "s")).unwrap();
}

#[test]
fn text_in_its_place_is_damage() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    let text = "not a database\n".repeat(1000);
    fs_err::write(state.database(), &text).unwrap();
    assert!(matches!(open(&state), Err(JournalError::Corrupt { .. })));
    assert_eq!(fs_err::read_to_string(state.database()).unwrap(), text, "left as it was");
}

/// Every page in turn is overwritten: the answer is right, or it is an error; never a panic, never a wait.
#[test]
fn damaged_pages_are_told_or_do_not_matter() {
    let state = filled();
    drop(state.sqlite());
    let whole = fs_err::read(state.database()).unwrap();
    assert!(whole.len() > 1_000_000, "everything is in the main file");
    let mut damaged = 0;
    for page in 0..30 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs_err::write(state.database(), &bytes).unwrap();
        let used = open(&state).and_then(|mut journal| {
            journal.write(|write| {
                let session = write.session("claude", "s")?.map(|session| session.id);
                let turn = session.map(|session| write.latest_turn(session)).transpose()?.flatten();
                turn.map(|turn| write.try_hold(turn.id, 1)).transpose()
            })
        });
        match used {
            Ok(_) => {}
            Err(JournalError::Corrupt { .. }) => damaged += 1,
            Err(error) => panic!("page {page}: {error:?}"),
        }
        let _ = fs_err::remove_file(state.directory().join("journal.db-wal"));
    }
    assert!(damaged >= 3, "{damaged}");
}

#[test]
fn a_truncated_file_is_damage() {
    let state = filled();
    drop(state.sqlite());
    let whole = fs_err::read(state.database()).unwrap();
    fs_err::write(state.database(), &whole[..5000]).unwrap();
    let error =
        open(&state).and_then(|mut journal| journal.read(|read| read.session("claude", "s"))).unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
}

#[test]
fn an_examination_finds_damage_in_any_page_and_changes_nothing() {
    let state = filled();
    drop(state.sqlite());
    let whole = fs_err::read(state.database()).unwrap();
    assert_eq!(examine(&state.directory(), Duration::from_secs(30)).unwrap(), Soundness::Sound);
    for page in [0, 1, 7, 30, whole.len() / 4096 - 1] {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs_err::write(state.database(), &bytes).unwrap();
        let error = examine(&state.directory(), Duration::from_secs(30)).unwrap_err();
        assert!(matches!(error, JournalError::Corrupt { .. }), "page {page}: {error:?}");
        assert_eq!(fs_err::read(state.database()).unwrap(), bytes);
    }
}

#[test]
fn an_examination_creates_nothing_and_ends_at_its_limit() {
    let state = State::new();
    assert_eq!(examine(&state.directory(), Duration::ZERO).unwrap(), Soundness::Missing);
    assert!(!state.directory().exists());
    let state = filled();
    let row = "INSERT INTO session_values SELECT id, hex(randomblob(8)), randomblob(2000) FROM sessions";
    let sqlite = state.sqlite();
    sqlite.execute_batch("BEGIN").unwrap();
    for _ in 0..20_000 {
        sqlite.execute(row, []).unwrap();
    }
    sqlite.execute_batch("COMMIT").unwrap();
    drop(sqlite);
    assert_eq!(examine(&state.directory(), Duration::ZERO).unwrap(), Soundness::SoundSoFar);
}

#[test]
fn an_examination_recognises_what_is_not_ours() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    state.sqlite().execute_batch("CREATE TABLE songs (title)").unwrap();
    let foreign = examine(&state.directory(), Duration::from_secs(5));
    assert!(matches!(foreign, Err(JournalError::NotAJournal { .. })), "{foreign:?}");
    let state = filled();
    state.sqlite().execute_batch("PRAGMA user_version = 999999").unwrap();
    let newer = examine(&state.directory(), Duration::from_secs(5));
    assert!(matches!(newer, Err(JournalError::NewerSchema { .. })), "{newer:?}");
}

#[test]
fn a_damaged_journal_is_set_aside_and_kept() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    fs_err::write(state.database(), "damaged ".repeat(1000)).unwrap();
    fs_err::write(state.directory().join("journal.db-wal"), "its log").unwrap();
    let aside = set_aside(&state.directory(), minute(0)).unwrap();
    assert_eq!(fs_err::read_to_string(&aside).unwrap(), "damaged ".repeat(1000));
    assert_eq!(
        fs_err::read_to_string(aside.with_file_name("journal.db.damaged-1800000000000-wal")).unwrap(),
        "its log"
    );
    open(&state).unwrap().write(|write| see(write, "s")).unwrap();
    assert!(aside.exists());
}

#[test]
fn setting_aside_what_is_not_there_is_an_error() {
    assert!(matches!(set_aside(&State::new().directory(), minute(0)), Err(JournalError::SetAside { .. })));
}

#[test]
fn a_directory_or_a_pipe_in_its_place_is_told() {
    let state = State::new();
    fs_err::create_dir_all(state.database()).unwrap();
    assert!(matches!(open(&state), Err(JournalError::NotAFile { .. })));
    fs_err::remove_dir(state.database()).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(state.database()).status().unwrap();
    assert!(pipe.success());
    let error = open(&state).unwrap_err();
    assert!(matches!(error, JournalError::NotAFile { .. }), "{error:?}");
}

#[test]
fn a_file_in_place_of_the_directory_is_told() {
    let state = State::new();
    let directory = state.directory();
    fs_err::create_dir_all(directory.parent().unwrap()).unwrap();
    fs_err::write(&directory, "").unwrap();
    assert!(matches!(open(&state), Err(JournalError::Create { .. })));
}

#[test]
fn another_programs_database_is_left_alone() {
    let state = State::new();
    fs_err::create_dir_all(state.directory()).unwrap();
    state.sqlite().execute_batch("CREATE TABLE songs (title)").unwrap();
    let before = fs_err::read(state.database()).unwrap();
    assert!(matches!(open(&state), Err(JournalError::NotAJournal { .. })));
    assert_eq!(fs_err::read(state.database()).unwrap(), before);
}

/// Waiting ends after half a second, at opening and at writing; reading does not wait at all.
#[test]
fn a_locked_journal_is_busy_soon() {
    let state = filled();
    let holder = state.sqlite();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut journal = open(&state).unwrap();
    assert!(journal.read(|read| read.session("claude", "s")).unwrap().is_some());
    let error = journal.write(|write| see(write, "s")).unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
    holder.execute_batch("COMMIT").unwrap();
    journal.write(|write| see(write, "s")).unwrap();
}

#[test]
fn a_wholly_locked_journal_is_busy_at_opening() {
    let state = filled();
    let holder = state.sqlite();
    holder
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
        .unwrap();
    let error = open(&state).unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
}

#[test]
fn a_read_only_journal_is_told() {
    let root = tempfile::tempdir().unwrap();
    fs_err::set_permissions(root.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    // The build folder may be out of reach of an ordinary user.
    let program = root.path().join("tests");
    fs_err::copy(std::env::current_exe().unwrap(), &program).unwrap();
    sandbox::make_executable(&program);
    let directory = root.path().join("state");
    let mut command = job_command(&program, &["read_only", directory.to_str().unwrap()]);
    if root.path().metadata().is_ok_and(|root| std::os::unix::fs::MetadataExt::uid(&root) == 0) {
        command.uid(65534).gid(65534);
    }
    let said = finish(command.spawn().unwrap());
    let (write, create) = said.split_once('\n').unwrap();
    assert!(write.starts_with("ReadOnly"), "{write}");
    assert!(create.starts_with("Create"), "{create}");
}

/// A file system of 400 kB of its own, where the system lets us make one.
#[test]
fn a_full_disk_is_told_and_harms_nothing() {
    let root = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let directory = root.path().to_str().unwrap();
    let isolated = |script: &str| {
        let mut command = job_command(Path::new("unshare"), &["fill_disk", directory]);
        let job = command.get_args().map(ToOwned::to_owned).collect::<Vec<_>>();
        let mut isolated = std::process::Command::new("unshare");
        isolated
            .args(["--mount", "--map-root-user", "sh", "-c", script, "sh", directory])
            .arg(&program)
            .args(job);
        for (name, value) in command.get_envs() {
            isolated.env(name, value.unwrap());
        }
        command = isolated;
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped());
        command
    };
    let mount = "mount -t tmpfs -o size=400k tmpfs \"$1\"";
    if !isolated(mount).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: this system does not let us mount");
        return;
    }
    let said = finish(isolated(&format!("{mount} && shift && exec \"$@\"")).spawn().unwrap());
    assert!(said.starts_with("DiskFull"), "{said}");
    assert!(said.ends_with("the turn before has 1 hold"), "{said}");
}
