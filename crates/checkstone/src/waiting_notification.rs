//! The notification that a session waits for a person, by `[integrations.session_waits]` of the user's own configuration. It comes from
//! `checkstone serve`, which watches the sessions anyway; no hook has anything to do with it.

use std::sync::Arc;

use jiff::Timestamp;
use live::{WaitingListener, WaitingSession};
use serde::Serialize;
use workflow::integrations::webhook::WebhookEvent;

use crate::environment;
use crate::integrations;
use crate::notification;
use crate::printer::Printer;

/// A session that needs a person. Plain facts: no prompt, no command.
#[derive(Debug, Serialize)]
struct WaitingEvent {
    /// `session.waiting` or `session.lost`.
    event: &'static str,
    at: String,
    /// The name of the repository's folder; null outside of one.
    repository: Option<String>,
    /// The client as people call it.
    client: String,
    /// Its number on the page.
    session: i64,
    /// Why, in a few words.
    reason: String,
}

impl WebhookEvent for WaitingEvent {
    fn name(&self) -> &str {
        self.event
    }

    fn line(&self) -> String {
        let place = self.repository.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        format!("{}{place}: {}", self.client, self.reason)
    }

    fn details(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Who is to hear of waiting sessions; `None` where the user switched nothing on.
pub(crate) fn listener(printer: &Printer) -> Option<WaitingListener> {
    let settings = integrations::user_settings(printer);
    settings.session_waits.is_any().then(|| {
        WaitingListener::new(Arc::new(move |session: &WaitingSession| {
            let event = WaitingEvent {
                event: if session.is_lost { "session.lost" } else { "session.waiting" },
                at: format!("{:.0}", Timestamp::now()),
                repository: session.repository.clone(),
                client: session.client.clone(),
                session: session.session.0,
                reason: session.reason.clone(),
            };
            let folder = environment::temporary_directory();
            let ways = &settings.session_waits;
            // Whoever looks at the page sees the session anyway.
            notification::send(ways, &settings.webhooks, &event, "a session waits", &folder)
        }))
    })
}
