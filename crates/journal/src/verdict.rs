//! Verdicts with all that went into them, so that each can be explained and replayed.

use std::path::{Path, PathBuf};

use change_set::Scope;
use gate::Decision;
use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Row, params};

use crate::column::{Milliseconds, PathText, StoredPath};
use crate::{JournalError, Reading, SessionId, TurnId, Writing};

/// Larger inputs are not kept; the verdict then cannot be replayed, and says so.
const LARGEST_INPUTS: usize = 2 * 1024 * 1024;

/// The last turn of a session that has a verdict.
const LAST_JUDGED: &str = "SELECT max(turn) FROM verdicts WHERE turn IN
    (SELECT id FROM turns WHERE session = ?1 ORDER BY id DESC LIMIT 20)";

/// Well above what any message may have.
const LONGEST_MESSAGE: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct VerdictId(pub i64);

/// What the verdict was made from, in the caller's own form; `version` is that form's version.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs<Bytes> {
    pub version: u32,
    pub bytes: Bytes,
}

#[derive(Clone, Debug)]
pub struct NewVerdict<'a> {
    pub turn: TurnId,
    /// The root that it is about; `None` if that is the one of the session.
    pub repository: Option<&'a Path>,
    pub at: Timestamp,
    pub decision: Decision,
    /// Where the change set comes from.
    pub scope: Option<Scope>,
    pub message: &'a str,
    /// The time spent in each part, in the caller's own form.
    pub timings: &'a str,
    pub inputs: Inputs<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RecordedVerdict {
    pub id: VerdictId,
    pub turn: TurnId,
    pub session: SessionId,
    pub agent: String,
    pub client_id: String,
    pub repository: Option<PathBuf>,
    pub at: Timestamp,
    pub decision: Decision,
    pub scope: Option<Scope>,
    pub message: String,
    pub timings: String,
}

/// Whose verdicts.
#[derive(Clone, Copy, Debug)]
pub enum Of<'a> {
    Everyone,
    Session(SessionId),
    Repository(&'a Path),
}

const SELECT: &str = "
    SELECT verdicts.id, turn, session, agent, client_id, coalesce(verdicts.repository, sessions.repository), at, verdict,
        scope, message, timings
    FROM verdicts JOIN turns ON turns.id = turn JOIN sessions ON sessions.id = session";

pub(crate) const RECORD: &str = "
    INSERT INTO verdicts (turn, at, verdict, scope, message, timings, inputs_version, inputs_size, inputs, repository)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

impl RecordedVerdict {
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (decision, scope): (String, String) = (row.get(7)?, row.get(8)?);
        let known = Decision::ALL.into_iter().find(|known| known.name() == decision);
        Ok(Self {
            id: VerdictId(row.get(0)?),
            turn: TurnId(row.get(1)?),
            session: SessionId(row.get(2)?),
            agent: row.get(3)?,
            client_id: row.get(4)?,
            repository: row.get::<_, Option<StoredPath>>(5)?.map(|path| path.0),
            at: row.get::<_, Milliseconds>(6)?.0,
            decision: known.ok_or(rusqlite::Error::InvalidColumnType(7, decision, Type::Text))?,
            // What a later version calls one is none to this.
            scope: Scope::ALL.into_iter().find(|known| known.name() == scope),
            message: row.get(9)?,
            timings: row.get(10)?,
        })
    }
}

