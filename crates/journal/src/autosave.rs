//! Autosaves: why, how each ended, what became of its push; whether a session is above its threshold; and the counts
//! that are made of all this.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Row, params};

use crate::column::{Milliseconds, PathText, StoredPath, words};
use crate::{JournalError, Reading, SessionId, TurnId, Writing};

/// Whatever went wrong, this is enough of it.
const LONGEST_DETAIL: usize = 2 * 1024;

/// The value of a session that is above its threshold: how often it was tried to save it there, and whether it may be
/// tried again. Below, the number is zero.
const ABOVE: &str = "autosave-above";

const AGAIN: &str = " again";

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AutosaveId(pub i64);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AutosaveOutcome {
    /// Committed.
    Saved,
    /// There was nothing to save.
    Nothing,
    /// The person was told, as they wished.
    Advised,
    /// It did not come to a commit, and the detail says why.
    Failed,
}

words!(AutosaveOutcome { Saved = "saved", Nothing = "nothing", Advised = "advised", Failed = "failed", });

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PushState {
    /// There was nothing to push, or nowhere to push to.
    None,
    Started,
    Pushed,
    Failed,
}

words!(PushState { None = "none", Started = "started", Pushed = "pushed", Failed = "failed", });

#[derive(Clone, Copy, Debug)]
pub struct NewAutosave<'a> {
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    pub at: Timestamp,
    pub repository: &'a Path,
    /// Why, in the caller's own word.
    pub reason: &'a str,
    /// How full the context was.
    pub percent: Option<u64>,
    pub outcome: AutosaveOutcome,
    /// What happened, for a person.
    pub detail: &'a str,
    pub snapshot: Option<&'a str>,
    pub commit: Option<&'a str>,
    pub branch: Option<&'a str>,
    pub milliseconds: u64,
    pub push: PushState,
    pub push_detail: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Autosave {
    pub id: AutosaveId,
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    pub at: Timestamp,
    pub repository: PathBuf,
    pub reason: String,
    pub percent: Option<u64>,
    pub outcome: AutosaveOutcome,
    pub detail: String,
    pub snapshot: Option<String>,
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub milliseconds: u64,
    pub push: PushState,
    pub push_detail: String,
    pub push_milliseconds: Option<u64>,
}

/// How often, how well and how fast. What was only advised does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AutosaveCounts {
    pub all: u64,
    pub saved: u64,
    pub failed: u64,
    pub pushed: u64,
    pub pushes_failed: u64,
    /// Of those that came to a commit.
    pub mean_milliseconds: Option<u64>,
    pub longest_milliseconds: Option<u64>,
}

const SELECT: &str = "
    SELECT id, session, turn, at, repository, reason, percent, outcome, detail, snapshot, commit_id, branch,
           milliseconds, push, push_detail, push_milliseconds
    FROM autosaves";

impl Autosave {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: AutosaveId(row.get(0)?),
            session: row.get::<_, Option<i64>>(1)?.map(SessionId),
            turn: row.get::<_, Option<i64>>(2)?.map(TurnId),
            at: row.get::<_, Milliseconds>(3)?.0,
            repository: row.get::<_, StoredPath>(4)?.0,
            reason: row.get(5)?,
            percent: number(row, 6)?,
            outcome: row.get(7)?,
            detail: row.get(8)?,
            snapshot: row.get(9)?,
            commit: row.get(10)?,
            branch: row.get(11)?,
            milliseconds: number(row, 12)?.unwrap_or_default(),
            push: row.get(13)?,
            push_detail: row.get(14)?,
            push_milliseconds: number(row, 15)?,
        })
    }
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.and_then(|number| u64::try_from(number).ok()))
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Reading<'_> {
    pub fn autosave(&self, id: AutosaveId) -> Result<Option<Autosave>, JournalError> {
        self.row("read an autosave", &format!("{SELECT} WHERE id = ?1"), [id.0], Autosave::from_row)
    }

    /// The newest first; those of one repository where it is given.
    pub fn recent_autosaves(
        &self,
        repository: Option<&Path>,
        limit: usize,
    ) -> Result<Vec<Autosave>, JournalError> {
        self.rows(
            "list the autosaves",
            &format!("{SELECT} WHERE ?1 IS NULL OR repository = ?1 ORDER BY id DESC LIMIT ?2"),
            params![repository.map(PathText), i64::try_from(limit).unwrap_or(i64::MAX)],
            Autosave::from_row,
        )
    }

    /// All of a session, in the order in which they began.
    pub fn autosaves_of(&self, session: SessionId) -> Result<Vec<Autosave>, JournalError> {
        let of_session = format!("{SELECT} WHERE session = ?1 ORDER BY id");
        self.rows("list the autosaves of a session", &of_session, [session.0], Autosave::from_row)
    }

    /// The last one of the session that came to a commit.
    pub fn last_saved(&self, session: SessionId) -> Result<Option<Autosave>, JournalError> {
        self.row(
            "read the last autosave",
            &format!("{SELECT} WHERE session = ?1 AND outcome = 'saved' ORDER BY id DESC LIMIT 1"),
            [session.0],
            Autosave::from_row,
        )
    }

    /// How often the session was saved so far.
    pub fn iterations(&self, session: SessionId) -> Result<u64, JournalError> {
        let counted = self.row(
            "count the autosaves",
            "SELECT count(*) FROM autosaves WHERE session = ?1 AND outcome = 'saved'",
            [session.0],
            |row| number(row, 0),
        )?;
        Ok(counted.flatten().unwrap_or_default())
    }

    pub fn autosave_counts(&self, repository: Option<&Path>) -> Result<AutosaveCounts, JournalError> {
        let counts = self.row(
            "count the autosaves",
            "SELECT count(*), coalesce(sum(outcome = 'saved'), 0), coalesce(sum(outcome = 'failed'), 0),
                    coalesce(sum(push = 'pushed'), 0), coalesce(sum(push = 'failed'), 0),
                    cast(avg(CASE WHEN outcome = 'saved' THEN milliseconds END) AS INTEGER),
                    max(CASE WHEN outcome = 'saved' THEN milliseconds END)
             FROM autosaves WHERE outcome <> 'advised' AND (?1 IS NULL OR repository = ?1)",
            params![repository.map(PathText)],
            |row| {
                Ok(AutosaveCounts {
                    all: number(row, 0)?.unwrap_or_default(),
                    saved: number(row, 1)?.unwrap_or_default(),
                    failed: number(row, 2)?.unwrap_or_default(),
                    pushed: number(row, 3)?.unwrap_or_default(),
                    pushes_failed: number(row, 4)?.unwrap_or_default(),
                    mean_milliseconds: number(row, 5)?,
                    longest_milliseconds: number(row, 6)?,
                })
            },
        )?;
        Ok(counts.unwrap_or_default())
    }
}

