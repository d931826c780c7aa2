//! The engine's end of an exchange: brings what nodes wrote into the folders of their attempts, as they would have written it there
//! themselves, the outcome last; and carries requests to them. One list of all objects a second, whatever there is to look at.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use files::atomic_file;
use text::error_chain;

use super::carried_files::CarryError;
use super::node_relay::KEPT;
use super::{ATTEMPTS, CarriedFiles, ExchangeStore, MADE, PARTIAL, PutContents, object_name};
use crate::attempt_artifacts::ARTIFACTS;
use crate::job_file::{ABORT, BEAT, CLAIM, JOB, OUTCOME, PROGRESS};

const LOOK: Duration = Duration::from_secs(1);
/// What is refused for so long stays so: a service that has just been started may not know everybody yet.
const REFUSED_FOR_GOOD: Duration = Duration::from_secs(10);
/// As for a database that is away.
const PATIENCE: Duration = Duration::from_secs(600);
/// So long the last orders are waited for, which only free room, or tell a node that nothing follows.
const LAST_ORDERS: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct RelayedAttempt {
    folder: PathBuf,
    /// By name, what was brought here.
    seen: HashMap<String, String>,
    is_fetching: bool,
    /// Why its outcome cannot be had.
    trouble: Option<String>,
}

/// What is to be done in the bucket; tried again until it is done.
#[derive(Debug)]
enum RelayOrder {
    Abort { token: String, times: usize },
    Revoke { token: String },
    Forget { token: String },
}

#[derive(Debug)]
struct RelayState {
    attempts: HashMap<String, RelayedAttempt>,
    orders: VecDeque<RelayOrder>,
    /// When the last look began that was answered.
    looked: Instant,
    /// Since when looks are refused, and why.
    refused: Option<(Instant, String)>,
}

#[derive(Debug)]
pub(crate) struct EngineRelay {
    pub(crate) store: Arc<dyn ExchangeStore>,
    pub(crate) put: Arc<PutContents>,
    state: Arc<Mutex<RelayState>>,
    /// Ends the thread.
    stop: Sender<()>,
    /// Hears of its end.
    ended: Mutex<Receiver<()>>,
}

impl EngineRelay {
    pub(crate) fn start(store: Arc<dyn ExchangeStore>) -> Self {
        let (attempts, orders) = (HashMap::new(), VecDeque::new());
        let state =
            Arc::new(Mutex::new(RelayState { attempts, orders, looked: Instant::now(), refused: None }));
        let (stop, stopped) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        let at_work = (Arc::clone(&store), Arc::clone(&state), ending);
        std::thread::spawn(move || {
            let (store, state, _ending) = at_work;
            loop {
                carry_out(store.as_ref(), &state);
                look(&store, &state);
                match stopped.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return carry_out(store.as_ref(), &state),
                }
            }
        });
        Self { store, put: Arc::default(), state, stop, ended: Mutex::new(ended) }
    }

    fn state(&self) -> MutexGuard<'_, RelayState> {
        locked(&self.state)
    }

    pub(crate) fn follow(&self, token: &str, folder: &Path) {
        let folder = folder.to_owned();
        let attempt = RelayedAttempt { folder, seen: HashMap::new(), is_fetching: false, trouble: None };
        self.state().attempts.insert(token.to_owned(), attempt);
    }

    pub(crate) fn abort(&self, token: &str, times: usize) {
        self.state().orders.push_back(RelayOrder::Abort { token: token.to_owned(), times });
    }

    /// From now on nobody begins the attempt any more.
    pub(crate) fn revoke(&self, token: &str) {
        self.state().orders.push_back(RelayOrder::Revoke { token: token.to_owned() });
    }

    /// It is over, whatever comes of it later.
    pub(crate) fn forget(&self, token: &str) {
        let mut state = self.state();
        state.attempts.remove(token);
        state.orders.push_back(RelayOrder::Forget { token: token.to_owned() });
    }

    /// What is known here is at least as new as this.
    pub(crate) fn looked(&self) -> Instant {
        self.state().looked
    }

    /// Why nobody can be heard of any more.
    pub(crate) fn refusal(&self) -> Option<String> {
        let state = self.state();
        let (since, why) = state.refused.as_ref()?;
        (since.elapsed() >= REFUSED_FOR_GOOD).then(|| why.clone())
    }

    /// Its outcome is there, and what it made is on its way here.
    pub(crate) fn is_fetching(&self, token: &str) -> bool {
        self.state().attempts.get(token).is_some_and(|attempt| attempt.is_fetching)
    }

    pub(crate) fn trouble(&self, token: &str) -> Option<String> {
        self.state().attempts.get(token)?.trouble.clone()
    }
}

