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
            // What was opened while no prompt had come is a turn once it is judged.
            "SELECT id, opened_at, prompt, holds FROM turns WHERE session = ?1 AND id < ?2 AND NOT (
                 prompt = '' AND NOT EXISTS (SELECT 1 FROM verdicts WHERE turn = turns.id)
                 AND EXISTS (SELECT 1 FROM session_values WHERE session = ?1 AND name = 'unannounced-turn'
                             AND CAST(CAST(value AS TEXT) AS INTEGER) = turns.id))
             ORDER BY id DESC LIMIT ?3",
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
