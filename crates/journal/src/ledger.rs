//! The ledger: which content of which file is proven for which action, by which run; and which content is unproven, since
//! when and by whose turn. Content is known by git's id of it, so that content that comes back has the standing it had.

use std::path::Path;

use change_set::BytePath;
use jiff::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql, params};

use crate::column::{Milliseconds, PathText, StoredPath};
use crate::{JournalError, Reading, SessionId, TurnId, VerdictId, Writing};

/// The content id of a file that is not there.
pub const NO_FILE: &str = "none";

/// The command that proved something; a line is enough.
const LONGEST_COMMAND: usize = 500;

/// A repository, with all its worktrees.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct RepositoryId(pub i64);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ProofId(pub i64);

/// What a file is at one instant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileVersion {
    pub path: BytePath,
    /// Git's id of the content, or [`NO_FILE`].
    pub content: String,
    pub size: u64,
    /// By which the content is known again without reading it.
    pub modified_ns: i64,
}

/// A run that proves something.
#[derive(Clone, Copy, Debug)]
pub struct NewProof<'a> {
    pub at: Timestamp,
    /// `None` if a person ran it.
    pub session: Option<SessionId>,
    pub verdict: Option<VerdictId>,
    pub command: &'a str,
}

/// How a content stands with an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub version: FileVersion,
    pub action: String,
    /// When it got this standing.
    pub since: Timestamp,
    /// At whose stop, unless that is pruned or a person proved it.
    pub session: Option<StandingSession>,
    /// `None` while it is unproven.
    pub proof: Option<Proof>,
    /// What was done, if that says less than the package's own way to verify: `ran`, `linted` or `built`.
    pub weak: Option<String>,
}

/// What proves a content.
#[derive(Clone, Copy, Debug)]
pub struct ProvenBy<'a> {
    pub proof: ProofId,
    /// `None` if a person ran it.
    pub turn: Option<TurnId>,
    pub at: Timestamp,
    /// As in [`Standing`].
    pub weak: Option<&'a str>,
}

/// The session at whose stop a standing was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingSession {
    pub id: SessionId,
    pub agent: String,
    pub client_id: String,
}

/// A content that a run of a session proved.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvenContent {
    pub path: String,
    pub action: String,
    pub command: String,
    /// At whose stop.
    pub turn: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    pub id: ProofId,
    /// Empty if that is pruned.
    pub command: String,
    pub verdict: Option<VerdictId>,
}

struct PathBytes<'a>(&'a BytePath);

impl ToSql for PathBytes<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0.as_bytes())))
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT path, content, size, modified_ns, action, contents.at, sessions.id, agent, client_id,
                 proof, command, verdict, weak
             FROM contents LEFT JOIN turns ON turns.id = contents.turn LEFT JOIN sessions ON sessions.id = turns.session
                 LEFT JOIN proofs ON proofs.id = contents.proof ",
            $rest
        )
    };
}

const FIND_REPOSITORY: &str = "SELECT id FROM repositories WHERE folder = ?1";
pub(crate) const STANDINGS: &str =
    select!("WHERE contents.repository = ?1 AND path = ?2 AND content = ?3 ORDER BY action");
pub(crate) const UNPROVEN: &str =
    select!("WHERE contents.repository = ?1 AND proof IS NULL ORDER BY contents.id DESC LIMIT ?2");
// From the newest backwards, to the first that is surely older: processes that end late may write their times out of order.
// The `+` keeps SQLite from walking through all contents of the repository instead.
pub(crate) const RECENT: &str = select!(
    "WHERE contents.id > max((SELECT max(id) FROM contents) - 1000,
             coalesce((SELECT id FROM contents WHERE at < ?2 - 60000 ORDER BY id DESC LIMIT 1), 0))
         AND +contents.repository = ?1 AND contents.at > ?2
     ORDER BY contents.id"
);
pub(crate) const ADD_PROOF: &str =
    "INSERT INTO proofs (at, session, verdict, command) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const PROVE: &str = "
    INSERT OR REPLACE INTO contents (repository, path, content, action, at, size, modified_ns, proof, turn, weak)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
pub(crate) const LEAVE_UNPROVEN: &str = "
    INSERT OR IGNORE INTO contents (repository, path, content, action, at, size, modified_ns, proof, turn)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8)";

impl Standing {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let session: Option<i64> = row.get(6)?;
        let proof: Option<i64> = row.get(9)?;
        Ok(Self {
            version: FileVersion {
                path: BytePath::from(row.get::<_, StoredPath>(0)?.0.as_path()),
                content: row.get(1)?,
                size: row.get::<_, i64>(2)?.try_into().unwrap_or(0),
                modified_ns: row.get(3)?,
            },
            action: row.get(4)?,
            since: row.get::<_, Milliseconds>(5)?.0,
            session: match session {
                Some(id) => {
                    Some(StandingSession { id: SessionId(id), agent: row.get(7)?, client_id: row.get(8)? })
                }
                None => None,
            },
            proof: match proof {
                Some(id) => Some(Proof {
                    id: ProofId(id),
                    command: row.get::<_, Option<String>>(10)?.unwrap_or_default(),
                    verdict: row.get::<_, Option<i64>>(11)?.map(VerdictId),
                }),
                None => None,
            },
            weak: row.get(12)?,
        })
    }
}

