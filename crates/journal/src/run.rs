//! Which runs of staged work there are, and how they stood when they were last written to. The truth about a run is in its
//! own record, beside its checkpoints; this is the index that leads there.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Row, params};

use crate::column::{Milliseconds, PathText, StoredPath};
use crate::{JournalError, Reading, Writing};

/// The number of a noted run.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NotedRunId(pub i64);

#[derive(Clone, Debug, PartialEq)]
pub struct NotedRun {
    pub repository: PathBuf,
    pub title: String,
    pub run: String,
    /// As its record calls it.
    pub state: String,
    pub changed_at: Timestamp,
}

const SELECT: &str = "SELECT repository, title, run, state, changed_at FROM runs";

impl NotedRun {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            repository: row.get::<_, StoredPath>(0)?.0,
            title: row.get(1)?,
            run: row.get(2)?,
            state: row.get(3)?,
            changed_at: row.get::<_, Milliseconds>(4)?.0,
        })
    }
}

impl Reading<'_> {
    /// The runs of a project that were written to last, newest first.
    pub fn recent_runs(&self, repository: &Path, limit: usize) -> Result<Vec<NotedRun>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let recent = format!("{SELECT} WHERE repository = ?1 ORDER BY changed_at DESC, id DESC LIMIT ?2");
        self.rows("list the runs", &recent, params![PathText(repository), limit], NotedRun::from_row)
    }

    /// The runs of all projects that were written to last, newest first.
    pub fn all_runs(&self, limit: usize) -> Result<Vec<(NotedRunId, NotedRun)>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let all = "SELECT repository, title, run, state, changed_at, id FROM runs ORDER BY changed_at DESC, id DESC LIMIT ?1";
        self.rows("list the runs", all, [limit], |row| {
            Ok((NotedRunId(row.get(5)?), NotedRun::from_row(row)?))
        })
    }

    pub fn run_by_id(&self, id: NotedRunId) -> Result<Option<NotedRun>, JournalError> {
        self.row("look for a run", &format!("{SELECT} WHERE id = ?1"), [id.0], NotedRun::from_row)
    }

    pub fn noted_run(
        &self,
        repository: &Path,
        title: &str,
        run: &str,
    ) -> Result<Option<NotedRun>, JournalError> {
        let find = format!("{SELECT} WHERE repository = ?1 AND title = ?2 AND run = ?3");
        self.row("look for a run", &find, params![PathText(repository), title, run], NotedRun::from_row)
    }

    /// Whether a run was noted whose record begins with the same, in whatever folder its project was then.
    pub fn has_run_of_origin(&self, title: &str, run: &str, origin: &str) -> Result<bool, JournalError> {
        let find = format!("{SELECT} WHERE title = ?1 AND run = ?2 AND origin = ?3 LIMIT 1");
        let found =
            self.row("look for a moved run", &find, params![title, run, origin], NotedRun::from_row)?;
        Ok(found.is_some())
    }
}

impl Writing<'_> {
    pub fn note_run(
        &self,
        repository: &Path,
        title: &str,
        run: &str,
        state: &str,
        origin: Option<&str>,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        self.change(
            "note a run",
            "INSERT INTO runs (repository, title, run, state, origin, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET
                 state = excluded.state,
                 origin = coalesce(excluded.origin, origin),
                 changed_at = excluded.changed_at",
            params![PathText(repository), title, run, state, origin, Milliseconds(at)],
        )
        .map(drop)
    }
}
