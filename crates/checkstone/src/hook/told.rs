//! What the person is told beside the answer to an event: what reduced checking, and whether a registration of ours is gone.

use std::path::Path;

use journal::{Author, Journal};
use stop::ClientEvent;
use stop::notices::{self, Reduction};

use crate::known_registrations;

/// At the stop of an agent: only what the journal knows is looked at.
pub(crate) fn at_stop(journal: &mut Journal, event: &ClientEvent) -> Option<String> {
    note_missing(journal, event, Author::DuringTurn);
    notices::take_untold(journal, event)
}

/// At a prompt: where this client calls us from is learnt, too.
pub(crate) fn at_prompt(journal: &mut Journal, event: &ClientEvent, root: Option<&Path>) -> Option<String> {
    note_missing(journal, event, Author::Unknown);
    if let Err(error) = known_registrations::learn(journal, event.payload.agent, root, event.now) {
        event.log("switch", &format!("where the hooks are registered is not recorded: {error}"));
    }
    notices::take_untold(journal, event)
}

fn note_missing(journal: &mut Journal, event: &ClientEvent, author: Author) {
    match known_registrations::note_changes(journal, event.now) {
        Ok(missing) => {
            for registration in missing {
                let key = format!("registration:{}:{}", registration.file.display(), event.now);
                let text = registration.sentence();
                Reduction { author, repository: None, key: &key, is_told: false, text: &text }
                    .note(journal, event);
            }
        }
        Err(error) => event.log("switch", &format!("where the hooks are registered cannot be read: {error}")),
    }
}
