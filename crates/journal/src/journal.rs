//! Opening the journal, and its two kinds of access: reading, and writing in one transaction.
//!
//! A hook is a process of milliseconds, so closing must not cost a disk flush: the write-ahead log stays as
//! it is when the file is closed, and is folded into the database only once it has grown past a bound. Killing
//! the process loses nothing that was committed. A power cut can lose the last commits of hooks (what the
//! kernel had not yet written by itself, some seconds), never older ones and never the consistency of the
//! file. At worst a turn is then held once more. Commits of commands are flushed at once.

use std::ffi::OsString;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use files::{FileError, regular_file};
use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, ErrorCode, MAIN_DB, OpenFlags, OptionalExtension, Transaction, TransactionBehavior,
};

use crate::{JournalError, delivery, ledger, schema, session, state_directory, turn, verdict, waiver};

pub(crate) const FILE_NAME: &str = "journal.db";

/// A longer write-ahead log is folded into the database at close. Every opening reads all of it, so a larger
/// bound makes every hook slower, and a smaller one makes more of them pay for the flush.
const LONGEST_WRITE_AHEAD_LOG: u64 = 512 * 1024;

/// Who opens the journal decides how long to wait and how firmly to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OpenFor {
    /// An agent waits: at most half a second for a lock that nobody gives back; commits survive a kill, not always a power cut.
    Hook,
    /// A person waits: some seconds for locks; commits survive a power cut.
    Command,
}

impl OpenFor {
    fn lock_limit(self) -> Duration {
        match self {
            // Fifty hooks at once share the processors: whoever has the lock may not run for a while.
            Self::Hook => Duration::from_millis(500),
            Self::Command => Duration::from_secs(5),
        }
    }

    fn synchronous(self) -> &'static str {
        match self {
            Self::Hook => "PRAGMA synchronous = NORMAL",
            Self::Command => "PRAGMA synchronous = FULL",
        }
    }
}

/// The open journal. Drop it after the answer is printed, since closing may fold the write-ahead log; and do
/// drop it, or [`Journal::leave`] it: a process that exits around this leaves the folding to others.
#[derive(Debug)]
pub struct Journal {
    connection: Connection,
    path: PathBuf,
    lock_limit: Duration,
    wrote: bool,
}

impl Journal {
    /// Opens the journal in `directory`; creates both where they are missing, for this user only.
    pub fn open(directory: &Path, open_for: OpenFor) -> Result<Self, JournalError> {
        let limit = open_for.lock_limit();
        let path = directory.join(FILE_NAME);
        let mut connection = match connect(&path) {
            Ok(connection) if !is_read_only(&connection) => connection,
            _ => {
                create(directory, &path)?;
                connect(&path).map_err(|source| JournalError::sorted(&path, "open the file", source))?
            }
        };
        let failed = |source| JournalError::sorted(&path, "set up the connection", source);
        connection.busy_timeout(limit).map_err(failed)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true).map_err(failed)?;
        // What is prepared stays as it is: else the values that are bound have it planned again.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
        schema::prepare(&mut connection, &path, limit)?;
        connection.execute_batch(open_for.synchronous()).map_err(failed)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(failed)?;
        Ok(Self { connection, path, lock_limit: limit, wrote: false })
    }

    /// Whether there is a journal in `directory`, for those who must not create one by looking.
    pub fn exists(directory: &Path) -> bool {
        directory.join(FILE_NAME).symlink_metadata().is_ok()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a consistent state, without waiting for writers.
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&Reading<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Deferred);
        let transaction = transaction.map_err(|source| JournalError::sorted(&self.path, "read", source))?;
        read(&Reading { connection: &transaction, path: &self.path })
    }

    /// Writes all that `write` asks for, or nothing where it or the commit fails. Only after `Ok` may a
    /// caller act on what it decided inside, such as a hold.
    pub fn write<T>(
        &mut self,
        write: impl FnOnce(&Writing<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let transaction = wait_for_turn(&self.connection, self.lock_limit)
            .map_err(|source| JournalError::sorted(&self.path, "begin to write", source))?;
        let value = write(&Writing(Reading { connection: &transaction, path: &self.path }))?;
        transaction.commit().map_err(|source| JournalError::sorted(&self.path, "commit", source))?;
        self.wrote = true;
        Ok(value)
    }

    /// Prepares what a stop records. For a caller who has time now and none later.
    pub fn prepare_to_record(&self) {
        let ledger = [
            ledger::STANDINGS,
            ledger::UNPROVEN,
            ledger::RECENT,
            ledger::ADD_PROOF,
            ledger::PROVE,
            ledger::LEAVE_UNPROVEN,
        ];
        let others = [session::SEE, delivery::FIRST, turn::COUNT_HOLD, verdict::RECORD, waiver::HELD];
        for statement in others.into_iter().chain(ledger) {
            // What cannot be prepared now fails where it is used.
            let _ = self.connection.prepare_cached(statement);
        }
    }

    /// For a process that ends at once: where the write-ahead log need not be folded, the kernel closes the files
    /// and drops the locks faster than SQLite takes its leave.
    pub fn leave(self) {
        if self.is_log_long() {
            drop(self);
        } else {
            std::mem::forget(self);
        }
    }

    fn is_log_long(&self) -> bool {
        let log = with_suffix(&self.path, "-wal");
        self.wrote && log.metadata().is_ok_and(|log| log.len() > LONGEST_WRITE_AHEAD_LOG)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.is_log_long() && self.connection.busy_timeout(Duration::ZERO).is_ok() {
            // Where others are reading, one of the next processes will manage.
            let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        }
    }
}

