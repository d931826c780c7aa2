//! Turns, and the count that decides how often a turn may be held.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Row, params};

use crate::column::Milliseconds;
use crate::prune::{Limits, PRUNE_EVERY};
use crate::{JournalError, Reading, SessionId, Writing};

/// A larger baseline is not kept: the turn then counts as one without, and says so.
const LARGEST_BASELINE: usize = 2 * 1024 * 1024;

/// Enough of the prompt for a person to know the turn again.
const LONGEST_PROMPT: usize = 500;

/// So many turns before the last one can be without a verdict and still be judged with it, and so long ago.
const MOST_UNJUDGED: usize = 20;
const LONGEST_UNJUDGED: SignedDuration = SignedDuration::from_hours(24);

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TurnId(pub i64);

#[derive(Clone, Copy, Debug)]
pub struct NewTurn<'a> {
    pub session: SessionId,
    /// The client's own id of the prompt or turn, where it has one.
    pub key: Option<&'a str>,
    pub opened_at: Timestamp,
    /// Only its beginning is kept.
    pub prompt: &'a str,
    /// The state of the repository at the prompt, in whatever form the caller wants it back.
    pub baseline: Option<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub id: TurnId,
    pub session: SessionId,
    pub key: Option<String>,
    pub opened_at: Timestamp,
    pub prompt: String,
    pub baseline: Option<Vec<u8>>,
    /// There was a baseline, and it was too large to keep.
    pub baseline_too_large: bool,
    pub holds: u32,
}

/// The last turns of a session, judged together.
#[derive(Clone, Debug, PartialEq)]
pub struct UnjudgedTurns {
    pub first: Turn,
    /// How many there are, the last one included.
    pub turns: usize,
}

const COLUMNS: &str = "id, session, key, opened_at, prompt, holds, baseline_size, baseline";

pub(crate) const COUNT_HOLD: &str = "UPDATE turns SET holds = holds + 1 WHERE id = ?1 AND holds < ?2";

impl Turn {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let baseline: Option<Vec<u8>> = row.get(7)?;
        Ok(Self {
            id: TurnId(row.get(0)?),
            session: SessionId(row.get(1)?),
            key: row.get(2)?,
            opened_at: row.get::<_, Milliseconds>(3)?.0,
            prompt: row.get(4)?,
            holds: row.get(5)?,
            baseline_too_large: row.get::<_, Option<i64>>(6)?.is_some() && baseline.is_none(),
            baseline,
        })
    }
}

impl Reading<'_> {
    /// The turn with the client's own id.
    pub fn turn(&self, session: SessionId, key: &str) -> Result<Option<Turn>, JournalError> {
        let by_key = format!("SELECT {COLUMNS} FROM turns WHERE session = ?1 AND key = ?2");
        self.row("read a turn", &by_key, params![session.0, key], Turn::from_row)
    }

    pub fn turn_by_id(&self, id: TurnId) -> Result<Option<Turn>, JournalError> {
        let by_id = format!("SELECT {COLUMNS} FROM turns WHERE id = ?1");
        self.row("read a turn", &by_id, [id.0], Turn::from_row)
    }

    /// The turn that was opened first, of those that are kept.
    pub fn first_turn(&self, session: SessionId) -> Result<Option<Turn>, JournalError> {
        let first = format!("SELECT {COLUMNS} FROM turns WHERE session = ?1 ORDER BY id LIMIT 1");
        self.row("read the first turn", &first, [session.0], Turn::from_row)
    }

    /// The last turns of the session of which no verdict looked at what changed: the person interrupted them, they
    /// failed, or the agent waited. A turn without a baseline was not meant to be judged. `None` if the last turn is the
    /// only one.
    pub fn unjudged_turns(&self, session: SessionId) -> Result<Option<UnjudgedTurns>, JournalError> {
        let last = format!(
            "SELECT {COLUMNS} FROM turns WHERE session = ?1 AND id > coalesce(
                 (SELECT max(turn) FROM verdicts WHERE scope <> '' AND repository IS NULL AND turn IN
                     (SELECT id FROM turns WHERE session = ?1 ORDER BY id DESC LIMIT {MOST_UNJUDGED} OFFSET 1)), 0)
             ORDER BY id DESC LIMIT {MOST_UNJUDGED}"
        );
        let turns = self.rows("read the turns without a verdict", &last, [session.0], Turn::from_row)?;
        let newest = turns.first().map(|turn| turn.opened_at);
        let belongs = |turn: &Turn| {
            let age = newest.map(|newest| newest.duration_since(turn.opened_at));
            turn.baseline.is_some() && age.is_some_and(|age| age <= LONGEST_UNJUDGED)
        };
        let span: Vec<Turn> = turns.into_iter().take_while(belongs).collect();
        let turns = span.len();
        Ok(span.into_iter().next_back().filter(|_| turns > 1).map(|first| UnjudgedTurns { first, turns }))
    }

    /// The last prompt of the session that is longer than so many characters.
    pub fn last_longer_prompt(
        &self,
        session: SessionId,
        characters: usize,
    ) -> Result<Option<String>, JournalError> {
        let longer =
            "SELECT prompt FROM turns WHERE session = ?1 AND length(prompt) > ?2 ORDER BY id DESC LIMIT 1";
        let characters = i64::try_from(characters).unwrap_or(i64::MAX);
        self.row("read the last longer prompt", longer, [session.0, characters], |row| row.get(0))
    }

    pub fn latest_turn(&self, session: SessionId) -> Result<Option<Turn>, JournalError> {
        let latest = format!("SELECT {COLUMNS} FROM turns WHERE session = ?1 ORDER BY id DESC LIMIT 1");
        self.row("read the latest turn", &latest, [session.0], Turn::from_row)
    }
}

impl Writing<'_> {
    /// Opens a turn. A key that is open already gives that turn as it is: the first baseline is the true
    /// one. Without a key every call opens a turn, so a caller asks `first_delivery` before.
    ///
    /// Every so many turns this also prunes, within bounds, so that no one has to think of it.
    pub fn open_turn(&self, new: &NewTurn<'_>) -> Result<Turn, JournalError> {
        let doing = "open a turn";
        let parameters = params![
            new.session.0,
            new.key,
            Milliseconds(new.opened_at),
            text::head(new.prompt, LONGEST_PROMPT),
            new.baseline.map(|baseline| baseline.len() as i64),
            new.baseline.filter(|baseline| baseline.len() <= LARGEST_BASELINE),
        ];
        let open = format!(
            "INSERT INTO turns (session, key, opened_at, prompt, baseline_size, baseline)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (session, key) DO NOTHING RETURNING {COLUMNS}"
        );
        let opened = self.row(doing, &open, parameters, Turn::from_row)?;
        if let Some(turn) = opened {
            if turn.id.0 % PRUNE_EVERY == 0 {
                self.prune(new.opened_at, &Limits::default())?;
            }
            return Ok(turn);
        }
        self.turn(new.session, new.key.unwrap_or_default())?
            .ok_or_else(|| self.failed(doing)(rusqlite::Error::QueryReturnedNoRows))
    }

    /// Counts one more hold, where the turn has had fewer than `limit`; `false` means: let the agent stop. Of
    /// several processes that ask at once for the last one, exactly one gets it.
    pub fn try_hold(&self, turn: TurnId, limit: u32) -> Result<bool, JournalError> {
        let changed = self.change("count a hold", COUNT_HOLD, params![turn.0, limit])?;
        Ok(changed == 1)
    }
}