impl Writing<'_> {
    pub fn record_autosave(&self, new: &NewAutosave<'_>) -> Result<AutosaveId, JournalError> {
        self.change(
            "record an autosave",
            "INSERT INTO autosaves (session, turn, at, repository, reason, percent, outcome, detail, snapshot,
                                    commit_id, branch, milliseconds, push, push_detail)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            params![
                new.session.map(|session| session.0),
                new.turn.map(|turn| turn.0),
                Milliseconds(new.at),
                PathText(new.repository),
                new.reason,
                new.percent.map(stored),
                new.outcome.as_str(),
                text::head(new.detail, LONGEST_DETAIL),
                new.snapshot,
                new.commit,
                new.branch,
                stored(new.milliseconds),
                new.push.as_str(),
                text::head(new.push_detail, LONGEST_DETAIL),
            ],
        )?;
        Ok(AutosaveId(self.connection.last_insert_rowid()))
    }

    pub fn record_push(
        &self,
        id: AutosaveId,
        state: PushState,
        detail: &str,
        milliseconds: u64,
    ) -> Result<(), JournalError> {
        self.change(
            "record a push",
            "UPDATE autosaves SET push = ?2, push_detail = ?3, push_milliseconds = ?4 WHERE id = ?1",
            params![id.0, state.as_str(), text::head(detail, LONGEST_DETAIL), stored(milliseconds)],
        )
        .map(drop)
    }

    /// Those of the session whose push has ended and was not told yet, oldest first. From now on they count as told.
    pub fn take_untold_pushes(&self, session: SessionId) -> Result<Vec<Autosave>, JournalError> {
        let untold = "session = ?1 AND push IN ('pushed', 'failed') AND NOT push_told";
        let found = self.rows(
            "read the pushes",
            &format!("{SELECT} WHERE {untold} ORDER BY id"),
            [session.0],
            Autosave::from_row,
        )?;
        if !found.is_empty() {
            let statement = format!("UPDATE autosaves SET push_told = 1 WHERE {untold}");
            self.change("record that a push was reported", &statement, [session.0])?;
        }
        Ok(found)
    }

    /// Whether the session has crossed its threshold since it was last asked, or is to be tried again at this crossing;
    /// and which try this is then, counted from 1. Above the threshold, one of all who ask at the same time is told; only
    /// below `rearm` it can cross again.
    pub fn crosses(
        &self,
        session: SessionId,
        percent: u64,
        threshold: u64,
        rearm: u64,
    ) -> Result<Option<u32>, JournalError> {
        let (tries, may_again) = self.tries(session)?;
        if percent >= threshold && (tries == 0 || may_again) {
            let this = tries.saturating_add(1);
            self.set_value(session, ABOVE, this.to_string().as_bytes())?;
            return Ok(Some(this));
        }
        if percent < rearm && (tries > 0 || may_again) {
            self.set_value(session, ABOVE, b"0")?;
        }
        Ok(None)
    }

    /// What was due at the crossing failed over something that may pass: the next who asks is told again.
    pub fn try_again(&self, session: SessionId) -> Result<(), JournalError> {
        let (tries, _) = self.tries(session)?;
        self.set_value(session, ABOVE, format!("{tries}{AGAIN}").as_bytes())
    }

    /// There was nothing to do at the crossing: the next who asks is told again, and it counts as no try.
    pub fn take_back_try(&self, session: SessionId) -> Result<(), JournalError> {
        let (tries, _) = self.tries(session)?;
        self.set_value(session, ABOVE, format!("{}{AGAIN}", tries.saturating_sub(1)).as_bytes())
    }

    /// Whether the session has been above its threshold before, and whoever asks next is told again.
    pub fn is_tried_again(&self, session: SessionId) -> Result<bool, JournalError> {
        Ok(self.tries(session)?.1)
    }

    fn tries(&self, session: SessionId) -> Result<(u32, bool), JournalError> {
        let value = self.value(session, ABOVE)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&value);
        let number = text.strip_suffix(AGAIN);
        Ok((number.unwrap_or(&text).parse().unwrap_or_default(), number.is_some()))
    }
}
