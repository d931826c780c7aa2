//! Keeps the journal bounded: the oldest turns go first, a few at a time, so that no hook pays for many.
//!
//! The file itself never shrinks: freed pages are used again. So it stays near the limit without the rewriting
//! that giving space back would need.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::ToSql;

use crate::column::Milliseconds;
use crate::{JournalError, Writing};

/// How many turns are opened between two prunings.
pub(crate) const PRUNE_EVERY: i64 = 64;

/// One pruning deletes at most this many turns: twice what is opened in between, so that it catches up.
const MOST_AT_ONCE: i64 = 2 * PRUNE_EVERY;

/// How many turns are deleted between two looks at the size.
const STEP: i64 = 16;

/// More than a few stops record between two prunings.
const MOST_CONTENTS_AT_ONCE: i64 = 4096;

/// A delivery is looked up within seconds; a day is plenty.
const DELIVERIES_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// When a policy was seen last is known to the day.
const POLICIES_KEPT_LONGER: Duration = Duration::from_secs(2 * 24 * 60 * 60);

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub age: Duration,
    pub bytes: u64,
    /// Contents in the ledger.
    pub contents: i64,
    /// Of these, how many unproven ones are kept.
    pub unproven: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            age: Duration::from_secs(90 * 24 * 60 * 60),
            bytes: 64 * 1024 * 1024,
            contents: 100_000,
            unproven: 20_000,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pruned {
    pub turns: usize,
    pub sessions: usize,
}

impl Writing<'_> {
    /// Deletes turns that are too old; then, while the rest takes too much space, the oldest ones, except the
    /// newest of each session, whose count of holds may still be needed. Within bounds per call: call it
    /// again until nothing was pruned to have it all at once.
    pub fn prune(&self, now: Timestamp, limits: &Limits) -> Result<Pruned, JournalError> {
        let delete = |statement: &str, parameters: &[&dyn ToSql]| {
            self.change("prune old turns", statement, parameters)
        };
        let before = |age: Duration| Milliseconds(now.checked_sub(age).unwrap_or(Timestamp::MIN));
        let oldest = before(limits.age);
        let mut pruned = Pruned::default();
        // Turns are numbered in the order in which they were opened, so only the first ones can be old.
        pruned.turns += delete(
            // The newest turn and the newest verdict stay: ids would be given again, and whoever follows the record would miss them.
            "DELETE FROM turns WHERE id IN (SELECT id FROM turns ORDER BY id LIMIT ?1) AND opened_at < ?2
                 AND id < (SELECT max(id) FROM turns) AND id <> coalesce((SELECT turn FROM verdicts ORDER BY id DESC LIMIT 1), 0)",
            &[&MOST_AT_ONCE, &oldest],
        )?;
        for _ in 0..MOST_AT_ONCE / STEP {
            if self.used_bytes()? <= limits.bytes {
                break;
            }
            let deleted = delete(
                "DELETE FROM turns WHERE id IN (
                     SELECT id FROM turns AS turn
                     WHERE id < (SELECT max(id) FROM turns WHERE session = turn.session)
                         AND id <> coalesce((SELECT turn FROM verdicts ORDER BY id DESC LIMIT 1), 0)
                     ORDER BY id LIMIT ?1)",
                &[&STEP],
            )?;
            if deleted == 0 {
                break;
            }
            pruned.turns += deleted;
        }
        pruned.sessions = delete(
            "DELETE FROM sessions
             WHERE seen_at < ?1 AND NOT EXISTS (SELECT 1 FROM turns WHERE session = sessions.id)",
            &[&oldest],
        )?;
        delete("DELETE FROM autosaves WHERE session IS NULL AND at < ?1", &[&oldest])?;
        delete("DELETE FROM deliveries WHERE at < ?1", &[&before(DELIVERIES_KEPT)])?;
        delete("DELETE FROM runs WHERE changed_at < ?1", &[&oldest])?;
        self.prune_ledger(&oldest, limits)?;
        delete("DELETE FROM notices WHERE at < ?1", &[&oldest])?;
        // Every turn that began with it is older still.
        delete("DELETE FROM policies WHERE seen_at < ?1", &[&before(limits.age + POLICIES_KEPT_LONGER)])?;
        Ok(pruned)
    }

    /// Proven contents go first: one that is unknown is asked for at worst once more, an unproven one would be forgotten.
    fn prune_ledger(&self, oldest: &Milliseconds, limits: &Limits) -> Result<(), JournalError> {
        let delete = |statement: &str, parameters: &[&dyn ToSql]| {
            self.change("prune the ledger", statement, parameters)
        };
        delete(
            "DELETE FROM contents WHERE id IN (SELECT id FROM contents ORDER BY id LIMIT ?1) AND at < ?2",
            &[&MOST_CONTENTS_AT_ONCE, oldest],
        )?;
        delete(
            "DELETE FROM proofs WHERE id IN (SELECT id FROM proofs ORDER BY id LIMIT ?1) AND at < ?2",
            &[&MOST_CONTENTS_AT_ONCE, oldest],
        )?;
        // Ids are given in order, so that the distance of the newest and the oldest bounds the number.
        delete(
            "DELETE FROM contents WHERE id IN (
                 SELECT id FROM contents
                 WHERE proof IS NOT NULL AND id <= (SELECT max(id) FROM contents) - ?1 ORDER BY id LIMIT ?2)",
            &[&limits.contents, &MOST_CONTENTS_AT_ONCE],
        )?;
        delete(
            "DELETE FROM contents WHERE id IN (
                 SELECT id FROM contents WHERE proof IS NULL ORDER BY id DESC LIMIT ?2 OFFSET ?1)",
            &[&limits.unproven, &MOST_CONTENTS_AT_ONCE],
        )?;
        Ok(())
    }

    fn used_bytes(&self) -> Result<u64, JournalError> {
        let number = |pragma| -> Result<u64, JournalError> {
            self.connection
                .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
                .map(|value| value.try_into().unwrap_or(0))
                .map_err(self.failed("measure the journal"))
        };
        Ok((number("page_count")?.saturating_sub(number("freelist_count")?)) * number("page_size")?)
    }
}
