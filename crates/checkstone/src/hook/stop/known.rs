//! What the journal knows of the turn that ends.

use gate::Waived;
use journal::{Journal, JournalError, Session, Turn};
use transcript::{Agent, Reading};

use crate::hook::Context;

/// Whether the turn that the client names has had all its holds.
pub(super) fn held_already(
    journal: &mut Journal,
    context: &Context,
    limit: u32,
) -> Result<bool, JournalError> {
    let Some(key) = &context.payload.turn else { return Ok(false) };
    journal.read(|reader| {
        let Some(session) = reader.session(context.agent(), &context.session)? else { return Ok(false) };
        Ok(reader.turn(session.id, key)?.is_some_and(|turn| turn.holds >= limit))
    })
}

/// What the journal knows of the turn.
#[derive(Default)]
pub(super) struct Known {
    pub(super) session: Option<Session>,
    pub(super) turn: Option<Turn>,
    pub(super) key: Option<String>,
    pub(super) opened_at: Option<jiff::Timestamp>,
    pub(super) held_before: Vec<String>,
    pub(super) waived: Vec<Waived>,
}

pub(super) fn known(
    journal: &mut Journal,
    context: &Context,
    reading: &Reading,
) -> Result<Known, JournalError> {
    // The transcript knows which prompt opened the turn, also where the client counts a notification as a new one.
    let recorded = reading.turn.as_ref().and_then(|turn| turn.id.clone());
    let known_prompt = recorded.is_some();
    let key = recorded.or_else(|| context.payload.turn.clone());
    let began = reading.turn.as_ref().and_then(|turn| turn.started_at.as_deref()?.parse().ok());
    journal.read(|reader| {
        let mut known = Known { key: key.clone(), opened_at: began, ..Known::default() };
        known.session = reader.session(context.agent(), &context.session)?;
        let Some(session) = &known.session else { return Ok(known) };
        known.turn = match (&key, context.payload.agent) {
            (Some(key), Agent::Claude | Agent::Codex) => match reader.turn(session.id, key)? {
                // A key that no prompt announced may be a notification's: it belongs to the turn before.
                None if !known_prompt => reader.latest_turn(session.id)?,
                turn => turn,
            },
            _ => reader.latest_turn(session.id)?,
        };
        known.waived = reader
            .waivers(session.id)?
            .into_iter()
            .map(|waiver| Waived { action: waiver.action, reason: waiver.reason })
            .collect();
        if let Some(turn) = &known.turn {
            known.held_before = reader.actions_held_before(turn.id)?;
            known.opened_at = Some(turn.opened_at);
        }
        Ok(known)
    })
}
