//! A host that runs the hooks of another client's settings, and whose transcripts do not show how commands ended: its agent passes, and the
//! person is told once that nothing is checked there, and how that can be changed (L16).

use agents::{Answer, Event, host};
use journal::{Author, Journal, OpenFor};
use stop::ClientEvent;
use stop::notices::{self, Reduction};
use transcript::Agent;

pub(crate) fn pass(event: &ClientEvent, registered: Agent) -> Answer {
    let caller = event.payload.agent;
    if event.payload.event != Event::Stop {
        return Answer::Pass;
    }
    let (title, name) = (host(caller).title, caller.name());
    let Ok(mut journal) = Journal::open(&event.settings.state, OpenFor::Hook) else {
        event.log("pass", &format!("called by {title}, whose transcripts do not show what ran"));
        return Answer::Pass;
    };
    // Its own hook, which is registered as well, judges this stop.
    let known = journal.read(|reader| reader.registrations()).unwrap_or_default();
    if known.iter().any(|registration| registration.agent == name && !registration.is_gone) {
        journal.leave();
        return Answer::Pass;
    }
    let client = host(registered).title;
    let text = format!(
        "{title} runs the hooks that are registered for {client}. Nothing is checked there: its transcripts do not show how commands \
         ended. `checkstone init --agent {name}` makes checkstone hold its agent if code changed."
    );
    let key = format!("stranger:{title}");
    Reduction { author: Author::Unknown, repository: None, key: &key, is_told: false, text: &text }
        .note(&mut journal, event);
    let note = notices::take_untold(&mut journal, event);
    journal.leave();
    Answer::Pass.with_note(note)
}
