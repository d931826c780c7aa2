//! What reduced checking, or tried to, and which sessions changed the same files: when, by whom, and whether the person has
//! heard of it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Row, params};

use crate::column::{Milliseconds, PathText, StoredPath, words};
use crate::{JournalError, Reading, Writing};

/// Longer sentences are cut: a repository's file names its keys as it likes.
const LONGEST_TEXT: usize = 1000;

/// How the keys of notices begin that tell of files which two sessions changed; all others tell of what reduced checking.
pub const SHARED_FILES: &str = "shared-files:";

/// Who did it, as well as that is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Author {
    Person,
    /// The agent itself, by a command of its own.
    Agent,
    /// Somebody, while the agent worked.
    DuringTurn,
    Unknown,
}

words!(Author { Person = "person", Agent = "agent", DuringTurn = "during-turn", Unknown = "unknown", });

#[derive(Clone, Copy, Debug)]
pub struct NewNotice<'a> {
    pub at: Timestamp,
    pub author: Author,
    /// The agent and the client's own id of the session that it is about.
    pub agent: Option<&'a str>,
    pub client_id: Option<&'a str>,
    pub repository: Option<&'a Path>,
    /// The same thing is noted once.
    pub key: Option<&'a str>,
    /// The person knows already, since they did it.
    pub is_told: bool,
    /// One sentence.
    pub text: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub at: Timestamp,
    pub author: Author,
    pub agent: Option<String>,
    pub client_id: Option<String>,
    pub repository: Option<PathBuf>,
    pub text: String,
}

const COLUMNS: &str = "at, author, agent, client_id, repository, text";

/// Untold notices of a session, and those that are of no session in particular.
const UNTOLD: &str =
    "is_told = 0 AND (agent IS NULL OR agent = ?1) AND (client_id IS NULL OR client_id = ?2)";

impl Notice {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            at: row.get::<_, Milliseconds>(0)?.0,
            author: row.get(1)?,
            agent: row.get(2)?,
            client_id: row.get(3)?,
            repository: row.get::<_, Option<StoredPath>>(4)?.map(|path| path.0),
            text: row.get(5)?,
        })
    }
}

impl Reading<'_> {
    /// What reduced checking in a repository, or in all of them, newest first.
    pub fn recent_notices(
        &self,
        repository: Option<&Path>,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Notice>, JournalError> {
        self.notices(false, repository, since, limit)
    }

    /// Which sessions changed the same files, newest first.
    pub fn shared_files(
        &self,
        repository: Option<&Path>,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Notice>, JournalError> {
        self.notices(true, repository, since, limit)
    }

    fn notices(
        &self,
        is_shared: bool,
        repository: Option<&Path>,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Notice>, JournalError> {
        let recent = format!(
            "SELECT {COLUMNS} FROM notices
             WHERE at >= ?2 AND (?1 IS NULL OR repository IS NULL OR repository = ?1)
                 AND (coalesce(key, '') LIKE '{SHARED_FILES}%') = ?4
             ORDER BY id DESC LIMIT ?3"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = params![repository.map(PathText), Milliseconds(since), limit, is_shared];
        self.rows("list the notices", &recent, parameters, Notice::from_row)
    }

    /// Whether something was noted under this key.
    pub fn has_notice(&self, key: &str) -> Result<bool, JournalError> {
        let any = "SELECT EXISTS (SELECT 1 FROM notices WHERE key = ?1)";
        Ok(self.row("look for a notice", any, [key], |row| row.get(0))?.unwrap_or(false))
    }

    /// Whether the person of this session has something to hear.
    pub fn has_untold_notices(&self, agent: &str, client_id: &str) -> Result<bool, JournalError> {
        let any = format!("SELECT EXISTS (SELECT 1 FROM notices WHERE {UNTOLD})");
        Ok(self.row("look for notices", &any, (agent, client_id), |row| row.get(0))?.unwrap_or(false))
    }
}

impl Writing<'_> {
    /// Whether it is a new one.
    pub fn add_notice(&self, new: &NewNotice<'_>) -> Result<bool, JournalError> {
        let changed = self.change(
            "note what reduces checking",
            "INSERT INTO notices (at, author, agent, client_id, repository, key, is_told, text)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
            params![
                Milliseconds(new.at),
                new.author.as_str(),
                new.agent,
                new.client_id,
                new.repository.map(PathText),
                new.key,
                new.is_told,
                text::head(new.text, LONGEST_TEXT),
            ],
        )?;
        Ok(changed == 1)
    }

    /// What the person of this session has to hear, oldest first. Of several processes that ask at once, one gets it.
    pub fn take_untold_notices(&self, agent: &str, client_id: &str) -> Result<Vec<Notice>, JournalError> {
        let untold = format!("SELECT {COLUMNS} FROM notices WHERE {UNTOLD} ORDER BY id");
        let notices = self.rows("read the notices", &untold, (agent, client_id), Notice::from_row)?;
        let told = format!("UPDATE notices SET is_told = 1 WHERE {UNTOLD}");
        self.change("mark the notices as reported", &told, (agent, client_id))?;
        Ok(notices)
    }

    /// What was noted under this key does not hold any more.
    pub fn withdraw_notice(&self, key: &str) -> Result<(), JournalError> {
        self.change("withdraw a notice", "DELETE FROM notices WHERE key = ?1", [key]).map(drop)
    }
}
