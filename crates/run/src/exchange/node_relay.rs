//! The node's end of an exchange: beats, carries what the attempt reports to the bucket, and looks there whether it is to end.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use checkpoint::FileHashes;
use checkpoint::layout::DISPLAYS_FILE;

use super::{CarriedFiles, ExchangeStore, MADE, PARTIAL, PutContents, object_name};
use crate::attempt::{AttemptProgress, FINGERPRINT};
use crate::attempt_artifacts::ARTIFACTS;
use crate::exchange::carried_files::CarryError;
use crate::job_file::{ABORT, BEAT, JOB, OUTCOME, PROGRESS};
use crate::publish;

const BEAT_EVERY: Duration = Duration::from_secs(5);
/// Between two looks whether it is to end, and whether there is something to report.
const LOOK: Duration = Duration::from_secs(1);

/// Files of an attempt, besides its artifacts, that the engine keeps.
pub(super) const KEPT: [&str; 4] = ["output.log", DISPLAYS_FILE, "verify.log", FINGERPRINT];

/// What all threads know.
struct Shared {
    store: Arc<dyn ExchangeStore>,
    token: String,
    /// Where the attempt is carried out, once that is known.
    folder: Mutex<Option<PathBuf>>,
    put: PutContents,
}

/// At work until it is finished or dropped.
pub(crate) struct NodeRelay {
    shared: Arc<Shared>,
    /// Dropped, they end the threads.
    stops: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl NodeRelay {
    /// From the claim on, so that nobody takes it for lost while inputs are on their way.
    pub(crate) fn start(store: &Arc<dyn ExchangeStore>, token: &str) -> Self {
        let (store, token) = (Arc::clone(store), token.to_owned());
        let shared = Arc::new(Shared { store, token, folder: Mutex::default(), put: Mutex::default() });
        let mut relay = Self { shared, stops: Vec::new(), threads: Vec::new() };
        // Neither what is large nor a service that is slow to list keeps it from beating.
        for work in [beat, listen, report] {
            let (stop, stopped) = mpsc::channel();
            let shared = Arc::clone(&relay.shared);
            relay.stops.push(stop);
            relay.threads.push(std::thread::spawn(move || work(&shared, &stopped)));
        }
        relay
    }

    /// Its files are in this folder from now on.
    pub(crate) fn follow(&self, folder: &Path) {
        *self.shared.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
    }

    /// The last deed: everything that was made, and then the outcome.
    pub(crate) fn finish(&self, folder: Option<&Path>, outcome: &[u8]) -> Result<(), CarryError> {
        let Shared { store, token, put, .. } = self.shared.as_ref();
        let failed = |source| CarryError::Store { store: store.name(), source };
        if let Some(folder) = folder {
            let progress = fs_err::read(folder.join(PROGRESS)).unwrap_or_default();
            store.put(&object_name(token, PROGRESS), &progress).map_err(failed)?;
            let made = made(folder, store.as_ref(), put)?;
            store.put(&object_name(token, MADE), &made).map_err(failed)?;
        }
        store.put(&object_name(token, OUTCOME), outcome).map_err(failed)
    }
}

impl Drop for NodeRelay {
    fn drop(&mut self) {
        self.stops.clear();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// The files of an attempt as they are now, put; and the list of them.
fn made(folder: &Path, store: &dyn ExchangeStore, put: &PutContents) -> Result<Vec<u8>, CarryError> {
    let artifacts = publish::files_as_far_as_possible(&folder.join(ARTIFACTS));
    let artifacts = artifacts.into_iter().map(|file| Path::new(ARTIFACTS).join(file));
    let kept = KEPT.iter().map(PathBuf::from).filter(|name| folder.join(name).is_file());
    let files = CarriedFiles::put(folder, artifacts.chain(kept), &FileHashes::default(), store, put)?;
    Ok(serde_json::to_vec(&files).unwrap_or_default())
}

fn beat(shared: &Shared, stopped: &mpsc::Receiver<()>) {
    let Shared { store, token, .. } = shared;
    for beats in 1_u64.. {
        // One that does not arrive is one that the engine misses, and it knows what to do then.
        let _ = store.put(&object_name(token, BEAT), beats.to_string().as_bytes());
        match stopped.recv_timeout(BEAT_EVERY) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

fn listen(shared: &Shared, stopped: &mpsc::Receiver<()>) {
    let Shared { store, token, folder, .. } = shared;
    let mut asked = String::new();
    let name = |name: &str| object_name(token, name);
    loop {
        let folder = folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(folder) = folder
            && let Ok(objects) = store.list(&name(""))
        {
            let tag_of = |wanted: &str| {
                let wanted = name(wanted);
                objects.iter().find(|object| object.name == wanted).map(|object| object.tag.clone())
            };
            if let Some(tag) = tag_of(ABORT).filter(|tag| *tag != asked)
                && let Ok(Some(bytes)) = store.get(&name(ABORT))
                && fs_err::write(folder.join(ABORT), bytes).is_ok()
            {
                asked = tag;
            }
            if tag_of(JOB).is_none() {
                // Given up: seen by whoever watches the folder.
                let _ = fs_err::remove_file(folder.join(JOB));
            }
        }
        match stopped.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

fn report(shared: &Shared, stopped: &mpsc::Receiver<()>) {
    let Shared { store, token, folder, put } = shared;
    let mut reported = 0;
    loop {
        let folder = folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(folder) = folder {
            let progress = fs_err::read(folder.join(PROGRESS)).unwrap_or_default();
            let new = progress.get(reported..).unwrap_or_default();
            let is_wanted =
                |line: &[u8]| matches!(serde_json::from_slice(line), Ok(AttemptProgress::WantsCheckpoint));
            if new.split(|byte| *byte == b'\n').any(is_wanted) {
                // A file that the stage is about to replace is one that this checkpoint is without.
                if let Ok(files) = made(&folder, store.as_ref(), put) {
                    let _ = store.put(&object_name(token, PARTIAL), &files);
                }
            }
            if !new.is_empty() && store.put(&object_name(token, PROGRESS), &progress).is_ok() {
                reported = progress.len();
            }
        }
        match stopped.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::mpsc::Receiver;

    use checkpoint::{FetchedFile, RemoteContent, RemoteError};

    use super::*;
    use crate::exchange::ExchangedObject;

    /// Does not answer what it is asked to list until it is told to; what is put is passed on.
    #[derive(Debug)]
    struct SlowStore {
        put: Mutex<Sender<String>>,
        may_list: Mutex<Receiver<()>>,
    }

    impl ExchangeStore for SlowStore {
        fn name(&self) -> String {
            "slow".to_owned()
        }

        fn is_refusal(&self, _: &RemoteError) -> bool {
            false
        }

        fn list(&self, _: &str) -> Result<Vec<ExchangedObject>, RemoteError> {
            let _ = self.may_list.lock().unwrap().recv();
            Err("too late".into())
        }

        fn get(&self, _: &str) -> Result<Option<Vec<u8>>, RemoteError> {
            Ok(None)
        }

        fn put(&self, name: &str, _: &[u8]) -> Result<(), RemoteError> {
            Ok(self.put.lock().unwrap().send(name.to_owned())?)
        }

        fn put_new(&self, _: &str, _: &[u8]) -> Result<bool, RemoteError> {
            Ok(true)
        }

        fn remove(&self, _: &str) -> Result<(), RemoteError> {
            Ok(())
        }

        fn remove_all(&self, _: &str) -> Result<(), RemoteError> {
            Ok(())
        }

        fn put_contents(&self, _: Vec<RemoteContent>) -> Result<(), RemoteError> {
            Ok(())
        }

        fn fetch_content(&self, _: &str, _: &File) -> Result<Option<FetchedFile>, RemoteError> {
            Ok(None)
        }
    }

    #[test]
    fn a_list_that_takes_long_keeps_nobody_from_beating() {
        let folder = tempfile::tempdir().unwrap();
        let (put, beats) = mpsc::channel();
        let (listing, may_list) = mpsc::channel();
        let store: Arc<dyn ExchangeStore> =
            Arc::new(SlowStore { put: Mutex::new(put), may_list: Mutex::new(may_list) });
        let relay = NodeRelay::start(&store, "token");
        relay.follow(folder.path());
        let next = || beats.recv_timeout(Duration::from_secs(120));
        let heard = [next(), next(), next()];
        // Its threads end only then.
        drop(listing);
        drop(relay);
        assert_eq!(heard, [(); 3].map(|()| Ok("attempts/token/beat".to_owned())));
    }
}
