//! Where the hooks were registered when they were seen last, so that it is noticed if they are gone.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::params;

use crate::column::{Milliseconds, PathText, StoredPath};
use crate::{JournalError, Reading, Writing};

#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    pub agent: String,
    pub file: PathBuf,
    pub seen_at: Timestamp,
    /// How the file looked then, in whatever form the caller compares it.
    pub stamp: String,
    /// The hooks were not in it when it was looked at last.
    pub is_gone: bool,
}

impl Reading<'_> {
    pub fn registrations(&self) -> Result<Vec<Registration>, JournalError> {
        self.rows(
            "read where the hooks are registered",
            "SELECT agent, file, seen_at, stamp, is_gone FROM registrations ORDER BY agent, file",
            (),
            |row| {
                Ok(Registration {
                    agent: row.get(0)?,
                    file: row.get::<_, StoredPath>(1)?.0,
                    seen_at: row.get::<_, Milliseconds>(2)?.0,
                    stamp: row.get(3)?,
                    is_gone: row.get(4)?,
                })
            },
        )
    }
}

impl Writing<'_> {
    /// The hooks of `agent` are registered in this file.
    pub fn see_registration(
        &self,
        agent: &str,
        file: &Path,
        stamp: &str,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        self.change(
            "note where the hooks are registered",
            "INSERT INTO registrations (agent, file, seen_at, stamp) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at, stamp = excluded.stamp, is_gone = 0",
            params![agent, PathText(file), Milliseconds(at), stamp],
        )
        .map(drop)
    }

    /// They are not in it any more. Whether that is news.
    pub fn miss_registration(&self, agent: &str, file: &Path, stamp: &str) -> Result<bool, JournalError> {
        let gone = "UPDATE registrations SET is_gone = 1, stamp = ?3
                    WHERE agent = ?1 AND file = ?2 AND is_gone = 0";
        let changed =
            self.change("note that the hooks are gone", gone, params![agent, PathText(file), stamp])?;
        Ok(changed == 1)
    }

    /// The person took them out.
    pub fn forget_registration(&self, agent: &str, file: &Path) -> Result<(), JournalError> {
        let forget = "DELETE FROM registrations WHERE agent = ?1 AND file = ?2";
        self.change("forget where the hooks were registered", forget, params![agent, PathText(file)])
            .map(drop)
    }
}
