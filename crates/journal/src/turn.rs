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

/// A turn of which no prompt told.
#[derive(Clone, Debug, PartialEq)]
pub struct UnannouncedTurn {
    pub turn: Turn,
    /// The session's turn before it.
    pub before: Option<Turn>,
    /// A stop was judged in it.
    pub is_judged: bool,
}

/// The last turns of a session, judged together.
#[derive(Clone, Debug, PartialEq)]
pub struct UnjudgedTurns {
    pub first: Turn,
    /// How many there are, the last one included.
    pub turns: usize,
}

const COLUMNS: &str = "id, session, key, opened_at, prompt, holds, baseline_size, baseline";

/// Where the session's turn is noted that no prompt opened.
const UNANNOUNCED: &str = "unannounced-turn";

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

    /// The session's latest turn, if no prompt opened it but the beginning of the session, or the end of such a turn. A client that
    /// reports prompts replaces it at the first one.
    pub fn unannounced_turn(&self, session: SessionId) -> Result<Option<UnannouncedTurn>, JournalError> {
        let noted = self.value(session, UNANNOUNCED)?;
        let noted = noted.and_then(|noted| std::str::from_utf8(&noted).ok()?.parse().ok()).map(TurnId);
        let Some(turn) = self.latest_turn(session)?.filter(|turn| Some(turn.id) == noted) else {
            return Ok(None);
        };
        let before =
            format!("SELECT {COLUMNS} FROM turns WHERE session = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1");
        Ok(Some(UnannouncedTurn {
            before: self.row("read a turn", &before, [session.0, turn.id.0], Turn::from_row)?,
            is_judged: self.is_judged(turn.id)?,
            turn,
        }))
    }

    /// Whether the session's latest turn is one that this prompt opened, and that no stop was judged in.
    pub fn is_open_for(&self, session: SessionId, prompt: &str) -> Result<bool, JournalError> {
        let prompt = text::head(prompt, LONGEST_PROMPT);
        match self.latest_turn(session)?.filter(|turn| !prompt.is_empty() && turn.prompt == prompt) {
            Some(turn) => Ok(!self.is_judged(turn.id)?),
            None => Ok(false),
        }
    }

    /// Whether a stop was judged in the turn.
    fn is_judged(&self, turn: TurnId) -> Result<bool, JournalError> {
        let judged = "SELECT EXISTS (SELECT 1 FROM verdicts WHERE turn = ?1)";
        Ok(self.row("read a turn", judged, [turn.0], |row| row.get(0))?.unwrap_or(false))
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

    /// Opens a turn that no prompt announced, in place of one that came to nothing.
    pub fn open_unannounced_turn(&self, new: &NewTurn<'_>) -> Result<Turn, JournalError> {
        self.forget_unannounced_turn(new.session)?;
        let turn = self.open_turn(new)?;
        self.set_value(new.session, UNANNOUNCED, turn.id.0.to_string().as_bytes())?;
        Ok(turn)
    }

    /// The session's turn was a real one, although no prompt told of it.
    pub fn announce_turn(&self, session: SessionId) -> Result<(), JournalError> {
        self.set_value(session, UNANNOUNCED, b"")
    }

    /// A prompt is here: what was opened without one, and was not judged, was no turn.
    pub fn forget_unannounced_turn(&self, session: SessionId) -> Result<(), JournalError> {
        if let Some(unannounced) = self.unannounced_turn(session)?.filter(|turn| !turn.is_judged) {
            self.change("forget a turn", "DELETE FROM turns WHERE id = ?1", [unannounced.turn.id.0])?;
            // The next turn gets its number again.
            self.announce_turn(session)?;
        }
        Ok(())
    }

    /// Counts one more hold, where the turn has had fewer than `limit`; `false` means: let the agent stop. Of
    /// several processes that ask at once for the last one, exactly one gets it.
    pub fn try_hold(&self, turn: TurnId, limit: u32) -> Result<bool, JournalError> {
        let changed = self.change("count a hold", COUNT_HOLD, params![turn.0, limit])?;
        Ok(changed == 1)
    }
}