impl Drop for EngineRelay {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        let _ = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(LAST_ORDERS);
    }
}

fn locked(state: &Mutex<RelayState>) -> MutexGuard<'_, RelayState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn carry_out(store: &dyn ExchangeStore, state: &Mutex<RelayState>) {
    loop {
        let Some(order) = locked(state).orders.pop_front() else { return };
        let done = match &order {
            // As many characters as requests.
            RelayOrder::Abort { token, times } => {
                store.put(&object_name(token, ABORT), "!".repeat(*times).as_bytes())
            }
            RelayOrder::Revoke { token } => store.remove(&object_name(token, JOB)),
            RelayOrder::Forget { token } => store.remove_all(&object_name(token, "")),
        };
        if done.is_err() {
            locked(state).orders.push_front(order);
            return;
        }
    }
}

/// One list, and what is new in it.
fn look(store: &Arc<dyn ExchangeStore>, state: &Arc<Mutex<RelayState>>) {
    let began = Instant::now();
    if locked(state).attempts.is_empty() {
        locked(state).looked = began;
        return;
    }
    let listed = store.list(ATTEMPTS);
    let refusal = listed.as_ref().err().filter(|error| store.is_refusal(error));
    let refusal = refusal.map(|error| error_chain(error.as_ref()));
    {
        let mut state = locked(state);
        let since = state.refused.take().map_or(began, |(since, _)| since);
        state.refused = refusal.map(|why| (since, why));
    }
    let Ok(objects) = listed else { return };
    let mut new: HashMap<String, Vec<(String, String)>> = HashMap::new();
    for object in objects {
        let inner = object.name.strip_prefix(ATTEMPTS).and_then(|inner| inner.strip_prefix('/'));
        let Some((token, name)) = inner.and_then(|inner| inner.split_once('/')) else { continue };
        let is_new = locked(state)
            .attempts
            .get(token)
            .is_some_and(|attempt| attempt.seen.get(name) != Some(&object.tag));
        if is_new {
            new.entry(token.to_owned()).or_default().push((name.to_owned(), object.tag));
        }
    }
    let mut is_all_brought = true;
    for (token, mut objects) in new {
        // What was made so far is here before the word that it is to be kept.
        objects.sort_by_key(|(name, _)| (name != PARTIAL, name.clone()));
        let folder = locked(state).attempts.get(&token).map(|attempt| attempt.folder.clone());
        let Some(folder) = folder else { continue };
        for (name, tag) in objects {
            let brought = match name.as_str() {
                // It is another one, and that is all that it says.
                BEAT => note_beat(&folder, &tag),
                CLAIM | PROGRESS => bring_file(store.as_ref(), &token, &name, &folder),
                PARTIAL => bring_partial(store.as_ref(), &token, &folder),
                OUTCOME => {
                    bring_outcome(store, state, &token, &folder);
                    Ok(())
                }
                _ => Ok(()),
            };
            match brought {
                Ok(()) => {
                    if let Some(attempt) = locked(state).attempts.get_mut(&token) {
                        attempt.seen.insert(name, tag);
                    }
                }
                Err(_) => is_all_brought = false,
            }
        }
    }
    if is_all_brought {
        locked(state).looked = began;
    }
}

