//! Sessions: one conversation in one client, and what we remember about it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Row, params};

use crate::column::{Milliseconds, PathText, StoredPath};
use crate::{JournalError, Reading, Writing};

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionId(pub i64);

/// What a hook's payload tells about its session. A later hook that does not know one of the paths leaves
/// the known one in place.
#[derive(Clone, Copy, Debug)]
pub struct SeenSession<'a> {
    pub agent: &'a str,
    pub client_id: &'a str,
    pub directory: Option<&'a Path>,
    pub repository: Option<&'a Path>,
    pub transcript: Option<&'a Path>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub agent: String,
    /// The client's own id of the session.
    pub client_id: String,
    pub directory: Option<PathBuf>,
    pub repository: Option<PathBuf>,
    pub transcript: Option<PathBuf>,
    pub slug: Option<String>,
    pub pane: Option<String>,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, agent, client_id, directory, repository, transcript, slug, pane, started_at, seen_at"
    };
}

pub(crate) const SEE: &str = concat!(
    "INSERT INTO sessions (agent, client_id, directory, repository, transcript, started_at, seen_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
     ON CONFLICT (agent, client_id) DO UPDATE SET
         directory = coalesce(excluded.directory, directory),
         repository = coalesce(excluded.repository, repository),
         transcript = coalesce(excluded.transcript, transcript),
         seen_at = max(seen_at, excluded.seen_at)
     RETURNING ",
    columns!()
);
const FIND: &str = concat!("SELECT ", columns!(), " FROM sessions WHERE agent = ?1 AND client_id = ?2");
/// The session may have been elsewhere, and a stop of it judged the repository too.
const WORKED_IN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sessions WHERE repository = ?1 OR id IN
         (SELECT session FROM verdicts JOIN turns ON turns.id = turn WHERE verdicts.repository = ?1)
     ORDER BY seen_at DESC, id DESC LIMIT ?2"
);
const BY_ID: &str = concat!("SELECT ", columns!(), " FROM sessions WHERE id = ?1");
const RECENT: &str = concat!("SELECT ", columns!(), " FROM sessions ORDER BY seen_at DESC, id DESC LIMIT ?1");

impl Session {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let path =
            |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<StoredPath>>(column)?.map(|path| path.0));
        Ok(Self {
            id: SessionId(row.get(0)?),
            agent: row.get(1)?,
            client_id: row.get(2)?,
            directory: path(3)?,
            repository: path(4)?,
            transcript: path(5)?,
            slug: row.get(6)?,
            pane: row.get(7)?,
            started_at: row.get::<_, Milliseconds>(8)?.0,
            seen_at: row.get::<_, Milliseconds>(9)?.0,
        })
    }
}

impl Reading<'_> {
    pub fn session(&self, agent: &str, client_id: &str) -> Result<Option<Session>, JournalError> {
        self.row("read a session", FIND, (agent, client_id), Session::from_row)
    }

    pub fn session_by_id(&self, id: SessionId) -> Result<Option<Session>, JournalError> {
        self.row("read a session", BY_ID, [id.0], Session::from_row)
    }

    /// The sessions that were seen last, newest first.
    pub fn recent_sessions(&self, limit: usize) -> Result<Vec<Session>, JournalError> {
        self.rows("list the sessions", RECENT, [i64::try_from(limit).unwrap_or(i64::MAX)], Session::from_row)
    }

    /// The sessions that worked in a repository, by its root, newest first.
    pub fn sessions_in(&self, root: &Path, limit: usize) -> Result<Vec<Session>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = params![PathText(root), limit];
        self.rows("list the sessions of a repository", WORKED_IN, parameters, Session::from_row)
    }
}

impl Writing<'_> {
    /// Records that the session is alive, and returns all that is known of it.
    pub fn see_session(&self, seen: &SeenSession<'_>, at: Timestamp) -> Result<Session, JournalError> {
        let doing = "record a session";
        let parameters = params![
            seen.agent,
            seen.client_id,
            seen.directory.map(PathText),
            seen.repository.map(PathText),
            seen.transcript.map(PathText),
            Milliseconds(at),
        ];
        self.row(doing, SEE, parameters, Session::from_row)?
            .ok_or_else(|| self.failed(doing)(rusqlite::Error::QueryReturnedNoRows))
    }

    pub fn set_slug(&self, session: SessionId, slug: Option<&str>) -> Result<(), JournalError> {
        self.change(
            "set a session's work item",
            "UPDATE sessions SET slug = ?2 WHERE id = ?1",
            params![session.0, slug],
        )
        .map(drop)
    }

    pub fn set_pane(&self, session: SessionId, pane: Option<&str>) -> Result<(), JournalError> {
        self.change(
            "set a session's pane",
            "UPDATE sessions SET pane = ?2 WHERE id = ?1",
            params![session.0, pane],
        )
        .map(drop)
    }
}
