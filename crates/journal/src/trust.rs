//! Which repository files the user said `trust` to: by path and content, so that any change withdraws it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::params;

use crate::column::{Milliseconds, PathText, StoredPath};
use crate::{JournalError, Reading, Writing};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trust {
    Trusted,
    /// Trusted once, with other content than it has now.
    Changed,
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrustEntry {
    pub path: PathBuf,
    pub content_hash: String,
    pub trusted_at: Timestamp,
}

impl Reading<'_> {
    /// How the file at `path` (absolute and resolved, as it was trusted) stands with its present content.
    pub fn trust(&self, path: &Path, content_hash: &str) -> Result<Trust, JournalError> {
        let find = "SELECT content_hash FROM trust WHERE path = ?1";
        let trusted: Option<String> = self.row("read the trust", find, [PathText(path)], |row| row.get(0))?;
        Ok(match trusted {
            Some(trusted) if trusted == content_hash => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Unknown,
        })
    }

    pub fn trusted_files(&self) -> Result<Vec<TrustEntry>, JournalError> {
        self.rows(
            "list the trusted files",
            "SELECT path, content_hash, trusted_at FROM trust ORDER BY path",
            (),
            |row| {
                Ok(TrustEntry {
                    path: row.get::<_, StoredPath>(0)?.0,
                    content_hash: row.get(1)?,
                    trusted_at: row.get::<_, Milliseconds>(2)?.0,
                })
            },
        )
    }
}

impl Writing<'_> {
    pub fn set_trusted(&self, path: &Path, content_hash: &str, at: Timestamp) -> Result<(), JournalError> {
        self.change(
            "record the trust",
            "INSERT INTO trust (path, content_hash, trusted_at) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET content_hash = excluded.content_hash, trusted_at = excluded.trusted_at",
            params![PathText(path), content_hash, Milliseconds(at)],
        )
        .map(drop)
    }

    /// Whether there was anything to revoke.
    pub fn revoke_trust(&self, path: &Path) -> Result<bool, JournalError> {
        let revoke = "DELETE FROM trust WHERE path = ?1";
        Ok(self.change("revoke the trust", revoke, [PathText(path)])? == 1)
    }
}
