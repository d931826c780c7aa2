//! What an open page is sent: the parts that differ from what it has, whenever something changed. Nothing is kept for a browser
//! that does not read: its stream waits, and then gets the newest state alone.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::sync::watch;

use crate::desk::Desk;
use crate::page::{Page, framed};
use crate::view::View;

/// What changes together is sent together; an agent that writes on and on is shown so often.
const GATHER: Duration = Duration::from_millis(25);

/// By which a browser knows that the connection is alive.
const ALIVE: Duration = Duration::from_secs(15);

/// What the script of the page gets.
#[derive(Serialize)]
struct ChangedParts<'a> {
    title: &'a str,
    /// All that there are, in their order.
    order: Vec<&'a str>,
    /// Those that differ, as markup.
    parts: HashMap<&'a str, String>,
}

/// One open page.
struct OpenPage {
    desk: Arc<Desk>,
    view: View,
    changes: watch::Receiver<u64>,
    /// The hashes of the parts that it has.
    has: HashMap<String, u64>,
    title: String,
    is_first: bool,
}

/// `seen` is the hash of the page that the browser has.
pub(crate) fn stream(
    desk: Arc<Desk>,
    view: View,
    seen: Option<u64>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = desk.files.subscribe();
    let open = OpenPage { desk, view, changes, has: HashMap::new(), title: String::new(), is_first: true };
    let events = unfold((open, seen), |(mut open, seen)| async move {
        let event = open.next(seen).await?;
        Some((Ok(event), (open, None)))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE))
}

impl OpenPage {
    /// What differs, once something does. `None` if there is nothing to look at any more.
    async fn next(&mut self, seen: Option<u64>) -> Option<Event> {
        loop {
            if !std::mem::take(&mut self.is_first) {
                self.changes.changed().await.ok()?;
                tokio::time::sleep(GATHER).await;
            }
            self.changes.mark_unchanged();
            let (desk, view) = (Arc::clone(&self.desk), self.view.clone());
            // A page that cannot be made now may be made later; the browser keeps what it has.
            let Ok(Ok(page)) = tokio::task::spawn_blocking(move || desk.page(&view)).await else { continue };
            if seen == Some(page.hash()) && self.has.is_empty() {
                self.remember(&page);
                // Says that the page is live.
                return Some(Event::default().event("live").data("1"));
            }
            if let Some(event) = self.difference(&page) {
                return Some(event);
            }
        }
    }

    fn difference(&mut self, page: &Page) -> Option<Event> {
        let order: Vec<&str> = page.parts.iter().map(|part| part.id.as_str()).collect();
        let differs = page.parts.iter().filter(|part| self.has.get(&part.id) != Some(&part.hash));
        let parts: HashMap<&str, String> =
            differs.map(|part| (part.id.as_str(), framed(part).into_string())).collect();
        let is_gone = self.has.len() != page.parts.len();
        if parts.is_empty() && !is_gone && self.title == page.title {
            return None;
        }
        let changed = ChangedParts { title: &page.title, order, parts };
        let data = serde_json::to_string(&changed).ok()?;
        self.remember(page);
        Some(Event::default().event("parts").data(data))
    }

    fn remember(&mut self, page: &Page) {
        self.has = page.parts.iter().map(|part| (part.id.clone(), part.hash)).collect();
        self.title.clone_from(&page.title);
    }
}
