//! What keeps the gate from nagging: actions waived for a session, and actions held for one turn earlier.

use jiff::Timestamp;
use rusqlite::params;

use crate::column::Milliseconds;
use crate::{JournalError, Reading, SessionId, TurnId, Writing};

/// The agent's own words; a sentence is enough.
const LONGEST_REASON: usize = 500;

/// An action that the agent said it cannot do here.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiver {
    pub action: String,
    pub reason: String,
    pub at: Timestamp,
}

pub(crate) const HELD: &str =
    "INSERT INTO held_actions (turn, action) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

impl Reading<'_> {
    pub fn waivers(&self, session: SessionId) -> Result<Vec<Waiver>, JournalError> {
        self.rows(
            "read the waived actions",
            "SELECT action, reason, at FROM waivers WHERE session = ?1 ORDER BY action",
            [session.0],
            |row| {
                Ok(Waiver { action: row.get(0)?, reason: row.get(1)?, at: row.get::<_, Milliseconds>(2)?.0 })
            },
        )
    }

    /// The actions recorded with the turn before `turn` in the same session.
    pub fn actions_held_before(&self, turn: TurnId) -> Result<Vec<String>, JournalError> {
        self.rows(
            "read the actions of the turn before",
            "SELECT action FROM held_actions WHERE turn =
                 (SELECT max(earlier.id) FROM turns AS earlier JOIN turns AS this ON this.id = ?1
                  WHERE earlier.session = this.session AND earlier.id < this.id)
             ORDER BY action",
            [turn.0],
            |row| row.get(0),
        )
    }
}

impl Writing<'_> {
    /// The first reason stays.
    pub fn waive(
        &self,
        session: SessionId,
        action: &str,
        reason: &str,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        self.change(
            "waive an action",
            "INSERT INTO waivers (session, action, reason, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            params![session.0, action, text::head(reason, LONGEST_REASON), Milliseconds(at)],
        )
        .map(drop)
    }

    /// Remembers what the turn was held for. An action that was left out of a later hold because it stood in
    /// the one before is recorded there again: otherwise it would be asked for every second turn.
    pub fn record_held_actions(&self, turn: TurnId, actions: &[&str]) -> Result<(), JournalError> {
        for action in actions {
            self.change("record the actions of a hold", HELD, params![turn.0, action])?;
        }
        Ok(())
    }
}
