//! Sessions that a client keeps in a database of SQLite, each read as if it were a file with one message a line. Such a session is
//! named by the path of the database and its id: `…/name.db/session`; the database alone stands for the session written to last.
//!
//! Nothing is written, and nothing is made beside the database. While the client has it open, the newest messages are in its
//! write-ahead log: then the log is read with the client's own index of it, mapped read-only. Without a log the file is read as it
//! is. All of a reading is one transaction, so what the client writes meanwhile belongs to the next one.
//!
//! A database proves nothing: how long a line is, is taken from the index of the messages and kept to, whatever the rows say; the
//! schema's own functions are not trusted, and a view that never ends is ended.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::agent::Agent;
use crate::format;
use crate::source::Source;
use crate::unreadable::Unreadable;
use crate::window::LONGEST_LINE;

/// How a client's database is asked. No query has more than the parameter that it names.
#[derive(Debug)]
pub(crate) struct DatabaseFormat {
    /// The session that was written to last, and is no sub-agent's.
    pub(crate) latest: &'static str,
    /// All sessions, those first that were written to last: `id`, folder, and the id of the session that started it.
    pub(crate) sessions: &'static str,
    /// The messages of the session `?1`, the last one first: row, and how many bytes its line has.
    pub(crate) messages: &'static str,
    /// The line of the message in row `?1`, without its newline.
    pub(crate) line: &'static str,
}

/// A session in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    pub id: String,
    /// What it is read by.
    pub path: PathBuf,
    pub folder: Option<PathBuf>,
    pub is_subagent: bool,
}

/// More messages than a session has; a database that claims more must not fill the memory.
const MOST_MESSAGES: usize = 200_000;

/// More sessions than are looked through.
const MOST_SESSIONS: usize = 20_000;

/// The client may be in the middle of a write.
const BUSY: Duration = Duration::from_millis(100);

/// So many instructions of SQLite's machine at a time, and so often: a second's work.
const INSTRUCTIONS: i32 = 10_000;
const MOST_ROUNDS: u32 = 5_000;

const MAGIC: &[u8] = b"SQLite format 3\0";

/// What of a file tells whether it is a database.
pub(crate) const HEAD: usize = MAGIC.len();

/// Whether these first bytes of a file are a database's.
pub(crate) fn is_database(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The sessions in the database at `path`, those first that were written to last; none where it is no client's.
pub fn sessions(path: &Path) -> Vec<StoredSession> {
    asked_sessions(path, None)
}

/// The files that a client writes a transcript into, which need not be there: the one at `path`, or the database and its write-ahead log.
pub fn written_files(path: &Path) -> Vec<PathBuf> {
    match path.parent().filter(|parent| parent.is_file()) {
        Some(database) => {
            let mut log = database.as_os_str().to_owned();
            log.push("-wal");
            vec![database.to_owned(), log.into()]
        }
        None => vec![path.to_owned()],
    }
}

/// Whether there is anything at the path of a transcript.
pub fn is_there(path: &Path) -> bool {
    written_files(path).first().is_some_and(|file| file.is_file())
}

/// The session that `path` names.
pub fn stored_session(path: &Path) -> Option<StoredSession> {
    let (database, id) = (path.parent()?, path.file_name()?.to_str()?);
    let found = if database.is_file() { asked_sessions(database, Some(id)) } else { Vec::new() };
    found.into_iter().next()
}

/// The sessions in a database, or only the one with this id.
fn asked_sessions(path: &Path, id: Option<&str>) -> Vec<StoredSession> {
    let Ok((connection, _, format)) = open(path) else { return Vec::new() };
    stored_sessions(&connection, format, path, id).unwrap_or_default()
}

fn stored_sessions(
    connection: &Connection,
    format: &DatabaseFormat,
    path: &Path,
    id: Option<&str>,
) -> rusqlite::Result<Vec<StoredSession>> {
    let asked = format!("SELECT * FROM ({}) WHERE ?1 IS NULL OR id = ?1", format.sessions);
    let mut statement = connection.prepare(&asked)?;
    let rows = statement.query_map([id], |row| {
        let id: String = row.get(0)?;
        Ok(StoredSession {
            path: path.join(&id),
            folder: row.get::<_, Option<String>>(1)?.map(PathBuf::from),
            is_subagent: row.get::<_, Option<String>>(2)?.is_some(),
            id,
        })
    })?;
    // An id that is a path would lead elsewhere.
    let is_name = |session: &StoredSession| !session.id.is_empty() && !session.id.contains('/');
    Ok(rows.map_while(Result::ok).filter(is_name).take(MOST_SESSIONS).collect())
}

/// The lines of one session.
pub(crate) struct SessionLines {
    connection: Connection,
    format: &'static DatabaseFormat,
    pub(crate) agent: Agent,
    /// In the order of the session.
    messages: Vec<MessagePlace>,
    /// The message that was read last: windows end anywhere.
    last: RefCell<Option<(i64, Vec<u8>)>>,
}

struct MessagePlace {
    row: i64,
    /// With its newline.
    range: Range<u64>,
}

/// The session with this id in the database at `path`, or the one written to last.
pub(crate) fn source(path: &Path, session: Option<&str>) -> Result<Source<'static>, Unreadable> {
    let (connection, agent, format) = open(path)?;
    let lines = SessionLines::new(connection, agent, format, session).map_err(unreadable)?;
    let len = lines.messages.last().map_or(0, |message| message.range.end);
    Ok(Source::Database { lines: Rc::new(lines), len })
}

