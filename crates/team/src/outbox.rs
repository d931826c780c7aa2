//! What waits to be sent, in a file of its own beside the journal, so that no hook ever waits for it: the events, how far the journal was
//! read, and how the last try ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use database::TeamEvent;
use jiff::Timestamp;
use journal::{TurnId, VerdictId};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

const FILE_NAME: &str = "team.db";

/// Somebody looks while somebody sends.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, note TEXT NOT NULL) WITHOUT ROWID;";

#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`", path.display())]
pub struct OutboxError {
    path: PathBuf,
    source: rusqlite::Error,
}

/// How far the journal was read: the last records, and their times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Progress {
    pub(crate) turn: TurnId,
    pub(crate) turn_at: Timestamp,
    pub(crate) verdict: VerdictId,
    pub(crate) verdict_at: Timestamp,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            turn: TurnId(0),
            turn_at: Timestamp::UNIX_EPOCH,
            verdict: VerdictId(0),
            verdict_at: Timestamp::UNIX_EPOCH,
        }
    }
}

/// How the last try to send ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastTry {
    /// When something was last sent.
    pub sent_at: Option<Timestamp>,
    /// How many events were sent since the file was made.
    pub sent: u64,
    /// When and why it did not work, if the last try failed.
    pub failed_at: Option<Timestamp>,
    pub error: Option<String>,
    /// In seconds: this machine's clock against the database's.
    pub clock_ahead: f64,
}

#[derive(Debug)]
pub struct Outbox {
    path: PathBuf,
    connection: Connection,
}

/// Events with the numbers that they have in the outbox.
#[derive(Debug)]
pub(crate) struct WaitingEvents {
    pub(crate) events: Vec<TeamEvent>,
    last: i64,
}

impl Outbox {
    /// Makes the file where there is none; the directory must be there.
    pub fn open(state: &Path) -> Result<Self, OutboxError> {
        let path = state.join(FILE_NAME);
        if !path.exists() {
            // SQLite gives its other files the same mode. A file that cannot be made is its complaint, too.
            let _ = files::regular_file::append(&path, 0o600);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&path, flags).and_then(|connection| {
            connection.busy_timeout(LONGEST_WAIT)?;
            connection.execute_batch(TABLES)?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => Ok(Self { path, connection }),
            Err(source) => Err(OutboxError { path, source }),
        }
    }

    /// For those who only look; `None` where nothing was ever to be sent.
    pub fn open_existing(state: &Path) -> Result<Option<Self>, OutboxError> {
        let path = state.join(FILE_NAME);
        if !path.exists() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&path, flags)
            .and_then(|connection| connection.busy_timeout(LONGEST_WAIT).map(|()| connection));
        match opened {
            Ok(connection) => Ok(Some(Self { path, connection })),
            Err(source) => Err(OutboxError { path, source }),
        }
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> OutboxError + use<> {
        let path = self.path.clone();
        move |source| OutboxError { path: path.clone(), source }
    }

    /// How many events wait.
    pub fn waiting(&self) -> Result<u64, OutboxError> {
        let count = self.connection.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0));
        count.map(|count| count.try_into().unwrap_or(0)).map_err(self.failed())
    }

    pub fn last_try(&self) -> Result<LastTry, OutboxError> {
        Ok(self.note("last try")?.and_then(|note| serde_json::from_str(&note).ok()).unwrap_or_default())
    }

    pub(crate) fn progress(&self) -> Result<Progress, OutboxError> {
        let note = self.note("progress")?;
        let numbers: Option<[i64; 4]> = note.and_then(|note| serde_json::from_str(&note).ok());
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(numbers.map_or_else(Progress::default, |[turn, turn_at, verdict, verdict_at]| Progress {
            turn: TurnId(turn),
            turn_at: time(turn_at),
            verdict: VerdictId(verdict),
            verdict_at: time(verdict_at),
        }))
    }

    /// Adds events, and that the journal was read so far, both or neither.
    pub(crate) fn add(&mut self, events: &[TeamEvent], progress: &Progress) -> Result<(), OutboxError> {
        let failed = self.failed();
        let numbers = [
            progress.turn.0,
            progress.turn_at.as_millisecond(),
            progress.verdict.0,
            progress.verdict_at.as_millisecond(),
        ];
        let add = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            {
                let mut insert = transaction.prepare_cached("INSERT INTO events (event) VALUES (?1)")?;
                for event in events {
                    insert.execute([serde_json::to_string(event).unwrap_or_default()])?;
                }
            }
            set_note(&transaction, "progress", &serde_json::json!(numbers).to_string())?;
            transaction.commit()
        };
        add(&mut self.connection).map_err(failed)
    }

    /// The first events that wait.
    pub(crate) fn first(&self, limit: usize) -> Result<WaitingEvents, OutboxError> {
        let read = || {
            let mut statement = self
                .connection
                .prepare_cached("SELECT number, event FROM events ORDER BY number LIMIT ?1")?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(i64, String)>>>()
        };
        let rows = read().map_err(self.failed())?;
        let last = rows.last().map_or(0, |(number, _)| *number);
        // What cannot be read was not written by this program, and nobody could send it.
        let events = rows.iter().filter_map(|(_, event)| serde_json::from_str(event).ok()).collect();
        Ok(WaitingEvents { events, last })
    }

    /// They arrived.
    pub(crate) fn take_out(&mut self, sent: &WaitingEvents, tried: &LastTry) -> Result<(), OutboxError> {
        let failed = self.failed();
        let take = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            transaction.execute("DELETE FROM events WHERE number <= ?1", [sent.last])?;
            set_note(&transaction, "last try", &serde_json::to_string(tried).unwrap_or_default())?;
            transaction.commit()
        };
        take(&mut self.connection).map_err(failed)
    }

    pub(crate) fn set_last_try(&mut self, tried: &LastTry) -> Result<(), OutboxError> {
        let note = serde_json::to_string(tried).unwrap_or_default();
        set_note(&self.connection, "last try", &note).map_err(self.failed())
    }

    fn note(&self, name: &str) -> Result<Option<String>, OutboxError> {
        let query = "SELECT note FROM notes WHERE name = ?1";
        self.connection.query_row(query, [name], |row| row.get(0)).optional().map_err(self.failed())
    }
}

impl WaitingEvents {
    pub(crate) fn is_empty(&self) -> bool {
        self.last == 0
    }
}

fn set_note(connection: &Connection, name: &str, note: &str) -> rusqlite::Result<()> {
    let statement = "INSERT INTO notes (name, note) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET note = excluded.note";
    connection.execute(statement, params![name, note]).map(drop)
}
