//! Small values that belong to a session, such as the size of its context window.

use rusqlite::params;

use crate::{JournalError, Reading, SessionId, Writing};

impl Reading<'_> {
    pub fn value(&self, session: SessionId, name: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.row(
            "read a value",
            "SELECT value FROM session_values WHERE session = ?1 AND name = ?2",
            params![session.0, name],
            |row| row.get(0),
        )
    }
}

impl Writing<'_> {
    pub fn set_value(&self, session: SessionId, name: &str, value: &[u8]) -> Result<(), JournalError> {
        self.change(
            "set a value",
            "INSERT INTO session_values (session, name, value) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET value = excluded.value",
            params![session.0, name, value],
        )
        .map(drop)
    }
}
