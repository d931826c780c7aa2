//! What the journal knows of the turn that ends.

use std::path::Path;

use agents::host;
use gate::Waived;
use jiff::SignedDuration;
use journal::{
    Journal, JournalError, Session, SessionId, Turn, TurnId, UnannouncedTurn, UnjudgedTurns, Writing,
};
use serde::{Deserialize, Serialize};

use crate::client_event::ClientEvent;

/// How many sessions back one is looked for.
pub const SESSIONS_LOOKED_AT: usize = 1000;

/// A client that is started for one prompt passes it on within this time.
const PROMPT_FOLLOWS: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Default)]
pub struct KnownTurn {
    pub session: Option<Session>,
    pub turn: Option<Turn>,
    /// The client's own id of the turn.
    pub key: Option<String>,
    pub opened_at: Option<jiff::Timestamp>,
    /// No prompt told of the turn: the beginning of its session opened it.
    pub is_unannounced: bool,
    /// It was opened long before the agent was asked for anything, so that the state of then may be a person's work.
    pub is_opened_early: bool,
    /// Actions that the last turn was held for.
    pub held_before: Vec<String>,
    pub waived: Vec<Waived>,
    /// What the person was told before in this session.
    pub reported: Vec<String>,
    /// What they were told in this turn of unproven work.
    pub told_unproven: Option<String>,
}

/// What the person was told of unproven work, and in which turn.
#[derive(Debug, Serialize, Deserialize)]
struct ToldUnproven {
    turn: i64,
    text: String,
}

/// Whose memory of a session is meant: that of its own repository, or that of another one, by its root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionPart<'a>(pub(crate) Option<&'a Path>);

impl SessionPart<'_> {
    /// As the journal has the name of an action or value.
    pub(crate) fn name(self, name: &str) -> String {
        self.0.map_or_else(|| name.to_owned(), |root| format!("{name} in {}", root.display()))
    }

    /// The name without the repository; `None` if it is another one's.
    fn own(self, name: &str) -> Option<String> {
        match (self.0, name.split_once(" in /")) {
            (None, None) => Some(name.to_owned()),
            (None, Some(_)) => None,
            (Some(root), _) => name.strip_suffix(&format!(" in {}", root.display())).map(str::to_owned),
        }
    }
}

/// The values of a session that hold what the person was told.
const REPORTED: &str = "reported";
const TOLD_UNPROVEN: &str = "told-unproven";

impl KnownTurn {
    pub(crate) fn read(
        journal: Option<&mut Journal>,
        event: &ClientEvent,
        shown: Option<&transcript::Turn>,
        part: SessionPart<'_>,
    ) -> Result<Self, JournalError> {
        // The transcript knows which prompt opened the turn, also where the client counts a notification as a new one.
        let recorded = shown.and_then(|turn| turn.id.clone());
        let known_prompt = recorded.is_some();
        let key = recorded.or_else(|| event.payload.turn.clone());
        let opened_at = shown.and_then(|turn| turn.started_at);
        let mut known = Self { key, opened_at, ..Self::default() };
        let Some(journal) = journal else { return Ok(known) };
        journal.read(|reader| {
            known.session = reader.session(event.agent(), &event.session)?;
            let Some(session) = &known.session else { return Ok(known) };
            let has_keys = host(event.payload.agent).payload.turn.is_some();
            let unannounced = reader.unannounced_turn(session.id)?;
            let by_key = match known.key.as_ref().filter(|_| has_keys) {
                Some(key) => reader.turn(session.id, key)?,
                None => None,
            };
            known.is_unannounced = by_key.is_none() && unannounced.is_some();
            known.turn = match (by_key, unannounced) {
                (Some(turn), _) => Some(turn),
                (None, Some(unannounced)) => Some(turn_that_ends(unannounced, event)),
                // A key that no prompt announced may be a notification's: it belongs to the turn before.
                (None, None) if !has_keys || !known_prompt || known.key.is_none() => {
                    reader.latest_turn(session.id)?
                }
                (None, None) => None,
            };
            known.waived = reader
                .waivers(session.id)?
                .into_iter()
                .filter_map(|waiver| {
                    Some(Waived { action: part.own(&waiver.action)?, reason: waiver.reason })
                })
                .collect();
            let reported = reader.value(session.id, &part.name(REPORTED))?;
            known.reported = reported.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
            if let Some(turn) = &known.turn {
                let held = reader.actions_held_before(turn.id)?;
                known.held_before = held.iter().filter_map(|action| part.own(action)).collect();
                let asked_at = opened_at.filter(|asked_at| {
                    known.is_unannounced && asked_at.duration_since(turn.opened_at) > PROMPT_FOLLOWS
                });
                known.is_opened_early = asked_at.is_some();
                known.opened_at = asked_at.or(Some(turn.opened_at));
                let told = reader.value(session.id, &part.name(TOLD_UNPROVEN))?;
                let told = told.and_then(|json| serde_json::from_slice::<ToldUnproven>(&json).ok());
                known.told_unproven = told.filter(|told| told.turn == turn.id.0).map(|told| told.text);
            }
            Ok(known)
        })
    }
}

/// The turn that a stop without a prompt ends. After another tool's hold the same one goes on.
fn turn_that_ends(unannounced: UnannouncedTurn, event: &ClientEvent) -> Turn {
    let goes_on = event.payload.stop_hook_active && !unannounced.is_judged;
    match unannounced.before.filter(|_| goes_on) {
        Some(before) => before,
        None => unannounced.turn,
    }
}

/// Remembers what the person is told now.
pub(crate) fn remember_reports(
    writing: &Writing<'_>,
    session: SessionId,
    part: SessionPart<'_>,
    before: &[String],
    now: Vec<String>,
) -> Result<(), JournalError> {
    let all = [before, &now].concat();
    match serde_json::to_vec(&all) {
        Ok(json) if !now.is_empty() => writing.set_value(session, &part.name(REPORTED), &json),
        _ => Ok(()),
    }
}

/// The turns that are judged together now, if there is more than one (L1).
pub fn unjudged_turns(journal: &mut Journal, event: &ClientEvent) -> Option<UnjudgedTurns> {
    let unjudged = journal.read(|reader| match reader.session(event.agent(), &event.session)? {
        Some(session) => reader.unjudged_turns(session.id),
        None => Ok(None),
    });
    unjudged.ok().flatten()
}

/// Remembers what the person is told now of unproven work.
pub(crate) fn remember_told_unproven(
    writing: &Writing<'_>,
    session: SessionId,
    part: SessionPart<'_>,
    turn: TurnId,
    text: &str,
) -> Result<(), JournalError> {
    match serde_json::to_vec(&ToldUnproven { turn: turn.0, text: text.to_owned() }) {
        Ok(json) => writing.set_value(session, &part.name(TOLD_UNPROVEN), &json),
        Err(_) => Ok(()),
    }
}

/// The session that a transcript is of, where it was recorded.
pub fn session_of_transcript(
    journal: &mut Journal,
    transcript: &Path,
) -> Result<Option<Session>, JournalError> {
    let Ok(transcript) = fs_err::canonicalize(transcript) else { return Ok(None) };
    let is_it = |session: &Session| {
        let recorded = session.transcript.as_deref();
        recorded.is_some_and(|path| fs_err::canonicalize(path).is_ok_and(|path| path == transcript))
    };
    let sessions = journal.read(|reader| reader.recent_sessions(SESSIONS_LOOKED_AT))?;
    Ok(sessions.into_iter().find(is_it))
}
