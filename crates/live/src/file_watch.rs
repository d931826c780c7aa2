//! Watches files, so that nobody has to ask again and again: the journal, the transcripts of live sessions, the records of runs. What
//! changed is not said, only that something did: whoever shows something makes it anew, and sends what differs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::watch;

/// The kernel gives a user a limited number of watches.
const MOST_FOLDERS: usize = 1000;

/// Which files count, in which folders.
#[derive(Debug, Default)]
struct Watched {
    files: BTreeSet<PathBuf>,
    /// Folders all of whose files count.
    whole: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Watched {
    fn counts(&self, path: &Path) -> bool {
        self.files.contains(path) || path.parent().is_some_and(|parent| self.whole.contains(parent))
    }
}

/// Counts up whenever a watched file changed.
#[derive(Debug)]
pub(crate) struct FileWatch {
    watched: Arc<Mutex<Watched>>,
    watcher: Mutex<RecommendedWatcher>,
    changes: Arc<watch::Sender<u64>>,
}

impl FileWatch {
    pub(crate) fn new() -> Result<Self, notify::Error> {
        let watched: Arc<Mutex<Watched>> = Arc::default();
        let changes = Arc::new(watch::Sender::new(1));
        let (known, counter) = (Arc::clone(&watched), Arc::clone(&changes));
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // What was lost may have been anything.
            let is_change = event.is_ok_and(|event| event.need_rescan() || is_change(&event, &lock(&known)));
            if is_change {
                counter.send_modify(|count| *count += 1);
            }
        })?;
        Ok(Self { watched, watcher: Mutex::new(watcher), changes })
    }

    /// A file, which need not be there yet.
    pub(crate) fn file(&self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        if lock(&self.watched).files.insert(path.to_owned()) {
            self.folder(folder);
        }
    }

    /// All files of a folder, and not of those below.
    pub(crate) fn whole_folder(&self, path: &Path) {
        if lock(&self.watched).whole.insert(path.to_owned()) {
            self.folder(path);
        }
    }

    fn folder(&self, path: &Path) {
        {
            let mut watched = lock(&self.watched);
            if watched.folders.len() >= MOST_FOLDERS || watched.folders.contains(path) {
                return;
            }
            watched.folders.insert(path.to_owned());
        }
        if lock(&self.watcher).watch(path, RecursiveMode::NonRecursive).is_err() {
            // It may be there later.
            let mut watched = lock(&self.watched);
            watched.folders.remove(path);
            watched.whole.remove(path);
            watched.files.retain(|file| file.parent() != Some(path));
        }
    }

    /// Something may look different although no file changed.
    pub(crate) fn count_up(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn count(&self) -> u64 {
        *self.changes.borrow()
    }

    pub(crate) fn has_listeners(&self) -> bool {
        self.changes.receiver_count() > 0
    }
}

fn is_change(event: &notify::Event, watched: &Watched) -> bool {
    // Our own looks open and close the files.
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(|path| watched.counts(path))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
