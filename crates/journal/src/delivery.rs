//! The same event delivered twice: a hook registered by a plugin and by the settings runs twice, side by side.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::params;

use crate::column::Milliseconds;
use crate::{JournalError, SessionId, Writing};

// The times of the two processes may be swapped, so the distance counts in both directions.
pub(crate) const FIRST: &str = "
    INSERT INTO deliveries (session, fingerprint, at) VALUES (?1, ?2, ?3)
    ON CONFLICT DO UPDATE SET at = excluded.at WHERE abs(excluded.at - at) > ?4";

impl Writing<'_> {
    /// Whether this is the first time within `window` that the event with this fingerprint comes in. What the
    /// fingerprint is made of is the caller's choice; equal events that are further apart are two events.
    pub fn first_delivery(
        &self,
        session: SessionId,
        fingerprint: &str,
        at: Timestamp,
        window: Duration,
    ) -> Result<bool, JournalError> {
        let parameters = params![session.0, fingerprint, Milliseconds(at), window.as_millis() as i64];
        let changed = self.change("record a delivery", FIRST, parameters)?;
        Ok(changed == 1)
    }
}
