//! The ledger: contents by their ids, each proven or unproven, shared by all worktrees of a repository.

use std::path::Path;

use journal::{
    FileVersion, JournalError, Limits, NO_FILE, NewProof, ProvenBy, RepositoryId, Standing, StandingSession,
    TurnId, Writing,
};

use crate::support::{State, minute, open_turn, see};

const TESTS: &str = "tests";

fn version(path: &str, content: &str) -> FileVersion {
    FileVersion { path: path.into(), content: content.to_owned(), size: 3, modified_ns: 7 }
}

fn turn(write: &Writing<'_>, client_id: &str) -> Result<TurnId, JournalError> {
    Ok(open_turn(write, see(write, client_id)?, Some("k"))?.id)
}

fn prove(
    write: &Writing<'_>,
    repository: RepositoryId,
    path: &str,
    content: &str,
) -> Result<(), JournalError> {
    let new = NewProof { at: minute(2), session: None, verdict: None, command: "pytest" };
    let proof = write.add_proof(&new)?;
    let by = ProvenBy { proof, turn: None, at: minute(2), weak: None };
    write.prove(repository, &version(path, content), TESTS, by)
}

/// Each standing in one word: `a.py@1 tests` with the command, if it is proven.
fn words(standings: &[Standing]) -> Vec<String> {
    let word = |one: &Standing| {
        let command = one.proof.as_ref().map_or(String::new(), |proof| format!(" by {}", proof.command));
        format!("{}@{} {}{command}", one.version.path, one.version.content, one.action)
    };
    standings.iter().map(word).collect()
}

/// Less than the package has stays less, until more proves it.
#[test]
fn how_little_proved_a_content_is_kept() {
    let state = State::new();
    let mut journal = state.open();
    let weak = |read: &journal::Reading<'_>, repository| {
        let standings = read.standings(repository, &"a.py".into(), "1")?;
        Ok::<_, JournalError>(standings.into_iter().map(|standing| standing.weak).collect::<Vec<_>>())
    };
    let before = journal
        .write(|write| {
            let repository = write.see_repository(Path::new("/home/dev/app/.git"))?;
            let new = NewProof { at: minute(1), session: None, verdict: None, command: "python a.py" };
            let by = ProvenBy { proof: write.add_proof(&new)?, turn: None, at: minute(1), weak: Some("ran") };
            write.prove(repository, &version("a.py", "1"), TESTS, by)?;
            let before = weak(write, repository)?;
            prove(write, repository, "a.py", "1")?;
            Ok((before, weak(write, repository)?))
        })
        .unwrap();
    assert_eq!(before, (vec![Some("ran".to_owned())], vec![None]));
}

#[test]
fn content_that_comes_back_has_the_standing_it_had() {
    let state = State::new();
    let mut journal = state.open();
    let folder = Path::new("/home/dev/app/.git");
    let (repository, other) = journal
        .write(|write| {
            let (repository, turn) = (write.see_repository(folder)?, turn(write, "s")?);
            write.leave_unproven(repository, &version("a.py", "1"), TESTS, (turn, minute(1)))?;
            write.leave_unproven(repository, &version("gone.py", NO_FILE), TESTS, (turn, minute(1)))?;
            prove(write, repository, "a.py", "1")?;
            // Proven stays proven, and keeps who proved it.
            write.leave_unproven(repository, &version("a.py", "1"), TESTS, (turn, minute(3)))?;
            write.leave_unproven(repository, &version("a.py", "2"), TESTS, (turn, minute(3)))?;
            Ok((repository, write.see_repository(Path::new("/other/.git"))?))
        })
        .unwrap();
    journal
        .read(|read| {
            assert_eq!(read.repository(folder)?, Some(repository));
            assert_eq!(read.repository(Path::new("/unheard/.git"))?, None);
            let of = |content: &str| read.standings(repository, &"a.py".into(), content);
            assert_eq!(words(&of("1")?), ["a.py@1 tests by pytest"]);
            assert_eq!(words(&of("2")?), ["a.py@2 tests"]);
            assert_eq!(of("3")?, []);
            assert_eq!(read.standings(other, &"a.py".into(), "1")?, []);
            let unproven = read.unproven(repository, 9)?;
            assert_eq!(words(&unproven), ["a.py@2 tests", "gone.py@none tests"]);
            let session = unproven[0].session.clone().unwrap();
            let StandingSession { agent, client_id, .. } = session;
            assert_eq!((agent.as_str(), client_id.as_str(), unproven[0].since), ("claude", "s", minute(3)));
            assert_eq!(words(&read.unproven(repository, 1)?), ["a.py@2 tests"]);
            assert_eq!(words(&read.standings_since(repository, minute(2))?), ["a.py@2 tests"]);
            assert_eq!(read.standings_since(other, minute(0))?, []);
            Ok(())
        })
        .unwrap();
    journal
        .write(|write| {
            write.take_proof_back(repository, &version("a.py", "1"), TESTS)?;
            assert_eq!(write.standings(repository, &"a.py".into(), "1")?, []);
            Ok(())
        })
        .unwrap();
}

/// Old rows go, and of too many the proven ones first: what is forgotten there is asked for at worst once more.
#[test]
fn the_ledger_is_bounded() {
    let state = State::new();
    let mut journal = state.open();
    let repository = journal
        .write(|write| {
            let (repository, turn) =
                (write.see_repository(Path::new("/home/dev/app/.git"))?, turn(write, "s")?);
            write.leave_unproven(repository, &version("old.py", "1"), TESTS, (turn, minute(-1_000_000)))?;
            for number in 0..4 {
                let path = format!("unproven-{number}.py");
                write.leave_unproven(repository, &version(&path, "1"), TESTS, (turn, minute(1)))?;
            }
            for number in 0..6 {
                prove(write, repository, &format!("proven-{number}.py"), "1")?;
            }
            Ok(repository)
        })
        .unwrap();
    let limits = Limits { contents: 4, unproven: 2, ..Limits::default() };
    journal.write(|write| write.prune(minute(3), &limits)).unwrap();
    let unproven = journal.read(|read| read.unproven(repository, 9)).unwrap();
    assert_eq!(words(&unproven), ["unproven-3.py@1 tests", "unproven-2.py@1 tests"]);
    let proven: u32 = state
        .sqlite()
        .query_row("SELECT count(*) FROM contents WHERE proof IS NOT NULL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(proven, 4);
}
