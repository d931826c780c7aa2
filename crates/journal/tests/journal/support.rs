//! A state directory of its own for every test, fixed times, and child processes that run a job of `worker`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use change_set::Scope;
use gate::Decision;
use jiff::Timestamp;
use journal::{
    AutosaveOutcome, Inputs, Journal, JournalError, NewAutosave, NewTurn, NewVerdict, OpenFor, PushState,
    SeenSession, SessionId, Turn, TurnId, VerdictId, Writing,
};
use tempfile::TempDir;

pub(crate) const JOB: &str = "JOURNAL_TEST_JOB";

pub(crate) struct State {
    root: TempDir,
}

impl State {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    /// Not there yet: the journal makes it.
    pub(crate) fn directory(&self) -> PathBuf {
        self.root.path().join("state/checkstone")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.directory().join("journal.db")
    }

    pub(crate) fn open(&self) -> Journal {
        Journal::open(&self.directory(), OpenFor::Hook).unwrap()
    }

    /// Any SQL, past the journal's own interface.
    pub(crate) fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }
}

/// Minutes after a fixed instant.
pub(crate) fn minute(minutes: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + 60 * minutes).unwrap()
}

pub(crate) fn see(write: &Writing<'_>, client_id: &str) -> Result<SessionId, JournalError> {
    let seen =
        SeenSession { agent: "claude", client_id, directory: None, repository: None, transcript: None };
    Ok(write.see_session(&seen, minute(0))?.id)
}

pub(crate) fn open_turn(
    write: &Writing<'_>,
    session: SessionId,
    key: Option<&str>,
) -> Result<Turn, JournalError> {
    write.open_turn(&NewTurn { session, key, opened_at: minute(0), prompt: "do it", baseline: None })
}

pub(crate) fn record(
    write: &Writing<'_>,
    turn: TurnId,
    decision: Decision,
    inputs: &[u8],
) -> Result<VerdictId, JournalError> {
    write.record_verdict(&NewVerdict {
        turn,
        repository: None,
        at: minute(1),
        decision,
        scope: Some(Scope::TurnBaseline),
        message: "steps",
        timings: "{}",
        inputs: Inputs { version: 1, bytes: inputs },
    })
}

/// An autosave that came to a commit and whose push has begun.
pub(crate) fn autosave(session: Option<SessionId>) -> NewAutosave<'static> {
    NewAutosave {
        session,
        turn: None,
        at: minute(2),
        repository: Path::new("/project"),
        reason: "context_threshold",
        percent: Some(41),
        outcome: AutosaveOutcome::Saved,
        detail: "",
        snapshot: Some("20270115-080200-3fa2c1"),
        commit: Some("0123456789012345678901234567890123456789"),
        branch: Some("main"),
        milliseconds: 120,
        push: PushState::Started,
        push_detail: "",
    }
}

/// A child process that runs a job. It says how far it is on its standard error; closing its standard input
/// is the starting signal for those that wait for one.
pub(crate) fn spawn(job: &[&str]) -> Child {
    job_command(&std::env::current_exe().unwrap(), job).spawn().unwrap()
}

pub(crate) fn job_command(program: &Path, job: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--ignored", "--exact", "worker::job", "--nocapture", "--test-threads=1"])
        .env(JOB, job.join("\n"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// What the child has still to say, after it ended well.
pub(crate) fn finish(mut child: Child) -> String {
    drop(child.stdin.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {said}");
    said
}

/// A number for soak runs from the environment, else the small one.
pub(crate) fn count(name: &str, otherwise: u64) -> u64 {
    variable(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "tests get their counts and jobs through the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}
