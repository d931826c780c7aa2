//! What was recorded over weeks, added up by the database: verdicts, and of the holds how many were followed by a run that proved
//! something; and turns by what they were about.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::params;

use crate::column::{Milliseconds, PathText, StoredPath};
use crate::{JournalError, Reading, SessionId, TurnId, VerdictId};

/// Weeks begin on Mondays, UTC; the first day of 1970 was a Thursday.
const DAY: i64 = 24 * 60 * 60 * 1000;
const WEEK: i64 = 7 * DAY;
const FIRST_MONDAY: i64 = 4 * DAY;

/// The verdicts of one week, agent and repository.
#[derive(Clone, Debug, PartialEq)]
pub struct WeekOfVerdicts {
    /// Its Monday.
    pub week: Timestamp,
    pub agent: String,
    pub repository: Option<PathBuf>,
    pub passed: u64,
    pub notified: u64,
    pub held: u64,
    /// Of the holds, those after which the same turn proved something.
    pub followed: u64,
}

/// The turns of one day, agent and repository, each by its first verdict. A turn that worked in several repositories counts in each.
#[derive(Clone, Debug, PartialEq)]
pub struct DayOfTurns {
    /// The beginning of the day, UTC.
    pub begins: Timestamp,
    pub agent: String,
    pub repository: Option<PathBuf>,
    pub passed: u64,
    pub notified: u64,
    pub held: u64,
    /// Of the held ones, those that proved something after it.
    pub followed: u64,
    /// Turns of which there is no verdict.
    pub unjudged: u64,
}

/// A turn that was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTurn {
    pub turn: TurnId,
    pub session: SessionId,
    pub agent: String,
    pub opened_at: Timestamp,
    pub prompt: String,
}

impl FoundTurn {
    fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            turn: TurnId(row.get(0)?),
            session: SessionId(row.get(1)?),
            agent: row.get(2)?,
            opened_at: row.get::<_, Milliseconds>(3)?.0,
            prompt: row.get(4)?,
        })
    }
}

