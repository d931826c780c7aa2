//! A lease in a folder that several hosts see, with nothing but new names and renames: locks do not reach everywhere.
//!
//! - Every time it is taken it gets the next number, as a file of that name. A file system gives a name once, so that one of
//!   all who try is the owner, and the number is the token. No number is ever removed: the newest is the lease, and an older
//!   owner sees the next number beside its own.
//! - The owner renews it by replacing its own file; that of an older owner, who may wake up and renew, counts for nothing.
//! - Whoever waits watches the newest file. If it stays the same for the whole length of the lease, by the monotonic clock of
//!   the one who waits, or if its owner was on this machine and is gone, the next number is free to take.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use files::{FileError, Folder, TemporaryFile, random_id};
use serde::{Deserialize, Serialize};

use crate::{LeaseError, LeaseOwner};

/// Between two looks of somebody who waits, at most; a short lease is looked at more often.
const LOOK: Duration = Duration::from_millis(200);
/// Of a lease that cannot be read.
const USUAL: Duration = Duration::from_secs(30);
const LARGEST: u64 = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseFile {
    owner: LeaseOwner,
    /// By this an owner knows its own file again if the answer to its making was lost on the network.
    id: String,
    length_milliseconds: u64,
    /// How often it was renewed.
    renewals: u64,
    is_released: bool,
}

/// The file of one number as somebody else sees it.
#[derive(PartialEq, Eq)]
struct SeenLease {
    token: u64,
    bytes: Vec<u8>,
}

impl SeenLease {
    fn content(&self) -> Option<LeaseFile> {
        serde_json::from_slice(&self.bytes).ok()
    }

    fn is_free(&self) -> bool {
        self.content().is_some_and(|lease| lease.is_released || lease.owner.is_gone())
    }

    fn length(&self) -> Duration {
        self.content().map_or(USUAL, |lease| Duration::from_millis(lease.length_milliseconds))
    }

    fn owner(&self) -> String {
        self.content().map_or_else(|| "somebody".to_owned(), |lease| lease.owner.to_string())
    }
}

/// The lease of this process.
#[derive(Debug)]
pub struct FolderLease {
    fence: FolderFence,
    content: LeaseFile,
}

/// By which it is checked whether a lease is still the newest, from any thread.
#[derive(Clone, Debug)]
pub struct FolderFence {
    folder: PathBuf,
    token: u64,
}

impl FolderFence {
    pub fn token(&self) -> u64 {
        self.token
    }

    /// An error if it is no longer the newest. The folder is opened each time: on a network file system that asks the server.
    pub fn check(&self) -> Result<(), LeaseError> {
        let folder = Folder::open(&self.folder)?;
        match folder.stat((self.token + 1).to_string())? {
            None => Ok(()),
            Some(_) => Err(LeaseError::Lost {
                owner: newest(&folder)?.map_or_else(String::new, |seen| seen.owner()),
            }),
        }
    }
}

impl FolderLease {
    /// Takes the lease of a folder, which must be there. An owner is waited for until it gives a sign of life, or its lease expires.
    pub fn take(path: &Path, length: Duration) -> Result<Self, LeaseError> {
        Self::take_after(path, length, |seen| {
            std::thread::sleep(LOOK.min(seen.length() / 10));
            Ok(())
        })
    }

    /// As [`FolderLease::take`], but nobody is waited for.
    pub fn take_now(path: &Path, length: Duration) -> Result<Self, LeaseError> {
        Self::take_after(path, length, |seen| Err(LeaseError::Held { owner: seen.owner() }))
    }