fn unreadable(error: rusqlite::Error) -> Unreadable {
    Unreadable::Database(error.to_string())
}

fn open(path: &Path) -> Result<(Connection, Agent, &'static DatabaseFormat), Unreadable> {
    let connection = connect(path).map_err(unreadable)?;
    let known = |agent: Agent| Some((agent, format::of(agent).database.as_ref()?));
    let mut problem = None;
    for (agent, format) in Agent::ALL.into_iter().filter_map(known) {
        let asked = [format.messages, format.latest, format.sessions, format.line];
        let fits = asked.into_iter().try_for_each(|query| connection.prepare(query).map(drop));
        match fits {
            Ok(()) => return Ok((connection, agent, format)),
            Err(error) => problem = Some(error),
        }
    }
    Err(match problem {
        // Another program's tables, or none.
        Some(rusqlite::Error::SqlInputError { .. }) | None => Unreadable::UnknownClient,
        Some(error) => unreadable(error),
    })
}

/// Opens a database so that nothing is written: neither into it nor beside it.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    // Without a log all that was written is in the file, and a plain opening would make a log.
    let has_log = fs_err::metadata(beside("-wal")).is_ok_and(|log| log.len() > 0);
    let how = if has_log { "mode=ro&readonly_shm=1" } else { "immutable=1" };
    let uri = format!("file:{}?{how}", uri_path(path));
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(uri, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_LINE as i32 + 4096)?;
    let mut rounds = 0;
    connection.progress_handler(
        INSTRUCTIONS,
        Some(move || {
            rounds += 1;
            rounds > MOST_ROUNDS
        }),
    )?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cell_size_check = ON; BEGIN")?;
    Ok(connection)
}

/// A path as it stands in a URI.
fn uri_path(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let mut uri = String::new();
    for byte in path.as_os_str().as_bytes() {
        if plain(*byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

impl SessionLines {
    fn new(
        connection: Connection,
        agent: Agent,
        format: &'static DatabaseFormat,
        session: Option<&str>,
    ) -> rusqlite::Result<Self> {
        let session = match session {
            Some(session) => session.to_owned(),
            None => connection.query_row(format.latest, [], |row| row.get(0))?,
        };
        let mut found: Vec<(i64, u64)> = Vec::new();
        {
            let mut statement = connection.prepare(format.messages)?;
            let mut rows = statement.query([session])?;
            while let Some(row) = rows.next()? {
                if found.len() == MOST_MESSAGES {
                    break;
                }
                found.push((row.get(0)?, u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default()));
            }
        }
        let mut messages = Vec::with_capacity(found.len());
        let mut start = 0_u64;
        for (row, length) in found.into_iter().rev() {
            let end = start.saturating_add(length).saturating_add(1);
            messages.push(MessagePlace { row, range: start..end });
            start = end;
        }
        Ok(Self { connection, format, agent, messages, last: RefCell::new(None) })
    }

    /// Appends the bytes from `offset` on to the buffer.
    pub(crate) fn append_at(&self, buffer: &mut Vec<u8>, length: usize, offset: u64) -> io::Result<()> {
        let end = offset.saturating_add(length as u64);
        let mut at = offset;
        let first = self.messages.partition_point(|message| message.range.end <= offset);
        for message in self.messages.get(first..).unwrap_or_default() {
            if at >= end {
                break;
            }
            let until = message.range.end.min(end);
            let wanted = (at - message.range.start) as usize..(until - message.range.start) as usize;
            self.append_line(buffer, message, wanted)?;
            at = until;
        }
        if at < end { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Appends a part of a message's line, which is as long as its place says.
    fn append_line(
        &self,
        buffer: &mut Vec<u8>,
        message: &MessagePlace,
        wanted: Range<usize>,
    ) -> io::Result<()> {
        let length = (message.range.end - message.range.start) as usize;
        // It will be passed over, so nobody needs to know what is in it.
        if length > LONGEST_LINE + 1 {
            buffer.resize(buffer.len() + wanted.len(), b'-');
            if wanted.end == length
                && let Some(last) = buffer.last_mut()
            {
                *last = b'\n';
            }
            return Ok(());
        }
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(row, _)| *row != message.row) {
            let mut line = self.line(message.row).map_err(io::Error::other)?;
            line.retain(|byte| *byte != b'\n');
            line.resize(length.saturating_sub(1), b' ');
            line.push(b'\n');
            *last = Some((message.row, line));
        }
        if let Some((_, line)) = last.as_ref() {
            buffer.extend_from_slice(line.get(wanted).unwrap_or_default());
        }
        Ok(())
    }

    fn line(&self, row: i64) -> rusqlite::Result<Vec<u8>> {
        let mut statement = self.connection.prepare_cached(self.format.line)?;
        statement.query_row([row], |row| match row.get_ref(0)? {
            rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
                Ok(text.to_vec())
            }
            _ => Ok(Vec::new()),
        })
    }
}
