//! The journal for somebody who must not change it: is it sound, and where were the hooks registered? Read only and bounded
//! in time: for a person who asks, not for the hook.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::{JournalError, Reading, Registration, journal, schema};

/// What an examination found, where it found no fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Soundness {
    /// Nothing was ever recorded.
    Missing,
    /// Every page was looked at.
    Sound,
    /// What was looked at until the limit is sound.
    SoundSoFar,
}

/// Looks through the whole file, for at most `limit`. Changes neither the file nor its version.
pub fn examine(directory: &Path, limit: Duration) -> Result<Soundness, JournalError> {
    let path = directory.join(journal::FILE_NAME);
    let failed = |source| JournalError::sorted(&path, "look through the file", source);
    let Some(connection) = connect(&path, limit)? else { return Ok(Soundness::Missing) };
    let handle = connection.get_interrupt_handle();
    let (done, is_done) = mpsc::channel::<()>();
    let found = std::thread::scope(|scope| {
        scope.spawn(move || {
            // An interruption that comes before the query has begun is lost, hence again and again.
            let mut wait = limit;
            while is_done.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                handle.interrupt();
                wait = Duration::from_millis(1);
            }
        });
        let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        drop(done);
        found
    });
    match found {
        Ok(word) if word == "ok" => Ok(Soundness::Sound),
        Ok(detail) => Err(JournalError::Corrupt { path, detail }),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            Ok(Soundness::SoundSoFar)
        }
        Err(source) => Err(failed(source)),
    }
}

/// Where the hooks were registered when they were seen last. Nothing, where an older version wrote the journal.
pub fn known_registrations(directory: &Path, limit: Duration) -> Result<Vec<Registration>, JournalError> {
    let path = directory.join(journal::FILE_NAME);
    let Some(connection) = connect(&path, limit)? else { return Ok(Vec::new()) };
    let has_table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'registrations')";
    let reading = Reading { connection: &connection, path: &path };
    match reading.row("look for a table", has_table, (), |row| row.get(0))? {
        Some(true) => reading.registrations(),
        _ => Ok(Vec::new()),
    }
}

/// `None` if nothing was ever recorded.
fn connect(path: &Path, limit: Duration) -> Result<Option<Connection>, JournalError> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(None) };
    if !metadata.is_file() {
        return Err(JournalError::NotAFile { path: path.to_owned() });
    }
    let failed = |source| JournalError::sorted(path, "look through the file", source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(limit).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    schema::recognise(&connection, path)?;
    Ok(Some(connection))
}