    fn take_after(
        path: &Path,
        length: Duration,
        wait: impl Fn(&SeenLease) -> Result<(), LeaseError>,
    ) -> Result<Self, LeaseError> {
        let content = LeaseFile {
            owner: LeaseOwner::of_this_process().map_err(LeaseError::Owner)?,
            id: random_id(),
            length_milliseconds: u64::try_from(length.as_millis()).unwrap_or(u64::MAX),
            renewals: 0,
            is_released: false,
        };
        let folder = Folder::open(path)?;
        let mut watched: Option<(SeenLease, Instant)> = None;
        loop {
            let seen = newest(&folder)?;
            let is_free = match (&seen, &watched) {
                (None, _) => true,
                (Some(seen), _) if seen.is_free() => true,
                (Some(seen), Some((before, since))) if seen == before => since.elapsed() >= seen.length(),
                _ => false,
            };
            if is_free {
                let fence = FolderFence {
                    folder: path.to_owned(),
                    token: seen.as_ref().map_or(0, |seen| seen.token) + 1,
                };
                let lease = Self { fence, content: content.clone() };
                if lease.is_placed(&folder)? {
                    return Ok(lease);
                }
                // Somebody was faster, and has not had the time to give a sign of life.
                watched = None;
                continue;
            }
            let Some(seen) = seen else { continue };
            if watched.as_ref().is_some_and(|(before, _)| *before != seen) {
                return Err(LeaseError::Held { owner: seen.owner() });
            }
            let (watched, _) = watched.get_or_insert((seen, Instant::now()));
            wait(watched)?;
        }
    }

    pub fn fence(&self) -> &FolderFence {
        &self.fence
    }

    /// A sign of life.
    pub fn renew(&mut self) -> Result<(), LeaseError> {
        self.content.renewals += 1;
        self.replace()?;
        self.fence.check()
    }

    /// Gives it back: nobody has to wait for it.
    pub fn release(mut self) -> Result<(), LeaseError> {
        self.fence.check()?;
        self.content.is_released = true;
        self.replace()
    }

    fn name(&self) -> String {
        self.fence.token.to_string()
    }

    fn written<'a>(&self, folder: &'a Folder) -> Result<TemporaryFile<'a>, LeaseError> {
        let temporary = TemporaryFile::new(folder, self.name(), 0o644)?;
        let failed = FileError::failed("write a lease in", folder.path());
        let bytes = serde_json::to_vec(&self.content).map_err(|error| failed(error.into()))?;
        let mut file = temporary.file();
        // Other hosts see what has reached the server.
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(temporary)
    }

    fn replace(&self) -> Result<(), LeaseError> {
        let folder = Folder::open(&self.fence.folder)?;
        Ok(self.written(&folder)?.replace(&folder, self.name())?)
    }

    /// Whether this process is the one that got the number.
    fn is_placed(&self, folder: &Folder) -> Result<bool, LeaseError> {
        match self.written(folder)?.place(folder, self.name()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = read(folder, self.fence.token)?.and_then(|seen| seen.content());
                Ok(there.is_some_and(|there| there.id == self.content.id))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Who has the lease of a folder, as far as can be told without waiting: it is not released, its owner is not known to be gone, and
/// it was renewed within its length, by the clock that the folder's own files have.
pub fn owner_in(path: &Path) -> Option<LeaseOwner> {
    let folder = Folder::open(path).ok()?;
    let seen = newest(&folder).ok()??;
    let content = seen.content().filter(|_| !seen.is_free())?;
    let modified = |file: &std::fs::File| file.metadata().and_then(|metadata| metadata.modified()).ok();
    let renewed = modified(&folder.file(seen.token.to_string()).ok()?)?;
    let now = TemporaryFile::new(&folder, "now", 0o600).ok().and_then(|now| modified(now.file()));
    let age = now.map_or(Duration::ZERO, |now| now.duration_since(renewed).unwrap_or_default());
    (age < seen.length()).then_some(content.owner)
}

fn newest(folder: &Folder) -> Result<Option<SeenLease>, LeaseError> {
    let numbers = folder.entries()?.into_iter().filter_map(|(name, _)| name.parse::<u64>().ok());
    match numbers.max() {
        Some(token) => read(folder, token),
        None => Ok(None),
    }
}

fn read(folder: &Folder, token: u64) -> Result<Option<SeenLease>, LeaseError> {
    match folder.read(token.to_string(), LARGEST) {
        Ok(bytes) => Ok(Some(SeenLease { token, bytes })),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
