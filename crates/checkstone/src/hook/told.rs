//! What the person is told beside the answer to an event: what reduced checking, and whether a registration of ours is gone.

use std::path::Path;

use journal::{Author, Journal, JournalError, Registration};
use stop::ClientEvent;
use stop::notices::{self, Reduction};

use crate::known_registrations;

/// At the stop of an agent: only what the journal knows is looked at.
pub(crate) fn at_stop(journal: &mut Journal, event: &ClientEvent) -> Option<String> {
    log_failure(event, look(journal, event, Author::DuringTurn).map(drop));
    notices::take_untold(journal, event)
}

/// At a prompt: where this client calls us from is learnt, too.
pub(crate) fn at_prompt(journal: &mut Journal, event: &ClientEvent, root: Option<&Path>) -> Option<String> {
    let looked = look(journal, event, Author::Unknown)
        .and_then(|known| known_registrations::learn(journal, &known, event.payload.agent, root, event.now));
    log_failure(event, looked);
    notices::take_untold(journal, event)
}

/// All of it, one line each.
pub(crate) fn joined(told: [Option<String>; 2]) -> Option<String> {
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

/// Notes the registrations that vanished since the last look; what was known before.
fn look(
    journal: &mut Journal,
    event: &ClientEvent,
    author: Author,
) -> Result<Vec<Registration>, JournalError> {
    let known = journal.read(|reader| reader.registrations())?;
    for missing in known_registrations::note_changes(journal, &known, event.now)? {
        let key = format!("registration:{}:{}", missing.file.display(), event.now);
        let text = missing.sentence();
        Reduction { author, repository: None, key: &key, is_told: false, text: &text }.note(journal, event);
    }
    Ok(known)
}

fn log_failure(event: &ClientEvent, looked: Result<(), JournalError>) {
    if let Err(error) = looked {
        event.log("switch", &format!("cannot tell where the hooks are registered: {error}"));
    }
}
