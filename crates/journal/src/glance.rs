//! Sessions and turns for those who show many of them: without the baselines, which are most of a turn.

use jiff::Timestamp;
use rusqlite::params;

use crate::column::Milliseconds;
use crate::{JournalError, Reading, SessionId, TurnId};

/// A turn without its baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnGlance {
    pub id: TurnId,
    pub opened_at: Timestamp,
    pub prompt: String,
    pub holds: u32,
}

impl Reading<'_> {
    /// The turns of a session, the newest first; those before one of them, if it is given.
    pub fn glance_at_turns(
        &self,
        session: SessionId,
        before: Option<TurnId>,
        limit: usize,
    ) -> Result<Vec<TurnGlance>, JournalError> {
        let before = before.map_or(i64::MAX, |before| before.0);
        self.rows(
            "list the turns of a session",
            "SELECT id, opened_at, prompt, holds FROM turns WHERE session = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
            params![session.0, before, i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| {
                Ok(TurnGlance {
                    id: TurnId(row.get(0)?),
                    opened_at: row.get::<_, Milliseconds>(1)?.0,
                    prompt: row.get(2)?,
                    holds: row.get(3)?,
                })
            },
        )
    }
}
