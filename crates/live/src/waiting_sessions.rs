//! Tells somebody of sessions that begin to wait for a person, or are lost: each once for each turn. Those that waited before anybody
//! looked are nobody's news.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use journal::{JournalError, SessionId, TurnId};

use crate::activity::Activity;
use crate::desk::Desk;
use crate::overview::Overview;
use crate::sources::Sources;

/// A client writes several times in a row; what is then the case counts.
const SETTLES: Duration = Duration::from_millis(400);

/// A session that needs a person.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingSession {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// The name of the client, as people say it.
    pub client: String,
    /// The name of the repository's folder.
    pub repository: Option<String>,
    /// Why, in a few words.
    pub reason: String,
    /// Nothing was heard of it for long.
    pub is_lost: bool,
}

/// What is done; what went wrong is returned.
type Deed = dyn Fn(&WaitingSession) -> Vec<String> + Send + Sync;

/// Whoever wants to hear of such sessions.
#[derive(Clone)]
pub struct WaitingListener(Arc<Deed>);

impl WaitingListener {
    pub fn new(deed: Arc<Deed>) -> Self {
        Self(deed)
    }
}

impl fmt::Debug for WaitingListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WaitingListener")
    }
}

/// The sessions that need a person now.
pub(crate) fn now_waiting(sources: &mut Sources<'_>) -> Result<Vec<WaitingSession>, JournalError> {
    let overview = Overview::of(sources)?;
    let cards = overview.groups.iter().flat_map(|group| &group.cards);
    let needy = cards.filter(|card| card.activity.needs_person());
    Ok(needy
        .map(|card| WaitingSession {
            session: card.session.id,
            turn: card.turn.as_ref().map(|turn| turn.id),
            client: card.client.clone(),
            repository: (card.session.repository.as_ref())
                .and_then(|root| Some(root.file_name()?.to_string_lossy().into_owned())),
            reason: card.detail.clone(),
            is_lost: card.activity == Activity::Lost,
        })
        .collect())
}

/// Watches as long as the server runs.
pub(crate) async fn watch(desk: Arc<Desk>, listener: WaitingListener) {
    let mut changes = desk.files.subscribe();
    let mut known: Option<HashSet<(SessionId, Option<TurnId>, bool)>> = None;
    loop {
        let looking = Arc::clone(&desk);
        let waiting = tokio::task::spawn_blocking(move || looking.now_waiting()).await;
        if let Ok(Ok(waiting)) = waiting {
            let key = |one: &WaitingSession| (one.session, one.turn, one.is_lost);
            let now: HashSet<_> = waiting.iter().map(key).collect();
            let news: Vec<WaitingSession> = match &known {
                Some(known) => waiting.into_iter().filter(|one| !known.contains(&key(one))).collect(),
                None => Vec::new(),
            };
            known = Some(now);
            for session in news {
                let listener = listener.clone();
                let told = tokio::task::spawn_blocking(move || (listener.0)(&session)).await;
                desk.note_problems(told.unwrap_or_default());
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
        tokio::time::sleep(SETTLES).await;
        changes.mark_unchanged();
    }
}