/// A consistent view of the journal. The methods are beside the things they read.
#[derive(Debug)]
pub struct Reading<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) path: &'a Path,
}

impl Reading<'_> {
    pub(crate) fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> JournalError {
        move |source| JournalError::sorted(self.path, doing, source)
    }

    /// The one row of a query, made by `read`, where there is one. Statements are kept: the hook prepares those that
    /// it will need while it waits for git.
    pub(crate) fn row<T>(
        &self,
        doing: &'static str,
        query: &str,
        parameters: impl rusqlite::Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, JournalError> {
        let statement = self.connection.prepare_cached(query);
        statement
            .and_then(|mut statement| statement.query_row(parameters, read).optional())
            .map_err(self.failed(doing))
    }

    /// All rows of a query, each made by `read`.
    pub(crate) fn rows<T>(
        &self,
        doing: &'static str,
        query: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, JournalError> {
        let failed = self.failed(doing);
        let mut statement = self.connection.prepare_cached(query).map_err(&failed)?;
        let rows = statement.query_map(parameters, read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }
}

/// The one writing transaction that all processes take in turn.
#[derive(Debug)]
pub struct Writing<'a>(Reading<'a>);

impl Writing<'_> {
    /// How many rows the statement changed.
    pub(crate) fn change(
        &self,
        doing: &'static str,
        statement: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<usize, JournalError> {
        let prepared = self.connection.prepare_cached(statement);
        prepared.and_then(|mut prepared| prepared.execute(parameters)).map_err(self.failed(doing))
    }
}

impl<'a> Deref for Writing<'a> {
    type Target = Reading<'a>;

    fn deref(&self) -> &Reading<'a> {
        &self.0
    }
}

/// Renames a damaged journal, so that the next opening begins a new one; returns its new name. Nothing is
/// deleted: the write-ahead log goes with it.
pub fn set_aside(directory: &Path, at: Timestamp) -> Result<PathBuf, JournalError> {
    let path = directory.join(FILE_NAME);
    let aside = with_suffix(&path, &format!(".damaged-{}", at.as_millisecond()));
    // The log first: a new database must never meet the old one's log, which SQLite would replay into it.
    for suffix in ["-wal", "-shm", ""] {
        let (from, to) = (with_suffix(&path, suffix), with_suffix(&aside, suffix));
        match fs_err::rename(&from, &to) {
            Err(source) if source.kind() != io::ErrorKind::NotFound || suffix.is_empty() => {
                return Err(JournalError::SetAside { from, to, source });
            }
            _ => {}
        }
    }
    Ok(aside)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// If SQLite cannot open a file for writing, it tries again for reading only. So a connection is also read-only if another
/// process created the file between the two attempts.
fn is_read_only(connection: &Connection) -> bool {
    connection.is_readonly(MAIN_DB).unwrap_or(false)
}

/// An empty file, which `schema::prepare` fills. SQLite gives its other files the same mode.
fn create(directory: &Path, path: &Path) -> Result<(), JournalError> {
    state_directory::create(directory).map_err(JournalError::Create)?;
    match regular_file::append(path, 0o600) {
        Ok(_) => Ok(()),
        // It is there and cannot be opened, which SQLite says better.
        Err(_) if path.is_file() => Ok(()),
        Err(FileError::NotAFile { path } | FileError::SymbolicLink { path }) => {
            Err(JournalError::NotAFile { path })
        }
        Err(error) => Err(JournalError::Create(error)),
    }
}

/// A queue of writers that moves is waited for so many times longer than a lock that nobody gives back.
const LONGEST_QUEUE: u32 = 10;

/// Begins a writing transaction. SQLite's own waiting sleeps ever longer, so that the process that has waited
/// longest looks least often: of fifty hooks at once some then ran into the limit. This one looks every
/// millisecond, and counts anew whenever another process has written.
fn wait_for_turn(connection: &Connection, limit: Duration) -> rusqlite::Result<Transaction<'_>> {
    let start = Instant::now();
    let mut moved = (start, None);
    connection.busy_timeout(Duration::ZERO)?;
    loop {
        let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
        let is_busy =
            matches!(&begun, Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy));
        if is_busy {
            let seen = connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0)).ok();
            if seen != moved.1 {
                moved = (Instant::now(), seen);
            }
        }
        if !is_busy || moved.0.elapsed() >= limit || start.elapsed() >= limit * LONGEST_QUEUE {
            connection.busy_timeout(limit)?;
            return begun;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
