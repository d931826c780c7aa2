//! A host that runs the hooks of another client's settings, and whose payloads and transcripts nobody here understands: its agent passes,
//! and the person is told once that nothing is checked there (L16).

use agents::{Answer, Event, host};
use journal::{Author, Journal, OpenFor};
use stop::ClientEvent;
use stop::notices::{self, Reduction};

pub(crate) fn pass(event: &ClientEvent, title: &str) -> Answer {
    if event.payload.event != Event::Stop {
        return Answer::Pass;
    }
    let Ok(mut journal) = Journal::open(&event.settings.state, OpenFor::Hook) else {
        event.log("pass", &format!("called by {title}, which is not understood"));
        return Answer::Pass;
    };
    let client = host(event.payload.agent).title;
    let text = format!(
        "{title} runs the hooks that are registered for {client}. Nothing is checked there: what it writes is not understood."
    );
    let key = format!("stranger:{title}");
    Reduction { author: Author::Unknown, repository: None, key: &key, is_told: false, text: &text }
        .note(&mut journal, event);
    let note = notices::take_untold(&mut journal, event);
    journal.leave();
    Answer::Pass.with_note(note)
}