impl Reading<'_> {
    pub fn verdict(&self, id: VerdictId) -> Result<Option<RecordedVerdict>, JournalError> {
        self.row(
            "read a verdict",
            &format!("{SELECT} WHERE verdicts.id = ?1"),
            [id.0],
            RecordedVerdict::from_row,
        )
    }

    /// The newest verdicts first.
    pub fn recent_verdicts(&self, of: Of<'_>, limit: usize) -> Result<Vec<RecordedVerdict>, JournalError> {
        let (session, repository) = match of {
            Of::Everyone => (None, None),
            Of::Session(session) => (Some(session.0), None),
            Of::Repository(path) => (None, Some(PathText(path))),
        };
        self.rows(
            "list the verdicts",
            &format!(
                "{SELECT} WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR coalesce(verdicts.repository, sessions.repository) = ?2)
                 ORDER BY verdicts.id DESC LIMIT ?3"
            ),
            params![session, repository, i64::try_from(limit).unwrap_or(i64::MAX)],
            RecordedVerdict::from_row,
        )
    }

    /// The verdicts of the session's last stop, the latest first: one for each repository that it judged.
    pub fn verdicts_of_last_stop(&self, session: SessionId) -> Result<Vec<RecordedVerdict>, JournalError> {
        let recent = self.rows(
            "read the verdicts of a stop",
            &format!("{SELECT} WHERE turn = ({LAST_JUDGED}) ORDER BY verdicts.id DESC"),
            [session.0],
            RecordedVerdict::from_row,
        )?;
        let last = recent.first().map(|verdict| (verdict.turn, verdict.at));
        Ok(recent.into_iter().take_while(|verdict| Some((verdict.turn, verdict.at)) == last).collect())
    }

    /// The other repositories that the session's last judged turn was about.
    pub fn other_repositories(&self, session: SessionId) -> Result<Vec<PathBuf>, JournalError> {
        self.rows(
            "read the other repositories of a session",
            &format!(
                "SELECT DISTINCT repository FROM verdicts WHERE repository IS NOT NULL AND turn = ({LAST_JUDGED})"
            ),
            [session.0],
            |row| row.get::<_, StoredPath>(0).map(|path| path.0),
        )
    }

    /// The other verdicts of the stop that this one is of.
    pub fn beside_verdict(&self, verdict: &RecordedVerdict) -> Result<Vec<RecordedVerdict>, JournalError> {
        self.rows(
            "read the verdicts of a stop",
            &format!("{SELECT} WHERE turn = ?1 AND at = ?2 AND verdicts.id <> ?3 ORDER BY verdicts.id"),
            params![verdict.turn.0, Milliseconds(verdict.at), verdict.id.0],
            RecordedVerdict::from_row,
        )
    }

    /// The verdicts of a turn, in the order in which they were made.
    pub fn verdicts_of_turn(&self, turn: TurnId) -> Result<Vec<RecordedVerdict>, JournalError> {
        self.rows(
            "list the verdicts of a turn",
            &format!("{SELECT} WHERE turn = ?1 ORDER BY verdicts.id"),
            [turn.0],
            RecordedVerdict::from_row,
        )
    }

    /// The later verdicts of a turn.
    pub fn verdicts_after(&self, id: VerdictId, turn: TurnId) -> Result<Vec<VerdictId>, JournalError> {
        let later = "SELECT id FROM verdicts WHERE turn = ?1 AND id > ?2 ORDER BY id";
        self.rows("list the later verdicts", later, [turn.0, id.0], |row| row.get(0).map(VerdictId))
    }

    /// What the verdict was made from; `None` if it was too large to keep, or there is no such verdict.
    pub fn inputs(&self, id: VerdictId) -> Result<Option<Inputs<Vec<u8>>>, JournalError> {
        self.row(
            "read a verdict's inputs",
            "SELECT inputs_version, inputs FROM verdicts WHERE id = ?1 AND inputs IS NOT NULL",
            [id.0],
            |row| Ok(Inputs { version: row.get(0)?, bytes: row.get(1)? }),
        )
    }
}

impl Writing<'_> {
    pub fn record_verdict(&self, new: &NewVerdict<'_>) -> Result<VerdictId, JournalError> {
        let parameters = params![
            new.turn.0,
            Milliseconds(new.at),
            new.decision.name(),
            new.scope.map_or("", Scope::name),
            text::head(new.message, LONGEST_MESSAGE),
            text::head(new.timings, LONGEST_MESSAGE),
            new.inputs.version,
            new.inputs.bytes.len() as i64,
            Some(new.inputs.bytes).filter(|bytes| bytes.len() <= LARGEST_INPUTS),
            new.repository.map(PathText),
        ];
        self.change("record a verdict", RECORD, parameters)?;
        Ok(VerdictId(self.connection.last_insert_rowid()))
    }
}
