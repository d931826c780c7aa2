//! The schema and its versions.
//!
//! `user_version` holds two numbers, `min_reader * 1000 + version`, which change in the same transaction as
//! the tables. A change that only adds (tables, columns with defaults) raises `version`: an older binary
//! still works on such a file, because it names its columns. A change that an older binary would get wrong
//! raises `min_reader` too, and the older binary then leaves the file alone.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::JournalError;

/// Step `n` brings version `n` to `n + 1`. A step that has been released is never changed.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
];

/// What this binary writes, and the newest `min_reader` it understands.
pub(crate) const VERSION: u32 = STEPS.len() as u32;
pub(crate) const MIN_READER: u32 = 1;

/// Marks the file as ours: "chks".
const APPLICATION_ID: u32 = 0x6368_6b73;

/// Makes the file usable for this binary, or says why it is not. An up-to-date file costs one read.
pub(crate) fn prepare(connection: &mut Connection, path: &Path, limit: Duration) -> Result<(), JournalError> {
    let failed = |source| JournalError::sorted(path, "read the schema version", source);
    if readable_version(connection, path)? >= VERSION {
        return Ok(());
    }
    let foreign = is_foreign(connection).map_err(failed)?;
    if foreign {
        return Err(JournalError::NotAJournal { path: path.to_owned() });
    }
    migrate(connection, limit)
        .map_err(|source| JournalError::sorted(path, "bring the schema up to date", source))
}

/// Says why the file is not usable for this binary, where it is not; changes nothing.
pub(crate) fn recognise(connection: &Connection, path: &Path) -> Result<(), JournalError> {
    let failed = |source| JournalError::sorted(path, "read the schema version", source);
    let version = readable_version(connection, path)?;
    if version < VERSION && is_foreign(connection).map_err(failed)? {
        return Err(JournalError::NotAJournal { path: path.to_owned() });
    }
    Ok(())
}

/// The version of the file, where this binary can read it.
fn readable_version(connection: &Connection, path: &Path) -> Result<u32, JournalError> {
    let failed = |source| JournalError::sorted(path, "read the schema version", source);
    let (min_reader, version) = stored_version(connection).map_err(failed)?;
    if min_reader > VERSION {
        return Err(JournalError::NewerSchema {
            path: path.to_owned(),
            found: min_reader,
            supported: VERSION,
        });
    }
    Ok(version)
}

/// Whether the file has tables that are not ours. One statement, since another process may create ours now.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT application_id <> ?1 AND EXISTS (SELECT 1 FROM sqlite_schema) FROM pragma_application_id",
        [APPLICATION_ID],
        |row| row.get(0),
    )
}

fn stored_version(connection: &Connection) -> rusqlite::Result<(u32, u32)> {
    let stored: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((stored / 1000, stored % 1000))
}

fn migrate(connection: &mut Connection, limit: Duration) -> rusqlite::Result<()> {
    switch_to_write_ahead_log(connection, limit)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while this one waited.
    let (_, version) = stored_version(&transaction)?;
    if version < VERSION {
        for step in STEPS.iter().skip(version as usize) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", MIN_READER * 1000 + VERSION)?;
    }
    transaction.commit()
}

/// SQLite does not wait for other processes when it changes the journal mode, so we do. A file system
/// without shared memory keeps the old mode; that is slower and otherwise the same.
fn switch_to_write_ahead_log(connection: &Connection, limit: Duration) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let changed = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match changed {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < limit =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            changed => return changed,
        }
    }
}