impl Reading<'_> {
    /// The repository with this common git folder, if anything was ever recorded for it.
    pub fn repository(&self, folder: &Path) -> Result<Option<RepositoryId>, JournalError> {
        self.row("find a repository", FIND_REPOSITORY, [PathText(folder)], |row| row.get(0).map(RepositoryId))
    }

    /// How the content stands with every action that was ever looked at for it.
    pub fn standings(
        &self,
        repository: RepositoryId,
        path: &BytePath,
        content: &str,
    ) -> Result<Vec<Standing>, JournalError> {
        let key = params![repository.0, PathBytes(path), content];
        self.rows("look up what is proven", STANDINGS, key, Standing::from_row)
    }

    /// Contents that are unproven, the newest first, whether or not any working tree has them now.
    pub fn unproven(&self, repository: RepositoryId, limit: usize) -> Result<Vec<Standing>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows("look up what is unproven", UNPROVEN, [repository.0, limit], Standing::from_row)
    }

    /// What runs of a session proved, of what is still known. Walks through all contents: for people, not for hooks.
    pub fn proven_in(&self, session: SessionId) -> Result<Vec<ProvenContent>, JournalError> {
        self.rows(
            "look up what a session proved",
            "SELECT path, action, command, turn FROM contents JOIN proofs ON proofs.id = contents.proof
             WHERE proofs.session = ?1 ORDER BY contents.id",
            [session.0],
            |row| {
                Ok(ProvenContent {
                    path: BytePath::from(row.get::<_, StoredPath>(0)?.0.as_path()).to_string(),
                    action: row.get(1)?,
                    command: row.get(2)?,
                    turn: row.get::<_, Option<i64>>(3)?.map(TurnId),
                })
            },
        )
    }

    /// What was recorded after an instant, of the newest thousand contents; the oldest first.
    pub fn standings_since(
        &self,
        repository: RepositoryId,
        after: Timestamp,
    ) -> Result<Vec<Standing>, JournalError> {
        let key = params![repository.0, Milliseconds(after)];
        self.rows("look up what was recorded since", RECENT, key, Standing::from_row)
    }
}

impl Writing<'_> {
    /// The repository with this common git folder, made known if it is not yet.
    pub fn see_repository(&self, folder: &Path) -> Result<RepositoryId, JournalError> {
        if let Some(known) = self.repository(folder)? {
            return Ok(known);
        }
        self.change(
            "record a repository",
            "INSERT INTO repositories (folder) VALUES (?1)",
            [PathText(folder)],
        )?;
        Ok(RepositoryId(self.connection.last_insert_rowid()))
    }

    pub fn add_proof(&self, new: &NewProof<'_>) -> Result<ProofId, JournalError> {
        let parameters = params![
            Milliseconds(new.at),
            new.session.map(|session| session.0),
            new.verdict.map(|verdict| verdict.0),
            text::head(new.command, LONGEST_COMMAND),
        ];
        self.change("record a proof", ADD_PROOF, parameters)?;
        Ok(ProofId(self.connection.last_insert_rowid()))
    }

    /// The content is proven for the action.
    pub fn prove(
        &self,
        repository: RepositoryId,
        version: &FileVersion,
        action: &str,
        ProvenBy { proof, turn, at, weak }: ProvenBy<'_>,
    ) -> Result<(), JournalError> {
        let FileVersion { path, content, size, modified_ns } = version;
        let (path, at, size) = (PathBytes(path), Milliseconds(at), size.cast_signed());
        let turn = turn.map(|turn| turn.0);
        let parameters =
            params![repository.0, path, content, action, at, size, modified_ns, proof.0, turn, weak];
        self.change("record what is proven", PROVE, parameters).map(drop)
    }

    /// The content is unproven, unless it was proven before.
    pub fn leave_unproven(
        &self,
        repository: RepositoryId,
        version: &FileVersion,
        action: &str,
        (turn, at): (TurnId, Timestamp),
    ) -> Result<(), JournalError> {
        let FileVersion { path, content, size, modified_ns } = version;
        let (path, at, size) = (PathBytes(path), Milliseconds(at), size.cast_signed());
        let parameters = params![repository.0, path, content, action, at, size, modified_ns, turn.0];
        self.change("record what is unproven", LEAVE_UNPROVEN, parameters).map(drop)
    }

    /// A run failed with the content, so that what proved it before proves nothing any more.
    pub fn take_proof_back(
        &self,
        repository: RepositoryId,
        version: &FileVersion,
        action: &str,
    ) -> Result<(), JournalError> {
        self.change(
            "take a proof back",
            "DELETE FROM contents WHERE contents.repository = ?1 AND path = ?2 AND content = ?3 AND action = ?4
                 AND proof IS NOT NULL",
            params![repository.0, PathBytes(&version.path), version.content, action],
        )
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Journal, OpenFor};

    /// A ledger of any size costs a stop the same.
    #[test]
    fn nothing_walks_through_all_contents() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), OpenFor::Hook).unwrap();
        let plan = |journal: &mut Journal, query: &str| -> Vec<String> {
            let plan = |reader: &Reading<'_>| {
                let mut statement =
                    reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
                let details = statement
                    .query_map(rusqlite::params_from_iter(vec![0; statement.parameter_count()]), |row| {
                        row.get(3)
                    })
                    .unwrap();
                Ok(details
                    .map(Result::unwrap)
                    .filter(|detail: &String| detail.contains("contents"))
                    .collect())
            };
            journal.read(plan).unwrap()
        };
        let by_content =
            "SEARCH contents USING INDEX sqlite_autoindex_contents_1 (repository=? AND path=? AND content=?)";
        assert_eq!(plan(&mut journal, STANDINGS), [by_content]);
        let unproven = "SEARCH contents USING INDEX unproven_contents (repository=?)";
        assert_eq!(plan(&mut journal, UNPROVEN), [unproven]);
        // The scan ends at the first content that is old enough.
        let newest =
            ["SEARCH contents USING INTEGER PRIMARY KEY (rowid>?)", "SEARCH contents", "SCAN contents"];
        assert_eq!(plan(&mut journal, RECENT), newest);
    }
}
