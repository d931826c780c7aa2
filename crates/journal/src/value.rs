//! Small values that belong to a session, such as the size of its context window.

use rusqlite::{OptionalExtension, params};

use crate::{JournalError, Reading, SessionId, Writing};

impl Reading<'_> {
    pub fn value(&self, session: SessionId, name: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.connection
            .query_row(
                "SELECT value FROM session_values WHERE session = ?1 AND name = ?2",
                params![session.0, name],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.failed("read a value"))
    }
}

impl Writing<'_> {
    pub fn set_value(&self, session: SessionId, name: &str, value: &[u8]) -> Result<(), JournalError> {
        self.connection
            .execute(
                "INSERT INTO session_values (session, name, value) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET value = excluded.value",
                params![session.0, name, value],
            )
            .map(drop)
            .map_err(self.failed("set a value"))
    }
}