fn bring_file(store: &dyn ExchangeStore, token: &str, name: &str, folder: &Path) -> Result<(), CarryError> {
    let bytes = store.get(&object_name(token, name));
    match bytes.map_err(|source| CarryError::Store { store: store.name(), source })? {
        Some(bytes) => write(folder, name, &bytes),
        None => Ok(()),
    }
}

/// The next one comes in seconds, so that nothing is flushed.
fn note_beat(folder: &Path, tag: &str) -> Result<(), CarryError> {
    let new = folder.join(".beat.new");
    fs_err::write(&new, tag)
        .and_then(|()| fs_err::rename(&new, folder.join(BEAT)))
        .map_err(|source| CarryError::Write { path: BEAT.to_owned(), source })
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), CarryError> {
    atomic_file::write(&folder.join(name), bytes, 0o644)
        .map_err(|error| CarryError::Write { path: name.to_owned(), source: error.into() })
}

fn list_of(store: &dyn ExchangeStore, token: &str, name: &str) -> Result<CarriedFiles, CarryError> {
    let bytes = store
        .get(&object_name(token, name))
        .map_err(|source| CarryError::Store { store: store.name(), source })?;
    // An attempt that failed before it had a folder made nothing.
    let files = bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose();
    files
        .map(Option::unwrap_or_default)
        .map_err(|error| CarryError::Read { path: name.to_owned(), source: error.into() })
}

fn bring_partial(store: &dyn ExchangeStore, token: &str, folder: &Path) -> Result<(), CarryError> {
    bring_artifacts(store, &list_of(store, token, PARTIAL)?, folder)
}

/// All of them beside their place first.
fn bring_artifacts(store: &dyn ExchangeStore, files: &CarriedFiles, folder: &Path) -> Result<(), CarryError> {
    let writing = |source| CarryError::Write { path: ARTIFACTS.to_owned(), source };
    let fetched = folder.join(format!("fetched-{}", files::random_id()));
    fs_err::create_dir(&fetched).map_err(writing)?;
    let brought = files.below(ARTIFACTS).fetch(&fetched, store).and_then(|()| {
        let (artifacts, before) = (folder.join(ARTIFACTS), fetched.with_extension("before"));
        // What was there is what it had made half-way.
        match fs_err::rename(&artifacts, &before) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(writing(error)),
            _ => {}
        }
        fs_err::rename(&fetched, &artifacts).map_err(writing)?;
        let _ = fs_err::remove_dir_all(&before);
        Ok(())
    });
    if brought.is_err() {
        let _ = fs_err::remove_dir_all(&fetched);
    }
    brought
}

/// In a thread of its own: it may be large.
fn bring_outcome(store: &Arc<dyn ExchangeStore>, state: &Arc<Mutex<RelayState>>, token: &str, folder: &Path) {
    // An engine that was lost had brought it, and perhaps done more.
    if folder.join(OUTCOME).symlink_metadata().is_ok() {
        return;
    }
    if let Some(attempt) = locked(state).attempts.get_mut(token) {
        attempt.is_fetching = true;
    }
    let (store, state) = (Arc::clone(store), Arc::clone(state));
    let (token, folder) = (token.to_owned(), folder.to_owned());
    std::thread::spawn(move || {
        let began = Instant::now();
        let brought = loop {
            match bring_all(store.as_ref(), &token, &folder) {
                // A service that is away is waited for.
                Err(CarryError::Store { .. }) if began.elapsed() < PATIENCE => std::thread::sleep(LOOK),
                brought => break brought,
            }
        };
        if let Some(attempt) = locked(&state).attempts.get_mut(&token) {
            attempt.is_fetching = false;
            attempt.trouble = brought.err().map(|error| error_chain(&error));
        }
    });
}

fn bring_all(store: &dyn ExchangeStore, token: &str, folder: &Path) -> Result<(), CarryError> {
    let files = list_of(store, token, MADE)?;
    bring_artifacts(store, &files, folder)?;
    files.named(&KEPT).fetch(folder, store)?;
    bring_file(store, token, PROGRESS, folder)?;
    bring_file(store, token, OUTCOME, folder)
}
