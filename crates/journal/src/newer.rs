//! What was recorded since somebody looked last, in the order of the record, for those who follow it. Ids only grow: the newest turn
//! and the newest verdict are never pruned, so that none is given twice. Except for a turn that no prompt announced: it comes to
//! nothing when there is a prompt after all, which gets its number. So it is told of with its first verdict.

use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::params;

use crate::column::{Milliseconds, StoredPath};
use crate::verdict::RecordedVerdict;
use crate::{JournalError, Reading, TurnId, VerdictId};

/// A turn, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedTurn {
    pub id: TurnId,
    pub agent: String,
    /// The client's own id of the session.
    pub client_id: String,
    pub repository: Option<PathBuf>,
    pub opened_at: Timestamp,
    pub prompt: String,
}

/// A verdict with what it was made from, and what it proved.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedVerdict {
    pub recorded: RecordedVerdict,
    /// When its turn was opened.
    pub opened_at: Timestamp,
    /// Whether no prompt opened its turn, so that [`turns_after`](Reading::turns_after) never gave it.
    pub is_unannounced: bool,
    /// As [`Inputs`](crate::Inputs) have them; `None` where they were too large to keep.
    pub inputs: Option<Vec<u8>>,
    /// How many runs it found to prove something.
    pub proofs: u64,
}

impl Reading<'_> {
    /// The turns that a prompt opened after one of them, the oldest first.
    pub fn turns_after(&self, after: TurnId, limit: usize) -> Result<Vec<OpenedTurn>, JournalError> {
        self.rows(
            "read the newer turns",
            "SELECT turns.id, agent, client_id, repository, opened_at, prompt FROM turns JOIN sessions ON sessions.id = session
             WHERE turns.id > ?1 AND prompt <> '' ORDER BY turns.id LIMIT ?2",
            params![after.0, i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| {
                Ok(OpenedTurn {
                    id: TurnId(row.get(0)?),
                    agent: row.get(1)?,
                    client_id: row.get(2)?,
                    repository: row.get::<_, Option<StoredPath>>(3)?.map(|path| path.0),
                    opened_at: row.get::<_, Milliseconds>(4)?.0,
                    prompt: row.get(5)?,
                })
            },
        )
    }

    /// The verdicts after one of them, the oldest first.
    pub fn verdicts_since(
        &self,
        after: VerdictId,
        limit: usize,
    ) -> Result<Vec<FollowedVerdict>, JournalError> {
        self.rows(
            "read the newer verdicts",
            "SELECT verdicts.id, turn, session, agent, client_id, coalesce(verdicts.repository, sessions.repository), at,
                 verdict, scope, message, timings, opened_at, prompt = '', inputs,
                 (SELECT count(*) FROM proofs WHERE proofs.verdict = verdicts.id)
             FROM verdicts JOIN turns ON turns.id = turn JOIN sessions ON sessions.id = session
             WHERE verdicts.id > ?1 ORDER BY verdicts.id LIMIT ?2",
            params![after.0, i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| {
                Ok(FollowedVerdict {
                    recorded: RecordedVerdict::from_row(row)?,
                    opened_at: row.get::<_, Milliseconds>(11)?.0,
                    is_unannounced: row.get(12)?,
                    inputs: row.get(13)?,
                    proofs: row.get::<_, i64>(14)?.try_into().unwrap_or(0),
                })
            },
        )
    }

    /// How many turns and verdicts there are after these.
    pub fn count_after(&self, turn: TurnId, verdict: VerdictId) -> Result<u64, JournalError> {
        let query = "SELECT (SELECT count(*) FROM turns WHERE id > ?1 AND prompt <> '')
             + (SELECT count(*) FROM verdicts WHERE id > ?2)";
        let count = self.row("count the newer records", query, [turn.0, verdict.0], |row| row.get(0))?;
        Ok(count.map_or(0, i64::unsigned_abs))
    }

    /// When a turn was opened; `None` where it is not known any more.
    pub fn turn_opened_at(&self, id: TurnId) -> Result<Option<Timestamp>, JournalError> {
        let query = "SELECT opened_at FROM turns WHERE id = ?1";
        self.row("read the time of a turn", query, [id.0], |row| Ok(row.get::<_, Milliseconds>(0)?.0))
    }

    /// When a verdict was made; `None` where it is not known any more.
    pub fn verdict_made_at(&self, id: VerdictId) -> Result<Option<Timestamp>, JournalError> {
        let query = "SELECT at FROM verdicts WHERE id = ?1";
        self.row("read the time of a verdict", query, [id.0], |row| Ok(row.get::<_, Milliseconds>(0)?.0))
    }

    /// The newest turn and the newest verdict; zero where there is none.
    pub fn newest(&self) -> Result<(TurnId, VerdictId), JournalError> {
        let query =
            "SELECT (SELECT coalesce(max(id), 0) FROM turns), (SELECT coalesce(max(id), 0) FROM verdicts)";
        let newest = self.row("read the newest turn", query, [], |row| {
            Ok((TurnId(row.get(0)?), VerdictId(row.get(1)?)))
        })?;
        Ok(newest.unwrap_or((TurnId(0), VerdictId(0))))
    }
}