impl Reading<'_> {
    pub fn weeks_of_verdicts(&self) -> Result<Vec<WeekOfVerdicts>, JournalError> {
        let number = |row: &rusqlite::Row<'_>, column| {
            row.get::<_, i64>(column).map(|count| count.try_into().unwrap_or(0))
        };
        self.rows(
            "add up the verdicts",
            "WITH followed AS (
                 SELECT DISTINCT held.id FROM proofs JOIN verdicts AS later ON later.id = proofs.verdict
                     JOIN verdicts AS held ON held.turn = later.turn AND held.id < later.id AND held.verdict = 'hold')
             SELECT (verdicts.at - ?1) / ?2, agent, coalesce(verdicts.repository, sessions.repository),
                 sum(verdict = 'pass'), sum(verdict = 'notify'), sum(verdict = 'hold'),
                 sum(verdict = 'hold' AND verdicts.id IN (SELECT id FROM followed))
             FROM verdicts JOIN turns ON turns.id = turn JOIN sessions ON sessions.id = session
             GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            [FIRST_MONDAY, WEEK],
            |row| {
                let week = row.get::<_, i64>(0)?.saturating_mul(WEEK).saturating_add(FIRST_MONDAY);
                Ok(WeekOfVerdicts {
                    week: Timestamp::from_millisecond(week).unwrap_or(Timestamp::UNIX_EPOCH),
                    agent: row.get(1)?,
                    repository: row.get::<_, Option<StoredPath>>(2)?.map(|path| path.0),
                    passed: number(row, 3)?,
                    notified: number(row, 4)?,
                    held: number(row, 5)?,
                    followed: number(row, 6)?,
                })
            },
        )
    }

    /// The turns since then, of this repository if one is given.
    pub fn days_of_turns(
        &self,
        since: Option<Timestamp>,
        repository: Option<&Path>,
    ) -> Result<Vec<DayOfTurns>, JournalError> {
        let number = |row: &rusqlite::Row<'_>, column| {
            row.get::<_, i64>(column).map(|count| count.try_into().unwrap_or(0))
        };
        self.rows(
            "add up the turns",
            "WITH first AS (SELECT min(id) AS id FROM verdicts GROUP BY turn, coalesce(repository, '')),
                 followed AS (
                     SELECT DISTINCT held.id FROM proofs JOIN verdicts AS later ON later.id = proofs.verdict
                         JOIN verdicts AS held ON held.turn = later.turn AND held.id < later.id AND held.verdict = 'hold'),
                 judged AS (
                     SELECT opened_at, agent, coalesce(verdicts.repository, sessions.repository) AS place, verdict,
                         verdicts.id IN (SELECT id FROM followed) AS is_followed
                     FROM turns JOIN sessions ON sessions.id = session
                         LEFT JOIN verdicts ON verdicts.turn = turns.id AND verdicts.id IN (SELECT id FROM first))
             SELECT opened_at / ?1, agent, place,
                 sum(coalesce(verdict, '') = 'pass'), sum(coalesce(verdict, '') = 'notify'), sum(coalesce(verdict, '') = 'hold'),
                 sum(coalesce(verdict, '') = 'hold' AND is_followed), sum(verdict IS NULL)
             FROM judged WHERE (?2 IS NULL OR opened_at >= ?2) AND (?3 IS NULL OR place = ?3)
             GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            params![DAY, since.map(Timestamp::as_millisecond), repository.map(PathText)],
            |row| {
                let begins = row.get::<_, i64>(0)?.saturating_mul(DAY);
                Ok(DayOfTurns {
                    begins: Timestamp::from_millisecond(begins).unwrap_or(Timestamp::UNIX_EPOCH),
                    agent: row.get(1)?,
                    repository: row.get::<_, Option<StoredPath>>(2)?.map(|path| path.0),
                    passed: number(row, 3)?,
                    notified: number(row, 4)?,
                    held: number(row, 5)?,
                    followed: number(row, 6)?,
                    unjudged: number(row, 7)?,
                })
            },
        )
    }

    /// The verdicts that said something, the newest first; those of one agent or repository, if that is given.
    pub fn spoken_verdicts(
        &self,
        agent: Option<&str>,
        repository: Option<&Path>,
        limit: usize,
    ) -> Result<Vec<VerdictId>, JournalError> {
        self.rows(
            "list the verdicts that said something",
            "SELECT verdicts.id FROM verdicts JOIN turns ON turns.id = turn JOIN sessions ON sessions.id = session
             WHERE verdict <> 'pass' AND (?1 IS NULL OR agent = ?1)
                 AND (?2 IS NULL OR coalesce(verdicts.repository, sessions.repository) = ?2)
             ORDER BY verdicts.id DESC LIMIT ?3",
            params![agent, repository.map(PathText), i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| row.get(0).map(VerdictId),
        )
    }

    /// Turns whose prompt has this in it, or that changed a file or ran a proving command with it; the newest first.
    pub fn search_turns(&self, words: &str, limit: usize) -> Result<Vec<FoundTurn>, JournalError> {
        self.rows(
            "search the turns",
            "WITH found AS (
                 SELECT id FROM turns WHERE instr(lower(prompt), lower(?1)) > 0
                 UNION SELECT turn FROM contents WHERE turn IS NOT NULL AND instr(lower(path), lower(?1)) > 0
                 UNION SELECT turn FROM proofs JOIN verdicts ON verdicts.id = proofs.verdict
                     WHERE instr(lower(command), lower(?1)) > 0)
             SELECT turns.id, session, agent, opened_at, prompt FROM turns JOIN sessions ON sessions.id = session
             WHERE turns.id IN (SELECT id FROM found) ORDER BY turns.id DESC LIMIT ?2",
            params![words, i64::try_from(limit).unwrap_or(i64::MAX)],
            FoundTurn::from_row,
        )
    }

    /// These turns, as far as they are known, in their order.
    pub fn found_turns(&self, turns: &[TurnId]) -> Result<Vec<FoundTurn>, JournalError> {
        let query = "SELECT turns.id, session, agent, opened_at, prompt FROM turns JOIN sessions ON sessions.id = session
             WHERE turns.id = ?1";
        let one = |turn: &TurnId| self.row("read a turn", query, [turn.0], FoundTurn::from_row);
        turns.iter().filter_map(|turn| one(turn).transpose()).collect()
    }

    /// The last verdicts whose inputs are kept, the newest first, each with its turn.
    pub fn last_verdicts(&self, limit: usize) -> Result<Vec<(VerdictId, TurnId)>, JournalError> {
        self.rows(
            "list the last verdicts",
            "SELECT id, turn FROM verdicts WHERE inputs_size > 0 ORDER BY id DESC LIMIT ?1",
            [i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| Ok((VerdictId(row.get(0)?), TurnId(row.get(1)?))),
        )
    }

    /// The roots that sessions and runs were seen in, the latest first.
    pub fn known_roots(&self, limit: usize) -> Result<Vec<PathBuf>, JournalError> {
        self.rows(
            "list the repositories",
            "SELECT repository FROM (
                 SELECT repository, max(seen_at) AS at FROM sessions WHERE repository IS NOT NULL GROUP BY 1
                 UNION ALL SELECT repository, max(changed_at) FROM runs GROUP BY 1)
             GROUP BY repository ORDER BY max(at) DESC LIMIT ?1",
            [i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| row.get::<_, StoredPath>(0).map(|path| path.0),
        )
    }
}
