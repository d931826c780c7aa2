//! The policy that counted at each prompt: its texts, kept once by their hash, and which turn began with which.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::params;

use crate::column::{Milliseconds, PathText};
use crate::{JournalError, Reading, TurnId, Writing};

/// The policy of the latest turn of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct LatestPolicy {
    pub turn: TurnId,
    pub hash: String,
    /// The turn has a verdict, so that its stop looked for a change.
    pub is_judged: bool,
}

impl Reading<'_> {
    /// `None` if the session or its latest turn has none.
    pub fn latest_policy(&self, agent: &str, client_id: &str) -> Result<Option<LatestPolicy>, JournalError> {
        self.row(
            "read the policy of the latest turn",
            "SELECT turn, hash, EXISTS (SELECT 1 FROM verdicts WHERE verdicts.turn = turn_policies.turn)
             FROM turn_policies WHERE turn =
                 (SELECT max(turns.id) FROM turns JOIN sessions ON sessions.id = turns.session
                  WHERE sessions.agent = ?1 AND sessions.client_id = ?2)",
            (agent, client_id),
            |row| Ok(LatestPolicy { turn: TurnId(row.get(0)?), hash: row.get(1)?, is_judged: row.get(2)? }),
        )
    }

    /// The hash of the policy at the latest prompt in a working tree, whichever session it belongs to.
    pub fn latest_policy_in(&self, root: &Path) -> Result<Option<String>, JournalError> {
        let find = "SELECT hash FROM turn_policies WHERE turn =
                 (SELECT max(turns.id) FROM turns JOIN sessions ON sessions.id = turns.session WHERE sessions.repository = ?1)";
        self.row("read the policy of the latest prompt", find, [PathText(root)], |row| row.get(0))
    }

    /// The hash of the policy that a turn began with.
    pub fn policy_of_turn(&self, turn: TurnId) -> Result<Option<String>, JournalError> {
        let find = "SELECT hash FROM turn_policies WHERE turn = ?1";
        self.row("read the policy of a turn", find, [turn.0], |row| row.get(0))
    }

    /// Whether the texts with this hash are kept already.
    pub fn knows_policy(&self, hash: &str) -> Result<bool, JournalError> {
        let find = "SELECT EXISTS (SELECT 1 FROM policies WHERE hash = ?1)";
        Ok(self.row("look for a policy", find, [hash], |row| row.get(0))?.unwrap_or(false))
    }

    /// The texts with this hash, in the form in which they were given.
    pub fn policy_texts(&self, hash: &str) -> Result<Option<Vec<u8>>, JournalError> {
        let find = "SELECT texts FROM policies WHERE hash = ?1";
        self.row("read a policy", find, [hash], |row| row.get(0))
    }
}

impl Writing<'_> {
    /// The turn began with this policy. The first one that is said of a turn is the true one.
    pub fn keep_policy(
        &self,
        turn: TurnId,
        hash: &str,
        texts: &[u8],
        at: Timestamp,
    ) -> Result<(), JournalError> {
        let doing = "record a policy";
        // A day is near enough for pruning, and spares the other prompts a write.
        self.change(
            doing,
            "INSERT INTO policies (hash, seen_at, texts) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at WHERE seen_at < excluded.seen_at - 86400000",
            params![hash, Milliseconds(at), texts],
        )?;
        self.change(
            doing,
            "INSERT INTO turn_policies (turn, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![turn.0, hash],
        )
        .map(drop)
    }
}
